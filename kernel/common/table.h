/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * table.h - pages of a GPU, held through the GPU driver
 */
#ifndef BL_COMMON_TABLE_H
#define BL_COMMON_TABLE_H

#include <linux/completion.h>
#include <linux/sched.h>
#include <linux/types.h>

struct bl_nvp2p;
struct nv_p2p_page_table;

/**
 * struct bl_table - pages of a GPU; zeroed before its first use, bl_table_renew() before each other one
 * @fn:         functions of the GPU driver, of which the holder is a user
 * @pages:      the driver's table; not to be touched after the free callback
 * @va:         address of the first byte
 * @len:        bytes, whole GPU pages
 * @token:      P2P token, or 0
 * @space:      VA space token, or 0
 * @revoke:     the free callback has come: end all use of the pages before returning. Has locks of the GPU driver
 * @persistent: pages stay until put; no callback
 * @by_put:     put_pages_persistent() gives them back
 * @freed:      the callback has come
 * @getter:     thread inside get
 * @read:       completed when @pages was read: a callback waits for it. Like @called only there while not @persistent
 * @called:     completed when a callback has done its work
 */
struct bl_table {
	const struct bl_nvp2p *fn;
	struct nv_p2p_page_table *pages;
	u64 va;
	u64 len;
	u64 token;
	u32 space;
	void (*revoke)(struct bl_table *table);
	bool persistent;
	bool by_put;
	bool freed;
	struct task_struct *getter;
	struct completion read;
	struct completion called;
};

int bl_table_get(struct bl_table *table, int (*get)(struct bl_table *table));
int bl_table_call_get(struct bl_table *table);
int bl_table_call_get_persistent(struct bl_table *table, u32 flags);
int bl_table_put(struct bl_table *table);

/**
 * bl_table_renew() - Forget what became of the pages that one had
 * @table: one that has none
 */
static inline void bl_table_renew(struct bl_table *table)
{
	table->persistent = false;
	table->by_put = false;
	table->freed = false;
}

/**
 * bl_table_is_freed() - Whether the free callback has come
 * @table: the table
 *
 * Return: true if so; it may come right after false.
 */
static inline bool bl_table_is_freed(const struct bl_table *table)
{
	return READ_ONCE(table->freed);
}

/**
 * bl_table_was_read() - Let a callback go on
 * @table: one that was got, and that nobody reads any more
 */
static inline void bl_table_was_read(struct bl_table *table)
{
	if (!table->persistent)
		complete_all(&table->read);
}

#endif
