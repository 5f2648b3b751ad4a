// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/driver: " fmt
#include "driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"
#include "config_load.h"
#include "crew.h"
#include "driver_ctx.h"
#include "error.h"
#include "file.h"
#include "gpu/sys.h"
#include "stats_export.h"
#include "util/log.h"

#define OWNER	    0x66696c65U
#define MAX_CLOSERS 8

/* How long the last close waits for threads that are busy; those leave when they are done. */
#define CREW_NS 5000000000ULL

/*
 * A word that the kernel wipes in children tells parent from child, however the child was made. Before the first open
 * nothing can be inherited.
 */
static uint32_t first_word = OWNER;
static _Atomic(const volatile uint32_t *) owner_word = &first_word;
static volatile uint32_t *wiped_page;

/* Holds a whole page of any size. It goes with the library and not before: threads may look at it until the very end. */
static char around_page[2 << 16];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(bool) is_open;
static long uses;
static _Atomic(bool) was_open;

static struct closer {
	void (*close)(void);
	void (*child)(void);
} closers[MAX_CLOSERS];
static int nr_closers;
static pthread_mutex_t closers_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_child(void)
{
	return *atomic_load_explicit(&owner_word, memory_order_acquire) != OWNER;
}

/* Other threads of the parent may have held them. */
static void after_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&closers_lock, NULL);
	bl_logfile_after_fork();
	bl_stats_after_fork();
}

static int watch_forks(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *addr = (void *)(((uintptr_t)around_page + page - 1) & ~(page - 1));
	int ret;

	if (wiped_page)
		return 0;
	ret = madvise(addr, page, MADV_WIPEONFORK) ? errno : pthread_atfork(NULL, NULL, after_fork_child);
	if (ret)
		return fail(ret, "fork watch: %s", strerror(ret));
	wiped_page = addr;
	*wiped_page = OWNER;
	atomic_store_explicit(&owner_word, wiped_page, memory_order_release);
	return 0;
}

static int refuse_child(void)
{
	return bl_fail(-BL_CUFILE(CU_FILE_DRIVER_NOT_INITIALIZED),
		       log_fmt("pid %d was forked while the driver was open; open it in the child alone, or exec"),
		       (int)getpid());
}

/* A child of a process that had closed the driver begins anew. */
static void begin_anew(void)
{
	bl_file_forget();
	bl_buffer_forget();
	for (int i = 0; i < nr_closers; i++) {
		if (closers[i].child)
			closers[i].child();
	}
	bl_driver_ctx_forget();
	bl_stats_forget();
	*wiped_page = OWNER;
}

int bl_driver_nvfs(unsigned int *major_p, unsigned int *minor_p)
{
	char text[64];
	int ret = bl_sys_read_file("/proc/driver/nvidia-fs/version", text, sizeof(text));

	if (ret < 0)
		return ret;
	return sscanf(text, "version: %u.%u", major_p, minor_p) == 2 ? 0 : -EPROTO;
}

/* Without the module all is done by the CPU and the copy engine, which the configuration may forbid. */
static int check_compat(void)
{
	unsigned int major, minor;
	int ret;

	if (bl_file_config()->allow_compat_mode)
		return 0;
	ret = bl_driver_nvfs(&major, &minor);
	if (!ret)
		return 0;
	return bl_fail(-BL_CUFILE(CU_FILE_DRIVER_NOT_INITIALIZED),
		       log_fmt("nvidia-fs module: %s, and allow_compat_mode is off"), strerror(-ret));
}

/* Under the lock, with the driver closed. */
static int open_locked(void)
{
	int ret;

	if (is_child())
		begin_anew();
	ret = watch_forks();
	if (ret)
		return ret;
	ret = bl_config_open();
	if (ret)
		return ret;
	ret = check_compat();
	if (ret) {
		bl_logfile_stop();
		return ret;
	}
	bl_stats_open(bl_file_config()->cufile_stats);
	atomic_store_explicit(&is_open, true, memory_order_release);
	atomic_store(&was_open, true);
	log_info("opened, core %s", bl_version());
	return 0;
}

static void close_locked(bool at_exit)
{
	uses = 0;
	atomic_store_explicit(&is_open, false, memory_order_release);
	bl_file_remove_all();
	bl_buffer_remove_all();
	/* threads may be in the middle of anything when the process ends */
	if (!at_exit && bl_crew_stop(CREW_NS))
		log_warn("close: requests are still under way");
	pthread_mutex_lock(&closers_lock);
	for (int i = nr_closers - 1; i >= 0; i--)
		closers[i].close();
	pthread_mutex_unlock(&closers_lock);
	bl_driver_ctx_close();
	bl_stats_close();
	log_info("closed");
	bl_logfile_stop();
}

int bl_driver_open(void)
{
	int ret = 0;

	if (atomic_load(&is_open) && is_child())
		return refuse_child();
	pthread_mutex_lock(&lock);
	if (!uses)
		ret = open_locked();
	if (!ret)
		uses++;
	pthread_mutex_unlock(&lock);
	return ret;
}

static __attribute__((noinline, cold)) int use_slowly(void)
{
	int ret = 0;

	if (atomic_load(&is_open) && is_child())
		return refuse_child();
	pthread_mutex_lock(&lock);
	if (!uses) {
		ret = open_locked();
		uses = !ret;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

int bl_driver_use(void)
{
	if (__builtin_expect(atomic_load_explicit(&is_open, memory_order_acquire) && !is_child(), 1))
		return 0;
	return use_slowly();
}

int bl_driver_check(void)
{
	if (atomic_load(&is_open))
		return is_child() ? refuse_child() : 0;
	if (atomic_load(&was_open))
		return bl_fail_quiet(-BL_CUFILE(CU_FILE_DRIVER_CLOSING), log_fmt("it has been closed"));
	return bl_fail_quiet(-BL_CUFILE(CU_FILE_DRIVER_NOT_INITIALIZED), log_fmt("it is not open"));
}

int bl_driver_close(void)
{
	int ret = 0;

	if (atomic_load(&is_open) && is_child())
		return refuse_child();
	pthread_mutex_lock(&lock);
	if (!uses)
		ret = bl_fail(-BL_CUFILE(CU_FILE_DRIVER_NOT_INITIALIZED), log_fmt("close: not open"));
	else if (uses > 1)
		uses--;
	else
		close_locked(false);
	pthread_mutex_unlock(&lock);
	return ret;
}

long bl_driver_uses(void)
{
	long nr;

	if (atomic_load(&is_open) && is_child())
		return 0;
	pthread_mutex_lock(&lock);
	nr = uses;
	pthread_mutex_unlock(&lock);
	return nr;
}

int bl_driver_at_close(void (*close)(void), void (*child)(void))
{
	int ret = 0, i = 0;

	pthread_mutex_lock(&closers_lock);
	while (i < nr_closers && closers[i].close != close)
		i++;
	if (i == MAX_CLOSERS)
		ret = -ENOMEM;
	else if (i == nr_closers)
		closers[nr_closers++] = (struct closer){close, child};
	pthread_mutex_unlock(&closers_lock);
	return ret;
}

bool bl_driver_lock(void)
{
	pthread_mutex_lock(&lock);
	return atomic_load(&is_open);
}

void bl_driver_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The process ends. What it does not own is left alone. */
static __attribute__((destructor)) void unload(void)
{
	if (is_child())
		return;
	if (atomic_load(&is_open) && !pthread_mutex_trylock(&lock)) {
		close_locked(true);
		pthread_mutex_unlock(&lock);
	}
	bl_driver_ctx_close();
	bl_stats_file_remove();
	bl_logfile_stop();
}
