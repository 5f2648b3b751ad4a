// SPDX-License-Identifier: MIT
/* barlane.h in forked children, over a fake module: handles are refused there, nothing is inherited, own ones work. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lifecycle_fixture.h"

/* Children answer with their exit status: 0 when all was as it should be. */
static void child(int (*fn)(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr), bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid)
		_exit(fn(ctx, pin, addr));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

static int child_is_refused(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	struct bl_provider_info provider;
	struct bl_pin_info info;
	void *out = NULL;
	bl_pin_t id = 0;
	char byte = 0;

	if (bl_pin(ctx, VA, PAGE, 0, 0, 0, &id) != -EACCES || bl_unpin(ctx, pin) != -EACCES)
		return 1;
	if (bl_map(ctx, pin, PAGE, BL_MAP_NONE, &out) != -EACCES || bl_unmap(ctx, pin, addr, PAGE) != -EACCES)
		return 2;
	if (bl_pin_info(ctx, pin, &info) != -EACCES || bl_ctx_provider(ctx, &provider) != -EACCES)
		return 3;
	if (bl_copy_to(pin, addr, &byte, 1) != -EACCES || bl_copy_from(pin, &byte, addr, 1) != -EACCES)
		return 4;
	if (!strstr(bl_last_error(NULL), "fork"))
		return 5;
	return 0;
}

static int child_closes(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	if (bl_close(ctx) || bl_close(ctx) != -EINVAL || bl_close(0) != -EINVAL || bl_close(12345) != -EINVAL)
		return 1;
	return child_is_refused(ctx, pin, addr);
}

static void handles_do_not_work_in_a_child_and_still_do_in_the_parent(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);
	uint8_t *addr = mapped(ctx, pin, PAGE), byte = 0x77;

	child(child_is_refused, ctx, pin, addr);
	child(child_closes, ctx, pin, addr);
	check_eq(bl_copy_to(pin, addr, &byte, 1), 0);
	check_eq(fake_vram()[0], 0x77);
	check_eq(bl_unmap(ctx, pin, addr, PAGE), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	closed(ctx);
}

static int child_has_no_mapping_and_no_descriptor(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	unsigned char vec;

	if (!mincore(addr, (size_t)sysconf(_SC_PAGESIZE), &vec) || errno != ENOMEM)
		return 1;
	/* the pin's word is the number of descriptors of the parent, one of them the module's */
	return fake_count_fds() != (int)pin - 1;
}

static void mappings_and_descriptors_are_not_inherited(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);
	uint8_t *addr = mapped(ctx, pin, PAGE);

	child(child_has_no_mapping_and_no_descriptor, ctx, (bl_pin_t)fake_count_fds(), addr);
	closed(ctx);
}

static int child_opens_anew(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	bl_ctx_t own = 0;
	bl_pin_t mine = 0;
	void *mine_addr = NULL;
	uint8_t byte = 0x42, seen = 0;

	if (bl_open("gdrdrv", &own) || own == ctx)
		return 1;
	/* what was inherited is forgotten, not merely refused */
	if (bl_unpin(ctx, pin) != -EINVAL || bl_copy_to(pin, addr, &byte, 1) != -EINVAL || bl_close(ctx) != -EINVAL)
		return 2;
	if (bl_pin(own, VA + PAGE, PAGE, 0, 0, 0, &mine) || mine == pin)
		return 3;
	if (bl_map(own, mine, PAGE, BL_MAP_NONE, &mine_addr) || bl_copy_to(mine, mine_addr, &byte, 1) ||
	    bl_copy_from(mine, &seen, mine_addr, 1) || seen != 0x42)
		return 4;
	if (bl_unmap(own, mine, mine_addr, PAGE) || bl_unpin(own, mine) || bl_close(own))
		return 5;
	return 0;
}

static void a_child_can_open_for_itself(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);
	uint8_t *addr = mapped(ctx, pin, PAGE), byte = 1;

	fake_vram()[PAGE] = 0;
	child(child_opens_anew, ctx, pin, addr);
	check_eq(fake_vram()[PAGE], 0x42);
	check_eq(bl_copy_to(pin, addr, &byte, 1), 0);
	closed(ctx);
}

static int grandchild_is_refused(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	bl_ctx_t own = 0;
	bl_pin_t mine = 0;
	int status;
	pid_t pid;

	if (bl_open("gdrdrv", &own) || bl_pin(own, VA, PAGE, 0, 0, 0, &mine))
		return 1;
	pid = fork();
	if (!pid)
		_exit(child_is_refused(own, mine, addr));
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	return bl_close(own) ? 3 : 0;
}

static void a_childs_own_handles_do_not_work_in_its_child(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);

	child(grandchild_is_refused, ctx, pin, mapped(ctx, pin, PAGE));
	closed(ctx);
}

static int child_only_closes(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	return bl_close(ctx);
}

static void a_context_without_pins_survives_a_closing_child(void)
{
	bl_ctx_t ctx = opened();

	child(child_only_closes, ctx, 0, NULL);
	pinned(ctx, 0, PAGE);
	closed(ctx);
}

/* A number of the library's that the application has now is the application's, in children too. */
static int child_has_descriptors(bl_ctx_t ctx, bl_pin_t pin, uint8_t *addr)
{
	int *fds = (int *)addr;

	for (int i = 0; i < 4; i++) {
		if (fcntl(fds[i], F_GETFD) < 0)
			return 1;
	}
	return 0;
}

static void numbers_that_were_closed_are_forgotten(void)
{
	int fds[4];

	closed(opened());
	for (int i = 0; i < 4; i++) {
		fds[i] = eventfd(0, EFD_CLOEXEC);
		check(fds[i] >= 0);
	}
	child(child_has_descriptors, 0, 0, (uint8_t *)fds);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

static const struct tap_test tests[] = {
	{"numbers that were closed are forgotten", numbers_that_were_closed_are_forgotten},
	{"handles do not work in a child and still do in the parent",
	 handles_do_not_work_in_a_child_and_still_do_in_the_parent},
	{"mappings and descriptors are not inherited", mappings_and_descriptors_are_not_inherited},
	{"a child can open for itself", a_child_can_open_for_itself},
	{"a child's own handles do not work in its child", a_childs_own_handles_do_not_work_in_its_child},
	{"a context without pins survives a closing child", a_context_without_pins_survives_a_closing_child},
};

TAP_MAIN(tests)
