// SPDX-License-Identifier: MIT
/* run.c - a case: memory as it is at first, the kernel, the NIC's thread beside it, what both have seen */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "common/error.h"
#include "common/object.h"

#define OBJECT "net_litmus_kernels.so"

/* Turns of random waits in front of accesses: about the time of a word's way across PCIe. */
#define SPREAD 512U

/* Turns of a wait between two looks at the clock. */
#define POLLS 4096U

/* The longest wait of the kernel: it ends soon after the program has given up. */
#define KERNEL_NS 2000000000ULL

#ifdef HAVE_LITMUS_PTX
extern const char bl_net_litmus_ptx_75[];
#endif
#ifdef HAVE_LITMUS_PTX_90
extern const char bl_net_litmus_ptx_90[];
#endif

static void need(CUresult res, const char *what)
{
	if (tool_cuda(res, what))
		tool_die("%s", tool_why());
}

static const char *choose_ptx(const struct tool_device *device)
{
#ifdef HAVE_LITMUS_PTX_90
	if (tool_device_attr(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9)
		return bl_net_litmus_ptx_90;
#endif
	(void)device;
#ifdef HAVE_LITMUS_PTX
	return bl_net_litmus_ptx_75;
#else
	return NULL;
#endif
}

static int load_kernel(struct litmus *litmus)
{
	const struct tool_device *device = &litmus->bench.device;
	const char *ptx = choose_ptx(device), *why = "this program was built without nvcc";

	if (ptx) {
		CUresult res = device->cu->cuModuleLoadData(&litmus->module, ptx);

		if (res != CUDA_ERROR_NO_BINARY_FOR_GPU)
			return tool_cuda(res, "cuModuleLoadData");
		why = "the driver takes no PTX";
	}
	return tool_object_load(device, OBJECT, why, &litmus->module);
}

int litmus_open(struct litmus *litmus)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;
	int ret = load_kernel(litmus);

	if (ret == -ENOENT)
		return ret;
	if (ret)
		tool_die("%s", tool_why());
	litmus->gpu = litmus->bench.mem.ptr;
	litmus->map = (unsigned char *)litmus->bench.user;
	need(cu->cuMemHostAlloc((void **)&litmus->host, BL_LITMUS_AT_LOG, 0), "cuMemHostAlloc");
	need(cu->cuStreamCreate(&litmus->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	for (unsigned int i = 0; i < BL_LITMUS_NR_ACTORS; i++)
		litmus->logs[i] = bench_host_alloc(litmus->runs);
	return 0;
}

void litmus_close(struct litmus *litmus)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;

	for (unsigned int i = 0; i < BL_LITMUS_NR_ACTORS; i++)
		free(litmus->logs[i]);
	need(cu->cuStreamDestroy(litmus->stream), "cuStreamDestroy");
	need(cu->cuModuleUnload(litmus->module), "cuModuleUnload");
	need(cu->cuMemFreeHost(litmus->host), "cuMemFreeHost");
}

static void __attribute__((format(printf, 2, 3), noreturn)) give_up(struct litmus *litmus, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	__atomic_store_n((uint64_t *)(litmus->host + BL_LITMUS_AT_STOP), 1, __ATOMIC_RELEASE);
	fprintf(stderr, "net_litmus: %s\n", text);
	fflush(NULL);
	/* handlers of the driver would wait for the kernel */
	_exit(EXIT_FAILURE);
}

static CUdeviceptr gpu_address(const struct litmus *litmus, unsigned int place, size_t off)
{
	return place == LITMUS_ON_GPU ? litmus->gpu + off : (CUdeviceptr)(uintptr_t)litmus->host + off;
}

static unsigned char *cpu_address(const struct litmus *litmus, unsigned int place, size_t off)
{
	return (place == LITMUS_ON_GPU ? litmus->map : litmus->host) + off;
}

/* z belongs to the GPU alone where one of its threads hands something to the other. */
static unsigned int place_of_z(const struct litmus_case *test)
{
	return test->shape == BL_LITMUS_HANDED || test->shape == BL_LITMUS_BROUGHT ? LITMUS_ON_GPU : test->word;
}

/* In memory that the farthest of them reaches fast. */
static unsigned int place_to_meet(const struct litmus_case *test)
{
	return litmus_shape_of(test).actors >> BL_LITMUS_NIC & 1 ? LITMUS_HOST : LITMUS_ON_GPU;
}

static struct doca_gpu_dev_verbs_qp queue_pair(const struct litmus *litmus, const struct litmus_case *test)
{
	uint32_t handler = test->handler ? test->handler : DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;

	return (struct doca_gpu_dev_verbs_qp){
		.sq_wqe_num = BL_LITMUS_CELLS,
		.sq_wqe_mask = BL_LITMUS_CELLS - 1,
		.sq_wqe_daddr = (uint8_t *)(uintptr_t)gpu_address(litmus, test->message, BL_LITMUS_AT_X),
		.sq_dbrec = (uint32_t *)(uintptr_t)gpu_address(litmus, test->word, BL_LITMUS_AT_Z),
		.sq_db = (uint64_t *)(uintptr_t)gpu_address(litmus, test->word, BL_LITMUS_AT_Y),
		.polled = !test->handler,
		.cq_sq = {
			.cqe_daddr = (uint8_t *)(uintptr_t)gpu_address(litmus, test->word, BL_LITMUS_AT_Y),
			.cqe_num = BL_LITMUS_CELLS,
			.cqe_mask = BL_LITMUS_CELLS - 1,
			.cqe_size = 64,
		},
		.nic_handler = handler,
		/* a CPU reads the ring wherever it lies */
		.mem_type = test->message == LITMUS_ON_GPU ? DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO :
							     DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST,
	};
}

static void prepare(struct litmus *litmus, const struct litmus_case *test)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;
	struct doca_gpu_dev_verbs_qp qp = queue_pair(litmus, test);
	unsigned char cqes[BL_LITMUS_CELLS * 64];

	memset(litmus->host, 0, BL_LITMUS_AT_LOG);
	need(cu->cuMemsetD8(litmus->gpu, 0, BL_LITMUS_AT_LOG + 2 * litmus->runs), "cuMemsetD8");
	need(cu->cuMemcpyHtoD(litmus->gpu + BL_LITMUS_AT_QP, &qp, sizeof(qp)), "cuMemcpyHtoD");
	if (test->shape == BL_LITMUS_CQE) {
		litmus_nic_clear_cqes(cqes);
		if (test->word == LITMUS_ON_GPU)
			need(cu->cuMemcpyHtoD(litmus->gpu + BL_LITMUS_AT_Y, cqes, sizeof(cqes)), "cuMemcpyHtoD");
		else
			memcpy(litmus->host + BL_LITMUS_AT_Y, cqes, sizeof(cqes));
	}
	need(cu->cuCtxSynchronize(), "cuCtxSynchronize");
}

