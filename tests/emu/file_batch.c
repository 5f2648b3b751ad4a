// SPDX-License-Identifier: MIT
/* Batches of reads and writes: what they move, what they refuse, how their entries end, and what ends with them. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define PIECE	  8192UL
#define NR	  128
#define FILE_SIZE (NR * PIECE)

/* An entry on the copy engine, or a plain one, takes this long when the world is slow. */
static const char *const slow_world[] = { "BARLANE_EMU_ASYNC_US", "100000", "BARLANE_FILE_PATH", "plain", NULL };

static struct tested tested;
static struct memory memory;
static unsigned char *bytes;

static void set_up(unsigned int threads)
{
	world_enter();
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_EXECUTION_MAX_IO_THREADS, threads).err, CU_FILE_SUCCESS);
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, FILE_SIZE, 1);
	memory_make(&memory, REGISTERED, FILE_SIZE);
	bytes = malloc(FILE_SIZE);
	check(bytes);
}

static void tear_down(void)
{
	memory_drop(&memory);
	tested_drop(&tested);
	free(bytes);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	world_check_rules();
}

static CUfileBatchHandle_t new_batch(unsigned int nr)
{
	CUfileBatchHandle_t batch = NULL;

	check_eq(cuFileBatchIOSetUp(&batch, nr).err, CU_FILE_SUCCESS);
	check(batch);
	return batch;
}

static CUfileIOParams_t entry(size_t nr, CUfileOpcode_t opcode)
{
	return (CUfileIOParams_t){
		.mode = CUFILE_BATCH,
		.u.batch = { memory.base, (off_t)(nr * PIECE), (off_t)(nr * PIECE), PIECE },
		.fh = tested.handle,
		.opcode = opcode,
		.cookie = (void *)(nr + 1000),
	};
}

static void submit(CUfileBatchHandle_t batch, CUfileIOParams_t *params, unsigned int nr)
{
	check_eq(cuFileBatchIOSubmit(batch, nr, params, 0).err, CU_FILE_SUCCESS);
}

/* Events until there are @nr, in whatever order and number per call; by their cookies. */
static void collect(CUfileBatchHandle_t batch, CUfileIOEvents_t *by_cookie, unsigned int nr)
{
	CUfileIOEvents_t events[NR];
	unsigned int got, room;

	for (unsigned int done = 0; done < nr; done += got) {
		struct timespec patience = { 20, 0 };

		room = nr - done < NR ? nr - done : NR;
		got = room;
		check_eq(cuFileBatchIOGetStatus(batch, 1, &got, events, &patience).err, CU_FILE_SUCCESS);
		check(got >= 1 && got <= room);
		for (unsigned int i = 0; i < got; i++) {
			size_t cookie = (size_t)events[i].cookie - 1000;

			check(cookie < NR && !by_cookie[cookie].status);
			by_cookie[cookie] = events[i];
		}
	}
}

static void all_complete(const CUfileIOEvents_t *events, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		check_eq(events[i].status, CUFILE_COMPLETE);
		check_eq(events[i].ret, PIECE);
	}
}

static void check_memory(unsigned int seed)
{
	memory_get(&memory, 0, bytes, FILE_SIZE);
	check_eq(pattern_wrong(bytes, FILE_SIZE, seed, 0), 0);
}

