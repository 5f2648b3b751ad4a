// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mr: " fmt
#include "barlane_net.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "context.h"
#include "gpu/cuda.h"
#include "net/log.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define SERVED_ACCESS                                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |        \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

/*
 * A memory region; its key is &ibv, its parent the domain.
 * @brings: requests may bring bytes from there: it is named by its own addresses, at which threads of a GPU find it too
 */
struct bl_mr {
	struct bl_object object;
	struct ibv_mr ibv;
	struct bl_context *context;
	struct bl_nic_mr *nic_mr;
	bool brings;
};

#define mr_of(obj) ((struct bl_mr *)(obj)) /* the object is its first member */

static int check_access(unsigned int access)
{
	if (access & ~(unsigned int)SERVED_ACCESS)
		return fail(EOPNOTSUPP, "access 0x%x: bits 0x%x are not served", access,
			    access & ~(unsigned int)SERVED_ACCESS);
	if ((access & REMOTE_CHANGES) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return fail(EINVAL, "access 0x%x: remote write and atomic need local write", access);
	return 0;
}

static int mr_create(struct bl_pd *pd, const struct bl_nic_memory *memory, uint64_t iova, struct bl_mr **mr_p)
{
	struct bl_context *context = pd->context;
	struct bl_mr *mr;
	int ret;

	ret = check_access(memory->access);
	if (ret)
		return ret;
	if (!memory->len || iova + memory->len < iova)
		return fail(EINVAL, "iova 0x%" PRIx64 " len 0x%zx: no such range", iova, memory->len);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return fail(ENOMEM, "out of memory");
	ret = context->ops->mr_create(context->nic, pd->nic_pd, memory, iova, &mr->nic_mr, &mr->ibv.lkey, &mr->ibv.rkey);
	if (ret) {
		free(mr);
		return ret;
	}
	mr->context = context;
	mr->ibv.context = &context->ibv;
	mr->ibv.pd = &pd->ibv;
	mr->ibv.addr = memory->addr;
	mr->ibv.length = memory->len;
	mr->ibv.handle = mr->ibv.lkey >> 8;
	mr->brings = context->caps.brings && memory->addr && iova == (uintptr_t)memory->addr;
	if (mr->brings)
		bl_regions_add(&context->regions, mr->ibv.lkey, iova, memory->len);
	bl_object_add(&mr->object, BL_MR, &mr->ibv, &pd->object);
	*mr_p = mr;
	return 0;
}

static struct ibv_mr *reg(struct ibv_pd *ibv, const struct bl_nic_memory *memory, uint64_t iova)
{
	struct bl_pd *pd;
	struct bl_mr *mr = NULL;
	int ret;

	ret = bl_pd_get(ibv, &pd);
	if (ret)
		return bl_null_errno(ret);
	ret = mr_create(pd, memory, iova, &mr);
	bl_pd_put(pd);
	return ret ? bl_null_errno(ret) : &mr->ibv;
}

struct ibv_mr *bl_net_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, int access)
{
	const struct bl_nic_memory memory = { .addr = addr, .len = len, .access = (unsigned int)access, .dmabuf_fd = -1 };

	if (!addr)
		return bl_null_errno(fail(EINVAL, "address NULL"));
	return reg(pd, &memory, iova);
}

struct ibv_mr *bl_net_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return bl_net_reg_mr_iova(pd, addr, len, (uintptr_t)addr, access);
}

/* Whether CUDA has device memory at an address, from there on for as many bytes in one allocation. */
static bool is_gpu_range(uint64_t va, size_t len)
{
	const struct bl_cuda *cuda = bl_cuda();
	unsigned int type = 0;
	CUdeviceptr base;
	size_t size;

	return cuda && !cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va) &&
	       type == CU_MEMORYTYPE_DEVICE && !cuda->cuMemGetAddressRange(&base, &size, va) && va - base <= size &&
	       len <= size - (va - base);
}

struct ibv_mr *bl_net_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access)
{
	struct bl_nic_memory memory = {
		.len = len,
		.access = (unsigned int)access,
		.dmabuf_fd = fd,
		.dmabuf_off = off,
	};

	if (fcntl(fd, F_GETFD) < 0)
		return bl_null_errno(fail(EBADF, "dma-buf fd %d: no such descriptor", fd));
	if (is_gpu_range(iova, len))
		memory.addr = (void *)(uintptr_t)iova;
	return reg(pd, &memory, iova);
}

int bl_net_dereg_mr(struct ibv_mr *ibv)
{
	struct bl_object *object;
	struct bl_mr *mr;
	int ret;

	ret = bl_object_take(BL_MR, ibv, false, &object);
	if (ret)
		return bl_positive_errno(ret);
	mr = mr_of(object);
	if (mr->brings)
		bl_regions_remove(&mr->context->regions, ibv->lkey);
	ret = mr->context->ops->mr_destroy(mr->context->nic, mr->nic_mr);
	if (ret) {
		if (mr->brings)
			bl_regions_add(&mr->context->regions, ibv->lkey, (uintptr_t)ibv->addr, ibv->length);
		bl_object_untake(object);
		return bl_positive_errno(ret);
	}
	bl_object_free_parent(object);
	free(mr);
	return 0;
}
