// SPDX-License-Identifier: MIT
#include "nvfs_modules.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cufile.h"
#include "nvfs_text.h"

/* "wekafsio" is always listed, so it says nothing. */
static const struct {
	const char *key;
	enum CUfileDriverStatusFlags flag;
} modules[] = {
	{"nvme", CU_FILE_NVME_SUPPORTED},	 {"nvme_rdma", CU_FILE_NVMEOF_SUPPORTED},
	{"scsi_mod", CU_FILE_SCSI_SUPPORTED},	 {"sfxvdriver", CU_FILE_SCALEFLUX_CSD_SUPPORTED},
	{"nvmeib_common", CU_FILE_NVMESH_SUPPORTED}, {"lnet", CU_FILE_LUSTRE_SUPPORTED},
	{"beegfs", CU_FILE_BEEGFS_SUPPORTED},	 {"mmfslinux", CU_FILE_GPFS_SUPPORTED},
	{"rpcrdma", CU_FILE_NFS_SUPPORTED},	 {"scatefs", CU_FILE_SCATEFS_SUPPORTED},
};

unsigned int bl_nvfs_modules_parse(const char *text)
{
	unsigned int flags = 0;

	while (*text) {
		size_t line = strcspn(text, "\n"), key = strcspn(text, ":\n");

		for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
			if (strlen(modules[i].key) == key && !strncmp(text, modules[i].key, key))
				flags |= 1U << modules[i].flag;
		}
		text += line + (text[line] == '\n');
	}
	return flags;
}

unsigned int bl_nvfs_modules_flags(void)
{
	unsigned int flags;
	char *text;

	if (bl_nvfs_text_read(BL_NVFS_PROC "/modules", &text))
		return 0;
	flags = bl_nvfs_modules_parse(text);
	free(text);
	return flags;
}
