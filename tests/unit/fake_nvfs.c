// SPDX-License-Identifier: MIT
#include "fake_nvfs_in.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/sys.h"
#include "tap.h"
#include "util/log.h"

#define MAX_FDS	  4096
#define MAX_TEXTS 64
#define BLOCK	  4096UL
#define GPU_PAGE  65536UL
#define MAX_LEN	  (16UL << 20)

/* An open node; its mappings keep it. */
struct node {
	int users;
};

struct fake_nvfs fake_nvfs;
struct fake_nvfs_count fake_count;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static struct text {
	char path[160];
	char *text;
} texts[MAX_TEXTS];
static struct node *nodes[MAX_FDS];
static struct vma *vmas;
static char violation[256];
static int fail_skip, fail_err;
static bool failed;
static uint8_t *gpu;

/**
 * struct behind - what the module stands beside, and the memory behind it
 */
static struct behind {
	const struct bl_sys *others;
	uint64_t va;
	uint8_t *memory;
	uint64_t size;
	uint64_t pdev;
} behind;

void fake_break(const char *fmt, ...)
{
	va_list ap;

	if (violation[0])
		return;
	va_start(ap, fmt);
	vsnprintf(violation, sizeof(violation), fmt, ap);
	va_end(ap);
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

/* Counts a call; whether it is the one that has to fail. */
static bool injected(void)
{
	if (fail_skip < 0 || fail_skip--)
		return false;
	failed = true;
	return true;
}

static int open_text(const char *path)
{
	for (int i = 0; i < MAX_TEXTS; i++) {
		const char *text = texts[i].text;
		int fd;

		if (!text || strcmp(texts[i].path, path))
			continue;
		fd = memfd_create("text", MFD_CLOEXEC);
		if (fd < 0)
			return -1;
		if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET)) {
			close(fd);
			return refuse(EIO);
		}
		return fd;
	}
	return refuse(ENOENT);
}

static int open_node(const char *number)
{
	unsigned int minor = (unsigned int)atoi(number);
	struct node *node;
	int fd;

	if (minor >= fake_nvfs.nodes)
		return refuse(ENOENT);
	if (fake_nvfs.open_err || fake_nvfs.closed & 1U << minor)
		return refuse(fake_nvfs.open_err ? fake_nvfs.open_err : EACCES);
	if (fake_nvfs.unloading)
		return refuse(EINVAL);
	fd = eventfd(0, EFD_CLOEXEC);
	node = fd >= 0 && fd < MAX_FDS ? calloc(1, sizeof(*node)) : NULL;
	if (!node) {
		if (fd >= 0)
			close(fd);
		return refuse(EMFILE);
	}
	node->users = 1;
	nodes[fd] = node;
	fake_count.files++;
	return fd;
}

static int fake_open(const char *path, int flags)
{
	int fd;

	pthread_mutex_lock(&fake_lock);
	if (!(flags & O_CLOEXEC))
		fake_break("open %s without O_CLOEXEC", path);
	if (injected())
		fd = refuse(fail_err);
	else if (!strncmp(path, "/dev/nvidia-fs", 14))
		fd = open_node(path + 14);
	else
		fd = open_text(path);
	pthread_mutex_unlock(&fake_lock);
	if (fd < 0 && errno == ENOENT && behind.others && strncmp(path, "/dev/nvidia-fs", 14))
		return behind.others->open(path, flags);
	return fd;
}

static void put_node(struct node *node)
{
	if (--node->users)
		return;
	fake_count.files--;
	free(node);
}

static bool is_others(int fd)
{
	bool is;

	pthread_mutex_lock(&fake_lock);
	is = behind.others && fd >= 0 && (fd >= MAX_FDS || !nodes[fd]);
	pthread_mutex_unlock(&fake_lock);
	return is;
}

static int fake_close(int fd)
{
	int ret;

	if (is_others(fd))
		return behind.others->close(fd);
	pthread_mutex_lock(&fake_lock);
	ret = close(fd);
	if (!ret && fd < MAX_FDS && nodes[fd]) {
		put_node(nodes[fd]);
		nodes[fd] = NULL;
	}
	pthread_mutex_unlock(&fake_lock);
	return ret;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	bool is_node, unloading;
	int err;

	if (is_others(fd))
		return behind.others->ioctl(fd, request, arg);
	pthread_mutex_lock(&fake_lock);
	is_node = fd >= 0 && fd < MAX_FDS && nodes[fd];
	unloading = fake_nvfs.unloading;
	err = injected() ? fail_err : 0;
	if (!is_node)
		fake_break("ioctl 0x%lx of what is no open node", request);
	pthread_mutex_unlock(&fake_lock);
	if (!is_node || err)
		return refuse(err ? err : EBADF);
	if (unloading)
		return refuse(EINVAL);
	if (request == FAKE_UNMAP && fake_nvfs.own) {
		err = fake_nvfs_unmap(arg);
		return err ? refuse(err) : 0;
	}
	if (request >> 8 != 0x400474)
		return refuse(ENOTTY);
	return fake_nvfs_ioctl(request, arg) ? refuse(EPERM) : 0;
}

