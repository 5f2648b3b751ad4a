// SPDX-License-Identifier: MIT
/* Any text in the environment variables that the libraries read. */
#include <string.h>

#include "barlane.h"
#include "copy/cpu.h"
#include "fuzz.h"
#include "gpu/provider.h"
#include "util/log.h"

static const char *const names[] = {
	"BARLANE_LOG",	    "GDRCOPY_ENABLE_LOGGING",  "GDRCOPY_LOG_LEVEL", "BARLANE_PROVIDER",
	"GDRCOPY_PROVIDER", "GDRCOPY_USE_DMABUF_MMAP", "BARLANE_CPU_ISA",
};

static int has(const char *path)
{
	return 0;
}

static int no_ioctl(unsigned long request, void *arg)
{
	abort();
}

static const struct fuzz_driver driver = {.has = has, .ioctl = no_ioctl};

/* What a user would write, or nearly. */
static const char *value(char *buf, size_t size)
{
	static const char *const words[] = {"off", "trace", "4", "-1", "1", "dmabuf", "gdrdrv", "rm", "avx2", "scalar", ""};
	uint8_t which = fuzz_byte();

	if (which % 2)
		return words[which / 2 % (sizeof(words) / sizeof(words[0]))];
	return fuzz_text(buf, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum bl_log_level level = BL_LOG_INFO;
	bl_ctx_t ctx = 77;
	char buf[200];
	int code = -1;

	fuzz_begin(data, size);
	fuzz_sys(&driver);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fuzz_byte() % 4)
			must(!setenv(names[i], value(buf, sizeof(buf)), 1));
		else
			must(!unsetenv(names[i]));
	}
	/* as in a process that has not logged yet */
	bl_log_set_level((enum bl_log_level)-1);
	log_info("a message");
	must(bl_log_enabled(BL_LOG_OFF));
	must(!bl_log_enabled(BL_LOG_TRACE) || bl_log_enabled(BL_LOG_DEBUG));
	if (bl_log_parse(fuzz_text(buf, sizeof(buf)), &level))
		must(level == BL_LOG_INFO);
	must((unsigned int)level <= BL_LOG_TRACE);
	/* nothing can serve here, whatever is asked for, and it is said why */
	must(bl_open(fuzz_byte() % 2 ? NULL : fuzz_text(buf, sizeof(buf)), &ctx) < 0);
	must(ctx == 77);
	must(*bl_last_error(&code) && code > 0);
	for (unsigned int type = BL_MAP_WC; type <= BL_MAP_DEVICE; type++) {
		char to[40] = "", from[40] = "the bytes that are to be copied";

		must(bl_cpu_copy_select(type));
		bl_cpu_copy_select(type)->to(to, from, sizeof(to));
		must(!memcmp(to, from, sizeof(to)));
	}
	fuzz_end();
	return 0;
}
