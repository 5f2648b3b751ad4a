// SPDX-License-Identifier: MIT
#include <string.h>

#include "nic.h"

static const char *const names[BL_SNIC_NR_COUNTERS] = {
	[BL_SNIC_TX_PACKETS] = "tx_packets",
	[BL_SNIC_TX_BYTES] = "tx_bytes",
	[BL_SNIC_RX_PACKETS] = "rx_packets",
	[BL_SNIC_RX_BYTES] = "rx_bytes",
	[BL_SNIC_TX_RETRIES] = "tx_retries",
	[BL_SNIC_TIMEOUTS] = "timeouts",
	[BL_SNIC_RNR_SENT] = "rnr_sent",
	[BL_SNIC_RNR_RECEIVED] = "rnr_received",
	[BL_SNIC_NAK_SENT] = "nak_sent",
	[BL_SNIC_NAK_RECEIVED] = "nak_received",
	[BL_SNIC_NAK_SENT_SEQUENCE] = "nak_sent_sequence",
	[BL_SNIC_NAK_SENT_INVALID] = "nak_sent_invalid",
	[BL_SNIC_NAK_SENT_ACCESS] = "nak_sent_access",
	[BL_SNIC_NAK_SENT_OPERATION] = "nak_sent_operation",
	[BL_SNIC_NAK_SENT_UNPLACED] = "nak_sent_unplaced",
	[BL_SNIC_NAK_RECEIVED_SEQUENCE] = "nak_received_sequence",
	[BL_SNIC_NAK_RECEIVED_INVALID] = "nak_received_invalid",
	[BL_SNIC_NAK_RECEIVED_ACCESS] = "nak_received_access",
	[BL_SNIC_NAK_RECEIVED_OPERATION] = "nak_received_operation",
	[BL_SNIC_NAK_RECEIVED_UNPLACED] = "nak_received_unplaced",
	[BL_SNIC_RX_DUPLICATE] = "rx_duplicate",
	[BL_SNIC_RX_OUT_OF_ORDER] = "rx_out_of_order",
	[BL_SNIC_RX_UNKNOWN_QP] = "rx_unknown_qp",
	[BL_SNIC_RX_MALFORMED] = "rx_malformed",
	[BL_SNIC_RX_WRONG_PEER] = "rx_wrong_peer",
	[BL_SNIC_CQE] = "cqe",
	[BL_SNIC_CQE_ERROR] = "cqe_error",
	[BL_SNIC_CQ_OVERRUN] = "cq_overrun",
	[BL_SNIC_WQE] = "wqe",
	[BL_SNIC_WQE_BAD] = "wqe_bad",
	[BL_SNIC_FAULT_DROPPED] = "fault_dropped",
	[BL_SNIC_FAULT_DELAYED] = "fault_delayed",
	[BL_SNIC_FAULT_DOUBLED] = "fault_doubled",
	[BL_SNIC_FAULT_NAK] = "fault_nak",
	[BL_SNIC_FAULT_CORRUPTED] = "fault_corrupted",
	[BL_SNIC_PASSES] = "passes",
	[BL_SNIC_SLEEPS] = "sleeps",
	[BL_SNIC_PLACED] = "placed",
	[BL_SNIC_PLACED_BYTES] = "placed_bytes",
	[BL_SNIC_PLACE_REFUSED] = "place_refused",
	[BL_SNIC_LOOPED] = "looped",
	[BL_SNIC_WQE_DONE] = "wqe_done",
	[BL_SNIC_WQE_DONE_BYTES] = "wqe_done_bytes",
	[BL_SNIC_WQE_FAILED] = "wqe_failed",
	[BL_SNIC_WQE_FLUSHED] = "wqe_flushed",
	[BL_SNIC_RECV_DONE] = "recv_done",
	[BL_SNIC_RECV_DONE_BYTES] = "recv_done_bytes",
	[BL_SNIC_RECV_FAILED] = "recv_failed",
	[BL_SNIC_RECV_FLUSHED] = "recv_flushed",
	[BL_SNIC_SERVED] = "served",
	[BL_SNIC_SERVED_BYTES] = "served_bytes",
	[BL_SNIC_SERVED_FAILED] = "served_failed",
	[BL_SNIC_CQE_LOST] = "cqe_lost",
	[BL_SNIC_SRQ_TAKEN] = "srq_taken",
	[BL_SNIC_SRQ_EMPTY] = "srq_empty",
	[BL_SNIC_DROP_SHORT] = "drop_short",
	[BL_SNIC_DROP_IP] = "drop_ip",
	[BL_SNIC_DROP_ADDRESS] = "drop_address",
	[BL_SNIC_DROP_UDP] = "drop_udp",
	[BL_SNIC_DROP_ICRC] = "drop_icrc",
	[BL_SNIC_DROP_VERSION] = "drop_version",
	[BL_SNIC_DROP_PKEY] = "drop_pkey",
	[BL_SNIC_DROP_OPCODE] = "drop_opcode",
	[BL_SNIC_DROP_LENGTH] = "drop_length",
	[BL_SNIC_DROP_CONGESTION] = "drop_congestion",
	[BL_SNIC_DROP_FULL] = "drop_full",
	[BL_SNIC_DROP_SEND] = "drop_send",
};

const char *bl_snic_counter_name(enum bl_snic_counter counter)
{
	return (unsigned int)counter < BL_SNIC_NR_COUNTERS ? names[counter] : "unknown";
}

/* In a child they are all zero: it has no NIC. */
void bl_snic_counters(const struct bl_snic *nic, uint64_t values[BL_SNIC_NR_COUNTERS])
{
	struct bl_snic *locked = (struct bl_snic *)nic;

	memset(values, 0, BL_SNIC_NR_COUNTERS * sizeof(*values));
	if (bl_snic_lock(locked))
		return;
	memcpy(values, nic->counters, BL_SNIC_NR_COUNTERS * sizeof(*values));
	if (nic->ops->counts)
		nic->ops->counts(nic->link, values);
	bl_snic_unlock(locked);
}
