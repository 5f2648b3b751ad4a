// SPDX-License-Identifier: MIT
/*
 * What can go, in every stage of what it can go from: a matrix of the stages in stage.h, held by a slow provider or
 * drive or under a drive that fails, and of events; each with pins that are called back and with persistent ones. The
 * request ends as it may, nothing stays bound, no byte is written to memory that was given back, and what is left
 * works.
 */
#include "drives.h"
#include "hotplug.h"
#include "stage.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEGACY_FILE "/sys/module/nvidia_fs/parameters/use_legacy_p2p_allocation"
#define ROUNDS	    4 /* of a stage that is met by chance */

enum event { FREED, KILLED, NODE_CLOSED, FILE_CLOSED, DRIVE_GONE, CARD_GONE, UNLOAD_ASKED, NR_EVENTS };

static const char *const event_names[] = { "memory freed", "process killed", "node closed", "file closed",
					   "drive gone",   "card gone",	     "unload asked" };

static bool legacy; /* pins are called back */
static char drive_bdf[32];
static unsigned int moment;

static bool is_second(enum stage stage)
{
	return stage == FAILING && !lane.injected;
}

static void drive_goes(enum stage stage)
{
	/* what fails as it goes and comes is another matter */
	if (stage == FAILING && lane.injected)
		stage_inject(false);
	if (is_second(stage))
		second_drive_remove();
	else
		lane_drive_move(drive_bdf, "unbind");
}

static void happen(enum event event, enum stage stage)
{
	switch (event) {
	case FREED:
		/* a second time, where it has been freed before */
		check_eq(stage_free(), stage == CLOSING || stage == DEAD ? -ENOENT : 0);
		break;
	case KILLED:
		kill(getpid(), SIGKILL);
		break;
	case NODE_CLOSED:
		close(lane.node);
		break;
	case FILE_CLOSED:
		close(lane.drive);
		break;
	case DRIVE_GONE:
		drive_goes(stage);
		break;
	case CARD_GONE:
		way_unbind.take();
		break;
	case UNLOAD_ASKED:
		check(try_module_unload("nvidia_fs"));
		check(try_module_unload(!strcmp(lane_driver(), "nvme") ? "nvme" : "nvme_nvfs"));
		check(try_module_unload("bl_card"));
		break;
	default:
		check(!"an event");
	}
}

/* A request under way loses nothing by what it does not need any more. */
static bool must_be_whole(enum stage stage, enum event event)
{
	if (stage != IN_FLIGHT && stage != WAITING_FOR_SLOTS)
		return false;
	return event == NODE_CLOSED || event == FILE_CLOSED || event == UNLOAD_ASKED || (event == FREED && !legacy);
}

/* What the thread of a stage does may end with: success, or errors of the event. */
static bool is_allowed(enum stage stage, enum event event, int64_t ret)
{
	bool bind = stage == BINDING;

	if (must_be_whole(stage, event))
		return ret == STAGE_READ;
	if (ret >= 0 && ret <= STAGE_READ && !(ret % 4096))
		return true;
	if (stage == CLOSING && ret == -EIO)
		return true;
	switch (event) {
	case FREED:
		return bind ? ret == -EINVAL : ret == -EIO;
	case NODE_CLOSED:
		return (stage == FIRST_REQUEST || stage == FAILING) && ret == -EBADF;
	case FILE_CLOSED:
		return (stage == FIRST_REQUEST || stage == FAILING) && ret == -EINVAL;
	case DRIVE_GONE:
		return !bind && (ret == -ENODEV || ret == -EIO);
	case CARD_GONE:
		return bind ? ret == -ENODEV || ret == -EINVAL : ret == -EIO;
	default:
		return false;
	}
}

/* Memory that went with its card, or was freed and not persistent, says so. */
static bool must_have_died(enum stage stage, enum event event)
{
	if (stage == CLOSING || stage == DEAD)
		return true;
	return stage != BINDING && (event == CARD_GONE || (event == FREED && legacy));
}

/* What is left of the process goes too; while the drive is open its name is taken. */
static void tear_down(enum stage stage, enum event event)
{
	if (stage == GIVING_BACK) {
		munmap(lane.map.meta, 4096);
	} else if (lane.map.shadow) {
		if (must_have_died(stage, event))
			check_eq(lane.map.meta->state, NVIDIA_FS_DIED);
		lane_unbind(&lane.map);
	}
	if (event != FILE_CLOSED)
		close(lane.drive);
	if (event != NODE_CLOSED)
		close(lane.node);
	close(lane.gpu);
}

