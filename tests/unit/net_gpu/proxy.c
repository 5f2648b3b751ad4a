// SPDX-License-Identifier: MIT
/* The CPU proxy's numbers, its waiting, where it runs, and completions that are found again. */
#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "net/backoff.h"
#include "net/cpus.h"
#include "net/cqe.h"
#include "net/export.h"
#include "net/fold.h"
#include "net/proxy.h"
#include "tap.h"

#define QPN 0x123456U

static _Atomic(unsigned int) kicks;

static void count_kick(struct bl_nic *nic)
{
	atomic_fetch_add(&kicks, 1);
}

static const struct bl_nic_ops ops = { .name = "memory", .kick = count_kick };
static struct bl_context context = { .ops = &ops };
static struct doca_verbs_qp verbs = { .context = &context };

/* A queue pair whose NIC is some memory. */
struct fake {
	struct bl_gpu_qp qp;
	struct bl_control control;
	uint64_t doorbell;
	uint32_t records[2];
};

static void fake_init(struct fake *fake, uint64_t start)
{
	memset(fake, 0, sizeof(*fake));
	fake->control.word = start;
	fake->qp.pub.sq_wqe_pi_last = start;
	fake->qp.pub.cpu_db = &fake->control.word;
	fake->qp.control = &fake->control;
	fake->qp.pub.cpu_proxy = true;
	fake->qp.pub.sq_db = &fake->doorbell;
	fake->qp.pub.sq_num_shift8_be = htobe32(QPN << 8);
	fake->qp.dbrec = fake->records;
	fake->qp.verbs = &verbs;
	atomic_store(&fake->qp.word, &fake->control.word);
}

static uint32_t doorbell_word(const struct fake *fake, int which)
{
	uint32_t words[2];

	memcpy(words, &fake->doorbell, sizeof(words));
	return be32toh(words[which]);
}

static void the_doorbell_has_index_and_number(void)
{
	static const unsigned char wanted[8] = { 0x00, 0xab, 0xcd, 0x00, 0x12, 0x34, 0x56, 0x00 };
	uint64_t value = bl_proxy_doorbell(0xabcd, htobe32(QPN << 8));

	check(!memcmp(&value, wanted, sizeof(wanted)));
	check_eq(be32toh(bl_proxy_record(0x1abcd)), 0xabcd);
}

/* Where counters of 16, 24, 32 and 64 bits wrap the count goes on. */
static void wraps_of_16_24_32_and_64_bits_are_none(void)
{
	static const uint64_t starts[] = { 0, 0xfffe, 0xfffffe, 0xfffffffe, UINT64_MAX - 1 };
	struct fake fake;
	bool moved;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		fake_init(&fake, starts[i]);
		for (int step = 1; step <= 4; step++) {
			fake.control.word++;
			check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
			check(moved);
			check_eq(be32toh(fake.records[1]), fake.control.word & 0xffff);
			check_eq(doorbell_word(&fake, 0), (fake.control.word & 0xffff) << 8);
			check_eq(doorbell_word(&fake, 1), QPN << 8);
			check_eq(fake.qp.pub.sq_wqe_pi_last, fake.control.word);
		}
		check_eq(fake.records[0], 0);
	}
}

/* The original cuts the word to 32 bits: a count that is 2^32 further looks to it as if nothing had happened. */
static void the_word_is_taken_as_64_bits(void)
{
	struct fake fake;
	bool moved = false;

	fake_init(&fake, 5);
	fake.control.word += 1ULL << 32;
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	check(moved);
}

static void without_news_nothing_is_rung(void)
{
	struct fake fake;
	bool moved = true;

	fake_init(&fake, 7);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(fake.doorbell, 0);
	check_eq(fake.records[1], 0);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, NULL), DOCA_SUCCESS);
}

static void news_are_rung_once(void)
{
	struct fake fake;
	bool moved;

	fake_init(&fake, 0);
	fake.control.word = 3;
	atomic_store(&kicks, 0);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	fake.doorbell = 0;
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(fake.doorbell, 0);
	check_eq(atomic_load(&fake.qp.rings), 1);
	check_eq(atomic_load(&kicks), 1);
}

