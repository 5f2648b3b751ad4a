/* SPDX-License-Identifier: MIT */
/*
 * script.h - requests that both ends know beforehand
 *
 * Both make the same requests of the same seed, and each does them on a copy of the responder's memory, so that either
 * can tell at any time what must be there. Only what RC and UC promise is relied upon: a request after a read that is
 * not complete has the fence.
 */
#ifndef TESTS_EMU_NET_MIX_SCRIPT_H
#define TESTS_EMU_NET_MIX_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIX_SLOTS   16U		/* requests under way, and places for their data */
#define MIX_TARGET  (128UL << 10) /* memory that requests write, read and count in */
#define MIX_LONGEST 40000U
#define MIX_UC_LONGEST 12000U
#define MIX_SLOT    40960UL
#define MIX_INLINE  28U
#define MIX_IMM	    0xa5000000U /* immediates are numbers of requests, and this */

enum mix_ops { MIX_SENDS = 1, MIX_WRITES = 2, MIX_READS = 4, MIX_ATOMICS = 8, MIX_ALL = 15 };

/* Opcodes of mlx5. */
enum mix_opcode {
	MIX_WRITE = 0x08,
	MIX_WRITE_IMM = 0x09,
	MIX_SEND = 0x0a,
	MIX_SEND_IMM = 0x0b,
	MIX_READ = 0x10,
	MIX_CAS = 0x11,
	MIX_ADD = 0x12
};

/**
 * struct mix_request - one request
 * @index:   counted from 0
 * @off:     in the responder's target
 * @in_line: the bytes travel in the request
 * @cut:     bytes of the first of two segments, 0: there is one
 * @fence:   after what was read before
 * @add, @compare: operands; of a compare and swap @add is stored
 */
struct mix_request {
	uint32_t index;
	enum mix_opcode opcode;
	uint32_t len;
	uint32_t off;
	uint32_t cut;
	uint32_t imm;
	bool in_line;
	bool fence;
	uint64_t add;
	uint64_t compare;
};

/**
 * struct mix_script - where an end is
 * @dice:   state of the generator
 * @ops:    enum mix_ops: kinds of requests that come
 * @uc:	    only what an unreliable connection has
 * @lossy:  messages may be lost, so that each has to tell by itself which one it is
 * @next:   index of the next request
 * @read:   a read may be under way
 * @target: the responder's memory as it is when all requests so far are done
 */
struct mix_script {
	uint64_t dice;
	unsigned int ops;
	bool uc;
	bool lossy;
	uint32_t next;
	bool read;
	uint8_t target[MIX_TARGET];
};

/* At the first request; @script->target is as the responder's memory has to be. */
void mix_script_begin(struct mix_script *script, uint64_t seed, unsigned int ops, bool uc, bool lossy);

/* The next request. Not done yet: then what it returns is still to be seen in the target. */
void mix_script_next(struct mix_script *script, struct mix_request *request);

/* Do it to the target. */
void mix_script_do(struct mix_script *script, const struct mix_request *request);

/* The responder gets a completion for it. */
bool mix_is_received(const struct mix_request *request);

bool mix_is_atomic(const struct mix_request *request);

/* Bytes that a request carries. */
void mix_fill(const struct mix_request *request, uint8_t *bytes);

/* Whether those are they; the first that is not in *@bad_p. */
bool mix_is_filled(const struct mix_request *request, const uint8_t *bytes, uint32_t *bad_p);

#endif
