// SPDX-License-Identifier: MIT
/* The emulated card gives memory to processes, and sees who touches it afterwards. */
#include "card.h"
#include "host.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int card;

static void loads(void)
{
	check_eq(module_load("bl_card"), 0);
	card = card_open();
	check(card >= 0);
}

static void describes_itself(void)
{
	struct bl_card_info info, other;
	int second = card_open();

	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
	check_eq(request(second, BL_CARD_IOC_INFO, &other), 0);
	check(info.size >= 16 * BLOCK);
	check(info.p2p_token && info.va_space);
	check(info.p2p_token != other.p2p_token && info.va_space != other.va_space);
	close(second);
}

static void objects_are_blocks(void)
{
	struct object one, two;

	check_eq(object_new(card, 1, &one), 0);
	check_eq(object_new(card, BLOCK + 1, &two), 0);
	check_eq(one.size, BLOCK);
	check_eq(two.size, 2 * BLOCK);
	check(one.off && !(one.off & (BLOCK - 1)));
	check_eq(two.off, one.off + BLOCK);
	check_eq(counters(card, false).used, 3 * BLOCK);
	check_eq(object_free(card, &one), 0);
	check_eq(object_free(card, &two), 0);
	check_eq(counters(card, false).used, 0);
}

static void requests_that_make_no_sense(void)
{
	struct object object;
	struct bl_card_alloc alloc = { .size = 1, .flags = 2 };
	struct bl_card_export export = { .len = 4096, .flags = 2 };
	struct bl_card_counters counts = { .flags = 2 };
	struct bl_card_free gone;

	check_eq(object_new(card, 0, &object), -EINVAL);
	check_eq(object_new(card, 1ULL << 50, &object), -ENOMEM);
	check_eq(request(card, BL_CARD_IOC_ALLOC, &alloc), -EINVAL);
	check_eq(object_new(card, BLOCK, &object), 0);
	export.handle = object.handle;
	check_eq(request(card, BL_CARD_IOC_EXPORT, &export), -EINVAL);
	check_eq(request(card, BL_CARD_IOC_COUNTERS, &counts), -EINVAL);
	check_eq(request(card, _IO(BL_CARD_IOC_TYPE, 99), NULL), -ENOTTY);
	check_eq(request(card, BL_CARD_IOC_FREE, NULL), -EFAULT);
	check_eq(object_free(card, &object), 0);
	gone = (struct bl_card_free){ .handle = object.handle };
	check_eq(request(card, BL_CARD_IOC_FREE, &gone), -ENOENT);
}

