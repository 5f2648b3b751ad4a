// SPDX-License-Identifier: MIT
/* The commands of the fake module: MAP, READ and WRITE. Arguments are read and written by offset. */
#include "fake_nvfs_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define READ	 0x40047402UL
#define MAP	 0x40047403UL
#define WRITE	 0x40047404UL
#define BATCH	 0x40047408UL
#define ARG_SIZE 104
#define BLOCK	 4096UL
#define GPU_PAGE 65536UL

#define META_RESULT  8
#define META_STATE   16
#define META_MAGIC   24
#define META_VERSION 32
#define META_NHOLES  36
#define META_START   40
#define META_HOLES   48
#define CLEAN	     0U
#define SPARSE	     1U
#define DIED	     2U
#define MAGIC	     0xabc0cba1abc2cba3ULL

static enum fake_nvfs_fault fault;
static long fault_value;
static int fault_skip;
static bool happened;
static struct job *lost;

/* Where the caller sees the page, so that ThreadSanitizer sees one page too; the kernel's view when it is gone there.
 */
static uint8_t *meta_of(const struct vma *vma)
{
	return vma->meta->addr ? vma->meta->addr : vma->meta->alias;
}

static void set_state(struct vma *vma, uint32_t state)
{
	__atomic_store_n((uint32_t *)(meta_of(vma) + META_STATE), state, __ATOMIC_RELAXED);
}

static int map_checked(const uint8_t *arg, struct vma *vma, struct vma *meta)
{
	uint64_t size = get64(arg, 0), va = get64(arg, 24), head = va % GPU_PAGE, blocks = get32(arg, 40);

	if (!vma || !vma->file || blocks * BLOCK > vma->len || !blocks)
		return EINVAL;
	if (vma->state != FREE || !meta || meta->file)
		return EINVAL;
	if (va + size - 1 < va - head)
		return EINVAL;
	if (size < GPU_PAGE && blocks * BLOCK < head + size)
		return EINVAL;
	if (!fake_gpu_at(va, size))
		return EINVAL;
	if (fake_nvfs.map_err)
		return fake_nvfs.map_err;
	return fake_count.mapped >= fake_nvfs.max_maps ? ENOMEM : 0;
}

static int map(uint8_t *arg)
{
	struct vma *vma = fake_vma_at(get64(arg, 16)), *meta = fake_vma_at(get64(arg, 32));
	int err;

	if (vma && !get64(arg, 32))
		meta = vma->kept;
	err = map_checked(arg, vma, meta);
	if (err == EINVAL && !fake_nvfs.map_err && !fake_nvfs.tolerant)
		fake_break("MAP of va 0x%llx size 0x%llx with 0x%x blocks", (unsigned long long)get64(arg, 24),
			   (unsigned long long)get64(arg, 0), get32(arg, 40));
	if (err)
		return err;
	if (!vma->dontfork || !meta->dontfork)
		fake_break("MAP of pages that a child would get");
	if (get64(arg, 8) != fake_gpu_pdev())
		fake_break("MAP for GPU 0x%llx", (unsigned long long)get64(arg, 8));
	if (arg[44] || arg[45] || arg[46] || arg[47])
		fake_break("MAP with padding that is not 0");
	vma->meta = meta;
	vma->gpu_va = get64(arg, 24);
	vma->gpu_len = get64(arg, 0);
	vma->state = READY;
	vma->shared = false;
	if (meta != vma->kept) {
		meta->pins++;
		meta->refs++;
	}
	if (vma->kept && meta != vma->kept) {
		vma->kept->pins--;
		fake_vma_put(vma->kept);
	}
	vma->kept = NULL;
	fake_count.maps++;
	fake_count.mapped++;
	return 0;
}

/* The caller's own fault: the real module says EINVAL, and a test fails. */
static int misuse(const char *what, uint64_t value)
{
	if (!fake_nvfs.tolerant)
		fake_break("%s 0x%llx", what, (unsigned long long)value);
	return EINVAL;
}