static void launch(struct litmus *litmus, const struct litmus_case *test)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;
	struct bl_litmus_run run = {
		.x = gpu_address(litmus, test->message, BL_LITMUS_AT_X),
		.y = gpu_address(litmus, test->word, BL_LITMUS_AT_Y),
		.z = gpu_address(litmus, place_of_z(test), BL_LITMUS_AT_Z),
		.meet = gpu_address(litmus, place_to_meet(test), BL_LITMUS_AT_MEET),
		.stop = gpu_address(litmus, LITMUS_HOST, BL_LITMUS_AT_STOP),
		.qp = (struct doca_gpu_dev_verbs_qp *)(uintptr_t)(litmus->gpu + BL_LITMUS_AT_QP),
		.ends = (struct bl_litmus_end *)(uintptr_t)(litmus->gpu + BL_LITMUS_AT_ENDS),
		.log = (uint8_t *)(uintptr_t)(litmus->gpu + BL_LITMUS_AT_LOG),
		.runs = litmus->runs,
		.seed = litmus->seed,
		.spread = SPREAD,
		.limit_ns = KERNEL_NS,
		.shape = test->shape,
		.how = test->how,
		.actors = litmus_shape_of(test).actors,
		.gpu_scope = test->gpu_scope,
	};
	void *params[] = { &run };
	CUfunction fn;

	need(cu->cuModuleGetFunction(&fn, litmus->module, "bl_litmus"), "cuModuleGetFunction");
	need(cu->cuLaunchKernel(fn, 2, 1, 1, 1, 1, 1, 0, litmus->stream, params, NULL), "cuLaunchKernel");
}

