/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gate.h - who may still come in, and whether the last one has left
 *
 * A gate guards something that is taken away once: memory of a GPU, a device. It is open at first. Users enter
 * while it is open. Whoever takes the thing away closes the gate and waits until no user is inside. The owner of a
 * gate has a lock for it; none of this takes one.
 */
#ifndef BL_NVFS_GATE_H
#define BL_NVFS_GATE_H

#include <linux/types.h>

/**
 * struct bl_gate - see above; all zero is open
 * @users:  how many are inside
 * @closed: nobody may enter any more
 */
struct bl_gate {
	u32 users;
	bool closed;
};

/* Whether the caller is inside now. */
static inline bool bl_gate_enter(struct bl_gate *gate)
{
	if (gate->closed)
		return false;
	gate->users++;
	return true;
}

/* Whether somebody waits for this one to leave. */
static inline bool bl_gate_leave(struct bl_gate *gate)
{
	gate->users--;
	return !gate->users && gate->closed;
}

/* Whether nobody is inside and nobody will be. */
static inline bool bl_gate_is_idle(const struct bl_gate *gate)
{
	return gate->closed && !gate->users;
}

/* Whether the gate is open again: only a closed one that nobody is inside of. */
static inline bool bl_gate_reopen(struct bl_gate *gate)
{
	if (!bl_gate_is_idle(gate))
		return false;
	gate->closed = false;
	return true;
}

#endif
