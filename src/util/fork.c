// SPDX-License-Identifier: MIT
#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before bl_fork_init() nothing is open, so nothing can be inherited: look like the owner. */
static uint32_t owner_word = BL_FORK_MAGIC;
const volatile uint32_t *bl_fork_word = &owner_word;

static volatile uint32_t *wiped_page;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
/* Threads that map all the time must not keep a fork waiting for ever: the writer comes first. */
static pthread_rwlock_t window_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/*
 * Registered descriptors, one bit each. Words are atomic because the child's handler reads them while some thread that no
 * longer exists may have been half-way through an update; a chunk, once published, stays.
 */
#define FD_CHUNK_BITS  4096
#define FD_CHUNK_WORDS (FD_CHUNK_BITS / 64)
#define FD_CHUNKS      512 /* descriptors below 2 Mi */

static _Atomic(_Atomic(uint64_t) *) fd_chunks[FD_CHUNKS];

static _Atomic(uint64_t) *fd_word(int fd, bool create)
{
	_Atomic(uint64_t) *chunk, *fresh, *expected = NULL;
	unsigned int index = (unsigned int)fd / FD_CHUNK_BITS;

	if (fd < 0 || index >= FD_CHUNKS)
		return NULL;
	chunk = atomic_load(&fd_chunks[index]);
	if (!chunk && create) {
		fresh = calloc(FD_CHUNK_WORDS, sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(&fd_chunks[index], &expected, fresh)) {
			chunk = fresh;
		} else {
			free((void *)fresh);
			chunk = expected;
		}
	}
	return chunk ? &chunk[(unsigned int)fd % FD_CHUNK_BITS / 64] : NULL;
}

int bl_fork_fd_add(int fd)
{
	_Atomic(uint64_t) *word = fd_word(fd, true);

	if (!word)
		return -ENOMEM;
	atomic_fetch_or(word, 1ULL << (fd % 64));
	return 0;
}

bool bl_fork_fd_remove(int fd)
{
	_Atomic(uint64_t) *word = fd_word(fd, false);
	uint64_t bit;

	if (!word)
		return false;
	bit = 1ULL << (fd % 64);
	return atomic_fetch_and(word, ~bit) & bit;
}

void bl_fork_window_enter(void)
{
	pthread_rwlock_rdlock(&window_lock);
}

void bl_fork_window_leave(void)
{
	pthread_rwlock_unlock(&window_lock);
}

static void before_fork(void)
{
	pthread_rwlock_wrlock(&window_lock);
}

static void after_fork_parent(void)
{
	pthread_rwlock_unlock(&window_lock);
}

/*
 * Nothing here allocates or waits. A raw close(2): whatever stands in for the kernel has its own view of forks. Locks that
 * other threads of the parent held are made new. The window's is unlocked before for ThreadSanitizer, which keeps its own
 * books; to tell it by its functions takes a lock of its own, which a thread that is not here may have held for ever.
 */
static void after_fork_child(void)
{
	pthread_rwlockattr_t attr;

	pthread_mutex_init(&init_lock, NULL);
	pthread_rwlock_unlock(&window_lock);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&window_lock, &attr);
	for (int i = 0; i < FD_CHUNKS; i++) {
		_Atomic(uint64_t) *chunk = atomic_load(&fd_chunks[i]);

		for (int w = 0; chunk && w < FD_CHUNK_WORDS; w++) {
			uint64_t bits = atomic_exchange(&chunk[w], 0);

			for (; bits; bits &= bits - 1)
				close(i * FD_CHUNK_BITS + w * 64 + __builtin_ctzll(bits));
		}
	}
}

static int set_up(void)
{
	long page = sysconf(_SC_PAGESIZE);
	void *addr;
	int ret;

	addr = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return -errno;
	if (madvise(addr, (size_t)page, MADV_WIPEONFORK)) {
		ret = -errno;
		goto unmap;
	}
	ret = -pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	if (ret)
		goto unmap;
	wiped_page = addr;
	*wiped_page = BL_FORK_MAGIC;
	bl_fork_word = wiped_page;
	return 0;
unmap:
	munmap(addr, (size_t)page);
	return ret;
}

int bl_fork_init(void (*forget)(void))
{
	int ret = 0;

	pthread_mutex_lock(&init_lock);
	if (!wiped_page) {
		ret = set_up();
	} else if (bl_fork_is_child()) {
		forget();
		*wiped_page = BL_FORK_MAGIC;
	}
	pthread_mutex_unlock(&init_lock);
	return ret;
}
