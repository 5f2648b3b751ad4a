/* SPDX-License-Identifier: MIT */
/*
 * early.h - small messages that lie in memory far away, read several at a time
 *
 * A load from a GPU's memory takes about a microsecond, and many of them side by side hardly more. So the data of short
 * sends and writes that wait in a queue is read together before the first of them goes out.
 */
#ifndef SOFTNIC_EARLY_H
#define SOFTNIC_EARLY_H

#include <string.h>

#include "qp.h"

/* Requests that are next, up to a fence, a wait, or one that something comes back for. What cannot be read is left to who sends. */
void bl_early_read(struct bl_snic_qp *qp);

/* Whether all of the request's data was read early; it goes to @dst, once: who sends it again reads it again. */
static inline bool bl_early_take(struct bl_wr *wr, const struct bl_wqe_piece *piece, void *dst)
{
	if (!wr->early_len || piece->len != wr->early_len)
		return false;
	memcpy(dst, wr->early, wr->early_len);
	wr->early_len = 0;
	return true;
}

#endif
