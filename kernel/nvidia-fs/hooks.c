// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Storage drivers that ask us about the pages of their requests. They are found by the names of the functions that they
 * export for it; those that are loaded later are found by the next open of a node. A driver stays loaded while it is
 * registered with.
 */
#include "core.h"
#include "rq.h"

#include "bl_compat.h"

#include <linux/device/driver.h>
#include <linux/module.h>
#include <linux/seq_file.h>

/**
 * struct hook - a driver
 * @key:        its name, also in /proc
 * @reg_name:   function that registers
 * @unreg_name: function that takes it back
 * @reg:        the former; not NULL while registered
 * @unreg:      the latter
 */
struct hook {
	const char *key;
	const char *reg_name;
	const char *unreg_name;
	void *reg;
	void (*unreg)(void);
};

static struct hook hooks[] = {
	{ "nvme", bl_rq_register_name, bl_rq_unregister_name },
};

static void hook_register(struct hook *hook)
{
	void *reg = __symbol_get(hook->reg_name);
	int ret;

	if (!reg)
		return;
	hook->unreg = __symbol_get(hook->unreg_name);
	if (!hook->unreg)
		goto put_reg;
	ret = bl_rq_register(reg);
	if (ret) {
		refuse(-ret, "driver %s: does not register", hook->key);
		goto put_unreg;
	}
	/* read by bl_hooks_serve() without a lock */
	WRITE_ONCE(hook->reg, reg);
	return;
put_unreg:
	__symbol_put(hook->unreg_name);
put_reg:
	__symbol_put(hook->reg_name);
}

/**
 * bl_hooks_register() - Register with all drivers that are there and not registered with yet
 *
 * Context: may sleep; calls of this file exclude each other, but for bl_hooks_serve().
 */
void bl_hooks_register(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!hooks[i].reg)
			hook_register(&hooks[i]);
	}
}

/**
 * bl_hooks_unregister() - Take all of it back
 *
 * Context: may sleep; no request of ours is in flight.
 */
void bl_hooks_unregister(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct hook *hook = &hooks[i];

		if (!hook->reg)
			continue;
		hook->unreg();
		WRITE_ONCE(hook->reg, NULL);
		__symbol_put(hook->unreg_name);
		__symbol_put(hook->reg_name);
	}
}

/* One that is built in has no owner; a module beside it may have registered under its name. */
static bool is_part_of(const void *reg, const struct device_driver *driver, const char *key)
{
	if (driver->owner)
		return within_module((unsigned long)reg, driver->owner);
	return !bl_is_module_addr(reg) && !strcmp(driver->name, key);
}

/**
 * bl_hooks_serve() - Whether a device's driver asks us about its requests
 * @driver: the driver; the lock of the device is held
 *
 * Return: true if it does: the function that registers is part of it.
 */
bool bl_hooks_serve(const struct device_driver *driver)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		const void *reg = READ_ONCE(hooks[i].reg);

		if (reg && is_part_of(reg, driver, hooks[i].key))
			return true;
	}
	return false;
}

/* The module of a driver stays as long as we are registered with it. */
static const char *version_of(const struct hook *hook)
{
	const struct device_driver *driver = driver_find(hook->key, &pci_bus_type);

	return driver && driver->owner ? driver->owner->version : NULL;
}

/**
 * bl_hooks_show() - Write a line for each driver that is registered with
 * @s: where to
 */
void bl_hooks_show(struct seq_file *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		const char *version;

		if (!READ_ONCE(hooks[i].reg))
			continue;
		version = version_of(&hooks[i]);
		seq_printf(s, "%s: %s\n", hooks[i].key, version ? version : "(null)");
	}
	/* it needs nothing of us, and its tools look for it here */
	if (bl_proc_has("/sys/module/wekafsio"))
		seq_puts(s, "wekafsio: 1\n");
}