static void addresses_are_checked(void)
{
	struct object object, other;
	int second = card_open();

	check_eq(object_new(card, 2 * BLOCK, &object), 0);
	check_eq(object_new(second, BLOCK, &other), 0);
	struct {
		struct bl_card_bind arg;
		int want;
	} cases[] = {
		{ { .va = 0, .len = BLOCK, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = 0, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA + 4096, .len = BLOCK, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = 4096, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = BLOCK, .off = 4096, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = BLOCK, .off = 2 * BLOCK, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = 3 * BLOCK, .handle = object.handle }, -EINVAL },
		{ { .va = -GPU_PAGE, .len = BLOCK, .handle = object.handle }, -EINVAL },
		{ { .va = FIRST_VA, .len = BLOCK, .handle = object.handle + 100 }, -ENOENT },
		{ { .va = FIRST_VA, .len = BLOCK, .handle = object.handle, .reserved = 1 }, -EINVAL },
		{ { .va = FIRST_VA, .len = BLOCK, .handle = object.handle }, 0 },
		{ { .va = FIRST_VA, .len = BLOCK, .handle = object.handle }, -EEXIST },
		{ { .va = FIRST_VA + GPU_PAGE, .len = BLOCK, .off = BLOCK, .handle = object.handle }, -EEXIST },
		{ { .va = FIRST_VA + BLOCK, .len = BLOCK, .off = BLOCK, .handle = object.handle }, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		printf("# case %zu\n", i);
		check_eq(request(card, BL_CARD_IOC_BIND, &cases[i].arg), cases[i].want);
	}
	/* a pointer means one thing in a process */
	check_eq(object_bind(second, &other, FIRST_VA), -EEXIST);
	check_eq(request(card, BL_CARD_IOC_UNBIND, &(struct bl_card_range){ FIRST_VA, GPU_PAGE }), -ENOENT);
	check_eq(request(card, BL_CARD_IOC_UNBIND, &(struct bl_card_range){ FIRST_VA, BLOCK }), 0);
	check_eq(object_bind(second, &other, FIRST_VA), 0);
	close(second);
	check_eq(object_free(card, &object), 0);
}

static void bytes_are_the_hosts(void)
{
	struct object object;
	volatile uint8_t *at;

	check_eq(object_new(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	check(at);
	for (unsigned int i = 0; i < 4096; i += 2) {
		at[GPU_PAGE + i] = 0xca;
		at[GPU_PAGE + i + 1] = 0x4d;
	}
	check(host_ask("check", object.off + GPU_PAGE, 4096, "ca4d"));
	check(host_ask("fill", object.off + BLOCK - 16, 16, "00112233"));
	check_eq(at[BLOCK - 16], 0x00);
	check_eq(at[BLOCK - 1], 0x33);
	munmap((void *)at, BLOCK);
	check_eq(object_free(card, &object), 0);
}

static void mappings_stay_inside_an_object(void)
{
	struct object one, two;
	int second = card_open();

	check_eq(object_new(card, BLOCK, &one), 0);
	check_eq(object_new(card, BLOCK, &two), 0);
	check(mmap(NULL, 2 * BLOCK, PROT_READ, MAP_SHARED, card, (off_t)one.off) == MAP_FAILED && errno == EINVAL);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, card, 0) == MAP_FAILED && errno == EINVAL);
	check(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, card, (off_t)one.off) == MAP_FAILED && errno == EINVAL);
	check(!object_map(second, &one) && errno == EINVAL);
	close(second);
	check_eq(object_free(card, &one), 0);
	check_eq(object_free(card, &two), 0);
}

