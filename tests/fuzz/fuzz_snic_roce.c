// SPDX-License-Identifier: MIT
/* Any bytes for the parser of packets of a network: what it takes lies inside, and comes out the same when it is sent. */
#include <string.h>

#include "fuzz.h"
#include "softnic/roce/crc.h"
#include "softnic/roce/frame.h"

#define MAX_FRAME 1024

static volatile uint8_t seen; /* so that payloads are read */

static void must_lie_inside(const uint8_t *frame, size_t len, const struct bl_packet *packet, const uint8_t *payload)
{
	must(payload >= frame && packet->len <= BL_ROCE_MAX_PAYLOAD && payload + packet->len <= frame + len);
	must(bl_roce_header_len(packet->opcode) && packet->psn <= BL_PSN_MASK && packet->dest_qpn <= 0xffffff);
	for (uint32_t i = 0; i < packet->len; i++)
		seen ^= payload[i];
}

/* What was taken is sent again, and taken again. */
static void fuzz_again(const struct bl_roce_flow *flow, const struct bl_packet *packet, const uint8_t *payload)
{
	uint8_t room[BL_ROCE_HEAD_ROOM + MAX_FRAME + BL_ROCE_TAIL_ROOM], *frame;
	struct bl_roce_flow again_flow;
	const uint8_t *again_payload;
	struct bl_packet again;
	size_t len;

	memcpy(room + BL_ROCE_HEAD_ROOM, payload, packet->len);
	frame = bl_roce_frame_put(flow, packet, room + BL_ROCE_HEAD_ROOM, &len);
	must(frame >= room && frame + len <= room + sizeof(room));
	must(bl_roce_frame_get(frame, len, &again_flow, &again, &again_payload) == BL_ROCE_GOOD);
	must(!memcmp(&again, packet, sizeof(again)) && !memcmp(again_payload, payload, packet->len));
	must(!memcmp(again_flow.src, flow->src, 16) && !memcmp(again_flow.dst, flow->dst, 16));
}

/* Whatever the bytes are, with the ICRC that they should have: as a fuzzer would not find it. */
static void seal(uint8_t *ip, size_t len)
{
	size_t wrap = ip[0] >> 4 == 4 ? 28 : 48;
	uint8_t masked[60];
	uint32_t sum = 0;

	if (len < wrap + 16)
		return;
	/* mostly the partition and version that all have */
	if (fuzz_byte() % 8) {
		ip[wrap + 1] &= 0xf0;
		ip[wrap + 2] = ip[wrap + 3] = 0xff;
	}
	ip[wrap - 6] = 0x12;
	ip[wrap - 5] = 0xb7;
	ip[wrap - 4] = (uint8_t)((len - wrap + 8) >> 8);
	ip[wrap - 3] = (uint8_t)(len - wrap + 8);
	if (wrap == 28) {
		ip[2] = (uint8_t)(len >> 8);
		ip[3] = (uint8_t)len;
		ip[10] = ip[11] = 0;
		for (int i = 0; i < 20; i += 2)
			sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = ~((sum & 0xffff) + (sum >> 16));
		ip[10] = (uint8_t)(sum >> 8);
		ip[11] = (uint8_t)sum;
	} else {
		ip[4] = (uint8_t)((len - 40) >> 8);
		ip[5] = (uint8_t)(len - 40);
	}
	memcpy(masked, ip, wrap + 12);
	if (wrap == 28) {
		masked[1] = masked[8] = masked[10] = masked[11] = 0xff;
	} else {
		masked[0] |= 0xf;
		masked[1] = masked[2] = masked[3] = masked[7] = 0xff;
	}
	masked[wrap - 2] = masked[wrap - 1] = masked[wrap + 4] = 0xff;
	sum = ~bl_roce_crc(bl_roce_crc(BL_ROCE_CRC_SEED, masked, wrap + 12), ip + wrap + 12, len - wrap - 16);
	for (int i = 0; i < 4; i++)
		ip[len - 4 + (size_t)i] = (uint8_t)(sum >> 8 * i);
}

static void fuzz_frame(void)
{
	uint8_t frame[MAX_FRAME];
	size_t len = fuzz_number() % (MAX_FRAME + 1);
	struct bl_roce_flow flow;
	struct bl_packet packet;
	const uint8_t *payload;
	enum bl_roce_drop drop;

	fuzz_bytes(frame, len);
	if (fuzz_byte() % 8) {
		frame[0] = fuzz_byte() % 2 ? 0x45 : 0x60;
		frame[6] = frame[0] == 0x45 ? 0x40 : 17;
		frame[7] = 0;
		frame[9] = 17;
		seal(frame, len);
	}
	drop = bl_roce_frame_get(frame, len, &flow, &packet, &payload);
	must(drop < BL_ROCE_NR_DROPS);
	if (drop)
		return;
	must_lie_inside(frame, len, &packet, payload);
	/* its flow label and class are not what is sent */
	fuzz_again(&flow, &packet, payload);
}

static void fuzz_datagram(void)
{
	uint8_t bytes[MAX_FRAME];
	size_t len = fuzz_number() % (MAX_FRAME + 1);
	struct bl_roce_flow flow = {.sport = 0xc000};
	struct bl_packet packet;
	const uint8_t *payload;

	fuzz_bytes(flow.src, sizeof(flow.src));
	fuzz_bytes(flow.dst, sizeof(flow.dst));
	if (fuzz_byte() % 2) {
		bl_roce_gid_from_ipv4(flow.src, (const uint8_t[]){10, 0, 0, 1});
		bl_roce_gid_from_ipv4(flow.dst, (const uint8_t[]){10, 0, 0, 2});
	}
	fuzz_bytes(bytes, len);
	if (!bl_roce_datagram_get(&flow, bytes, len, &packet, &payload))
		must_lie_inside(bytes, len, &packet, payload);
}

/* The headers alone, as if their ICRC had been right. */
static void fuzz_header(void)
{
	uint8_t bytes[256];
	size_t len = fuzz_byte();
	struct bl_packet packet;
	const uint8_t *payload;

	fuzz_bytes(bytes, len);
	if (!bl_roce_header_get(bytes, len, &packet, &payload))
		must_lie_inside(bytes, len, &packet, payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bl_roce_crc_begin();
	fuzz_begin(data, size);
	switch (fuzz_byte() % 4) {
	case 0:
		fuzz_header();
		break;
	case 1:
		fuzz_datagram();
		break;
	default:
		fuzz_frame();
	}
	return 0;
}
