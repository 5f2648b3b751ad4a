/* SPDX-License-Identifier: MIT */
/* engine.h - which engine does a copy */
#ifndef BL_GPU_ENGINE_H
#define BL_GPU_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "copy/cpu.h"
#include "copy/engine.h"
#include "core.h"

/* Smallest copy for which "auto" looks closer, by direction; one load on the way of all others. */
extern _Atomic(size_t) bl_engine_from[BL_NR_DIRS];

static inline bool bl_engine_large(enum bl_copy_dir dir, size_t len)
{
	return len >= atomic_load_explicit(&bl_engine_from[dir], memory_order_relaxed);
}

/**
 * bl_engine_copy() - Copy with an engine other than plain "cpu"
 * @id:     mapped pin
 * @off:    bytes from its start; the range was found to be inside the mapping
 * @host:   host memory
 * @len:    bytes, > 0
 * @dir:    direction
 * @engine: who copies
 *
 * Return: as bl_copy().
 */
int bl_engine_copy(bl_pin_t id, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine);

/* Copy with the CPU, noted for ce; the range is inside the mapping. */
int bl_engine_by_cpu(struct bl_pin *pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir);

/* Count a copy for bl_engine_stats(); takes no lock. */
void bl_engine_count(enum bl_engine engine, enum bl_copy_dir dir, size_t len);

/**
 * bl_edge_select() - Routines of a mapping that a compatibility library made
 * @pin:     its pin
 * @mapping: the mapping
 * @cpu:     routines without GDRCOPY_ENGINE
 *
 * With GDRCOPY_ENGINE=auto, ce or push: routines that go through bl_engine_copy() and return 0 or -errno; to be undone
 * with bl_edge_drop().
 * Return: @cpu, or the others; valid for ever.
 */
const struct bl_cpu_copy *bl_edge_select(bl_pin_t pin, const struct bl_mapping *mapping, const struct bl_cpu_copy *cpu);

/* The mapping at @addr goes; harmless for those that bl_edge_select() left alone. */
void bl_edge_drop(const void *addr);

/* Whether these are routines of bl_edge_select() and not of the CPU. */
bool bl_edge_is(const struct bl_cpu_copy *copy);

/* The CPU's routines of the mapping with routines of bl_edge_select() that holds @addr; NULL when it went away. */
const struct bl_cpu_copy *bl_edge_cpu(const void *addr);

/**
 * struct bl_again - what the thread's last copies by ce found out of a pin
 * @id:     pin, 0 none
 * @va:     device address of its first byte
 * @table:  what copies take, NULL where nobody has asked
 * @target: as the pin has it; memory of a context, which is looked for at each copy
 *
 * A handle is never given out twice, so all of it holds while the pin is mapped. The next copy takes no lock and no
 * reference of the pin, and asks nothing again but CUDA whether the memory is there: 100 ns of 7000.
 */
struct bl_again {
	bl_pin_t id;
	uint64_t va;
	const struct bl_cost_table *table;
	struct bl_ce_target target;
};

/* The calling thread's; NULL before its first copy that was counted. It stays when the thread ends, and is handed on. */
struct bl_again *bl_engine_again(void);

/* Forget all that was inherited, in a child that starts anew. */
void bl_engine_forget(void);
void bl_edge_forget(void);
void bl_calibrate_forget(void);
void bl_calibrate_push_forget(void);

/**
 * bl_engine_prepare() - Find out what engines other than the CPU must know of a pin
 * @pin: mapped pin
 *
 * Return: 0; -EOPNOTSUPP (no CUDA), or as bl_ce_target_init(); with the reason.
 */
int bl_engine_prepare(struct bl_pin *pin);

/* A pin was mapped: make what "auto" must not make on the way of a copy. No lock is held; may wait for kernels. */
void bl_engine_mapped(struct bl_pin *pin);

struct bl_cost_table;

/**
 * bl_calibrate() - What copies to and from a GPU take with each engine
 * @pin: mapped pin whose memory is there; bl_engine_prepare() was called
 *
 * Measured once per GPU, on memory of its own, within 50 ms. Other threads do not wait for it.
 * Return: the table, valid for ever; NULL when the CPU shall copy: it cannot be told yet, or not at all.
 */
const struct bl_cost_table *bl_calibrate(const struct bl_pin *pin);

/**
 * bl_calibrate_push() - What reads of up to BL_PUSH_MAX_LEN take with each engine, push among them
 * @pin: as for bl_calibrate(); on its GPU push is enabled
 *
 * Measured once per GPU, when the context of the memory has a channel and the others were measured, within 10 ms. Other
 * threads do not wait for it.
 * Return: the table, valid for ever; NULL when push shall not be used: it cannot be told yet, or not at all.
 */
const struct bl_cost_table *bl_calibrate_push(struct bl_pin *pin);

#endif
