/* SPDX-License-Identifier: MIT */
/* snic_srq.h - shared receive queues of a software NIC; the rules are those of snic.h */
#ifndef SOFTNIC_SNIC_SRQ_H
#define SOFTNIC_SNIC_SRQ_H

#include "snic.h"

enum bl_snic_srq_type { BL_SNIC_SRQ_LINKED, BL_SNIC_SRQ_CYCLIC };

/**
 * struct bl_snic_srq_attr - a shared receive queue in memory of the user
 * @type:  how WQEs follow each other. Linked: each begins with a segment of 16 bytes that has the number of the next one
 *	   at offset 2 (BE16), the first is number 0, and one that was posted must not change before it completes. Cyclic:
 *	   as in a receive ring
 * @ring, @ring_off: @nr WQEs
 * @nr:	   power of two, 2 to 32768; a linked list has one less posted at a time, which then is the next of the last
 * @sges:  data segments of a WQE; all of it is a power of two of bytes, up to 1024
 * @dbrec: BE32 word that the CPU reads: WQEs posted, modulo 2^16. As that of struct bl_snic_qp_attr
 */
struct bl_snic_srq_attr {
	enum bl_snic_srq_type type;
	struct bl_snic_mem ring;
	uint64_t ring_off;
	uint32_t nr;
	uint32_t sges;
	const uint32_t *dbrec;
};

/**
 * bl_snic_srq_create() - Make a receive queue for several queue pairs
 * @pd:	   what its lists may reach, whatever the queue pairs' own domains are
 * @attr:  copied
 * @srq_p: receives the queue
 *
 * Completions have the WQE's number, of a cyclic one the count modulo 2^16, and that of the queue. A queue pair in ERR
 * completes what it has taken and leaves the rest alone. One that is reset or destroyed gives back what it has taken.
 *
 * A list that names a next one that there is not is the end: the queue pair that takes it fails, and each that asks
 * after it.
 *
 * Return: 0, -EINVAL, -ENOMEM, -EOPNOTSUPP (a transport that carries whole requests).
 */
int bl_snic_srq_create(struct bl_snic_pd *pd, const struct bl_snic_srq_attr *attr, struct bl_snic_srq **srq_p);
int bl_snic_srq_destroy(struct bl_snic_srq *srq);
uint32_t bl_snic_srq_num(const struct bl_snic_srq *srq);

/**
 * struct bl_snic_srq_info - what bl_snic_srq_query() tells
 * @posted, @taken, @done: WQEs since it was made
 * @users:  queue pairs
 * @broken: it has ended
 */
struct bl_snic_srq_info {
	uint64_t posted, taken, done;
	unsigned int users;
	bool broken;
};

int bl_snic_srq_query(struct bl_snic_srq *srq, struct bl_snic_srq_info *info);

#endif
