// SPDX-License-Identifier: MIT
/* Devices of provider "verbs", their addresses and memory, and what becomes of each call that fails. */
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "barlane_net.h"
#include "bed.h"
#include "net/gid.h"
#include "softnic/cq.h"
#include "tap.h"

static void devices_come_before_software_nics(void)
{
	struct ibv_device **list;
	int nr;

	fake_ibv_reset();
	list = bl_net_device_list(&nr);
	check(list);
	/* and one for each network interface */
	check(nr >= 4);
	check_str(bl_net_device_name(list[0]), "fake0");
	check_str(bl_net_device_name(list[1]), "fake1");
	check_str(bl_net_device_name(list[2]), "soft0");
	bl_net_free_device_list(list);

	fake_ibv.no_devices = true;
	list = bl_net_device_list(&nr);
	check(nr >= 2);
	check_str(bl_net_device_name(list[0]), "soft0");
	bl_net_free_device_list(list);
	check(!bl_net_open_device("fake0"));
	check_has(bl_last_error(NULL), "no RDMA device");
}

static void the_best_device_is_active_and_each_step_is_said(void)
{
	struct ibv_context *context;
	char steps[1000];

	fake_ibv_reset();
	context = bl_net_open_best(steps, sizeof(steps));
	check(context);
	check_str(context->device->name, "fake0");
	check_has(steps, "provider mlx5: passed over: ");
	check_has(steps, "\ndevice fake0, provider verbs: taken: a thread of this process hands the device what kernels post");
	check_eq(bl_net_close_device(context), 0);

	fake_ibv.port_down = true;
	context = bl_net_open_best(steps, sizeof(steps));
	check_str(context->device->name, "soft0");
	check_has(steps, "device fake0, provider verbs: passed over: port 1 is not active\ndevice fake1, provider verbs: passed");
	check_has(steps, "\ndevice soft0, provider soft: taken: ");
	check_eq(bl_net_close_device(context), 0);

	fake_ibv_reset();
	for (int i = 0; i < fake_ibv.nr_gids; i++)
		fake_ibv.gid_types[i] = 0xff;
	context = bl_net_open_best(steps, sizeof(steps));
	check_str(context->device->name, "soft0");
	check_has(steps, "fake1, provider verbs: passed over: net/gid: port 1 has no address");
	check_eq(bl_net_close_device(context), 0);

	fake_ibv_reset();
	fake_ibv.fail_call = "open_device";
	fake_ibv.fail_after = 0;
	fake_ibv.fail_errno = EACCES;
	context = bl_net_open_best(steps, sizeof(steps));
	check_str(context->device->name, "fake1");
	check_has(steps, "Permission denied");
	check_eq(bl_net_close_device(context), 0);

	fake_ibv_reset();
	fake_ibv.no_devices = true;
	context = bl_net_open_best(steps, 40);
	check_eq(strlen(steps), 39);
	check(!strncmp(steps, "provider mlx5: passed over: ", 28));
	check_eq(bl_net_close_device(context), 0);
	setenv("BARLANE_NIC", "verbs", 1);
	check(!bl_net_open_best(NULL, 0));
	check_eq(errno, ENODEV);
	check(!bl_net_open_best(steps, sizeof(steps)));
	check_has(steps, "provider verbs: passed over: no RDMA device");
	check(!bl_net_open_best(steps, sizeof(steps)));
	check_has(bl_last_error(NULL), "no RDMA device");
	setenv("BARLANE_NIC", "nobody", 1);
	check(!bl_net_open_best(steps, sizeof(steps)));
	check_eq(errno, EINVAL);
	unsetenv("BARLANE_NIC");
	check_eq(fake_ibv.live, 0);
}

static void the_environment_names_the_provider(void)
{
	struct ibv_context *context;

	fake_ibv_reset();
	setenv("BARLANE_NIC", "soft", 1);
	check(!bl_net_open_device("fake0"));
	check_has(bl_last_error(NULL), "provider verbs was not asked");
	setenv("BARLANE_NIC", "verbs", 1);
	context = bl_net_open_device("fake0");
	check(context);
	check_eq(bl_net_close_device(context), 0);
	unsetenv("BARLANE_NIC");
	check_eq(fake_ibv.live, 0);
}

