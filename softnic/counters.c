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
	[BL_SNIC_SLEEPS] = "sleeps",
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
	bl_snic_unlock(locked);
}
