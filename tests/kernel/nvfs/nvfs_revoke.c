// SPDX-License-Identifier: MIT
/*
 * Memory, drive, card, process and mappings that go while requests of nvidia-fs.ko are in flight. Afterwards
 * nothing is bound, and no byte was written to memory that had been given back: the card fills it with a poison and
 * looks for changes.
 */
#include "hotplug.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS 3
#define MEM_SIZE   (4 * MIB)

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map map;

static void begin(const char *parameters)
{
	lane_need_patched();
	lane_reload(parameters);
	lane_open_all(&gpu, &node, &drive);
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, 512 * KIB);
}

static void end(void)
{
	lane_close_all(gpu, node, drive);
}

/* A thread that reads until it is stopped or a read fails. */
struct reader {
	pthread_t thread;
	int64_t pos;
	atomic_bool stop;
	atomic_ulong rounds;
	int64_t error;
};

static void *read_on(void *arg)
{
	struct reader *reader = arg;
	struct lane_map own = map;
	int fd = drive;

	while (!atomic_load(&reader->stop)) {
		int64_t ret = lane_read(node, &own, fd, reader->pos, (uint64_t)reader->pos, MIB);

		if (ret < 0) {
			reader->error = ret;
			break;
		}
		atomic_fetch_add(&reader->rounds, 1);
	}
	return NULL;
}

static void start_readers(struct reader *readers)
{
	for (int i = 0; i < NR_THREADS; i++) {
		readers[i] = (struct reader){ .pos = i * (int64_t)MIB };
		check_eq(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		while (!atomic_load(&readers[i].rounds) && !readers[i].error)
			usleep(1000);
	}
}

/* All of them end by an error that is one of two. */
static void join_failed(struct reader *readers, int64_t error, int64_t other)
{
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_join(readers[i].thread, NULL), 0);
	for (int i = 0; i < NR_THREADS; i++)
		check(readers[i].error == error || readers[i].error == other);
}

static void join_stopped(struct reader *readers)
{
	for (int i = 0; i < NR_THREADS; i++)
		atomic_store(&readers[i].stop, true);
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_join(readers[i].thread, NULL), 0);
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(readers[i].error, 0);
}

static void memory_freed_under_reads(void)
{
	struct reader readers[NR_THREADS];

	for (int i = 0; i < 4; i++) {
		begin(LANE_LEGACY);
		gpu_knob("delay_callback_ms", i & 1 ? 30 : 0);
		start_readers(readers);
		gpu_free(gpu, &mem);
		check_eq(map.meta->state, NVIDIA_FS_DIED);
		/* what is written there from now on shows */
		check_eq(gpu_counters(gpu).late_writes, 0);
		join_failed(readers, -EIO, -EIO);
		gpu_knob("delay_callback_ms", 0);
		check(lane_stat("Reads", "io_state_err") >= NR_THREADS);
		lane_unbind(&map);
		end();
	}
}

static void persistent_memory_freed_under_reads(void)
{
	struct reader readers[NR_THREADS];

	begin("");
	start_readers(readers);
	gpu_free(gpu, &mem);
	usleep(20000);
	join_stopped(readers);
	check_eq(gpu_counters(gpu).pins, 1);
	lane_unbind(&map);
	end();
}

static void shadow_unmapped_under_reads(void)
{
	struct reader readers[NR_THREADS];

	for (int i = 0; i < 4; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		start_readers(readers);
		check_eq(munmap(map.shadow, map.shadow_len), 0);
		/* requests that begin from now on find no shadow */
		join_failed(readers, -EINVAL, -EINVAL);
		munmap(map.meta, 4096);
		check_eq(lane_stat("Bar1-map", "active"), 0);
		end();
	}
}

static void node_closed_under_reads(void)
{
	struct reader readers[NR_THREADS];

	begin("");
	start_readers(readers);
	close(node);
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_join(readers[i].thread, NULL), 0);
	check_eq(readers[0].error, -EBADF);
	node = lane_open();
	check_eq(lane_read(node, &map, drive, 0, 0, MIB), MIB);
	lane_unbind(&map);
	end();
}

