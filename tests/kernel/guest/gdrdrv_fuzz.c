// SPDX-License-Identifier: MIT
/*
 * Random requests, mappings, frees, forks and closes by several threads, for some seconds: gdrdrv_fuzz [SECONDS [SEED]],
 * or LAB_STRESS seconds. What counts is that the kernel has nothing to complain about, and that nothing is pinned or
 * written afterwards.
 */
#include "gdrdrv_gpu.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_THREADS 4
#define NR_FILES   3
#define NR_MEMS	   8
#define NR_VIEWS   6

static unsigned int seconds = 8;
static unsigned int seed;
static atomic_int files[NR_FILES];
static int gpu;
static pthread_mutex_t mems_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_mem mems[NR_MEMS];
static atomic_ulong nr_calls, nr_pins, nr_maps, nr_signals, nr_failures;

struct view {
	char *addr;
	size_t len;
};

struct state {
	uint64_t random;
	uint64_t handles[16];
	struct view views[NR_VIEWS];
};

static _Thread_local sigjmp_buf touch_env;

static uint64_t draw(struct state *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static uint64_t pick(struct state *s, uint64_t nr)
{
	return draw(s) % nr;
}

static int a_file(struct state *s)
{
	return atomic_load(&files[pick(s, NR_FILES)]);
}

static uint64_t a_handle(struct state *s)
{
	switch (pick(s, 8)) {
	case 0:
		return draw(s);
	case 1:
		return pick(s, 4096);
	default:
		return s->handles[pick(s, 16)];
	}
}

static struct gpu_mem a_mem(struct state *s)
{
	struct gpu_mem mem;

	pthread_mutex_lock(&mems_lock);
	mem = mems[pick(s, NR_MEMS)];
	pthread_mutex_unlock(&mems_lock);
	return mem;
}

static uint64_t an_address(struct state *s)
{
	struct gpu_mem mem = a_mem(s);

	return pick(s, 10) ? mem.va + pick(s, 32) * 64 * KIB + (pick(s, 4) ? 0 : pick(s, 64 * KIB)) : draw(s);
}

static uint64_t a_size(struct state *s)
{
	switch (pick(s, 6)) {
	case 0:
		return draw(s);
	case 1:
		return pick(s, 70000);
	default:
		return (1 + pick(s, 8)) * 64 * KIB;
	}
}

static void do_pin(struct state *s)
{
	uint64_t handle;
	int ret;

	if (pick(s, 2))
		ret = try_pin(a_file(s), an_address(s), a_size(s), &handle);
	else
		ret = try_pin_v2(a_file(s), an_address(s), a_size(s), (uint32_t)pick(s, 3), &handle);
	if (!ret) {
		s->handles[pick(s, 16)] = handle;
		atomic_fetch_add(&nr_pins, 1);
	}
}

/*
 * Each dma-buf begins somewhere else: when more than eight mappings begin at one address, the kernel's debugging of DMA
 * takes it for a leak.
 */
static void do_import(struct state *s)
{
	struct gpu_mem mem = a_mem(s);
	struct bl_card_export out = { .off = pick(s, 512) * 4096, .handle = mem.handle };
	struct gdrdrv_pin_dmabuf arg = { .size = (1 + pick(s, 64)) * 4096, .offset = pick(s, 100) * 4096 };

	out.len = 2 * MIB - out.off;
	arg.fd = ioctl(gpu, BL_CARD_IOC_EXPORT, &out) ? a_file(s) : out.fd;
	if (!try_request(a_file(s), GDRDRV_IOC_PIN_DMABUF, &arg))
		s->handles[pick(s, 16)] = arg.handle;
	if (arg.fd == out.fd && out.fd > 2)
		close(out.fd);
}

static void do_request(struct state *s)
{
	uint64_t room[16];
	unsigned long request;

	for (size_t i = 0; i < 16; i++)
		room[i] = pick(s, 3) ? a_handle(s) : draw(s);
	if (pick(s, 4))
		request = 0xC008DA00 + pick(s, 12);
	else
		request = (uint32_t)draw(s);
	/* a random pin-dma-buf could only meet a descriptor of ours, and close is not among the requests */
	try_request(a_file(s), request, pick(s, 16) ? (void *)room : (void *)draw(s));
}

static void do_known(struct state *s)
{
	struct gdrdrv_req_mapping_type type = { .handle = a_handle(s), .mapping_type = (uint32_t)pick(s, 5) };
	struct gdrdrv_get_info info;

	switch (pick(s, 4)) {
	case 0:
		try_info(a_file(s), a_handle(s), &info);
		break;
	case 1:
		try_cb_flag(a_file(s), a_handle(s));
		break;
	case 2:
		try_request(a_file(s), GDRDRV_IOC_REQ_MAPPING_TYPE, &type);
		break;
	default:
		try_unpin(a_file(s), a_handle(s));
	}
}

static void do_map(struct state *s)
{
	struct view *view = &s->views[pick(s, NR_VIEWS)];
	size_t len = (1 + pick(s, 40)) * 4096;
	int flags = pick(s, 8) ? MAP_SHARED : MAP_PRIVATE;
	int prot = pick(s, 4) ? PROT_READ | PROT_WRITE : PROT_READ;
	void *addr;

	if (view->addr)
		munmap(view->addr, view->len);
	*view = (struct view){ 0 };
	addr = mmap(NULL, len, prot, flags, a_file(s), (off_t)(a_handle(s) * 4096));
	if (addr == MAP_FAILED)
		return;
	*view = (struct view){ addr, len };
	atomic_fetch_add(&nr_maps, 1);
}

static void touched_nothing(int sig)
{
	(void)sig;
	siglongjmp(touch_env, 1);
}

static void do_touch(struct state *s)
{
	struct view *view = &s->views[pick(s, NR_VIEWS)];
	volatile uint32_t *word;

	if (!view->addr)
		return;
	word = (volatile uint32_t *)(view->addr + (pick(s, view->len) & ~3UL));
	if (sigsetjmp(touch_env, 1)) {
		atomic_fetch_add(&nr_signals, 1);
		return;
	}
	if (pick(s, 2))
		*word = (uint32_t)draw(s);
	else
		(void)*word;
}

static void do_vma(struct state *s)
{
	struct view *view = &s->views[pick(s, NR_VIEWS)];
	void *moved;

	if (!view->addr)
		return;
	switch (pick(s, 5)) {
	case 0:
		munmap(view->addr + (pick(s, view->len) & ~4095UL), 4096);
		break;
	case 1:
		mprotect(view->addr, 4096, PROT_READ);
		break;
	case 2:
		madvise(view->addr, view->len, (int)pick(s, 26));
		break;
	case 3:
		moved = mremap(view->addr, view->len, view->len, MREMAP_MAYMOVE | (pick(s, 3) ? 0 : MREMAP_DONTUNMAP));
		if (moved != MAP_FAILED)
			view->addr = moved;
		break;
	default:
		msync(view->addr, view->len, MS_SYNC);
	}
}

/* Persistent pins keep what is freed, so video memory may be used up: then there is one allocation less for a while. */
static void do_free(struct state *s)
{
	struct gpu_mem *mem = &mems[pick(s, NR_MEMS)];
	struct bl_card_free arg = { 0 };

	pthread_mutex_lock(&mems_lock);
	arg.handle = mem->handle;
	if (mem->len && ioctl(gpu, BL_CARD_IOC_FREE, &arg))
		atomic_fetch_add(&nr_failures, 1);
	if (try_gpu_alloc(gpu, 2 * MIB, mem))
		*mem = (struct gpu_mem){ 0 };
	pthread_mutex_unlock(&mems_lock);
}

static void do_reopen(struct state *s)
{
	int fresh = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);

	if (fresh < 0)
		atomic_fetch_add(&nr_failures, 1);
	else
		close(atomic_exchange(&files[pick(s, NR_FILES)], fresh));
}

