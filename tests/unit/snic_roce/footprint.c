// SPDX-License-Identifier: MIT
/*
 * What a queue pair takes, on a network and in shared memory: the same for each, however many there are and whomever
 * they talk to. Counted are all allocations of the NIC and its transport; the linker has them come here first.
 */
#include <stdint.h>

#include "pair.h"
#include "softnic/roce/frame.h"
#include "tap.h"

#define NR 16U /* queue pairs; then twice as many */

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *at);

/* Sizes as they were asked for: what malloc() makes of one depends on what was freed before. */
#define SLOTS 65536U

static struct {
	const void *at;
	size_t size;
} slots[SLOTS];
static size_t live;

static size_t slot_of(const void *at)
{
	size_t i = ((uintptr_t)at >> 4) * 2654435761U % SLOTS;

	while (slots[i].at && slots[i].at != at)
		i = (i + 1) % SLOTS;
	return i;
}

static void *add(void *at, size_t size)
{
	size_t i = slot_of(at);

	if (at) {
		slots[i].at = at;
		slots[i].size = size;
		live += size;
	}
	return at;
}

/* Slots stay taken by their address, which comes again. */
static void subtract(const void *at)
{
	size_t i = slot_of(at);

	live -= at ? slots[i].size : 0;
	slots[i].size = 0;
}

void *__wrap_malloc(size_t size)
{
	return add(__real_malloc(size), size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return add(__real_calloc(nr, size), nr * size);
}

void *__wrap_realloc(void *at, size_t size)
{
	subtract(at);
	return add(__real_realloc(at, size), size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return add(__real_aligned_alloc(alignment, size), size);
}

void __wrap_free(void *at)
{
	subtract(at);
	__real_free(at);
}

/* Connects queue pair @number to peer @peer. */
typedef void connect_fn(struct bl_snic_qp *qp, unsigned int peer);

/* Bytes that @nr queue pairs to @peers peers take, one after the other. */
static size_t take(struct bl_snic_pd *pd, const struct bl_snic_qp_attr *attr, connect_fn *connect, unsigned int nr,
		   unsigned int peers)
{
	struct bl_snic_qp *qps[2 * NR];
	size_t before = live, bytes;

	for (unsigned int i = 0; i < nr; i++) {
		check_eq(bl_snic_qp_create(pd, attr, &qps[i]), 0);
		connect(qps[i], i % peers);
	}
	bytes = live - before;
	while (nr)
		check_eq(bl_snic_qp_destroy(qps[--nr]), 0);
	return bytes;
}

static uint8_t reads = 16;

static void to_rts(struct bl_snic_qp *qp, struct bl_snic_qp_mod *mod)
{
	mod->mtu = 1024;
	mod->dest_qpn = 5;
	mod->max_rd_atomic = mod->max_dest_rd_atomic = reads;
	mod->ack_timeout = 14;
	mod->retry_cnt = 7;
	for (mod->state = BL_SNIC_INIT; mod->state <= BL_SNIC_RTS; mod->state++)
		check_eq(bl_snic_qp_modify(qp, mod), 0);
}

/* The second host, to which there is a path already, is another one. Nobody is there, which a queue pair that sends
 * nothing does not notice. */
static void connect_to_host(struct bl_snic_qp *qp, unsigned int peer)
{
	struct bl_snic_qp_mod mod = {.sgid_index = NET_IPV4};

	bl_roce_gid_from_ipv4(mod.dest_gid, (const uint8_t[]){10, 77, 0, (uint8_t)(3 + peer)});
	to_rts(qp, &mod);
}

static struct bl_snic *others[2 * NR];

static void connect_to_nic(struct bl_snic_qp *qp, unsigned int peer)
{
	struct bl_snic_qp_mod mod = {.state = BL_SNIC_INIT};

	check_eq(bl_snic_gid_at(others[peer], 0, mod.dest_gid), 0);
	to_rts(qp, &mod);
}

/* Bytes of one queue pair of many, to one peer. */
static size_t each(struct bl_snic_pd *pd, const struct bl_snic_qp_attr *attr, connect_fn *connect)
{
	size_t bytes = take(pd, attr, connect, 2 * NR, 1) - take(pd, attr, connect, NR, 1);

	check_eq(bytes % NR, 0);
	return bytes / NR;
}

static void check_peers(const char *what, struct bl_snic_pd *pd, const struct bl_snic_qp_attr *attr,
			connect_fn *connect)
{
	size_t one, two, qp;

	/* tables that grow do so now */
	take(pd, attr, connect, 2 * NR, 2 * NR);
	qp = each(pd, attr, connect);
	one = take(pd, attr, connect, NR, NR);
	two = take(pd, attr, connect, 2 * NR, 2 * NR);
	check_eq(two, 2 * one);
	printf("# %s: %zu bytes for each queue pair with %u send blocks and %u reads, %zu for each peer\n", what, qp,
	       attr->sq_nr, reads, one / NR - qp);
	/* as documented */
	check(one / NR - qp < 400);
}

/* The parts: a queue pair, what it needs for each send block, and for each read that its peer may ask for. */
static void check_parts(const char *what, struct bl_snic_pd *pd, struct bl_snic_qp_attr *attr, connect_fn *connect)
{
	size_t base, blocks, answers;

	reads = 16;
	base = each(pd, attr, connect);
	attr->sq_nr = 1024;
	blocks = (each(pd, attr, connect) - base) / (1024 - 64);
	attr->sq_nr = 64;
	reads = 1;
	answers = (base - each(pd, attr, connect)) / 15;
	reads = 16;
	base -= 64 * blocks + 16 * answers;
	printf("# %s: %zu bytes, %zu for each send block, %zu for each read\n", what, base, blocks, answers);
	/* as documented */
	check(base <= 3072);
	check(blocks <= 300);
	check(answers <= 180);
}

static void compare_types(const char *what, struct world *w, connect_fn *connect)
{
	struct bl_snic_qp_attr attr = world_query(&w->a).attr;

	check_eq(attr.sq_nr, 64);
	for (int uc = 0; uc < 2; uc++) {
		attr.type = uc ? BL_SNIC_UC : BL_SNIC_RC;
		check_peers(what, w->a.pd, &attr, connect);
		check_parts(what, w->a.pd, &attr, connect);
	}
}

static void a_queue_pair_on_a_network_takes_the_same_whomever_it_talks_to(void)
{
	static const char *const wires[] = {"packet", "udp"};

	for (int i = 0; i < 2; i++) {
		struct world *w = net_begin(NET_IPV4, wires[i]);

		net_enter(0);
		compare_types(wires[i], w, connect_to_host);
		world_end(w);
	}
}

static void a_queue_pair_in_shared_memory_takes_the_same_whomever_it_talks_to(void)
{
	struct world_options options = {.shm = true, .mtu = 1024};
	struct world *w = world_begin(&options);

	for (unsigned int i = 0; i < 2 * NR; i++) {
		const struct bl_snic_attr attr = {.name = "other", .transport = &bl_snic_shm, .manual = true};

		check_eq(bl_snic_open(&attr, &others[i]), 0);
	}
	compare_types("shared memory", w, connect_to_nic);
	for (unsigned int i = 0; i < 2 * NR; i++)
		bl_snic_close(others[i]);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_queue_pair_in_shared_memory_takes_the_same_whomever_it_talks_to",
	 a_queue_pair_in_shared_memory_takes_the_same_whomever_it_talks_to},
	{"a_queue_pair_on_a_network_takes_the_same_whomever_it_talks_to",
	 a_queue_pair_on_a_network_takes_the_same_whomever_it_talks_to},
};

TAP_MAIN(tests)
