// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The GPU driver's functions by name, at run time. They are looked up for the first pin, so that this module can be
 * loaded before the driver. They are given back with the last one, or when the module does not keep them any longer, and
 * then the driver may be unloaded.
 *
 * The kernel hands out only what is exported for GPL use, which is so in the open driver.
 */
#include "nvp2p.h"

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/mutex.h>

/* looking up and giving back */
static DEFINE_MUTEX(symbols_lock);
static struct bl_nvp2p symbols;
/* 0: nothing was found yet, or it was given back */
static atomic_t nr_users = ATOMIC_INIT(0);
/* the module itself is one of them; under the lock */
static bool kept;

static void put_persistent(struct bl_nvp2p *nv)
{
	if (nv->put_pages_persistent)
		symbol_put(nvidia_p2p_put_pages_persistent);
	if (nv->get_pages_persistent)
		symbol_put(nvidia_p2p_get_pages_persistent);
	nv->get_pages_persistent = NULL;
	nv->put_pages_persistent = NULL;
}

static void put_callback(struct bl_nvp2p *nv)
{
	if (nv->free_page_table)
		symbol_put(nvidia_p2p_free_page_table);
	if (nv->put_pages)
		symbol_put(nvidia_p2p_put_pages);
	if (nv->get_pages)
		symbol_put(nvidia_p2p_get_pages);
	nv->get_pages = NULL;
	nv->put_pages = NULL;
	nv->free_page_table = NULL;
}

static void put_cap(struct bl_nvp2p *nv)
{
	if (nv->cap)
		symbol_put(nvidia_p2p_cap_persistent_pages);
	nv->cap = NULL;
}

/**
 * bl_nvp2p_find_persistent() - Look up the functions for pins that stay
 * @nv: receives them
 *
 * Return: whether they are there.
 */
bool bl_nvp2p_find_persistent(struct bl_nvp2p *nv)
{
	nv->get_pages_persistent = symbol_get(nvidia_p2p_get_pages_persistent);
	nv->put_pages_persistent = symbol_get(nvidia_p2p_put_pages_persistent);
	if (nv->get_pages_persistent && nv->put_pages_persistent)
		return true;
	put_persistent(nv);
	return false;
}

/**
 * bl_nvp2p_find_callback() - Look up the functions for pins that the driver may revoke
 * @nv: receives them
 *
 * Return: whether they are there.
 */
bool bl_nvp2p_find_callback(struct bl_nvp2p *nv)
{
	nv->get_pages = symbol_get(nvidia_p2p_get_pages);
	nv->put_pages = symbol_get(nvidia_p2p_put_pages);
	nv->free_page_table = symbol_get(nvidia_p2p_free_page_table);
	if (nv->get_pages && nv->put_pages && nv->free_page_table)
		return true;
	put_callback(nv);
	return false;
}

/**
 * bl_nvp2p_find_cap() - Look up whether a pin without callback stays
 * @nv: receives the variable, if there is one
 */
void bl_nvp2p_find_cap(struct bl_nvp2p *nv)
{
	nv->cap = symbol_get(nvidia_p2p_cap_persistent_pages);
}

/* symbols_lock is held. One user less; a module that wants to keep them from now on has them looked up again. */
static void drop_user(void)
{
	if (!atomic_dec_and_test(&nr_users))
		return;
	put_cap(&symbols);
	put_callback(&symbols);
	put_persistent(&symbols);
}

/* symbols_lock is held. There are no users: become the first. */
static bool find_all(void)
{
	if (!bl_nvp2p_find(&symbols))
		return false;
	kept = bl_nvp2p_keep();
	/* who becomes a user without the lock sees what was found */
	atomic_set_release(&nr_users, kept ? 2 : 1);
	return true;
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
	bool held = atomic_inc_not_zero(&nr_users);

	if (!held) {
		mutex_lock(&symbols_lock);
		held = atomic_inc_not_zero(&nr_users) || find_all();
		mutex_unlock(&symbols_lock);
	}
	if (!held)
		return -ENODEV;
	*nv_p = &symbols;
	return 0;
}

/**
 * bl_nvp2p_drop() - Stop being a user
 *
 * Context: may sleep.
 */
void bl_nvp2p_drop(void)
{
	/* only the last one needs the lock */
	if (atomic_add_unless(&nr_users, -1, 1))
		return;
	mutex_lock(&symbols_lock);
	if (!kept && bl_nvp2p_keep())
		kept = true;
	else
		drop_user();
	mutex_unlock(&symbols_lock);
}

/**
 * bl_nvp2p_trim() - Give back what has no user, if the module does not keep it any longer
 *
 * Context: may sleep.
 */
void bl_nvp2p_trim(void)
{
	mutex_lock(&symbols_lock);
	if (kept && !bl_nvp2p_keep()) {
		kept = false;
		drop_user();
	}
	mutex_unlock(&symbols_lock);
}
