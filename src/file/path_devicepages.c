// SPDX-License-Identifier: MIT
/*
 * Path "devicepages": where the kernel has struct pages for the GPU's memory, a mapping of that is a buffer for direct
 * I/O like any other, and what the drive's DMA reaches is the GPU. The file system does the rest: dirty pages of the
 * page cache, holes, the end of the file. Whole blocks go this way; ends of a request that are none go by path plain.
 *
 * Some kernels, drivers and pairs of devices cannot do it. They say so before a byte is moved, and another path takes
 * over.
 */
#define log_fmt(fmt) "file/devicepages: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "config.h"
#include "cost.h"
#include "devicepages.h"
#include "fio.h"
#include "io.h"
#include "nvfs.h"
#include "reason.h"
#include "tune.h"
#include "uring.h"
#include "util/clock.h"
#include "util/log.h"

extern const struct bl_path_ops bl_path_devicepages, bl_path_plain;

#define NO_PAGES "the kernel has no pages for the buffer's memory, barlane doctor says more"

static const char *examine(struct bl_file *file)
{
	const char *verdict = "";
	char why[512];

	if (bl_nvfs_file_dma(file, why, sizeof(why)))
		verdict = bl_reason_keep(why);
	atomic_store_explicit(&file->pages, verdict, memory_order_release);
	return verdict;
}

static const char *memory_blocked(const struct bl_mem *mem)
{
	if (mem->kind != BL_MEM_DEVICE)
		return "the memory is not a GPU's";
	if (!mem->buffer || !mem->mapped)
		return "the buffer is not registered, or cannot be mapped";
	return atomic_load_explicit(&mem->buffer->pages, memory_order_relaxed) ? NULL : NO_PAGES;
}

/* Bytes up to the next block of the file. */
static size_t lead_of(const struct bl_io *io)
{
	size_t align = io->file->align;

	return (align - ((size_t)io->pos + io->done) % align) % align;
}

static const char *range_blocked(const struct bl_io *io)
{
	size_t align = io->file->align, lead = lead_of(io), rest = io->len - io->done;

	if (((uintptr_t)io->mem.mapped - (size_t)io->pos) % align)
		return "the memory's address and the offset in the file do not lie alike in blocks of the file system";
	if (rest < lead + align)
		return "the request has no whole block of the file system";
	if (bl_file_config()->strict && (lead || rest % align))
		return "an end of the request is no whole block of the file system";
	return NULL;
}

static const char *usable(const struct bl_io *io)
{
	const struct bl_file_config *config = bl_file_config();
	const char *why = NULL;

	if (!config->use_pci_p2pdma && config->path != BL_PATH_DEVICEPAGES)
		return "use_pci_p2pdma is off";
	if (config->force_compat_mode)
		why = "force_compat_mode is set";
	if (!why)
		why = memory_blocked(&io->mem);
	if (why)
		return why;
	why = atomic_load_explicit(&io->file->pages, memory_order_acquire);
	if (!why)
		why = examine(io->file);
	if (*why)
		return why;
	if (bl_fio_direct_fd(io->file) < 0)
		return "the file could not be opened with O_DIRECT";
	return range_blocked(io);
}

static double score(const struct bl_io *io)
{
	return bl_cost(BL_PATH_DEVICEPAGES, io->len - io->done, io->write);
}

/* An end of the request: 0 also when the file ended there, which *end_p says. */
static int run_edge(struct bl_io *io, size_t len, bool *end_p)
{
	struct bl_io edge;
	int ret;

	bl_mem_part(&io->mem, io->done, len, &edge.mem);
	edge.file = io->file;
	edge.len = len;
	edge.pos = io->pos + (off_t)io->done;
	edge.write = io->write;
	edge.done = 0;
	edge.deadline_ns = io->deadline_ns;
	edge.by_cpu = io->by_cpu;
	edge.direct = io->direct;
	edge.path = BL_PATH_PLAIN;
	ret = bl_path_plain.run(&edge);
	io->done += edge.done;
	*end_p = edge.done < len;
	return ret;
}

size_t bl_devpages_call(const struct bl_io *io, size_t off, size_t len, int *err_p)
{
	int fd = bl_fio_direct_fd(io->file);
	size_t done = 0;
	ssize_t nr;

	*err_p = 0;
	while (done < len) {
		char *at = (char *)io->mem.mapped + off + done;
		off_t pos = io->pos + (off_t)(off + done);

		if (bl_now_ns() > io->deadline_ns) {
			*err_p = -ETIMEDOUT;
			break;
		}
		nr = io->write ? pwrite(fd, at, len - done, pos) : pread(fd, at, len - done, pos);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0) {
			*err_p = nr ? -errno : io->write ? -EIO : 0;
			break;
		}
		done += (size_t)nr;
		/* the end of the file: what is left is no whole block */
		if ((size_t)nr % io->file->align)
			break;
	}
	return done;
}

