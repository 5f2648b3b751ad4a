// SPDX-License-Identifier: MIT
/* nvidia-fs.ko and files: their ends, holes, pages in the page cache, and what is refused. On ext4 and on xfs. */
#include "drives.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE	 "/tmp/nvfs"
#define NAME	 PLACE "/file"
#define MEM_SIZE (16 * MIB)
#define BLOCK	 4096UL

static const char *type;
static const char *parameters = "";
static int gpu, node, direct, buffered;
static struct gpu_mem mem;
static struct lane_map map;
static uint8_t *card;
static uint8_t bytes[MIB];

static void mount_fresh(const char *mkfs, const char *options)
{
	char command[200];
	int err;

	snprintf(command, sizeof(command), "command -v mkfs.%s >/dev/null", type);
	if (system(command))
		skip("mkfs.%s is not installed", type);
	snprintf(command, sizeof(command), "mkfs.%s %s %s >/dev/null 2>&1", type, mkfs, LANE_DRIVE);
	check_eq(system(command), 0);
	mkdir(PLACE, 0755);
	err = mount(LANE_DRIVE, PLACE, type, 0, options) ? errno : 0;
	if (err == ENODEV)
		skip("this kernel has no %s", type);
	check_eq(err, 0);
}

static void open_file(void)
{
	buffered = open(NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	direct = open(NAME, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(buffered >= 0 && direct >= 0);
}

static void begin_with(const char *mkfs, const char *options)
{
	lane_need_patched();
	mount_fresh(mkfs, options);
	lane_reload(parameters);
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, MIB);
	card = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(card != MAP_FAILED);
	memset(card, 0xcc, 2 * MIB);
	open_file();
}

static void begin(void)
{
	begin_with(!strcmp(type, "ext4") ? "-q -F" : "-q -f", NULL);
}

static void end(void)
{
	close(direct);
	close(buffered);
	munmap(card, MEM_SIZE);
	lane_unbind(&map);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
	check_eq(umount(PLACE), 0);
}

static void put(off_t pos, size_t len, uint8_t value)
{
	memset(bytes, value, len);
	check_eq(pwrite(buffered, bytes, len, pos), (ssize_t)len);
}

static void a_file_is_read_to_its_end(void)
{
	begin();
	put(0, 100000, 0x11);
	put(8192, 4096, 0x22);
	/* nothing was written back yet: that is the file system's to do */
	check_eq(lane_read(node, &map, direct, 0, 64 * KIB, 512 * KIB), 100000);
	check(lane_is_all(card, 64 * KIB, 0xcc));
	check(lane_is_all(card + 64 * KIB, 8192, 0x11));
	check(lane_is_all(card + 64 * KIB + 8192, 4096, 0x22));
	check(lane_is_all(card + 64 * KIB + 12288, 100000 - 12288, 0x11));
	/* the drive moves whole blocks */
	check(lane_is_all(card + 64 * KIB + 102400, 64 * KIB, 0xcc));
	check_eq(lane_read(node, &map, direct, 98304, 0, 4096), 100000 - 98304);
	check_eq(lane_read(node, &map, direct, 102400, 0, 4096), 0);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	end();
}

static void a_file_is_written_and_grows(void)
{
	begin();
	put(0, MIB, 0x33);
	check_eq(fsync(buffered), 0);
	memset(card, 0x44, 4 * MIB);
	check_eq(lane_write(node, &map, direct, 64 * KIB, 8192, 128 * KIB), 128 * KIB);
	check_eq(pread(buffered, bytes, MIB, 0), MIB);
	check(lane_is_all(bytes, 64 * KIB, 0x33));
	check(lane_is_all(bytes + 64 * KIB, 128 * KIB, 0x44));
	check(lane_is_all(bytes + 192 * KIB, MIB - 192 * KIB, 0x33));
	/* larger than the shadow, and behind the end */
	check_eq(lane_write(node, &map, direct, MIB, 0, 3 * MIB + 4096), 3 * MIB + 4096);
	check_eq(lseek(buffered, 0, SEEK_END), 4 * MIB + 4096);
	check_eq(pread(buffered, bytes, MIB, 3 * MIB + 4096), MIB);
	check(lane_is_all(bytes, MIB, 0x44));
	end();
}

static void pages_in_the_cache_give_way(void)
{
	uint8_t *view;

	begin();
	put(0, 256 * KIB, 0x55);
	view = mmap(NULL, 256 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, buffered, 0);
	check(view != MAP_FAILED);
	memset(view, 0x66, 128 * KIB);
	memset(card, 0x77, MIB);
	check_eq(lane_write(node, &map, direct, 64 * KIB, 0, 64 * KIB), 64 * KIB);
	/* both views of the file have what was written around it, and it */
	check(lane_is_all(view, 64 * KIB, 0x66));
	check(lane_is_all(view + 64 * KIB, 64 * KIB, 0x77));
	check(lane_is_all(view + 128 * KIB, 128 * KIB, 0x55));
	check(lane_stat("Writes", "pg-cache") >= 1);
	memset(view, 0x88, 64 * KIB);
	check_eq(lane_read(node, &map, direct, 0, MIB, 256 * KIB), 256 * KIB);
	check(lane_is_all(card + MIB, 64 * KIB, 0x88));
	check(lane_is_all(card + MIB + 64 * KIB, 64 * KIB, 0x77));
	munmap(view, 256 * KIB);
	end();
}

static void check_hole(uint32_t nr, uint32_t start, uint32_t npages)
{
	check_eq(map.meta->hole[nr].start, start);
	check_eq(map.meta->hole[nr].npages, npages);
}

static void holes_are_told_and_left_alone(void)
{
	begin();
	check_eq(ftruncate(buffered, 64 * KIB), 0);
	put(2 * BLOCK, BLOCK, 0x21);
	put(5 * BLOCK, 2 * BLOCK, 0x22);
	check_eq(fsync(buffered), 0);
	check_eq(lane_read(node, &map, direct, 0, 4096, 64 * KIB), 64 * KIB);
	check_eq(map.meta->state, NVIDIA_FS_SPARSE);
	check_eq(map.meta->start_magic, NVIDIA_FS_SPARSE_MAGIC);
	check_eq(map.meta->meta_version, NVIDIA_FS_SPARSE_VERSION);
	check_eq(map.meta->start_fd_offset, 0);
	check_eq(map.meta->nholes, 3);
	check_hole(0, 0, 2);
	check_hole(1, 3, 2);
	check_hole(2, 7, 9);
	check(lane_is_all(card, BLOCK + 2 * BLOCK, 0xcc));
	check(lane_is_all(card + 3 * BLOCK, BLOCK, 0x21));
	check(lane_is_all(card + 4 * BLOCK, 2 * BLOCK, 0xcc));
	check(lane_is_all(card + 6 * BLOCK, 2 * BLOCK, 0x22));
	check(lane_is_all(card + 8 * BLOCK, 32 * BLOCK, 0xcc));
	/* a read without any says so */
	check_eq(lane_read(node, &map, direct, 5 * BLOCK, 0, 2 * BLOCK), 2 * BLOCK);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	end();
}

static void blocks_that_were_never_written_are_holes(void)
{
	begin();
	check_eq(fallocate(buffered, 0, 0, 256 * KIB), 0);
	check_eq(lane_read(node, &map, direct, 128 * KIB, 0, 64 * KIB), 64 * KIB);
	check_eq(map.meta->state, NVIDIA_FS_SPARSE);
	check_eq(map.meta->nholes, 1);
	check_hole(0, 0, 16);
	check_eq(map.meta->start_fd_offset, 128 * KIB);
	check(lane_is_all(card, 64 * KIB, 0xcc));
	/* a write fills them */
	check_eq(lane_write(node, &map, direct, 128 * KIB, 0, 64 * KIB), 64 * KIB);
	check_eq(pread(buffered, bytes, 64 * KIB, 128 * KIB), 64 * KIB);
	check(lane_is_all(bytes, 64 * KIB, 0xcc));
	end();
}

static void more_holes_than_can_be_told_cut_the_count(void)
{
	struct lane_map wide;
	uint64_t rest;

	begin();
	wide = map;
	map = lane_bind(node, mem.va, MEM_SIZE, 16 * MIB);
	check_eq(ftruncate(buffered, 8 * MIB), 0);
	for (off_t i = 1; i < 1600; i += 2)
		put(i * (off_t)BLOCK, BLOCK, 0x5a);
	check_eq(fsync(buffered), 0);
	/* the 769th hole would begin here */
	check_eq(lane_read(node, &map, direct, 0, 0, 8 * MIB), 2 * 768 * BLOCK);
	check_eq(map.meta->nholes, 768);
	check_hole(767, 2 * 767, 1);
	rest = 8 * MIB - 2 * 768 * BLOCK;
	check_eq(lane_read(node, &map, direct, 2 * 768 * BLOCK, 0, rest), rest);
	check_eq(map.meta->nholes, 33);
	check_hole(32, 1600 - 2 * 768, 2048 - 1600);
	lane_unbind(&map);
	map = wide;
	end();
}

/* A file of which every other GPU page is there. */
static void make_sparse_file(size_t len)
{
	check_eq(ftruncate(buffered, (off_t)len), 0);
	for (size_t i = 0; i < len; i += 128 * KIB)
		put((off_t)i, 64 * KIB, (uint8_t)(1 + i / (128 * KIB)));
	check_eq(fsync(buffered), 0);
}

/* What that file has from @pos on. */
static bool is_sparse_file(const uint8_t *at, size_t pos, size_t len)
{
	for (size_t i = pos; i < pos + len; i += BLOCK) {
		bool hole = i % (128 * KIB) >= 64 * KIB;

		if (!lane_is_all(at + i - pos, BLOCK, hole ? 0 : (uint8_t)(1 + i / (128 * KIB))))
			return false;
	}
	return true;
}

/* As a user has to: zero what the report names, and go on behind it. */
static void a_sparse_file_larger_than_the_shadow_is_read(void)
{
	uint64_t done = 0;
	int64_t ret;

	begin();
	make_sparse_file(6 * MIB);
	memset(card, 0xcc, 8 * MIB);
	for (int i = 0; done < 6 * MIB; i++) {
		ret = lane_read(node, &map, direct, (int64_t)done, done, 7 * MIB - done);
		check(ret > 0 && i < 100);
		for (uint32_t j = 0; map.meta->state == NVIDIA_FS_SPARSE && j < map.meta->nholes; j++)
			memset(card + map.meta->start_fd_offset + map.meta->hole[j].start * BLOCK, 0,
			       map.meta->hole[j].npages * BLOCK);
		done += (uint64_t)ret;
	}
	check_eq(done, 6 * MIB);
	check(is_sparse_file(card, 0, 6 * MIB));
	check(lane_is_all(card + 6 * MIB, MIB, 0xcc));
	check(lane_stat("Sparse Reads", "holes") >= 48);
	end();
}

struct reader {
	pthread_t thread;
	uint64_t nr;
	int64_t error;
};

/* Through the shadow of all threads, to a place of its own. */
static void *read_around(void *arg)
{
	struct reader *reader = arg;
	uint64_t random = reader->nr * 0x9e3779b97f4a7c15UL + 1;

	for (int i = 0; i < 12; i++) {
		uint64_t off = (4 + reader->nr) * MIB, pos, len;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		pos = random % 200 * BLOCK;
		len = (1 + (random >> 32) % 56) * BLOCK;
		memset(card + off, 0xcc, len + BLOCK);
		if (lane_read(node, &map, direct, (int64_t)pos, off, len) != (int64_t)len)
			reader->error = -EIO;
		else if (!is_sparse_file(card + off, pos, len) || !lane_is_all(card + off + len, BLOCK, 0xcc))
			reader->error = -EILSEQ;
	}
	return NULL;
}

/* Nobody could know whose the report is: so there is none, and the memory has zeroes. */
static void holes_are_zeroed_when_reads_overlap(void)
{
	struct reader readers[8];
	struct nvidia_fs_io io;

	begin();
	make_sparse_file(MIB);
	memset(card, 0xcc, MEM_SIZE);
	drive_slow(128 * KIB);
	/* the first one has the page for itself, when it begins; both have room */
	io = lane_io(&map, direct, 0, 0, 512 * KIB);
	check_eq(try_start(node, false, io, 1), 0);
	io = lane_io(&map, direct, 0, 2 * MIB, 512 * KIB);
	check_eq(try_start(node, false, io, 2), 0);
	check_eq(lane_stat("Ops", "Read"), 2);
	drive_slow(0);
	for (int i = 0; i < 3000 && lane_stat("Ops", "Read"); i++)
		usleep(10000);
	check_eq(map.meta->result, 512 * KIB);
	check_eq(map.meta->state, NVIDIA_FS_SPARSE);
	check_eq(map.meta->start_fd_offset, 0);
	check_eq(map.meta->nholes, 4);
	check_hole(3, 112, 16);
	check(lane_is_all(card, 64 * KIB, 1) && lane_is_all(card + 64 * KIB, 64 * KIB, 0xcc));
	check(is_sparse_file(card + 2 * MIB, 0, 512 * KIB));
	check(lane_is_all(card + 2 * MIB + 512 * KIB, 64 * KIB, 0xcc));
	/* from now on it is known as one that is shared */
	check_eq(lane_read(node, &map, direct, 64 * KIB, 3 * MIB, 512 * KIB), 512 * KIB);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	check(is_sparse_file(card + 3 * MIB, 64 * KIB, 512 * KIB));
	for (uint64_t i = 0; i < 8; i++) {
		readers[i] = (struct reader){ .nr = i };
		check_eq(pthread_create(&readers[i].thread, NULL, read_around, &readers[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(readers[i].thread, NULL);
	for (int i = 0; i < 8; i++)
		check_eq(readers[i].error, 0);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	end();
}

static void other_file_systems_are_refused(void)
{
	int fd;

	begin();
	fd = open("/dev/shm/nvfs", O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		check_eq(ftruncate(fd, MIB), 0);
		check_eq(lane_read(node, &map, fd, 0, 0, 4096), -EOPNOTSUPP);
		check_eq(lane_write(node, &map, fd, 0, 0, 4096), -EOPNOTSUPP);
		close(fd);
		unlink("/dev/shm/nvfs");
	}
	fd = open(NAME, O_WRONLY | O_APPEND | O_DIRECT | O_CLOEXEC);
	check_eq(lane_write(node, &map, fd, 0, 0, 4096), -EINVAL);
	close(fd);
	end();
}

static void a_file_that_is_journaled_is_refused(void)
{
	begin_with("-q -F", "data=journal");
	put(0, 64 * KIB, 0x12);
	check_eq(lane_read(node, &map, direct, 0, 0, 4096), -EOPNOTSUPP);
	check_eq(lane_write(node, &map, direct, 0, 0, 4096), -EOPNOTSUPP);
	end();
}

/* ext4 fills a hole of such a file through the page cache: the bytes are not the card's, and the answer says so. */
static void a_write_through_the_page_cache_is_an_error(void)
{
	begin_with("-q -F -O ^extent,^64bit", NULL);
	check_eq(ftruncate(buffered, MIB), 0);
	memset(card, 0x99, MIB);
	check_eq(lane_write(node, &map, direct, 128 * KIB, 0, 64 * KIB), -EIO);
	check_eq(pread(buffered, bytes, 64 * KIB, 128 * KIB), 64 * KIB);
	check(lane_is_all(bytes, 64 * KIB, 0));
	check(lane_stat("Writes", "err") >= 1);
	/* where there are blocks it is written as elsewhere */
	check_eq(fsync(buffered), 0);
	check_eq(lane_write(node, &map, direct, 128 * KIB, 0, 64 * KIB), 64 * KIB);
	check_eq(pread(buffered, bytes, 64 * KIB, 128 * KIB), 64 * KIB);
	check(lane_is_all(bytes, 64 * KIB, 0x99));
	end();
}

static void *write_once(void *arg)
{
	*(int64_t *)arg = lane_write(node, &map, direct, 0, 0, 64 * KIB);
	return NULL;
}

/* A write waits until it is thawed, and the owner of the memory does not. */
static void a_frozen_file_system_does_not_hold_memory(void)
{
	int place, frozen, thawed;
	pthread_t thread;
	int64_t result;

	parameters = LANE_LEGACY;
	begin();
	parameters = "";
	put(0, 64 * KIB, 0x13);
	check_eq(fsync(buffered), 0);
	place = open(PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	frozen = ioctl(place, FIFREEZE, 0);
	pthread_create(&thread, NULL, write_once, &result);
	usleep(100000);
	gpu_free(gpu, &mem);
	thawed = ioctl(place, FITHAW, 0);
	pthread_join(thread, NULL);
	close(place);
	check(!frozen && !thawed);
	check_eq(map.meta->state, NVIDIA_FS_DIED);
	check_eq(result, -EIO);
	check_eq(pread(buffered, bytes, 64 * KIB, 0), 64 * KIB);
	check(lane_is_all(bytes, 64 * KIB, 0x13));
	end();
}

#define ON(fs, name)                                                                                                   \
	static void name##_##fs(void)                                                                                  \
	{                                                                                                              \
		type = #fs;                                                                                            \
		name();                                                                                                \
	}
#define ON_BOTH(name) ON(ext4, name) ON(xfs, name)
ON_BOTH(a_file_is_read_to_its_end)
ON_BOTH(a_file_is_written_and_grows)
ON_BOTH(pages_in_the_cache_give_way)
ON_BOTH(holes_are_told_and_left_alone)
ON_BOTH(blocks_that_were_never_written_are_holes)
ON_BOTH(a_sparse_file_larger_than_the_shadow_is_read)
ON_BOTH(holes_are_zeroed_when_reads_overlap)
ON(ext4, more_holes_than_can_be_told_cut_the_count)
ON(ext4, other_file_systems_are_refused)
ON(ext4, a_file_that_is_journaled_is_refused)
ON(ext4, a_write_through_the_page_cache_is_an_error)
ON(ext4, a_frozen_file_system_does_not_hold_memory)

#define TEST(fs, name) { #fs "_" #name, name##_##fs }

static const struct tap_test tests[] = {
	TEST(ext4, a_file_is_read_to_its_end),
	TEST(ext4, a_file_is_written_and_grows),
	TEST(ext4, pages_in_the_cache_give_way),
	TEST(ext4, holes_are_told_and_left_alone),
	TEST(ext4, blocks_that_were_never_written_are_holes),
	TEST(ext4, a_sparse_file_larger_than_the_shadow_is_read),
	TEST(ext4, holes_are_zeroed_when_reads_overlap),
	TEST(ext4, more_holes_than_can_be_told_cut_the_count),
	TEST(ext4, other_file_systems_are_refused),
	TEST(ext4, a_file_that_is_journaled_is_refused),
	TEST(ext4, a_write_through_the_page_cache_is_an_error),
	TEST(ext4, a_frozen_file_system_does_not_hold_memory),
	TEST(xfs, a_file_is_read_to_its_end),
	TEST(xfs, a_file_is_written_and_grows),
	TEST(xfs, pages_in_the_cache_give_way),
	TEST(xfs, holes_are_told_and_left_alone),
	TEST(xfs, blocks_that_were_never_written_are_holes),
	TEST(xfs, a_sparse_file_larger_than_the_shadow_is_read),
	TEST(xfs, holes_are_zeroed_when_reads_overlap),
};

int main(int argc, char **argv)
{
	/* those that the guest has loaded already fail */
	if (system("while read -r m; do insmod /lib/modules/$m 2>/dev/null; done </lib/modules/files"))
		printf("# not all modules of file systems load\n");
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