struct vma *fake_vma_at(uint64_t addr)
{
	for (struct vma *vma = vmas; vma; vma = vma->next) {
		if (vma->addr && (uintptr_t)vma->addr == addr)
			return vma;
	}
	return NULL;
}

struct vma *fake_vmas(void)
{
	return vmas;
}

void fake_vma_put(struct vma *vma)
{
	struct vma **link = &vmas;

	if (--vma->refs)
		return;
	if (vma->meta) {
		/* the module lets go of the memory, and of the page */
		fake_count.mapped--;
		fake_vma_put(vma->meta);
	}
	if (vma->kept)
		fake_vma_put(vma->kept);
	while (*link != vma)
		link = &(*link)->next;
	*link = vma->next;
	munmap(vma->alias, vma->len);
	if (vma->file)
		put_node(vma->file);
	else
		fake_count.pages--;
	free(vma);
}

static bool shadow_length_ok(size_t len)
{
	if (!len || len > MAX_LEN)
		return false;
	return len < GPU_PAGE ? len % BLOCK == 0 : len % GPU_PAGE == 0;
}

static int check_mmap(size_t len, int prot, int flags, int fd, off_t off)
{
	if (fd == -1)
		return flags == (MAP_PRIVATE | MAP_ANONYMOUS) && !off ? 0 : EINVAL;
	if (fd < 0 || fd >= MAX_FDS || !nodes[fd])
		return EBADF;
	if (off)
		return EIO;
	return shadow_length_ok(len) && prot == (PROT_READ | PROT_WRITE) && flags == MAP_SHARED ? 0 : EINVAL;
}

/* Both views are of one memory file, so that what is unmapped on one side lives on while the other has it. */
static struct vma *new_vma(size_t len)
{
	struct vma *vma = calloc(1, sizeof(*vma));
	int fd = memfd_create("pages", MFD_CLOEXEC);

	if (!vma || fd < 0 || ftruncate(fd, (off_t)len))
		abort();
	vma->addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	vma->alias = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (vma->addr == MAP_FAILED || vma->alias == MAP_FAILED || madvise(vma->alias, len, MADV_DONTFORK))
		abort();
	close(fd);
	vma->len = len;
	vma->refs = 1;
	vma->next = vmas;
	vmas = vma;
	return vma;
}

static void *fake_mmap(void *hint, size_t len, int prot, int flags, int fd, off_t off)
{
	struct vma *vma;
	int err;

	if (is_others(fd))
		return behind.others->mmap(hint, len, prot, flags, fd, off);
	pthread_mutex_lock(&fake_lock);
	err = injected() ? fail_err : check_mmap(len, prot, flags, fd, off);
	if (hint)
		fake_break("mmap with a hint");
	if (err) {
		if (!failed && !fake_nvfs.tolerant)
			fake_break("mmap len 0x%zx prot %d flags 0x%x off 0x%llx", len, prot, flags, (long long)off);
		pthread_mutex_unlock(&fake_lock);
		refuse(err);
		return MAP_FAILED;
	}
	vma = new_vma(len);
	if (fd >= 0) {
		vma->file = nodes[fd];
		vma->file->users++;
	} else {
		fake_count.pages++;
	}
	pthread_mutex_unlock(&fake_lock);
	return vma->addr;
}

/* A shadow mapping that goes while a request is under way lives on until that ends. */
static int unmap(struct vma *vma, size_t len)
{
	if (!vma || vma->len != len) {
		fake_break("munmap of len 0x%zx, which is no whole mapping", len);
		return EINVAL;
	}
	if (vma->pins)
		fake_break("the page for reports goes before the shadow mapping that reports into it");
	if (munmap(vma->addr, len))
		return errno;
	vma->addr = NULL;
	if (vma->meta)
		vma->meta->pins--;
	if (vma->kept)
		vma->kept->pins--;
	vma->state = vma->state == IN_PROGRESS ? TERMINATE_REQ : TERMINATED;
	fake_vma_put(vma);
	return 0;
}

static bool is_others_mapping(const void *addr)
{
	bool is;

	pthread_mutex_lock(&fake_lock);
	is = behind.others && !fake_vma_at((uintptr_t)addr);
	pthread_mutex_unlock(&fake_lock);
	return is;
}

static int fake_munmap(void *addr, size_t len)
{
	int err;

	if (is_others_mapping(addr))
		return behind.others->munmap(addr, len);

	pthread_mutex_lock(&fake_lock);
	err = injected() ? fail_err : unmap(fake_vma_at((uintptr_t)addr), len);
	pthread_mutex_unlock(&fake_lock);
	return err ? refuse(err) : 0;
}

