/* SPDX-License-Identifier: MIT */
/* shown_gpu.h - what a process shows of queue pairs that GPUs use, util/shown.h: the layout */
#ifndef BL_NET_SHOWN_GPU_H
#define BL_NET_SHOWN_GPU_H

#include "util/shown.h"

#define BL_SHOWN_GPU_VERSION 1
#define BL_SHOWN_GPU_QPS     512

enum bl_shown_gpu_flags {
	BL_SHOWN_GPU_OBJECT = 1, /* a CPU reaches the GPU's object: @reserved to @rq_posted are known */
	BL_SHOWN_GPU_WATCHED = 2, /* the NIC looks at the word itself */
	BL_SHOWN_GPU_FOLDED = 4, /* a CPU counts the completions */
	BL_SHOWN_GPU_FOLD_FAILED = 8,
	BL_SHOWN_GPU_PROXIED = 16, /* a CPU has something to do for it */
	BL_SHOWN_GPU_RECORD = 32, /* a CPU reaches the doorbell records */
	BL_SHOWN_GPU_WORD = 64, /* there is a word to be served */
	BL_SHOWN_GPU_ALONE = 128, /* no thread of the library or of a service serves it */
};

/**
 * struct bl_shown_gpu_qp - a queue pair that was exported
 * @qpn:      number; 0: none
 * @handler:  enum doca_gpu_dev_verbs_nic_handler
 * @ringer:   enum bl_net_ringer
 * @sq_nr:    blocks of the send queue
 * @stop:     word that ends the waits of threads
 * @nic:      name of its device
 * @reason:   why the handler is what it is
 * @reserved, @ready, @submitted: slots that threads have taken, filled, and handed over
 * @completed: completions of the send queue that threads know of
 * @rq_posted: receive requests handed over
 * @word, @served: count that a CPU has to tell the NIC, and has told it
 * @rings:    times that it did
 * @folded:   completions that a CPU has counted
 * @records:  doorbell records, receive and send, 16 bits
 */
struct bl_shown_gpu_qp {
	bl_shown_seq seq;
	uint32_t qpn;
	uint32_t handler;
	uint32_t ringer;
	uint32_t flags;
	uint32_t timeout_ms;
	uint32_t sq_nr;
	uint32_t stop;
	char nic[32];
	char reason[160];
	uint64_t reserved, ready, submitted, completed, rq_posted;
	uint64_t word, served, rings, folded;
	uint32_t records[2];
};

/**
 * struct bl_shown_gpu - all of a process
 * @now_ns: CLOCK_MONOTONIC when this was written
 * @nr:     that there are; @first: entries that are valid
 */
struct bl_shown_gpu {
	struct bl_shown_head head;
	bl_shown_seq seq;
	uint32_t nr;
	uint32_t first;
	uint32_t reserved;
	uint64_t now_ns;
	struct bl_shown_gpu_qp qps[BL_SHOWN_GPU_QPS];
};

#endif
