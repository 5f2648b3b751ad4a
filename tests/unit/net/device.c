// SPDX-License-Identifier: MIT
/* Devices, domains and memory in the types of libibverbs: what is found, what is refused, what a child may do. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bed.h"
#include "gpunetio/host/doca_umem.h"
#include "gpunetio/host/doca_verbs_bridge.h"

static struct net_bed bed;
static char memory[8192] __attribute__((aligned(4096)));

static void devices_are_listed_by_name(void)
{
	struct ibv_device **list, *first, foreign = { .name = "mlx5_0" };
	int nr = 0;

	fake_reset();
	list = bl_net_device_list(&nr);
	check(list);
	check_eq(nr, 2);
	check_str(bl_net_device_name(list[0]), "fake0");
	check_str(bl_net_device_name(list[1]), "fake1");
	check(!list[2]);
	first = list[0];
	check_str(first->dev_name, "fake0");
	check_eq(first->node_type, IBV_NODE_CA);
	bl_net_free_device_list(list);
	bl_net_free_device_list(NULL);
	check_str(bl_net_device_name(first), "fake0"); /* devices stay */
	list = bl_net_device_list(NULL);
	check(list && list[0] == first);
	bl_net_free_device_list(list);
	errno = 0;
	check(!bl_net_device_name(&foreign) && errno == EINVAL);
	check(!bl_net_device_name(NULL));
}

static void providers_tell_why_they_cannot_serve(void)
{
	struct bl_net_provider_info infos[3];

	check_eq(bl_net_provider_list(infos, 3), 2);
	check_str(infos[0].name, "fake");
	check(infos[0].usable && !infos[0].error);
	check_str(infos[1].name, "absent");
	check(!infos[1].usable && infos[1].error == -ENODEV);
	check_str(infos[1].reason, "there is no hardware");
	check_eq(bl_net_provider_list(NULL, 0), 2);
}

static void a_device_that_is_not_there_comes_with_what_is(void)
{
	errno = 0;
	check(!bl_net_open_device("mlx5_0") && errno == ENODEV);
	check_has(bl_last_error(NULL), "mlx5_0");
	check_has(bl_last_error(NULL), "fake0, fake1");
	check_has(bl_last_error(NULL), "provider absent: there is no hardware");
	/* no prefix will do */
	check(!bl_net_open_device("fake") && errno == ENODEV);
	check(!bl_net_open_device("fake00") && errno == ENODEV);
	check(!bl_net_open_device("") && errno == ENODEV);
	check(!bl_net_open_device(NULL) && errno == EINVAL);
}

static void environment_names_the_one_provider(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	int nr = 7;

	setenv("BARLANE_NIC", "absent", 1);
	check(!bl_net_open_device("fake0") && errno == ENODEV);
	check_has(bl_last_error(NULL), "provider fake was not asked (BARLANE_NIC)");
	check_has(bl_last_error(NULL), "there is no hardware");
	list = bl_net_device_list(&nr);
	check(list && !list[0] && nr == 0);
	bl_net_free_device_list(list);
	setenv("BARLANE_NIC", "mlx5", 1);
	check(!bl_net_open_device("fake0") && errno == EINVAL);
	check_has(bl_last_error(NULL), "fake, absent");
	check(!bl_net_device_list(&nr) && errno == EINVAL);
	setenv("BARLANE_NIC", "fake", 1);
	context = bl_net_open_device("fake0");
	check(context);
	check_eq(bl_net_close_device(context), 0);
	unsetenv("BARLANE_NIC");
}

static void opening_fails_as_the_provider_does(void)
{
	fake_reset();
	fake.error = ENOMEM;
	fake.fail_at = 1;
	check(!bl_net_open_device("fake0") && errno == ENOMEM);
	fake_reset();
	fake.fail_at = 2;
	check(!bl_net_open_device("fake0") && errno == EIO);
	check_eq(fake_live(), 0);
}

