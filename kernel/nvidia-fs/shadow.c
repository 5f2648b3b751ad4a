// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Shadows: pages of RAM that stand in for GPU pages, and the way back from such a page.
 *
 * A page says by its index to which shadow it belongs, and its place in it. Indexes begin where no page of a file
 * can be, but a page that is no file's may have anything there: so the shadow is looked up, and must have this very
 * page at this very place.
 */
#include "core.h"
#include "stats.h"

#include "bl_compat.h"

#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#define MAX_PAGES  (NVIDIA_FS_MAX_SHADOW >> PAGE_SHIFT)
#define FIRST_BASE (1ULL << 32)
#define LOG_EVERY  (10 * HZ)

static DEFINE_XARRAY_ALLOC(shadows);
static u32 next_id;

static unsigned long index_of(u32 id, u32 nr)
{
	return (FIRST_BASE + id) * MAX_PAGES + nr;
}

static void mark_page(struct page *page, unsigned long index)
{
	page->bl_page_index = index;
}

/* Neighbours if there are any, for then a request needs fewer segments. */
static bool fill_slot(struct page **pages)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
	unsigned int order = ilog2(BL_SLOT_PAGES), i;
	struct page *page = alloc_pages(gfp | __GFP_NORETRY | __GFP_NOWARN, order);

	if (page && order)
		split_page(page, order);
	for (i = 0; i < BL_SLOT_PAGES; i++) {
		pages[i] = page ? page + i : alloc_page(gfp);
		if (!pages[i])
			return false;
	}
	return true;
}

static bool is_whole(struct page **pages)
{
	unsigned int i;

	for (i = 1; i < BL_SLOT_PAGES; i++) {
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[0]) + i)
			return false;
	}
	return true;
}

static int fill(struct bl_shadow *shadow)
{
	u32 i;

	shadow->whole = true;
	for (i = 0; i < shadow->nr_slots; i++) {
		struct page **pages = &shadow->pages[i * BL_SLOT_PAGES];

		if (!fill_slot(pages))
			return -ENOMEM;
		shadow->whole &= is_whole(pages);
	}
	return 0;
}

static void free_tables(struct rcu_head *rcu)
{
	struct bl_shadow *shadow = container_of(rcu, struct bl_shadow, rcu);

	kvfree(shadow->pages);
	kvfree(shadow->slots);
	kfree(shadow);
}

static void free_pages_of(struct bl_shadow *shadow)
{
	u32 i;

	for (i = 0; i < shadow->nr_slots * BL_SLOT_PAGES; i++) {
		if (!shadow->pages[i])
			continue;
		mark_page(shadow->pages[i], 0);
		__free_page(shadow->pages[i]);
	}
}

static struct bl_shadow *shadow_new(unsigned long len)
{
	struct bl_shadow *shadow = kzalloc(sizeof(*shadow), GFP_KERNEL_ACCOUNT);

	if (!shadow)
		return NULL;
	shadow->len = len;
	shadow->nr_slots = DIV_ROUND_UP(len, BL_GPU_PAGE);
	shadow->slots = kvcalloc(shadow->nr_slots, sizeof(*shadow->slots), GFP_KERNEL_ACCOUNT);
	shadow->pages = kvcalloc(shadow->nr_slots * BL_SLOT_PAGES, sizeof(*shadow->pages), GFP_KERNEL_ACCOUNT);
	if (!shadow->slots || !shadow->pages) {
		free_tables(&shadow->rcu);
		return NULL;
	}
	spin_lock_init(&shadow->lock);
	init_waitqueue_head(&shadow->wait);
	mutex_init(&shadow->map_lock);
	bl_map_init(&shadow->map);
	return shadow;
}

/**
 * bl_shadow_new() - Make a shadow
 * @len:      bytes, whole CPU pages, at most NVIDIA_FS_MAX_SHADOW
 * @shadow_p: receives it; not written on error
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int bl_shadow_new(unsigned long len, struct bl_shadow **shadow_p)
{
	struct bl_shadow *shadow = shadow_new(len);
	int ret;
	u32 i;

	if (!shadow)
		return -ENOMEM;
	ret = fill(shadow);
	if (ret)
		goto free_pages;
	/* the table shows it only when its pages know where they belong */
	ret = xa_alloc_cyclic(&shadows, &shadow->id, NULL, xa_limit_32b, &next_id, GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto free_pages;
	for (i = 0; i < shadow->nr_slots * BL_SLOT_PAGES; i++)
		mark_page(shadow->pages[i], index_of(shadow->id, i));
	xa_store(&shadows, shadow->id, shadow, GFP_KERNEL_ACCOUNT);
	atomic64_add(shadow->nr_slots * BL_GPU_PAGE, &bl_stats.shadow_bytes);
	*shadow_p = shadow;
	return 0;
free_pages:
	free_pages_of(shadow);
	bl_map_exit(&shadow->map);
	mutex_destroy(&shadow->map_lock);
	free_tables(&shadow->rcu);
	return -ENOMEM;
}

