// SPDX-License-Identifier: MIT
/*
 * GPUs that reach each other's memory, where BARLANE_EMU_PEERS says so. The copies come out the same either way, but
 * they are counted apart: from memory to memory, or by way of the host.
 */
#include "api.h"
#include "counts.h"
#include "env.h"
#include "state.h"

static CUresult check_pair(CUdevice dev, CUdevice peer)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	return emu_gpu(dev) && emu_gpu(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult ret = check_pair(dev, peer);

	if (ret)
		return ret;
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	*can = emu_env()->peers && dev != peer;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, int attr, CUdevice src, CUdevice dst)
{
	CUresult ret = check_pair(src, dst);

	if (ret)
		return ret;
	if (src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || attr < 1 || attr > 5)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attr == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && emu_env()->peers;
	return CUDA_SUCCESS;
}

static int has_access(const struct emu_ctx *ctx, const struct emu_ctx *peer)
{
	for (unsigned int i = 0; i < ctx->nr_peers; i++) {
		if (ctx->peers[i] == peer)
			return 1;
	}
	return 0;
}

static CUresult enable(struct emu_ctx *ctx, struct emu_ctx *peer)
{
	if (!peer || !atomic_load(&peer->alive))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->gpu == ctx->gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!emu_env()->peers)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (has_access(ctx, peer))
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (ctx->nr_peers == EMU_CTX_PEERS)
		return CUDA_ERROR_TOO_MANY_PEERS;
	ctx->peers[ctx->nr_peers++] = peer;
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	ret = emu_cuda_fault("cuda.peer", CUDA_ERROR_UNKNOWN);
	if (!ret)
		ret = flags ? CUDA_ERROR_INVALID_VALUE : enable(ctx, emu_ctx_find(peer));
	emu_unlock();
	return ret;
}

void emu_peer_forget(struct emu_ctx *ctx, const struct emu_ctx *gone)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < ctx->nr_peers; i++) {
		if (ctx->peers[i] != gone)
			ctx->peers[left++] = ctx->peers[i];
	}
	ctx->nr_peers = left;
}

/* Memory that it has itself, if only opened, needs no access. */
static int reaches(const struct emu_ctx *ctx, const struct emu_alloc *alloc)
{
	return alloc->gpu == ctx->gpu || alloc->ctx == ctx || (alloc->ctx && has_access(ctx, alloc->ctx));
}

static int is_device(const struct emu_alloc *alloc)
{
	return alloc && alloc->kind != EMU_MANAGED && alloc->kind != EMU_HOST && alloc->kind != EMU_REGISTERED;
}

void emu_peer_count(const struct emu_ctx *ctx, uint64_t dst, uint64_t src)
{
	const struct emu_alloc *to = emu_alloc_find(dst), *from = emu_alloc_find(src);

	if (!is_device(to) || !is_device(from) || to->gpu == from->gpu)
		return;
	atomic_fetch_add(reaches(ctx, to) && reaches(ctx, from) ? &emu_peer_direct : &emu_peer_staged, 1);
}
