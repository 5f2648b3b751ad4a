// SPDX-License-Identifier: MIT
/*
 * The counter, brought by the copy engine itself. Behind the last transfer of a long read the stream gets one more, of
 * four bytes: from a table in GPU memory the word that holds the number of this mark, to the counter. It is there up to
 * some 300 ns before what cuStreamWriteValue32() writes, see docs/copy-engine.md. The words are the numbers themselves, so
 * both ways may take turns in one stream; each half of the table gets its next numbers, in the stream, when all of its
 * words have been asked for.
 */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include "util/log.h"

#define HALF	   (BL_CE_TOKENS / 2)
#define TABLE_SIZE (BL_CE_TOKENS * sizeof(uint32_t))
#define MAX_GPUS   64

static atomic_bool proved[MAX_GPUS], anywhere;

void bl_ce_tokens_allow(CUdevice device, bool allowed)
{
	if (device < 0 || device >= MAX_GPUS)
		return;
	atomic_store(&proved[device], allowed);
	if (allowed)
		atomic_store(&anywhere, true);
}

void bl_ce_tokens_forget(void)
{
	for (int i = 0; i < MAX_GPUS; i++)
		atomic_store(&proved[i], false);
	atomic_store(&anywhere, false);
}

static bool wanted(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	if (ce->tokens != BL_CE_TOKENS_BY_GPU)
		return ce->tokens == BL_CE_TOKENS_ON;
	if (!atomic_load_explicit(&anywhere, memory_order_relaxed))
		return false;
	if (ce->device < 0 && cuda->cuCtxGetDevice(&ce->device))
		ce->device = -1;
	return ce->device >= 0 && ce->device < MAX_GPUS &&
	       atomic_load_explicit(&proved[ce->device], memory_order_relaxed);
}

static __attribute__((noinline, cold)) bool give_up(struct bl_ce *ce, const char *why)
{
	log_debug("the number behind a read by cuStreamWriteValue32() from now on: %s", why);
	ce->no_table = true;
	return false;
}

static bool send(const struct bl_cuda *cuda, struct bl_ce *ce, unsigned int first, const uint32_t *words,
		 unsigned int nr)
{
	CUresult err = cuda->cuMemcpyHtoDAsync(ce->table_va + first * sizeof(*words), words, nr * sizeof(*words),
					       ce->stream);

	return !err || give_up(ce, bl_cuda_strerror(err));
}

/* For the mark that is due and those behind it. On an error what CUDA gave stays with the context. */
static __attribute__((noinline, cold)) bool make_table(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUdeviceptr va = 0;
	void *table = NULL;
	CUresult err;

	err = cuda->cuMemHostAlloc(&table, 2 * TABLE_SIZE, CU_MEMHOSTALLOC_PORTABLE);
	ce->table = err ? NULL : table;
	if (!err)
		err = cuda->cuMemAlloc(&va, TABLE_SIZE);
	ce->table_va = err ? 0 : va;
	if (err)
		return give_up(ce, bl_cuda_strerror(err));
	for (uint32_t i = 0; i < BL_CE_TOKENS; i++)
		ce->table[(ce->seq + i) % BL_CE_TOKENS] = ce->seq + i;
	return send(cuda, ce, 0, ce->table, BL_CE_TOKENS);
}

/*
 * The words of a half have been asked for, this mark's last: the stream is sent the next ones. What it was sent for this
 * half a round ago it has fetched when a mark of half a round ago is complete.
 */
static bool next_half(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	unsigned int first = ce->seq % BL_CE_TOKENS - (HALF - 1);
	uint32_t *words = ce->table + BL_CE_TOKENS + first;

	if (!bl_ce_counted(ce, ce->seq - HALF))
		return give_up(ce, "too many are under way");
	for (uint32_t i = 0; i < HALF; i++)
		words[i] = ce->seq - (HALF - 1) + BL_CE_TOKENS + i;
	return send(cuda, ce, first, words, HALF);
}

static bool post(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUresult err = cuda->cuMemcpyDtoHAsync(ce->flag, ce->table_va + ce->seq % BL_CE_TOKENS * sizeof(*ce->flag),
					       sizeof(*ce->flag), ce->stream);

	return !err || give_up(ce, bl_cuda_strerror(err));
}

bool bl_ce_token_post(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	/*
	 * Behind a write it is another engine's transfer, for which the two would have to wait for each other; behind
	 * short reads it came later than a number that is written on one of two machines.
	 */
	if (ce->last != BL_COPY_FROM || ce->last_len < BL_CE_TOKEN_FROM || ce->no_table || !wanted(cuda, ce))
		return false;
	return (ce->table_va || make_table(cuda, ce)) && post(cuda, ce);
}

void bl_ce_token_marked(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	if (ce->table_va && !ce->no_table && ce->seq % HALF == HALF - 1)
		next_half(cuda, ce);
}