static void without_record_only_the_doorbell_is_rung(void)
{
	struct fake fake;

	fake_init(&fake, 0);
	fake.qp.pub.send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
	fake.qp.dbrec = NULL;
	fake.control.word = 9;
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, NULL), DOCA_SUCCESS);
	check_eq(doorbell_word(&fake, 0), 9 << 8);
}

static void a_word_that_the_nic_watches_is_rung_by_nobody(void)
{
	struct fake fake;
	bool moved;

	fake_init(&fake, 0);
	fake.qp.watched = true;
	fake.control.word = 9;
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	check(moved);
	check_eq(fake.doorbell, 0);
	check_eq(fake.records[1], 0);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_SUCCESS);
	check(!moved);
}

static void progress_without_proxy_is_refused(void)
{
	struct fake fake;
	bool moved = true;

	fake_init(&fake, 0);
	fake.qp.pub.cpu_proxy = false;
	fake.control.word = 1;
	check_eq(doca_gpu_verbs_cpu_proxy_progress(&fake.qp.pub, &moved), DOCA_ERROR_NOT_SUPPORTED);
	check(moved);
	check_eq(fake.doorbell, 0);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(NULL, &moved), DOCA_ERROR_INVALID_VALUE);
}

static void while_it_is_held_nobody_serves(void)
{
	struct fake fake;

	fake_init(&fake, 0);
	fake.control.word = 1;
	bl_proxy_hold(&fake.qp);
	check(!bl_proxy_serve(&fake.qp));
	check_eq(fake.doorbell, 0);
	bl_proxy_release(&fake.qp);
	check(bl_proxy_serve(&fake.qp));
}

#define COUNT 20000U

static _Atomic(bool) done;

static void *serve(void *arg)
{
	struct fake *fake = arg;

	while (!atomic_load(&done))
		bl_proxy_serve(&fake->qp);
	while (bl_proxy_serve(&fake->qp))
		;
	return NULL;
}

/* Three serve while the GPU moves on: the record, as the NIC sees it, never goes back, and the end is the end. */
static void servers_beside_each_other_never_ring_backwards(void)
{
	pthread_t threads[3];
	struct fake fake;
	uint32_t last = 0;

	fake_init(&fake, 0);
	atomic_store(&done, false);
	for (int i = 0; i < 3; i++)
		check_eq(pthread_create(&threads[i], NULL, serve, &fake), 0);
	for (uint64_t pi = 1; pi <= COUNT; pi++) {
		uint32_t record;

		__atomic_store_n(&fake.control.word, pi, __ATOMIC_RELEASE);
		record = be32toh(__atomic_load_n(&fake.records[1], __ATOMIC_RELAXED));
		if (record < last || record > pi)
			break;
		last = record;
	}
	atomic_store(&done, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	check_eq(fake.control.word, COUNT);
	check_eq(be32toh(fake.records[1]), COUNT);
	check_eq(doorbell_word(&fake, 0), COUNT << 8);
}

static void waiting_spins_then_yields_then_sleeps_longer(void)
{
	struct bl_backoff backoff = { .max_us = 100 };
	uint32_t us = 0, expected[] = { 1, 2, 4, 8, 16, 32, 64, 100, 100 };

	for (unsigned int i = 0; i < BL_BACKOFF_SPINS; i++)
		check_eq(bl_backoff_next(&backoff, false, &us), BL_BACKOFF_SPIN);
	for (unsigned int i = 0; i < BL_BACKOFF_YIELDS; i++)
		check_eq(bl_backoff_next(&backoff, false, &us), BL_BACKOFF_YIELD);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		check_eq(bl_backoff_next(&backoff, false, &us), BL_BACKOFF_SLEEP);
		check_eq(us, expected[i]);
	}
}

static void work_makes_waiting_begin_anew(void)
{
	struct bl_backoff backoff = { .max_us = 1 };
	uint32_t us = 0;

	while (bl_backoff_next(&backoff, false, &us) != BL_BACKOFF_SLEEP)
		;
	check_eq(us, 1);
	check_eq(bl_backoff_next(&backoff, false, &us), BL_BACKOFF_SLEEP);
	check_eq(us, 1);
	check_eq(bl_backoff_next(&backoff, true, &us), BL_BACKOFF_SPIN);
	check_eq(bl_backoff_next(&backoff, false, &us), BL_BACKOFF_SPIN);
}