static void a_device_and_its_port_are_what_they_are(void)
{
	struct ibv_context *context;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	fake_ibv_reset();
	context = bl_net_open_device("fake0");
	check(context);
	check_eq(bl_net_query_device(context, &attr), 0);
	check_eq(attr.max_sge, 8);
	check_eq(attr.max_qp_wr, 32768);
	check_eq(attr.max_qp_rd_atom, 16);
	check_eq(attr.atomic_cap, IBV_ATOMIC_HCA);
	check_eq(bl_net_query_port(context, 1, &port), 0);
	check_eq(port.state, IBV_PORT_ACTIVE);
	check_eq(port.active_mtu, IBV_MTU_1024);
	check_eq(port.gid_tbl_len, 3);
	fake_ibv.port_down = true;
	check_eq(bl_net_query_port(context, 1, &port), 0);
	check_eq(port.state, IBV_PORT_DOWN);
	check_eq(bl_net_query_port(context, 2, &port), EINVAL);
	check_eq(bl_net_close_device(context), 0);
	fake_ibv.no_atomics = true;
	context = bl_net_open_device("fake1");
	check(context);
	check_eq(bl_net_query_device(context, &attr), 0);
	check_eq(attr.atomic_cap, IBV_ATOMIC_NONE);
	check_eq(bl_net_close_device(context), 0);
}

static int chosen(struct ibv_context *context)
{
	union ibv_gid gid;
	uint8_t index = 0xff;
	int ret = bl_gid_choose(context, 1, fake_ibv.nr_gids, &gid, &index);

	return ret ? ret : index;
}

static void the_address_is_of_roce_v2_and_goes_furthest(void)
{
	static const uint8_t global[16] = { 0x20, 1, 0xd, 0xb8, [15] = 9 };
	struct ibv_context *context;

	fake_ibv_reset();
	context = bl_net_open_device("fake0");
	check(context);
	/* of the link, IPv4 of v1, IPv4 of v2 */
	check_eq(chosen(context), 2);
	/* an entry that cannot be read is left out */
	fake_ibv.gid_types[2] = 0xff;
	check_eq(chosen(context), 0);
	memcpy(fake_ibv.gids[3].raw, global, 16);
	fake_ibv.gid_types[3] = IBV_GID_TYPE_ROCE_V2;
	fake_ibv.nr_gids = 4;
	/* a table that has grown since the device was opened */
	check_eq(chosen(context), 0);
	check_eq(bl_net_close_device(context), 0);
	context = bl_net_open_device("fake0");
	check_eq(chosen(context), 3);
	fake_ibv.gid_types[2] = IBV_GID_TYPE_ROCE_V2;
	check_eq(chosen(context), 2);
	/* a named one, whatever is better */
	setenv("BARLANE_NET_GID", "2001:db8::9", 1);
	check_eq(chosen(context), 3);
	setenv("BARLANE_NET_GID", "192.0.2.1", 1);
	check_eq(chosen(context), 2);
	setenv("BARLANE_NET_GID", "192.0.2.77", 1);
	check_eq(chosen(context), -ENODEV);
	check_has(bl_last_error(NULL), "192.0.2.77");
	setenv("BARLANE_NET_GID", "eth0", 1);
	check_eq(chosen(context), -EINVAL);
	unsetenv("BARLANE_NET_GID");
	/* v1 is better than nothing, and an empty table is an error */
	for (int i = 0; i < 4; i++)
		fake_ibv.gid_types[i] = i == 1 ? IBV_GID_TYPE_ROCE_V1 : 0xff;
	check_eq(chosen(context), 1);
	fake_ibv.gid_types[1] = 0xff;
	check_eq(chosen(context), -ENODEV);
	check_has(bl_last_error(NULL), "has no address");
	check_eq(bl_net_close_device(context), 0);
}