static int fake_madvise(void *addr, size_t len, int advice)
{
	struct vma *vma;
	int ret;

	if (is_others_mapping(addr))
		return behind.others->madvise(addr, len, advice);
	pthread_mutex_lock(&fake_lock);
	vma = fake_vma_at((uintptr_t)addr);
	if (!vma || vma->len != len || advice != MADV_DONTFORK)
		fake_break("madvise len 0x%zx advice %d", len, advice);
	ret = injected() ? refuse(fail_err) : madvise(addr, len, advice);
	if (!ret && vma)
		vma->dontfork = true;
	pthread_mutex_unlock(&fake_lock);
	return ret;
}

static const struct bl_sys table = {
	.version = BL_SYS_VERSION,
	.name = "fake nvidia-fs",
	.open = fake_open,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.madvise = fake_madvise,
};

void fake_nvfs_text(const char *path, const char *text)
{
	int slot = 0;

	while (slot < MAX_TEXTS && strcmp(texts[slot].path, path))
		slot++;
	for (int i = 0; slot == MAX_TEXTS && i < MAX_TEXTS; i++)
		slot = texts[i].text ? slot : i;
	check(slot < MAX_TEXTS && strlen(path) < sizeof(texts[0].path));
	free(texts[slot].text);
	texts[slot].text = text ? strdup(text) : NULL;
	strcpy(texts[slot].path, text ? path : "");
}

static void before_fork(void)
{
	pthread_mutex_lock(&fake_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&fake_lock);
}

/* What was mapped or open is the parent's; a child that starts anew has nothing. */
static void after_fork_child(void)
{
	vmas = NULL;
	memset(nodes, 0, sizeof(nodes));
	fake_count = (struct fake_nvfs_count){0};
	pthread_mutex_unlock(&fake_lock);
}

/* Before the core does the same: its window around forks is held where this table is called. */
__attribute__((constructor)) static void watch_forks(void)
{
	if (pthread_atfork(before_fork, after_fork, after_fork_child))
		abort();
}

static void clean_up(void)
{
	for (int i = 0; i < MAX_TEXTS; i++) {
		free(texts[i].text);
		texts[i] = (struct text){0};
	}
	fake_nvfs_finish();
	vmas = NULL;
	for (int fd = 0; fd < MAX_FDS; fd++) {
		if (nodes[fd])
			fake_close(fd);
	}
}

void fake_nvfs_begin(void)
{
	if (!gpu) {
		gpu = mmap(NULL, FAKE_GPU_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		check(gpu != MAP_FAILED);
	}
	clean_up();
	memset(gpu, 0xaa, FAKE_GPU_FILLED);
	behind = (struct behind){NULL, FAKE_GPU_VA, gpu, FAKE_GPU_SIZE, FAKE_GPU_PDEV};
	violation[0] = '\0';
	fail_skip = -1;
	failed = false;
	fake_count = (struct fake_nvfs_count){0};
	fake_nvfs = (struct fake_nvfs){.nodes = 16, .max_maps = 1000, .max_holes = 768, .any_direct = true};
	fake_io_begin();
	fake_nvfs_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	fake_nvfs_text("/proc/driver/nvidia-fs/modules", "nvme: (null)\nwekafsio: 1\n");
	bl_sys_set(&table);
	bl_log_set_level(BL_LOG_OFF);
}

void fake_nvfs_end(void)
{
	struct fake_nvfs_count count = fake_nvfs_counts();

	check_str(fake_nvfs_violation(), "");
	check_eq(count.running, 0);
	check_eq(count.mapped, 0);
	check_eq(count.pages, 0);
	check_eq(count.files, 0);
}

void fake_nvfs_fail_call(int skip, int err)
{
	pthread_mutex_lock(&fake_lock);
	fail_skip = skip;
	fail_err = err;
	failed = false;
	pthread_mutex_unlock(&fake_lock);
}

bool fake_nvfs_happened(void)
{
	bool happened;

	pthread_mutex_lock(&fake_lock);
	happened = failed || fake_io_happened();
	pthread_mutex_unlock(&fake_lock);
	return happened;
}

struct fake_nvfs_count fake_nvfs_counts(void)
{
	struct fake_nvfs_count count;

	pthread_mutex_lock(&fake_lock);
	count = fake_count;
	pthread_mutex_unlock(&fake_lock);
	return count;
}

const char *fake_nvfs_violation(void)
{
	return violation;
}

void fake_nvfs_join(const struct bl_sys *others, uint64_t va, uint8_t *memory, size_t size, uint64_t pdev)
{
	behind = (struct behind){others, va, memory, size, pdev};
}

uint8_t *fake_gpu_at(uint64_t va, uint64_t size)
{
	if (va < behind.va || size > behind.size || va - behind.va > behind.size - size)
		return NULL;
	return behind.memory + (va - behind.va);
}

uint64_t fake_gpu_pdev(void)
{
	return behind.pdev;
}

uint8_t *fake_gpu(void)
{
	return gpu;
}
