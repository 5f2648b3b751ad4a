// SPDX-License-Identifier: MIT
#include "doctor/modfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What ends a signed module; before it stands a record of RECORD bytes, and before that the signature. */
#define MARKER	   "~Module signature appended~\n"
#define MARKER_LEN (sizeof(MARKER) - 1)
#define RECORD	   12

/* Offsets in the record: all bytes before the length but the kind of id are 0. */
#define RECORD_ID_TYPE 2
#define RECORD_LEN     8

#define ID_TYPE_PKCS7 2

_Static_assert(DOCTOR_SIGNATURE_TAIL == RECORD + MARKER_LEN, "a tail holds the record and the marker");

enum doctor_signature doctor_signature_parse(const uint8_t *tail, size_t len, uint64_t whole)
{
	const uint8_t *record;
	uint32_t sig_len;

	if (len < MARKER_LEN || memcmp(tail + len - MARKER_LEN, MARKER, MARKER_LEN) != 0)
		return DOCTOR_SIGNATURE_NONE;
	if (len < DOCTOR_SIGNATURE_TAIL || whole < len)
		return DOCTOR_SIGNATURE_BAD;
	record = tail + len - DOCTOR_SIGNATURE_TAIL;
	for (int i = 0; i < RECORD_LEN; i++) {
		if (record[i] != (i == RECORD_ID_TYPE ? ID_TYPE_PKCS7 : 0))
			return DOCTOR_SIGNATURE_BAD;
	}
	sig_len = (uint32_t)record[RECORD_LEN] << 24 | (uint32_t)record[RECORD_LEN + 1] << 16 |
		  (uint32_t)record[RECORD_LEN + 2] << 8 | record[RECORD_LEN + 3];
	return sig_len && sig_len < whole - DOCTOR_SIGNATURE_TAIL ? DOCTOR_SIGNATURE_THERE : DOCTOR_SIGNATURE_BAD;
}

/* How a module may be stored, and how such a file begins. */
static const struct {
	const char *suffix;
	bool packed;
	size_t len;
	uint8_t start[6];
} forms[] = {
	{"", false, 4, {0x7f, 'E', 'L', 'F'}},
	{".xz", true, 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
	{".zst", true, 4, {0x28, 0xb5, 0x2f, 0xfd}},
	{".gz", true, 2, {0x1f, 0x8b}},
};

static void look_into(const struct tool_tree *tree, size_t form, struct doctor_modfile *file)
{
	uint8_t start[6], tail[DOCTOR_SIGNATURE_TAIL];
	uint64_t whole;
	int len;

	len = tool_tree_bytes(tree, start, forms[form].len, "%s", file->path);
	file->err = len < 0 ? len : 0;
	if (len >= 0 && ((size_t)len < forms[form].len || memcmp(start, forms[form].start, forms[form].len) != 0))
		file->err = -EINVAL;
	if (file->err)
		return;
	file->signature = DOCTOR_SIGNATURE_UNSEEN;
	if (forms[form].packed)
		return;
	len = tool_tree_tail(tree, tail, sizeof(tail), &whole, "%s", file->path);
	if (len < 0)
		file->err = len;
	else
		file->signature = doctor_signature_parse(tail, (size_t)len, whole);
}

int doctor_modfile_find(const struct tool_tree *tree, const char *release, struct doctor_modfile *file)
{
	/* in the order in which depmod prefers them */
	static const char *const dirs[] = {"updates/dkms",	  "updates", "extra/dkms",  "extra", "extra/gdrcopy",
					   "kernel/drivers/misc", "misc",    "weak-updates"};
	struct stat st;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++) {
			*file = (struct doctor_modfile){0};
			snprintf(file->path, sizeof(file->path), "/lib/modules/%.128s/%s/gdrdrv.ko%s", release, dirs[i],
				 forms[form].suffix);
			if (tool_tree_stat(tree, &st, "%s", file->path))
				continue;
			look_into(tree, form, file);
			return 0;
		}
	}
	return -ENOENT;
}