static void a_key_that_ends_lists_is_not_given_out(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_memory memory = { .len = 64, .access = 1, .dmabuf_fd = -1, .addr = bed->a.side.mem };
	struct bl_nic_mr *mr;
	uint32_t lkey, rkey;

	fake_ibv.key = 0x100;
	check_eq(bl_nic_verbs.mr_create(bed->a.nic, bed->a.pd, &memory, 0x1000, &mr, &lkey, &rkey), 0);
	check(lkey && lkey != 0x100);
	check(rkey != lkey);
	check_eq(bl_nic_verbs.mr_destroy(bed->a.nic, mr), 0);
	bed_end(bed);
}

static void memory_that_cannot_be_registered_is_an_error_with_a_reason(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_memory memory = { .len = 64, .access = 1, .dmabuf_fd = -1, .addr = bed->a.side.mem };
	struct bl_nic_mr *mr;
	uint32_t lkey, rkey;
	int fd;

	fake_ibv.refuse = memory.addr;
	check_eq(bl_nic_verbs.mr_create(bed->a.nic, bed->a.pd, &memory, 0x1000, &mr, &lkey, &rkey), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "by address: Bad address");
	fake_ibv.refuse = NULL;
	check_eq(bl_nic_verbs.mr_create(bed->a.nic, bed->a.pd, &memory, (uintptr_t)memory.addr, &mr, &lkey, &rkey), 0);
	check_eq(bl_nic_verbs.mr_destroy(bed->a.nic, mr), 0);

	fd = memfd_create("dmabuf", MFD_CLOEXEC);
	check(!ftruncate(fd, 8192));
	memory = (struct bl_nic_memory){ .len = 4096, .access = 1, .dmabuf_fd = fd, .dmabuf_off = 4096 };
	fake_ibv.no_dmabuf = true;
	check_eq(bl_nic_verbs.mr_create(bed->a.nic, bed->a.pd, &memory, 0x1000, &mr, &lkey, &rkey), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "by dma-buf: Operation not supported");
	fake_ibv.no_dmabuf = false;
	check_eq(bl_nic_verbs.mr_create(bed->a.nic, bed->a.pd, &memory, 0x1000, &mr, &lkey, &rkey), 0);
	check_eq(bl_nic_verbs.mr_destroy(bed->a.nic, mr), 0);
	close(fd);
	bed_end(bed);
}

static void a_dmabuf_is_written_by_the_device(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_memory memory = { .len = 4096, .access = 0xf, .dmabuf_off = 4096 };
	struct world_side far = bed->b.far;
	struct bl_nic_mr *mr;
	unsigned char *bytes;
	uint32_t lkey;

	memory.dmabuf_fd = memfd_create("dmabuf", MFD_CLOEXEC);
	check(!ftruncate(memory.dmabuf_fd, 8192));
	bytes = mmap(NULL, 8192, PROT_READ, MAP_SHARED, memory.dmabuf_fd, 0);
	check(bytes != MAP_FAILED);
	check_eq(bl_nic_verbs.mr_create(bed->b.nic, bed->b.pd, &memory, 0x5000, &mr, &lkey, &far.key), 0);
	close(memory.dmabuf_fd);
	far.iova = 0x5000;
	fill(bed->a.side.mem, 1000, 1);
	post_write(&bed->a.side, &far, 96, 0, 1000);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	check(is_filled(bytes + 4096 + 96, 1000, 1));
	check_eq(bl_nic_verbs.mr_destroy(bed->b.nic, mr), 0);
	munmap(bytes, 8192);
	bed_end(bed);
}

