// SPDX-License-Identifier: MIT
/*
 * rdma_dmabuf [-d DEVICE] [-p PORT] [-g GID-INDEX] [BYTES] - RDMA straight from and to GPU memory, posted by the CPU
 *
 * Two buffers in GPU memory are exported as dma-bufs and registered with an RDMA device. Two queue pairs of that device
 * are connected to each other. An RDMA WRITE then carries the first buffer to the second, and an RDMA READ the second
 * to host memory. No peer-memory kernel module is needed, only a device whose driver takes dma-bufs.
 *
 * Ends with status 77 where there is no RDMA device.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include "example.h"

#define TIMEOUT_NS 10000000000ULL
#define ODD 100 /* what is sent need not begin on a page */

struct options {
	const char *device;
	uint8_t port;
	int gid_index;
	size_t size;
};

/* The RDMA device, and the two ends of a connection on it. */
struct net {
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *here;
	struct ibv_qp *there;
};

/* GPU memory that the CPU and the RDMA device reach. */
struct buffer {
	struct bl_alloc mem;
	uint64_t va; /* what is sent: ODD bytes into the memory */
	void *map;
	struct ibv_mr *mr;
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	exit(EXIT_FAILURE);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_context *context = NULL;
	struct ibv_device **devices;
	int nr = 0;

	devices = ibv_get_device_list(&nr);
	if (!devices || !nr) {
		fprintf(stderr, "there is no RDMA device here\n");
		exit(EXIT_SKIPPED);
	}
	for (int i = 0; i < nr && !context; i++) {
		if (name && strcmp(name, ibv_get_device_name(devices[i])))
			continue;
		context = ibv_open_device(devices[i]);
		if (!context)
			fail(ibv_get_device_name(devices[i]), errno);
		printf("# RDMA device %s\n", ibv_get_device_name(devices[i]));
	}
	ibv_free_device_list(devices);
	if (!context) {
		fprintf(stderr, "there is no RDMA device %s\n", name);
		exit(EXIT_FAILURE);
	}
	return context;
}

static struct ibv_qp *make_qp(struct net *net, uint8_t port)
{
	struct ibv_qp_init_attr init = {
		.send_cq = net->cq,
		.recv_cq = net->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp *qp = ibv_create_qp(net->pd, &init);
	int ret;

	if (!qp)
		fail("ibv_create_qp", errno);
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret)
		fail("queue pair to INIT", ret);
	return qp;
}

/* From INIT to ready to send, towards a queue pair of the same port. */
static void connect_qp(const struct net *net, struct ibv_qp *qp, uint32_t peer, const struct options *options)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = net->port.active_mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = net->port.lid, .port_num = options->port },
	};
	int ret;

	/* Ethernet has no local identifiers: addresses are global there */
	if (net->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.dgid = net->gid;
		attr.ah_attr.grh.sgid_index = (uint8_t)options->gid_index;
		attr.ah_attr.grh.hop_limit = 1;
	}
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (ret)
		fail("queue pair to RTR", ret);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (ret)
		fail("queue pair to RTS", ret);
}

static void net_open(struct net *net, const struct options *options)
{
	int ret;

	net->context = open_device(options->device);
	ret = ibv_query_port(net->context, options->port, &net->port);
	if (ret)
		fail("ibv_query_port", ret);
	if (net->port.state != IBV_PORT_ACTIVE) {
		fprintf(stderr, "port %u of the RDMA device is not active\n", options->port);
		exit(EXIT_FAILURE);
	}
	if (ibv_query_gid(net->context, options->port, options->gid_index, &net->gid))
		fail("ibv_query_gid", errno);
	net->pd = ibv_alloc_pd(net->context);
	if (!net->pd)
		fail("ibv_alloc_pd", errno);
	net->cq = ibv_create_cq(net->context, 8, NULL, NULL, 0);
	if (!net->cq)
		fail("ibv_create_cq", errno);
	net->here = make_qp(net, options->port);
	net->there = make_qp(net, options->port);
	connect_qp(net, net->here, net->there->qp_num, options);
	connect_qp(net, net->there, net->here->qp_num, options);
}

static void net_close(struct net *net)
{
	if (ibv_destroy_qp(net->here) || ibv_destroy_qp(net->there) || ibv_destroy_cq(net->cq) ||
	    ibv_dealloc_pd(net->pd) || ibv_close_device(net->context))
		fail("closing the RDMA device", errno);
}

/*
 * The dma-buf of a part of a pin, registered; addresses in work requests are then those of the GPU. What is asked for is
 * counted from the start of the pin, and what comes back from the start of the dma-buf, which begins on a page.
 */
static struct ibv_mr *register_pin(const struct net *net, bl_ctx_t ctx, const struct buffer *buffer, size_t size)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct bl_dmabuf dmabuf;
	struct ibv_mr *mr;
	int err;

	BL(bl_pin_export(ctx, buffer->mem.pin, buffer->va - buffer->mem.va, size, 0, &dmabuf));
	mr = ibv_reg_dmabuf_mr(net->pd, dmabuf.off, size, buffer->va, dmabuf.fd, access);
	err = errno;
	/* the registration holds the memory from here on */
	close(dmabuf.fd);
	if (!mr)
		fail("ibv_reg_dmabuf_mr", err);
	return mr;
}

