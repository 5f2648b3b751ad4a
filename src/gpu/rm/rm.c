// SPDX-License-Identifier: MIT
/*
 * Provider "rm": GPU memory through the device nodes that CUDA itself needs. The address leads to libcuda's RM object,
 * a duplicate of ours holds its memory, MAP_MEMORY opens a window in BAR1 to it. No kernel module, no root.
 */
#define log_fmt(fmt) "gpu/rm: " fmt
#include "gpu/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver_version.h"
#include "gpu/sys.h"
#include "rm_selftest.h"
#include "rm_view.h"
#include "util/log.h"

/**
 * struct rm_ctx - a context of this provider
 * @lock: guards @conn
 * @conn: the process' client, taken at the first pin
 */
struct rm_ctx {
	pthread_mutex_t lock;
	const struct rm_conn *conn;
};

/**
 * struct rm_pin - a pin of this provider
 * @gpu:    where the memory is
 * @target: our duplicate
 * @stuck:  a mapping could not be removed; the duplicate must stay
 */
struct rm_pin {
	struct rm_gpu *gpu;
	struct rm_target target;
	_Atomic(bool) stuck;
};

static int rm_probe(struct bl_provider_info *info)
{
	struct bl_driver_version version;
	int fd;

	/* what the drop-in library reports is its own interface: there is no module */
	info->major = 2;
	info->minor = 6;
	info->persistent = 1;
	fd = bl_sys()->open(RM_CTL_NODE, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		int err = errno;

		snprintf(info->reason, sizeof(info->reason), "open %s: %s%s", RM_CTL_NODE, strerror(err),
			 err == ENOENT ? " (no NVIDIA driver, or its nodes are not in this container)" : "");
		return -err;
	}
	bl_sys()->close(fd);
	if (bl_driver_version_read(&version))
		snprintf(version.text, sizeof(version.text), "of unknown version");
	else if (version.major && version.major < RM_FIRST_BRANCH) {
		snprintf(info->reason, sizeof(info->reason), "driver %s is older than %u, its interface is not known",
			 version.text, RM_FIRST_BRANCH);
		return -EOPNOTSUPP;
	}
	snprintf(info->reason, sizeof(info->reason), "driver %s; each GPU is tested at its first pin", version.text);
	return 0;
}

static int rm_open(void **priv_p)
{
	struct rm_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return fail(ENOMEM, "open: out of memory");
	pthread_mutex_init(&ctx->lock, NULL);
	*priv_p = ctx;
	return 0;
}