/* In each turn of a wait for a thread of the GPU. */
static int idle(void *arg, uint64_t nr)
{
	struct litmus *litmus = arg;
	CUresult res;

	if (litmus->bench.device.emulated)
		sched_yield();
	if (++litmus->polls % POLLS)
		return 0;
	if (tool_now_ns() > litmus->end_ns)
		give_up(litmus, "run %" PRIu64 ": the GPU did not come in time", nr);
	res = litmus->bench.device.cu->cuStreamQuery(litmus->stream);
	/* in the last run it may have ended; what it stored before is seen in the next turn */
	return res == CUDA_ERROR_NOT_READY || nr == litmus->runs ? 0 : -EPIPE;
}

static void finish(struct litmus *litmus)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;
	const struct timespec nap = { .tv_nsec = 20000 };
	CUresult res;

	while ((res = cu->cuStreamQuery(litmus->stream)) == CUDA_ERROR_NOT_READY) {
		if (tool_now_ns() > litmus->end_ns)
			give_up(litmus, "the kernel on the GPU did not end in time");
		nanosleep(&nap, NULL);
	}
	need(res, "the kernel on the GPU");
}

static void check_ends(struct litmus *litmus, const struct litmus_case *test)
{
	static const char *const ends[] = { "has not run", "is done", "waited too long", "was stopped", "failed" };
	struct bl_litmus_end end[2];

	need(litmus->bench.device.cu->cuMemcpyDtoH(end, litmus->gpu + BL_LITMUS_AT_ENDS, sizeof(end)), "cuMemcpyDtoH");
	for (unsigned int i = 0; i < 2; i++) {
		if (!(litmus_shape_of(test).actors >> i & 1) || (end[i].end == BL_LITMUS_DONE && end[i].run == litmus->runs))
			continue;
		tool_die("%s: thread %u of the GPU %s, run %" PRIu64, test->name, i,
			 end[i].end <= BL_LITMUS_FAILED ? ends[end[i].end] : "is broken", end[i].run);
	}
}

void litmus_run(struct litmus *litmus, const struct litmus_case *test, struct litmus_counts *counts)
{
	const struct bl_cuda *cu = litmus->bench.device.cu;
	struct litmus_nic nic = {
		.test = test,
		.x = cpu_address(litmus, test->message, BL_LITMUS_AT_X),
		.y = cpu_address(litmus, test->word, BL_LITMUS_AT_Y),
		.z = cpu_address(litmus, place_of_z(test), BL_LITMUS_AT_Z),
		.meet = cpu_address(litmus, LITMUS_HOST, BL_LITMUS_AT_MEET),
		.runs = litmus->runs,
		.seed = litmus->seed,
		.spread = SPREAD,
		.log = litmus->logs[BL_LITMUS_NIC],
		.idle = idle,
		.arg = litmus,
	};

	memset(litmus->logs[BL_LITMUS_NIC], 0, litmus->runs);
	prepare(litmus, test);
	launch(litmus, test);
	/* a kernel that has left says why itself */
	litmus_nic_play(&nic);
	finish(litmus);
	check_ends(litmus, test);
	for (unsigned int i = 0; i < 2; i++)
		need(cu->cuMemcpyDtoH(litmus->logs[i], litmus->gpu + BL_LITMUS_AT_LOG + i * litmus->runs, litmus->runs),
		     "cuMemcpyDtoH");
	litmus_count(counts, (const uint8_t *const *)litmus->logs, litmus->runs);
}
