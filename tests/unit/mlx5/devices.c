// SPDX-License-Identifier: MIT
/* Devices of provider "mlx5", the steps down from it, and what becomes of each call that fails. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "barlane_net.h"
#include "bed.h"
#include "net/context.h"
#include "tap.h"
#include "tools/doctor/devx.h"

static void begin(void)
{
	fake_ibv_reset();
	fake_mlx5_reset();
}

static void end(void)
{
	check_str(fake_ibv.complaint, "");
	check_eq(fake_ibv.live, 0);
}

static const char *provider_of(const struct ibv_context *ibv)
{
	struct bl_context *context;
	const char *name;

	check_eq(bl_context_get((struct ibv_context *)ibv, &context), 0);
	name = context->ops->name;
	bl_context_put(context);
	return name;
}

static void devices_come_first_and_once(void)
{
	struct bl_net_provider_info infos[4];
	struct ibv_device **list;
	int nr;

	begin();
	list = bl_net_device_list(&nr);
	check(list && nr >= 4);
	check_str(bl_net_device_name(list[0]), "mlx5_0");
	check_str(bl_net_device_name(list[1]), "mlx5_1");
	check_str(bl_net_device_name(list[2]), "soft0");
	bl_net_free_device_list(list);
	check_eq(bl_net_provider_list(infos, 4), 3);
	check_str(infos[0].name, "mlx5");
	check(infos[0].usable);
	check_has(infos[0].reason, "2 mlx5 devices; ");
	check_has(infos[0].reason, "never run on hardware");
	check(!bl_net_open_device("mlx5_7"));
	check_has(bl_last_error(NULL), "there is: mlx5_0, mlx5_1, soft0");
	fake_ibv.no_devices = true;
	check_eq(bl_net_provider_list(infos, 4), 3);
	check(!infos[0].usable);
	check_has(infos[0].reason, "no mlx5 device");
	end();
}

static void the_best_way_is_taken_and_each_step_down_is_said(void)
{
	struct ibv_context *context;
	char steps[2000];

	begin();
	context = bl_net_open_best(steps, sizeof(steps));
	check(context);
	check_str(provider_of(context), "mlx5");
	check_has(steps, "device mlx5_0, provider mlx5: taken: the device reads what kernels post");
	check_has(steps, "never run on hardware");
	check_eq(bl_net_close_device(context), 0);

	fake_mlx5.no_devx = true;
	context = bl_net_open_best(steps, sizeof(steps));
	check_str(provider_of(context), "verbs");
	check_has(steps,
		  "device mlx5_0, provider mlx5: passed over: net/mlx5: device mlx5_0: mlx5dv_open_device with DevX: "
			 "Operation not permitted; it takes /dev/infiniband and CAP_NET_RAW");
	check_has(steps, "\ndevice mlx5_1, provider mlx5: passed over: ");
	check_has(steps, "\ndevice mlx5_0, provider verbs: taken: ");
	check_eq(bl_net_close_device(context), 0);

	begin();
	fake_ibv.port_down = true;
	context = bl_net_open_best(steps, sizeof(steps));
	check_str(context->device->name, "soft0");
	check_has(steps, "device mlx5_0, provider mlx5: passed over: port 1 is not active");
	check_has(steps, "device mlx5_0, provider verbs: passed over: port 1 is not active");
	check_eq(bl_net_close_device(context), 0);
	end();
}

static void a_name_goes_down_the_providers_that_have_it(void)
{
	struct ibv_context *context;

	begin();
	context = bl_net_open_device("mlx5_1");
	check_str(provider_of(context), "mlx5");
	check_eq(bl_net_close_device(context), 0);
	fake_mlx5.no_devx = true;
	context = bl_net_open_device("mlx5_1");
	check_str(provider_of(context), "verbs");
	check_eq(bl_net_close_device(context), 0);
	/* unless one is named */
	setenv("BARLANE_NIC", "mlx5", 1);
	check(!bl_net_open_device("mlx5_1"));
	check_eq(errno, EPERM);
	check_has(bl_last_error(NULL), "mlx5dv_open_device with DevX: Operation not permitted");
	fake_mlx5.no_devx = false;
	setenv("BARLANE_NIC", "verbs", 1);
	context = bl_net_open_device("mlx5_1");
	check_str(provider_of(context), "verbs");
	check_eq(bl_net_close_device(context), 0);
	unsetenv("BARLANE_NIC");
	/* the last one's reason is the error */
	fake_mlx5.no_devx = true;
	fake_ibv.fail_call = "open_device";
	fake_ibv.fail_after = 0;
	fake_ibv.fail_errno = EACCES;
	check(!bl_net_open_device("mlx5_0"));
	check_eq(errno, EACCES);
	end();
}

