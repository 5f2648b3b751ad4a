// SPDX-License-Identifier: MIT
/* What the device has completed. */
#define log_fmt(fmt) "net/verbs: " fmt
#include "link.h"

#include <stddef.h>
#include <stdio.h>

#include "net/log.h"

#define VENDOR_FLUSHED 0xf9
#define BATCH	       32

/* Syndromes of mlx5 are numbered as those of the architecture, which libibverbs has its own numbers for. */
static const struct {
	uint8_t syndrome;
	const char *why;
} statuses[] = {
	[IBV_WC_LOC_LEN_ERR] = { BL_SYNDROME_LOCAL_LENGTH, "local length: longer than what was posted" },
	[IBV_WC_LOC_QP_OP_ERR] = { BL_SYNDROME_LOCAL_OPERATION, "local operation: the device cannot do it" },
	[IBV_WC_LOC_PROT_ERR] = { BL_SYNDROME_LOCAL_PROTECTION, "local protection: no such memory, key or right" },
	[IBV_WC_WR_FLUSH_ERR] = { BL_SYNDROME_FLUSHED, "flushed" },
	[IBV_WC_BAD_RESP_ERR] = { BL_SYNDROME_BAD_RESPONSE, "an answer that does not fit" },
	[IBV_WC_LOC_ACCESS_ERR] = { BL_SYNDROME_LOCAL_ACCESS, "local access" },
	[IBV_WC_REM_INV_REQ_ERR] = { BL_SYNDROME_REMOTE_INVALID, "the peer refuses it: invalid request" },
	[IBV_WC_REM_ACCESS_ERR] = { BL_SYNDROME_REMOTE_ACCESS, "the peer refuses it: no such memory, key or right" },
	[IBV_WC_REM_OP_ERR] = { BL_SYNDROME_REMOTE_OPERATION, "the peer could not do it" },
	[IBV_WC_RETRY_EXC_ERR] = { BL_SYNDROME_RETRIES, "no answer" },
	[IBV_WC_RNR_RETRY_EXC_ERR] = { BL_SYNDROME_RNR_RETRIES, "the peer has no receive list" },
	[IBV_WC_REM_INV_RD_REQ_ERR] = { BL_SYNDROME_REMOTE_INVALID, "the peer refuses it: invalid read" },
	[IBV_WC_REM_ABORT_ERR] = { BL_SYNDROME_REMOTE_OPERATION, "the peer gave it up" },
	[IBV_WC_RESP_TIMEOUT_ERR] = { BL_SYNDROME_RETRIES, "no answer in time" },
};

#define NR_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static uint8_t receive_opcode(const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return BL_CQE_RESP_WRITE_IMM;
	return wc->wc_flags & IBV_WC_WITH_IMM ? BL_CQE_RESP_SEND_IMM : BL_CQE_RESP_SEND;
}

/* What this side can find out. Asked once: what is flushed after the first is flushed for the same reason. */
static const char *flush_why(struct bl_carrier *carrier)
{
	if (!carrier->flush_why)
		carrier->flush_why = bl_ibv_flaw(carrier);
	if (!carrier->flush_why)
		carrier->flush_why = bl_ibv_ask_network(carrier);
	if (!carrier->flush_why)
		carrier->flush_why = "no request was to blame";
	return carrier->flush_why;
}

static const char *silence_why(struct bl_carrier *carrier)
{
	const char *why = bl_ibv_flaw(carrier);

	if (!why)
		why = bl_ibv_ask_network(carrier);
	snprintf(carrier->silence, sizeof(carrier->silence), "no answer from %s%s%s", carrier->peer, why ? ": " : ". ",
		 why ? why : "Is it ready to receive?");
	return carrier->silence;
}

static void set_failure(struct bl_carrier *carrier, const struct ibv_wc *wc, struct bl_carried *carried)
{
	bool known = (size_t)wc->status < NR_STATUSES && statuses[wc->status].syndrome;
	const char *flaw;

	carried->syndrome = known ? statuses[wc->status].syndrome : BL_SYNDROME_LOCAL_OPERATION;
	carried->vendor = (uint8_t)wc->vendor_err;
	carried->why = known ? statuses[wc->status].why : "the device says nothing that is known here";
	switch (carried->syndrome) {
	case BL_SYNDROME_FLUSHED:
		carried->vendor = carried->vendor ? carried->vendor : VENDOR_FLUSHED;
		carried->why = flush_why(carrier);
		break;
	case BL_SYNDROME_RETRIES:
		carried->why = silence_why(carrier);
		break;
	case BL_SYNDROME_LOCAL_OPERATION:
		/* what some devices say of packets that cannot leave */
		flaw = bl_ibv_flaw(carrier);
		carried->why = flaw ? flaw : carried->why;
		break;
	default:
		break;
	}
}

static bool is_fetch(const struct ibv_wc *wc)
{
	return wc->opcode == IBV_WC_RDMA_READ || wc->opcode == IBV_WC_FETCH_ADD || wc->opcode == IBV_WC_COMP_SWAP;
}

static void convert(struct bl_carrier *carrier, const struct ibv_wc *wc, struct bl_carried *carried)
{
	bool is_receive = wc->wr_id & BL_IBV_RECEIVE;
	uint32_t *count = is_receive ? &carrier->receives : &carrier->sends;

	*carried = (struct bl_carried){
		.kind = is_receive ? BL_CARRIED_RECEIVE : BL_CARRIED_SEND,
		.id = wc->wr_id & ~BL_IBV_RECEIVE,
	};
	if (*count)
		--*count;
	if (wc->status != IBV_WC_SUCCESS) {
		log_debug("device %s: qp 0x%x: %s %u: status %d, vendor 0x%x", carrier->link->name, carrier->qp->qp_num,
			  is_receive ? "receive list" : "request", (uint32_t)wc->wr_id, (int)wc->status, wc->vendor_err);
		set_failure(carrier, wc, carried);
	} else if (!is_receive) {
		if (is_fetch(wc) && carrier->fetches)
			carrier->fetches--;
	} else {
		carried->opcode = receive_opcode(wc);
		carried->len = wc->byte_len;
		carried->imm = wc->wc_flags & IBV_WC_WITH_IMM ? wc->imm_data : 0;
	}
}

static unsigned int tell_event(struct bl_carrier *carrier, struct bl_carried *carried)
{
	if (!carrier->event)
		return 0;
	*carried = (struct bl_carried){ .kind = BL_CARRIED_EVENT, .why = carrier->event,
				      .syndrome = carrier->event_syndrome };
	carrier->event = NULL;
	return 1;
}

/* Completions first: the first that failed knows more than an event. */
unsigned int bl_ibv_poll(struct bl_carrier *carrier, struct bl_carried *carried, unsigned int nr)
{
	struct ibv_wc wc[BATCH];
	int got = ibv_poll_cq(carrier->cq, nr < BATCH ? (int)nr : BATCH, wc);

	if (got < 0) {
		carrier->event = "its completion queue cannot be read";
		carrier->event_syndrome = 0;
		got = 0;
	}
	for (int i = 0; i < got; i++)
		convert(carrier, &wc[i], &carried[i]);
	return got ? (unsigned int)got : tell_event(carrier, carried);
}
