/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nvp2p.h - how the functions of the GPU driver are reached
 */
#ifndef BL_COMMON_NVP2P_H
#define BL_COMMON_NVP2P_H

#include "nv_p2p.h"

/**
 * struct bl_nvp2p - functions of the GPU driver; at least one of the two sets is there, and what is not is NULL
 * @get_pages:            with the next two: pins that the driver may revoke
 * @put_pages:            see there
 * @free_page_table:      see there
 * @get_pages_persistent: with the next one: pins that stay
 * @put_pages_persistent: see there
 * @cap:                  before those two: whether get_pages takes no callback
 */
struct bl_nvp2p {
	int (*get_pages)(u64 token, u32 va_space, u64 va, u64 len, struct nv_p2p_page_table **table_p,
			 void (*freed)(void *data), void *data);
	int (*put_pages)(u64 token, u32 va_space, u64 va, struct nv_p2p_page_table *table);
	int (*free_page_table)(struct nv_p2p_page_table *table);
	int (*get_pages_persistent)(u64 va, u64 len, struct nv_p2p_page_table **table_p, u32 flags);
	int (*put_pages_persistent)(u64 va, struct nv_p2p_page_table *table, u32 flags);
	int *cap;
};

/*
 * symbols.c, or a file of the module itself. Between take and drop the functions may be called and the driver stays
 * loaded. take: -ENODEV when there is no driver. Users: one for each pin.
 */
int bl_nvp2p_take(const struct bl_nvp2p **nv_p);
void bl_nvp2p_drop(void);

/* symbols.c: bl_nvp2p_keep() may have another answer now. */
void bl_nvp2p_trim(void);

/* symbols.c, for bl_nvp2p_find(). A set is there as a whole or not at all. */
bool bl_nvp2p_find_callback(struct bl_nvp2p *nv);
bool bl_nvp2p_find_persistent(struct bl_nvp2p *nv);
void bl_nvp2p_find_cap(struct bl_nvp2p *nv);

/*
 * What symbols.c asks the module that it is part of, with its lock held. find: look up what pins will call; whether they
 * can be had. keep: whether what was found is kept though it has no user.
 */
bool bl_nvp2p_find(struct bl_nvp2p *nv);
bool bl_nvp2p_keep(void);

#endif
