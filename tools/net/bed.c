// SPDX-License-Identifier: MIT
#include "net/bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "barlane.h"
#include "common/error.h"
#include "net/cpu.h"
#include "net/kernel.h"
#include "net/say.h"
#include "net/wire.h"

#define NWQE   2048
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING)

static int doca_errno(doca_error_t err)
{
	switch (err) {
	case DOCA_ERROR_NO_MEMORY:
		return ENOMEM;
	case DOCA_ERROR_INVALID_VALUE:
		return EINVAL;
	case DOCA_ERROR_NOT_SUPPORTED:
		return EOPNOTSUPP;
	case DOCA_ERROR_NOT_FOUND:
		return ENODEV;
	default:
		return EIO;
	}
}

int net_doca_fail(doca_error_t err, const char *what)
{
	const char *why = bl_last_error(NULL);

	return tool_fail(doca_errno(err), "%s: error %d: %s", what, (int)err, why ? why : "");
}

int net_fail_errno(const char *what)
{
	int err = errno;
	const char *why = bl_last_error(NULL);

	return tool_fail(err ? err : EIO, "%s: %s", what, why && *why ? why : strerror(err));
}

/* Numbers alike, whatever the case of letters and however many zeros the domain has. */
static bool same_gpu(const char *a, const char *b)
{
	unsigned int da = 0, db = 0, ba, bb, na, nb;

	if (sscanf(a, "%x:%x:%x", &da, &ba, &na) != 3 && (da = 0, sscanf(a, "%x:%x", &ba, &na) != 2))
		return false;
	if (sscanf(b, "%x:%x:%x", &db, &bb, &nb) != 3 && (db = 0, sscanf(b, "%x:%x", &bb, &nb) != 2))
		return false;
	return da == db && ba == bb && na == nb;
}

static int open_gpu(struct net_bed *bed)
{
	const char *wanted = bed->options->gpu;
	const struct bl_cuda *cu = bl_cuda();
	char id[32];
	CUdevice dev;
	int ordinal = 0, nr = tool_device_count(), ret;
	doca_error_t err;

	if (nr < 0)
		return nr;
	for (; wanted && ordinal < nr; ordinal++) {
		if (!cu->cuDeviceGet(&dev, ordinal) && !cu->cuDeviceGetPCIBusId(id, sizeof(id), dev) && same_gpu(wanted, id))
			break;
	}
	if (ordinal >= nr)
		return tool_fail(ENODEV, wanted ? "GPU %s: CUDA shows none at this address" : "no GPU", wanted);
	ret = tool_device_open(ordinal, &bed->device);
	if (ret)
		return ret;
	net_say(bed->options, "Setting GPU device %d at %s", ordinal, bed->device.bus_id);
	err = doca_gpu_create(bed->device.bus_id, &bed->gpu);
	return err ? net_doca_fail(err, "GPU") : 0;
}

static int open_nic(struct net_bed *bed)
{
	struct ibv_device **list = bl_net_device_list(NULL);
	const char *name = bed->options->device;

	if (!name && list && *list)
		name = bl_net_device_name(*list);
	bl_net_free_device_list(list);
	if (!name)
		return tool_fail(ENODEV, "no NIC");
	bed->nic_name = name;
	bed->nic = bl_net_open_device(name);
	if (!bed->nic)
		return net_fail_errno(name);
	bed->pd = bl_net_alloc_pd(bed->nic);
	return bed->pd ? 0 : net_fail_errno("protection domain");
}

/* The library reads these when a queue pair is made and connected; what the user has set stays. */
static void set_limits(const struct net_options *options)
{
	char text[24];

	snprintf(text, sizeof(text), "%u", options->timeout_s * 1000);
	setenv("BARLANE_NET_TIMEOUT_MS", text, 0);
	snprintf(text, sizeof(text), "%u", options->mtu);
	if (options->mtu)
		setenv("BARLANE_NET_MTU", text, 1);
}

static int make_qp(struct net_bed *bed, unsigned int kind)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .uc = bed->options->uc,
					  .rq_nwqe = kind & NET_BED_RECEIVES ? NET_SLOTS : 0 };
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = bed->gpu,
		.ibpd = bed->pd,
		.sq_nwqe = NWQE,
		.nic_handler = (enum doca_gpu_dev_verbs_nic_handler)bed->options->handler,
		.send_dbr_mode_ext = (enum doca_gpu_verbs_send_dbr_mode_ext)bed->options->dbr,
		.cq_collapsed = kind & NET_BED_COLLAPSED,
	};
	doca_error_t err = bl_net_create_qp_hl(&attr, &more, &bed->qp);
	int ret;

	if (err)
		return net_doca_fail(err, "queue pair");
	err = doca_gpu_verbs_get_qp_dev(bed->qp->qp_gverbs, &bed->qp_dev);
	if (err)
		return net_doca_fail(err, "queue pair for the GPU");
	bed->path.sz = sizeof(bed->path);
	ret = bl_net_qp_path(bed->qp->qp_gverbs, &bed->path);
	return ret ? tool_fail(-ret, "queue pair: how it works: %s", strerror(-ret)) : 0;
}