static void capabilities_are_the_firmware_s_and_libibverbs(void)
{
	struct bed bed;

	begin();
	fake_mlx5.log_max_qp_sz = 12;
	fake_mlx5.log_max_cq_sz = 20;
	fake_mlx5.no_uc = fake_mlx5.no_atomic = true;
	bed_init(&bed);
	check_eq(bed_make_parts(&bed), 0);
	check_eq(fake_mlx5.nr_commands, 2);
	check_eq(bed.caps.max_qp_wr, 4096);
	check_eq(bed.caps.max_cqe, 1 << 20);
	check_eq(bed.caps.max_qp, 1 << 16);
	check_eq(bed.caps.max_cq, 1 << 15);
	check(bed.caps.rc && !bed.caps.uc && bed.caps.no_atomics && !bed.caps.no_dbrec && !bed.caps.cpu &&
	      !bed.caps.lids);
	check_eq(bed.caps.gids, 3);
	check_eq((uintptr_t)bed.page.db & 0xeff, 0x800);
	check_eq((char *)bed.page.no_dbrec_db - (char *)bed.page.page, 0x600);
	check_eq((char *)bed.page.cq_db - (char *)bed.page.page, 0x20);
	check_eq(bed_drop(&bed), 0);
	end();
}

static enum doca_verbs_qp_state state_of(const struct bed *bed)
{
	struct bl_nic_qp_info info;

	check_eq(bl_nic_mlx5.qp_query(bed->nic, bed->qp, &info), 0);
	return info.state;
}

static void a_queue_pair_goes_through_its_states(void)
{
	struct bed bed;

	begin();
	check_eq(bed_make(&bed), 0);
	check_eq(state_of(&bed), DOCA_VERBS_QP_STATE_RTS);
	check(fake_mlx5_last(0x400) && fake_mlx5_last(0x500) && fake_mlx5_last(0x502) && fake_mlx5_last(0x503) &&
	      fake_mlx5_last(0x504) && fake_mlx5_last(0x50b) && !fake_mlx5_last(0x50e) && !fake_mlx5_last(0x505));
	bed.mod.access = IBV_ACCESS_REMOTE_WRITE;
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_RTS), 0);
	check(fake_mlx5_last(0x505));
	/* another peer is another connection */
	bed.mod.gid[15] ^= 1;
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_RTS), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "cannot be changed in RTS");
	bed.mod.gid[15] ^= 1;
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_ERR), 0);
	check_eq(state_of(&bed), DOCA_VERBS_QP_STATE_ERR);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_ERR, DOCA_VERBS_QP_STATE_RST), 0);
	check_eq(state_of(&bed), DOCA_VERBS_QP_STATE_RST);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RST, DOCA_VERBS_QP_STATE_INIT), 0);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_INIT), 0);
	check(fake_mlx5_last(0x50e));
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_RTR), 0);
	check_eq(state_of(&bed), DOCA_VERBS_QP_STATE_RTR);
	check_eq(bed_drop(&bed), 0);
	end();
}

/* RoCE v1, a device that chooses UDP ports, an unreliable connection, one queue only, InfiniBand with addresses. */
static void each_kind_of_queue_pair_is_taken_by_the_device(void)
{
	struct bed bed;

	for (int kind = 0; kind < 6; kind++) {
		begin();
		fake_mlx5.own_sport = kind == 1;
		fake_mlx5.no_oi = kind == 3;
		fake_ibv.infiniband = kind == 5;
		bed_init(&bed);
		bed.mod.sgid_index = kind == 0 ? 1 : 2;
		bed.cq_attr.overrun = kind != 3;
		bed.qp_attr.type = kind == 2 ? DOCA_VERBS_QP_TYPE_UC : DOCA_VERBS_QP_TYPE_RC;
		bed.qp_attr.rq_nr = kind == 3 ? 0 : 64;
		bed.qp_attr.sq_nr = kind == 4 ? 0 : 64;
		bed.qp_attr.core_direct = kind == 0;
		if (kind == 5) {
			bed.mod.addr_type = DOCA_VERBS_ADDR_TYPE_IB_GRH;
			bed.mod.dlid = 9;
		}
		check_eq(bed_make_parts(&bed), 0);
		check_eq(bed.caps.lids, kind == 5);
		check_eq(bed_make_queues(&bed), 0);
		check_eq(bed_connect(&bed), 0);
		check_eq(bed_drop(&bed), 0);
		end();
	}
}

