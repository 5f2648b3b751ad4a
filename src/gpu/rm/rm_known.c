// SPDX-License-Identifier: MIT
#include "rm_known.h"

static bool same(const struct rm_blob *a, const struct rm_blob *b)
{
	return a->size == b->size && a->object_size == b->object_size && a->offset == b->offset &&
	       a->client == b->client && a->memory == b->memory;
}

bool rm_known_find(struct rm_known *known, uint64_t buffer_id, const struct rm_blob *blob, uint64_t *size_p)
{
	size_t place = buffer_id % RM_KNOWN_ENTRIES;
	bool found;

	pthread_mutex_lock(&known->lock);
	found = buffer_id && known->entries[place].buffer_id == buffer_id && same(&known->entries[place].blob, blob);
	if (found)
		*size_p = known->entries[place].object_size;
	pthread_mutex_unlock(&known->lock);
	return found;
}

void rm_known_add(struct rm_known *known, uint64_t buffer_id, const struct rm_blob *blob, uint64_t object_size)
{
	size_t place = buffer_id % RM_KNOWN_ENTRIES;

	pthread_mutex_lock(&known->lock);
	known->entries[place].buffer_id = buffer_id;
	known->entries[place].blob = *blob;
	known->entries[place].object_size = object_size;
	pthread_mutex_unlock(&known->lock);
}