static int make_state(struct net_bed *bed)
{
	void *gpu, *cpu;
	doca_error_t err = doca_gpu_mem_alloc(bed->gpu, sizeof(*bed->state), 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &gpu, &cpu);

	if (err)
		return net_doca_fail(err, "memory for CPU and GPU");
	bed->state = cpu;
	bed->state_gpu = gpu;
	return tool_cuda(bed->device.cu->cuStreamCreate(&bed->stream, 1), "cuStreamCreate");
}

int net_bed_open(const struct net_options *options, unsigned int kind, struct net_bed *bed)
{
	int ret;

	*bed = (struct net_bed){ .options = options, .sock = -1 };
	set_limits(options);
	if (kind & NET_BED_CPU) {
		ret = open_nic(bed);
		return ret ? ret : net_cpu_open(bed);
	}
	ret = open_gpu(bed);
	if (!ret)
		ret = open_nic(bed);
	if (!ret)
		ret = make_qp(bed, kind);
	return ret ? ret : make_state(bed);
}

struct doca_verbs_qp *net_bed_qp(const struct net_bed *bed)
{
	return bed->cpu ? bed->cpu->qp : bed->qp->qp;
}

int net_bed_connect(struct net_bed *bed)
{
	unsigned int limit = bed->options->timeout_s;
	int ret = bl_net_qp_local(bed->nic, net_bed_qp(bed), 1, bed->options->gid, &bed->local);

	if (ret)
		return tool_fail(-ret, "NIC %s, address %d: %s", bed->nic_name, bed->options->gid, strerror(-ret));
	ret = net_send(bed->sock, NET_PEER, &bed->local, sizeof(bed->local), limit);
	if (!ret)
		ret = net_recv(bed->sock, NET_PEER, &bed->remote, sizeof(bed->remote), limit);
	if (ret)
		return ret;
	ret = bl_net_qp_connect(bed->nic, net_bed_qp(bed), bed->options->uc, &bed->local, &bed->remote);
	if (ret)
		return tool_fail(-ret, "connecting the queue pair: %s", strerror(-ret));
	ret = net_barrier(bed->sock, limit);
	if (!ret)
		net_say(bed->options, "QP has been successfully connected and ready to use");
	return ret;
}

int net_bed_kernel(struct net_bed *bed, const char *ptx, const char *name, CUfunction *fn)
{
	int ret = bed->module ? 0 : net_kernel_load(&bed->device, ptx, &bed->module);

	return ret ? ret : tool_cuda(bed->device.cu->cuModuleGetFunction(fn, bed->module, name), name);
}

int net_bed_check(struct net_bed *bed)
{
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	int ret = bl_net_qp_error(bed->qp->qp_gverbs, &error);

	if (ret)
		return tool_fail(-ret, "queue pair: %s", strerror(-ret));
	return error.has_error ? tool_fail(EIO, "queue pair: %s", error.text) : 0;
}

void net_bed_close(struct net_bed *bed)
{
	if (bed->stream)
		bed->device.cu->cuStreamDestroy(bed->stream);
	if (bed->module)
		bed->device.cu->cuModuleUnload(bed->module);
	if (bed->state)
		doca_gpu_mem_free(bed->gpu, bed->state_gpu);
	if (bed->qp)
		doca_gpu_verbs_destroy_qp_hl(bed->qp);
	net_cpu_close(bed);
	if (bed->pd)
		bl_net_dealloc_pd(bed->pd);
	if (bed->nic)
		bl_net_close_device(bed->nic);
	if (bed->gpu)
		doca_gpu_destroy(bed->gpu);
	if (bed->device.ctx)
		tool_device_close(&bed->device);
	if (bed->sock >= 0)
		close(bed->sock);
	bed->sock = -1;
}

int net_buffer_alloc(struct net_bed *bed, enum doca_gpu_mem_type mtype, size_t len, struct net_buffer *buffer)
{
	doca_error_t err = doca_gpu_mem_alloc(bed->gpu, len, 0, mtype, &buffer->gpu, &buffer->cpu);

	if (err)
		return net_doca_fail(err, "buffer");
	buffer->len = len;
	buffer->mr = bl_net_reg_mr(bed->pd, mtype == DOCA_GPU_MEM_TYPE_CPU_GPU ? buffer->cpu : buffer->gpu, len, ACCESS);
	if (buffer->mr)
		return 0;
	return net_fail_errno("registering the buffer");
}

void net_buffer_free(struct net_bed *bed, struct net_buffer *buffer)
{
	if (buffer->mr)
		bl_net_dereg_mr(buffer->mr);
	if (buffer->gpu)
		doca_gpu_mem_free(bed->gpu, buffer->gpu);
	*buffer = (struct net_buffer){ 0 };
}

int net_buffer_fill(struct net_bed *bed, const struct net_buffer *buffer, size_t len, unsigned char value)
{
	const struct bl_cuda *cu = bed->device.cu;
	int ret;

	if (buffer->cpu) {
		memset(buffer->cpu, value, len);
		return 0;
	}
	ret = tool_cuda(cu->cuMemsetD8((CUdeviceptr)(uintptr_t)buffer->gpu, value, len), "cuMemsetD8");
	return ret ? ret : tool_cuda(cu->cuCtxSynchronize(), "cuCtxSynchronize");
}
