// SPDX-License-Identifier: MIT
/* nvidia_p2p_get_pages() and its relatives as the emulated card serves them, from a client in the kernel. */
#include "card.h"
#include "host.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int card, client;
static struct bl_card_info info;

static void loads(void)
{
	/* the client takes the functions from whoever has them, at its first call */
	check_eq(module_load("bl_p2ptest"), 0);
	client = client_open();
	check(client >= 0);
	check_eq(client_get(client, 0, 0, FIRST_VA, GPU_PAGE), -ENXIO);
	check_eq(module_load("bl_card"), 0);
	card = card_open();
	check(card >= 0);
	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
}

static uint64_t bar_pa(void)
{
	char path[96];
	uint64_t start = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/resource", info.domain, info.bus,
		 info.devfn >> 3, info.devfn & 7);
	file = fopen(path, "re");
	if (!file)
		return 0;
	for (int line = 0; line < 3; line++) {
		unsigned long long first, last, flags;

		if (fscanf(file, "%llx %llx %llx", &first, &last, &flags) == 3)
			start = first;
	}
	fclose(file);
	return start;
}

static void table_describes_the_pages(void)
{
	struct object object;
	struct p2ptest_get get = { .len = 3 * GPU_PAGE };

	check_eq(object_bound(card, BLOCK, &object), 0);
	get.va = object.va + 2 * GPU_PAGE;
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	check_eq(get.version, 0x20000);
	check_eq(get.page_size, 1);
	check_eq(get.entries, 3);
	check_eq(get.table_flags, 0);
	check(get.contiguous);
	check_eq(get.pa, bar_pa() + object.off + 2 * GPU_PAGE);
	check_eq(counters(card, false).pins, 1);
	check_eq(client_put(client, 0, 0, get.va), 0);
	check_eq(counters(card, false).pins, 0);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 0);
}

static void versions_can_be_chosen(void)
{
	struct object object;
	struct p2ptest_get get = { .len = GPU_PAGE };

	check_eq(object_bound(card, BLOCK, &object), 0);
	get.va = object.va;
	knob("page_table_version", 0x10002);
	knob("page_size", 2);
	knob("cacheable", 1);
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	check_eq(get.version, 0x10002);
	check_eq(get.page_size, 2);
	check_eq(get.table_flags, 0);
	check_eq(client_put(client, 0, 0, get.va), 0);
	knob("page_table_version", 0x20000);
	knob("page_size", 1);
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	check_eq(get.version, 0x20000);
	check_eq(get.table_flags, 1);
	check_eq(client_put(client, 0, 0, get.va), 0);
	knob("cacheable", 0);
	check_eq(object_free(card, &object), 0);
}

static void ranges_are_checked(void)
{
	struct object one, two;

	check_eq(object_new(card, BLOCK, &one), 0);
	check_eq(object_new(card, BLOCK, &two), 0);
	check_eq(object_bind(card, &one, 0x7e0000000000), 0);
	check_eq(object_bind(card, &two, one.va + BLOCK), 0);
	const struct {
		uint64_t va, len;
		uint32_t flags;
	} cases[] = {
		{ one.va + 4096, GPU_PAGE, 0 },
		{ one.va, 4096, 0 },
		{ one.va, 0, 0 },
		{ 0, GPU_PAGE, 0 },
		{ one.va - GPU_PAGE, GPU_PAGE, 0 },
		{ two.va + BLOCK, GPU_PAGE, 0 },
		{ one.va, BLOCK + GPU_PAGE, 0 },
		{ one.va + BLOCK - GPU_PAGE, 2 * GPU_PAGE, 0 },
		{ one.va, -GPU_PAGE, 0 },
		{ one.va, GPU_PAGE, P2PTEST_NO_CALLBACK },
		{ one.va + 4096, GPU_PAGE, P2PTEST_PERSISTENT },
		{ one.va, BLOCK + GPU_PAGE, P2PTEST_PERSISTENT },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		printf("# case %zu\n", i);
		check_eq(client_get(client, 0, cases[i].flags, cases[i].va, cases[i].len), -EINVAL);
	}
	check_eq(counters(card, false).pins, 0);
	check_eq(object_free(card, &one), 0);
	check_eq(object_free(card, &two), 0);
}

struct token_case {
	uint64_t token, va;
	uint32_t va_space;
};

static int get_with(void *arg)
{
	const struct token_case *want = arg;
	struct p2ptest_get get = {
		.slot = 1, .token = want->token, .va_space = want->va_space, .va = want->va, .len = GPU_PAGE
	};
	int ret = request(client, P2PTEST_IOC_GET, &get);

	if (!ret)
		ret = client_put(client, 1, 0, want->va);
	return -ret;
}