static int reads_until_killed(void *arg)
{
	struct reader readers[NR_THREADS];

	(void)arg;
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, 512 * KIB);
	start_readers(readers);
	kill(getpid(), SIGKILL);
	return 1;
}

static void process_killed_in_a_read(void)
{
	for (int i = 0; i < 6; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		lane_unbind(&map);
		check_eq(in_child(reads_until_killed, NULL), 128 + SIGKILL);
		end();
	}
}

static void open_drive_again(void)
{
	drive = -1;
	for (int i = 0; i < 250 && drive < 0; i++) {
		drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (drive < 0)
			usleep(20000);
	}
	check(drive >= 0);
}

/* What is bound stays bound: the drive gets new addresses when it is back. */
static void drive_unbound_under_reads(void)
{
	struct reader readers[NR_THREADS];
	char bdf[32];

	for (int i = 0; i < 2; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		lane_drive_bdf(bdf, sizeof(bdf));
		start_readers(readers);
		lane_drive_move(bdf, "unbind");
		join_failed(readers, -ENODEV, -EIO);
		check(lane_read(node, &map, drive, 0, 0, 4096) < 0);
		/* while it is open its name is taken */
		close(drive);
		lane_drive_move(bdf, "bind");
		open_drive_again();
		check_eq(lane_read(node, &map, drive, 0, 0, MIB), MIB);
		lane_unbind(&map);
		end();
	}
}

static void card_goes(const struct way *way, const char *parameters)
{
	struct reader readers[NR_THREADS];

	begin(parameters);
	card_locate(gpu);
	start_readers(readers);
	way->take();
	join_failed(readers, -EIO, -EIO);
	check_eq(map.meta->state, NVIDIA_FS_DIED);
	lane_unbind(&map);
	close(gpu);
	way->give();
	gpu = gpu_open();
	end();
}

static void card_goes_under_reads(void)
{
	static const struct way *ways[] = { &way_unbind, &way_remove };

	for (int i = 0; i < 4; i++)
		card_goes(ways[i / 2], i & 1 ? LANE_LEGACY : "");
}

/* What the drive sends between that and the kernel's notice of it is nobody's. */
static void card_is_torn_out_under_reads(void)
{
	card_goes(&way_surprise, LANE_LEGACY);
	card_goes(&way_surprise, "");
}

static void card_is_unplugged_under_reads(void)
{
	if (!slots_are_watched())
		skip("this kernel does not watch its slots");
	card_goes(&way_unplug, LANE_LEGACY);
}

static void the_module_is_not_unloaded_under_reads(void)
{
	struct reader readers[NR_THREADS];

	begin("");
	start_readers(readers);
	check(try_module_unload("nvidia_fs"));
	check(try_module_unload(!strcmp(lane_driver(), "nvme") ? "nvme" : "nvme_nvfs"));
	check(try_module_unload("bl_card"));
	join_stopped(readers);
	lane_unbind(&map);
	end();
}

static const struct tap_test tests[] = {
	{ "memory_freed_under_reads", memory_freed_under_reads },
	{ "persistent_memory_freed_under_reads", persistent_memory_freed_under_reads },
	{ "shadow_unmapped_under_reads", shadow_unmapped_under_reads },
	{ "node_closed_under_reads", node_closed_under_reads },
	{ "process_killed_in_a_read", process_killed_in_a_read },
	{ "drive_unbound_under_reads", drive_unbound_under_reads },
	{ "card_goes_under_reads", card_goes_under_reads },
	{ "card_is_torn_out_under_reads", card_is_torn_out_under_reads },
	{ "card_is_unplugged_under_reads", card_is_unplugged_under_reads },
	{ "the_module_is_not_unloaded_under_reads", the_module_is_not_unloaded_under_reads },
};

TAP_MAIN(tests)