/* bl_pin() and bl_map_byte() would do the same with memory of cuMemAlloc(). */
static void buffer_open(struct buffer *buffer, const struct net *net, bl_ctx_t ctx, size_t size)
{
	BL(bl_alloc(ctx, 0, ODD + size, &buffer->mem));
	buffer->va = buffer->mem.va + ODD;
	buffer->map = (char *)buffer->mem.addr + ODD;
	buffer->mr = register_pin(net, ctx, buffer, size);
}

static void buffer_close(struct buffer *buffer, bl_ctx_t ctx)
{
	int ret = ibv_dereg_mr(buffer->mr);

	if (ret)
		fail("ibv_dereg_mr", ret);
	BL(bl_free(ctx, buffer->mem.pin));
}

/* Post one request and wait until it is complete. */
static void transfer(const struct net *net, enum ibv_wr_opcode opcode, uint64_t local, const struct ibv_mr *local_mr,
		     const struct buffer *remote, size_t size)
{
	const char *what = opcode == IBV_WR_RDMA_WRITE ? "RDMA WRITE" : "RDMA READ";
	struct ibv_sge sge = { .addr = local, .length = (uint32_t)size, .lkey = local_mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote->va, .rkey = remote->mr->rkey },
	};
	uint64_t start = example_now_ns();
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int ret, nr;

	ret = ibv_post_send(net->here, &wr, &bad);
	if (ret)
		fail(what, ret);
	do {
		nr = ibv_poll_cq(net->cq, 1, &wc);
	} while (!nr && example_now_ns() - start < TIMEOUT_NS);
	if (nr < 0)
		fail("ibv_poll_cq", EIO);
	if (!nr)
		fail(what, ETIMEDOUT);
	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != wr.wr_id) {
		fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(wc.status));
		exit(EXIT_FAILURE);
	}
	printf("%-10s  %zu bytes  %.1f us\n", what, size, (double)(example_now_ns() - start) / 1e3);
}

static void check(const char *where, const unsigned char *got, const unsigned char *want, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (got[i] == want[i])
			continue;
		fprintf(stderr, "%s: byte %zu is 0x%02x, not 0x%02x\n", where, i, got[i], want[i]);
		exit(EXIT_FAILURE);
	}
	printf("%s: all bytes are right\n", where);
}

static void run(const struct net *net, bl_ctx_t ctx, size_t size)
{
	unsigned char *want = malloc(size), *host = calloc(1, size), *seen = malloc(size);
	struct buffer from, to;
	struct ibv_mr *host_mr;

	if (!want || !host || !seen)
		fail("memory", ENOMEM);
	buffer_open(&from, net, ctx, size);
	buffer_open(&to, net, ctx, size);
	host_mr = ibv_reg_mr(net->pd, host, size, IBV_ACCESS_LOCAL_WRITE);
	if (!host_mr)
		fail("ibv_reg_mr", errno);
	for (size_t i = 0; i < size; i++)
		want[i] = (unsigned char)(i * 2654435761U >> 11);
	BL(bl_copy_to(from.mem.pin, from.map, want, size));
	/* the RDMA device reads the GPU's memory: the CPU's writes must have got there */
	BL(bl_flush(from.mem.pin));

	transfer(net, IBV_WR_RDMA_WRITE, from.va, from.mr, &to, size);
	transfer(net, IBV_WR_RDMA_READ, (uintptr_t)host, host_mr, &to, size);
	check("host memory", host, want, size);
	/* the READ came after the WRITE on the way to the GPU, and has brought it: the CPU sees it too */
	BL(bl_copy_from(to.mem.pin, seen, to.map, size));
	check("GPU memory", seen, want, size);

	if (ibv_dereg_mr(host_mr))
		fail("ibv_dereg_mr", errno);
	buffer_close(&to, ctx);
	buffer_close(&from, ctx);
	free(want);
	free(host);
	free(seen);
}

static void parse(int argc, char **argv, struct options *options)
{
	int opt;

	while ((opt = getopt(argc, argv, "d:p:g:")) != -1) {
		if (opt == 'd')
			options->device = optarg;
		else if (opt == 'p')
			options->port = (uint8_t)example_number(optarg, 1, 255);
		else if (opt == 'g')
			options->gid_index = (int)example_number(optarg, 0, 255);
		else
			exit(EXIT_FAILURE);
	}
	if (optind < argc)
		options->size = example_number(argv[optind], 1, 1 << 30);
}

int main(int argc, char **argv)
{
	struct options options = { .port = 1, .size = 1 << 20 };
	struct net net = { 0 };
	CUcontext context;
	CUdevice device;
	bl_ctx_t ctx;

	parse(argc, argv, &options);
	net_open(&net, &options);
	CU(cuInit(0));
	CU(cuDeviceGet(&device, 0));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	BL(bl_open(NULL, &ctx));
	run(&net, ctx, options.size);
	BL(bl_close(ctx));
	CU(cuDevicePrimaryCtxRelease(device));
	net_close(&net);
	return EXIT_SUCCESS;
}
