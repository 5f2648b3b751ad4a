// SPDX-License-Identifier: MIT
/*
 * GPU memory that is taken back at every bad moment. Afterwards nothing is pinned, and no byte was written to memory that had
 * been given back: the card fills it with a poison and looks for changes.
 */
#include "gdrdrv_fixture.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RACE_MS		1500

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void freed_while_mapped(void)
{
	uint64_t handle;
	uint32_t value;
	void *addr;

	begin(NOT_PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 1;
	check_eq(try_cb_flag(drv, handle), 0);
	gpu_free(gpu, &mem);
	check_eq(load_signal(addr, &value), SIGBUS);
	/* also where no page was present when the memory went */
	check_eq(load_signal((char *)addr + MIB, &value), SIGBUS);
	check_eq(try_cb_flag(drv, handle), 1);
	check_eq(munmap(addr, mem.len), 0);
	check_eq(try_map(drv, handle, 4096, &addr), -EINVAL);
	check_eq(try_unpin(drv, handle), 0);
	check_eq(try_unpin(drv, handle), -EINVAL);
	end();
}

/* The kernel itself reads and writes for the process then, and must not fall over what is gone. */
static void system_calls_on_freed_memory(void)
{
	uint64_t handle;
	int fds[2];
	void *addr;

	begin(NOT_PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	check_eq(pipe(fds), 0);
	check_eq(write(fds[1], addr, 64), 64);
	gpu_free(gpu, &mem);
	check_eq(read(fds[0], addr, 64), -1);
	check_eq(errno, EFAULT);
	check_eq(write(fds[1], addr, 64), -1);
	check_eq(errno, EFAULT);
	close(fds[0]);
	close(fds[1]);
	munmap(addr, mem.len);
	check_eq(try_unpin(drv, handle), 0);
	end();
}

static void freed_before_map(void)
{
	uint64_t handle;
	void *addr;

	begin(NOT_PERSISTENT);
	handle = drv_pin(drv, &mem);
	gpu_free(gpu, &mem);
	check_eq(try_map(drv, handle, mem.len, &addr), -EINVAL);
	end();
}

static void another_stays(void)
{
	struct gpu_mem second;
	uint64_t handle;
	void *addr, *freed;

	begin(NOT_PERSISTENT);
	second = gpu_alloc(gpu, 2 * MIB);
	freed = drv_map(drv, drv_pin(drv, &mem), mem.len);
	handle = drv_pin(drv, &second);
	addr = drv_map(drv, handle, second.len);
	*(volatile uint32_t *)addr = 99;
	gpu_free(gpu, &mem);
	check_eq(*(volatile uint32_t *)addr, 99);
	check_eq(try_cb_flag(drv, handle), 0);
	munmap(addr, second.len);
	munmap(freed, mem.len);
	end();
}

static void persistent_survives_free(void)
{
	uint64_t handle;
	uint32_t value = 0;
	void *addr;

	begin(PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 0x600d;
	gpu_free(gpu, &mem);
	check_eq(load_signal(addr, &value), 0);
	check_eq(value, 0x600d);
	check_eq(try_cb_flag(drv, handle), 0);
	/* after the unpin there is nothing any more */
	check_eq(try_unpin(drv, handle), 0);
	check_eq(load_signal(addr, &value), SIGBUS);
	munmap(addr, mem.len);
	end();
}

static void unpin_and_close_while_mapped(void)
{
	uint64_t handle;
	uint32_t value;
	void *addr;

	begin(PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 1;
	check_eq(try_unpin(drv, handle), 0);
	check_eq(load_signal(addr, &value), SIGBUS);
	munmap(addr, mem.len);

	/* the mapping keeps the file open, and so its pin */
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	close(drv);
	check_eq(load_signal(addr, &value), 0);
	check_eq(drv_nr_pins(), 1);
	munmap(addr, mem.len);
	drv = drv_open();
	end();
}

struct writer {
	volatile uint32_t *addr;
	size_t len;
	atomic_bool stop;
	atomic_ulong rounds;
};

static _Thread_local sigjmp_buf writer_env;

static void writer_hit(int sig)
{
	(void)sig;
	siglongjmp(writer_env, 1);
}

static void *write_until_bus(void *arg)
{
	struct writer *writer = arg;

	if (sigsetjmp(writer_env, 1))
		return NULL;
	while (!atomic_load(&writer->stop)) {
		for (size_t i = 0; i < writer->len / 4; i += 256)
			writer->addr[i] = (uint32_t)i;
		atomic_fetch_add(&writer->rounds, 1);
	}
	return (void *)1;
}

static void freed_while_written(void)
{
	struct sigaction action = { .sa_handler = writer_hit }, old;
	void *result;

	begin(NOT_PERSISTENT);
	sigaction(SIGBUS, &action, &old);
	for (int i = 0; i < 30; i++) {
		struct writer writer = { .len = mem.len };
		uint64_t handle = drv_pin(drv, &mem);
		pthread_t thread;

		writer.addr = drv_map(drv, handle, mem.len);
		check_eq(pthread_create(&thread, NULL, write_until_bus, &writer), 0);
		while (i % 3 && atomic_load(&writer.rounds) < 2)
			sched_yield();
		gpu_free(gpu, &mem);
		check_eq(pthread_join(thread, &result), 0);
		/* it ended by the signal */
		check(!result);
		munmap((void *)writer.addr, mem.len);
		check_eq(try_unpin(drv, handle), 0);
		check_eq(gpu_counters(gpu).late_writes, 0);
		mem = gpu_alloc(gpu, 2 * MIB);
	}
	sigaction(SIGBUS, &old, NULL);
	end();
}

struct race {
	uint64_t handle;
	pthread_barrier_t start;
};

static void *unpin_now(void *arg)
{
	struct race *race = arg;

	pthread_barrier_wait(&race->start);
	return (void *)(long)try_unpin(drv, race->handle);
}

static void *map_now(void *arg)
{
	struct race *race = arg;
	uint32_t value;
	void *addr;

	pthread_barrier_wait(&race->start);
	if (!try_map(drv, race->handle, 64 * KIB, &addr)) {
		/* the handler of signals is the process'; only this thread loads */
		load_signal(addr, &value);
		munmap(addr, 64 * KIB);
	}
	return NULL;
}

/* Free, unpin twice and map at the same moment, with the driver's pauses in every combination. */
static void free_against_unpin_and_map(void)
{
	static const unsigned long pauses[] = { 0, 0, 0, 3 };
	int64_t until = now_ms() + RACE_MS;
	unsigned int round = 0;

	begin(NOT_PERSISTENT);
	do {
		struct race race;
		pthread_t unpin[2], map;
		void *result[2];

		gpu_knob("delay_callback_ms", pauses[round % 4]);
		gpu_knob("delay_put_ms", pauses[round / 4 % 4]);
		check_eq(try_pin(drv, mem.va, mem.len, &race.handle), 0);
		pthread_barrier_init(&race.start, NULL, 4);
		check_eq(pthread_create(&unpin[0], NULL, unpin_now, &race), 0);
		check_eq(pthread_create(&unpin[1], NULL, unpin_now, &race), 0);
		check_eq(pthread_create(&map, NULL, map_now, &race), 0);
		pthread_barrier_wait(&race.start);
		gpu_free(gpu, &mem);
		pthread_join(unpin[0], &result[0]);
		pthread_join(unpin[1], &result[1]);
		pthread_join(map, NULL);
		pthread_barrier_destroy(&race.start);
		/* exactly one of them unpinned it */
		check((long)result[0] + (long)result[1] == -EINVAL && (!result[0] || !result[1]));
		mem = gpu_alloc(gpu, 2 * MIB);
		round++;
	} while (now_ms() < until);
	gpu_knob("delay_callback_ms", 0);
	gpu_knob("delay_put_ms", 0);
	printf("# %u rounds\n", round);
	end();
}

/* The callback comes from another task: while the module is still at the pin, or just after. */
static void revoked_inside_pin(void)
{
	uint64_t handle;
	void *addr;
	int ret;

	begin(NOT_PERSISTENT);
	gpu_knob("revoke_get_pages", 1);
	ret = try_pin(drv, mem.va, mem.len, &handle);
	check(!ret || ret == -EINVAL);
	if (!ret) {
		for (int64_t until = now_ms() + 5000; !try_cb_flag(drv, handle) && now_ms() < until;)
			usleep(1000);
		check_eq(try_cb_flag(drv, handle), 1);
		check_eq(try_map(drv, handle, mem.len, &addr), -EINVAL);
		check_eq(try_unpin(drv, handle), 0);
	}
	check_eq(drv_nr_pins(), 0);
	check_eq(try_pin(drv, mem.va, mem.len, &handle), 0);
	end();
}

static void *free_now(void *arg)
{
	pthread_barrier_wait(arg);
	gpu_free(gpu, &mem);
	return NULL;
}

static void free_against_pin(void)
{
	int64_t until = now_ms() + RACE_MS;
	unsigned int round = 0, pinned = 0;

	begin(NOT_PERSISTENT);
	do {
		pthread_barrier_t start;
		pthread_t thread;
		uint64_t handle;

		pthread_barrier_init(&start, NULL, 2);
		check_eq(pthread_create(&thread, NULL, free_now, &start), 0);
		pthread_barrier_wait(&start);
		for (volatile int i = 0; i < (int)(round % 64) * 40; i++)
			;
		if (!try_pin(drv, mem.va, mem.len, &handle)) {
			pinned++;
			if (round % 2)
				check_eq(try_unpin(drv, handle), 0);
		}
		pthread_join(thread, NULL);
		pthread_barrier_destroy(&start);
		mem = gpu_alloc(gpu, 2 * MIB);
		round++;
	} while (now_ms() < until);
	printf("# %u rounds, %u pinned\n", round, pinned);
	end();
}

/*
 * An unpin is on its way to the driver when the memory is freed, and the same address is pinned again at once: the driver
 * may then give the new pin the page table that the old one had. The late unpin must not take it.
 */
static void late_unpin_spares_the_next_pin(void)
{
	struct bl_card_range freed;

	begin(NOT_PERSISTENT);
	freed = (struct bl_card_range){ .va = mem.va, .len = mem.len };
	for (int i = 0; i < 10; i++) {
		struct race race = { .handle = drv_pin(drv, &mem) };
		uint64_t next;
		pthread_t thread;
		void *result;

		pthread_barrier_init(&race.start, NULL, 2);
		gpu_knob("delay_put_ms", 60);
		check_eq(pthread_create(&thread, NULL, unpin_now, &race), 0);
		pthread_barrier_wait(&race.start);
		usleep(30000);
		check_eq(try_request(gpu, BL_CARD_IOC_FREED, &freed), 0);
		next = drv_pin(drv, &mem);
		check_eq(pthread_join(thread, &result), 0);
		check_eq((long)result, 0);
		pthread_barrier_destroy(&race.start);
		gpu_knob("delay_put_ms", 0);
		check_eq(gpu_counters(gpu).pins, 1);
		check_eq(try_unpin(drv, next), 0);
	}
	end();
}

static void moved_mapping_is_revoked(void)
{
	uint64_t handle;
	uint32_t value;
	char *addr, *moved;

	begin(NOT_PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 8;
	moved = mmap(NULL, mem.len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(moved != MAP_FAILED);
	check(mremap(addr, mem.len, mem.len, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved);
	check_eq(load_signal(moved, &value), 0);
	check_eq(value, 8);
	/* it cannot be made to show more, nor be doubled */
	check(mremap(moved, mem.len, 2 * mem.len, MREMAP_MAYMOVE) == MAP_FAILED);
	check(mremap(moved, 0, mem.len, MREMAP_MAYMOVE) == MAP_FAILED);
	munmap(moved + MIB, 64 * KIB);
	gpu_free(gpu, &mem);
	check_eq(load_signal(moved, &value), SIGBUS);
	check_eq(load_signal(moved + mem.len - 4096, &value), SIGBUS);
	munmap(moved, mem.len);
	end();
}

static const struct tap_test tests[] = {
	{ "memory_freed_while_mapped_is_sigbus_and_flagged", freed_while_mapped },
	{ "system_calls_on_memory_that_was_freed_are_efault", system_calls_on_freed_memory },
	{ "memory_freed_before_the_map_cannot_be_mapped", freed_before_map },
	{ "freeing_one_buffer_leaves_the_other", another_stays },
	{ "a_persistent_pin_keeps_freed_memory_until_it_is_unpinned", persistent_survives_free },
	{ "unpin_and_close_while_mapped_end_access_with_the_pin", unpin_and_close_while_mapped },
	{ "memory_freed_while_written_gets_no_late_write", freed_while_written },
	{ "free_unpin_and_map_at_once_leave_nothing", free_against_unpin_and_map },
	{ "memory_revoked_as_it_is_pinned_cannot_be_reached", revoked_inside_pin },
	{ "free_and_pin_at_once_leave_nothing", free_against_pin },
	{ "a_late_unpin_spares_the_next_pin_of_the_address", late_unpin_spares_the_next_pin },
	{ "a_moved_and_split_mapping_is_revoked", moved_mapping_is_revoked },
};

TAP_MAIN(tests)
