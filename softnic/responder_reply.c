// SPDX-License-Identifier: MIT
/* Answers, in order of their sequence numbers, and the acknowledgement after them. */
#include <errno.h>
#include <string.h>

#include "mem.h"
#include "mr.h"
#include "place.h"
#include "responder.h"

/* Packets in one go; others should have their turn. */
#define BURST 32

static uint64_t end_of(const struct bl_reply *reply)
{
	return reply->psn + reply->nr_psn;
}

static void drop(struct bl_snic_qp *qp, unsigned int i)
{
	struct bl_responder *resp = &qp->resp;

	bl_place_read_end(qp, &resp->replies[i]);
	resp->nr_replies--;
	memmove(&resp->replies[i], &resp->replies[i + 1], (resp->nr_replies - i) * sizeof(*resp->replies));
}

void bl_resp_drop_replies(struct bl_snic_qp *qp)
{
	while (qp->resp.nr_replies)
		drop(qp, qp->resp.nr_replies - 1);
}

bool bl_resp_has_room(const struct bl_snic_qp *qp, bool again)
{
	const struct bl_responder *resp = &qp->resp;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < resp->nr_replies; i++)
		nr += resp->replies[i].again == again;
	return nr < resp->max_replies / 2;
}

bool bl_resp_queue(struct bl_snic_qp *qp, const struct bl_reply *reply)
{
	struct bl_responder *resp = &qp->resp;
	/* an atomic was served when it was done */
	bool owes = !reply->again && !reply->atomic;
	uint32_t owed = reply->len;
	unsigned int i = 0;

	/* what is asked for again takes the place of what it overlaps: who asks has all before, and waits for no more
	 */
	while (i < resp->nr_replies && resp->replies[i].psn < end_of(reply)) {
		const struct bl_reply *old = &resp->replies[i];

		if (end_of(old) <= reply->psn) {
			i++;
			continue;
		}
		if (old->owes) {
			owes = true;
			owed = old->owed;
		}
		drop(qp, i);
	}
	if (!bl_resp_has_room(qp, reply->again))
		return false;
	memmove(&resp->replies[i + 1], &resp->replies[i], (resp->nr_replies - i) * sizeof(*resp->replies));
	resp->replies[i] = *reply;
	resp->replies[i].owes = owes;
	resp->replies[i].owed = owed;
	resp->nr_replies++;
	/* packets of later ones came too early to be of use */
	for (i++; i < resp->nr_replies; i++)
		resp->replies[i].sent = 0;
	return true;
}

static void send(struct bl_snic_qp *qp, struct bl_packet *packet)
{
	struct bl_snic *nic = qp->nic;

	packet->dest_qpn = qp->mod.dest_qpn;
	packet->src_qpn = qp->num;
	packet->psn &= BL_PSN_MASK;
	packet->msn = (packet->msn ? packet->msn : qp->resp.msn) & BL_PSN_MASK;
	nic->ops->commit(qp->path, packet);
	bl_snic_count(nic, BL_SNIC_TX_PACKETS, 1);
	bl_snic_count(nic, BL_SNIC_TX_BYTES, packet->len);
}

static uint8_t read_opcode(bool first, bool last)
{
	if (first)
		return last ? BL_PKT_READ_ONLY : BL_PKT_READ_FIRST;
	return last ? BL_PKT_READ_LAST : BL_PKT_READ_MIDDLE;
}

/* The memory may be gone since the read was taken. Return: whether the bytes are at @dst. */
static bool fetch(struct bl_snic_qp *qp, const struct bl_reply *reply, uint32_t off, void *dst, uint32_t len)
{
	struct bl_mr_span span = {
		.pd = qp->pd, .key = reply->rkey, .addr = reply->va + off, .len = len, .access = BL_SNIC_REMOTE_READ};
	struct bl_snic_mr *mr;
	uint64_t at;

	if (!len)
		return true;
	return !bl_mr_check(qp->nic, &span, &mr, &at) && !bl_snic_mem_read(&mr->mem, at, dst, len);
}

/* What could be read when it was asked for cannot any more: the sender learns it in place of the data. */
static void refuse(struct bl_snic_qp *qp, const struct bl_reply *reply)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_REMOTE_ACCESS, .responder = true};
	struct bl_responder *resp = &qp->resp;

	bl_snic_count(qp->nic, BL_SNIC_SERVED_FAILED, 1);
	resp->ack = BL_ACK_FATAL;
	resp->ack_syndrome = BL_AETH_ACCESS;
	resp->ack_psn = reply->psn + reply->sent;
	bl_resp_drop_replies(qp);
	bl_qp_fail(qp, UINT64_MAX, &cause,
		   "read by qp 0x%x addr 0x%llx len %u key 0x%x: the memory cannot be read any more", qp->mod.dest_qpn,
		   (unsigned long long)reply->va, reply->len, reply->rkey);
}