static void tokens_are_honoured(void)
{
	struct bl_card_info other;
	struct object object;
	int second = card_open();

	check_eq(request(second, BL_CARD_IOC_INFO, &other), 0);
	check_eq(object_bound(card, BLOCK, &object), 0);
	struct token_case none = { 0, object.va, 0 }, right = { info.p2p_token, object.va, info.va_space };
	struct token_case wrong = { info.p2p_token + 100, object.va, info.va_space };
	struct token_case others = { other.p2p_token, object.va, other.va_space };
	struct token_case mixed = { info.p2p_token, object.va, other.va_space };
	struct token_case half = { info.p2p_token, object.va, 0 };

	check_eq(get_with(&none), 0);
	check_eq(get_with(&right), 0);
	check_eq(get_with(&wrong), EINVAL);
	check_eq(get_with(&others), EINVAL);
	check_eq(get_with(&mixed), EINVAL);
	check_eq(get_with(&half), EINVAL);
	close(second);
	check_eq(object_free(card, &object), 0);
}

/* In a child: memory of its own, at its parent's address, pinned with tokens of either. */
static int own_or_parents(void *arg)
{
	struct token_case want = *(const struct token_case *)arg;
	struct bl_card_info own;
	struct object object;
	int fd = card_open();

	if (fd < 0 || request(fd, BL_CARD_IOC_INFO, &own) || object_new(fd, BLOCK, &object) ||
	    object_bind(fd, &object, want.va))
		return 1;
	if (get_with(&want) != EINVAL)
		return 2;
	want.token = own.p2p_token;
	want.va_space = own.va_space;
	if (get_with(&want))
		return 3;
	return 0;
}

static void tokens_open_nothing_to_a_child(void)
{
	uint64_t before = counters(card, false).gets;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	struct token_case none = { 0, object.va, 0 }, right = { info.p2p_token, object.va, info.va_space };
	struct token_case wrong = { info.p2p_token + 100, object.va, info.va_space };

	check_eq(in_child(get_with, &none), EINVAL);
	check_eq(in_child(get_with, &right), EINVAL);
	check_eq(in_child(get_with, &wrong), EINVAL);
	check_eq(counters(card, false).gets, before);
	check_eq(counters(card, false).pins, 0);
	/* nor when it has an address space, and memory at that address */
	check_eq(in_child(own_or_parents, &right), 0);
	check_eq(counters(card, false).gets, before + 1);
	/* and its parent still can */
	check_eq(get_with(&right), 0);
	check_eq(object_free(card, &object), 0);
}

static void free_calls_back_once(void)
{
	struct bl_card_counters before = counters(card, false), after;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	for (uint32_t slot = 0; slot < 3; slot++)
		check_eq(client_get(client, slot, 0, object.va, GPU_PAGE), 0);
	check_eq(client_put(client, 2, 0, object.va), 0);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(client_called(client, 1), 1);
	check_eq(client_called(client, 2), 0);
	/* the client cannot know in time, so a late put is no error */
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(client_put(client, 1, 0, object.va), 0);
	after = counters(card, true);
	check_eq(after.pins, 0);
	check_eq(after.callbacks, before.callbacks + 2);
	check_eq(after.late_puts, before.late_puts + 2);
	check_eq(after.misuses, before.misuses);
}

static void parts_call_back_whom_they_touch(void)
{
	struct bl_card_range part, whole;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, 0, object.va, 2 * GPU_PAGE), 0);
	check_eq(client_get(client, 1, 0, object.va + 2 * GPU_PAGE, GPU_PAGE), 0);
	part = (struct bl_card_range){ object.va + GPU_PAGE, 512 };
	check_eq(request(card, BL_CARD_IOC_FREED, &part), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(client_called(client, 1), 0);
	whole = (struct bl_card_range){ object.va, object.size };
	check_eq(request(card, BL_CARD_IOC_UNBIND, &whole), 0);
	check_eq(client_called(client, 1), 1);
	check_eq(request(card, BL_CARD_IOC_FREED, &part), -ENOENT);
	check_eq(client_get(client, 2, 0, object.va, GPU_PAGE), -EINVAL);
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(client_put(client, 1, 0, object.va + 2 * GPU_PAGE), 0);
	check_eq(object_free(card, &object), 0);
}

