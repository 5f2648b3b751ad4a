// SPDX-License-Identifier: MIT
/* cases.c - what is run, and what must not come of it */
#include "litmus.h"

#include "common/doca_gpunetio_verbs_def.h"

#define GPU   (1U << BL_LITMUS_GPU)
#define OTHER (1U << BL_LITMUS_GPU_OTHER)
#define NIC   (1U << BL_LITMUS_NIC)

/* r0 is new and r1 is old, whatever r2 is. */
#define TOLD_TOO_EARLY (1U << 1 | 1U << 5)
/* r0 is new, r1 is new, r2 is old; the same with an old r1; r1 alone is new and r2 is old. */
#define TOLD_OF_NOTHING (1U << 3 | 1U << 1 | 1U << 2)

static const struct litmus_shape shapes[BL_LITMUS_NR_SHAPES] = {
	[BL_LITMUS_OUT] = { GPU | NIC, 2, TOLD_TOO_EARLY, "GPU: message, flag; NIC: r0 flag, r1 message" },
	[BL_LITMUS_HANDED] = { GPU | OTHER | NIC, 2, TOLD_TOO_EARLY,
			       "other GPU thread: message, word; GPU: word, flag; NIC: r0 flag, r1 message" },
	[BL_LITMUS_IN] = { GPU | NIC, 2, TOLD_TOO_EARLY, "NIC: message, word; GPU: r0 word, r1 message" },
	[BL_LITMUS_CQE] = { GPU | NIC, 3, TOLD_TOO_EARLY | 1U << 3,
			    "NIC: message, CQE, its end; GPU: r0 poll, r1 message, r2 length in the CQE" },
	[BL_LITMUS_SB] = { GPU | NIC, 2, 1U << 0, "GPU: x, r0 y; NIC: y, r1 x" },
	[BL_LITMUS_SB_GPUS] = { GPU | OTHER, 2, 1U << 0, "GPU: x, r0 y; other GPU thread: y, r1 x" },
	[BL_LITMUS_GPUS] = { GPU | OTHER, 2, TOLD_TOO_EARLY, "other GPU thread: message, flag; GPU: r0 flag, r1 message" },
	[BL_LITMUS_WQE] = { GPU | NIC, 3, TOLD_TOO_EARLY | TOLD_OF_NOTHING,
			    "GPU: WQE, record, doorbell; NIC: r0 doorbell, r1 record, r2 WQE" },
	[BL_LITMUS_WHOLE] = { GPU | NIC, 2, TOLD_TOO_EARLY, "GPU: message, marked words; NIC: r0 all of the words, r1 message" },
	[BL_LITMUS_BROUGHT] = { GPU | OTHER | NIC, 2, TOLD_TOO_EARLY,
				"other GPU thread: message, word; GPU: word, message into marked words; NIC: r0 all of them, r1 message there" },
	[BL_LITMUS_SUBMIT] = { GPU | NIC, 3, TOLD_OF_NOTHING, "GPU: submit(); NIC: r0 doorbell or word, r1 record, r2 WQE" },
};

struct litmus_shape litmus_shape_of(const struct litmus_case *test)
{
	return shapes[test->shape];
}

#define HOST   LITMUS_HOST
#define ON_GPU LITMUS_ON_GPU

/* A case with its fences, and the same without, which is not judged. */
#define WITH_AND_WITHOUT(name, shape, message, word, scope)                                                            \
	{ name, shape, message, word, 0, scope, BL_LITMUS_FENCED, true, false },                                       \
	{ name, shape, message, word, 0, scope, BL_LITMUS_BARE, false, false }

#define SUBMIT(name, message, handler) { name, BL_LITMUS_SUBMIT, message, HOST, handler, 0, BL_LITMUS_FENCED, true, false }