static void full_batches(const void *arg)
{
	CUfileIOParams_t params[NR];
	CUfileBatchHandle_t batch;

	set_up(*(const unsigned int *)arg);
	batch = new_batch(NR);
	for (unsigned int round = 0; round < 4; round++) {
		CUfileIOEvents_t events[NR] = { 0 };

		for (size_t i = 0; i < NR; i++)
			params[i] = entry(i, round % 2 ? CUFILE_WRITE : CUFILE_READ);
		submit(batch, params, NR);
		/* the array belongs to the program again */
		memset(params, 0xff, sizeof(params));
		collect(batch, events, NR);
		all_complete(events, NR);
		check_memory(round < 2 ? 1 : 2);
		if (round == 1)
			tested_fill(&tested, FILE_SIZE, 2);
	}
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void batches_read_and_write(void)
{
	for (unsigned int threads = 0; threads <= 4; threads += 2)
		child_run(full_batches, &threads, NULL);
	child_run(full_batches, &(unsigned int){ 4 }, (const char *[]){ "BARLANE_EMU_ASYNC_US", "50", NULL });
	for (const char *const *path = (const char *[]){ "mapped", "staged", "plain", NULL }; *path; path++)
		child_run(full_batches, &(unsigned int){ 3 }, (const char *[]){ "BARLANE_FILE_PATH", *path, NULL });
}

/* Reads of one half of the file and writes of the other, in several submissions and two batches. */
static void mixed(const void *arg)
{
	CUfileIOEvents_t events[2][NR] = { 0 };
	CUfileBatchHandle_t batches[2];

	set_up(4);
	memset(bytes, 0x77, FILE_SIZE);
	memory_put(&memory, 0, bytes, FILE_SIZE);
	for (int b = 0; b < 2; b++)
		batches[b] = new_batch(NR / 2);
	for (size_t i = 0; i < NR; i += 8) {
		CUfileIOParams_t params[2][4];

		for (size_t j = 0; j < 8; j++)
			params[j % 2][j / 2] = entry(i + j, i + j < NR / 2 ? CUFILE_READ : CUFILE_WRITE);
		submit(batches[0], params[0], 4);
		submit(batches[1], params[1], 4);
	}
	collect(batches[0], events[0], NR / 2);
	collect(batches[1], events[1], NR / 2);
	for (size_t i = 0; i < NR; i++)
		check_eq(events[i % 2][i].status, CUFILE_COMPLETE);
	memory_get(&memory, 0, bytes, FILE_SIZE / 2);
	check_eq(pattern_wrong(bytes, FILE_SIZE / 2, 1, 0), 0);
	check_eq(pread(tested.plain, bytes, FILE_SIZE / 2, FILE_SIZE / 2), FILE_SIZE / 2);
	check_eq(value_wrong(bytes, FILE_SIZE / 2, 0x77), 0);
	cuFileBatchIODestroy(batches[0]);
	cuFileBatchIODestroy(batches[1]);
	tear_down();
}

static void batches_mix_directions(void)
{
	child_run(mixed, NULL, NULL);
	child_run(mixed, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "200", NULL });
}