static void do_fork(struct state *s)
{
	pid_t pid = fork();

	if (!pid) {
		struct gdrdrv_get_version version;

		try_request(a_file(s), GDRDRV_IOC_GET_VERSION, &version);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void step(struct state *s)
{
	uint64_t what = pick(s, 1000);

	if (what < 200)
		do_pin(s);
	else if (what < 240)
		do_import(s);
	else if (what < 400)
		do_request(s);
	else if (what < 600)
		do_known(s);
	else if (what < 720)
		do_map(s);
	else if (what < 920)
		do_touch(s);
	else if (what < 970)
		do_vma(s);
	else if (what < 990)
		do_free(s);
	else if (what < 997)
		do_reopen(s);
	else
		do_fork(s);
	atomic_fetch_add(&nr_calls, 1);
}

static void *work(void *arg)
{
	struct state s = { .random = ((uint64_t)seed << 8 | (uintptr_t)arg) * 0x9e3779b97f4a7c15UL + 1 };
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		for (int i = 0; i < 50; i++)
			step(&s);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	for (size_t i = 0; i < NR_VIEWS; i++) {
		if (s.views[i].addr)
			munmap(s.views[i].addr, s.views[i].len);
	}
	return NULL;
}

static int fuzz_in_child(void *arg)
{
	struct sigaction action = { .sa_handler = touched_nothing };
	pthread_t threads[NR_THREADS];

	(void)arg;
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	gpu = gpu_open();
	for (size_t i = 0; i < NR_FILES; i++)
		files[i] = drv_open();
	for (size_t i = 0; i < NR_MEMS; i++)
		mems[i] = gpu_alloc(gpu, 2 * MIB);
	for (size_t i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	}
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("# %lu calls, %lu pins, %lu maps, %lu signals\n", nr_calls, nr_pins, nr_maps, nr_signals);
	fflush(stdout);
	/* a run that did not get anywhere shows nothing */
	if (nr_failures)
		return 3;
	return nr_pins && nr_maps && nr_signals ? 0 : 2;
}

/* In a child, whose end must clear up what the threads left. */
static void fuzz(const char *parameters)
{
	int card;

	drv_reload(parameters);
	printf("# seed %u, %u seconds\n", seed, seconds);
	fflush(stdout);
	check_eq(in_child(fuzz_in_child, NULL), 0);
	card = gpu_open();
	check_clean(card);
	check_eq(gpu_counters(card).dmabufs, 0);
	check_eq(gpu_counters(card).used, 0);
	close(card);
}

static void fuzz_persistent(void)
{
	fuzz("dbg_enabled=1");
}

static void fuzz_otherwise(void)
{
	fuzz("dbg_enabled=1 use_persistent_mapping=0");
}

static const struct tap_test tests[] = {
	{ "random_use_leaves_nothing_behind_persistent", fuzz_persistent },
	{ "random_use_leaves_nothing_behind", fuzz_otherwise },
};

int main(int argc, char **argv)
{
	const char *stress = getenv("LAB_STRESS");

	seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : (unsigned int)time(NULL);
	if (argc > 1)
		seconds = (unsigned int)strtoul(argv[1], NULL, 0);
	else if (stress)
		seconds = (unsigned int)strtoul(stress, NULL, 0) / 2;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), 1, argv);
}
