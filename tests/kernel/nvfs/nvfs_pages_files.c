// SPDX-License-Identifier: MIT
/*
 * Memory of the card with struct pages, and files: ext4 and xfs, several requests under way by io_uring, dirty pages.
 */
#include "host.h"
#include "pages.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#define PLACE	  "/tmp/pages"
#define NAME	  PLACE "/file"
#define FILE_SIZE (64 * MIB)
#define DEPTH	  8
#define PIECE	  (512 * KIB)

static int gpu, direct, buffered;
static struct slice_mem mem;

static void mount_fresh(const char *type)
{
	char command[128];
	int err;

	snprintf(command, sizeof(command), "command -v mkfs.%s >/dev/null", type);
	if (system(command))
		skip("mkfs.%s is not installed", type);
	snprintf(command, sizeof(command), "mkfs.%s -q %s " DRIVE " >/dev/null 2>&1", type,
		 !strcmp(type, "xfs") ? "-f" : "-F");
	check_eq(system(command), 0);
	mkdir(PLACE, 0755);
	err = mount(DRIVE, PLACE, type, 0, NULL) ? errno : 0;
	if (err == ENODEV)
		skip("this kernel has no %s", type);
	check_eq(err, 0);
}

static void begin(const char *type)
{
	/* drivers that only these tests load */
	check_eq(system("while read -r m; do insmod /lib/modules/$m 2>/dev/null; done </lib/modules/files; true"), 0);
	mount_fresh(type);
	card_reload(SLICE);
	gpu = gpu_open();
	mem = slice_alloc(gpu, FILE_SIZE);
	buffered = open(NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	direct = open(NAME, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(buffered >= 0 && direct >= 0);
}

static void end(void)
{
	close(direct);
	close(buffered);
	slice_free(gpu, &mem);
	slice_check_clean(gpu);
	close(gpu);
	/* the kernel lets go of files of an io_uring some time after it was closed */
	for (int i = 0; i < 100 && umount(PLACE) && errno == EBUSY; i++)
		usleep(50000);
	check(umount(PLACE) < 0);
}

/* Where on the drive a byte of the file is, and how far the file goes on there. */
static uint64_t place_of(uint64_t pos, uint64_t len, uint64_t *run_p)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} ask = { .map = { .fm_start = pos, .fm_length = len, .fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 1 } };
	const struct fiemap_extent *extent = ask.map.fm_extents;

	check_eq(ioctl(direct, FS_IOC_FIEMAP, &ask), 0);
	check_eq(ask.map.fm_mapped_extents, 1);
	check(extent->fe_logical <= pos && !(extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN));
	*run_p = extent->fe_length - (pos - extent->fe_logical);
	if (*run_p > len)
		*run_p = len;
	return extent->fe_physical + (pos - extent->fe_logical);
}

/* The host looks at the drive; patterns repeat every 8 bytes, and extents are whole blocks. */
static void drive_has(uint64_t pos, uint64_t len, const char *pattern)
{
	while (len) {
		uint64_t run, place = place_of(pos, len, &run);

		check(host_ask("check-drive", place, run, pattern));
		pos += run;
		len -= run;
	}
}

/* Which pages of the file are in the page cache. */
static size_t pages_cached(size_t len)
{
	static unsigned char there[FILE_SIZE / 4096];
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, buffered, 0);
	size_t nr = 0;

	check(at != MAP_FAILED);
	check_eq(mincore(at, len, there), 0);
	munmap(at, len);
	for (size_t i = 0; i < len / 4096; i++)
		nr += there[i] & 1;
	return nr;
}

static void sizes(const char *type)
{
	static const size_t lens[] = { 4096, 65536, 1 << 20, 5 << 20, 64 << 20 };
	static const char *const patterns[] = { "0102030405060708", "f1e2d3c4b5a69788" };

	begin(type);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const char *pattern = patterns[i & 1];
		size_t len = lens[i];
		off_t pos = i & 1 ? 4096 : 0;

		printf("# len %zu\n", len);
		check(host_ask("fill", mem.mem.offset, len, pattern));
		check_eq(try_write(direct, mem.at, len, pos), (int64_t)len);
		check_eq(fsync(direct), 0);
		drive_has((uint64_t)pos, len, pattern);
		check(host_ask("fill", mem.mem.offset, len, "cc"));
		check_eq(try_read(direct, mem.at, len, pos), (int64_t)len);
		check(host_ask("check", mem.mem.offset, len, pattern));
	}
	check_eq(pages_cached(FILE_SIZE), 0);
	end();
}

static void ext4_sizes(void)
{
	sizes("ext4");
}

static void xfs_sizes(void)
{
	sizes("xfs");
}

/* What was written through the page cache and lies only there is read; holes are zeros; the end is the end. */
static void dirty_pages_count(const char *type)
{
	static uint8_t bytes[MIB];

	begin(type);
	memset(bytes, 0x3c, sizeof(bytes));
	check_eq(pwrite(buffered, bytes, 100000, MIB), 100000);
	memset(mem.at, 0xcc, 2 * MIB);
	check_eq(try_read(direct, mem.at, 2 * MIB, 0), (int64_t)MIB + 100000);
	check(host_ask("check", mem.mem.offset, MIB, "00"));
	check(host_ask("check", mem.mem.offset + MIB, 100000, "3c"));
	/* and what is written past it is what is read through it */
	memset(mem.at, 0x77, 65536);
	check_eq(try_write(direct, mem.at, 65536, MIB), 65536);
	check_eq(pread(buffered, bytes, 100000, MIB), 100000);
	check(bytes[0] == 0x77 && bytes[65535] == 0x77 && bytes[65536] == 0x3c);
	end();
}

