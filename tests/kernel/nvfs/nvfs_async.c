// SPDX-License-Identifier: MIT
/*
 * Requests of nvidia-fs.ko that are in flight together: those that nobody waits for, the pieces of one request, many
 * threads on two drives. Bytes are compared by the host. LAB_STRESS seconds for the random part.
 */
#include "drives.h"
#include "host.h"
#include "hotplug.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MEM_SIZE (40 * MIB)
#define BAD	 (448 * (int64_t)MIB)
#define NR_MAPS	 6
/* bytes a second, until it is let go */
#define VERY_SLOW (256 * KIB)

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map maps[NR_MAPS];
static unsigned int seed;

static void begin(size_t shadow_len)
{
	lane_need_patched();
	lane_reload("rw_stats_enabled=1");
	lane_open_all(&gpu, &node, &drive);
	mem = gpu_alloc(gpu, MEM_SIZE);
	for (int i = 0; i < NR_MAPS; i++)
		maps[i] = lane_bind(node, mem.va, MEM_SIZE, shadow_len);
}

static void end(void)
{
	for (int i = 0; i < NR_MAPS; i++)
		lane_unbind(&maps[i]);
	lane_close_all(gpu, node, drive);
}

/* The drive takes long: calls come back before, and it has several requests at a time. */
static void requests_are_in_flight_together(void)
{
	struct nvidia_fs_io io;
	int most = 0;

	begin(MIB);
	check(host_ask("fill-drive", 4 * MIB, NR_MAPS * MIB, "0123456789abcdef"));
	check(host_ask("fill", mem.offset, (NR_MAPS + 1) * MIB, "ee"));
	drive_slow(VERY_SLOW);
	for (uint64_t i = 0; i < NR_MAPS; i++) {
		io = lane_io(&maps[i], drive, (int64_t)((4 + i) * MIB), i * MIB, MIB);
		check_eq(try_start(node, false, io, 100 + i), 0);
	}
	check(!lane_ended(&maps[NR_MAPS - 1], 100 + NR_MAPS - 1));
	check(lane_stat("Ops", "Read") > 1);
	for (int i = 0; i < 200 && most < 2; i++) {
		most = drive_load("nvme0n1");
		usleep(5000);
	}
	check(most > 1);
	drive_slow(0);
	for (uint64_t i = 0; i < NR_MAPS; i++)
		check_eq(lane_wait(&maps[i], 100 + i), MIB);
	check(host_ask("check", mem.offset, NR_MAPS * MIB, "0123456789abcdef"));
	check(host_ask("check", mem.offset + NR_MAPS * MIB, 4096, "ee"));
	end();
}

struct transfer {
	pthread_t thread;
	bool write;
	uint64_t len;
	int64_t result;
	atomic_bool ended;
};

static void *transfer(void *arg)
{
	struct transfer *t = arg;
	struct nvidia_fs_io io = lane_io(&maps[0], drive, 4 * MIB, 0, t->len);

	t->result = try_io(node, t->write, &io);
	atomic_store(&t->ended, true);
	return NULL;
}

/* Of a request that is larger than its shadow; the least is two slots. */
static void pieces_are_in_flight_together(void)
{
	static const size_t shadows[] = { 512 * KIB, 128 * KIB };

	for (int i = 0; i < 4; i++) {
		struct transfer t = { .write = i & 1, .len = 4 * MIB };
		int most = 0;

		begin(shadows[i / 2]);
		check(host_ask("fill-drive", 4 * MIB, 4 * MIB, i & 1 ? "dd" : "0123456789abcdef"));
		check(host_ask("fill", mem.offset, 4 * MIB, i & 1 ? "fedcba9876543210" : "ee"));
		drive_slow(VERY_SLOW);
		check_eq(pthread_create(&t.thread, NULL, transfer, &t), 0);
		while (!atomic_load(&t.ended) && most < 2) {
			most = drive_load("nvme0n1");
			usleep(2000);
		}
		drive_slow(0);
		pthread_join(t.thread, NULL);
		check_eq(t.result, 4 * MIB);
		check(most > 1);
		if (i & 1)
			check(host_ask("check-drive", 4 * MIB, 4 * MIB, "fedcba9876543210"));
		else
			check(host_ask("check", mem.offset, 4 * MIB, "0123456789abcdef"));
		end();
	}
}

