// SPDX-License-Identifier: MIT
/*
 * READ and WRITE of nvidia-fs.ko: a drive's own DMA reaches the card's memory. Bytes are compared by the host, in
 * the card's memory and in the drive's image.
 */
#include "host.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MEM_SIZE (20 * MIB)

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map map;
static uint64_t seed;

static uint64_t draw(uint64_t nr)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % nr;
}

static void begin_with(size_t shadow_len)
{
	lane_need_patched();
	lane_reload("rw_stats_enabled=1");
	lane_open_all(&gpu, &node, &drive);
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, shadow_len);
}

static void begin(void)
{
	begin_with(16 * MIB);
}

static void end(void)
{
	lane_unbind(&map);
	lane_close_all(gpu, node, drive);
}

static void the_driver_is_registered_with(void)
{
	char text[64] = "";
	int fd;

	begin();
	fd = open("/proc/driver/nvidia-fs/modules", O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	/* a driver that has no module has no version */
	check_str(text, strcmp(lane_driver(), "nvme") ? "nvme: (null)\n" : "nvme: 1.0\n");
	end();
	lane_use_patched(false);
}

static void one_read(int64_t pos, uint64_t off, uint64_t len)
{
	check(host_ask("fill", mem.offset, MEM_SIZE, "ee"));
	check_eq(lane_read(node, &map, drive, pos, off, len), len);
	check(host_ask("check", mem.offset + off, len, "0123456789abcdef"));
	if (off)
		check(host_ask("check", mem.offset + off - 4096, 4096, "ee"));
	if (off + len < MEM_SIZE)
		check(host_ask("check", mem.offset + off + len, 4096, "ee"));
}

static void a_read_puts_the_drives_bytes_into_the_card(void)
{
	begin();
	check(host_ask("fill-drive", 4 * MIB, MEM_SIZE, "0123456789abcdef"));
	one_read(4 * MIB, 0, 4096);
	one_read(4 * MIB + 4096, 64 * KIB, 64 * KIB);
	one_read(4 * MIB + 12288, 60 * KIB, 1 * MIB);
	one_read(4 * MIB, 0, MEM_SIZE);
	check_eq(lane_stat("Reads", "ok"), 4);
	check_eq(lane_stat("Error", "cpu-gpu-pages"), 0);
	end();
}

static void one_write(int64_t pos, uint64_t off, uint64_t len)
{
	check(host_ask("fill-drive", 4 * MIB, MEM_SIZE + MIB, "dd"));
	check_eq(lane_write(node, &map, drive, pos, off, len), len);
	check(host_ask("check-drive", (uint64_t)pos, len, "fedcba9876543210"));
	check(host_ask("check-drive", (uint64_t)pos - 4096, 4096, pos == 4 * MIB ? "00" : "dd"));
	check(host_ask("check-drive", (uint64_t)pos + len, 4096, "dd"));
}

static void a_write_puts_the_cards_bytes_onto_the_drive(void)
{
	begin();
	check(host_ask("fill", mem.offset, MEM_SIZE, "fedcba9876543210"));
	check(host_ask("fill-drive", 4 * MIB - 4096, 4096, "00"));
	one_write(4 * MIB, 0, 4096);
	one_write(4 * MIB + 4096, 60 * KIB, 128 * KIB);
	one_write(4 * MIB, 0, MEM_SIZE);
	check_eq(lane_stat("Writes", "ok"), 3);
	check_eq(lane_stat("Writes", "err"), 0);
	end();
}

/* Any blocks, in both directions, through shadows smaller than a request; what is where is kept in two arrays. */
static void any_blocks_go_where_they_should(void)
{
	enum { BLOCKS = 1024 };
	static uint64_t on_card[BLOCKS], on_drive[BLOCKS];
	uint64_t *buffer = NULL, next = 1, blocks;
	volatile uint64_t *card;

	begin_with(192 * KIB);
	check(!posix_memalign((void **)&buffer, 4096, BLOCKS * 4096));
	card = mmap(NULL, BLOCKS * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(card != MAP_FAILED);
	for (size_t i = 0; i < BLOCKS; i++) {
		card[i * 512] = on_card[i] = next++;
		buffer[i * 512] = on_drive[i] = next++;
	}
	check_eq(pwrite(drive, buffer, BLOCKS * 4096, 0), BLOCKS * 4096);
	for (int round = 0; round < 60; round++) {
		uint64_t nr = 1 + draw(draw(4) ? 20 : 300), from = draw(BLOCKS - nr), to = draw(BLOCKS - nr);
		bool write = draw(2);

		if (write) {
			check_eq(lane_write(node, &map, drive, (int64_t)to * 4096, from * 4096, nr * 4096), nr * 4096);
			memcpy(&on_drive[to], &on_card[from], nr * 8);
		} else {
			check_eq(lane_read(node, &map, drive, (int64_t)from * 4096, to * 4096, nr * 4096), nr * 4096);
			memcpy(&on_card[to], &on_drive[from], nr * 8);
		}
	}
	check_eq(pread(drive, buffer, BLOCKS * 4096, 0), BLOCKS * 4096);
	for (blocks = 0; blocks < BLOCKS; blocks++) {
		check_eq(card[blocks * 512], on_card[blocks]);
		check_eq(buffer[blocks * 512], on_drive[blocks]);
	}
	munmap((void *)card, BLOCKS * 4096);
	free(buffer);
	end();
}

/* A thread with bytes of its own, on the drive and on the card. */
struct worker {
	pthread_t thread;
	size_t nr;
	uint8_t *card;
	int64_t error;
};

enum { NR_WORKERS = 4, SHARE = 512 * 1024, ROUNDS = 4 };

/* To the drive by the CPU, to the card by the drive, changed there, and back. 0, or the line that went wrong. */
static int64_t go_round(const struct worker *worker, uint8_t *buffer, uint8_t value)
{
	uint64_t off = worker->nr * SHARE;
	int64_t pos = (int64_t)(64 * MIB + off);

	memset(buffer, value, SHARE);
	if (pwrite(drive, buffer, SHARE, pos) != SHARE)
		return __LINE__;
	if (lane_read(node, &map, drive, pos, off, SHARE) != SHARE)
		return __LINE__;
	if (!lane_is_all(worker->card + off, SHARE, value))
		return __LINE__;
	memset(worker->card + off, ~value, SHARE);
	if (lane_write(node, &map, drive, pos, off, SHARE) != SHARE)
		return __LINE__;
	if (pread(drive, buffer, SHARE, pos) != SHARE)
		return __LINE__;
	return lane_is_all(buffer, SHARE, (uint8_t)~value) ? 0 : __LINE__;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint8_t *buffer = NULL;

	if (posix_memalign((void **)&buffer, 4096, SHARE)) {
		worker->error = -ENOMEM;
		return NULL;
	}
	for (int round = 0; round < ROUNDS && !worker->error; round++)
		worker->error = go_round(worker, buffer, (uint8_t)(16 * round + (int)worker->nr));
	free(buffer);
	return NULL;
}

/* Three slots for all of them: most wait for one. */
static void many_threads_share_a_shadow(void)
{
	struct worker workers[NR_WORKERS];
	uint8_t *card;

	begin_with(192 * KIB);
	card = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(card != MAP_FAILED);
	for (size_t i = 0; i < NR_WORKERS; i++) {
		workers[i] = (struct worker){ .nr = i, .card = card };
		check_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (size_t i = 0; i < NR_WORKERS; i++)
		check_eq(pthread_join(workers[i].thread, NULL), 0);
	for (size_t i = 0; i < NR_WORKERS; i++)
		check_eq(workers[i].error, 0);
	munmap(card, MEM_SIZE);
	end();
}

static void refused(bool write, const struct nvidia_fs_io *io, int err)
{
	check_eq(try_io(node, write, io), err);
}

static void bad_requests_are_refused(void)
{
	struct nvidia_fs_io io;
	int other;

	begin();
#define REFUSED(field, value, err)                                                                                     \
	do {                                                                                                           \
		io = lane_io(&map, drive, 0, 0, 64 * KIB);                                                             \
		io.field = (value);                                                                                    \
		refused(false, &io, err);                                                                              \
		refused(true, &io, err);                                                                               \
	} while (0)
	REFUSED(offset, -4096, -EINVAL);
	REFUSED(offset, INT64_MIN, -EINVAL);
	REFUSED(offset, 512, -EINVAL);
	REFUSED(offset, INT64_MAX - 4095, -EINVAL);
	REFUSED(size, 1, -EINVAL);
	REFUSED(size, UINT64_MAX - 4095, -EINVAL);
	REFUSED(size, MEM_SIZE + 4096, -EINVAL);
	REFUSED(fd, -1, -EINVAL);
	REFUSED(fd, 1000, -EINVAL);
	REFUSED(file.inum, 0, -EINVAL);
	REFUSED(file.inum, io.file.inum + 1, -ESTALE);
	REFUSED(file.generation, 0x12345678, -ESTALE);
	REFUSED(file.majdev, 0, -EINVAL);
	REFUSED(file.majdev, 7, -ESTALE);
	REFUSED(file.mindev, 77, -ESTALE);
	REFUSED(cpuvaddr, 0, -EINVAL);
	REFUSED(cpuvaddr, io.cpuvaddr + 4096, -EINVAL);
	REFUSED(cpuvaddr, (uintptr_t)map.meta, -EINVAL);
	REFUSED(file.devptroff, MEM_SIZE, -EINVAL);
	REFUSED(file.devptroff, UINT64_MAX, -EINVAL);
	REFUSED(file.devptroff, 8, -EINVAL);
	/* not waited for, and no number to tell the end by */
	REFUSED(flags, 0, -EINVAL);
	REFUSED(flags, NVIDIA_FS_IO_SYNC | NVIDIA_FS_IO_USE_RKEYS, -EOPNOTSUPP);
	io = lane_io(&map, node, 0, 0, 64 * KIB);
	refused(false, &io, -EINVAL);
	other = open(LANE_DRIVE, O_RDONLY | O_DIRECT | O_CLOEXEC);
	io = lane_io(&map, other, 0, 0, 4096);
	refused(true, &io, -EINVAL);
	close(other);
	other = open(LANE_DRIVE, O_RDWR | O_CLOEXEC);
	io = lane_io(&map, other, 0, 0, 4096);
	refused(false, &io, -EINVAL);
	refused(true, &io, -EINVAL);
	close(other);
	other = open(LANE_DRIVE, O_WRONLY | O_DIRECT | O_CLOEXEC);
	io = lane_io(&map, other, 0, 0, 4096);
	refused(false, &io, -EBADF);
	io.flags |= NVIDIA_FS_IO_ALLOWREADS;
	check_eq(try_io(node, false, &io), 4096);
	close(other);
	/* nothing is bound yet */
	io = lane_io(&map, drive, 0, 0, 4096);
	io.cpuvaddr = (uintptr_t)try_shadow(node, 64 * KIB);
	refused(false, &io, -EBUSY);
	munmap((void *)(uintptr_t)io.cpuvaddr, 64 * KIB);
	check_eq(lane_read(node, &map, drive, 0, 0, 0), 0);
	end();
}

static int reads_without_right(void *arg)
{
	struct nvidia_fs_io io;
	int fd = open((const char *)arg, O_WRONLY | O_DIRECT | O_CLOEXEC), own, card;
	struct lane_map own_map;
	struct gpu_mem own_mem;

	own = open(NVIDIA_FS_PATH "1", O_RDWR | O_CLOEXEC);
	card = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0 || own < 0 || card < 0 || try_gpu_alloc(card, 2 * MIB, &own_mem))
		return 1;
	if (try_lane_bind(own, own_mem.va, MIB, 64 * KIB, &own_map))
		return 2;
	if (setuid(1000))
		return 3;
	io = lane_io(&own_map, fd, 0, 0, 4096);
	io.flags |= NVIDIA_FS_IO_ALLOWREADS;
	return try_io(own, false, &io) == -EBADF ? 0 : 4;
}

/* The interface lets a descriptor for writing read, but not who may not. */
static void reading_needs_the_right_to(void)
{
	struct stat st;

	begin();
	check_eq(stat(LANE_DRIVE, &st), 0);
	check_eq(chmod(LANE_DRIVE, 0600), 0);
	check_eq(in_child(reads_without_right, (void *)LANE_DRIVE), 0);
	check_eq(chmod(LANE_DRIVE, st.st_mode & 0777), 0);
	end();
}

static void the_end_of_the_drive_is_a_short_count(void)
{
	off_t size;

	begin();
	size = lseek(drive, 0, SEEK_END);
	check_eq(lane_read(node, &map, drive, size - 8192, 0, MIB), 8192);
	check_eq(lane_read(node, &map, drive, size, 0, MIB), 0);
	check_eq(lane_write(node, &map, drive, size - 8192, 0, 8192), 8192);
	check_eq(lane_write(node, &map, drive, size, 0, 4096), -ENOSPC);
	end();
}

static void an_end_fence_tells_the_result(void)
{
	struct nvidia_fs_io io;
	off_t size;

	begin();
	size = lseek(drive, 0, SEEK_END);
	io = lane_io(&map, drive, 0, 0, MIB);
	check_eq(lane_async(node, false, &map, &io, 77), MIB);
	/* nothing to do is done at once */
	io = lane_io(&map, drive, 0, 0, 0);
	check_eq(lane_async(node, false, &map, &io, 78), 0);
	io = lane_io(&map, drive, size - 8192, 0, MIB);
	check_eq(lane_async(node, false, &map, &io, 79), 8192);
	/* it was accepted; its error is in the page */
	io = lane_io(&map, drive, size, 0, 4096);
	check_eq(lane_async(node, true, &map, &io, 80), -ENOSPC);
	/* what is refused is not told there */
	io = lane_io(&map, drive, 0, MEM_SIZE, 4096);
	io.flags = 0;
	io.end_fence_value = 81;
	refused(false, &io, -EINVAL);
	check_eq(map.meta->end_fence_val, 80);
	end();
}

static void drives_of_other_drivers_are_refused(void)
{
	struct lane_map plain;
	int other = open("/dev/vda", O_RDWR | O_DIRECT | O_CLOEXEC), stock;

	begin();
	if (other >= 0) {
		check_eq(lane_read(node, &map, other, 0, 0, 4096), -EOPNOTSUPP);
		check_eq(lane_write(node, &map, other, 0, 0, 4096), -EOPNOTSUPP);
		close(other);
	}
	end();
	lane_use_patched(false);
	lane_reload("");
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, 2 * MIB);
	plain = lane_bind(node, mem.va, MIB, 64 * KIB);
	stock = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(stock >= 0);
	check_eq(lane_read(node, &plain, stock, 0, 0, 4096), -EOPNOTSUPP);
	check_eq(lane_write(node, &plain, stock, 0, 0, 4096), -EOPNOTSUPP);
	close(stock);
	lane_unbind(&plain);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

static const struct tap_test tests[] = {
	{ "the_driver_is_registered_with", the_driver_is_registered_with },
	{ "a_read_puts_the_drives_bytes_into_the_card", a_read_puts_the_drives_bytes_into_the_card },
	{ "a_write_puts_the_cards_bytes_onto_the_drive", a_write_puts_the_cards_bytes_onto_the_drive },
	{ "any_blocks_go_where_they_should", any_blocks_go_where_they_should },
	{ "many_threads_share_a_shadow", many_threads_share_a_shadow },
	{ "bad_requests_are_refused", bad_requests_are_refused },
	{ "reading_needs_the_right_to", reading_needs_the_right_to },
	{ "the_end_of_the_drive_is_a_short_count", the_end_of_the_drive_is_a_short_count },
	{ "an_end_fence_tells_the_result", an_end_fence_tells_the_result },
	{ "drives_of_other_drivers_are_refused", drives_of_other_drivers_are_refused },
};

int main(int argc, char **argv)
{
	const char *text = getenv("SEED");

	seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
	printf("# seed %llu; SEED=N repeats it\n", (unsigned long long)seed);
	seed = seed * 0x9e3779b97f4a7c15UL + 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
