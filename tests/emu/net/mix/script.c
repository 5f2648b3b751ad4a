// SPDX-License-Identifier: MIT
#include "script.h"

#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NR_COUNTERS 4U /* words that atomics meet at */

static uint64_t roll(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice;
}

static uint8_t byte_at(uint32_t index, uint32_t i)
{
	return (uint8_t)(index * 31 + i * 7 + (i >> 8) * 13 + 1);
}

void mix_script_begin(struct mix_script *script, uint64_t seed, unsigned int ops, bool uc, bool lossy)
{
	script->dice = seed * 0x9e3779b97f4a7c15ULL + 1;
	script->ops = ops;
	script->uc = uc;
	script->lossy = lossy;
	script->next = 0;
	script->read = false;
	for (uint32_t i = 0; i < MIX_TARGET; i++)
		script->target[i] = byte_at((uint32_t)seed, i);
	for (int i = 0; i < 8; i++)
		roll(&script->dice);
}

bool mix_is_received(const struct mix_request *request)
{
	return request->opcode == MIX_SEND || request->opcode == MIX_SEND_IMM || request->opcode == MIX_WRITE_IMM;
}

bool mix_is_atomic(const struct mix_request *request)
{
	return request->opcode == MIX_CAS || request->opcode == MIX_ADD;
}

static enum mix_opcode choose_opcode(struct mix_script *script)
{
	static const struct {
		unsigned int op;
		enum mix_opcode opcode;
		bool tells; /* arrives with a completion that says which it is */
	} kinds[] = {
		{ MIX_SENDS, MIX_SEND, false },	      { MIX_SENDS, MIX_SEND_IMM, true },
		{ MIX_WRITES, MIX_WRITE, false },     { MIX_WRITES, MIX_WRITE_IMM, true },
		{ MIX_READS, MIX_READ, false },	      { MIX_ATOMICS, MIX_ADD, false },
		{ MIX_ATOMICS, MIX_CAS, false },
	};
	size_t i;

	do {
		i = roll(&script->dice) % ARRAY_LEN(kinds);
	} while (!(script->ops & kinds[i].op) || (script->uc && kinds[i].op > MIX_WRITES) ||
		 (script->lossy && !kinds[i].tells));
	return kinds[i].opcode;
}

/* Nothing, a packet of each path MTU, one byte less and more, several, more than a window of small ones. */
static uint32_t choose_len(struct mix_script *script)
{
	static const uint32_t edges[] = { 0, 1, 3, 8, 28, 255, 256, 257, 511, 513, 1024, 1025, 2048, 2049, 4095, 4096, 4097,
					  8192, 10000 };
	uint32_t longest = script->uc ? MIX_UC_LONGEST : MIX_LONGEST;

	switch (roll(&script->dice) % 8) {
	case 0:
		return longest;
	case 1:
		return 1 + (uint32_t)(roll(&script->dice) % longest);
	default:
		return edges[roll(&script->dice) % ARRAY_LEN(edges)];
	}
}

/* A word that atomics count in; now and then the value is the one that is there. */
static void choose_atomic(struct mix_script *script, struct mix_request *request)
{
	uint64_t now;

	request->len = 8;
	request->off = (uint32_t)(roll(&script->dice) % NR_COUNTERS) * 8;
	memcpy(&now, script->target + request->off, sizeof(now));
	request->add = roll(&script->dice);
	request->compare = roll(&script->dice) & 1 ? now : now + 1;
}

void mix_script_next(struct mix_script *script, struct mix_request *request)
{
	*request = (struct mix_request){ .index = script->next++, .opcode = choose_opcode(script) };
	request->imm = request->index ^ MIX_IMM;
	request->fence = script->read;
	if (request->opcode == MIX_READ)
		request->fence = false;
	if (mix_is_atomic(request)) {
		choose_atomic(script, request);
	} else {
		request->len = choose_len(script);
		/* while messages may be lost, those of one round must not lie on each other */
		request->off = script->lossy ? request->index % 4 * MIX_UC_LONGEST :
					       (uint32_t)(roll(&script->dice) % (MIX_TARGET - request->len));
		request->in_line = request->opcode != MIX_READ && request->len && request->len <= MIX_INLINE &&
				   roll(&script->dice) & 1;
		if (!request->in_line && request->opcode != MIX_READ && request->len > 1 && roll(&script->dice) & 1)
			request->cut = 1 + (uint32_t)(roll(&script->dice) % (request->len - 1));
	}
	script->read = request->opcode == MIX_READ || (script->read && !request->fence);
}

static void do_atomic(struct mix_script *script, const struct mix_request *request)
{
	uint64_t word;

	memcpy(&word, script->target + request->off, sizeof(word));
	if (request->opcode == MIX_ADD)
		word += request->add;
	else if (word == request->compare)
		word = request->add;
	memcpy(script->target + request->off, &word, sizeof(word));
}

void mix_script_do(struct mix_script *script, const struct mix_request *request)
{
	if (mix_is_atomic(request))
		do_atomic(script, request);
	else if (request->opcode == MIX_WRITE || request->opcode == MIX_WRITE_IMM)
		mix_fill(request, script->target + request->off);
}

void mix_fill(const struct mix_request *request, uint8_t *bytes)
{
	for (uint32_t i = 0; i < request->len; i++)
		bytes[i] = byte_at(request->index, i);
}

bool mix_is_filled(const struct mix_request *request, const uint8_t *bytes, uint32_t *bad_p)
{
	for (uint32_t i = 0; i < request->len; i++) {
		if (bytes[i] != byte_at(request->index, i)) {
			*bad_p = i;
			return false;
		}
	}
	return true;
}
