// SPDX-License-Identifier: MIT
/* What others see of queue pairs that GPUs use. */
#include <errno.h>
#include <unistd.h>

#include "bed.h"
#include "common/error.h"
#include "netstat/netstat.h"

static struct netstat_all all;

/* The one queue pair that is shown, as it is now or a little later; NULL: nothing is. */
static const struct bl_shown_gpu_qp *look(bool (*is)(const struct bl_shown_gpu_qp *qp))
{
	struct netstat_process process;

	for (int i = 0; i < 200; i++) {
		netstat_free(&all);
		if (netstat_open(getpid(), &process))
			return NULL;
		check_str(netstat_load(&process, true, &all) ? tool_why() : "", "");
		netstat_close(&process);
		if (all.gpu.nr == 1 && is(&all.gpu.qps[0]))
			return &all.gpu.qps[0];
		usleep(10000);
	}
	tap_end(TAP_FAILED, "%u queue pairs are shown, and the first is not what it should be", all.gpu.nr);
}

static const char *hints_of(const struct bl_shown_gpu_qp *gpu)
{
	static char text[4 * NETSTAT_HINT];
	const struct bl_shown_qp none = { .state = 3 };
	char hints[4][NETSTAT_HINT];
	unsigned int nr = netstat_qp_hints(&none, gpu, hints, 4);

	*text = '\0';
	for (unsigned int i = 0; i < nr; i++)
		strcat(text, hints[i]);
	return text;
}

static bool any(const struct bl_shown_gpu_qp *qp)
{
	return true;
}

static bool posted_three(const struct bl_shown_gpu_qp *qp)
{
	return qp->word == 3;
}

static bool served_three(const struct bl_shown_gpu_qp *qp)
{
	return qp->served == 3;
}

static void a_proxy_that_is_missing_is_named(void)
{
	const struct bl_shown_gpu_qp *gpu;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	setenv("BARLANE_NET_SERVICE", "0", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	unsetenv("BARLANE_NET_SERVICE");
	gpu = look(any);
	check_str(gpu->nic, "dma0");
	check_eq(gpu->qpn, qp->qp_gverbs->qp_cpu->sq_num);
	check_eq(gpu->sq_nr, 16);
	check_str(netstat_handler(gpu->handler), "CPU proxy");
	check_str(netstat_ringer(gpu->ringer), "the program's own calls");
	check_str(hints_of(gpu), "");
	bed_post(qp->qp_gverbs, 3);
	gpu = look(posted_three);
	check_eq(gpu->served, 0);
	check_eq(gpu->records[1], 0);
	check_has(hints_of(gpu), "submitted 3 and the NIC was told of 0: no proxy thread");
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, NULL), DOCA_SUCCESS);
	gpu = look(served_three);
	check_str(hints_of(gpu), "");
	check_eq(gpu->rings, 1);
	check_eq(gpu->records[1], 3);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check(!look(any));
	bed_drop();
}

static bool reserved_five(const struct bl_shown_gpu_qp *qp)
{
	return qp->flags & BL_SHOWN_GPU_OBJECT && qp->reserved == 5;
}

static bool ready_five(const struct bl_shown_gpu_qp *qp)
{
	return qp->ready == 5;
}

static bool stopped(const struct bl_shown_gpu_qp *qp)
{
	return qp->stop == 1;
}

/* Where a CPU reaches the GPU's object. */
static void slots_that_are_reserved_and_not_filled_are_named(void)
{
	uint64_t three = 3, five = 5;
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	const struct bl_shown_gpu_qp *gpu;
	struct doca_gpu_dev_verbs_qp *dev;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	attr.send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	bed_dev(qp, &dev);
	bed_write(&dev->sq_rsvd_index, &five, sizeof(five));
	bed_write(&dev->sq_ready_index, &three, sizeof(three));
	bed_write(&dev->sq_wqe_pi, &three, sizeof(three));
	gpu = look(reserved_five);
	check_eq(gpu->ready, 3);
	check_eq(gpu->submitted, 3);
	check_has(hints_of(gpu), "threads have reserved 2 slots that are not marked ready");
	bed_write(&dev->sq_ready_index, &five, sizeof(five));
	check_has(hints_of(look(ready_five)), "2 requests are ready and not submitted");
	check_eq(bl_net_qp_stop(qp->qp_gverbs, 1), 0);
	check_has(hints_of(look(stopped)), "its stop flag is set");
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void an_object_in_gpu_memory_is_not_looked_at(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	bed_dev(qp, NULL);
	bed_post(qp->qp_gverbs, 3);
	check(!(look(posted_three)->flags & BL_SHOWN_GPU_OBJECT));
	check(look(posted_three)->flags & BL_SHOWN_GPU_WATCHED);
	check_str(hints_of(look(posted_three)), "");
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(a_proxy_that_is_missing_is_named),
	T(slots_that_are_reserved_and_not_filled_are_named),
	T(an_object_in_gpu_memory_is_not_looked_at),
};

TAP_MAIN(tests)
