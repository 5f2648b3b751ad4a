// SPDX-License-Identifier: MIT
#include "pair.h"

#include "tap.h"
#include "util/clock.h"

struct world_options net_options(enum net_gid gid)
{
	return (struct world_options){
		.names = {"soft_va", "soft_vb"},
		.sgid = {gid, gid},
		.enter = net_enter,
		.mtu = 4096,
	};
}

struct world *net_begin(enum net_gid gid, const char *wire)
{
	struct world_options options = net_options(gid);

	net_need(NET_MTU);
	setenv("BARLANE_SNIC_WIRE", wire, 1);
	return world_begin(&options);
}

void net_check_works(struct world *w)
{
	struct world_cqe cqe;
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	bool done = false;

	fill(w->a.mem, 5000, 3);
	post_write(&w->a, &w->b, 0, 0, 5000);
	while (!done && bl_now_ns() < end) {
		world_run(w);
		done = world_poll(&w->a.send, &cqe);
	}
	check(done && !cqe.syndrome && is_filled(w->b.mem, 5000, 3));
}

void net_check_counts_one(struct world *w, enum bl_snic_counter counter)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;

	while (!world_counter(&w->b, counter) && bl_now_ns() < end)
		world_run(w);
	check_eq(world_counter(&w->b, counter), 1);
}
