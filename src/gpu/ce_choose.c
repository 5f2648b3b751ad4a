// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/ce: " fmt
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ce.h"
#include "copy/engine.h"
#include "util/clock.h"
#include "util/log.h"

#define LEN	   (128UL << 10)
#define ROUNDS	   9
#define PROOFS	   32U
#define MIN_PROOFS 8U
#define MAX_NS	   2000000U /* where a copy takes that long the difference does not matter */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/**
 * struct choice - how the end of a copy of pinned memory is seen
 * @asks:   by direction: by asking the stream
 * @tokens: else, behind a read, by a number that a transfer brings
 */
struct choice {
	bool asks[BL_NR_DIRS];
	bool tokens;
};

/* BARLANE_CE_REPORT, for measurements and tests: whether it decides. */
static bool forced(struct choice *choice)
{
	const char *text = getenv("BARLANE_CE_REPORT");

	if (!text || !*text)
		return false;
	choice->asks[BL_COPY_TO] = choice->asks[BL_COPY_FROM] = !strcmp(text, "stream");
	choice->tokens = !strcmp(text, "token");
	if (!choice->asks[BL_COPY_TO] && !choice->tokens && strcmp(text, "counter")) {
		log_warn("BARLANE_CE_REPORT %s ignored: it is none of counter, token, stream", text);
		return false;
	}
	return true;
}

static bool starts_right(const unsigned char *host, const unsigned char *model, size_t at)
{
	return !memcmp(host + at, model + at, LEN - at) && !memcmp(host, model, at);
}

/* Whether the bytes are there when the number is, wherever one looks first. */
static int try_order(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, const unsigned char *model, bool *right_p)
{
	uint64_t start = bl_now_ns();
	int ret = 0;

	*right_p = true;
	for (size_t i = 0; i < PROOFS && *right_p && !ret; i++) {
		memset(copy->host, 0, LEN);
		ret = bl_ce_run(cuda, copy);
		*right_p = !ret && starts_right(copy->host, model, (PROOFS - 1 - i) * (LEN / PROOFS));
		/* where even a few take that long nothing is to be gained */
		if (bl_now_ns() - start > MAX_NS && i + 1 >= MIN_PROOFS)
			break;
		if (bl_now_ns() - start > MIN_PROOFS * (uint64_t)MAX_NS)
			*right_p = false;
	}
	return ret;
}

/*
 * That the second of two transfers in a stream begins when the first is complete is what a stream is; that the CPU then
 * sees them in this order too rests on the order of posted writes. Not to be taken on trust on hardware that nobody saw.
 */
static int prove(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce *ce, bool *right_p)
{
	struct bl_ce_copy there = *copy;
	uint32_t *model = malloc(LEN);
	int ret;

	*right_p = false;
	if (!model)
		return 0;
	for (uint32_t i = 0; i < LEN / sizeof(*model); i++)
		model[i] = (i + 1) * 2654435761U | 1;
	memcpy(copy->host, model, LEN);
	there.dir = BL_COPY_TO;
	ret = bl_ce_run(cuda, &there);
	bl_ce_report(ce, false, false, BL_CE_TOKENS_ON);
	if (!ret)
		ret = try_order(cuda, copy, (unsigned char *)model, right_p);
	free(model);
	return ret;
}

enum way { COUNTER, STREAM, TOKEN, NR_WAYS };

/* The first of two copies is not timed, so that each way finds the state that it leaves itself. */
static int time_one(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce *ce, enum way way,
		    uint64_t *ns_p)
{
	uint64_t start;
	int ret;

	bl_ce_report(ce, way == STREAM, way == STREAM, way == TOKEN ? BL_CE_TOKENS_ON : BL_CE_TOKENS_OFF);
	ret = bl_ce_run(cuda, copy);
	start = bl_now_ns();
	if (!ret)
		ret = bl_ce_run(cuda, copy);
	*ns_p = bl_now_ns() - start;
	return ret;
}

static uint64_t median(uint64_t *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), compare);
	return ns[ROUNDS / 2];
}

/* @nr: TOKEN comes last, and may be left out. */
static int measure(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce *ce, enum way nr,
		   struct choice *choice)
{
	uint64_t ns[NR_WAYS][ROUNDS], mid[NR_WAYS] = { 0, 0, UINT64_MAX };
	int ret;

	for (int i = 0; i < ROUNDS; i++) {
		for (enum way way = COUNTER; way < nr; way++) {
			ret = time_one(cuda, copy, ce, way, &ns[way][i]);
			if (ret || ns[way][i] > MAX_NS)
				return ret;
		}
	}
	for (enum way way = COUNTER; way < nr; way++)
		mid[way] = median(ns[way]);
	log_debug("128 KiB: %" PRIu64 " ns by the counter, %" PRIu64 " ns by asking the stream, %" PRIu64
		  " ns by a token", mid[COUNTER], mid[STREAM], nr > TOKEN ? mid[TOKEN] : 0);
	/* a token is some 200 ns faster where both are sound; so few samples do not tell the last percents */
	choice->tokens = nr > TOKEN && mid[TOKEN] < mid[COUNTER] + mid[COUNTER] / 64;
	choice->asks[BL_COPY_TO] = mid[STREAM] < mid[COUNTER];
	choice->asks[BL_COPY_FROM] = choice->asks[BL_COPY_TO] && mid[STREAM] < mid[TOKEN];
	return 0;
}

static int choose(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce *ce, struct choice *choice)
{
	bool right = false;
	int ret;

	if (forced(choice))
		return 0;
	ret = prove(cuda, copy, ce, &right);
	if (ret)
		return ret;
	if (!right)
		log_info("the copy engine does not bring the number behind a read: bytes are not there when it is, or it "
			 "is slow");
	return measure(cuda, copy, ce, right ? NR_WAYS : TOKEN, choice);
}

int bl_ce_choose(const struct bl_cuda *cuda, struct bl_ce_target *target, uint64_t va, void *pinned)
{
	const struct bl_ce_copy copy = {
		.target = target,
		.va = va,
		.host = pinned,
		.len = LEN,
		.dir = BL_COPY_FROM,
		.pinned = true,
	};
	struct choice choice = { 0 };
	struct bl_ce *ce;
	int ret;

	ret = bl_ce_run(cuda, &copy);
	if (ret)
		return ret;
	/* the channel is known after a copy */
	ce = atomic_load_explicit(&target->ce, memory_order_acquire);
	ret = choose(cuda, &copy, ce, &choice);
	bl_ce_report(ce, choice.asks[BL_COPY_TO], choice.asks[BL_COPY_FROM], BL_CE_TOKENS_BY_GPU);
	bl_ce_tokens_allow(target->device, choice.tokens);
	return ret;
}