static void lists_of_cpus_are_read(void)
{
	cpu_set_t set;

	check_eq(bl_cpus_parse("3", &set), 0);
	check_eq(CPU_COUNT(&set), 1);
	check(CPU_ISSET(3, &set));
	check_eq(bl_cpus_parse("0-3,8,10-11", &set), 0);
	check_eq(CPU_COUNT(&set), 7);
	check(CPU_ISSET(0, &set) && CPU_ISSET(3, &set) && CPU_ISSET(8, &set) && CPU_ISSET(11, &set));
	check(!CPU_ISSET(4, &set) && !CPU_ISSET(9, &set));
	check_eq(bl_cpus_parse("1023", &set), 0);
}

static void what_is_no_list_of_cpus_is_refused(void)
{
	static const char *const wrong[] = { "",    ",",   "1,",  "a",  "-1", "1-", "3-1", "1 2",
					     "+1", "1024", "0-1024", "99999999999999999999", "1,,2", "1-2-3" };
	cpu_set_t set;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check_eq(bl_cpus_parse(wrong[i], &set), -EINVAL);
}

/* As a NIC writes the completion at a position. */
static void complete(unsigned char *ring, uint32_t nr, uint64_t position)
{
	unsigned char *cqe = ring + (position & (nr - 1)) * BL_CQE_SIZE;

	memset(cqe, 0, BL_CQE_SIZE);
	cqe[63] = position & nr ? 1 : 0;
}

/* Emptied at any position, then any number of completions: where the NIC goes on is found, modulo twice the ring. */
static void the_position_in_a_ring_is_found_from_its_owner_bits(void)
{
	for (uint32_t nr = 1; nr <= 8; nr *= 2) {
		unsigned char ring[8 * BL_CQE_SIZE];

		for (uint64_t begin = 0; begin < 4 * nr; begin++) {
			for (uint64_t count = 0; count <= 5 * nr; count++) {
				memset(ring, 0xff, nr * BL_CQE_SIZE);
				for (uint64_t i = 0; i < count; i++)
					complete(ring, nr, begin + i);
				check_eq(bl_cqe_ring_position(ring, nr, begin) % (2 * nr), (begin + count) % (2 * nr));
			}
		}
	}
}

static void an_empty_ring_is_invalid_and_of_the_other_round(void)
{
	unsigned char ring[4 * BL_CQE_SIZE];

	memset(ring, 0x55, sizeof(ring));
	bl_cqe_ring_init(ring, 4);
	for (size_t i = 0; i < sizeof(ring); i++)
		check_eq(ring[i], i % 64 == 63 ? 0xf1 : 0);
	check_eq(bl_cqe_ring_position(ring, 4, 0), 0);
}

/* Bytes 60 to 63 of a completion. */
static uint32_t last_bytes(uint32_t counter, uint32_t opcode)
{
	return htobe32(counter << 16 | opcode << 4);
}

static void counting_goes_on_over_wraps_of_the_16_bit_counter(void)
{
	static const uint64_t starts[] = { 0, 5, 0xffff, 0x10000, 0xfffff000, 0xffffffffffULL };
	uint64_t next = 77;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (uint64_t ahead = 1; ahead <= 32768; ahead += ahead < 4 ? 1 : 4093) {
			uint64_t sum = starts[i] + ahead;

			check_eq(bl_fold_count(starts[i], last_bytes((sum - 1) & 0xffff, 0), &next), BL_FOLD_DONE);
			check_eq(next, sum);
		}
	}
	check_eq(bl_fold_count(9, last_bytes(8, 0), &next), BL_FOLD_NONE);
	check_eq(bl_fold_count(9, last_bytes(0xffff, 15), &next), BL_FOLD_NONE);
	/* all but the one that failed */
	check_eq(bl_fold_count(9, last_bytes(12, 13), &next), BL_FOLD_FAILED);
	check_eq(next, 12);
	check_eq(bl_fold_count(0x1fffe, last_bytes(1, 14), &next), BL_FOLD_FAILED);
	check_eq(next, 0x20001);
}

