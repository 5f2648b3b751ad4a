// SPDX-License-Identifier: MIT
#include "stage.h"

#include "drives.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RATE	  (2 * MIB)	       /* of the drive: a request takes a second */
#define HELD_MS	  300		       /* by the provider */
#define BAD	  (448 * (int64_t)MIB) /* of the second drive */
#define INJECT	  "/sys/kernel/debug/nvme0n1/fault_inject/"
#define WAIT_SECS 90

struct stage_lane lane;

/* A thread that does the work of a stage; its result is bytes, 0 or -errno. */
struct worker {
	pthread_t thread;
	bool started;
	int64_t (*run)(void);
	int64_t result;
};

static struct worker worker, freer;
static atomic_bool stop;

static void *work(void *arg)
{
	struct worker *w = arg;

	w->result = w->run();
	return NULL;
}

static void start(struct worker *w, int64_t (*run)(void))
{
	*w = (struct worker){ .run = run, .started = true };
	check_eq(pthread_create(&w->thread, NULL, work, w), 0);
}

static int64_t join(struct worker *w)
{
	struct timespec end;

	if (!w->started)
		return 0;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECS;
	check_eq(pthread_timedjoin_np(w->thread, NULL, &end), 0);
	w->started = false;
	return w->result;
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

bool stage_can_inject(void)
{
	return !access(INJECT "probability", W_OK);
}

void stage_inject(bool on)
{
	write_to(INJECT "status", "0x281"); /* unrecovered read error */
	write_to(INJECT "dont_retry", "1");
	write_to(INJECT "times", "-1");
	write_to(INJECT "probability", on ? "50" : "0");
}

static int64_t do_bind(void)
{
	return try_lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB, &lane.map);
}

int64_t stage_read(void)
{
	return lane_read(lane.node, &lane.map, lane.drive, 0, 0, (uint64_t)STAGE_READ);
}

static int64_t do_first_read(void)
{
	return lane_read(lane.node, &lane.map, lane.drive, 0, 0, 64 * KIB);
}

static bool is_of_drive(int64_t ret)
{
	return ret == -EIO || ret == -ENODATA || ret >= 0;
}

/* Good and bad ones by turns, until one ends by something else. */
static int64_t do_failing_reads(void)
{
	for (int i = 0; !atomic_load(&stop); i++) {
		int64_t pos = i & 1 ? BAD : BAD - (int64_t)MIB;
		int64_t ret = lane_read(lane.node, &lane.map, lane.drive, pos, 0, 64 * KIB);

		if (!is_of_drive(ret))
			return ret;
	}
	return 0;
}

int64_t stage_free(void)
{
	struct bl_card_free arg = { .handle = lane.mem.handle };

	return ioctl(lane.gpu, BL_CARD_IOC_FREE, &arg) ? -errno : 0;
}

static int64_t do_unmap(void)
{
	return munmap(lane.map.shadow, lane.map.shadow_len) ? -errno : 0;
}

static void wait_for_stat(const char *line, const char *name, long value)
{
	for (int i = 0; lane_stat(line, name) < value; i++) {
		check(i < WAIT_SECS * 1000);
		usleep(1000);
	}
}

static void wait_for_drive(void)
{
	for (int i = 0; !drive_load("nvme0n1"); i++) {
		check(i < WAIT_SECS * 1000);
		usleep(1000);
	}
}

void stage_set_up(void)
{
	atomic_store(&stop, false);
	lane.map = (struct lane_map){ 0 };
	lane.gpu = gpu_open();
	lane.node = lane_open();
	lane.drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(lane.drive >= 0);
	lane.mem = gpu_alloc(lane.gpu, STAGE_MEM);
}

static void reach_binding(void)
{
	long before = lane_stat("Bar1-map", "n");

	gpu_knob("delay_get_ms", HELD_MS);
	start(&worker, do_bind);
	wait_for_stat("Bar1-map", "n", before + 1);
}

static void reach_flight(size_t shadow_len)
{
	lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, shadow_len);
	drive_slow(RATE);
	start(&worker, stage_read);
	wait_for_drive();
}

static void reach_failing(void)
{
	char name[32];

	lane.injected = stage_can_inject();
	if (lane.injected) {
		stage_inject(true);
	} else {
		close(lane.drive);
		lane.drive = second_drive_open(name);
	}
	lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
	start(&worker, do_failing_reads);
	usleep(20000);
}

static void reach_closing(void)
{
	long before = lane_stat("Bar1-map", "callbacks");

	reach_flight(STAGE_MEM);
	start(&freer, stage_free);
	wait_for_stat("Bar1-map", "callbacks", before + 1);
}

static void reach_giving_back(void)
{
	unsigned char there[32];

	lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
	gpu_knob("delay_put_ms", HELD_MS);
	start(&worker, do_unmap);
	for (int i = 0; !mincore(lane.map.shadow, lane.map.shadow_len, there); i++) {
		check(i < WAIT_SECS * 1000);
		usleep(1000);
	}
}

void stage_reach(enum stage stage, unsigned int moment)
{
	switch (stage) {
	case BINDING:
		reach_binding();
		break;
	case BOUND:
		lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
		break;
	case FIRST_REQUEST:
		lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
		start(&worker, do_first_read);
		/* somewhere in it */
		usleep(moment % 4 * 300);
		break;
	case IN_FLIGHT:
		reach_flight(STAGE_MEM);
		break;
	case WAITING_FOR_SLOTS:
		reach_flight(128 * KIB);
		break;
	case FAILING:
		reach_failing();
		break;
	case CLOSING:
		reach_closing();
		break;
	case DEAD:
		lane.map = lane_bind(lane.node, lane.mem.va, STAGE_MEM, 128 * KIB);
		check_eq(stage_free(), 0);
		check_eq(lane.map.meta->state, NVIDIA_FS_DIED);
		break;
	case GIVING_BACK:
		reach_giving_back();
		break;
	}
}

int64_t stage_end(void)
{
	atomic_store(&stop, true);
	check_eq(join(&freer), 0);
	return join(&worker);
}
