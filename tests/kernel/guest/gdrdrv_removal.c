// SPDX-License-Identifier: MIT
/*
 * The card goes while it is pinned, mapped and copied to: unbound from its driver, removed from the bus, unplugged with
 * and without a word before. Accesses are SIGBUS then, the callback flag is 1, a new pin is ENODEV, an unpin works; and
 * when a card is there again nothing reaches it through what is old.
 */
#include "gdrdrv_gpu.h"
#include "hotplug.h"
#include "state.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERSISTENT     "dbg_enabled=1"
#define NOT_PERSISTENT "dbg_enabled=1 use_persistent_mapping=0"

static int gpu = -1, drv = -1;

/* What is in use when the card goes. */
struct use {
	struct gpu_mem mem;
	uint64_t handle;
	void *addr;
};

static struct use by_pin, by_dmabuf;
static void *card_view;

static void begin(const char *parameters)
{
	/* also what a test that failed left */
	close(drv);
	close(gpu);
	drv_reload(parameters);
	gpu = gpu_open();
	drv = drv_open();
	card_locate(gpu);
}

static void use_pin(struct use *use)
{
	use->mem = gpu_alloc(gpu, 2 * MIB);
	use->handle = drv_pin(drv, &use->mem);
	use->addr = drv_map(drv, use->handle, use->mem.len);
	*(volatile uint32_t *)use->addr = 1;
}

static void use_dmabuf(struct use *use)
{
	struct gdrdrv_pin_dmabuf arg = { .size = 2 * MIB };

	use->mem = gpu_alloc(gpu, 2 * MIB);
	arg.fd = gpu_export(gpu, &use->mem, 0, 2 * MIB);
	check_eq(try_request(drv, GDRDRV_IOC_PIN_DMABUF, &arg), 0);
	close(arg.fd);
	use->handle = arg.handle;
	use->addr = drv_map(drv, use->handle, use->mem.len);
	*(volatile uint32_t *)use->addr = 2;
}

struct copier {
	pthread_t thread;
	void *dst;
	atomic_bool stop;
	atomic_ulong rounds;
};

static _Thread_local sigjmp_buf copier_env;

static void copier_hit(int sig)
{
	(void)sig;
	siglongjmp(copier_env, 1);
}

static bool copy_once(void *dst)
{
	static const char src[64 * KIB];

	if (sigsetjmp(copier_env, 1))
		return false;
	memcpy(dst, src, sizeof(src));
	return true;
}

/* Ends with the signal that a copy gets, or when it is told to. */
static void *copy_until_bus(void *arg)
{
	struct copier *copier = arg;

	while (!atomic_load(&copier->stop)) {
		if (!copy_once(copier->dst))
			return NULL;
		atomic_fetch_add(&copier->rounds, 1);
	}
	return copier;
}

static void copier_start(struct copier *copier, void *dst)
{
	*copier = (struct copier){ .dst = dst };
	check_eq(pthread_create(&copier->thread, NULL, copy_until_bus, copier), 0);
	while (atomic_load(&copier->rounds) < 2)
		usleep(1000);
}

static void copier_must_have_died(struct copier *copier)
{
	void *result;

	/* it cannot get far with pages that are not there */
	usleep(100000);
	atomic_store(&copier->stop, true);
	check_eq(pthread_join(copier->thread, &result), 0);
	check(!result);
}

static void must_be_gone(const struct use *use)
{
	uint32_t value;
	void *addr;

	check_eq(load_signal(use->addr, &value), SIGBUS);
	check_eq(load_signal((char *)use->addr + MIB, &value), SIGBUS);
	check_eq(try_cb_flag(drv, use->handle), 1);
	check_eq(try_map(drv, use->handle, 4096, &addr), -EINVAL);
}

static void give_up(const struct use *use)
{
	check_eq(munmap(use->addr, use->mem.len), 0);
	check_eq(try_unpin(drv, use->handle), 0);
	check_eq(try_unpin(drv, use->handle), -EINVAL);
}

static void card_must_be_gone(void)
{
	struct bl_card_info info;
	uint32_t value;
	uint64_t handle;

	check_eq(load_signal(card_view, &value), SIGBUS);
	check_eq(try_request(gpu, BL_CARD_IOC_INFO, &info), -ENODEV);
	check_eq(open(BL_CARD_PATH, O_RDWR | O_CLOEXEC), -1);
	check_eq(errno, ENODEV);
	check_eq(try_pin(drv, by_pin.mem.va, by_pin.mem.len, &handle), -ENODEV);
	/* what is open, pinned or mapped keeps the modules */
	check_eq(try_module_unload("gdrdrv"), -EAGAIN);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
}

/* A card is there again, perhaps at the addresses of the old one. */
static void new_card_must_work(void)
{
	struct state empty = { 0 }, state;
	struct use fresh;
	int old = gpu;

	close(drv);
	gpu = gpu_open();
	state = state_now(gpu);
	state_check(&state, &empty);
	drv = drv_open();
	use_pin(&fresh);
	give_up(&fresh);
	gpu_free(gpu, &fresh.mem);
	/* the file of the old card is a burden for nobody */
	close(old);
	state = state_now(gpu);
	state_check(&state, &empty);
	close(drv);
	check_clean(gpu);
	close(gpu);
	drv = gpu = -1;
}