/* Whole blocks from io->done on, up to @end. */
static int run_blocks(struct bl_io *io, size_t end, bool *end_p)
{
	size_t len = end - io->done, nr = 0;
	int err = -EOPNOTSUPP;

	if (len > bl_file_tune()->pages_one && bl_uring_allowed())
		nr = bl_devpages_ring(io, io->done, len, &err);
	if (!nr && err == -EOPNOTSUPP)
		nr = bl_devpages_call(io, io->done, len, &err);
	io->done += nr;
	*end_p = !err && nr < len;
	return err;
}

/* What says that it will not work for this memory or this file; NULL: it is an error of the request. */
static const char *verdict_on(int err)
{
	switch (-err) {
	case EFAULT:
		return NO_PAGES;
	case EREMOTEIO:
		return "the kernel knows no way for peer-to-peer DMA between drive and GPU, or the driver has none";
	case EOPNOTSUPP:
		return "the drive's driver does not take pages of a device";
	case EINVAL:
		return "the file system refuses direct I/O in spite of its own rules";
	default:
		return NULL;
	}
}

/* Others take over. The reason holds for later requests, and has been said with this. */
static int step_aside(struct bl_io *io, int err, const char *why)
{
	if (err == -EFAULT)
		atomic_store_explicit(&io->mem.buffer->pages, false, memory_order_relaxed);
	else
		atomic_store_explicit(&io->file->pages, why, memory_order_release);
	fail_quiet(-err, "fd %d: %s: %s", io->file->fd, strerror(-err), why);
	if (!(atomic_fetch_or(&io->file->told, 1U << BL_PATH_DEVICEPAGES) & 1U << BL_PATH_DEVICEPAGES))
		log_info("fd %d: path devicepages is not taken any more (%s): %s", io->file->fd, strerror(-err), why);
	return -EAGAIN;
}

static int conclude(struct bl_io *io, int err)
{
	const char *why = verdict_on(err);

	if (why)
		return step_aside(io, err, why);
	if (err == -ENOMEM)
		return -EAGAIN;
	return fail(-err, "fd %d: %s at %lld len %zu, %zu done: %s", io->file->fd, io->write ? "write" : "read",
		    (long long)io->pos, io->len, io->done, strerror(-err));
}

/* The GPU's work sees what the drive wrote. 0 or -EIO. */
static int settle(struct bl_io *io, size_t before)
{
	if (io->write || io->done == before)
		return 0;
	/* whoever copies the same bytes next with a copy engine must have it wait for these */
	bl_ce_wrote();
	if (!io->mem.flush || !bl_flush(io->mem.pin))
		return 0;
	/* nobody knows what of it the GPU's work will see */
	io->done = before;
	return -EIO;
}

/*
 * Where whole blocks end that are the drive's to move. The last block of a file that is none is left out of reads: the
 * drive would write all of it, and memory behind the end of the file is not to change.
 */
static size_t end_of_blocks(const struct bl_io *io)
{
	size_t end = io->len, align = io->file->align;
	off_t from = io->pos + (off_t)io->done;
	struct stat st;

	if (!io->write && !fstat(io->file->fd, &st) && S_ISREG(st.st_mode) && st.st_size < io->pos + (off_t)end)
		end = st.st_size > from ? io->done + (size_t)(st.st_size - from) : io->done;
	return io->done + (end - io->done) / align * align;
}

static int run(struct bl_io *io)
{
	size_t before, end, lead = lead_of(io);
	uint64_t start;
	bool over = false;
	int err = 0, ret;

	if (lead)
		err = run_edge(io, lead, &over);
	if (err || over)
		return err;
	before = io->done;
	end = end_of_blocks(io);
	start = bl_now_ns();
	err = run_blocks(io, end, &over);
	if (!err && io->done == end && end > before)
		bl_cost_note(BL_PATH_DEVICEPAGES, end - before, io->write, bl_now_ns() - start);
	ret = settle(io, before);
	if (ret)
		return ret;
	if (err)
		return conclude(io, err);
	return over || io->done == io->len ? 0 : run_edge(io, io->len - io->done, &over);
}

const struct bl_path_ops bl_path_devicepages = {
	.name = "devicepages",
	.usable = usable,
	.score = score,
	.run = run,
};