static int check_file(const uint8_t *arg, bool write)
{
	int fd = (int)get32(arg, 72), flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;
	struct stat st;
	dev_t dev;

	if (flags < 0 || fstat(fd, &st))
		return EINVAL;
	if (!write && mode == O_WRONLY && !(arg[76] & 4))
		return EBADF;
	if (write && mode == O_RDONLY)
		return EBADF;
	if (!get64(arg, 40))
		return misuse("inode", 0);
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	if (get64(arg, 40) != st.st_ino || get32(arg, 52) != major(dev) || get32(arg, 56) != minor(dev))
		return ESTALE;
	return 0;
}

static int check_memory(const uint8_t *arg, const struct vma *vma)
{
	uint64_t off = get64(arg, 60), size = get64(arg, 16), head;
	int flags = fcntl((int)get32(arg, 72), F_GETFL);

	if (!fake_nvfs.any_direct && !(flags & O_DIRECT))
		return misuse("descriptor without O_DIRECT", get32(arg, 72));
	if (!(arg[76] & 1) && !get64(arg, 24))
		return misuse("asynchronous request with the fence", 0);
	head = vma->gpu_va % GPU_PAGE + off;
	if (head % BLOCK)
		return misuse("offset in GPU memory", off);
	if (off > vma->gpu_len || size > vma->gpu_len - off)
		return misuse("request beyond the GPU memory, of size", size);
	if (!fake_nvfs.own && head % GPU_PAGE && size > GPU_PAGE - head % GPU_PAGE)
		return misuse("request that begins inside of a GPU page and leaves it, of size", size);
	if (!(arg[76] & 1) && size > vma->len)
		return misuse("asynchronous request larger than the shadow, of size", size);
	return 0;
}

/* In the order of the real module. */
static int check_io(const uint8_t *arg, bool write, struct vma **vma_p)
{
	uint64_t offset = get64(arg, 8), size = get64(arg, 16);
	struct vma *vma;
	int err;

	if ((int64_t)offset < 0 || offset % BLOCK || size % BLOCK || (int64_t)(offset + size) < (int64_t)offset)
		return misuse("offset or size in the file", offset | size);
	err = check_file(arg, write);
	if (err)
		return err;
	vma = fake_vma_at(get64(arg, 0));
	if (!vma || !vma->file)
		return misuse("request on no shadow mapping", get64(arg, 0));
	if (vma->state != READY) {
		/* the real module damages the request that is under way */
		if (vma->state == IN_PROGRESS) {
			vma->state = CALLBACK_END;
			fake_break("a second request on a mapping that has one");
		}
		return EBUSY;
	}
	*vma_p = vma;
	return check_memory(arg, vma);
}

/* Bytes of the file, or what went wrong. */
static ssize_t move_bytes(const struct job *job, uint8_t *buf)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < job->size && got > 0) {
		off_t at = job->offset + (off_t)done;

		if (job->write)
			got = pwrite(job->fd, buf + done, job->size - done, at);
		else
			got = pread(job->fd, buf + done, job->size - done, at);
		if (got > 0)
			done += (size_t)got;
		if (got < 0 && !done)
			return -errno;
	}
	return (ssize_t)done;
}

static bool is_hole(const struct job *job, size_t off)
{
	off_t at = job->offset + (off_t)off, data = lseek(job->fd, at, SEEK_DATA);

	return data < 0 ? errno == ENXIO : data >= at + (off_t)BLOCK;
}

static void add_hole(uint8_t *meta, uint32_t nr, uint16_t start, uint16_t nr_blocks)
{
	memcpy(meta + META_HOLES + 4 * nr, &start, 2);
	memcpy(meta + META_HOLES + 4 * nr + 2, &nr_blocks, 2);
}

/* Blocks that are on the drive go to the GPU; the others are listed. Return: bytes up to where the list was full. */
static size_t deliver(const struct job *job, const uint8_t *buf, size_t got, uint8_t *meta, uint32_t *nr_p)
{
	uint32_t nr = 0;
	size_t off, hole = 0;

	for (off = 0; off < got; off += BLOCK) {
		size_t some = got - off < BLOCK ? got - off : BLOCK;

		if (!is_hole(job, off) || job->zeroes) {
			memcpy(job->gpu + off, buf + off, some);
			hole = 0;
			continue;
		}
		if (!hole && nr == fake_nvfs.max_holes)
			return off;
		nr += !hole;
		hole++;
		add_hole(meta, nr - 1, (uint16_t)(off / BLOCK + 1 - hole), (uint16_t)hole);
		*nr_p = nr;
	}
	return got;
}