/* Return: whether a packet was sent. */
static bool send_data(struct bl_snic_qp *qp, struct bl_reply *reply)
{
	uint32_t off = reply->sent * reply->packet, left = reply->len - off;
	struct bl_packet packet = {
		.opcode = read_opcode(!reply->sent, reply->sent + 1 == reply->nr_psn),
		.syndrome = BL_AETH_ACK,
		.psn = (uint32_t)(reply->psn + reply->sent),
		.msn = reply->msn,
		.len = left < reply->packet ? left : reply->packet,
	};
	void *payload = qp->nic->ops->reserve(qp->path, packet.len);

	if (!payload)
		return false;
	if (!fetch(qp, reply, off, payload, packet.len)) {
		refuse(qp, reply);
		return false;
	}
	send(qp, &packet);
	return true;
}

static bool send_value(struct bl_snic_qp *qp, const struct bl_reply *reply)
{
	struct bl_packet packet = {
		.opcode = BL_PKT_ATOMIC_ACK,
		.syndrome = BL_AETH_ACK,
		.psn = (uint32_t)reply->psn,
		.msn = reply->msn,
		.original = reply->original,
	};

	if (!qp->nic->ops->reserve(qp->path, 0))
		return false;
	send(qp, &packet);
	return true;
}

/* All of a read at once. Return: whether it was sent. */
static bool send_placed(struct bl_snic_qp *qp, struct bl_reply *reply)
{
	struct bl_packet packet = {
		.opcode = BL_PKT_READ_PLACED,
		.syndrome = BL_AETH_ACK,
		.psn = (uint32_t)reply->psn,
		.msn = reply->msn,
		.compare_mask = reply->nr_psn,
	};

	if (!qp->nic->ops->reserve(qp->path, 0))
		return false;
	send(qp, &packet);
	reply->sent = reply->nr_psn - 1;
	bl_snic_count(qp->nic, BL_SNIC_PLACED, 1);
	bl_snic_count(qp->nic, BL_SNIC_PLACED_BYTES, reply->len);
	return true;
}

/* Return: whether a packet of the first answer was sent. */
static bool send_reply(struct bl_snic_qp *qp)
{
	struct bl_reply *reply = &qp->resp.replies[0];
	int ret = reply->move ? bl_place_read_go(qp, reply) : -ENOENT;

	if (ret == -EAGAIN || (reply->move && ret && !bl_place_reads_stop(qp)))
		return false;
	if (!ret) {
		if (!send_placed(qp, reply))
			return false;
	} else if (reply->atomic ? !send_value(qp, reply) : !send_data(qp, reply))
		return false;
	if (++reply->sent < reply->nr_psn)
		return true;
	if (reply->owes)
		bl_snic_count_served(qp->nic, reply->owed);
	drop(qp, 0);
	return true;
}

/*
 * Of the last write that was done, of what is expected, or of what is refused. An acknowledgement with the number of a
 * read or an atomic is none of it, but rdma_rxe takes it for one and does without the answer, when that is lost.
 */
static uint64_t ack_psn(const struct bl_snic_qp *qp)
{
	const struct bl_responder *resp = &qp->resp;
	uint64_t done = bl_place_done_psn(qp);

	if (resp->ack == BL_ACK_POSITIVE)
		return (resp->acked < done ? resp->acked : done) - 1;
	return resp->ack == BL_ACK_FATAL ? resp->ack_psn : resp->epsn;
}

static bool send_ack(struct bl_snic_qp *qp)
{
	struct bl_responder *resp = &qp->resp;
	struct bl_packet packet = {
		.opcode = BL_PKT_ACK,
		.syndrome = resp->ack == BL_ACK_POSITIVE ? BL_AETH_ACK : resp->ack_syndrome,
		.psn = (uint32_t)ack_psn(qp),
	};

	/* a refusal says that all before it is done */
	if (bl_place_nr(qp)) {
		if (resp->ack != BL_ACK_POSITIVE)
			return false;
		packet.flags = BL_PKT_PLACING;
	}
	if (!qp->nic->ops->reserve(qp->path, 0))
		return false;
	send(qp, &packet);
	if (resp->ack == BL_ACK_RNR)
		bl_snic_count(qp->nic, BL_SNIC_RNR_SENT, 1);
	else if (resp->ack != BL_ACK_POSITIVE)
		bl_snic_count_nak(qp->nic, BL_SNIC_NAK_SENT, packet.syndrome);
	resp->ack = BL_ACK_NONE;
	return true;
}

/* Those behind the first one, too, in their order. */
static void begin_placing(struct bl_snic_qp *qp)
{
	for (unsigned int i = 0; i < qp->resp.nr_replies; i++) {
		struct bl_reply *reply = &qp->resp.replies[i];

		if (!reply->move)
			return;
		bl_place_read_go(qp, reply);
		if (reply->move->error || reply->move->off < reply->len)
			return;
	}
}

int bl_resp_send(struct bl_snic_qp *qp)
{
	struct bl_responder *resp = &qp->resp;
	int nr = 0;

	if (!resp->nr_replies && resp->ack == BL_ACK_NONE)
		return 0;
	/* the peer takes what it is told as done: so it is, or on its way to the memory before anything that is written later */
	bl_snic_mem_push(qp->nic);
	begin_placing(qp);
	while (resp->nr_replies && nr < BURST) {
		if (!send_reply(qp))
			return nr;
		nr++;
	}
	if (!resp->nr_replies && resp->ack != BL_ACK_NONE)
		nr += send_ack(qp);
	return nr;
}