/* Whichever call fails, it is said, and nothing is left. */
static void each_call_that_fails_leaves_nothing(void)
{
	static const char *const calls[] = { "get_device_list", "open_device", "query_device", "query_port", "alloc_pd",
					     "reg_mr", "create_cq", "create_qp" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct bl_nic_qp_attr attr = { .type = DOCA_VERBS_QP_TYPE_RC, .sq_nr = 16 };
		struct bl_nic_memory memory = { .len = 64, .access = 1, .dmabuf_fd = -1 };
		struct bl_nic_umem *umem = NULL;
		struct bl_nic_qp_attr want = attr;
		struct bl_nic_cq_attr cq_attr = { .nr = 16, .overrun = true };
		struct bl_nic_pd *pd = NULL;
		struct bl_nic_cq *cq = NULL;
		struct bl_nic_qp *qp = NULL;
		struct bl_nic_caps caps;
		struct bl_nic *nic = NULL;
		uint32_t num;
		int ret;

		fake_ibv_reset();
		fake_ibv.fail_call = calls[i];
		fake_ibv.fail_errno = EPERM;
		fake_ibv.fail_after = 0;
		memory.addr = aligned_alloc(4096, 4096);
		memory.len = 4096;
		memset(memory.addr, 0, 4096);
		ret = bl_nic_verbs.open("fake0", &nic);
		if (!ret)
			ret = bl_nic_verbs.caps(nic, &caps);
		if (!ret)
			ret = bl_nic_verbs.pd_create(nic, &pd, &num);
		if (!ret)
			ret = bl_nic_verbs.umem_create(nic, &memory, &umem, &num);
		cq_attr.ring = want.ring = want.dbr = umem;
		if (!ret)
			ret = bl_nic_verbs.cq_create(nic, &cq_attr, &cq, &num);
		want.send_cq = cq;
		want.dbr_off = 2048;
		if (!ret)
			ret = bl_nic_verbs.qp_create(nic, pd, &want, &qp, &num);
		if (!ret)
			tap_end(TAP_FAILED, "%s fails, and nobody notices", calls[i]);
		if (strcmp(calls[i], "get_device_list") != 0)
			check_has(bl_last_error(NULL), "fake0");
		if (cq)
			bl_nic_verbs.cq_destroy(nic, cq);
		if (umem)
			bl_nic_verbs.umem_destroy(nic, umem);
		if (pd)
			bl_nic_verbs.pd_destroy(nic, pd);
		if (nic)
			bl_nic_verbs.close(nic);
		free(memory.addr);
		check_str(fake_ibv.complaint, "");
		check_eq(fake_ibv.live, 0);
	}
}

static void a_child_has_no_device_and_takes_none_away(void)
{
	struct bed *bed = bed_begin(NULL);
	struct bl_nic_qp_info info;
	int status;
	pid_t pid;

	pid = fork();
	check(pid >= 0);
	if (!pid) {
		int ret = bl_nic_verbs.qp_query(bed->a.nic, bed->a.qp, &info);

		bl_nic_verbs.forget(bed->a.nic);
		_exit(ret == -EACCES && fake_ibv.live ? 0 : 1);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	bed_end(bed);
}

static const struct tap_test tests[] = {
	{ "verbs_devices_come_before_software_nics", devices_come_before_software_nics },
	{ "verbs_the_best_device_is_active_and_each_step_is_said", the_best_device_is_active_and_each_step_is_said },
	{ "verbs_the_environment_names_the_provider", the_environment_names_the_provider },
	{ "verbs_a_device_and_its_port_are_what_they_are", a_device_and_its_port_are_what_they_are },
	{ "verbs_the_address_is_of_roce_v2_and_goes_furthest", the_address_is_of_roce_v2_and_goes_furthest },
	{ "verbs_a_key_that_ends_lists_is_not_given_out", a_key_that_ends_lists_is_not_given_out },
	{ "verbs_memory_that_cannot_be_registered_is_an_error_with_a_reason",
	  memory_that_cannot_be_registered_is_an_error_with_a_reason },
	{ "verbs_a_dmabuf_is_written_by_the_device", a_dmabuf_is_written_by_the_device },
	{ "verbs_each_call_that_fails_leaves_nothing", each_call_that_fails_leaves_nothing },
	{ "verbs_a_child_has_no_device_and_takes_none_away", a_child_has_no_device_and_takes_none_away },
};

TAP_MAIN(tests)