static void lie(uint8_t *meta, long which, uint32_t nr, size_t size)
{
	switch (which) {
	case 0:
		put64(meta, META_MAGIC, MAGIC + 1);
		break;
	case 1:
		put32(meta, META_VERSION, 2);
		break;
	case 2:
		put32(meta, META_NHOLES, 769);
		break;
	case 3:
		put64(meta, META_START, get64(meta, META_START) + BLOCK);
		break;
	case 4:
		add_hole(meta, nr - 1, (uint16_t)(size / BLOCK - 1), 2);
		break;
	case 5:
		add_hole(meta, nr - 1, 0xffff, 0xffff);
		break;
	default:
		add_hole(meta, nr - 1, 0, 0);
	}
}

static ssize_t read_file(const struct job *job, uint8_t *buf)
{
	uint8_t *meta = job->vma->meta->alias;
	ssize_t got = move_bytes(job, buf);
	uint32_t nr = 0;

	if (got <= 0)
		return got;
	got = (ssize_t)deliver(job, buf, (size_t)got, meta, &nr);
	if (nr) {
		put64(meta, META_MAGIC, MAGIC);
		put32(meta, META_VERSION, 1);
		put32(meta, META_NHOLES, nr);
		put64(meta, META_START, (uint64_t)job->offset);
		if (job->fault == FAKE_LIE)
			lie(meta, job->value, nr, job->size);
		pthread_mutex_lock(&fake_lock);
		set_state(job->vma, SPARSE);
		pthread_mutex_unlock(&fake_lock);
	}
	return got;
}

ssize_t fake_job_carry_out(struct job *job)
{
	uint8_t *buf;
	ssize_t got;

	if (fake_nvfs.delay_us)
		usleep(fake_nvfs.delay_us);
	if (job->fault == FAKE_FAIL)
		return -job->value;
	if (job->fault == FAKE_SHORT && (size_t)job->value < job->size)
		job->size = (size_t)job->value;
	if (posix_memalign((void **)&buf, BLOCK, job->size + BLOCK))
		return -ENOMEM;
	if (job->write)
		memcpy(buf, job->gpu, job->size);
	got = job->write ? move_bytes(job, buf) : read_file(job, buf);
	free(buf);
	return job->fault == FAKE_CLAIM ? job->value : got;
}

/* The mapping is ready for the next request before the caller hears of the end of this one. */
void fake_job_end(struct job *job, ssize_t result)
{
	uint8_t *meta;

	pthread_mutex_lock(&fake_lock);
	meta = meta_of(job->vma);
	close(job->fd);
	if (job->vma->state == IN_PROGRESS)
		job->vma->state = READY;
	if (job->fault == FAKE_FREE) {
		job->vma->state = CALLBACK_END;
		set_state(job->vma, DIED);
	}
	if (!job->sync) {
		put64(meta, META_RESULT, (uint64_t)result);
		__atomic_store_n((uint64_t *)meta, job->fence, __ATOMIC_RELEASE);
	}
	fake_count.running--;
	job->vma->users--;
	fake_vma_put(job->vma);
	pthread_mutex_unlock(&fake_lock);
	free(job);
}

static void *work(void *job)
{
	fake_job_end(job, fake_job_carry_out(job));
	return NULL;
}

/* 0: nothing is injected into this request, or nothing that refuses it. */
static int take_fault(struct job *job)
{
	if (fault == FAKE_NONE || fault_skip--)
		return 0;
	job->fault = fault;
	job->value = fault_value;
	fault = FAKE_NONE;
	happened = true;
	if (job->fault == FAKE_UNLOAD)
		fake_nvfs.unloading = true;
	return job->fault == FAKE_REFUSE ? (int)job->value : 0;
}

static struct job *new_job(const uint8_t *arg, bool write, struct vma *vma)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	*job = (struct job){
		.vma = vma,
		.write = write,
		.sync = arg[76] & 1,
		.offset = (int64_t)get64(arg, 8),
		.size = get64(arg, 16),
		.gpu = fake_gpu_at(vma->gpu_va, 0) + get64(arg, 60),
		.fence = get64(arg, 24),
	};
	return job;
}