static void put_in_callback_is_refused(void)
{
	uint64_t before = counters(card, false).misuses;
	struct p2ptest_state state = { .slot = 0 };
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, P2PTEST_PUT_IN_CALLBACK, object.va, GPU_PAGE), 0);
	check_eq(object_free(card, &object), 0);
	check_eq(request(client, P2PTEST_IOC_STATE, &state), 0);
	check_eq(state.called, 1);
	check_eq(state.put_result, -EINVAL);
	check_eq(counters(card, false).misuses, before + 1);
	check_eq(client_put(client, 0, 0, object.va), 0);
}

static void persistent_pin_keeps_the_memory(void)
{
	uint64_t before = counters(card, false).used;
	struct object object;
	volatile uint8_t *at;

	check_eq(object_bound(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	at[0] = at[1] = 0x77;
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	check_eq(counters(card, false).persistent, 1);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 0);
	check(host_ask("check", object.off, 2, "77"));
	check_eq(counters(card, false).used, before + BLOCK);
	/* the owner itself has lost it */
	check(read_is_sigbus(at));
	munmap((void *)at, BLOCK);
	/* the peer may still write */
	check_eq(request(client, P2PTEST_IOC_WRITE, &(struct p2ptest_write){ .byte = 0x66, .len = 64 }), 0);
	check(host_ask("check", object.off, 64, "66"));
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(counters(card, false).used, before);
	check_eq(counters(card, false).persistent, 0);
	check(host_ask("check", object.off, BLOCK, "db"));
}

static int pin_and_die(void *arg)
{
	struct p2ptest_get *get = arg;
	int own = card_open();
	struct object object;

	if (object_new(own, BLOCK, &object) || object_bind(own, &object, get->va))
		return 1;
	if (request(client, P2PTEST_IOC_GET, get))
		return 2;
	raise(SIGKILL);
	return 3;
}

static void owner_is_killed(void)
{
	struct p2ptest_get kept = { .slot = 0, .flags = P2PTEST_PERSISTENT, .va = 0x7d0000000000, .len = BLOCK };
	struct p2ptest_get lost = { .slot = 1, .va = 0x7d0000000000, .len = BLOCK };
	uint64_t before = counters(card, false).used;

	check_eq(in_child(pin_and_die, &lost), -1);
	check_eq(client_called(client, 1), 1);
	check_eq(counters(card, false).pins, 0);
	check_eq(counters(card, false).used, before);
	/* the slot is the child's: here it is unknown that it is held, and a put of it is late */
	check_eq(client_put(client, 1, 0, lost.va), 0);
	check_eq(in_child(pin_and_die, &kept), -1);
	check_eq(counters(card, false).persistent, 1);
	check_eq(counters(card, false).used, before + BLOCK);
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, kept.va), 0);
	check_eq(counters(card, false).used, before);
}

static void wrong_puts_are_refused(void)
{
	uint64_t before = counters(card, false).misuses;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	check_eq(client_get(client, 1, 0, object.va, GPU_PAGE), 0);
	check_eq(client_put(client, 0, 0, object.va), -EINVAL);
	check_eq(client_put(client, 1, P2PTEST_PERSISTENT, object.va), -EINVAL);
	check_eq(client_put(client, 1, 0, object.va + GPU_PAGE), -EINVAL);
	check_eq(counters(card, false).misuses, before + 3);
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(client_put(client, 1, 0, object.va), 0);
	/* a second put of what was persistent is a mistake of the client, unlike a late one */
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), -EINVAL);
	check_eq(counters(card, false).misuses, before + 4);
	check_eq(object_free(card, &object), 0);
}

static void driver_without_persistence(void)
{
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	knob("persistent", 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT, object.va, GPU_PAGE), -KERNEL_ENOTSUPP);
	knob("persistent", 1);
	knob("force_bar1", 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT | P2PTEST_FORCE_BAR1, object.va, GPU_PAGE),
		 -KERNEL_ENOTSUPP);
	knob("force_bar1", 1);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT | P2PTEST_FORCE_BAR1, object.va, GPU_PAGE), 0);
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(object_free(card, &object), 0);
}