static void contexts_are_known_by_the_library_alone(void)
{
	struct ibv_context foreign = { .cmd_fd = 3 }, *closed;
	struct ibv_device_attr attr;

	net_bed_open(&bed);
	check(!bl_net_alloc_pd(&foreign) && errno == EOPNOTSUPP);
	check_has(bl_last_error(NULL), "devices of other libraries are not served");
	check(!bl_net_alloc_pd(NULL) && errno == EINVAL);
	check_eq(bl_net_query_device(&foreign, &attr), EOPNOTSUPP);
	check_eq(bl_net_close_device(&foreign), EINVAL);
	check_eq(bl_net_close_device(NULL), EINVAL);
	closed = bl_net_open_device("fake0");
	check(closed && closed != bed.context);
	check(closed->device == bed.context->device);
	check_eq(bl_net_close_device(closed), 0);
	check_eq(bl_net_close_device(closed), EINVAL);
	check(!bl_net_alloc_pd(closed) && errno == EOPNOTSUPP);
	check_eq(bl_net_close_device(bed.context), EBUSY);
	check_has(bl_last_error(NULL), "1 users are left");
	net_bed_close(&bed);
}

static void inline_functions_of_libibverbs_are_refused(void)
{
	struct ibv_cq cq = { 0 };
	struct ibv_qp qp = { 0 };
	struct ibv_send_wr send = { 0 }, *bad_send = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;
	struct ibv_wc wc;

	net_bed_open(&bed);
	cq.context = qp.context = bed.context;
	check_eq(ibv_poll_cq(&cq, 1, &wc), -EOPNOTSUPP);
	check_eq(ibv_req_notify_cq(&cq, 0), EOPNOTSUPP);
	check_eq(ibv_post_send(&qp, &send, &bad_send), EOPNOTSUPP);
	check_eq(ibv_post_recv(&qp, &recv, &bad_recv), EOPNOTSUPP);
	check(bad_send == &send && bad_recv == &recv);
	check(!ibv_alloc_mw(bed.pd, IBV_MW_TYPE_1) && errno == EOPNOTSUPP);
	check_eq(bed.context->abi_compat == NULL, 1);
	check_eq(bed.context->cmd_fd, -1);
	net_bed_close(&bed);
}

static void queries_answer_as_libibverbs_does(void)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	net_bed_open(&bed);
	check_eq(bl_net_query_device(bed.context, &attr), 0);
	check_str(attr.fw_ver, "fake");
	check_eq(attr.max_qp, 1001);
	check_eq(attr.max_qp_wr, 4096);
	check_eq(attr.max_cqe, 65536);
	check_eq(attr.phys_port_cnt, 2);
	check_eq(attr.max_pkeys, 3);
	check_eq(attr.max_qp_rd_atom, 16);
	check_eq(attr.max_qp_init_rd_atom, 8);
	check_eq(bl_net_query_port(bed.context, 1, &port), 0);
	check_eq(port.state, IBV_PORT_ACTIVE);
	check_eq(port.active_mtu, IBV_MTU_1024);
	check_eq(port.gid_tbl_len, 4);
	check_eq(port.lid, 7);
	check_eq(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	check_eq(bl_net_query_port(bed.context, 2, &port), 0);
	check_eq(port.state, IBV_PORT_DOWN);
	check_eq(bl_net_query_port(bed.context, 0, &port), EINVAL);
	check_eq(bl_net_query_port(bed.context, 3, &port), EINVAL);
	check_eq(bl_net_query_gid(bed.context, 2, 3, &gid), 0);
	check_eq(gid.raw[0], 35);
	check_eq(gid.raw[15], 50);
	check_eq(bl_net_query_gid(bed.context, 1, 4, &gid), EINVAL);
	check_eq(bl_net_query_gid(bed.context, 1, -1, &gid), EINVAL);
	check_eq(bl_net_query_gid(bed.context, 3, 0, &gid), EINVAL);
	check_eq(bl_net_query_gid(bed.context, 1, 0, NULL), EINVAL);
	check_eq(bl_net_query_port(bed.context, 1, NULL), EINVAL);
	check_eq(bl_net_query_device(bed.context, NULL), EINVAL);
	fake.fail_at = fake.calls + 1;
	check_eq(bl_net_query_gid(bed.context, 1, 0, &gid), EIO);
	net_bed_close(&bed);
}