/* All as before the event, also when it came to a process that is no more. */
static void put_back(enum stage stage, enum event event)
{
	drive_slow(0);
	gpu_knob("delay_get_ms", 0);
	gpu_knob("delay_put_ms", 0);
	if (event == DRIVE_GONE && !is_second(stage))
		lane_drive_move(drive_bdf, "bind");
	else if (stage == FAILING && lane.injected)
		stage_inject(false);
	if (event == CARD_GONE)
		way_unbind.give();
}

static void wait_for_drive(void)
{
	int fd = -1;

	for (int i = 0; i < 1500 && fd < 0; i++) {
		fd = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (fd < 0)
			usleep(20000);
	}
	check(fd >= 0);
	close(fd);
}

static void must_work(void)
{
	wait_for_drive();
	stage_set_up();
	lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
	check_eq(stage_read(), STAGE_READ);
	lane_unbind(&lane.map);
	close(lane.drive);
	close(lane.node);
	gpu_free(lane.gpu, &lane.mem);
	lane_check_clean(lane.gpu);
	check_eq(gpu_counters(lane.gpu).used, 0);
	close(lane.gpu);
}

/* In a child a check that does not hold ends the child alone. */
static int reach_and_die(void *arg)
{
	const enum stage *stage = arg;

	if (setjmp(tap_env)) {
		printf("# child: %s\n", tap_text);
		fflush(stdout);
		return 99;
	}
	stage_set_up();
	stage_reach(*stage, moment);
	happen(KILLED, *stage);
	return 98;
}

static void meet(enum stage stage, enum event event)
{
	int64_t ret;

	stage_set_up();
	stage_reach(stage, moment);
	happen(event, stage);
	drive_slow(0);
	ret = stage_end();
	if (!is_allowed(stage, event, ret))
		check_eq(ret, 0);
	tear_down(stage, event);
}

static void cell(enum stage stage, enum event event)
{
	moment++;
	lane.injected = stage == FAILING && stage_can_inject();
	if (event == DRIVE_GONE && is_second(stage) && !second_drive_may_go()) {
		printf("# %s: left out, for this kernel crashes when the drive is closed\n", event_names[event]);
		return;
	}
	printf("# %s, %s\n", event_names[event], legacy ? "pins that are called back" : "persistent pins");
	fflush(stdout);
	if (event == KILLED)
		check_eq(in_child(reach_and_die, &stage), 128 + SIGKILL);
	else
		meet(stage, event);
	put_back(stage, event);
	must_work();
}

static void choose_pins(bool called_back)
{
	int fd = open(LEGACY_FILE, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check_eq(write(fd, called_back ? "1" : "0", 1), 1);
	close(fd);
	legacy = called_back;
}

static void row(enum stage stage)
{
	int gpu;

	if (!lane_has_patched())
		skip("there are no patches for the NVMe driver of this kernel");
	lane_use_patched(true);
	if (stage == FAILING && !stage_can_inject())
		second_drive_needed();
	lane_reload("");
	lane_drive_bdf(drive_bdf, sizeof(drive_bdf));
	gpu = gpu_open();
	card_locate(gpu);
	close(gpu);
	for (int i = 0; i < 2 * NR_EVENTS; i++) {
		choose_pins(i / NR_EVENTS);
		if (!legacy && (stage == CLOSING || stage == DEAD))
			continue;
		for (int j = 0; j < (stage == FIRST_REQUEST ? ROUNDS : 1); j++)
			cell(stage, (enum event)(i % NR_EVENTS));
	}
}

static void binding(void)
{
	row(BINDING);
}

static void bound(void)
{
	row(BOUND);
}

static void first_request(void)
{
	row(FIRST_REQUEST);
}

static void in_flight(void)
{
	row(IN_FLIGHT);
}

static void waiting_for_slots(void)
{
	row(WAITING_FOR_SLOTS);
}

static void closing(void)
{
	row(CLOSING);
}

static void dead(void)
{
	row(DEAD);
}

static void giving_back(void)
{
	row(GIVING_BACK);
}

static void failing(void)
{
	row(FAILING);
}

static const struct tap_test tests[] = {
	{ "anything_may_go_while_memory_is_bound", binding },
	{ "anything_may_go_after_memory_was_bound", bound },
	{ "anything_may_go_while_a_drive_gets_its_addresses", first_request },
	{ "anything_may_go_under_a_request_in_flight", in_flight },
	{ "anything_may_go_under_a_request_that_waits_for_slots", waiting_for_slots },
	{ "anything_may_go_while_memory_is_taken_away", closing },
	{ "anything_may_go_after_memory_was_taken_away", dead },
	{ "anything_may_go_while_memory_is_given_back", giving_back },
	/* the last one: it may bring a second drive, with which drives must not be named anew */
	{ "anything_may_go_under_requests_that_the_drive_fails", failing },
};

TAP_MAIN(tests)