static void count(const struct job *job)
{
	fake_count.reads += !job->write;
	fake_count.writes += job->write;
	fake_count.async += !job->sync;
	fake_count.running++;
	if (fake_count.running > fake_count.peak)
		fake_count.peak = fake_count.running;
	if (job->size > fake_count.largest)
		fake_count.largest = job->size;
}

/* Checks, and takes the mapping. 0, or the positive reason. */
int fake_job_admit(uint8_t *arg, bool write, bool entry, struct job **job_p)
{
	struct vma *vma = NULL;
	struct job *job;
	int err;

	if (arg[76] & ~(entry ? 0x71U : 1U) || arg[77] || arg[78] || arg[79])
		fake_break("flags 0x%x or padding", arg[76]);
	err = check_io(arg, write, &vma);
	if (err)
		return err;
	job = new_job(arg, write, vma);
	err = take_fault(job);
	if (!err && fake_nvfs.unloading)
		err = ENODEV;
	if (err) {
		free(job);
		return err;
	}
	job->fd = fcntl((int)get32(arg, 72), F_DUPFD_CLOEXEC, 0);
	if (fake_nvfs.own) {
		job->zeroes = vma->shared || vma->users;
		vma->shared |= vma->users != 0;
	} else {
		vma->state = IN_PROGRESS;
	}
	vma->users++;
	vma->refs++;
	count(job);
	*job_p = job;
	return 0;
}

static int start_async(struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (job->fault == FAKE_LOSE) {
		pthread_mutex_lock(&fake_lock);
		job->next = lost;
		lost = job;
		pthread_mutex_unlock(&fake_lock);
		return 0;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, work, job))
		abort();
	pthread_attr_destroy(&attr);
	return 0;
}

/* What the module makes of a verdict of its own in a request that it waits for: nothing was moved. */
static int64_t run_sync(struct job *job)
{
	ssize_t result = fake_job_carry_out(job);

	fake_job_end(job, result);
	return result == -EIO ? 0 : result;
}

bool fake_nvfs_ioctl(unsigned long request, void *user)
{
	struct job *job = NULL;
	uint8_t arg[ARG_SIZE];
	int64_t reason;

	/* all of it is read, whatever the command */
	memcpy(arg, user, ARG_SIZE);
	/* which writes none of its argument back */
	if (request == BATCH)
		return fake_nvfs_batch(arg) < 0;
	pthread_mutex_lock(&fake_lock);
	if (request == MAP)
		reason = -map(arg);
	else if (request == READ || request == WRITE)
		reason = -fake_job_admit(arg, request == WRITE, false, &job);
	else
		reason = -ENOTTY;
	pthread_mutex_unlock(&fake_lock);
	if (job)
		reason = job->sync ? run_sync(job) : start_async(job);
	if (request != MAP || reason)
		put64(arg, REASON, (uint64_t)reason);
	memcpy(user, arg, ARG_SIZE);
	return reason < 0;
}

void fake_nvfs_inject(enum fake_nvfs_fault what, long value, int skip)
{
	pthread_mutex_lock(&fake_lock);
	fault = what;
	fault_value = value;
	fault_skip = skip;
	happened = false;
	pthread_mutex_unlock(&fake_lock);
}

bool fake_io_happened(void)
{
	return happened;
}

void fake_io_begin(void)
{
	fault = FAKE_NONE;
	happened = false;
}

void fake_nvfs_finish(void)
{
	struct job *job;

	for (;;) {
		pthread_mutex_lock(&fake_lock);
		job = lost;
		lost = job ? job->next : NULL;
		pthread_mutex_unlock(&fake_lock);
		if (!job)
			return;
		fake_job_end(job, fake_job_carry_out(job));
	}
}

void fake_nvfs_free_gpu(void)
{
	pthread_mutex_lock(&fake_lock);
	for (struct vma *vma = fake_vmas(); vma; vma = vma->next) {
		if (!vma->meta || vma->state != READY)
			continue;
		vma->state = CALLBACK_END;
		set_state(vma, DIED);
	}
	pthread_mutex_unlock(&fake_lock);
}
