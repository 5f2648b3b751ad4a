// SPDX-License-Identifier: MIT
#include "fake_sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "util/log.h"

#define MAX_FDS	  4096
#define MAX_PATHS 16
#define MAX_VMAS  1024

struct path {
	char name[64];
	const struct fake_device *dev;
	char text[256];
	int err;
};

struct vma {
	struct fake_file *file;
	void *addr;
	size_t len;
	uint64_t vram_off;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct path paths[MAX_PATHS];
static struct fake_file *files[MAX_FDS];
static struct vma vmas[MAX_VMAS];
static int vram_fd = -1;
static uint8_t *vram;
static int fail_countdown, fail_err, fail_next[FAKE_NR_OPS];
static bool fail_happened;
static char broken_rule[256];

/* Counts the call; the errno value that it has to fail with, or 0. */
static int injected(enum fake_op op)
{
	int err = fail_next[op];

	fail_next[op] = 0;
	if (fail_countdown >= 0 && !fail_countdown--)
		err = fail_err;
	fail_happened |= err != 0;
	return err;
}

static struct path *find_path(const char *name)
{
	for (size_t i = 0; i < MAX_PATHS; i++) {
		if (!strcmp(paths[i].name, name))
			return &paths[i];
	}
	return NULL;
}

static int text_fd(const struct path *path)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, path->text, strlen(path->text)) < 0 || lseek(fd, 0, SEEK_SET)) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static int new_file(const char *name, const struct fake_device *dev, uint64_t word)
{
	const char *slash = strrchr(name, '/');
	struct fake_file *file;
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	file = fd < MAX_FDS ? calloc(1, sizeof(*file)) : NULL;
	if (!file) {
		close(fd);
		return -EMFILE;
	}
	*file = (struct fake_file){.fd = fd, .owner = getpid(), .dev = dev, .word = word};
	snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : name);
	files[fd] = file;
	return fd;
}

static int open_locked(const char *name)
{
	struct path *path = find_path(name);
	int err = injected(FAKE_OPEN);

	if (err)
		return -err;
	if (!path)
		return -ENOENT;
	if (path->err)
		return -path->err;
	return path->dev ? new_file(name, path->dev, 0) : text_fd(path);
}

static int give(int ret)
{
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

static int fake_open(const char *name, int flags)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = open_locked(name);
	if (!(flags & O_CLOEXEC))
		fake_violation("open %s without O_CLOEXEC", name);
	fake_trace("open %s%s", name, ret < 0 ? " fails" : "");
	pthread_mutex_unlock(&lock);
	return give(ret);
}

struct fake_file *fake_sys_file(int fd)
{
	return fd >= 0 && fd < MAX_FDS ? files[fd] : NULL;
}

/* As in the kernel a mapping keeps its file: the device hears of the end when descriptor and mappings are gone. */
static void put_file(struct fake_file *file)
{
	if (file->fd >= 0 || fake_sys_vmas_of(file))
		return;
	if (file->dev->close)
		file->dev->close(file);
	free(file);
}

static int fake_close(int fd)
{
	struct fake_file *file;
	int ret;

	pthread_mutex_lock(&lock);
	file = fake_sys_file(fd);
	ret = close(fd) ? -errno : 0;
	if (file) {
		fake_trace("close %s", file->name);
		files[fd] = NULL;
		file->fd = -1;
		put_file(file);
	}
	pthread_mutex_unlock(&lock);
	return give(ret);
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct fake_file *file;
	int ret;

	pthread_mutex_lock(&lock);
	file = fake_sys_file(fd);
	ret = -injected(FAKE_IOCTL);
	if (!ret && !file)
		ret = -EBADF;
	if (!ret && file->owner != getpid())
		ret = -EACCES;
	if (!ret)
		ret = file->dev->ioctl(file, request, arg);
	pthread_mutex_unlock(&lock);
	return give(ret);
}

static int map_locked(int fd, size_t len, off_t off, void **addr_p)
{
	struct fake_file *file = fake_sys_file(fd);
	struct vma vma = {.file = file, .len = len};
	size_t slot = 0;
	int ret = -injected(FAKE_MMAP);

	if (ret)
		return ret;
	if (!file)
		return -EBADF;
	if (file->owner != getpid())
		return -EACCES;
	ret = file->dev->mmap(file, len, off, &vma.vram_off);
	if (ret)
		return ret;
	while (slot < MAX_VMAS && vmas[slot].addr)
		slot++;
	if (slot == MAX_VMAS)
		return -ENOMEM;
	vma.addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, vram_fd, (off_t)vma.vram_off);
	if (vma.addr == MAP_FAILED)
		return -errno;
	vmas[slot] = vma;
	*addr_p = vma.addr;
	return 0;
}

static void *fake_mmap(void *hint, size_t len, int prot, int flags, int fd, off_t off)
{
	void *addr = MAP_FAILED;
	int ret;

	pthread_mutex_lock(&lock);
	if (hint || prot != (PROT_READ | PROT_WRITE) || flags != MAP_SHARED)
		fake_violation("mmap hint %p prot %d flags %d", hint, prot, flags);
	ret = map_locked(fd, len, off, &addr);
	fake_trace("mmap %s len 0x%zx off 0x%llx%s", fake_sys_file(fd) ? fake_sys_file(fd)->name : "nothing", len,
		   (unsigned long long)off, ret ? " fails" : "");
	pthread_mutex_unlock(&lock);
	give(ret);
	return addr;
}

static struct vma *find_vma(const void *addr, size_t len)
{
	for (size_t i = 0; i < MAX_VMAS; i++) {
		if (vmas[i].addr == addr && vmas[i].len == len)
			return &vmas[i];
	}
	return NULL;
}