/* @late: what was pinned is only given up when a card is there again */
static void goes_while_used(const struct way *way, const char *parameters, bool late)
{
	struct sigaction action = { .sa_handler = copier_hit }, old;
	struct copier copier;
	struct gpu_mem view;

	begin(parameters);
	use_pin(&by_pin);
	use_dmabuf(&by_dmabuf);
	view = gpu_alloc(gpu, 2 * MIB);
	card_view = mmap(NULL, view.len, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)view.offset);
	check(card_view != MAP_FAILED);
	*(volatile uint32_t *)card_view = 3;
	sigaction(SIGBUS, &action, &old);
	copier_start(&copier, by_pin.addr);
	check_eq(try_module_unload("gdrdrv"), -EAGAIN);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
	way->take();
	copier_must_have_died(&copier);
	sigaction(SIGBUS, &old, NULL);

	must_be_gone(&by_pin);
	must_be_gone(&by_dmabuf);
	card_must_be_gone();
	if (late) {
		way->give();
		must_be_gone(&by_pin);
		must_be_gone(&by_dmabuf);
	}
	munmap(card_view, view.len);
	give_up(&by_pin);
	give_up(&by_dmabuf);
	check_eq(drv_nr_pins(), 0);
	if (!late)
		way->give();
	new_card_must_work();
}

static void unbound(void)
{
	goes_while_used(&way_unbind, NOT_PERSISTENT, false);
}

static void unbound_persistent(void)
{
	goes_while_used(&way_unbind, PERSISTENT, true);
}

static void removed(void)
{
	goes_while_used(&way_remove, NOT_PERSISTENT, true);
}

static void removed_persistent(void)
{
	goes_while_used(&way_remove, PERSISTENT, false);
}

/* Only in guests that have no other long tests: the kernel takes seconds for a slot. */
static void takes_long(void)
{
	const char *kernel = getenv("LAB_KERNEL"), *iommu = getenv("LAB_IOMMU");

	if (slots_are_watched() && kernel && iommu && strcmp(iommu, strcmp(kernel, "6.1") ? "off" : "on"))
		skip("takes long: on 6.1 with an IOMMU and 6.12 without");
}

static void unplugged(void)
{
	if (!slots_are_watched())
		skip("this kernel does not watch its slots");
	takes_long();
	goes_while_used(&way_unplug, NOT_PERSISTENT, false);
}

static void torn_out(void)
{
	takes_long();
	goes_while_used(&way_surprise, NOT_PERSISTENT, false);
}

static void torn_out_persistent(void)
{
	takes_long();
	goes_while_used(&way_surprise, PERSISTENT, true);
}

static atomic_bool race_ends;
static atomic_ulong nr_pinned, nr_refused, nr_odd;

/* Opens, pins, maps, touches as long as the race goes; each step may find the card gone. */
static void *pin_without_end(void *arg)
{
	struct sigaction action = { .sa_handler = copier_hit };

	(void)arg;
	sigaction(SIGBUS, &action, NULL);
	while (!atomic_load(&race_ends)) {
		int card = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC), ret;
		void *addr = NULL;
		struct gpu_mem mem;
		uint64_t handle;

		ret = card < 0 ? -errno : try_gpu_alloc(card, 2 * MIB, &mem);
		if (!ret)
			ret = try_pin(drv, mem.va, mem.len, &handle);
		if (!ret) {
			atomic_fetch_add(&nr_pinned, 1);
			if (!try_map(drv, handle, mem.len, &addr)) {
				if (!sigsetjmp(copier_env, 1))
					*(volatile uint32_t *)addr = 7;
				munmap(addr, mem.len);
			}
			if (try_unpin(drv, handle))
				atomic_fetch_add(&nr_odd, 1);
		} else if (ret == -ENODEV || ret == -EINVAL) {
			/* EINVAL: the memory went with the card, and another one has come */
			atomic_fetch_add(&nr_refused, 1);
		} else {
			atomic_fetch_add(&nr_odd, 1);
		}
		if (card >= 0)
			close(card);
	}
	return NULL;
}

static void goes_as_it_is_pinned(const char *parameters)
{
	pthread_t threads[2];

	begin(parameters);
	race_ends = false;
	nr_pinned = nr_refused = nr_odd = 0;
	for (size_t i = 0; i < 2; i++)
		check_eq(pthread_create(&threads[i], NULL, pin_without_end, NULL), 0);
	for (unsigned int i = 0; i < 40; i++) {
		usleep(i * 1337 % 40000);
		way_unbind.take();
		usleep(i % 3 * 1000);
		way_unbind.give();
	}
	race_ends = true;
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	signal(SIGBUS, SIG_DFL);
	printf("# %lu pinned, %lu refused\n", nr_pinned, nr_refused);
	check_eq(nr_odd, 0);
	check(nr_pinned);
	check_eq(drv_nr_pins(), 0);
	new_card_must_work();
}

static void race(void)
{
	goes_as_it_is_pinned(NOT_PERSISTENT);
}

static void race_persistent(void)
{
	goes_as_it_is_pinned(PERSISTENT);
}

static const struct tap_test tests[] = {
	{ "a_card_unbound_while_used_is_sigbus", unbound },
	{ "a_card_unbound_while_used_is_sigbus_persistent", unbound_persistent },
	{ "a_card_removed_while_used_is_sigbus", removed },
	{ "a_card_removed_while_used_is_sigbus_persistent", removed_persistent },
	{ "a_card_unplugged_while_used_is_sigbus", unplugged },
	{ "a_card_torn_out_while_used_is_sigbus", torn_out },
	{ "a_card_torn_out_while_used_is_sigbus_persistent", torn_out_persistent },
	{ "a_card_unbound_as_it_is_pinned_leaves_nothing", race },
	{ "a_card_unbound_as_it_is_pinned_leaves_nothing_persistent", race_persistent },
};

TAP_MAIN(tests)