static void ext4_dirty(void)
{
	dirty_pages_count("ext4");
}

static void xfs_dirty(void)
{
	dirty_pages_count("xfs");
}

#ifdef HAVE_LIBURING
static uint8_t value_of(unsigned int i)
{
	return (uint8_t)(0x40 + i);
}

static void submit_all(struct io_uring *ring, bool write)
{
	struct io_uring_cqe *cqe;

	for (unsigned int i = 0; i < DEPTH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		check(sqe);
		if (write)
			io_uring_prep_write(sqe, direct, mem.at + i * PIECE, PIECE, i * PIECE);
		else
			io_uring_prep_read(sqe, direct, mem.at + i * PIECE, PIECE, (DEPTH - 1 - i) * PIECE);
	}
	check_eq(io_uring_submit(ring), DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++) {
		check_eq(io_uring_wait_cqe(ring, &cqe), 0);
		check_eq(cqe->res, PIECE);
		io_uring_cqe_seen(ring, cqe);
	}
}

static void many_under_way(const char *type)
{
	struct io_uring ring;
	char pattern[3];

	begin(type);
	check_eq(ftruncate(direct, DEPTH * PIECE), 0);
	check_eq(io_uring_queue_init(DEPTH, &ring, 0), 0);
	for (unsigned int i = 0; i < DEPTH; i++)
		memset(mem.at + i * PIECE, value_of(i), PIECE);
	submit_all(&ring, true);
	check_eq(fsync(direct), 0);
	for (unsigned int i = 0; i < DEPTH; i++) {
		snprintf(pattern, sizeof(pattern), "%02x", value_of(i));
		drive_has(i * PIECE, PIECE, pattern);
	}
	submit_all(&ring, false);
	for (unsigned int i = 0; i < DEPTH; i++) {
		snprintf(pattern, sizeof(pattern), "%02x", value_of(DEPTH - 1 - i));
		check(host_ask("check", mem.mem.offset + i * PIECE, PIECE, pattern));
	}
	check_eq(pages_cached(DEPTH * PIECE), 0);
	io_uring_queue_exit(&ring);
	end();
}

/*
 * A registered buffer holds its pages for long. Kernels that do not register mappings of files refuse the card's, too; with
 * others the memory is in use until it is no buffer any more, whoever frees it.
 */
static void registered_buffer(void)
{
	struct io_uring ring;
	struct io_uring_cqe *cqe;
	struct slice_mem own;
	struct iovec iov;
	int ret;

	begin("ext4");
	own = slice_alloc(gpu, 2 * MIB);
	iov = (struct iovec){ own.at, own.mem.len };
	check(host_ask("fill", mem.mem.offset, MIB, "3355"));
	check_eq(try_write(direct, mem.at, MIB, 0), (int64_t)MIB);
	check_eq(io_uring_queue_init(DEPTH, &ring, 0), 0);
	ret = io_uring_register_buffers(&ring, &iov, 1);
	printf("# registering a buffer: %d\n", ret);
	check(!ret || ret == -EOPNOTSUPP);
	if (!ret) {
		io_uring_prep_read_fixed(io_uring_get_sqe(&ring), direct, own.at + 4096, MIB, 0, 0);
		check_eq(io_uring_submit_and_wait(&ring, 1), 1);
		check_eq(io_uring_peek_cqe(&ring, &cqe), 0);
		check_eq(cqe->res, (int64_t)MIB);
		io_uring_cqe_seen(&ring, cqe);
		check(host_ask("check", own.mem.offset + 4096, MIB, "3355"));
		slice_free(gpu, &own);
		check_eq(gpu_counters(gpu).lingering, own.mem.len);
		check_eq(io_uring_unregister_buffers(&ring), 0);
		for (int i = 0; i < 250 && gpu_counters(gpu).lingering; i++)
			usleep(20000);
		check_eq(gpu_counters(gpu).lingering, 0);
	} else {
		slice_free(gpu, &own);
	}
	io_uring_queue_exit(&ring);
	end();
}
#else
static void many_under_way(const char *type)
{
	skip("built without liburing");
}

static void registered_buffer(void)
{
	skip("built without liburing");
}
#endif

static void ext4_uring(void)
{
	many_under_way("ext4");
}

static void xfs_uring(void)
{
	many_under_way("xfs");
}

static const struct tap_test tests[] = {
	{ "bytes_of_files_go_between_drive_and_card_on_ext4", ext4_sizes },
	{ "bytes_of_files_go_between_drive_and_card_on_xfs", xfs_sizes },
	{ "pages_of_the_page_cache_are_honoured_on_ext4", ext4_dirty },
	{ "pages_of_the_page_cache_are_honoured_on_xfs", xfs_dirty },
	{ "several_requests_of_io_uring_are_under_way_on_ext4", ext4_uring },
	{ "several_requests_of_io_uring_are_under_way_on_xfs", xfs_uring },
	{ "a_registered_buffer_keeps_its_pages_or_is_refused", registered_buffer },
};

TAP_MAIN(tests)
