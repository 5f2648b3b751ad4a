// SPDX-License-Identifier: MIT
#include "fake_bytes.h"
#include "fake_rm.h"

/* Descriptors differ from run to run: in traces they are c, d, e for control, node and exported ones. */
static void name_fd(void *copy, size_t at)
{
	const struct fake_file *file = fake_sys_file((int)get32(copy, at));

	if (!file)
		put32(copy, at, 0xbad);
	else
		put32(copy, at, !strcmp(file->name, "nvidiactl") ? 0xc : !strcmp(file->name, "export") ? 0xe : 0xd);
}

void fake_rm_trace(const struct fake_file *file, unsigned int nr, const void *arg, size_t size)
{
	char words[400], inner[400] = "", list[100] = "";
	uint8_t copy[5000], params[700];
	uint32_t cmd;
	size_t inner_size;

	if (!fake_tracing())
		return;
	memcpy(copy, arg, size);
	if (nr == 0x4e)
		name_fd(copy, 48);
	if (nr == 201)
		name_fd(copy, 0);
	if ((nr == 0x2a || nr == 0x2b) && get64(arg, 16)) {
		/* parameters are shown behind; their address is nobody's business */
		put64(copy, 16, 0);
		cmd = get32(arg, 8);
		inner_size = nr == 0x2a ? get32(arg, 24) : get32(arg, 12) == 0x80 ? 56 : 4;
		memcpy(params, get_ptr(arg, 16), inner_size);
		if (nr == 0x2a && (cmd == 0x410110 || cmd == 0x20801301)) {
			fake_words(list, sizeof(list), get_ptr(params, 8), get32(params, 0) * 8UL);
			put64(params, 8, 0);
		}
		if (nr == 0x2a && (cmd == 0x3d08 || cmd == 0x3d0c))
			name_fd(params, 0);
		fake_words(inner, sizeof(inner), params, inner_size);
	}
	fake_trace("%s %x/%zu: %s%s%s%s%s", file->name, nr, size, fake_words(words, sizeof(words), copy, size),
		   *inner ? " | " : "", inner, *list ? " | " : "", list);
}