static void a_cpu_counts_for_the_gpu_until_a_request_fails(void)
{
	static struct doca_gpu_dev_verbs_cq to;
	uint32_t cqe[16];
	struct doca_gpu gpu = { .need_mcst = true };
	struct fake fake;

	fake_init(&fake, 0);
	memset(&to, 0, sizeof(to));
	memset(cqe, 0xff, sizeof(cqe));
	fake.qp.gpu = &gpu;
	fake.qp.fold_cqe = (const uint8_t *)cqe;
	check(!bl_proxy_serve(&fake.qp));
	cqe[15] = last_bytes(6, 0);
	/* no object yet */
	check(!bl_proxy_serve(&fake.qp));
	atomic_store(&fake.qp.fold_to, &to);
	check(bl_proxy_serve(&fake.qp));
	check_eq(to.cqe_ci, 7);
	check(!bl_proxy_serve(&fake.qp));
	check_eq(fake.doorbell, 0);
	cqe[13] = htobe32(0x8115);
	cqe[15] = last_bytes(9, 13);
	check(bl_proxy_serve(&fake.qp));
	check_eq(to.cqe_ci, 9);
	check_eq(to.error, DOCA_GPUNETIO_VERBS_ERROR_SET | 0x8115);
	check_eq(to.error_wqe, 9);
	cqe[15] = last_bytes(20, 0);
	check(!bl_proxy_serve(&fake.qp));
	check_eq(to.cqe_ci, 9);
}

/* The NIC does not tell, and the entry is that of a request which another one took with it: which, nobody knows. */
static void a_flushed_request_makes_none_before_it_done(void)
{
	static struct doca_gpu_dev_verbs_cq to;
	struct doca_gpu gpu = { .need_mcst = false };
	uint32_t cqe[16];
	struct fake fake;

	fake_init(&fake, 0);
	memset(&to, 0, sizeof(to));
	memset(cqe, 0xff, sizeof(cqe));
	fake.qp.gpu = &gpu;
	fake.qp.fold_cqe = (const uint8_t *)cqe;
	atomic_store(&fake.qp.fold_to, &to);
	cqe[15] = last_bytes(6, 0);
	check(bl_proxy_serve(&fake.qp));
	cqe[13] = htobe32(0xf905);
	cqe[15] = last_bytes(12, 13);
	check(bl_proxy_serve(&fake.qp));
	check_eq(to.cqe_ci, 7);
	check_eq(to.error, DOCA_GPUNETIO_VERBS_ERROR_SET | 0xf905);
	check_eq(to.error_wqe, 7);
}

static const struct tap_test tests[] = {
	{ "the_doorbell_has_index_and_number", the_doorbell_has_index_and_number },
	{ "wraps_of_16_24_32_and_64_bits_are_none", wraps_of_16_24_32_and_64_bits_are_none },
	{ "the_word_is_taken_as_64_bits", the_word_is_taken_as_64_bits },
	{ "without_news_nothing_is_rung", without_news_nothing_is_rung },
	{ "news_are_rung_once", news_are_rung_once },
	{ "without_record_only_the_doorbell_is_rung", without_record_only_the_doorbell_is_rung },
	{ "a_word_that_the_nic_watches_is_rung_by_nobody", a_word_that_the_nic_watches_is_rung_by_nobody },
	{ "progress_without_proxy_is_refused", progress_without_proxy_is_refused },
	{ "while_it_is_held_nobody_serves", while_it_is_held_nobody_serves },
	{ "servers_beside_each_other_never_ring_backwards", servers_beside_each_other_never_ring_backwards },
	{ "waiting_spins_then_yields_then_sleeps_longer", waiting_spins_then_yields_then_sleeps_longer },
	{ "work_makes_waiting_begin_anew", work_makes_waiting_begin_anew },
	{ "lists_of_cpus_are_read", lists_of_cpus_are_read },
	{ "what_is_no_list_of_cpus_is_refused", what_is_no_list_of_cpus_is_refused },
	{ "the_position_in_a_ring_is_found_from_its_owner_bits", the_position_in_a_ring_is_found_from_its_owner_bits },
	{ "counting_goes_on_over_wraps_of_the_16_bit_counter", counting_goes_on_over_wraps_of_the_16_bit_counter },
	{ "a_cpu_counts_for_the_gpu_until_a_request_fails", a_cpu_counts_for_the_gpu_until_a_request_fails },
	{ "a_flushed_request_makes_none_before_it_done", a_flushed_request_makes_none_before_it_done },
	{ "an_empty_ring_is_invalid_and_of_the_other_round", an_empty_ring_is_invalid_and_of_the_other_round },
};

TAP_MAIN(tests)