static void what_the_device_cannot_do_is_an_error_before_it_sees_it(void)
{
	struct bed bed;
	unsigned int commands;

	begin();
	fake_mlx5.no_oi = fake_mlx5.no_cd = true;
	bed_init(&bed);
	check_eq(bed_make_parts(&bed), 0);
	commands = fake_mlx5.nr_commands;
	check_eq(bed_make_queues(&bed), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "cannot ignore overruns");
	bed.cq_attr.overrun = false;
	bed.cq_attr.dbr_off += 4;
	check_eq(bed_make_queues(&bed), -EINVAL);
	bed.cq_attr.dbr_off -= 4;
	check_eq(fake_mlx5.nr_commands, commands);
	bed.qp_attr.core_direct = true;
	check_eq(bed_make_queues(&bed), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "cannot wait for completions of others");
	check_eq(bl_nic_mlx5.cq_destroy(bed.nic, bed.cq), 0);
	bed.qp_attr.core_direct = false;
	bed.qp_attr.no_dbrec = true;
	check_eq(bed_make_queues(&bed), -EOPNOTSUPP);
	check_eq(bl_nic_mlx5.cq_destroy(bed.nic, bed.cq), 0);
	bed.qp_attr.no_dbrec = false;
	bed.qp_attr.sq_off += 64;
	check_eq(bed_make_queues(&bed), -EINVAL);
	check_has(bl_last_error(NULL), "does not begin where the receive queue ends");
	check_eq(bl_nic_mlx5.cq_destroy(bed.nic, bed.cq), 0);
	bed.qp_attr.sq_off -= 64;
	bed.qp_attr.user_index = 1U << 24;
	check_eq(bed_make_queues(&bed), -ERANGE);
	check_has(bl_last_error(NULL), "CREATE_QP: field qpc.user_index cannot hold 0x1000000");
	check(!fake_mlx5_last(0x500));
	check_eq(bed_drop(&bed), 0);
	end();
}

static void a_peer_that_nobody_is_at_is_not_found(void)
{
	struct bed bed;

	begin();
	check_eq(bed_make(&bed), 0);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_RST), 0);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RST, DOCA_VERBS_QP_STATE_INIT), 0);
	check_eq(inet_pton(AF_INET6, "fd00::dead", bed.mod.gid), 1);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_RTR), -EHOSTUNREACH);
	check_has(bl_last_error(NULL),
		  "device mlx5_0: no way from address 2 to fd00::dead: ibv_create_ah: No route to host");
	bed.mod.addr_type = DOCA_VERBS_ADDR_TYPE_IB_NO_GRH;
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_RTR), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "has no LIDs");
	check_eq(bed_drop(&bed), 0);
	end();
}

/* Every call of the libraries that a connected queue pair takes; the first time, and the second. */
static void each_call_that_fails_leaves_nothing(void)
{
	static const char *const calls[] = {
		"mlx5dv_open_device", "query_device", "query_port", "devx_general_cmd", "devx_query_eqn", "alloc_pd",
		"init_obj_pd", "reg_mr_iova", "devx_umem_reg_ex", "devx_alloc_uar", "devx_obj_create",
		"devx_obj_modify",
		"create_ah", "init_obj_ah",
	};
	unsigned int failed = 0;
	struct bed bed;
	int ret;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (int after = 0; after < 3; after++) {
			begin();
			fake_ibv.fail_call = calls[i];
			fake_ibv.fail_after = after;
			fake_ibv.fail_errno = ENOSPC;
			ret = bed_make(&bed);
			if (ret && ret != -ENOSPC && ret != -EOPNOTSUPP)
				tap_end(TAP_FAILED, "%s: %d", calls[i], ret);
			if (ret)
				check_has(bl_last_error(NULL), "device mlx5_0: ");
			failed += ret != 0;
			fake_ibv.fail_call = NULL;
			check_eq(bed_drop(&bed), 0);
			end();
		}
	}
	/* the first page of doorbells that is not to be had has another kind in its place */
	check(failed >= 14);
}

