// SPDX-License-Identifier: MIT
/*
 * Random requests, mappings, frees, forks and closes. What counts is that the kernel has nothing to complain about, and
 * that nothing is pinned or written afterwards.
 */
#include "fuzz.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_MEMS	 8
#define NR_VIEWS 6
#define MAX_RUNS 10 /* where the first ones got nowhere: on a busy machine */

static atomic_ulong nr_pins, nr_maps, nr_signals;

struct view {
	char *addr;
	size_t len;
};

/* what a thread has */
static _Thread_local uint64_t handles[16];
static _Thread_local struct view views[NR_VIEWS];
static _Thread_local sigjmp_buf touch_env;

static uint64_t a_handle(struct fuzz *s)
{
	switch (pick(s, 8)) {
	case 0:
		return draw(s);
	case 1:
		return pick(s, 4096);
	default:
		return handles[pick(s, 16)];
	}
}

static uint64_t an_address(struct fuzz *s)
{
	struct gpu_mem mem = a_mem(s);

	return pick(s, 10) ? mem.va + pick(s, 32) * 64 * KIB + (pick(s, 4) ? 0 : pick(s, 64 * KIB)) : draw(s);
}

static uint64_t a_size(struct fuzz *s)
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

static void do_pin(struct fuzz *s)
{
	uint64_t handle;
	int ret;

	if (pick(s, 2))
		ret = try_pin(a_file(s), an_address(s), a_size(s), &handle);
	else
		ret = try_pin_v2(a_file(s), an_address(s), a_size(s), (uint32_t)pick(s, 3), &handle);
	if (!ret) {
		handles[pick(s, 16)] = handle;
		atomic_fetch_add(&nr_pins, 1);
	}
}

/*
 * Each dma-buf begins somewhere else: when more than eight mappings begin at one address, the kernel's debugging of DMA
 * takes it for a leak.
 */
static void do_import(struct fuzz *s)
{
	struct gpu_mem mem = a_mem(s);
	struct bl_card_export out = { .off = pick(s, 512) * 4096, .handle = mem.handle };
	struct gdrdrv_pin_dmabuf arg = { .size = (1 + pick(s, 64)) * 4096, .offset = pick(s, 100) * 4096 };

	out.len = 2 * MIB - out.off;
	arg.fd = ioctl(fuzz_gpu, BL_CARD_IOC_EXPORT, &out) ? a_file(s) : out.fd;
	if (!try_request(a_file(s), GDRDRV_IOC_PIN_DMABUF, &arg))
		handles[pick(s, 16)] = arg.handle;
	if (arg.fd == out.fd && out.fd > 2)
		close(out.fd);
}

static void do_request(struct fuzz *s)
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

static void do_known(struct fuzz *s)
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

static void do_map(struct fuzz *s)
{
	struct view *view = &views[pick(s, NR_VIEWS)];
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

static void do_touch(struct fuzz *s)
{
	struct view *view = &views[pick(s, NR_VIEWS)];
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

static void do_vma(struct fuzz *s)
{
	struct view *view = &views[pick(s, NR_VIEWS)];
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

static void do_fork(struct fuzz *s)
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

static void step(struct fuzz *s)
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
		fuzz_free(s);
	else if (what < 997)
		fuzz_reopen(s, GDRDRV_PATH);
	else
		do_fork(s);
}

static void drop_views(struct fuzz *s)
{
	(void)s;
	for (size_t i = 0; i < NR_VIEWS; i++) {
		if (views[i].addr)
			munmap(views[i].addr, views[i].len);
	}
}

static int child(void *arg)
{
	struct sigaction action = { .sa_handler = touched_nothing };

	(void)arg;
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	fuzz_set_up(drv_open, NR_MEMS);
	for (int i = 0; i < MAX_RUNS && !(nr_pins && nr_maps && nr_signals); i++) {
		if (fuzz_run(step, drop_views))
			return 1;
	}
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
	fuzz_in_child(child);
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
	return fuzz_main(tests, sizeof(tests) / sizeof(tests[0]), 8, argc, argv);
}
