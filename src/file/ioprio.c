// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/ioprio: " fmt
#include "ioprio.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "util/log.h"

/*
 * <linux/ioprio.h> is younger than the C libraries that this is built with. Of the class that needs no privilege ("best
 * effort"): 0 is the most urgent of its eight levels, 4 what a process has by itself.
 */
#define IOPRIO_WHO_PROCESS 1
#define BEST_EFFORT(level) (2 << 13 | (level))

uint16_t bl_ioprio(void)
{
	switch (*bl_file_config()->io_priority) {
	case 'h':
		return BEST_EFFORT(0);
	case 'm':
		return BEST_EFFORT(4);
	case 'l':
		return BEST_EFFORT(7);
	default:
		return 0;
	}
}

void bl_ioprio_adopt(void)
{
	static _Thread_local int first, now;
	int wanted = bl_ioprio();

	if (now == wanted)
		return;
	if (!now)
		first = (int)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, wanted ? wanted : first < 0 ? 0 : first))
		log_info("io_priority %s: %s", bl_file_config()->io_priority, strerror(errno));
	now = wanted;
}
