/* SPDX-License-Identifier: MIT */
/* requester.h - the side of a queue pair that sends requests */
#ifndef SOFTNIC_REQUESTER_H
#define SOFTNIC_REQUESTER_H

#include "packet.h"
#include "qp.h"

/* requester.c: launch and send what may be sent now. Return: how much was done. */
int bl_req_send(struct bl_snic_qp *qp);

/* requester.c: complete, from the oldest on, what is complete. */
void bl_req_complete(struct bl_snic_qp *qp);

/*
 * requester_launch.c: give the next request its sequence numbers, or do it when it is a local operation.
 * Return: whether there was one that could be.
 */
bool bl_req_launch(struct bl_snic_qp *qp);

/* requester_launch.c: whether a fence lets a request begin, and doing a local one: false: not yet, or it is bad. */
bool bl_req_fence_is_open(const struct bl_snic_qp *qp, const struct bl_wr *wr);
bool bl_req_do_local(struct bl_snic_qp *qp, struct bl_wr *wr);

/* requester_ack.c: an acknowledgement. */
void bl_req_ack(struct bl_snic_qp *qp, const struct bl_packet *packet);

/* requester_ack.c: all below @end are acknowledged, as far as they need no answer of their own. Return: whether there
 * is a gap. */
bool bl_req_acked(struct bl_snic_qp *qp, uint64_t end);

/* requester_ack.c: an answer is missing. Once for each place, since many packets say the same. */
void bl_req_gap(struct bl_snic_qp *qp);

/* requester_ack.c: @una has grown; completes what it can, by which the queue pair may fail. */
void bl_req_progress(struct bl_snic_qp *qp);

/* requester_fetch.c: data of a read, or the value of an atomic. */
void bl_req_response(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload);

/* Of CQEs of requests that were not answered. */
#define BL_REQ_VENDOR_RETRIES 0x81

/* How long answers may come after the refusal of a later request. */
#define BL_REQ_OVERTAKEN_NS (250 * BL_SNIC_MS)

/* requester_refused.c: the peer refuses the request of a sequence number: it fails when all before it are complete. */
void bl_req_refused(struct bl_snic_qp *qp, uint64_t psn, uint8_t syndrome);

/* requester_refused.c: some were completed: whether they were the last before one that is refused. */
void bl_req_refused_if_due(struct bl_snic_qp *qp);

/* requester_refused.c: an answer has not come in time. */
void bl_req_refused_late(struct bl_snic_qp *qp);

/* requester_timer.c: watch what is under way from now on. */
void bl_req_arm(struct bl_snic_qp *qp);

/* requester_timer.c: send everything again from the oldest that is not acknowledged; too often: fail. */
void bl_req_retry(struct bl_snic_qp *qp, const char *why);

/* requester_timer.c: the same without counting. */
void bl_req_rewind(struct bl_snic_qp *qp);

/* requester_timer.c: the peer has no receive list. */
void bl_req_rnr(struct bl_snic_qp *qp, uint8_t code);

/* requester_timer.c: whether the timer is over; what is due is done. */
bool bl_req_timers(struct bl_snic_qp *qp);

#endif