static void a_destroy_that_fails_can_be_tried_again(void)
{
	static const char *const calls[] = { "devx_obj_destroy", "devx_umem_dereg", "dereg_mr" };
	struct bed bed;

	for (size_t i = 0; i < 3; i++) {
		begin();
		check_eq(bed_make(&bed), 0);
		fake_ibv.fail_call = calls[i];
		fake_ibv.fail_after = 0;
		fake_ibv.fail_errno = EBUSY;
		if (!i) {
			check_eq(bl_nic_mlx5.qp_destroy(bed.nic, bed.qp), -EBUSY);
		} else {
			check_eq(bl_nic_mlx5.qp_destroy(bed.nic, bed.qp), 0);
			bed.qp = NULL;
			check_eq(bl_nic_mlx5.cq_destroy(bed.nic, bed.cq), 0);
			bed.cq = NULL;
			check_eq(i == 1 ? bl_nic_mlx5.umem_destroy(bed.nic, bed.umem) :
					  bl_nic_mlx5.mr_destroy(bed.nic, bed.mr), -EBUSY);
		}
		check_has(bl_last_error(NULL), "Device or resource busy");
		check_eq(bed_drop(&bed), 0);
		end();
	}
}

static void each_command_that_the_firmware_refuses_says_why(void)
{
	static const uint16_t opcodes[] = { 0x100, 0x400, 0x500, 0x502, 0x503, 0x504 };
	static const char *const names[] = { "QUERY_HCA_CAP", "CREATE_CQ", "CREATE_QP", "RST2INIT_QP", "INIT2RTR_QP",
					     "RTR2RTS_QP" };
	char text[100];
	struct bed bed;

	for (size_t i = 0; i < 12; i++) {
		begin();
		fake_mlx5.fail_opcode = opcodes[i / 2];
		fake_mlx5.fail_status = 0x0f;
		fake_mlx5.fail_syndrome = 0x1a2b3c;
		fake_mlx5.fail_quietly = i & 1;
		check_eq(bed_make(&bed), -ENOMEM);
		snprintf(text, sizeof(text),
			 "device mlx5_0: %s: no resources are left (status 0x0f, syndrome 0x001a2b3c)",
			 names[i / 2]);
		check_has(bl_last_error(NULL), text);
		check_eq(bed_drop(&bed), 0);
		end();
	}
	begin();
	check_eq(bed_make(&bed), 0);
	fake_mlx5.fail_opcode = 0x50b;
	fake_mlx5.fail_status = 0x77;
	check_eq(bl_nic_mlx5.qp_query(bed.nic, bed.qp, &(struct bl_nic_qp_info){ 0 }), -EIO);
	check_has(bl_last_error(NULL), "QUERY_QP: unknown status (status 0x77");
	check_eq(bed_drop(&bed), 0);
	end();
}

static void memory_that_cannot_be_registered_is_an_error_with_its_reason(void)
{
	struct bl_nic_memory memory = { .len = 4096, .access = IBV_ACCESS_LOCAL_WRITE };
	int fd = memfd_create("queues", MFD_CLOEXEC);
	struct bl_nic_umem *umem;
	struct bed bed;
	uint32_t id;

	begin();
	check(fd >= 0 && !ftruncate(fd, 8192));
	bed_init(&bed);
	check_eq(bed_make_parts(&bed), 0);
	memory.dmabuf_fd = fd;
	memory.dmabuf_off = 4096;
	check_eq(bl_nic_mlx5.umem_create(bed.nic, &memory, &umem, &id), 0);
	check_eq(fake_mlx5.umem_dmabufs, 1);
	check(!bl_nic_mlx5.umem_cpu(umem));
	check_eq(bl_nic_mlx5.umem_destroy(bed.nic, umem), 0);
	fake_mlx5.no_umem_dmabuf = true;
	check_eq(bl_nic_mlx5.umem_create(bed.nic, &memory, &umem, &id), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "dma-buf");
	check_has(bl_last_error(NULL), "by dma-buf: Operation not supported");
	memory.dmabuf_fd = -1;
	memory.addr = bed.memory + BED_DATA;
	fake_ibv.refuse = memory.addr;
	check_eq(bl_nic_mlx5.umem_create(bed.nic, &memory, &umem, &id), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "host memory");
	check_has(bl_last_error(NULL), "by address: Bad address");
	check_eq(bed_drop(&bed), 0);
	close(fd);
	end();
}