static void memory_is_registered_as_it_is_given(void)
{
	struct ibv_mr *mr;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;

	net_bed_open(&bed);
	mr = bl_net_reg_mr(bed.pd, memory, 4096, access);
	check(mr);
	check(fake.memory.addr == memory && fake.memory.len == 4096 && fake.memory.dmabuf_fd == -1);
	check_eq(fake.memory.access, access);
	check_eq(fake.iova, (uintptr_t)memory);
	check(fake.pd_given);
	check(mr->addr == memory && mr->length == 4096 && mr->pd == bed.pd && mr->context == bed.context);
	check_eq(mr->lkey, FAKE_LKEY);
	check_eq(mr->rkey, FAKE_RKEY);
	check_eq(bl_net_dealloc_pd(bed.pd), EBUSY);
	check_eq(bl_net_dereg_mr(mr), 0);
	check_eq(bl_net_dereg_mr(mr), EINVAL);
	check_eq(bl_net_dereg_mr(NULL), EINVAL);
	mr = bl_net_reg_mr_iova(bed.pd, memory, 4096, 0, 0);
	check(mr && fake.iova == 0);
	fake.fail_at = fake.calls + 1;
	fake.error = EBUSY;
	check_eq(bl_net_dereg_mr(mr), EBUSY);
	check_eq(bl_net_dereg_mr(mr), 0);
	net_bed_close(&bed);
}

