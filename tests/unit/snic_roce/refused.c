// SPDX-License-Identifier: MIT
/* Interfaces, ways, sizes and requests that are refused at once; who may have an address. */
#include <arpa/inet.h>
#include <unistd.h>

#include "pair.h"
#include "softnic/cq.h"
#include "softnic/roce/frame.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/log.h"

/* Return: what the move of the first queue pair to a peer says; it stays in INIT then. */
static int try_to_connect(struct world *w, enum net_gid gid, const char *address, uint32_t mtu)
{
	struct bl_snic_qp_mod mod = {.state = BL_SNIC_RST};
	int ret;

	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	mod = (struct bl_snic_qp_mod){.state = BL_SNIC_INIT, .dest_qpn = 5, .mtu = mtu, .sgid_index = (uint8_t)gid};
	bl_roce_gid_from_ipv4(mod.dest_gid, (const uint8_t[]){10, 77, 0, 2});
	if (strchr(address, ':'))
		check_eq(inet_pton(AF_INET6, address, mod.dest_gid), 1);
	else
		check_eq(inet_pton(AF_INET, address, mod.dest_gid + 12), 1);
	net_enter(0);
	check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	mod.state = BL_SNIC_RTR;
	bl_fail_hush(1);
	ret = bl_snic_qp_modify(w->a.qp, &mod);
	bl_fail_hush(-1);
	return ret;
}

static void ways_that_there_are_not_are_refused_at_once(void)
{
	struct world *w = net_begin(NET_IPV4, "packet");

	check_eq(try_to_connect(w, NET_IPV4, "192.0.2.1", 1024), -ENETUNREACH);
	check_eq(try_to_connect(w, NET_IPV6, "2001:db8::1", 1024), -ENETUNREACH);
	check_eq(try_to_connect(w, NET_IPV4, "224.0.0.1", 1024), -ENETUNREACH);
	check_eq(try_to_connect(w, NET_IPV6, "10.77.0.2", 1024), -EAFNOSUPPORT);
	check_eq(try_to_connect(w, NET_IPV4, "fd77::2", 1024), -EAFNOSUPPORT);
	check_eq(try_to_connect(w, (enum net_gid)3, "10.77.0.2", 1024), -EINVAL);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 1024), 0);
	world_end(w);
}

static void a_path_mtu_beyond_the_port_is_refused(void)
{
	struct world_options options = net_options(NET_IPV4);
	struct bl_snic_port port;
	struct world *w;

	net_need(1500);
	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	options.mtu = 1024;
	w = world_begin(&options);
	bl_snic_port(w->a.nic, &port);
	check_eq(port.mtu, 1024);
	check_eq(port.gids, 3);
	check(port.up && port.wire);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 2048), -EINVAL);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 1024), 0);
	world_end(w);
	options.nic_mtu = 512;
	options.mtu = 512;
	w = world_begin(&options);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 1024), -EINVAL);
	world_end(w);
}

static void masked_atomics_fail_here_and_not_on_the_wire(void)
{
	struct world *w = net_begin(NET_IPV6, "packet");
	struct world_wqe wqe;

	net_check_works(w);
	wqe_begin(&wqe, &w->a, 8, BL_WQE_MASKED_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_seg32(&wqe, 1, 0, 0, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 4);
	wqe_post(&wqe, &w->a);
	bl_fail_hush(1);
	world_run(w);
	bl_fail_hush(-1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 1);
	check_has(world_query(&w->a).error.text, "masked atomics do not travel over a network");
	world_end(w);
}

static int open_nic(const char *name)
{
	struct bl_snic *nic;
	int ret;

	net_enter(0);
	bl_fail_hush(1);
	ret = bl_snic_open(&(struct bl_snic_attr){.name = name, .transport = &bl_snic_roce, .manual = true}, &nic);
	bl_fail_hush(-1);
	if (!ret)
		bl_snic_close(nic);
	return ret;
}

static void interfaces_that_will_not_do_are_refused(void)
{
	net_need(NET_MTU);
	setenv("BARLANE_SNIC_WIRE", "auto", 1);
	check_eq(open_nic("soft_nosuch"), -ENODEV);
	check_eq(open_nic("soft_aninterfacewithalongname"), -ENODEV);
	check_eq(open_nic("soft0"), -ENODEV);
	check_eq(open_nic("soft_"), -ENODEV);
	check(net_do(0, "ip link add d0 type dummy 2>/dev/null || ip link add d0 type veth peer name d1"));
	check_eq(open_nic("soft_d0"), -EADDRNOTAVAIL);
	check(net_do(0, "ip addr add 10.78.0.1/24 dev d0"));
	check_eq(open_nic("soft_d0"), 0);
	check(net_do(0, "ip link set d0 mtu 339"));
	check_eq(open_nic("soft_d0"), -EMSGSIZE);
	check(net_do(0, "ip link del d0"));
	setenv("BARLANE_SNIC_WIRE", "wet", 1);
	check_eq(open_nic("soft_va"), -EINVAL);
	setenv("BARLANE_SNIC_WIRE", "auto", 1);
	check_eq(open_nic("soft_va"), 0);
}

static void with_udp_sockets_an_address_is_one_process_s(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(BL_ROCE_UDP_PORT)};
	struct world *w = net_begin(NET_IPV6, "udp");
	int fd;

	net_enter(0);
	check_eq(inet_pton(AF_INET, "10.77.0.1", &in.sin_addr), 1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 1024), -EADDRINUSE);
	/* another one is free */
	check_eq(try_to_connect(w, NET_IPV6, "fd77::2", 1024), 0);
	close(fd);
	check_eq(try_to_connect(w, NET_IPV4, "10.77.0.2", 1024), 0);
	world_end(w);
}

/* There are 255 shares of the numbers of queue pairs, in a network namespace. */
static void with_packet_sockets_there_are_255_nics(void)
{
	static struct bl_snic *nics[256];
	struct bl_snic_attr attr = {.name = "soft_va", .transport = &bl_snic_roce, .manual = true};
	int nr = 0, ret = 0;

	net_need(NET_MTU);
	net_enter(0);
	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	bl_fail_hush(1);
	while (nr < 256 && !(ret = bl_snic_open(&attr, &nics[nr])))
		nr++;
	bl_fail_hush(-1);
	for (int i = 0; i < nr; i++)
		bl_snic_close(nics[i]);
	check_eq(nr, 255);
	check_eq(ret, -EADDRINUSE);
	check_eq(open_nic("soft_va"), 0);
}

static const struct tap_test tests[] = {
	{"interfaces_that_will_not_do_are_refused", interfaces_that_will_not_do_are_refused},
	{"ways_that_there_are_not_are_refused_at_once", ways_that_there_are_not_are_refused_at_once},
	{"with_udp_sockets_an_address_is_one_process_s", with_udp_sockets_an_address_is_one_process_s},
	{"with_packet_sockets_there_are_255_nics", with_packet_sockets_there_are_255_nics},
	{"masked_atomics_fail_here_and_not_on_the_wire", masked_atomics_fail_here_and_not_on_the_wire},
	{"a_path_mtu_beyond_the_port_is_refused", a_path_mtu_beyond_the_port_is_refused},
};

TAP_MAIN(tests)
