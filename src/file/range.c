// SPDX-License-Identifier: MIT
#include "range.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "buffer.h"
#include "util/ref.h"

/**
 * struct range - a row of the table
 * @start:  first byte
 * @end:    behind the last
 * @outer:  row + 1 of the nearest range before this one that ends behind it, 0 none: where to look next
 * @buffer: whose it is
 */
struct range {
	_Atomic(uint64_t) start;
	_Atomic(uint64_t) end;
	_Atomic(size_t) outer;
	_Atomic(struct bl_buffer *) buffer;
};

/* Rows sorted by @start. Tables that became too small stay: a reader may be in one; together they are smaller than the last. */
struct table {
	struct table *older;
	size_t room;
	struct range rows[];
};

static _Atomic(struct table *) current;
static _Atomic(size_t) nr_rows;
static _Atomic(unsigned int) sequence; /* odd: the table is being changed */

/* Acquire on each load of a reader keeps the last look at the sequence behind them all. */
static uint64_t word(const _Atomic(uint64_t) *value)
{
	return atomic_load_explicit(value, memory_order_acquire);
}

/* Rows that begin at or before @va. */
static size_t rows_up_to(const struct table *table, size_t nr, uint64_t va)
{
	size_t low = 0, high = nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (word(&table->rows[middle].start) <= va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of a table that may be changing: any answer is one, and is thrown away when the sequence has moved. */
static struct bl_buffer *look(const struct table *table, size_t nr, uint64_t base, uint64_t va, size_t len, int *err_p)
{
	size_t i = rows_up_to(table, nr, base), steps;

	if (i && word(&table->rows[i - 1].start) == base) {
		if (va >= base && va + len <= word(&table->rows[i - 1].end))
			return atomic_load_explicit(&table->rows[i - 1].buffer, memory_order_acquire);
		*err_p = -ERANGE;
		return NULL;
	}
	if (va != base)
		i = rows_up_to(table, nr, va);
	for (steps = 0; i && i <= nr && steps <= nr; steps++) {
		if (va + len <= word(&table->rows[i - 1].end))
			return atomic_load_explicit(&table->rows[i - 1].buffer, memory_order_acquire);
		i = atomic_load_explicit(&table->rows[i - 1].outer, memory_order_acquire);
	}
	return NULL;
}

struct bl_buffer *bl_range_find(uint64_t base, uint64_t va, size_t len, int *err_p)
{
	struct bl_buffer *buffer;
	struct table *table;
	unsigned int before;
	size_t nr;
	bool got;

	for (;;) {
		*err_p = 0;
		before = atomic_load_explicit(&sequence, memory_order_acquire);
		table = atomic_load_explicit(&current, memory_order_acquire);
		nr = atomic_load_explicit(&nr_rows, memory_order_acquire);
		if (!table || (!nr && !(before & 1)))
			return NULL;
		if (before & 1 || nr > table->room) {
			sched_yield(); /* the writer may have lost its CPU */
			continue;
		}
		buffer = look(table, nr, base, va, len, err_p);
		got = buffer && bl_ref_get(&buffer->refs);
		if (atomic_load_explicit(&sequence, memory_order_acquire) == before && (got || !buffer))
			return buffer;
		if (got)
			bl_buffer_put(buffer);
	}
}

static void begin(void)
{
	/* the stores to rows are releases: who sees one of them sees the odd number */
	atomic_fetch_add_explicit(&sequence, 1, memory_order_acq_rel);
}

static void end(void)
{
	atomic_fetch_add_explicit(&sequence, 1, memory_order_acq_rel);
}

static void set_row(struct range *row, uint64_t start, uint64_t past, struct bl_buffer *buffer)
{
	atomic_store_explicit(&row->start, start, memory_order_release);
	atomic_store_explicit(&row->end, past, memory_order_release);
	atomic_store_explicit(&row->buffer, buffer, memory_order_release);
}

static void move_row(struct range *to, const struct range *from)
{
	set_row(to, atomic_load(&from->start), atomic_load(&from->end), atomic_load(&from->buffer));
}

/* Rows from @first on have new neighbours. */
static void link_outer(struct table *table, size_t first, size_t nr)
{
	size_t outer;

	for (size_t i = first; i < nr; i++) {
		outer = i;
		while (outer && atomic_load(&table->rows[outer - 1].end) <= atomic_load(&table->rows[i].end))
			outer = atomic_load(&table->rows[outer - 1].outer);
		atomic_store_explicit(&table->rows[i].outer, outer, memory_order_release);
	}
}

static struct table *grow(struct table *old, size_t nr)
{
	size_t room = old ? old->room * 2 : 64;
	struct table *table = calloc(1, sizeof(*table) + room * sizeof(table->rows[0]));

	if (!table)
		return NULL;
	table->older = old;
	table->room = room;
	for (size_t i = 0; i < nr; i++) {
		move_row(&table->rows[i], &old->rows[i]);
		atomic_store(&table->rows[i].outer, atomic_load(&old->rows[i].outer));
	}
	atomic_store_explicit(&current, table, memory_order_release);
	return table;
}

int bl_range_add(struct bl_buffer *buffer)
{
	struct table *table = atomic_load(&current);
	size_t nr = atomic_load(&nr_rows), at;

	at = table ? rows_up_to(table, nr, buffer->base) : 0;
	if (at && atomic_load(&table->rows[at - 1].start) == buffer->base)
		return -EEXIST;
	begin();
	if (!table || nr == table->room)
		table = grow(table, nr);
	if (table) {
		for (size_t i = nr; i > at; i--)
			move_row(&table->rows[i], &table->rows[i - 1]);
		set_row(&table->rows[at], buffer->base, buffer->base + buffer->len, buffer);
		atomic_store_explicit(&nr_rows, nr + 1, memory_order_release);
		link_outer(table, at, nr + 1);
	}
	end();
	return table ? 0 : -ENOMEM;
}

struct bl_buffer *bl_range_remove(uint64_t base)
{
	struct table *table = atomic_load(&current);
	size_t nr = atomic_load(&nr_rows), at;
	struct bl_buffer *buffer;

	at = table ? rows_up_to(table, nr, base) : 0;
	if (!at || atomic_load(&table->rows[at - 1].start) != base)
		return NULL;
	buffer = atomic_load(&table->rows[at - 1].buffer);
	begin();
	for (size_t i = at; i < nr; i++)
		move_row(&table->rows[i - 1], &table->rows[i]);
	atomic_store_explicit(&nr_rows, nr - 1, memory_order_release);
	link_outer(table, at - 1, nr - 1);
	end();
	return buffer;
}

uint64_t bl_range_any(void)
{
	struct table *table = atomic_load(&current);

	return table && atomic_load(&nr_rows) ? atomic_load(&table->rows[0].start) : 0;
}

void bl_range_forget(void)
{
	atomic_store(&nr_rows, 0);
	if (atomic_load(&sequence) & 1)
		end();
}
