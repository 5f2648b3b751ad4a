// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The GPU driver's functions by name, at run time. They are looked up for the first pin and given back with the last,
 * so that this module can be loaded before the driver, and the driver be unloaded while nothing is pinned.
 *
 * The kernel hands out only what is exported for GPL use, which is so in the open driver.
 */
#include "core.h"
#include "nvp2p.h"

#include <linux/module.h>

const char bl_nvp2p_flavor[] = "opensource";

static DEFINE_MUTEX(symbols_lock);
static unsigned int nr_users;
static struct bl_nvp2p symbols;

static void put_symbols(void)
{
	if (symbols.cap)
		symbol_put(nvidia_p2p_cap_persistent_pages);
	if (symbols.put_pages_persistent)
		symbol_put(nvidia_p2p_put_pages_persistent);
	if (symbols.get_pages_persistent)
		symbol_put(nvidia_p2p_get_pages_persistent);
	if (symbols.free_page_table)
		symbol_put(nvidia_p2p_free_page_table);
	if (symbols.put_pages)
		symbol_put(nvidia_p2p_put_pages);
	if (symbols.get_pages)
		symbol_put(nvidia_p2p_get_pages);
	symbols = (struct bl_nvp2p){ 0 };
}

static bool get_persistent(void)
{
	symbols.get_pages_persistent = symbol_get(nvidia_p2p_get_pages_persistent);
	symbols.put_pages_persistent = symbol_get(nvidia_p2p_put_pages_persistent);
	return symbols.get_pages_persistent && symbols.put_pages_persistent;
}

static bool get_callback(void)
{
	symbols.get_pages = symbol_get(nvidia_p2p_get_pages);
	symbols.put_pages = symbol_get(nvidia_p2p_put_pages);
	symbols.free_page_table = symbol_get(nvidia_p2p_free_page_table);
	return symbols.get_pages && symbols.put_pages && symbols.free_page_table;
}

/* Only what pins will call: each look-up searches the kernel and all modules, and a pin that is alone waits for them. */
static int get_symbols(void)
{
	if (bl_use_persistent) {
		if (get_persistent())
			return 0;
		put_symbols();
	}
	if (!get_callback()) {
		put_symbols();
		return -ENODEV;
	}
	if (bl_use_persistent)
		symbols.cap = symbol_get(nvidia_p2p_cap_persistent_pages);
	return 0;
}

/**
 * bl_nvp2p_take() - Become a user of the GPU driver's functions
 * @nv_p: receives them; not written on error
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV (no driver that exports them for GPL use is loaded).
 */
int bl_nvp2p_take(const struct bl_nvp2p **nv_p)
{
	int ret = 0;

	mutex_lock(&symbols_lock);
	if (!nr_users)
		ret = get_symbols();
	if (!ret) {
		nr_users++;
		*nv_p = &symbols;
	}
	mutex_unlock(&symbols_lock);
	return ret;
}

/**
 * bl_nvp2p_drop() - Stop being a user
 *
 * Context: may sleep.
 */
void bl_nvp2p_drop(void)
{
	mutex_lock(&symbols_lock);
	if (!--nr_users)
		put_symbols();
	mutex_unlock(&symbols_lock);
}
