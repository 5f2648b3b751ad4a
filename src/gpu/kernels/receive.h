/* SPDX-License-Identifier: MIT */
/*
 * receive.h - a kernel that receives messages of the CPU while it runs
 *
 * receive.ptx has one kernel, for a grid of one block of any number of threads:
 *
 *	bl_receive(u64 flag, u64 data, u64 answer, u64 nr_messages, u64 timeout_ns, u64 stop, u64 result)
 *		for message i = 1 ... nr_messages: wait until the u64 at @flag is bl_receive_flag(i, nr_words), compare the
 *		u64 words at @data with bl_receive_word(i, ...), and answer with i and the sum of the words
 *
 * Thread 0 loads the flag with acquire at system scope. The threads of its block load the words afterwards, behind a
 * barrier, with ordinary loads: what makes them see the message is that acquire and nothing else.
 *
 * Each wait ends with the flag, after @timeout_ns (0: never), or when the u64 at @stop is not 0. Time and stop word are
 * looked at once in BL_RECEIVE_POLLS polls.
 *
 * Addresses are those that the device can reach, multiples of 8.
 */
#ifndef BL_GPU_KERNELS_RECEIVE_H
#define BL_GPU_KERNELS_RECEIVE_H

#include <stdint.h>

/* Text of receive.ptx, for cuModuleLoadData(). */
extern const char bl_receive_ptx[];

#define BL_RECEIVE_POLLS     1024
#define BL_RECEIVE_MAX_WORDS 1023

enum bl_receive_end {
	BL_RECEIVE_NOT_RUN = 0,
	BL_RECEIVE_DONE = 1,
	BL_RECEIVE_TIMED_OUT = 2,
	BL_RECEIVE_STOPPED = 3,
};

/**
 * struct bl_receive_answer - what the kernel tells of each message; the sum is there when the number is
 * @sum:    of the words, modulo 2^64
 * @number: of the message
 */
struct bl_receive_answer {
	uint64_t sum;
	uint64_t number;
};

/**
 * struct bl_receive_result - what the kernel leaves behind; all zero before the launch
 * @received: messages
 * @stale:    messages of which every word was wrong: the flag came before the data
 * @torn:     messages of which some words were wrong
 * @wrong:    words that were wrong
 * @end:      enum bl_receive_end
 */
struct bl_receive_result {
	uint64_t received;
	uint64_t stale;
	uint64_t torn;
	uint64_t wrong;
	uint64_t end;
};

/* The flag says which message it is and how long. */
static inline uint64_t bl_receive_flag(uint64_t number, uint64_t nr_words)
{
	return number << 10 | nr_words;
}

/* Word @index of a message; it differs from that of every other message. */
static inline uint64_t bl_receive_word(uint64_t number, uint64_t index)
{
	return number << 10 ^ index ^ 0x9e3779b97f4a7c15ULL;
}

#endif