static void memory_that_cannot_be_is_refused(void)
{
	net_bed_open(&bed);
	check(!bl_net_reg_mr(bed.pd, NULL, 1, 0) && errno == EINVAL);
	check(!bl_net_reg_mr(bed.pd, memory, 0, 0) && errno == EINVAL);
	check(!bl_net_reg_mr_iova(bed.pd, memory, 4096, UINT64_MAX - 4094, 0) && errno == EINVAL);
	check(!bl_net_reg_mr(bed.pd, memory, 1, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	check_has(bl_last_error(NULL), "local write");
	check(!bl_net_reg_mr(bed.pd, memory, 1, IBV_ACCESS_REMOTE_ATOMIC) && errno == EINVAL);
	check(!bl_net_reg_mr(bed.pd, memory, 1, IBV_ACCESS_ZERO_BASED) && errno == EOPNOTSUPP);
	check_has(bl_last_error(NULL), "0x20");
	check(!bl_net_reg_mr(bed.pd, memory, 1, IBV_ACCESS_MW_BIND) && errno == EOPNOTSUPP);
	check(!bl_net_reg_mr(bed.pd, memory, 1, IBV_ACCESS_ON_DEMAND) && errno == EOPNOTSUPP);
	check(!bl_net_reg_mr(NULL, memory, 1, 0) && errno == EINVAL);
	check(!bl_net_reg_mr((struct ibv_pd *)memory, memory, 1, 0) && errno == EINVAL);
	check(!bl_net_reg_dmabuf_mr(bed.pd, 0, 4096, 0, -1, 0) && errno == EBADF);
	check(!bl_net_reg_dmabuf_mr(bed.pd, 0, 4096, 0, 1000000, 0) && errno == EBADF);
	fake.error = ENOMEM;
	fake.fail_at = fake.calls + 1;
	check(!bl_net_reg_mr(bed.pd, memory, 1, 0) && errno == ENOMEM);
	net_bed_close(&bed);
}

static void a_dmabuf_is_passed_on(void)
{
	struct ibv_mr *mr;
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);

	net_bed_open(&bed);
	check(fd >= 0);
	mr = bl_net_reg_dmabuf_mr(bed.pd, 0x1000, 64, 0x7000, fd, IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	check(!fake.memory.addr && fake.memory.dmabuf_fd == fd && fake.memory.dmabuf_off == 0x1000);
	check_eq(fake.memory.len, 64);
	check_eq(fake.iova, 0x7000);
	check_eq(bl_net_dereg_mr(mr), 0);
	close(fd);
	net_bed_close(&bed);
}

/* In the child: what was made before is refused, closing frees memory, and a device can be opened anew. */
static int act_as_child(void)
{
	struct ibv_port_attr port;
	struct ibv_context *own;
	struct ibv_pd *pd;

	if (bl_net_alloc_pd(bed.context) || errno != EACCES)
		return 1;
	if (bl_net_query_port(bed.context, 1, &port) != EACCES || bl_net_dealloc_pd(bed.pd) != EACCES)
		return 2;
	if (bl_net_reg_mr(bed.pd, memory, 1, 0) || errno != EACCES)
		return 3;
	if (doca_verbs_cq_destroy(bed.cq) != DOCA_ERROR_NOT_PERMITTED)
		return 4;
	own = bl_net_open_device("fake0");
	pd = own ? bl_net_alloc_pd(own) : NULL;
	if (!pd || bl_net_dealloc_pd(pd) || bl_net_close_device(own))
		return 5;
	/* with a domain and a queue left: they are the parent's */
	if (bl_net_close_device(bed.context) || strcmp(fake.last, "forget"))
		return 6;
	return bl_net_close_device(bed.context) == EINVAL ? 0 : 7;
}

static void a_child_opens_devices_of_its_own(void)
{
	int status = 0;
	pid_t pid;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	pid = fork();
	if (!pid)
		_exit(act_as_child());
	check(pid > 0 && waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), 0);
	net_bed_close(&bed);
}

static void names_of_the_sdk_are_the_same_objects(void)
{
	struct ibv_device **list, foreign = { .name = "fake0" };
	struct doca_verbs_context *context = NULL;
	struct doca_verbs_pd *pd = NULL;
	struct ibv_pd *ibv_pd = NULL;
	struct doca_umem *umem = NULL;
	struct doca_dev *dev = NULL;

	fake_reset();
	list = bl_net_device_list(NULL);
	check_eq(doca_verbs_bridge_verbs_context_create(list[0], 1, &context), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_bridge_verbs_context_create(NULL, 0, &context), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_bridge_verbs_context_create(list[0], 0, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_bridge_verbs_context_create(&foreign, 0, &context), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_verbs_bridge_verbs_context_create(list[0], 0, &context), DOCA_SUCCESS);
	bl_net_free_device_list(list);
	check_eq(doca_verbs_pd_create(context, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_pd_create(context, &pd), DOCA_SUCCESS);
	check_eq(doca_verbs_bridge_verbs_pd_get_ibv_pd(pd, &ibv_pd), DOCA_SUCCESS);
	check(ibv_pd == pd);
	check_eq(doca_verbs_bridge_verbs_pd_get_ibv_pd(NULL, &ibv_pd), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_dev_open(pd, &dev), DOCA_SUCCESS);
	check(dev == context);
	check_eq(doca_umem_create(dev, memory, 4096, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ, &umem),
		 DOCA_SUCCESS);
	check_eq(fake.memory.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	check_eq(doca_umem_destroy(umem), DOCA_SUCCESS);
	check_eq(doca_umem_create(dev, memory, 4096, 0x10, &umem), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_umem_gpu_create(NULL, dev, memory, 4096, 1, &umem), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_umem_gpu_create((struct doca_gpu *)memory, dev, memory, 4096,
				      DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC, &umem),
		 DOCA_SUCCESS);
	check_eq(fake.memory.access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	check_eq(doca_umem_destroy(umem), DOCA_SUCCESS);
	check_eq(doca_verbs_dev_close(dev), DOCA_SUCCESS);
	check_eq(doca_verbs_context_destroy(context), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_pd_destroy(pd), DOCA_SUCCESS);
	check_eq(doca_verbs_context_destroy(context), DOCA_SUCCESS);
	check_eq(doca_verbs_dev_close(dev), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(fake_live(), 0);
}

static const struct tap_test tests[] = {
	{ "devices_are_listed_by_name", devices_are_listed_by_name },
	{ "providers_tell_why_they_cannot_serve", providers_tell_why_they_cannot_serve },
	{ "a_device_that_is_not_there_comes_with_what_is", a_device_that_is_not_there_comes_with_what_is },
	{ "environment_names_the_one_provider", environment_names_the_one_provider },
	{ "opening_fails_as_the_provider_does", opening_fails_as_the_provider_does },
	{ "contexts_are_known_by_the_library_alone", contexts_are_known_by_the_library_alone },
	{ "inline_functions_of_libibverbs_are_refused", inline_functions_of_libibverbs_are_refused },
	{ "queries_answer_as_libibverbs_does", queries_answer_as_libibverbs_does },
	{ "memory_is_registered_as_it_is_given", memory_is_registered_as_it_is_given },
	{ "memory_that_cannot_be_is_refused", memory_that_cannot_be_is_refused },
	{ "a_dmabuf_is_passed_on", a_dmabuf_is_passed_on },
	{ "a_child_opens_devices_of_its_own", a_child_opens_devices_of_its_own },
	{ "names_of_the_sdk_are_the_same_objects", names_of_the_sdk_are_the_same_objects },
};

TAP_MAIN(tests)
