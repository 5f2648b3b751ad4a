// SPDX-License-Identifier: MIT
/* Words for numbers, requests and completions. */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "netstat/netstat.h"
#include "softnic/bytes.h"
#include "softnic/snic.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const char *word(const char *const *words, size_t nr, uint32_t value)
{
	return value < nr && words[value] ? words[value] : "unknown";
}

const char *netstat_state(uint8_t state)
{
	static const char *const words[] = { "RST", "INIT", "RTR", "RTS", "ERR" };

	return word(words, NR(words), state);
}

const char *netstat_type(uint8_t type)
{
	static const char *const words[] = { "rc", "uc" };

	return word(words, NR(words), type);
}

const char *netstat_opcode(uint8_t opcode)
{
	static const char *const words[] = {
		[BL_WQE_NOP] = "NOP",
		[BL_WQE_WRITE] = "WRITE",
		[BL_WQE_WRITE_IMM] = "WRITE_IMM",
		[BL_WQE_SEND] = "SEND",
		[BL_WQE_SEND_IMM] = "SEND_IMM",
		[BL_WQE_WAIT] = "WAIT",
		[BL_WQE_READ] = "READ",
		[BL_WQE_CMP_SWAP] = "CMP_SWAP",
		[BL_WQE_FETCH_ADD] = "FETCH_ADD",
		[BL_WQE_MASKED_CMP_SWAP] = "MASKED_CMP_SWAP",
		[BL_WQE_MASKED_FETCH_ADD] = "MASKED_FETCH_ADD",
		[BL_WQE_DUMP] = "DUMP",
	};

	return word(words, NR(words), opcode);
}

const char *netstat_syndrome(uint8_t syndrome)
{
	static const char *const words[] = {
		[BL_SYNDROME_NONE] = "no error",
		[BL_SYNDROME_LOCAL_LENGTH] = "local length error",
		[BL_SYNDROME_LOCAL_OPERATION] = "local queue pair operation error",
		[BL_SYNDROME_LOCAL_PROTECTION] = "local protection error",
		[BL_SYNDROME_FLUSHED] = "flushed",
		[0x06] = "memory window bind error",
		[BL_SYNDROME_BAD_RESPONSE] = "bad response",
		[BL_SYNDROME_LOCAL_ACCESS] = "local access error",
		[BL_SYNDROME_REMOTE_INVALID] = "remote invalid request",
		[BL_SYNDROME_REMOTE_ACCESS] = "remote access error",
		[BL_SYNDROME_REMOTE_OPERATION] = "remote operation error",
		[BL_SYNDROME_RETRIES] = "retries exceeded: the peer does not answer",
		[BL_SYNDROME_RNR_RETRIES] = "RNR retries exceeded: the peer posts no receives",
		[0x22] = "aborted by the peer",
	};

	return word(words, NR(words), syndrome);
}

const char *netstat_handler(uint32_t handler)
{
	static const char *const words[] = { [1] = "CPU proxy", [2] = "GPU doorbell", [6] = "GPU BlueFlame",
					     [10] = "GPU doorbell without record" };

	return word(words, NR(words), handler);
}

const char *netstat_ringer(uint32_t ringer)
{
	static const char *const words[] = { "the GPU", "nobody: the NIC looks itself", "a service of the program",
					     "the library's thread", "the program's own calls" };

	return word(words, NR(words), ringer);
}

const char *netstat_mr_kind(uint32_t kind)
{
	static const char *const words[] = { "host", "reached by functions", "device" };

	return word(words, NR(words), kind);
}

const char *netstat_srq_type(uint32_t type)
{
	static const char *const words[] = { "linked list", "cyclic" };

	return word(words, NR(words), type);
}

const char *netstat_process_state(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
	case 'I':
		return "sleeping";
	case 'D':
		return "in an uninterruptible call";
	case 'T':
		return "stopped by a signal";
	case 't':
		return "stopped by a debugger";
	case 'Z':
	case 'X':
		return "ended";
	default:
		return "unknown";
	}
}

const char *netstat_gid(const uint8_t gid[16], char text[48])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, none[16];

	/* a queue pair that never moved has no peer, and a device may have no address */
	if (!memcmp(gid, none, sizeof(none)))
		return "none";
	if (!memcmp(gid, mapped, sizeof(mapped)))
		return inet_ntop(AF_INET, gid + sizeof(mapped), text, 48);
	return inet_ntop(AF_INET6, gid, text, 48);
}

const char *netstat_access(uint32_t access, char text[64])
{
	size_t at = 0;
	static const struct {
		uint32_t bit;
		const char *word;
	} rights[] = { { BL_SNIC_LOCAL_WRITE, "local write" },
		       { BL_SNIC_REMOTE_WRITE, "remote write" },
		       { BL_SNIC_REMOTE_READ, "remote read" },
		       { BL_SNIC_REMOTE_ATOMIC, "remote atomic" } };

	snprintf(text, 64, "-");
	for (size_t i = 0; i < NR(rights); i++) {
		if (access & rights[i].bit)
			at += (size_t)snprintf(text + at, 64 - at, "%s%s", at ? ", " : "", rights[i].word);
	}
	return text;
}

void netstat_wqe(uint64_t number, const uint8_t *raw, size_t len, struct netstat_wqe *to)
{
	uint8_t segs[BL_WQE_MAX_BYTES] = { 0 };
	size_t want = bl_wqe_nr_segs(raw) * (size_t)BL_WQE_SEG;

	*to = (struct netstat_wqe){ .number = number, .raw = raw, .signature = raw[8], .whole = want <= len };
	to->nr_shown = (uint32_t)(want < len ? want : len);
	/* the parser reads as much as the request says it has: what is not known are zeros */
	memcpy(segs, raw, to->nr_shown > BL_WQE_SEG ? to->nr_shown : BL_WQE_SEG);
	if (bl_wqe_parse(segs, &to->wqe, &to->why) == BL_SYNDROME_NONE || !to->whole)
		to->why = NULL;
}

uint32_t netstat_next_wqe(const struct bl_shown_qp *qp, uint32_t at, struct netstat_wqe *to)
{
	for (; at < qp->nr_blocks; at++) {
		uint64_t number = qp->block + at;

		/* the others are the rest of a longer one, or of no sense */
		if (bl_wqe_index(qp->blocks[at]) != (uint16_t)number)
			continue;
		netstat_wqe(number, qp->blocks[at], (size_t)(qp->nr_blocks - at) * BL_SHOWN_BLOCK, to);
		return at + 1;
	}
	return 0;
}

void netstat_cqe(const uint8_t raw[BL_SHOWN_BLOCK], struct netstat_cqe *to)
{
	uint32_t tail = bl_be32(raw + 56);

	*to = (struct netstat_cqe){
		.opcode = raw[63] >> 4,
		.owner = raw[63] & 1,
		.send_opcode = (uint8_t)(tail >> 24),
		.qpn = tail & 0xffffff,
		.wqe_counter = bl_be16(raw + 60),
		.bytes = bl_be32(raw + 44),
	};
	to->is_one = to->qpn != 0;
	if (to->opcode < 13)
		return;
	to->vendor = raw[54];
	to->syndrome = raw[55];
	to->bytes = 0;
}

const char *netstat_cqe_opcode(uint8_t opcode)
{
	static const char *const words[] = { [0] = "REQ",	   [1] = "RESP_WRITE_IMM", [2] = "RESP_SEND",
					     [3] = "RESP_SEND_IMM", [13] = "REQ_ERR",	    [14] = "RESP_ERR",
					     [15] = "INVALID" };

	return word(words, NR(words), opcode);
}
