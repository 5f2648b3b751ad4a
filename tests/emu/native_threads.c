// SPDX-License-Identifier: MIT
/*
 * Threads that publish while others watch through a mapping of their own, as a GPU would; mappings and memory that come
 * and go beside them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/tap.h"
#include "world.h"

#define MIB	   (1UL << 20)
#define NR_BOXES   4
#define NR_ROUNDS  300
#define BOX_SIZE   4096UL
#define DATA_SIZE  1003UL
#define FLAG_OFF   2048UL
#define MAX_SPINS  (1UL << 24)

/**
 * struct box - a sender and its receiver
 * @pin:      mapping that is written
 * @box:      this one's part of it
 * @watched:  the same bytes in the receiver's mapping
 * @answered: what the receiver has seen, so that the next data does not come too early
 */
struct box {
	pthread_t sender, receiver;
	bl_pin_t pin;
	char *box;
	char *watched;
	atomic_ulong answered;
	const char *what;
	const char *seen;
};

static void *send_rounds(void *arg)
{
	struct box *box = arg;
	unsigned char data[DATA_SIZE];

	for (uint64_t turn = 1; turn <= NR_ROUNDS && !box->what; turn++) {
		unsigned long spins = 0;

		memset(data, (int)(turn * 7), sizeof(data));
		if (bl_publish(box->pin, box->box + 5, data, DATA_SIZE, (uint64_t *)(box->box + FLAG_OFF), turn))
			box->what = bl_last_error(NULL);
		if (turn % 16 == 0 && bl_flush(box->pin))
			box->what = "flush failed";
		while (atomic_load(&box->answered) != turn && !box->what) {
			sched_yield();
			if (++spins > MAX_SPINS)
				box->what = "the receiver does not answer";
		}
	}
	return NULL;
}

static void *receive_rounds(void *arg)
{
	struct box *box = arg;
	const uint64_t *flag = (const uint64_t *)(box->watched + FLAG_OFF);

	for (uint64_t turn = 1; turn <= NR_ROUNDS; turn++) {
		unsigned long spins = 0;

		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != turn) {
			sched_yield();
			if (++spins > MAX_SPINS) {
				box->seen = "the flag does not come";
				return NULL;
			}
		}
		for (size_t i = 0; i < DATA_SIZE; i++) {
			if (((const volatile unsigned char *)box->watched)[5 + i] != (unsigned char)(turn * 7))
				box->seen = "the flag came before the data";
		}
		atomic_store(&box->answered, turn);
	}
	return NULL;
}

static void *map_whole(bl_ctx_t ctx, CUdeviceptr va, size_t len, bl_pin_t *pin_p)
{
	void *addr = NULL;

	check_eq(bl_pin(ctx, va, len, 0, 0, 0, pin_p), 0);
	check_eq(bl_map(ctx, *pin_p, len, BL_MAP_NONE, &addr), 0);
	return addr;
}

static void whoever_sees_the_flag_sees_the_data(void)
{
	static struct box boxes[NR_BOXES];
	bl_pin_t writer, reader;
	bl_ctx_t ctx, other;
	CUdeviceptr va;
	char *w, *r;

	world_enter();
	va = world_alloc(2 * MIB);
	check_eq(world.cuda->cuMemsetD8(va, 0, NR_BOXES * 65536), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	ctx = world_open("rm");
	other = world_open("rm"); /* pins of one context would share a mapping */
	w = map_whole(ctx, va, NR_BOXES * 65536, &writer);
	r = map_whole(other, va, NR_BOXES * 65536, &reader);
	check(w != r);
	for (size_t i = 0; i < NR_BOXES; i++) {
		boxes[i] = (struct box){ .pin = writer, .box = w + i * BOX_SIZE, .watched = r + i * BOX_SIZE };
		check_eq(pthread_create(&boxes[i].receiver, NULL, receive_rounds, &boxes[i]), 0);
		check_eq(pthread_create(&boxes[i].sender, NULL, send_rounds, &boxes[i]), 0);
	}
	for (size_t i = 0; i < NR_BOXES; i++) {
		pthread_join(boxes[i].sender, NULL);
		pthread_join(boxes[i].receiver, NULL);
	}
	for (size_t i = 0; i < NR_BOXES; i++) {
		if (boxes[i].what || boxes[i].seen)
			tap_end(TAP_FAILED, "box %zu: %s", i, boxes[i].what ? boxes[i].what : boxes[i].seen);
	}
	check_eq(bl_close(ctx), 0);
	check_eq(bl_close(other), 0);
	world_free(va);
	world_check_rules();
}

/**
 * struct churn - a thread that makes and ends mappings
 * @va: memory of its own
 * @what: what went wrong
 */
struct churn {
	pthread_t thread;
	bl_ctx_t ctx;
	CUdeviceptr va;
	const char *what;
};

static void *churn_mappings(void *arg)
{
	struct churn *churn = arg;
	bl_pin_t pin, found = 0;
	uint64_t off = 0;
	void *addr;

	for (int i = 0; i < 100 && !churn->what; i++) {
		if (bl_pin(churn->ctx, churn->va + 40, 1000, 0, 0, 0, &pin))
			churn->what = "pin failed";
		else if (bl_map_byte(churn->ctx, pin, 1000, BL_MAP_NONE, &addr))
			churn->what = "map failed";
		else if (bl_pin_find((char *)addr + 7, &found, &off) || found != pin || off != 47)
			churn->what = "a mapping was not found, or another one";
		else if (i % 2 && bl_unmap(churn->ctx, pin, addr, 1000))
			churn->what = "unmap failed";
		else if (bl_unpin(churn->ctx, pin))
			churn->what = "unpin failed";
	}
	return NULL;
}

static void *churn_memory(void *arg)
{
	struct churn *churn = arg;
	struct bl_alloc mem;
	bl_pin_t found = 0;

	for (int i = 0; i < 40 && !churn->what; i++) {
		if (bl_alloc(churn->ctx, 0, 1, &mem))
			churn->what = "alloc failed";
		else if (bl_pin_find((char *)mem.addr + mem.size - 1, &found, NULL) || found != mem.pin)
			churn->what = "memory was not found";
		else if (bl_publish(mem.pin, mem.addr, &i, sizeof(i), (uint64_t *)mem.addr + 1, 1))
			churn->what = "publish failed";
		else if (bl_free(churn->ctx, mem.pin))
			churn->what = "free failed";
	}
	return NULL;
}

static void pins_are_found_while_others_come_and_go(void)
{
	struct snapshot before;
	struct churn churns[6];
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(2 * MIB);
	snapshot_take(&before);
	ctx = world_open("rm");
	for (size_t i = 0; i < 6; i++) {
		churns[i] = (struct churn){ .ctx = ctx, .va = va + i * 65536 };
		check_eq(pthread_create(&churns[i].thread, NULL, i < 3 ? churn_mappings : churn_memory, &churns[i]), 0);
	}
	for (size_t i = 0; i < 6; i++)
		pthread_join(churns[i].thread, NULL);
	for (size_t i = 0; i < 6; i++) {
		if (churns[i].what)
			tap_end(TAP_FAILED, "thread %zu: %s", i, churns[i].what);
	}
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_free(va);
	world_check_rules();
}

static const struct tap_test tests[] = {
	{ "whoever_sees_the_flag_sees_the_data", whoever_sees_the_flag_sees_the_data },
	{ "pins_are_found_while_others_come_and_go", pins_are_found_while_others_come_and_go },
};

TAP_MAIN(tests)
