// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pages of a GPU, held through the GPU driver's nvidia_p2p_get_pages() and its relatives.
 *
 * Without persistence the driver calls table_freed() when the memory is freed or its owner dies, with locks of its own
 * held. The table of pages is good until that call returns. So the call waits until get has read the table, and until
 * nothing uses the pages; and put waits for the call.
 */
#include "table.h"
#include "nvp2p.h"

#include <linux/rwsem.h>

/*
 * A table that was called back is gone, and the next one may lie where it lay. put_pages() knows a table by its address
 * and may be called just after that, since nobody can tell in time. So nobody gets a table (read) while one is being put
 * that can be called back (write). Taken outside of the driver's locks; never by a callback.
 */
static DECLARE_RWSEM(tables_lock);

static void table_freed(void *data)
{
	struct bl_table *table = data;
	bool inside = READ_ONCE(table->getter) == current;

	if (!inside)
		wait_for_completion(&table->read);
	WRITE_ONCE(table->freed, true);
	table->revoke(table);
	if (!inside)
		table->fn->free_page_table(table->pages);
	/* put may go on now, and free the table's holder */
	complete_all(&table->called);
}

/**
 * bl_table_call_get() - Ask the GPU driver for pages, inside of bl_table_get()
 * @table: the table; @persistent says whether it is without callback
 *
 * Return: 0, or what the driver says.
 */
int bl_table_call_get(struct bl_table *table)
{
	if (!table->persistent) {
		init_completion(&table->read);
		init_completion(&table->called);
	}
	return table->fn->get_pages(table->token, table->space, table->va, table->len, &table->pages,
				    table->persistent ? NULL : table_freed, table);
}

/**
 * bl_table_call_get_persistent() - Ask for pages that put_pages_persistent() gives back, inside of bl_table_get()
 * @table: the table
 * @flags: NV_P2P_GET_*
 *
 * Return: 0, or what the driver says.
 */
int bl_table_call_get_persistent(struct bl_table *table, u32 flags)
{
	table->persistent = true;
	table->by_put = true;
	return table->fn->get_pages_persistent(table->va, table->len, &table->pages, flags);
}

/**
 * bl_table_get() - Get pages
 * @table: fn, va, len, token, space and revoke are set
 * @get:   makes one or both of the calls above; returns what they say, or -errno
 *
 * When it succeeds, the caller reads the table if bl_table_is_freed() says no, and then calls bl_table_was_read(). From
 * the moment that the driver is asked on, @revoke may be called.
 *
 * Context: may sleep.
 * Return: 0, or what @get returns.
 */
int bl_table_get(struct bl_table *table, int (*get)(struct bl_table *table))
{
	int ret;

	down_read(&tables_lock);
	WRITE_ONCE(table->getter, current);
	ret = get(table);
	WRITE_ONCE(table->getter, NULL);
	up_read(&tables_lock);
	return ret;
}

static int call_put(struct bl_table *table)
{
	const struct bl_nvp2p *fn = table->fn;

	if (table->by_put)
		return fn->put_pages_persistent(table->va, table->pages, 0);
	return fn->put_pages(table->token, table->space, table->va, table->pages);
}

/**
 * bl_table_put() - Give pages back, or find that they were taken back
 * @table: one that was got and read
 *
 * On return no callback is running and none will come.
 *
 * Context: may sleep, and wait for the GPU driver.
 * Return: 0, or what the driver says when it does not take them.
 */
int bl_table_put(struct bl_table *table)
{
	int ret = 0;

	if (table->persistent)
		return call_put(table);
	down_write(&tables_lock);
	/* a callback that begins now is waited for by put_pages() */
	if (!bl_table_is_freed(table))
		ret = call_put(table);
	up_write(&tables_lock);
	if (bl_table_is_freed(table))
		wait_for_completion(&table->called);
	return ret;
}