static int unmap_locked(void *addr, size_t len)
{
	struct vma *vma = find_vma(addr, len);
	struct fake_file *file;
	int ret = -injected(FAKE_MUNMAP);

	fake_trace("munmap len 0x%zx%s", len, ret ? " fails" : "");
	if (ret)
		return ret;
	if (!vma) {
		fake_violation("munmap of len 0x%zx, which is no mapping", len);
		return -EINVAL;
	}
	file = vma->file;
	if (file->dev->munmap)
		file->dev->munmap(file, vma->vram_off, len);
	if (munmap(addr, len))
		return -errno;
	*vma = (struct vma){0};
	put_file(file);
	return 0;
}

static int fake_munmap(void *addr, size_t len)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = unmap_locked(addr, len);
	pthread_mutex_unlock(&lock);
	return give(ret);
}

static int fake_madvise(void *addr, size_t len, int advice)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = -injected(FAKE_MADVISE);
	if (!find_vma(addr, len) || advice != MADV_DONTFORK)
		fake_violation("madvise len 0x%zx advice %d", len, advice);
	if (!ret && madvise(addr, len, advice))
		ret = -errno;
	fake_trace("madvise len 0x%zx advice %d%s", len, advice, ret ? " fails" : "");
	pthread_mutex_unlock(&lock);
	return give(ret);
}

static const struct bl_sys fake_table = {
	.version = BL_SYS_VERSION,
	.name = "test",
	.open = fake_open,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.madvise = fake_madvise,
};

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Marked mappings are not inherited, descriptors are the library's to close; what they stood for is the parent's. */
static void after_fork_child(void)
{
	memset(vmas, 0, sizeof(vmas));
	memset(files, 0, sizeof(files));
	pthread_mutex_unlock(&lock);
}

static void set_up(void)
{
	vram_fd = memfd_create("vram", MFD_CLOEXEC);
	check(vram_fd >= 0 && !ftruncate(vram_fd, FAKE_VRAM_SIZE));
	vram = mmap(NULL, FAKE_VRAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, vram_fd, 0);
	check(vram != MAP_FAILED);
	check(!pthread_atfork(before_fork, after_fork, after_fork_child));
}

/* What a test that failed half-way left. */
static void clean_up(void)
{
	for (size_t i = 0; i < MAX_VMAS; i++) {
		if (vmas[i].addr)
			unmap_locked(vmas[i].addr, vmas[i].len);
	}
	for (int fd = 0; fd < MAX_FDS; fd++) {
		if (files[fd])
			fake_close(fd);
	}
}

void fake_sys_begin(void)
{
	if (vram_fd < 0)
		set_up();
	fake_trace_expect(NULL, 0);
	clean_up();
	broken_rule[0] = '\0';
	memset(paths, 0, sizeof(paths));
	memset(fail_next, 0, sizeof(fail_next));
	fake_sys_fail_at(-1, 0);
	fail_happened = false;
	bl_sys_set(&fake_table);
	/* failures are what most tests are about: they read bl_last_error() */
	bl_log_set_level(BL_LOG_OFF);
}

static struct path *make_path(const char *name)
{
	struct path *path = find_path(name);

	if (!path)
		path = find_path("");
	check(path && strlen(name) < sizeof(path->name));
	*path = (struct path){0};
	strcpy(path->name, name);
	return path;
}

void fake_sys_device(const char *name, const struct fake_device *dev)
{
	struct path *path = make_path(name);

	path->dev = dev;
	if (!dev)
		path->name[0] = '\0';
}

void fake_sys_text(const char *name, const char *text)
{
	struct path *path = make_path(name);

	if (text)
		snprintf(path->text, sizeof(path->text), "%s", text);
	else
		path->name[0] = '\0';
}

void fake_sys_broken(const char *name, int err)
{
	make_path(name)->err = err;
}

int fake_sys_adopt(const char *name, const struct fake_device *dev, uint64_t word)
{
	int fd;

	pthread_mutex_lock(&lock);
	fd = new_file(name, dev, word);
	pthread_mutex_unlock(&lock);
	return fd;
}

void fake_sys_fail_at(int nr, int err)
{
	fail_countdown = nr;
	fail_err = err;
	if (nr >= 0)
		fail_happened = false;
}

void fake_sys_fail_next(enum fake_op op, int err)
{
	fail_next[op] = err;
	fail_happened = false;
}

bool fake_sys_failed(void)
{
	return fail_happened;
}

int fake_sys_files(void)
{
	int nr = 0;

	for (int fd = 0; fd < MAX_FDS; fd++)
		nr += files[fd] != NULL;
	return nr;
}

int fake_sys_vmas(void)
{
	int nr = 0;

	for (size_t i = 0; i < MAX_VMAS; i++)
		nr += vmas[i].addr != NULL;
	return nr;
}

int fake_sys_vmas_of(const struct fake_file *file)
{
	int nr = 0;

	for (size_t i = 0; i < MAX_VMAS; i++)
		nr += vmas[i].addr && vmas[i].file == file;
	return nr;
}

uint8_t *fake_vram(void)
{
	return vram;
}

void fake_violation(const char *fmt, ...)
{
	va_list ap;

	if (broken_rule[0])
		return;
	va_start(ap, fmt);
	vsnprintf(broken_rule, sizeof(broken_rule), fmt, ap);
	va_end(ap);
}

const char *fake_violations(void)
{
	return broken_rule;
}

int fake_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	check(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr - 3; /* ".", ".." and the directory itself */
}