static bool is_let_go(struct bl_shadow *shadow)
{
	bool let_go;

	spin_lock_irq(&shadow->lock);
	let_go = !shadow->nr_held;
	spin_unlock_irq(&shadow->lock);
	return let_go;
}

/**
 * bl_shadow_wait() - Wait for requests that nobody else waits for
 * @shadow: one that no thread can begin a request through any more
 *
 * Their drives end them, or give them up after the time that they have for it.
 *
 * Context: may sleep.
 */
void bl_shadow_wait(struct bl_shadow *shadow)
{
	while (!wait_event_timeout(shadow->wait, is_let_go(shadow), LOG_EVERY))
		pr_warn("%s[%d]: a shadow goes, and requests that are under way have not ended yet\n", current->comm,
			task_tgid_nr(current));
}

/**
 * bl_shadow_unbind() - Give back what is bound to a shadow
 * @shadow: one that nobody holds any more
 *
 * Context: may sleep, and wait for the GPU driver.
 */
void bl_shadow_unbind(struct bl_shadow *shadow)
{
	if (atomic_read(&shadow->map_users))
		bl_map_free(&shadow->map);
	atomic_set(&shadow->map_users, 0);
	bl_watch_remove(&shadow->map.watch);
	bl_meta_unpin(&shadow->meta);
}

/**
 * bl_shadow_free() - Free a shadow and what is bound to it
 * @shadow: one that nobody holds any more
 *
 * Context: may sleep, and wait for the GPU driver.
 */
void bl_shadow_free(struct bl_shadow *shadow)
{
	bl_shadow_unbind(shadow);
	xa_erase(&shadows, shadow->id);
	free_pages_of(shadow);
	atomic64_sub(shadow->nr_slots * BL_GPU_PAGE, &bl_stats.shadow_bytes);
	bl_map_exit(&shadow->map);
	mutex_destroy(&shadow->map_lock);
	/* a look-up of a page that is no shadow's may still read the tables */
	call_rcu(&shadow->rcu, free_tables);
}

/**
 * bl_shadow_find() - Find what a page stands in for
 * @page:  any page
 * @off_p: receives where in the slot the page begins; only written when there is one, and so is @len_p
 * @len_p: receives how many bytes from there on stand in for what follows, as far as pages that are neighbours go
 *
 * Context: any; inside of rcu_read_lock(), which the result is good for.
 * Return: a slot that carries a GPU page, or NULL: the page is the CPU's.
 */
struct bl_slot *bl_shadow_find(const struct page *page, u32 *off_p, u32 *len_p)
{
	unsigned long index = READ_ONCE(page->bl_page_index);
	u64 base = index / MAX_PAGES;
	struct bl_shadow *shadow;
	struct bl_slot *slot;
	u32 nr = index % MAX_PAGES;

	if (base < FIRST_BASE || base - FIRST_BASE > U32_MAX || READ_ONCE(page->mapping))
		return NULL;
	shadow = xa_load(&shadows, base - FIRST_BASE);
	if (!shadow || nr >= shadow->nr_slots * BL_SLOT_PAGES || shadow->pages[nr] != page)
		return NULL;
	slot = &shadow->slots[nr / BL_SLOT_PAGES];
	if (!READ_ONCE(slot->peer))
		return NULL;
	*off_p = (nr % BL_SLOT_PAGES) << PAGE_SHIFT;
	*len_p = shadow->whole ? BL_GPU_PAGE - *off_p : PAGE_SIZE;
	return slot;
}

/**
 * bl_shadow_exit() - Wait for what bl_shadow_free() has put off
 */
void bl_shadow_exit(void)
{
	rcu_barrier();
	xa_destroy(&shadows);
}
