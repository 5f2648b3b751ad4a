// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/share: " fmt
#include "share.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core.h"
#include "util/log.h"

/**
 * struct bl_share - a mapping that pins share
 * @next:    in its bucket
 * @maker:   pin that made it, referenced, its backing held
 * @mapping: what the provider made; at least what the maker wanted
 * @bucket:  where it is listed
 * @users:   pins that are mapped through it
 */
struct bl_share {
	struct bl_share *next;
	struct bl_pin *maker;
	struct bl_mapping mapping;
	size_t bucket;
	uint32_t users;
};

/*
 * Small mappings are listed by the 2 MiB that they lie in, others by their object: so that neither a large object with
 * a mapping for each of its pages nor many small objects make a long list.
 */
#define REGION_SHIFT 21

static size_t bucket_of(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL) >> 56;
}

static size_t bucket_of_object(const struct bl_backing *backing)
{
	return bucket_of(backing->object_va << 1 | 1);
}

static size_t bucket_of_range(const struct bl_backing *backing, size_t len)
{
	uint64_t region = backing->va >> REGION_SHIFT;

	if ((backing->va + len - 1) >> REGION_SHIFT != region)
		return bucket_of_object(backing);
	return bucket_of(region << 1);
}

_Static_assert(BL_SHARE_BUCKETS == 256, "bucket_of() gives 8 bits");

/* Whether @share shows the addresses, by what is known without asking; the answer says nothing about the memory. */
static bool covers(const struct bl_share *share, const struct bl_pin *pin, const struct bl_mapping *wanted)
{
	const struct bl_backing *have = &share->maker->backing, *want = &pin->backing;
	uint64_t off = want->va - have->va;

	if (have->object_va != want->object_va || share->maker->ops != pin->ops)
		return false;
	if (wanted->type != BL_MAP_NONE && wanted->type != share->mapping.type)
		return false;
	return off <= share->mapping.len && wanted->len <= share->mapping.len - off &&
	       !(off & ((uint64_t)sysconf(_SC_PAGESIZE) - 1));
}

/* The lock is held: what is found cannot go away before it is used. */
static struct bl_share *find_in(struct bl_pin *pin, size_t bucket, const struct bl_mapping *wanted)
{
	struct bl_share *share;

	for (share = pin->ctx->shares.buckets[bucket]; share; share = share->next) {
		/* memory that was freed and another allocation at its address cover each other too: only proof counts */
		if (covers(share, pin, wanted) &&
		    pin->ops->same(pin->ctx->priv, &share->maker->backing, &pin->backing))
			return share;
	}
	return NULL;
}

static bool join(struct bl_pin *pin, struct bl_mapping *mapping)
{
	size_t small = bucket_of_range(&pin->backing, mapping->len), large = bucket_of_object(&pin->backing);
	struct bl_share *share;

	pthread_mutex_lock(&pin->ctx->shares.lock);
	share = find_in(pin, small, mapping);
	if (!share && large != small)
		share = find_in(pin, large, mapping);
	if (share)
		share->users++;
	pthread_mutex_unlock(&pin->ctx->shares.lock);
	if (!share)
		return false;
	mapping->addr = (char *)share->mapping.addr + (pin->backing.va - share->maker->backing.va);
	mapping->type = share->mapping.type;
	pin->share = share;
	return true;
}

/*
 * A window costs whole GPU pages: with the rest of its last one, the mapping also serves pins that end later in it. No
 * more than is pinned.
 */
static size_t whole_pages(const struct bl_backing *backing, size_t len)
{
	size_t page = backing->page_size, whole = (len + page - 1) & ~(page - 1);

	return whole <= backing->len ? whole : len;
}

static int make(struct bl_pin *pin, struct bl_mapping *mapping)
{
	struct bl_mapping whole = { .len = whole_pages(&pin->backing, mapping->len), .type = mapping->type };
	struct bl_shares *shares = &pin->ctx->shares;
	struct bl_share *share;
	int ret;

	share = malloc(sizeof(*share));
	if (!share)
		return fail(ENOMEM, "map: out of memory");
	ret = pin->ops->map(pin->ctx->priv, &pin->backing, &whole);
	if (ret) {
		free(share);
		return ret;
	}
	atomic_fetch_add(&pin->refs, 1);
	atomic_fetch_add(&pin->holds, 1);
	*share = (struct bl_share){
		.maker = pin,
		.mapping = whole,
		.bucket = bucket_of_range(&pin->backing, whole.len),
		.users = 1,
	};
	pthread_mutex_lock(&shares->lock);
	share->next = shares->buckets[share->bucket];
	shares->buckets[share->bucket] = share;
	pthread_mutex_unlock(&shares->lock);
	pin->share = share;
	mapping->addr = whole.addr;
	mapping->type = whole.type;
	return 0;
}

int bl_share_map(struct bl_pin *pin, bool alone, struct bl_mapping *mapping)
{
	if (alone || !pin->ops->same || !pin->backing.object_va)
		return pin->ops->map(pin->ctx->priv, &pin->backing, mapping);
	return join(pin, mapping) ? 0 : make(pin, mapping);
}

/* Whether this was the last user; then nobody finds the mapping any more. */
static bool leave(struct bl_shares *shares, struct bl_share *share)
{
	struct bl_share **place = &shares->buckets[share->bucket];
	bool last;

	pthread_mutex_lock(&shares->lock);
	last = --share->users == 0;
	if (last) {
		while (*place != share)
			place = &(*place)->next;
		*place = share->next;
	}
	pthread_mutex_unlock(&shares->lock);
	return last;
}

int bl_share_unmap(struct bl_pin *pin, struct bl_mapping *mapping)
{
	struct bl_share *share = pin->share;
	struct bl_pin *maker;
	int ret, err;

	if (!share)
		return pin->ops->unmap(pin->ctx->priv, &pin->backing, mapping);
	pin->share = NULL;
	if (!leave(&pin->ctx->shares, share))
		return 0;
	/* the mapping first, then what it shows: the maker may be unpinned long since, or be this very pin */
	maker = share->maker;
	ret = maker->ops->unmap(maker->ctx->priv, &maker->backing, &share->mapping);
	err = bl_pin_release(maker);
	bl_pin_put(maker);
	free(share);
	return ret ? ret : err;
}

uint32_t bl_share_count(const struct bl_pin *pin)
{
	uint32_t users;

	if (!pin->share)
		return pin->mapping.addr ? 1 : 0;
	pthread_mutex_lock(&pin->ctx->shares.lock);
	users = pin->share->users;
	pthread_mutex_unlock(&pin->ctx->shares.lock);
	return users;
}
