// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * bl_bug.c - bugs on demand, which the lab must notice
 *
 * The module's parameter names the bug; it happens once, while the module is loaded, and loading succeeds: a tool that
 * tries again when loading fails would make it happen twice.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *kind = "none";
module_param(kind, charp, 0400);
MODULE_PARM_DESC(kind, "warn, overflow, use_after_free, leak, sleep, deadlock");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static void do_warn(void)
{
	WARN(1, "bl_bug: asked to warn\n");
}

static void do_overflow(void)
{
	char *bytes = kmalloc(100, GFP_KERNEL);

	if (!bytes)
		return;
	OPTIMIZER_HIDE_VAR(bytes);
	WRITE_ONCE(bytes[100], 1);
	kfree(bytes);
}

static void do_use_after_free(void)
{
	char *bytes = kmalloc(100, GFP_KERNEL);

	if (!bytes)
		return;
	kfree(bytes);
	OPTIMIZER_HIDE_VAR(bytes);
	WRITE_ONCE(bytes[10], 1);
}

static void do_leak(void)
{
	char *bytes = kzalloc(1000, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(bytes);
}

static void do_sleep(void)
{
	spin_lock(&spin);
	msleep(1);
	spin_unlock(&spin);
}

static void do_deadlock(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static const struct {
	const char *name;
	void (*make)(void);
} bugs[] = {
	{ "warn", do_warn },
	{ "overflow", do_overflow },
	{ "use_after_free", do_use_after_free },
	{ "leak", do_leak },
	{ "sleep", do_sleep },
	{ "deadlock", do_deadlock },
};

static int __init bug_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!strcmp(kind, bugs[i].name)) {
			bugs[i].make();
			return 0;
		}
	}
	pr_err("bl_bug: there is no bug '%s'\n", kind);
	return -EINVAL;
}

static void __exit bug_exit(void)
{
}

module_init(bug_init);
module_exit(bug_exit);
MODULE_DESCRIPTION("Bugs that a test environment must notice");
MODULE_LICENSE("Dual MIT/GPL");