/* Through a shadow of one slot even. The call comes back when the last piece is on its way. */
static void any_size_may_go_without_being_waited_for(void)
{
	struct nvidia_fs_io io;

	begin(64 * KIB);
	check(host_ask("fill-drive", 4 * MIB, 33 * MIB, "0011223344556677"));
	check(host_ask("fill-drive", 96 * MIB + 4096, 4096, "dd"));
	check(host_ask("fill", mem.offset, 33 * MIB, "ee"));
	io = lane_io(&maps[0], drive, 4 * MIB, 4096, 32 * MIB + 4096);
	check_eq(lane_async(node, false, &maps[0], &io, 1), 32 * MIB + 4096);
	check(host_ask("check", mem.offset, 4096, "ee"));
	check(host_ask("check", mem.offset + 4096, 32 * MIB + 4096, "0011223344556677"));
	check(host_ask("check", mem.offset + 32 * MIB + 8192, 4096, "ee"));
	io = lane_io(&maps[0], drive, 64 * MIB, 4096, 32 * MIB + 4096);
	check_eq(lane_async(node, true, &maps[0], &io, 2), 32 * MIB + 4096);
	check(host_ask("check-drive", 64 * MIB, 32 * MIB + 4096, "0011223344556677"));
	check(host_ask("check-drive", 96 * MIB + 4096, 4096, "dd"));
	end();
}

/* A sector that cannot be read, in the middle: what comes before it counts, and then it is an error. */
static void an_error_ends_a_request_where_it_is(void)
{
	struct nvidia_fs_io io;
	char name[32];
	int64_t ret;
	int second;

	second_drive_needed();
	begin(256 * KIB);
	second = second_drive_open(name);
	check(host_ask("fill-second", (uint64_t)BAD - MIB, 2 * MIB, "8877665544332211"));
	check(host_ask("fill", mem.offset, 4 * MIB, "ee"));
	check_eq(lane_read(node, &maps[0], second, BAD - (int64_t)MIB, 0, 2 * MIB), MIB);
	check(host_ask("check", mem.offset, MIB, "8877665544332211"));
	check(host_ask("check", mem.offset + MIB, 4096, "ee"));
	check_eq(lane_read(node, &maps[0], second, BAD, MIB, 4096), -ENODATA);
	io = lane_io(&maps[1], second, BAD - (int64_t)MIB, 0, 2 * MIB);
	check_eq(lane_async(node, false, &maps[1], &io, 5), MIB);
	io = lane_io(&maps[1], second, BAD, MIB, MIB);
	ret = lane_async(node, false, &maps[1], &io, 6);
	check(ret == -ENODATA || ret == -EIO);
	/* behind it all is well */
	check_eq(lane_read(node, &maps[0], second, BAD + 4096, 0, 64 * KIB), 64 * KIB);
	check(host_ask("check", mem.offset, 64 * KIB, "8877665544332211"));
	check_eq(lane_stat("Reads", "err"), 2);
	close(second);
	end();
}

enum { NR_THREADS = 32, SHARE = 256, BLOCK = 4096 };

/*
 * A thread with blocks of its own on a drive and on the card; word 0 of each is what it is, and two arrays have what it
 * should be.
 */
struct worker {
	pthread_t thread;
	uint64_t nr;
	uint64_t random;
	int fd;
	uint64_t *card;
	uint64_t on_card[SHARE];
	uint64_t on_drive[SHARE];
	struct lane_map own;
	int64_t error;
};

static uint64_t draw(struct worker *w, uint64_t nr)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % nr;
}

static int64_t drive_at(const struct worker *w, uint64_t block)
{
	return (int64_t)(128 * MIB + (w->nr * SHARE + block) * BLOCK);
}

static uint64_t card_at(const struct worker *w, uint64_t block)
{
	return (w->nr * SHARE + block) * BLOCK;
}

static uint64_t *card_word(const struct worker *w, uint64_t block)
{
	return w->card + card_at(w, block) / sizeof(uint64_t);
}

/* Waited for, or not; through a shadow of all threads, or the own one, which is small. */
static int64_t move(struct worker *w, bool write, uint64_t block, uint64_t at, uint64_t nr)
{
	uint64_t on_drive = write ? at : block, on_card = write ? block : at, fence = draw(w, UINT64_MAX - 1) + 1;
	bool wait = draw(w, 2);
	const struct lane_map *map = wait && draw(w, 2) ? &maps[w->nr % NR_MAPS] : &w->own;
	uint64_t off = card_at(w, on_card) - (map == &w->own ? card_at(w, 0) : 0);
	struct nvidia_fs_io io = lane_io(map, w->fd, drive_at(w, on_drive), off, nr * BLOCK);
	int64_t ret;

	if (wait)
		return try_io(node, write, &io);
	ret = try_start(node, write, io, fence);
	for (int i = 0; !ret && !lane_ended(map, fence); i++) {
		if (i == 60000)
			return -ETIMEDOUT;
		usleep(1000);
	}
	return ret ? ret : map->meta->result;
}