const struct litmus_case litmus_cases[] = {
	WITH_AND_WITHOUT("gpu_to_nic", BL_LITMUS_OUT, HOST, HOST, 0),
	WITH_AND_WITHOUT("gpu_to_nic", BL_LITMUS_OUT, ON_GPU, HOST, 0),
	/* a fence of the GPU orders nothing for a CPU */
	{ "gpu_to_nic", BL_LITMUS_OUT, HOST, HOST, 0, 1, BL_LITMUS_FENCED, false, false },
	WITH_AND_WITHOUT("handed_to_nic", BL_LITMUS_HANDED, HOST, HOST, 0),
	WITH_AND_WITHOUT("handed_to_nic", BL_LITMUS_HANDED, ON_GPU, HOST, 0),
	WITH_AND_WITHOUT("nic_to_gpu", BL_LITMUS_IN, ON_GPU, ON_GPU, 0),
	WITH_AND_WITHOUT("nic_to_gpu", BL_LITMUS_IN, HOST, ON_GPU, 0),
	WITH_AND_WITHOUT("nic_to_gpu", BL_LITMUS_IN, HOST, HOST, 0),
	WITH_AND_WITHOUT("cqe", BL_LITMUS_CQE, ON_GPU, ON_GPU, 0),
	WITH_AND_WITHOUT("cqe", BL_LITMUS_CQE, HOST, ON_GPU, 0),
	WITH_AND_WITHOUT("cqe", BL_LITMUS_CQE, HOST, HOST, 0),
	{ "cqe_line", BL_LITMUS_CQE, ON_GPU, ON_GPU, 0, 0, BL_LITMUS_FENCED, true, true },
	{ "cqe_line", BL_LITMUS_CQE, ON_GPU, ON_GPU, 0, 0, BL_LITMUS_BARE, false, true },
	{ "cqe_line", BL_LITMUS_CQE, HOST, ON_GPU, 0, 0, BL_LITMUS_FENCED, true, true },
	{ "cqe_line", BL_LITMUS_CQE, HOST, ON_GPU, 0, 0, BL_LITMUS_BARE, false, true },
	WITH_AND_WITHOUT("store_buffer", BL_LITMUS_SB, HOST, HOST, 0),
	WITH_AND_WITHOUT("store_buffer", BL_LITMUS_SB, ON_GPU, ON_GPU, 0),
	WITH_AND_WITHOUT("store_buffer_gpus", BL_LITMUS_SB_GPUS, ON_GPU, ON_GPU, 1),
	WITH_AND_WITHOUT("store_buffer_gpus", BL_LITMUS_SB_GPUS, ON_GPU, ON_GPU, 0),
	WITH_AND_WITHOUT("gpu_to_gpu", BL_LITMUS_GPUS, ON_GPU, ON_GPU, 1),
	WITH_AND_WITHOUT("gpu_to_gpu", BL_LITMUS_GPUS, ON_GPU, ON_GPU, 0),
	WITH_AND_WITHOUT("wqe_record_doorbell", BL_LITMUS_WQE, HOST, HOST, 0),
	WITH_AND_WITHOUT("wqe_record_doorbell", BL_LITMUS_WQE, ON_GPU, HOST, 0),
	WITH_AND_WITHOUT("given_whole", BL_LITMUS_WHOLE, HOST, HOST, 0),
	WITH_AND_WITHOUT("given_whole", BL_LITMUS_WHOLE, ON_GPU, HOST, 0),
	WITH_AND_WITHOUT("brought", BL_LITMUS_BROUGHT, ON_GPU, HOST, 1),
	SUBMIT("submit_proxy", HOST, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY),
	SUBMIT("submit_proxy", ON_GPU, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY),
	SUBMIT("submit_doorbell", HOST, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB),
	SUBMIT("submit_no_record", HOST, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR),
	SUBMIT("submit_polled", HOST, 0),
	{ NULL, 0, 0, 0, 0, 0, 0, false, false },
};

/* Two bits each; of different actors they do not overlap. */
static bool outcome_of(unsigned int bits, unsigned int *outcome_p)
{
	*outcome_p = 0;
	for (unsigned int reg = 0; reg < 3; reg++) {
		unsigned int seen = bits >> reg * 2 & 3;

		if (seen > BL_LITMUS_NEW)
			return false;
		*outcome_p |= seen << reg;
	}
	return true;
}

void litmus_count(struct litmus_counts *counts, const uint8_t *const logs[BL_LITMUS_NR_ACTORS], uint64_t runs)
{
	for (uint64_t i = 0; i < runs; i++) {
		unsigned int bits = 0, outcome;

		for (unsigned int actor = 0; actor < BL_LITMUS_NR_ACTORS; actor++)
			bits |= logs[actor] ? logs[actor][i] : 0U;
		if (outcome_of(bits, &outcome))
			counts->outcomes[outcome]++;
		else
			counts->broken++;
	}
}

uint64_t litmus_forbidden(const struct litmus_case *test, const struct litmus_counts *counts)
{
	uint64_t nr = counts->broken;

	for (unsigned int outcome = 0; outcome < LITMUS_OUTCOMES; outcome++) {
		if (shapes[test->shape].forbidden >> outcome & 1)
			nr += counts->outcomes[outcome];
	}
	return nr;
}
