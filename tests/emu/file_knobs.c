// SPDX-License-Identifier: MIT
/*
 * Keys of cufile.json that bound or direct what the library does: requests under way, pinned memory, host memory, priority.
 * The lane is linked in, so that what passes between its parts can be counted.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "file/crew.h"
#include "file/io.h"
#include "file/lane.h"
#include "file_world.h"
#include "tests/tap.h"

#define OK   CU_FILE_SUCCESS
#define SIZE (8UL << 20)

static unsigned int under_way, most_under_way;

void __real_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag);
bool __real_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done);
void __wrap_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag);
bool __wrap_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done);

void __wrap_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag)
{
	if (++under_way > most_under_way)
		most_under_way = under_way;
	__real_bl_uring_post(uring, write, fd, buf, len, pos, tag);
}

bool __wrap_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done)
{
	bool took = __real_bl_uring_take(uring, done);

	under_way -= took;
	return took;
}

static void check_pattern(const unsigned char *bytes, unsigned int seed)
{
	check_eq(pattern_wrong(bytes, SIZE, seed, 0), 0);
}

/* Pieces of 64 KiB: there are more slots than a ring takes requests. */
static void keeps_to_a_depth(const void *arg)
{
	unsigned int depth = *(const unsigned int *)arg, most = depth < BL_URING_DEPTH ? depth : BL_URING_DEPTH;
	unsigned char *bytes = malloc(SIZE);
	struct memory memory;
	struct tested tested;

	world_enter();
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH, depth).err, OK);
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, 64).err, OK);
	tested_make(&tested, "disk", O_RDWR | O_DIRECT);
	if (!may_have_rings())
		skip("no io_uring, or no liburing");
	tested_fill(&tested, SIZE, 3);
	memory_make(&memory, UNREGISTERED, SIZE);
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), SIZE);
	check_eq(most_under_way, most);
	memory_get(&memory, 0, bytes, SIZE);
	check_pattern(bytes, 3);
	check_eq(ftruncate(tested.plain, 0), 0);
	most_under_way = 0;
	check_eq(cuFileWrite(tested.handle, memory.base, SIZE, 0, 0), SIZE);
	check(most_under_way >= 1 && most_under_way <= most);
	check_eq(pread(tested.plain, bytes, SIZE, 0), SIZE);
	check_pattern(bytes, 3);
	check_eq(under_way, 0);
	memory_drop(&memory);
	tested_drop(&tested);
	free(bytes);
}

static void queue_depth(void)
{
	static const unsigned int depths[] = { 1, 2, 7, 32, 33, 256 };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		child_run(keeps_to_a_depth, &depths[i], NULL);
}

/**
 * struct slabs - a configuration, and the staging areas that it makes
 */
struct slabs {
	size_t size_kb[2];
	size_t count[2];
	unsigned int lanes;
};

static void keeps_to_slabs(const void *arg)
{
	const struct slabs *slabs = arg;
	unsigned char *bytes = malloc(SIZE);
	struct bl_lane *lanes[64];
	struct memory memory;
	struct tested tested;
	struct bl_lane *more;
	struct bl_mem mem;

	world_enter();
	check_eq(cuFileSetParameterPosixPoolSlabArray(slabs->size_kb, slabs->count, 2).err, OK);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 4);
	memory_make(&memory, UNREGISTERED, SIZE);
	check_eq(bl_mem_get(memory.base, 0, SIZE, &mem), 0);
	for (unsigned int i = 0; i < slabs->lanes; i++)
		check_eq(bl_lane_get(mem.target, 1UL << 20, &lanes[i]), 0);
	check_eq(bl_lane_get(mem.target, 1UL << 20, &more), -EBUSY);
	/* the request is done without */
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), SIZE);
	memory_get(&memory, 0, bytes, SIZE);
	check_pattern(bytes, 4);
	for (unsigned int i = slabs->lanes; i--;)
		bl_lane_put(lanes[i], true);
	check_eq(bl_lane_get(mem.target, 1UL << 20, &more), 0);
	bl_lane_put(more, true);
	bl_mem_put(&mem);
	memory_drop(&memory);
	tested_drop(&tested);
	free(bytes);
}