static void access_after_free(void)
{
	struct object object, next;
	volatile uint8_t *at;

	check_eq(object_new(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	at[0] = 1;
	check(!read_is_sigbus(at));
	check_eq(object_free(card, &object), 0);
	check(read_is_sigbus(at));
	check(read_is_sigbus(at + BLOCK - 1));
	/* nor does it show who has the place now */
	check_eq(object_new(card, BLOCK, &next), 0);
	check_eq(next.off, object.off);
	check(read_is_sigbus(at));
	munmap((void *)at, BLOCK);
	check_eq(object_free(card, &next), 0);
}

static void freed_memory_is_poisoned(void)
{
	struct bl_card_counters before = counters(card, true), after;
	struct object object;
	volatile uint8_t *at;

	check_eq(object_new(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	for (uint64_t i = 0; i < BLOCK; i += 4096)
		at[i] = 0x11;
	munmap((void *)at, BLOCK);
	check_eq(object_free(card, &object), 0);
	check(host_ask("check", object.off, BLOCK, "db"));
	after = counters(card, true);
	check_eq(after.late_writes, before.late_writes);
	check(after.poisoned >= BLOCK);
}

static void late_write_is_found(void)
{
	struct bl_card_counters before = counters(card, true);
	struct object object;

	check_eq(object_new(card, BLOCK, &object), 0);
	check_eq(object_free(card, &object), 0);
	check(host_ask("fill", object.off + 3 * GPU_PAGE + 17, 1, "00"));
	check(host_ask("fill", object.off + BLOCK - 1, 1, "5a"));
	check_eq(counters(card, false).late_writes, before.late_writes);
	check_eq(counters(card, true).late_writes, before.late_writes + 2);
	/* each once, and found again when it happens again */
	check_eq(counters(card, true).late_writes, before.late_writes + 2);
	check(host_ask("fill", object.off, 1, "00"));
	check_eq(object_new(card, BLOCK, &object), 0);
	check_eq(counters(card, false).late_writes, before.late_writes + 3);
	check_eq(object_free(card, &object), 0);
}

static void large_objects_are_not_poisoned(void)
{
	struct bl_card_counters before = counters(card, false);
	struct object object;
	uint64_t limit = knob_value("poison_max_mib");

	check_eq(object_new(card, 2 * BLOCK, &object), 0);
	knob("poison_max_mib", 2);
	check_eq(object_free(card, &object), 0);
	knob("poison_max_mib", limit);
	check_eq(counters(card, false).unpoisoned, before.unpoisoned + 1);
	check_eq(counters(card, true).late_writes, before.late_writes);
}

static void memory_runs_out(void)
{
	struct bl_card_info info;
	struct object object, more;

	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
	check_eq(object_new(card, info.size, &object), -ENOMEM);
	/* one block is kept back */
	check_eq(object_new(card, info.size - BLOCK, &object), 0);
	check_eq(object_new(card, 1, &more), -ENOMEM);
	check_eq(object_free(card, &object), 0);
}

static void chosen_call_fails(void)
{
	struct object object;

	knob("fail_errno", EIO);
	knob("fail_alloc", 2);
	check_eq(object_new(card, 1, &object), 0);
	check_eq(object_free(card, &object), 0);
	check_eq(knob_value("fail_alloc"), 1);
	check_eq(object_new(card, 1, &object), -EIO);
	check_eq(object_new(card, 1, &object), 0);
	check_eq(object_free(card, &object), 0);
	knob("fail_errno", ENOMEM);
}

static int use_of_parents_file(void *arg)
{
	struct object *object = arg;
	struct bl_card_info info;

	if (request(card, BL_CARD_IOC_INFO, &info) != -EACCES || object_free(card, object) != -EACCES)
		return 1;
	return object_map(card, object) || errno != EACCES;
}

static void other_process_is_refused(void)
{
	struct object object;
	volatile uint8_t *at;

	check_eq(object_new(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	at[0] = 7;
	check_eq(in_child(use_of_parents_file, &object), 0);
	check_eq(at[0], 7);
	munmap((void *)at, BLOCK);
	check_eq(object_free(card, &object), 0);
}

static int owner_dies(void *arg)
{
	int *pipe_fds = arg, own = card_open();
	struct object object;

	if (object_new(own, 4 * BLOCK, &object) || !object_map(own, &object))
		return 1;
	/* the grandchild has the descriptor until the test closes the pipe */
	if (!fork()) {
		char byte;

		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) != 0);
	}
	return 0;
}

static void dead_owners_memory_comes_back(void)
{
	uint64_t before = counters(card, false).used;
	int fds[2];

	check_eq(pipe(fds), 0);
	check_eq(in_child(owner_dies, fds), 0);
	check_eq(counters(card, false).used, before);
	close(fds[0]);
	close(fds[1]);
}

static void unloads(void)
{
	check_eq(counters(card, true).used, 0);
	check_eq(module_unload("bl_card"), -EAGAIN);
	close(card);
	check(card_unload());
}

static const struct tap_test tests[] = {
	{ "the driver loads", loads },
	{ "each file is an address space of its own", describes_itself },
	{ "objects are whole blocks side by side", objects_are_blocks },
	{ "requests that make no sense are refused", requests_that_make_no_sense },
	{ "addresses are checked", addresses_are_checked },
	{ "bytes go through to the host", bytes_are_the_hosts },
	{ "mappings stay inside one object of the file", mappings_stay_inside_an_object },
	{ "an access after the free is SIGBUS", access_after_free },
	{ "freed memory is poisoned", freed_memory_is_poisoned },
	{ "a late write is found, by a look and by the next user", late_write_is_found },
	{ "objects above the limit are counted and not poisoned", large_objects_are_not_poisoned },
	{ "memory runs out", memory_runs_out },
	{ "the chosen call fails", chosen_call_fails },
	{ "another process is refused", other_process_is_refused },
	{ "a dead owner's memory comes back though a child has the file", dead_owners_memory_comes_back },
	{ "the driver unloads when nothing uses it", unloads },
};

TAP_MAIN(tests)
