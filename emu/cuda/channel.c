// SPDX-License-Identifier: MIT
/*
 * Channels: a GPU takes work from a few queues, each in order, and streams share them (BARLANE_EMU_CHANNELS). Work behind a
 * wait for a word so stops other streams too, which is why CUDA's manual says that such waits are invisible to it.
 *
 * Functions of the program's are CUDA's own affair: it hands what waits for them to the hardware afterwards.
 */
#include "env.h"
#include "queue.h"

/* Whether an op is in its channel. Counted by looks, so that each op is asked once in a look. */
static int issued(struct emu_op *op, uint64_t look)
{
	if (op->looked == look)
		return op->issued;
	op->looked = look;
	op->issued = 1;
	for (unsigned int i = 0; i < op->nr_deps; i++) {
		struct emu_op *dep = op->deps[i];

		if (!dep->done && (dep->host || !issued(dep, look)))
			op->issued = 0;
	}
	return op->issued;
}

static int in_front(struct emu_op *other, const struct emu_op *op, uint64_t look)
{
	return other->seq < op->seq && !other->done && !other->host && other->run && issued(other, look);
}

int emu_channel_free(struct emu_op *op)
{
	static uint64_t look;
	unsigned int channels = emu_env()->channels;

	if (!channels || op->host || !op->run)
		return 1;
	look++;
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (stream == op->stream || stream->ctx != op->stream->ctx ||
		    stream->id % channels != op->stream->id % channels)
			continue;
		if (stream->running && in_front(stream->running, op, look))
			return 0;
		for (struct emu_op *other = stream->head; other; other = other->next) {
			if (in_front(other, op, look))
				return 0;
		}
	}
	return 1;
}