static void kernels_without_dedicated_pages_are_asked_for_others(void)
{
	static const enum doca_verbs_uar_allocation_type types[] = {
		DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME,
		DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE,
	};
	struct bl_nic_uar_info info;
	struct bl_nic_uar *uar;
	struct bed bed;

	begin();
	fake_mlx5.no_dedicated = true;
	bed_init(&bed);
	check_eq(bed_make_parts(&bed), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "mlx5dv_devx_alloc_uar (not cached, dedicated): Operation not supported");
	for (int i = 0; i < 2; i++) {
		check_eq(bl_nic_mlx5.uar_create(bed.nic, types[i], &uar, &info), 0);
		check_eq(bl_nic_mlx5.uar_destroy(bed.nic, uar), 0);
	}
	check_eq(bed_drop(&bed), 0);
	end();
}

/* The trial of barlane doctor opens as the provider does. */
static void the_doctor_s_trial_opens_with_devx(void)
{
	begin();
	check_eq(doctor_try_devx("mlx5_0"), 0);
	check_eq(doctor_try_devx("mlx5_1"), 0);
	check_eq(doctor_try_devx("mlx5_7"), -ENODEV);
	fake_mlx5.no_devx = true;
	check_eq(doctor_try_devx("mlx5_0"), -EPERM);
	fake_ibv.no_devices = true;
	check_eq(doctor_try_devx("mlx5_0"), -ENODEV);
	end();
}

static void a_child_takes_no_device_away(void)
{
	struct ibv_context *context;
	int status = 0;
	pid_t pid;

	begin();
	context = bl_net_open_device("mlx5_0");
	check(context);
	pid = fork();
	if (!pid)
		_exit(bl_net_alloc_pd(context) || errno != EACCES || bl_net_close_device(context));
	check(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	check_eq(WEXITSTATUS(status), 0);
	check_eq(bl_net_close_device(context), 0);
	end();
}

static const struct tap_test tests[] = {
	{ "mlx5_devices_come_first_and_once", devices_come_first_and_once },
	{ "mlx5_the_best_way_is_taken_and_each_step_down_is_said", the_best_way_is_taken_and_each_step_down_is_said },
	{ "mlx5_a_name_goes_down_the_providers_that_have_it", a_name_goes_down_the_providers_that_have_it },
	{ "mlx5_capabilities_are_the_firmware_s_and_libibverbs", capabilities_are_the_firmware_s_and_libibverbs },
	{ "mlx5_a_queue_pair_goes_through_its_states", a_queue_pair_goes_through_its_states },
	{ "mlx5_each_kind_of_queue_pair_is_taken_by_the_device", each_kind_of_queue_pair_is_taken_by_the_device },
	{ "mlx5_what_the_device_cannot_do_is_an_error_before_it_sees_it",
	  what_the_device_cannot_do_is_an_error_before_it_sees_it },
	{ "mlx5_a_peer_that_nobody_is_at_is_not_found", a_peer_that_nobody_is_at_is_not_found },
	{ "mlx5_each_call_that_fails_leaves_nothing", each_call_that_fails_leaves_nothing },
	{ "mlx5_a_destroy_that_fails_can_be_tried_again", a_destroy_that_fails_can_be_tried_again },
	{ "mlx5_each_command_that_the_firmware_refuses_says_why", each_command_that_the_firmware_refuses_says_why },
	{ "mlx5_memory_that_cannot_be_registered_is_an_error_with_its_reason",
	  memory_that_cannot_be_registered_is_an_error_with_its_reason },
	{ "mlx5_kernels_without_dedicated_pages_are_asked_for_others",
	  kernels_without_dedicated_pages_are_asked_for_others },
	{ "mlx5_the_doctor_s_trial_opens_with_devx", the_doctor_s_trial_opens_with_devx },
	{ "mlx5_a_child_takes_no_device_away", a_child_takes_no_device_away },
};

TAP_MAIN(tests)
