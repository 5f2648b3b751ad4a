// SPDX-License-Identifier: MIT
#include "nvfs_wait.h"

#include <time.h>

#include "util/clock.h"

/* About as long as a nap of the shortest kind lasts: the timer slack of ordinary threads is 50 us. */
#define SPIN_NS	   50000U
#define NAP_SHARE  8U
#define MAX_NAP_NS 1000000U
#define LOOKS	   64

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void nap(uint64_t ns)
{
	struct timespec ts = {.tv_nsec = (long)(ns < MAX_NAP_NS ? ns : MAX_NAP_NS)};

	/* a signal only makes the look come sooner */
	nanosleep(&ts, NULL);
}

bool bl_nvfs_wait(const struct bl_nvfs_map *map, uint64_t deadline_ns)
{
	uint64_t start = bl_now_ns(), now = start;

	for (;;) {
		for (int i = 0; i < LOOKS; i++) {
			if (bl_nvfs_map_ended(map))
				return true;
			relax();
		}
		now = bl_now_ns();
		if (now >= deadline_ns)
			return bl_nvfs_map_ended(map);
		if (now - start > SPIN_NS)
			nap((now - start) / NAP_SHARE);
	}
}