static void refusals(const void *arg)
{
	CUfileIOEvents_t events[4];
	CUfileIOParams_t params[5];
	CUfileBatchHandle_t batch = NULL;
	unsigned int nr = 4;
	struct timespec bad = { 0, 1000000000 }, none = { 0, 0 };

	set_up(4);
	check_eq(cuFileBatchIOSetUp(NULL, 1).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOSetUp(&batch, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOSetUp(&batch, 129).err, CU_FILE_INVALID_VALUE);
	check(!batch);
	batch = new_batch(4);
	for (size_t i = 0; i < 5; i++)
		params[i] = entry(i, CUFILE_READ);
	check_eq(cuFileBatchIOSubmit(batch, 4, NULL, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOSubmit(batch, 4, params, 1).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOSubmit(batch, 0, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	check_eq(cuFileBatchIOSubmit(batch, 5, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	check_eq(cuFileBatchIOSubmit((void *)0x99999, 1, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	check_eq(cuFileBatchIOSubmit(NULL, 1, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	params[2].mode = (CUfileBatchMode_t)2;
	check_eq(cuFileBatchIOSubmit(batch, 4, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	params[2].mode = CUFILE_BATCH;
	params[3].opcode = (CUfileOpcode_t)2;
	check_eq(cuFileBatchIOSubmit(batch, 4, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	params[3].opcode = CUFILE_READ;
	params[3].fh = (void *)0x12345;
	check_eq(cuFileBatchIOSubmit(batch, 4, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	/* nothing of all this has run, and all the room is there */
	check_eq(cuFileBatchIOGetStatus(batch, 0, &nr, events, &none).err, CU_FILE_SUCCESS);
	check_eq(nr, 0);
	nr = 4;
	check_eq(cuFileBatchIOGetStatus(batch, 5, &nr, events, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOGetStatus(batch, 1, NULL, events, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, NULL, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, &bad).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBatchIOGetStatus(NULL, 1, &nr, events, NULL).err, CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR);
	check_eq(cuFileBatchIOCancel(NULL).err, CU_FILE_SUCCESS);
	cuFileBatchIODestroy(NULL);
	params[3] = entry(3, CUFILE_READ);
	submit(batch, params, 4);
	cuFileBatchIODestroy(batch);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, NULL).err, CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR);
	check_eq(cuFileBatchIOSubmit(batch, 4, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void bad_calls_are_refused(void)
{
	child_run(refusals, NULL, NULL);
}

static void room(const void *arg)
{
	CUfileIOParams_t params[NR];
	CUfileIOEvents_t events[NR] = { 0 };
	CUfileBatchHandle_t batch;
	unsigned int nr = 3;

	set_up(4);
	batch = new_batch(8);
	for (size_t i = 0; i < 16; i++)
		params[i] = entry(i, CUFILE_READ);
	submit(batch, params, 5);
	check_eq(cuFileBatchIOSubmit(batch, 4, params + 5, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	submit(batch, params + 5, 3);
	check_eq(cuFileBatchIOSubmit(batch, 1, params + 8, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	/* what has been collected makes room, what has only ended does not */
	check_eq(cuFileBatchIOGetStatus(batch, 3, &nr, events, NULL).err, CU_FILE_SUCCESS);
	check_eq(nr, 3);
	check_eq(cuFileBatchIOSubmit(batch, 4, params + 8, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	submit(batch, params + 8, 3);
	nr = 8;
	check_eq(cuFileBatchIOGetStatus(batch, 8, &nr, events, NULL).err, CU_FILE_SUCCESS);
	check_eq(nr, 8);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void room_comes_with_events(void)
{
	child_run(room, NULL, NULL);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void times(const void *arg)
{
	CUfileIOParams_t params[4];
	CUfileIOEvents_t events[NR];
	CUfileBatchHandle_t batch;
	struct timespec short_time = { 0, 50000000 };
	unsigned int nr = 4;
	double start;

	set_up(1);
	batch = new_batch(4);
	/* nothing is under way: without a time this does not wait, with one it does */
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, NULL).err, CU_FILE_SUCCESS);
	check_eq(nr, 0);
	start = seconds();
	nr = 4;
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, &short_time).err, CU_FILE_SUCCESS);
	check_eq(nr, 0);
	check(seconds() - start >= 0.05 && seconds() - start < 10);
	for (size_t i = 0; i < 4; i++)
		params[i] = entry(i, CUFILE_WRITE);
	submit(batch, params, 4);
	/* each takes a tenth of a second, one after the other */
	nr = 4;
	start = seconds();
	check_eq(cuFileBatchIOGetStatus(batch, 4, &nr, events, &short_time).err, CU_FILE_SUCCESS);
	check(nr < 4);
	check(seconds() - start < 0.35);
	check_eq(cuFileBatchIOGetStatus(batch, 4 - nr, &(unsigned int){ 4 - nr }, events + nr, NULL).err,
		 CU_FILE_SUCCESS);
	for (unsigned int i = 0; i < 4; i++)
		check_eq(events[i].status, CUFILE_COMPLETE);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void waits_end_in_time(void)
{
	child_run(times, NULL, slow_world);
}

static void failures(const void *arg)
{
	CUfileIOEvents_t events[NR] = { 0 };
	CUfileIOParams_t params[16];
	CUfileBatchHandle_t batch;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CUfileHandle_t read_only;

	set_up(4);
	read_only = must_register(fd);
	batch = new_batch(16);
	for (size_t i = 0; i < 16; i++)
		params[i] = entry(i, i % 2 ? CUFILE_READ : CUFILE_WRITE);
	memset(bytes, 5, FILE_SIZE);
	params[1].u.batch.devPtr_offset = (off_t)FILE_SIZE;
	params[2].fh = read_only;
	params[3].u.batch.file_offset = (off_t)FILE_SIZE * 4;
	params[5].u.batch.size = 0;
	params[7].u.batch.devPtr_base = NULL;
	params[9].u.batch.file_offset = -1;
	submit(batch, params, 16);
	collect(batch, events, 16);
	for (size_t i = 0; i < 16; i++) {
		bool bad = i == 1 || i == 2 || i == 7 || i == 9;

		check_eq(events[i].status, bad ? CUFILE_FAILED : CUFILE_COMPLETE);
		if (bad)
			check((ssize_t)events[i].ret < 0);
		else
			check_eq(events[i].ret, i == 3 || i == 5 ? 0 : PIECE);
	}
	cuFileBatchIODestroy(batch);
	cuFileHandleDeregister(read_only);
	close(fd);
	tear_down();
}

static void failures_stay_alone(void)
{
	child_run(failures, NULL, NULL);
}

static void cancel(const void *arg)
{
	CUfileIOEvents_t events[NR] = { 0 };
	CUfileIOParams_t params[16];
	CUfileBatchHandle_t batch;
	unsigned int complete = 1, canceled = 0, nr = 1;

	set_up(1);
	batch = new_batch(16);
	for (size_t i = 0; i < 16; i++)
		params[i] = entry(i, CUFILE_WRITE);
	submit(batch, params, 16);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events, NULL).err, CU_FILE_SUCCESS);
	check_eq(events[0].status, CUFILE_COMPLETE);
	check_eq(cuFileBatchIOCancel(batch).err, CU_FILE_SUCCESS);
	memset(events, 0, sizeof(events));
	collect(batch, events, 15);
	for (size_t i = 0; i < 16; i++) {
		complete += events[i].status == CUFILE_COMPLETE;
		canceled += events[i].status == CUFILE_CANCELED && (ssize_t)events[i].ret == -ECANCELED;
	}
	check_eq(complete + canceled, 16);
	/* one had ended, one ran; a busy machine has seen some more off */
	check(canceled >= 1);
	/* the batch goes on */
	submit(batch, params, 1);
	memset(events, 0, sizeof(events));
	collect(batch, events, 1);
	check_eq(events[0].status, CUFILE_COMPLETE);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void cancel_drops_what_has_not_begun(void)
{
	child_run(cancel, NULL, slow_world);
}

static void destroy(const void *arg)
{
	CUfileIOParams_t params[16];
	CUfileBatchHandle_t batch;
	double start;

	set_up(2);
	batch = new_batch(16);
	for (size_t i = 0; i < 16; i++)
		params[i] = entry(i, CUFILE_WRITE);
	submit(batch, params, 16);
	usleep(20000);
	start = seconds();
	cuFileBatchIODestroy(batch);
	/* two run, the other fourteen are not waited for */
	check(seconds() - start < 0.9);
	tear_down();
}

static void destroy_waits_for_what_runs(void)
{
	child_run(destroy, NULL, slow_world);
}

/* What the entries need goes away while they run: they have their own hold on file and mapping. */
static void objects_go(const void *arg)
{
	CUfileIOEvents_t events[NR] = { 0 };
	CUfileIOParams_t params[8];
	CUfileBatchHandle_t batch;

	set_up(1);
	batch = new_batch(8);
	for (size_t i = 0; i < 8; i++)
		params[i] = entry(i, CUFILE_WRITE);
	submit(batch, params, 8);
	usleep(20000);
	cuFileHandleDeregister(tested.handle);
	close(tested.fd);
	check_eq(cuFileBufDeregister(memory.base).err, CU_FILE_SUCCESS);
	collect(batch, events, 8);
	for (size_t i = 0; i < 8; i++) {
		check_eq(events[i].status, CUFILE_COMPLETE);
		check_eq(events[i].ret, PIECE);
	}
	check_eq(cuFileBatchIOSubmit(batch, 8, params, 0).err, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	cuFileBatchIODestroy(batch);
	world_check_rules();
}

static void entries_outlive_registrations(void)
{
	child_run(objects_go, NULL, slow_world);
}

/* Whatever call of CUDA fails: each entry ends, in one way or the other, and the next batch is whole. */
static void fault_everywhere(const void *arg)
{
	static const char *const points[] = { "cuda.memcpy", "cuda.newstream", "cuda.host", "cuda.attr", "cuda.stream",
					      "cuda.memop", "cuda.register", "cuda.alloc", "cuda.ipc", "ioctl", "mmap" };
	CUfileIOParams_t params[16];
	CUfileBatchHandle_t batch;
	char spec[64];

	set_up(3);
	batch = new_batch(16);
	for (size_t p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
		for (int nth = 1; nth <= 6; nth++) {
			CUfileIOEvents_t events[NR] = { 0 };

			snprintf(spec, sizeof(spec), "%s:%d", points[p], nth);
			for (size_t i = 0; i < 16; i++)
				params[i] = entry(i, i % 2 ? CUFILE_READ : CUFILE_WRITE);
			check_eq(world.fault(spec), 0);
			submit(batch, params, 16);
			collect(batch, events, 16);
			check_eq(world.fault(""), 0);
			for (size_t i = 0; i < 16; i++) {
				check(events[i].status == CUFILE_COMPLETE || events[i].status == CUFILE_FAILED);
				check(events[i].status == CUFILE_COMPLETE ? events[i].ret == PIECE :
									    (ssize_t)events[i].ret < 0);
			}
			memset(events, 0, sizeof(events));
			/* a stream of the core's that could not be asked is used again when it is idle */
			check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
			submit(batch, params, 16);
			collect(batch, events, 16);
			for (size_t i = 0; i < 16; i++) {
				if (events[i].status != CUFILE_COMPLETE)
					tap_end(TAP_FAILED, "behind %s: entry %zu: status %d, %zd", spec, i,
						(int)events[i].status, (ssize_t)events[i].ret);
			}
		}
	}
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void faults_end_entries(void)
{
	child_run(fault_everywhere, NULL, NULL);
	child_run(fault_everywhere, NULL, (const char *[]){ "BARLANE_FILE_PATH", "staged", NULL });
	child_run(fault_everywhere, NULL, (const char *[]){ "BARLANE_FILE_PATH", "plain", NULL });
}

static void in_a_child(CUfileBatchHandle_t batch)
{
	CUfileIOParams_t params = entry(0, CUFILE_READ);
	CUfileIOEvents_t event;
	unsigned int nr = 1;

	if (cuFileBatchIOSubmit(batch, 1, &params, 0).err == CU_FILE_SUCCESS)
		_exit(1);
	if (cuFileBatchIOGetStatus(batch, 1, &nr, &event, NULL).err == CU_FILE_SUCCESS)
		_exit(2);
	cuFileBatchIOCancel(batch);
	cuFileBatchIODestroy(batch);
	_exit(0);
}

static void forks(const void *arg)
{
	CUfileIOEvents_t events[NR] = { 0 };
	CUfileIOParams_t params[NR];
	CUfileBatchHandle_t batch;
	int status = -1;
	pid_t pid;

	set_up(4);
	batch = new_batch(NR);
	for (size_t i = 0; i < NR; i++)
		params[i] = entry(i, CUFILE_WRITE);
	submit(batch, params, NR);
	pid = fork();
	if (!pid)
		in_a_child(batch);
	check(pid > 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	collect(batch, events, NR);
	all_complete(events, NR);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void children_have_no_batches(void)
{
	child_run(forks, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "2000", NULL });
}

/* @arg: how the process ends while entries are under way. */
static void end_in_flight(const void *arg)
{
	CUfileIOParams_t params[16];
	CUfileBatchHandle_t batch;
	int status = -1;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		set_up(4);
		batch = new_batch(16);
		for (size_t i = 0; i < 16; i++)
			params[i] = entry(i, CUFILE_WRITE);
		submit(batch, params, 16);
		usleep(10000);
		if (!strcmp(arg, "kill"))
			kill(getpid(), SIGKILL);
		exit(7);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, strcmp(arg, "kill") ? 7 << 8 : SIGKILL);
}

static void processes_end_in_flight(void)
{
	child_run(end_in_flight, "kill", slow_world);
	child_run(end_in_flight, "exit", slow_world);
}

static const struct tap_test tests[] = {
	{ "batches_read_and_write_what_single_calls_would", batches_read_and_write },
	{ "batches_mix_directions_and_run_beside_each_other", batches_mix_directions },
	{ "bad_calls_are_refused_and_run_nothing", bad_calls_are_refused },
	{ "an_entry_is_free_when_its_event_is_collected", room_comes_with_events },
	{ "waits_for_events_end_in_time", waits_end_in_time },
	{ "an_entry_that_fails_does_not_stop_the_rest", failures_stay_alone },
	{ "cancel_drops_what_has_not_begun", cancel_drops_what_has_not_begun },
	{ "destroy_waits_for_what_runs_and_drops_the_rest", destroy_waits_for_what_runs },
	{ "entries_outlive_the_registrations_that_they_use", entries_outlive_registrations },
	{ "whatever_call_of_cuda_fails_each_entry_ends", faults_end_entries },
	{ "forked_children_have_no_batches", children_have_no_batches },
	{ "processes_end_with_entries_in_flight", processes_end_in_flight },
};

TAP_MAIN(tests)
