// SPDX-License-Identifier: MIT
/*
 * GDRCOPY_ENGINE: copies of compatibility libraries that may go through another engine.
 *
 * Their mappings publish other routines, so that a mapping made without the variable pays nothing. A routine gets two
 * addresses; which mapping it is for is found in a list of entries that are reused and never freed. A copy and the end
 * of its mapping do not overlap, so the entry of a copy stands still while others may change: each has a sequence
 * number, odd while it is being changed.
 */
#define log_fmt(fmt) "gpu/engine: " fmt
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "engine.h"
#include "push.h"
#include "util/log.h"

/**
 * struct entry - a mapping with routines of this file
 * @next: list of all; never changes once the entry is in it
 * @seq:  odd while the rest is being changed
 * @addr: start, 0 while the entry is free
 * @len:  bytes
 * @pin:  its pin
 * @cpu:  the CPU's routines
 */
struct entry {
	struct entry *next;
	_Atomic(uint32_t) seq;
	_Atomic(uintptr_t) addr;
	_Atomic(size_t) len;
	_Atomic(bl_pin_t) pin;
	_Atomic(const struct bl_cpu_copy *) cpu;
};

static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct entry *) entries;

static void change(struct entry *entry, uintptr_t addr, size_t len, bl_pin_t pin, const struct bl_cpu_copy *cpu)
{
	uint32_t seq = atomic_load_explicit(&entry->seq, memory_order_relaxed);

	/* sequentially consistent, as are the loads in matches(): these are rare, and those cost nothing more on x86 */
	atomic_store(&entry->seq, seq + 1);
	atomic_store(&entry->addr, addr);
	atomic_store(&entry->len, len);
	atomic_store(&entry->pin, pin);
	atomic_store(&entry->cpu, cpu);
	atomic_store(&entry->seq, seq + 2);
}

static bool matches(const struct entry *entry, uintptr_t addr)
{
	uint32_t seq = atomic_load(&entry->seq);
	uintptr_t start = atomic_load(&entry->addr);
	size_t len = atomic_load(&entry->len);

	return start && addr - start < len && !(seq & 1) && atomic_load(&entry->seq) == seq;
}

static struct entry *find(const void *addr)
{
	static __thread struct entry *last;
	struct entry *entry = last;

	if (entry && matches(entry, (uintptr_t)addr))
		return entry;
	for (entry = atomic_load(&entries); entry && !matches(entry, (uintptr_t)addr); entry = entry->next)
		;
	if (entry)
		last = entry;
	return entry;
}

static int copy(enum bl_engine engine, enum bl_copy_dir dir, const void *mapped, void *host, size_t len)
{
	const struct entry *entry = find(mapped);
	const struct bl_cpu_copy *cpu;
	uint64_t off;

	if (!entry)
		return fail(EINVAL, "copy: addr %p: the mapping went away", mapped);
	cpu = atomic_load(&entry->cpu);
	off = (uintptr_t)mapped - atomic_load(&entry->addr);
	if (engine == BL_ENGINE_CE || bl_engine_large(dir, len) || bl_push_fits(dir, len))
		return bl_engine_copy(atomic_load(&entry->pin), off, host, len, dir, engine);
	bl_engine_count(BL_ENGINE_CPU, dir, len);
	return dir == BL_COPY_TO ? cpu->to((void *)(uintptr_t)mapped, host, len) : cpu->from(host, mapped, len);
}

static int auto_to(void *dst, const void *src, size_t len)
{
	return copy(BL_ENGINE_AUTO, BL_COPY_TO, dst, (void *)(uintptr_t)src, len);
}

static int auto_from(void *dst, const void *src, size_t len)
{
	return copy(BL_ENGINE_AUTO, BL_COPY_FROM, src, dst, len);
}

static int ce_to(void *dst, const void *src, size_t len)
{
	return copy(BL_ENGINE_CE, BL_COPY_TO, dst, (void *)(uintptr_t)src, len);
}

static int ce_from(void *dst, const void *src, size_t len)
{
	return copy(BL_ENGINE_CE, BL_COPY_FROM, src, dst, len);
}

static const struct bl_cpu_copy routines[] = {
	[BL_ENGINE_AUTO] = { "auto", auto_to, auto_from },
	[BL_ENGINE_CE] = { "ce", ce_to, ce_from },
	/* writes, and reads of other lengths, go by whichever is best */
	[BL_ENGINE_PUSH] = { "push", auto_to, auto_from },
};

bool bl_edge_is(const struct bl_cpu_copy *copy_routines)
{
	return copy_routines == &routines[BL_ENGINE_AUTO] || copy_routines == &routines[BL_ENGINE_CE] ||
	       copy_routines == &routines[BL_ENGINE_PUSH];
}

const struct bl_cpu_copy *bl_edge_cpu(const void *addr)
{
	const struct entry *entry = find(addr);

	return entry ? atomic_load(&entry->cpu) : NULL;
}

static enum bl_engine wanted(void)
{
	const char *name = getenv("GDRCOPY_ENGINE");
	enum bl_engine engine = BL_ENGINE_CPU;

	if (name && *name && bl_engine_parse(name, &engine))
		log_warn("GDRCOPY_ENGINE %s ignored: it is none of auto, cpu, ce, push", name);
	return engine;
}

/* A free entry, or a new one; the lock is held. */
static struct entry *get_entry(void)
{
	struct entry *entry;

	for (entry = atomic_load(&entries); entry && atomic_load(&entry->addr); entry = entry->next)
		;
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->next = atomic_load(&entries);
	atomic_store(&entries, entry);
	return entry;
}

const struct bl_cpu_copy *bl_edge_select(bl_pin_t pin, const struct bl_mapping *mapping, const struct bl_cpu_copy *cpu)
{
	enum bl_engine engine = wanted();
	struct entry *entry;

	if (engine == BL_ENGINE_CPU)
		return cpu;
	pthread_mutex_lock(&entries_lock);
	entry = get_entry();
	if (entry)
		change(entry, (uintptr_t)mapping->addr, mapping->len, pin, cpu);
	pthread_mutex_unlock(&entries_lock);
	if (!entry) {
		log_warn("GDRCOPY_ENGINE %s ignored: out of memory", bl_engine_name(engine));
		return cpu;
	}
	bl_copies_note();
	/* to ask for it by name is to enable it */
	if (engine == BL_ENGINE_PUSH)
		bl_push_enable_all();
	return &routines[engine];
}

void bl_edge_drop(const void *addr)
{
	struct entry *entry;

	if (!atomic_load(&entries))
		return;
	pthread_mutex_lock(&entries_lock);
	for (entry = atomic_load(&entries); entry; entry = entry->next) {
		if (atomic_load(&entry->addr) == (uintptr_t)addr)
			change(entry, 0, 0, 0, NULL);
	}
	pthread_mutex_unlock(&entries_lock);
}

void bl_edge_forget(void)
{
	pthread_mutex_init(&entries_lock, NULL);
	for (struct entry *entry = atomic_load(&entries); entry; entry = entry->next)
		change(entry, 0, 0, 0, NULL);
}
