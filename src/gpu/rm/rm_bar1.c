// SPDX-License-Identifier: MIT
/* BAR1 of a GPU, for those who want to know how much can be mapped. */
#define log_fmt(fmt) "gpu/rm: " fmt
#include <errno.h>

#include "gpu/core.h"
#include "gpu/edge.h"
#include "gpu/rm/rm_client.h"
#include "util/fork.h"
#include "util/log.h"

int bl_gpu_bar1(int ordinal, uint64_t *size_p, uint64_t *avail_p)
{
	const struct bl_cuda *cuda = bl_cuda();
	const struct rm_conn *conn;
	uint32_t avail, size;
	struct rm_gpu *gpu;
	int ret;

	if (!cuda)
		return fail(ENODEV, "BAR1 of device %d: no CUDA driver library: %s", ordinal, bl_cuda_error());
	ret = bl_fork_init(bl_core_forget);
	if (ret)
		return fail(-ret, "BAR1 of device %d: cannot watch for forks", ordinal);
	ret = rm_client_get(&conn);
	if (ret)
		return ret;
	ret = rm_client_gpu(cuda, ordinal, &gpu);
	if (!ret)
		ret = rm_gpu_bar1(conn, gpu, &avail, &size);
	if (!ret) {
		*size_p = (uint64_t)size << 10;
		*avail_p = (uint64_t)avail << 10;
	}
	rm_client_put();
	return ret;
}
