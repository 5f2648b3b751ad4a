/* SPDX-License-Identifier: MIT */
/*
 * srq.h - shared receive queues: receive lists that any of several queue pairs takes; the lock is held
 *
 * A queue pair takes a list when a message needs one, and has it until that is complete, so lists complete in another
 * order than that in which they were posted. A linked list is why a slot can be posted again at once all the same.
 */
#ifndef SOFTNIC_SRQ_H
#define SOFTNIC_SRQ_H

#include "nic.h"
#include "pd.h"
#include "rwqe.h"
#include "snic_srq.h"

/**
 * struct bl_snic_srq - a shared receive queue
 * @users:  queue pairs that receive from it
 * @stride: bytes of a WQE
 * @pi, @ci: WQEs posted, and taken for the first time
 * @done:   WQEs completed
 * @next:   WQE to be taken next
 * @broken: the list has no end any more: nothing else is taken
 * @lost:   the record is there no more
 * @back, @nr_back: WQEs that queue pairs took, and gave back when they were reset or destroyed
 */
struct bl_snic_srq {
	struct bl_snic *nic;
	struct bl_snic_pd *pd;
	struct bl_snic_srq_attr attr;
	uint32_t num;
	unsigned int users;
	uint32_t stride;
	uint64_t pi, ci, done;
	uint16_t next;
	bool broken, lost;
	uint16_t *back;
	uint32_t nr_back;
};

/**
 * bl_srq_take() - Take the next receive list
 * @srq:     queue
 * @rwqe:    receives the list
 * @index_p: receives the WQE's number, as its completion has it
 * @why_p:   receives what is wrong, when it is neither of the first two; a text that never goes away
 *
 * Return: 0, -EAGAIN (none is posted), -EBADMSG (the list was taken, and names a successor that there is not), -EPIPE
 * (an earlier one did), or what the ring's memory says.
 */
int bl_srq_take(struct bl_snic_srq *srq, struct bl_rwqe *rwqe, uint16_t *index_p, const char **why_p);

/* A queue pair goes without having used what it took: the next one that asks has it. */
void bl_srq_give_back(struct bl_snic_srq *srq, uint16_t index);

/* All that are left when the NIC is closed. */
void bl_srqs_free(struct bl_snic *nic);

/* WQEs that are posted, as the record says now, and not taken. */
uint64_t bl_srq_waiting(const struct bl_snic_srq *srq);

#endif