static void rm_close(void *priv)
{
	struct rm_ctx *ctx = priv;

	if (ctx->conn)
		rm_client_put();
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

static int connection(struct rm_ctx *ctx, const struct rm_conn **conn_p)
{
	int ret = 0;

	pthread_mutex_lock(&ctx->lock);
	if (!ctx->conn) {
		ret = rm_client_get(conn_p);
		if (!ret)
			ctx->conn = *conn_p;
	}
	*conn_p = ctx->conn;
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

/* Small allocations start at multiples of this, measured with libcuda of 580.159.04. */
#define ALLOCATION_ALIGN 512ULL

/*
 * An allocation that the request touches. Callers such as UCX align outward to GPU pages, so the first bytes may belong to
 * nobody; then the first allocation in that page is meant. Whether the range holds together is for clip() to say.
 */
static int locate(const struct bl_cuda *cuda, const struct bl_request *req, struct bl_cuda_ptr *ptr)
{
	uint64_t page_end = (req->va & ~(BL_GPU_PAGE_SIZE - 1)) + BL_GPU_PAGE_SIZE;
	uint64_t end = req->va + req->len < page_end ? req->va + req->len : page_end;
	int ret;

	bl_fail_hush(1);
	ret = bl_cuda_ptr_query(cuda, req->va, ptr);
	for (uint64_t va = req->va; ret == -EINVAL && !ptr->known;) {
		va = (va + ALLOCATION_ALIGN) & ~(ALLOCATION_ALIGN - 1);
		if (va >= end)
			break;
		ret = bl_cuda_ptr_query(cuda, va, ptr);
	}
	bl_fail_hush(-1);
	/* ask again for what the request itself names: that is the reason to tell */
	return ret ? bl_cuda_ptr_query(cuda, req->va, ptr) : 0;
}

/* Memory that CUDA names no object for. */
static int refuse_kind(const struct bl_cuda_ptr *ptr)
{
	if (ptr->pool)
		return fail(EOPNOTSUPP,
			    "pin va 0x%" PRIx64 ": memory of a stream-ordered pool (cuMemAllocAsync) names no RM "
			    "object; allocate it with cuMemAlloc, or as exportable VMM memory",
			    ptr->va);
	return 0;
}

static int find(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		const struct bl_cuda_ptr *ptr, struct rm_target *target)
{
	struct rm_blob_layout layout;
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_cuda_enter(cuda, ptr, &scope);
	if (ret)
		return ret;
	if (ptr->legacy_ipc) {
		ret = rm_selftest_plain(conn, gpu, cuda, &layout);
		if (!ret)
			ret = rm_target_plain(conn, gpu, cuda, &layout, ptr, target);
	} else {
		ret = ptr->handle_types ? rm_selftest_vmm(conn, gpu, cuda) : 0;
		if (!ret)
			ret = rm_target_vmm(conn, gpu, cuda, ptr, target);
	}
	bl_cuda_leave(cuda, &scope);
	return ret;
}

/*
 * The pages that hold the request, clipped to the object. A request may run over the end of its allocation into a
 * neighbour that shares the object: callers align outward. Across objects there is nothing that could be mapped.
 */
static int clip(const struct bl_request *req, const struct rm_target *target, struct bl_backing *backing)
{
	uint64_t end = target->va + target->size;
	uint64_t first = req->va & ~(BL_GPU_PAGE_SIZE - 1);
	uint64_t last = (req->va + req->len + BL_GPU_PAGE_SIZE - 1) & ~(BL_GPU_PAGE_SIZE - 1);

	if (req->va < target->va || req->va + req->len > end)
		return fail(EINVAL,
			    "pin va 0x%" PRIx64 " len 0x%zx: leaves its allocation, whose memory is va 0x%" PRIx64
			    " to 0x%" PRIx64,
			    req->va, req->len, target->va, end);
	backing->va = first > target->va ? first : target->va;
	backing->len = (last < end ? last : end) - backing->va;
	backing->page_size = BL_GPU_PAGE_SIZE;
	backing->object_va = target->va;
	return 0;
}

static int pin_found(const struct rm_conn *conn, const struct bl_cuda *cuda, const struct bl_request *req,
		     const struct bl_cuda_ptr *ptr, struct rm_pin *pin, struct bl_backing *backing)
{
	int ret;

	ret = rm_client_gpu(cuda, ptr->ordinal, &pin->gpu);
	if (ret)
		return ret;
	ret = find(conn, pin->gpu, cuda, ptr, &pin->target);
	if (ret)
		return ret;
	ret = clip(req, &pin->target, backing);
	if (ret)
		rm_target_free(conn, pin->gpu, &pin->target);
	return ret;
}

static int rm_pin(void *priv, const struct bl_request *req, struct bl_backing *backing)
{
	const struct bl_cuda *cuda = bl_cuda();
	const struct rm_conn *conn;
	struct bl_cuda_ptr ptr;
	struct rm_pin *pin;
	int ret;

	if (!cuda)
		return fail(ENODEV, "pin va 0x%" PRIx64 ": %s", req->va, bl_cuda_error());
	if (req->flags & BL_PIN_FORCE_PCIE)
		return fail(EINVAL, "pin va 0x%" PRIx64 ": this provider has no choice of link", req->va);
	ret = locate(cuda, req, &ptr);
	if (!ret)
		ret = refuse_kind(&ptr);
	if (!ret)
		ret = connection(priv, &conn);
	if (ret)
		return ret;
	pin = calloc(1, sizeof(*pin));
	if (!pin)
		return fail(ENOMEM, "pin: out of memory");
	ret = pin_found(conn, cuda, req, &ptr, pin, backing);
	if (ret) {
		free(pin);
		return ret;
	}
	backing->buffer_id = ptr.buffer_id;
	backing->priv = pin;
	return 0;
}

static int rm_unpin(void *priv, struct bl_backing *backing)
{
	struct rm_ctx *ctx = priv;
	struct rm_pin *pin = backing->priv;
	int ret = 0;

	if (!atomic_load(&pin->stuck))
		ret = rm_target_free(ctx->conn, pin->gpu, &pin->target);
	free(pin);
	return ret;
}

/* Something may still reach the memory through a mapping: the duplicate must stay. */
static int note_stuck(struct rm_pin *pin, int ret)
{
	if (ret == -EBUSY)
		atomic_store(&pin->stuck, true);
	return ret;
}

static int rm_map_pin(void *priv, struct bl_backing *backing, struct bl_mapping *mapping)
{
	struct rm_ctx *ctx = priv;
	struct rm_pin *pin = backing->priv;
	struct rm_view view;
	int ret;

	ret = rm_view_open(ctx->conn, pin->gpu, pin->target.memory, backing->va - pin->target.va, mapping->len, &view);
	if (ret)
		return note_stuck(pin, ret);
	if (mapping->type != BL_MAP_NONE && mapping->type != view.type) {
		ret = fail(EOPNOTSUPP, "map va 0x%" PRIx64 ": wanted type %d, the platform maps with type %d",
			   backing->va, mapping->type, view.type);
		note_stuck(pin, rm_view_close(ctx->conn, pin->gpu, &view));
		return ret;
	}
	mapping->addr = view.addr;
	mapping->type = view.type;
	mapping->key = view.phys;
	return 0;
}

static int rm_unmap_pin(void *priv, struct bl_backing *backing, struct bl_mapping *mapping)
{
	struct rm_ctx *ctx = priv;
	struct rm_pin *pin = backing->priv;
	struct rm_view view = {
		.memory = pin->target.memory,
		.phys = mapping->key,
		.addr = mapping->addr,
		.len = mapping->len,
		.type = mapping->type,
	};

	return note_stuck(pin, rm_view_close(ctx->conn, pin->gpu, &view));
}

static bool rm_same(void *priv, const struct bl_backing *a, const struct bl_backing *b)
{
	const struct rm_ctx *ctx = priv;
	const struct rm_pin *one = a->priv, *two = b->priv;

	return one->gpu == two->gpu && rm_target_same(ctx->conn, &one->target, &two->target);
}

const struct bl_provider_ops bl_provider_rm = {
	.name = "rm",
	.probe = rm_probe,
	.open = rm_open,
	.close = rm_close,
	.pin = rm_pin,
	.unpin = rm_unpin,
	.map = rm_map_pin,
	.unmap = rm_unmap_pin,
	.same = rm_same,
};
