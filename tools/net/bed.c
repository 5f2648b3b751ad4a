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

/* Threads that a block may have on any GPU. */
#define MAX_BLOCK 1024U

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
bool net_same_gpu(const char *a, const char *b)
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
		if (!cu->cuDeviceGet(&dev, ordinal) && !cu->cuDeviceGetPCIBusId(id, sizeof(id), dev) && net_same_gpu(wanted, id))
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

/* The steps to it, each on a line of its own that begins as all lines do that say what is used. */
static void say_steps(const struct net_bed *bed, char *steps)
{
	char *rest;

	for (char *line = strtok_r(steps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		fprintf(bed->options->out, "# %s\n", line);
}

static int open_nic(struct net_bed *bed)
{
	const char *name = bed->options->device;
	char steps[1200];

	bed->nic = name ? bl_net_open_device(name) : bl_net_open_best(steps, sizeof(steps));
	if (!bed->nic)
		return net_fail_errno(name ? name : "no NIC");
	if (!name)
		say_steps(bed, steps);
	/* the library's, which stays */
	bed->nic_name = bed->nic->device->name;
	bed->pd = bl_net_alloc_pd(bed->nic);
	return bed->pd ? 0 : net_fail_errno("protection domain");
}

void net_bed_limits(const struct net_options *options)
{
	char text[24];

	/* streams that share a channel to the GPU wait for each other's kernels: more channels than streams */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	/* a block of either end is on two multiprocessors at most: there is room for the driver's kernels beside them */
	if (options->threads <= MAX_BLOCK)
		setenv("BARLANE_SNIC_PLACE_WITHIN", "gpu", 0);
	snprintf(text, sizeof(text), "%u", options->timeout_s * 1000);
	setenv("BARLANE_NET_TIMEOUT_MS", text, 0);
	snprintf(text, sizeof(text), "%u", options->mtu);
	if (options->mtu)
		setenv("BARLANE_NET_MTU", text, 1);
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

int net_bed_open(struct net_bed *bed, unsigned int kind)
{
	int ret;

	if (kind & NET_BED_CPU) {
		ret = open_nic(bed);
		return ret ? ret : net_cpu_open(bed);
	}
	ret = open_gpu(bed);
	if (!ret)
		ret = open_nic(bed);
	bed->kind = kind;
	if (!ret)
		ret = net_bed_qp_make(bed);
	return ret ? ret : make_state(bed);
}

int net_bed_kernel(struct net_bed *bed, const struct net_ptx *ptx, const char *name, CUfunction *fn)
{
	const struct bl_cuda *cu = bed->device.cu;
	int ret = bed->module ? 0 : net_kernel_load(&bed->device, ptx, &bed->module);

	if (!ret)
		ret = tool_cuda(cu->cuModuleGetFunction(fn, bed->module, name), name);
	/* loading waits for kernels that run, such as the other end's, which may wait for this one: now, not at the launch */
	if (!ret && cu->cuFuncLoad)
		ret = tool_cuda(cu->cuFuncLoad(*fn), "cuFuncLoad");
	return ret;
}

void net_bed_close(struct net_bed *bed)
{
	if (bed->stream)
		bed->device.cu->cuStreamDestroy(bed->stream);
	if (bed->module)
		bed->device.cu->cuModuleUnload(bed->module);
	if (bed->state)
		doca_gpu_mem_free(bed->gpu, bed->state_gpu);
	while (bed->nr_qps)
		net_bed_qp_drop(bed);
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

/* No more than the program needs. */
static int access_of(const struct net_program *program)
{
	return ACCESS | (program->reads ? IBV_ACCESS_REMOTE_READ : 0) | (program->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

int net_buffer_alloc(struct net_bed *bed, enum doca_gpu_mem_type mtype, size_t len, struct net_buffer *buffer)
{
	doca_error_t err = doca_gpu_mem_alloc(bed->gpu, len, 0, mtype, &buffer->gpu, &buffer->cpu);

	if (err)
		return net_doca_fail(err, "buffer");
	buffer->len = len;
	buffer->mr = bl_net_reg_mr(bed->pd, mtype == DOCA_GPU_MEM_TYPE_CPU_GPU ? buffer->cpu : buffer->gpu, len,
				   access_of(bed->options->program));
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