static void pinned_memory(void)
{
	static const struct slabs slabs[] = {
		{ { 4, 1024 }, { 1, 1 }, 1 },
		{ { 1024, 16384 }, { 8, 1 }, 6 },
		{ { 1024, SIZE_MAX }, { 8, 2 }, 64 },
	};

	for (size_t i = 0; i < sizeof(slabs) / sizeof(slabs[0]); i++)
		child_run(keeps_to_slabs, &slabs[i], NULL);
}

static void refuses_host_memory(const void *arg)
{
	struct memory gpu, host, pinned;
	struct tested tested;

	world_enter();
	check_eq(cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY, false).err, OK);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 4);
	memory_make(&gpu, REGISTERED, SIZE);
	memory_make(&host, PAGEABLE, SIZE);
	memory_make(&pinned, PINNED, SIZE);
	check_eq(cuFileRead(tested.handle, gpu.base, SIZE, 0, 0), SIZE);
	check_eq(cuFileRead(tested.handle, host.base, SIZE, 0, 0), -CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	check_has(bl_last_error(NULL), "allow_system_memory");
	check_eq(cuFileWrite(tested.handle, pinned.base, SIZE, 0, 0), -CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	check_eq(cuFileBufRegister(host.base, SIZE, 0).err, CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	check_eq(cuFileDriverClose().err, OK);
	/* a parameter holds for one open */
	memory_drop(&host);
	memory_make(&host, PAGEABLE, SIZE);
	tested.handle = must_register(tested.fd);
	check_eq(cuFileRead(tested.handle, host.base, SIZE, 0, 0), SIZE);
	check_pattern(host.base, 4);
	check_eq(cuFileBufRegister(host.base, SIZE, 0).err, OK);
	check_eq(cuFileBufDeregister(host.base).err, OK);
	memory_drop(&host);
	memory_drop(&pinned);
	tested_drop(&tested);
}

static void host_memory(void)
{
	child_run(refuses_host_memory, NULL, NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static long answer;

static void ask_priority(struct bl_work *work)
{
	pthread_mutex_lock(&lock);
	answer = syscall(SYS_ioprio_get, 1, 0);
	pthread_cond_signal(&asked);
	pthread_mutex_unlock(&lock);
}

/* Of a thread of the crew. */
static long crew_priority(void)
{
	struct bl_work work = { .run = ask_priority };
	long got;

	pthread_mutex_lock(&lock);
	answer = -2;
	check_eq(bl_crew_submit(&work), 0);
	while (answer == -2)
		pthread_cond_wait(&asked, &lock);
	got = answer;
	pthread_mutex_unlock(&lock);
	return got;
}

/**
 * struct priority - a word, and what the kernel has for it
 */
static const struct priority {
	const char *word;
	long value;
} priorities[] = { { "low", 2 << 13 | 7 }, { "med", 2 << 13 | 4 }, { "high", 2 << 13 } };

static void open_with(const char *word)
{
	char path[] = "/tmp/barlane-json-XXXXXX";
	int fd = mkstemp(path);

	check(fd >= 0);
	check(dprintf(fd, "{\"properties\": {\"io_priority\": \"%s\"}}\n", word) > 0);
	close(fd);
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	check_eq(cuFileDriverOpen().err, OK);
	unlink(path);
}

static void gives_its_threads_a_priority(const void *arg)
{
	long own = syscall(SYS_ioprio_get, 1, 0), first;

	world_enter();
	open_with("default");
	first = crew_priority();
	check_eq(cuFileDriverClose().err, OK);
	for (size_t i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++) {
		open_with(priorities[i].word);
		check_eq(crew_priority(), priorities[i].value);
		check_eq(cuFileDriverClose().err, OK);
	}
	open_with("default");
	check_eq(crew_priority(), first);
	check_eq(cuFileDriverClose().err, OK);
	check_eq(syscall(SYS_ioprio_get, 1, 0), own);
}

static void io_priority(void)
{
	if (syscall(SYS_ioprio_get, 1, 0) < 0)
		skip("no I/O priorities: %s", strerror(errno));
	child_run(gives_its_threads_a_priority, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "max_io_queue_depth_bounds_what_is_under_way", queue_depth },
	{ "slabs_of_the_posix_pool_bound_pinned_memory", pinned_memory },
	{ "host_memory_is_refused_when_it_is_not_allowed", host_memory },
	{ "io_priority_is_that_of_the_threads_of_the_crew", io_priority },
};

TAP_MAIN(tests)
