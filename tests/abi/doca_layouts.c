// SPDX-License-Identifier: MIT
/* Numbers of doca_error.h and doca_verbs.h, stated again: programs that were built for the original rely on them. */
#include "gpunetio/host/doca_verbs.h"
#include "tap.h"

struct value {
	const char *name;
	long got, want;
};

#define value(name, number) { #name, (long)(name), number }
#define count(values)	    (sizeof(values) / sizeof((values)[0]))

static void check_values(const struct value *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (values[i].got != values[i].want)
			tap_end(TAP_FAILED, "%s is %ld, not %ld", values[i].name, values[i].got, values[i].want);
	}
}

static void errors_have_their_numbers(void)
{
	static const struct value values[] = {
		value(DOCA_SUCCESS, 0),
		value(DOCA_ERROR_UNKNOWN, 1),
		value(DOCA_ERROR_NOT_PERMITTED, 2),
		value(DOCA_ERROR_IN_USE, 3),
		value(DOCA_ERROR_NOT_SUPPORTED, 4),
		value(DOCA_ERROR_AGAIN, 5),
		value(DOCA_ERROR_INVALID_VALUE, 6),
		value(DOCA_ERROR_NO_MEMORY, 7),
		value(DOCA_ERROR_INITIALIZATION, 8),
		value(DOCA_ERROR_TIME_OUT, 9),
		value(DOCA_ERROR_SHUTDOWN, 10),
		value(DOCA_ERROR_CONNECTION_RESET, 11),
		value(DOCA_ERROR_CONNECTION_ABORTED, 12),
		value(DOCA_ERROR_CONNECTION_INPROGRESS, 13),
		value(DOCA_ERROR_NOT_CONNECTED, 14),
		value(DOCA_ERROR_NO_LOCK, 15),
		value(DOCA_ERROR_NOT_FOUND, 16),
		value(DOCA_ERROR_IO_FAILED, 17),
		value(DOCA_ERROR_BAD_STATE, 18),
		value(DOCA_ERROR_UNSUPPORTED_VERSION, 19),
		value(DOCA_ERROR_OPERATING_SYSTEM, 20),
		value(DOCA_ERROR_DRIVER, 21),
		value(DOCA_ERROR_UNEXPECTED, 22),
		value(DOCA_ERROR_ALREADY_EXIST, 23),
		value(DOCA_ERROR_FULL, 24),
		value(DOCA_ERROR_EMPTY, 25),
		value(DOCA_ERROR_IN_PROGRESS, 26),
		value(DOCA_ERROR_TOO_BIG, 27),
		value(DOCA_ERROR_AUTHENTICATION, 28),
		value(DOCA_ERROR_BAD_CONFIG, 29),
		value(DOCA_ERROR_SKIPPED, 30),
		value(DOCA_ERROR_DEVICE_FATAL_ERROR, 31),
	};

	check_values(values, count(values));
	check_eq(sizeof(doca_error_t), 4);
}

static void attribute_bits_have_their_places(void)
{
	static const struct value values[] = {
		value(DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE, 0x1),
		value(DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ, 0x2),
		value(DOCA_VERBS_QP_ATTR_PKEY_INDEX, 0x4),
		value(DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER, 0x8),
		value(DOCA_VERBS_QP_ATTR_PORT_NUM, 0x10),
		value(DOCA_VERBS_QP_ATTR_NEXT_STATE, 0x20),
		value(DOCA_VERBS_QP_ATTR_CURRENT_STATE, 0x40),
		value(DOCA_VERBS_QP_ATTR_PATH_MTU, 0x80),
		value(DOCA_VERBS_QP_ATTR_RQ_PSN, 0x100),
		value(DOCA_VERBS_QP_ATTR_SQ_PSN, 0x200),
		value(DOCA_VERBS_QP_ATTR_DEST_QP_NUM, 0x400),
		value(DOCA_VERBS_QP_ATTR_ACK_TIMEOUT, 0x800),
		value(DOCA_VERBS_QP_ATTR_RETRY_CNT, 0x1000),
		value(DOCA_VERBS_QP_ATTR_RNR_RETRY, 0x2000),
		value(DOCA_VERBS_QP_ATTR_AH_ATTR, 0x4000),
		value(DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC, 0x10000),
		value(DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC, 0x20000),
	};

	check_values(values, count(values));
}

static void enumerators_have_their_numbers(void)
{
	static const struct value values[] = {
		value(DOCA_VERBS_QP_TYPE_RC, 0),
		value(DOCA_VERBS_QP_TYPE_UC, 1),
		value(DOCA_VERBS_QP_STATE_RST, 0),
		value(DOCA_VERBS_QP_STATE_INIT, 1),
		value(DOCA_VERBS_QP_STATE_RTR, 2),
		value(DOCA_VERBS_QP_STATE_RTS, 3),
		value(DOCA_VERBS_QP_STATE_ERR, 4),
		value(DOCA_VERBS_ADDR_TYPE_IPv4, 0),
		value(DOCA_VERBS_ADDR_TYPE_IPv6, 1),
		value(DOCA_VERBS_ADDR_TYPE_IB_GRH, 2),
		value(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH, 3),
		value(DOCA_VERBS_MTU_SIZE_256_BYTES, 0),
		value(DOCA_VERBS_MTU_SIZE_512_BYTES, 1),
		value(DOCA_VERBS_MTU_SIZE_1K_BYTES, 2),
		value(DOCA_VERBS_MTU_SIZE_2K_BYTES, 3),
		value(DOCA_VERBS_MTU_SIZE_4K_BYTES, 4),
		value(DOCA_VERBS_MTU_SIZE_RAW_ETHERNET, 5),
		value(DOCA_MTU_SIZE_4K_BYTES, 4),
		value(DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, 0),
		value(DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, 1),
		value(DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, 2),
		value(DOCA_VERBS_CQ_DISABLE_OVERRUN, 0),
		value(DOCA_VERBS_CQ_ENABLE_OVERRUN, 1),
		value(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 0),
		value(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, 1),
		value(DOCA_VERBS_QP_ATOMIC_MODE_NONE, 0),
		value(DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC, 1),
		value(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES, 3),
		value(DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID, 0),
		value(DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT, 1),
	};

	check_values(values, count(values));
	check_eq(sizeof(struct doca_verbs_gid), 16);
	check_eq(_Alignof(struct doca_verbs_gid), 1);
}

static const struct tap_test tests[] = {
	{ "errors_have_their_numbers", errors_have_their_numbers },
	{ "attribute_bits_have_their_places", attribute_bits_have_their_places },
	{ "enumerators_have_their_numbers", enumerators_have_their_numbers },
};

TAP_MAIN(tests)
