// SPDX-License-Identifier: MIT
#include <stdbool.h>

#include "pieces.h"

void bl_pieces_init(struct bl_pieces *pieces, size_t size, size_t len, off_t pos)
{
	size_t lead = (size_t)pos & (size - 1);

	pieces->size = size;
	pieces->len = len;
	pieces->pos = pos;
	pieces->nr = (lead + len + size - 1) / size;
	atomic_init(&pieces->next, 0);
	atomic_init(&pieces->stop, len);
	pthread_mutex_init(&pieces->lock, NULL);
	pieces->err = 0;
}

struct bl_piece bl_pieces_at(const struct bl_pieces *pieces, size_t i)
{
	size_t lead = (size_t)pieces->pos & (pieces->size - 1);
	size_t from = i ? i * pieces->size - lead : 0;
	size_t past = (i + 1) * pieces->size - lead;

	if (past > pieces->len)
		past = pieces->len;
	return (struct bl_piece){ .off = from, .len = past - from, .pos = pieces->pos + (off_t)from };
}

bool bl_pieces_take(struct bl_pieces *pieces, struct bl_piece *piece)
{
	size_t i = atomic_fetch_add_explicit(&pieces->next, 1, memory_order_relaxed);

	if (i >= pieces->nr)
		return false;
	*piece = bl_pieces_at(pieces, i);
	return piece->off < atomic_load_explicit(&pieces->stop, memory_order_relaxed);
}

void bl_pieces_stop(struct bl_pieces *pieces, size_t off, int err)
{
	pthread_mutex_lock(&pieces->lock);
	if (off < atomic_load(&pieces->stop)) {
		atomic_store(&pieces->stop, off);
		pieces->err = err;
	}
	pthread_mutex_unlock(&pieces->lock);
}

size_t bl_pieces_end(struct bl_pieces *pieces, int *err_p)
{
	size_t stop;

	pthread_mutex_lock(&pieces->lock);
	stop = atomic_load(&pieces->stop);
	*err_p = pieces->err;
	pthread_mutex_unlock(&pieces->lock);
	pthread_mutex_destroy(&pieces->lock);
	return stop;
}