static void chosen_get_fails(void)
{
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	knob("fail_errno", EBUSY);
	knob("fail_get_pages", 2);
	check_eq(client_get(client, 0, 0, object.va, GPU_PAGE), 0);
	check_eq(client_get(client, 1, 0, object.va, GPU_PAGE), -EBUSY);
	check_eq(client_get(client, 1, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	knob("fail_errno", ENOMEM);
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(client_put(client, 1, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(object_free(card, &object), 0);
}

static void revoked_at_a_chosen_call(void)
{
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	knob("revoke_get_pages", 2);
	check_eq(client_get(client, 0, 0, object.va, GPU_PAGE), 0);
	check_eq(client_get(client, 1, 0, object.va, GPU_PAGE), 0);
	for (int i = 0; i < 100 && !client_called(client, 1); i++)
		usleep(20000);
	check_eq(client_called(client, 0), 0);
	check_eq(client_called(client, 1), 1);
	/* before another table is made, which may lie where this one did */
	check_eq(client_put(client, 1, 0, object.va), 0);
	check_eq(client_get(client, 2, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	knob("revoke", 1);
	check_eq(client_called(client, 0), 1);
	check_eq(counters(card, false).pins, 1);
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(client_put(client, 2, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(object_free(card, &object), 0);
}

static void *put_slot_0(void *arg)
{
	const struct object *object = arg;

	return (void *)(intptr_t)client_put(client, 0, 0, object->va);
}

static void *free_object(void *arg)
{
	return (void *)(intptr_t)object_free(card, arg);
}

static void free_while_a_put_is_on_its_way(void)
{
	uint64_t before = counters(card, false).late_puts;
	struct object object;
	pthread_t thread;
	void *ret;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, 0, object.va, GPU_PAGE), 0);
	knob("delay_put_ms", 500);
	check_eq(pthread_create(&thread, NULL, put_slot_0, &object), 0);
	usleep(100000);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(pthread_join(thread, &ret), 0);
	knob("delay_put_ms", 0);
	check_eq((intptr_t)ret, 0);
	check_eq(counters(card, false).late_puts, before + 1);
}

static void put_waits_for_a_callback(void)
{
	uint64_t before = counters(card, false).late_puts;
	struct object object;
	pthread_t thread;
	void *ret;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, 0, object.va, GPU_PAGE), 0);
	knob("delay_callback_ms", 500);
	check_eq(pthread_create(&thread, NULL, free_object, &object), 0);
	usleep(100000);
	check_eq(client_called(client, 0), 0);
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(pthread_join(thread, &ret), 0);
	knob("delay_callback_ms", 0);
	check_eq((intptr_t)ret, 0);
	check_eq(counters(card, false).late_puts, before + 1);
}

static void late_write_of_a_client_is_found(void)
{
	struct p2ptest_write late = { .slot = 0, .byte = 0x42, .off = 5 * GPU_PAGE + 1000, .len = 8 };
	uint64_t before = counters(card, true).late_writes;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, 0, object.va, BLOCK), 0);
	check_eq(request(client, P2PTEST_IOC_WRITE, &late), 0);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(counters(card, true).late_writes, before);
	check_eq(request(client, P2PTEST_IOC_WRITE, &late), 0);
	check(host_ask("check", object.off + late.off, late.len, "42"));
	check_eq(counters(card, true).late_writes, before + 1);
	check_eq(client_put(client, 0, 0, object.va), 0);
}

static void pinned_driver_does_not_unload(void)
{
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	close(card);
	check_eq(module_unload("bl_card"), -EAGAIN);
	/* closing the client gives back what it has */
	close(client);
	check(card_unload());
	check_eq(module_unload("bl_p2ptest"), 0);
}

static const struct tap_test tests[] = {
	{ "a client finds the functions once the driver is loaded", loads },
	{ "a page table describes the pages", table_describes_the_pages },
	{ "versions, page sizes and flags of tables can be chosen", versions_can_be_chosen },
	{ "ranges are checked", ranges_are_checked },
	{ "tokens are honoured", tokens_are_honoured },
	{ "a parent's tokens open nothing to its child", tokens_open_nothing_to_a_child },
	{ "a free calls back once", free_calls_back_once },
	{ "freeing a part calls back whom it touches", parts_call_back_whom_they_touch },
	{ "a put in the callback is refused and counted", put_in_callback_is_refused },
	{ "a persistent pin keeps the memory", persistent_pin_keeps_the_memory },
	{ "a killed owner's pins are called back, or kept", owner_is_killed },
	{ "wrong puts are refused and counted", wrong_puts_are_refused },
	{ "a driver without persistence says so", driver_without_persistence },
	{ "the chosen get fails", chosen_get_fails },
	{ "pins are revoked at a chosen call and on demand", revoked_at_a_chosen_call },
	{ "a free wins against a put on its way", free_while_a_put_is_on_its_way },
	{ "a put waits for a callback that runs", put_waits_for_a_callback },
	{ "a late write of a client is found", late_write_of_a_client_is_found },
	{ "the driver does not unload while it is pinned", pinned_driver_does_not_unload },
};

TAP_MAIN(tests)
