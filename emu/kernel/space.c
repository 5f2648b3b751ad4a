// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Address spaces of the GPU: what lies where. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "card.h"

/*
 * Both halves of a token look like nothing else that is passed around, and neither is ever used
 * again.
 */
#define TOKEN_BASE    0x5ca4d00000000000ULL
#define VA_SPACE_BASE 0x5a000000U

struct bl_space *bl_space_new(struct bl_card *card, struct file *file)
{
	struct bl_space *space = kzalloc(sizeof(*space), GFP_KERNEL);

	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_get(&card->ref);
	space->card = card;
	space->owner = get_pid(task_tgid(current));
	space->file = file;
	space->token = TOKEN_BASE + card->next_token;
	space->va_space = VA_SPACE_BASE + (u32)card->next_token++;
	xa_init_flags(&space->mems, XA_FLAGS_ALLOC1);
	mt_init(&space->bindings);
	list_add_tail(&space->node, &card->spaces);
	return space;
}

/* Free all memory; those who pinned it are called back. */
void bl_space_clear(struct bl_space *space)
{
	struct bl_mem *mem;
	unsigned long handle;

	xa_for_each(&space->mems, handle, mem) {
		xa_erase(&space->mems, handle);
		bl_mem_disown(mem);
	}
}

void bl_space_destroy(struct bl_space *space)
{
	bl_space_clear(space);
	list_del(&space->node);
	mtree_destroy(&space->bindings);
	xa_destroy(&space->mems);
	put_pid(space->owner);
	kref_put(&space->card->ref, bl_card_release);
	kfree(space);
}

static bool overlaps(struct bl_space *space, u64 va, u64 len)
{
	unsigned long index = va;

	return mt_find(&space->bindings, &index, va + len - 1);
}

/* A pointer means one thing in a process, however many files it has open. */
static bool is_taken(const struct bl_space *wanted, u64 va, u64 len)
{
	struct bl_space *space;

	list_for_each_entry(space, &wanted->card->spaces, node) {
		if (space->owner == wanted->owner && overlaps(space, va, len))
			return true;
	}
	return false;
}

int bl_bind(struct bl_space *space, const struct bl_card_bind *arg)
{
	struct bl_mem *mem = xa_load(&space->mems, arg->handle);
	struct bl_binding *binding;
	u64 end;
	int ret;

	if (arg->reserved || !arg->va || !arg->len ||
	    (arg->va | arg->len | arg->off) & (BL_CARD_PAGE_SIZE - 1) ||
	    check_add_overflow(arg->va, arg->len, &end))
		return -EINVAL;
	if (!mem)
		return -ENOENT;
	if (arg->off > bl_mem_size(mem) || arg->len > bl_mem_size(mem) - arg->off)
		return -EINVAL;
	if (is_taken(space, arg->va, arg->len))
		return -EEXIST;
	binding = kzalloc(sizeof(*binding), GFP_KERNEL);
	if (!binding)
		return -ENOMEM;
	binding->space = space;
	binding->mem = mem;
	binding->va = arg->va;
	binding->len = arg->len;
	binding->off = arg->off;
	INIT_LIST_HEAD(&binding->pins);
	ret = mtree_insert_range(&space->bindings, arg->va, end - 1, binding, GFP_KERNEL);
	if (ret) {
		kfree(binding);
		return ret;
	}
	bl_mem_hold(mem);
	list_add_tail(&binding->node, &mem->bindings);
	return 0;
}

void bl_binding_remove(struct bl_binding *binding)
{
	mtree_erase(&binding->space->bindings, binding->va);
	list_del(&binding->node);
	bl_pins_revoke(binding, binding->va, binding->len);
	bl_mem_drop(binding->mem);
	kfree(binding);
}

int bl_unbind(struct bl_space *space, u64 va, u64 len)
{
	struct bl_binding *binding = mtree_load(&space->bindings, va);

	if (!binding || binding->va != va || binding->len != len)
		return -ENOENT;
	bl_binding_remove(binding);
	return 0;
}

static struct bl_binding *find_in(struct bl_space *space, u64 va, u64 len)
{
	struct bl_binding *binding = mtree_load(&space->bindings, va);

	return binding && len <= binding->va + binding->len - va ? binding : NULL;
}

int bl_freed(struct bl_space *space, u64 va, u64 len)
{
	struct bl_binding *binding;

	if (!len)
		return -EINVAL;
	binding = find_in(space, va, len);
	if (!binding)
		return -ENOENT;
	bl_pins_revoke(binding, va, len);
	return 0;
}

/*
 * An address is the calling process' own. A token only says in which of its address spaces to look:
 * one that a process got from another, its parent for instance, opens nothing to it.
 */
struct bl_binding *bl_binding_find(u64 token, u32 va_space, u64 va, u64 len)
{
	struct bl_binding *binding = NULL;
	struct bl_space *space;

	list_for_each_entry(space, &bl_card->spaces, node) {
		if (space->owner != task_tgid(current) || (token && space->token != token))
			continue;
		if ((token || va_space) && space->va_space != va_space)
			continue;
		binding = find_in(space, va, len);
		if (binding)
			break;
	}
	return binding;
}