static int64_t one_round(struct worker *w)
{
	uint64_t nr = 1 + draw(w, draw(w, 4) ? 20 : SHARE - 1), from = draw(w, SHARE - nr + 1);
	uint64_t to = draw(w, SHARE - nr + 1);
	bool write = draw(w, 2);
	int64_t ret = move(w, write, from, to, nr);

	if (ret != (int64_t)(nr * BLOCK))
		return ret < 0 ? ret : -EPROTO;
	if (write)
		memcpy(&w->on_drive[to], &w->on_card[from], nr * sizeof(uint64_t));
	else
		memcpy(&w->on_card[to], &w->on_drive[from], nr * sizeof(uint64_t));
	for (uint64_t i = 0; i < SHARE; i++) {
		if (*(volatile uint64_t *)card_word(w, i) != w->on_card[i])
			return -EILSEQ;
	}
	return 0;
}

static int64_t set_up(struct worker *w)
{
	uint64_t next = (w->nr + 1) << 32;
	int64_t ret;

	for (uint64_t i = 0; i < SHARE; i++)
		*card_word(w, i) = w->on_drive[i] = next++;
	ret = move(w, true, 0, 0, SHARE);
	for (uint64_t i = 0; i < SHARE; i++)
		*card_word(w, i) = w->on_card[i] = next++;
	return ret == (int64_t)SHARE * BLOCK ? 0 : ret < 0 ? ret : -EPROTO;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const char *stress = getenv("LAB_STRESS");
	time_t until = time(NULL) + (stress ? atoi(stress) : 0);

	w->error = set_up(w);
	for (int i = 0; !w->error && (i < 8 || time(NULL) < until); i++)
		w->error = one_round(w);
	return NULL;
}

/* All of a share, with bytes of the thread, to the drive; the host looks there. */
static void check_outside(struct worker *w)
{
	char pattern[17];

	snprintf(pattern, sizeof(pattern), "%02x%02x", (unsigned int)w->nr + 1, (unsigned int)~w->nr & 0xff);
	check(host_ask("fill", mem.offset + card_at(w, 0), SHARE * BLOCK, pattern));
	check_eq(move(w, true, 0, 0, SHARE), SHARE * BLOCK);
	check(host_ask(w->fd == drive ? "check-drive" : "check-second", (uint64_t)drive_at(w, 0), SHARE * BLOCK,
		       pattern));
	check(host_ask("fill", mem.offset + card_at(w, 0), SHARE * BLOCK, "ee"));
	check_eq(move(w, false, 0, 0, SHARE), SHARE * BLOCK);
	check(host_ask("check", mem.offset + card_at(w, 0), SHARE * BLOCK, pattern));
}

static void many_threads_on_two_drives(void)
{
	static struct worker workers[NR_THREADS];
	char name[32];
	uint8_t *card;
	int second;

	begin(512 * KIB);
	/* where it cannot come, all share one */
	second = slots_are_watched() ? second_drive_open(name) : -1;
	card = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(card != MAP_FAILED);
	for (uint64_t i = 0; i < NR_THREADS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){ .nr = i, .card = (uint64_t *)card, .fd = i & 1 && second >= 0 ? second : drive };
		w->random = ((uint64_t)seed << 8 | i) * 0x9e3779b97f4a7c15UL + 1;
		/* a debug kernel warns of more than seven bindings of the same memory */
		w->own = lane_bind(node, mem.va + card_at(w, 0), SHARE * BLOCK, (64 << (i % 3)) * KIB);
		check_eq(pthread_create(&w->thread, NULL, work, w), 0);
	}
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_join(workers[i].thread, NULL), 0);
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(workers[i].error, 0);
	for (int i = 0; i < NR_THREADS; i += 5)
		check_outside(&workers[i]);
	for (int i = 0; i < NR_THREADS; i++)
		lane_unbind(&workers[i].own);
	check_eq(lane_stat("Reads", "err") + lane_stat("Writes", "err"), 0);
	munmap(card, MEM_SIZE);
	if (second >= 0)
		close(second);
	end();
}

static const struct tap_test tests[] = {
	{ "requests_are_in_flight_together", requests_are_in_flight_together },
	{ "pieces_are_in_flight_together", pieces_are_in_flight_together },
	{ "any_size_may_go_without_being_waited_for", any_size_may_go_without_being_waited_for },
	{ "an_error_ends_a_request_where_it_is", an_error_ends_a_request_where_it_is },
	{ "many_threads_on_two_drives", many_threads_on_two_drives },
};

int main(int argc, char **argv)
{
	const char *text = getenv("SEED");

	seed = text ? (unsigned int)strtoul(text, NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u; SEED=N repeats it\n", seed);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
