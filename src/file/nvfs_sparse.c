// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs_sparse.h"

#include <errno.h>
#include <inttypes.h>

#include "util/log.h"

/* Bytes of a hole that lie inside of what was read; the last block of a file may reach beyond. */
static size_t hole_bytes(const struct nvidia_fs_hole *hole, size_t len)
{
	size_t start = (size_t)hole->start * NVIDIA_FS_BLOCK, bytes = (size_t)hole->npages * NVIDIA_FS_BLOCK;

	return bytes < len - start ? bytes : len - start;
}

static bool plausible(const struct nvidia_fs_meta *meta, uint64_t pos, size_t len)
{
	size_t blocks = (len + NVIDIA_FS_BLOCK - 1) / NVIDIA_FS_BLOCK;
	size_t next = 0;

	if (meta->start_magic != NVIDIA_FS_SPARSE_MAGIC || meta->meta_version != NVIDIA_FS_SPARSE_VERSION)
		return false;
	if (meta->nholes > NVIDIA_FS_MAX_HOLES || (uint64_t)meta->start_fd_offset != pos)
		return false;
	for (uint32_t i = 0; i < meta->nholes; i++) {
		const struct nvidia_fs_hole *hole = &meta->hole[i];

		if (!hole->npages || hole->start < next || (size_t)hole->start + hole->npages > blocks)
			return false;
		next = (size_t)hole->start + hole->npages;
	}
	return true;
}

int bl_nvfs_sparse_fill(const struct nvidia_fs_meta *meta, uint64_t pos, uint64_t va, size_t len,
			int (*zero)(void *priv, uint64_t va, size_t len), void *priv, size_t *holes_p)
{
	if (!plausible(meta, pos, len)) {
		log_warn("read at %" PRIu64 " len %zu: the module's list of holes cannot be (magic 0x%" PRIx64
			 " version %u holes %u offset %" PRId64 ")",
			 pos, len, (uint64_t)meta->start_magic, meta->meta_version, meta->nholes,
			 (int64_t)meta->start_fd_offset);
		return -EPROTO;
	}
	if (!zero)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < meta->nholes; i++) {
		size_t start = (size_t)meta->hole[i].start * NVIDIA_FS_BLOCK;
		size_t bytes = hole_bytes(&meta->hole[i], len);
		int ret = zero(priv, va + start, bytes);

		if (ret)
			return ret;
		*holes_p += bytes;
	}
	return 0;
}
