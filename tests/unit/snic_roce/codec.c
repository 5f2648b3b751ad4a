// SPDX-License-Identifier: MIT
/* Packets as bytes: vectors from elsewhere, every opcode there and back, and everything that is wrong with one. */
#include <arpa/inet.h>

#include "softnic/roce/crc.h"
#include "softnic/roce/crc_isa.h"
#include "softnic/roce/frame.h"
#include "tap.h"

#define MAX_FRAME 4400

/* A packet from the IP header on. */
struct bytes {
	uint8_t at[MAX_FRAME];
	size_t len;
};

static const uint8_t opcodes[] = {
	BL_PKT_SEND_FIRST,	    BL_PKT_SEND_MIDDLE,	    BL_PKT_SEND_LAST,		BL_PKT_SEND_LAST_IMM,
	BL_PKT_SEND_ONLY,	    BL_PKT_SEND_ONLY_IMM,   BL_PKT_WRITE_FIRST,		BL_PKT_WRITE_MIDDLE,
	BL_PKT_WRITE_LAST,	    BL_PKT_WRITE_LAST_IMM,  BL_PKT_WRITE_ONLY,		BL_PKT_WRITE_ONLY_IMM,
	BL_PKT_READ_REQUEST,	    BL_PKT_READ_FIRST,	    BL_PKT_READ_MIDDLE,		BL_PKT_READ_LAST,
	BL_PKT_READ_ONLY,	    BL_PKT_ACK,		    BL_PKT_ATOMIC_ACK,		BL_PKT_CMP_SWAP,
	BL_PKT_FETCH_ADD,	    BL_PKT_UC | 0x00,	    BL_PKT_UC | 0x01,		BL_PKT_UC | 0x02,
	BL_PKT_UC | 0x03,	    BL_PKT_UC | 0x04,	    BL_PKT_UC | 0x05,		BL_PKT_UC | 0x06,
	BL_PKT_UC | 0x07,	    BL_PKT_UC | 0x08,	    BL_PKT_UC | 0x09,		BL_PKT_UC | 0x0a,
	BL_PKT_UC | 0x0b,
};

#define NR_OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

static void from_hex(struct bytes *bytes, const char *hex)
{
	bytes->len = strlen(hex) / 2;
	for (size_t i = 0; i < bytes->len; i++)
		check_eq(sscanf(hex + 2 * i, "%2hhx", &bytes->at[i]), 1);
}

static void gid_of(uint8_t gid[16], const char *text)
{
	if (strchr(text, ':'))
		check_eq(inet_pton(AF_INET6, text, gid), 1);
	else
		check_eq(inet_pton(AF_INET, text, gid + 12), 1);
	if (!strchr(text, ':'))
		bl_roce_gid_from_ipv4(gid, gid + 12);
}

static struct bl_roce_flow flow_of(const char *src, const char *dst)
{
	struct bl_roce_flow flow = {.sport = 0xc000, .hop_limit = 64};

	gid_of(flow.src, src);
	gid_of(flow.dst, dst);
	return flow;
}

static enum bl_roce_drop read_back(const struct bytes *bytes, struct bl_packet *packet)
{
	struct bl_roce_flow flow;
	const uint8_t *payload;

	return bl_roce_frame_get(bytes->at, bytes->len, &flow, packet, &payload);
}

static void write_out(struct bytes *bytes, const struct bl_roce_flow *flow, const struct bl_packet *packet,
		      const void *payload)
{
	static uint8_t room[BL_ROCE_HEAD_ROOM + BL_ROCE_MAX_PAYLOAD + BL_ROCE_TAIL_ROOM];
	uint8_t *frame;

	memset(room, 0x5a, sizeof(room));
	memcpy(room + BL_ROCE_HEAD_ROOM, payload, packet->len);
	frame = bl_roce_frame_put(flow, packet, room + BL_ROCE_HEAD_ROOM, &bytes->len);
	check(frame >= room && bytes->len <= MAX_FRAME);
	memcpy(bytes->at, frame, bytes->len);
}

/* Written by others: a notification and a send from captures, the rest computed elsewhere. */
static void packets_of_others_have_the_icrc_that_they_were_sent_with(void)
{
	static const struct {
		const char *hex;
		enum bl_roce_drop drop;
		uint8_t opcode;
		uint32_t qpn, psn, len;
	} vectors[] = {
		{"45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000000000000000000000000000"
		 "00000000000082fd002a",
		 BL_ROCE_CONGESTION, 0, 0, 0, 0},
		{"4501004004784000" "4011b4d5" "c0a80007c0a80007" "c00012b7002caca2" "2460ffff000000d300cf1710"
		 "4630818be28935d90e9a95505401be885e50" "0000" "78f353f3",
		 BL_ROCE_GOOD, 0x24, 211, 0xcf1710, 18},
		{"4500004400004000401126a70a0000010a000002c00012b7003000000a00ffff000000118000000100007f001234500000001234"
		 "000000080001020304050607614101e9",
		 BL_ROCE_GOOD, BL_PKT_WRITE_ONLY, 0x11, 1, 8},
		{"4500003000004000401126bb0a0000020a000001c00012b7001c00001100ffff00000012000000011f000001ddc456a4",
		 BL_ROCE_GOOD, BL_PKT_ACK, 0x12, 1, 0},
		{"4500003400004000401126b70a0000010a000002c00012b7002000000430ffff0000001180ffffff68656c6c6f000000f30d25c4",
		 BL_ROCE_GOOD, BL_PKT_SEND_ONLY, 0x11, 0xffffff, 5},
	};
	struct bl_packet packet;
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		from_hex(&bytes, vectors[i].hex);
		check_eq(read_back(&bytes, &packet), vectors[i].drop);
		bytes.at[bytes.len - 1] ^= 1;
		check_eq(read_back(&bytes, &packet), BL_ROCE_BAD_ICRC);
		bytes.at[bytes.len - 1] ^= 1;
		if (vectors[i].drop || read_back(&bytes, &packet))
			continue;
		check_eq(packet.opcode, vectors[i].opcode);
		check_eq(packet.dest_qpn, vectors[i].qpn);
		check_eq(packet.psn, vectors[i].psn);
		check_eq(packet.len, vectors[i].len);
	}
}

static void packets_are_written_as_others_write_them(void)
{
	static const uint8_t eight[] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct bl_roce_flow there = flow_of("10.0.0.1", "10.0.0.2"), back = flow_of("10.0.0.2", "10.0.0.1");
	struct bl_packet write = {.opcode = BL_PKT_WRITE_ONLY, .flags = BL_PKT_ACK_REQ, .dest_qpn = 0x11, .psn = 1,
				  .va = 0x7f0012345000, .rkey = 0x1234, .dma_len = 8, .len = 8};
	struct bl_packet ack = {.opcode = BL_PKT_ACK, .dest_qpn = 0x12, .psn = 1, .syndrome = 0x1f, .msn = 1};
	struct bl_packet hello = {.opcode = BL_PKT_SEND_ONLY, .flags = BL_PKT_ACK_REQ, .dest_qpn = 0x11,
				  .psn = 0xffffff, .len = 5};
	struct bytes want, got;

	from_hex(&want, "4500004400004000401126a70a0000010a000002c00012b7003000000a00ffff000000118000000100007f0012345000"
			"00001234000000080001020304050607614101e9");
	write_out(&got, &there, &write, eight);
	check(got.len == want.len && !memcmp(got.at, want.at, got.len));
	from_hex(&want, "4500003000004000401126bb0a0000020a000001c00012b7001c00001100ffff00000012000000011f000001ddc456a4");
	write_out(&got, &back, &ack, "");
	check(got.len == want.len && !memcmp(got.at, want.at, got.len));
	from_hex(&want, "4500003400004000401126b70a0000010a000002c00012b7002000000430ffff0000001180ffffff68656c6c6f000000"
			"f30d25c4");
	write_out(&got, &there, &hello, "hello");
	check(got.len == want.len && !memcmp(got.at, want.at, got.len));
}

/* Only the fields that the opcode has on the wire. */
static struct bl_packet packet_of(uint8_t opcode, uint32_t len)
{
	size_t head = bl_roce_header_len(opcode);
	uint8_t low = opcode & 0x1f;
	struct bl_packet packet = {.opcode = opcode, .flags = BL_PKT_SOLICITED | BL_PKT_ACK_REQ, .dest_qpn = 0xfedcba,
				   .psn = 0x800001, .len = len};

	if (low == BL_PKT_WRITE_FIRST || low == BL_PKT_WRITE_ONLY || low == BL_PKT_WRITE_ONLY_IMM ||
	    low == BL_PKT_READ_REQUEST || head == 40) {
		packet.va = 0x0123456789abcdef;
		packet.rkey = 0xa1b2c3d4;
	}
	if (packet.rkey && head < 40)
		packet.dma_len = 0x3fffffff;
	if (head == 40) {
		packet.operand_len = 8;
		packet.swap_add = 0x1122334455667788;
		packet.compare = 0x99aabbccddeeff00;
	}
	if (low == BL_PKT_SEND_LAST_IMM || low == BL_PKT_SEND_ONLY_IMM || low == BL_PKT_WRITE_LAST_IMM ||
	    low == BL_PKT_WRITE_ONLY_IMM)
		packet.imm = 0x01020304;
	if (low >= BL_PKT_READ_FIRST && low <= BL_PKT_ATOMIC_ACK && low != BL_PKT_READ_MIDDLE) {
		packet.syndrome = 0x61;
		packet.msn = 0xabcdef;
	}
	if (low == BL_PKT_ATOMIC_ACK)
		packet.original = 0xcafebabe12345678;
	return packet;
}

static bool has_payload(uint8_t opcode)
{
	return (opcode & 0x1f) <= BL_PKT_WRITE_ONLY_IMM ||
	       (opcode >= BL_PKT_READ_FIRST && opcode <= BL_PKT_READ_ONLY);
}

static bool goes_on(uint8_t opcode)
{
	uint8_t low = opcode & 0x1f;

	return low == BL_PKT_SEND_FIRST || low == BL_PKT_SEND_MIDDLE || low == BL_PKT_WRITE_FIRST ||
	       low == BL_PKT_WRITE_MIDDLE || low == BL_PKT_READ_FIRST || low == BL_PKT_READ_MIDDLE;
}

static void check_round(const struct bl_roce_flow *flow, const struct bl_packet *packet)
{
	static uint8_t sent[BL_ROCE_MAX_PAYLOAD];
	struct bl_roce_flow got_flow;
	const uint8_t *payload;
	struct bl_packet got;
	struct bytes bytes;
	size_t wrap = bl_roce_wrap_len(flow->src);

	for (uint32_t i = 0; i < packet->len; i++)
		sent[i] = (uint8_t)(i * 7 + packet->opcode);
	write_out(&bytes, flow, packet, sent);
	check_eq(bl_roce_frame_get(bytes.at, bytes.len, &got_flow, &got, &payload), BL_ROCE_GOOD);
	check(!memcmp(&got, packet, sizeof(got)));
	check(!memcmp(payload, sent, packet->len));
	check(!memcmp(got_flow.src, flow->src, 16) && !memcmp(got_flow.dst, flow->dst, 16));
	check_eq(got_flow.sport, flow->sport);
	check_eq(got_flow.traffic_class, flow->traffic_class);
	check_eq(got_flow.hop_limit, flow->hop_limit);
	/* the same without its IP header, as a socket shows it */
	check_eq(bl_roce_datagram_get(flow, bytes.at + wrap, bytes.len - wrap, &got, &payload), BL_ROCE_GOOD);
	check(!memcmp(&got, packet, sizeof(got)) && !memcmp(payload, sent, packet->len));
}

static void every_opcode_arrives_as_it_was_sent(void)
{
	static const uint32_t lens[] = {0, 1, 2, 3, 4, 5, 255, 256, 1023, 1024, 4093, 4096};
	struct bl_roce_flow flows[] = {flow_of("192.0.2.7", "198.51.100.200"), flow_of("2001:db8::1", "fe80::2:3")};

	for (int f = 0; f < 2; f++) {
		flows[f].traffic_class = 0xb9;
		for (size_t i = 0; i < NR_OPCODES; i++) {
			for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
				struct bl_packet packet = packet_of(opcodes[i], lens[l]);

				if (lens[l] && !has_payload(opcodes[i]))
					continue;
				if (goes_on(opcodes[i]) && (!lens[l] || lens[l] % 4))
					continue;
				check_round(&flows[f], &packet);
			}
		}
	}
}

static void opcodes_that_a_wire_does_not_have_have_no_headers(void)
{
	unsigned int nr = 0;

	for (int opcode = 0; opcode < 256; opcode++)
		nr += bl_roce_header_len((uint8_t)opcode) != 0;
	check_eq(nr, NR_OPCODES);
	check_eq(bl_roce_header_len(BL_PKT_MASKED_CMP_SWAP), 0);
	check_eq(bl_roce_header_len(BL_PKT_UC | BL_PKT_READ_REQUEST), 0);
}

/* A good packet whose header byte @at is @value; the ICRC is made right again unless the change is a fault of it. */
static enum bl_roce_drop changed(const char *src, uint8_t opcode, uint32_t len, size_t at, int value)
{
	static const uint8_t zeros[BL_ROCE_MAX_PAYLOAD];
	struct bl_roce_flow flow = flow_of(src, strchr(src, ':') ? "2001:db8::2" : "10.0.0.2");
	struct bl_packet packet = packet_of(opcode, len), got;
	size_t wrap = bl_roce_wrap_len(flow.src), bth = wrap;
	struct bytes bytes;
	uint8_t masked[60];
	uint32_t reg;

	write_out(&bytes, &flow, &packet, zeros);
	bytes.at[at] = (uint8_t)value;
	memcpy(masked, bytes.at, wrap + 12);
	if (bytes.at[0] >> 4 == 4) {
		masked[1] = masked[8] = masked[10] = masked[11] = 0xff;
	} else {
		masked[0] |= 0xf;
		masked[1] = masked[2] = masked[3] = masked[7] = 0xff;
	}
	masked[wrap - 2] = masked[wrap - 1] = masked[bth + 4] = 0xff;
	reg = ~bl_roce_crc(bl_roce_crc(BL_ROCE_CRC_SEED, masked, wrap + 12), bytes.at + bth + 12,
			   bytes.len - bth - 16);
	for (int i = 0; i < 4; i++)
		bytes.at[bytes.len - 4 + (size_t)i] = (uint8_t)(reg >> 8 * i);
	return read_back(&bytes, &got);
}

#define V4 "10.0.0.1"
#define V6 "2001:db8::1"

static void each_fault_of_a_header_is_told_from_the_others(void)
{
	static const struct {
		const char *src;
		uint8_t opcode;
		uint32_t len;
		size_t at;
		int value;
		enum bl_roce_drop drop;
	} faults[] = {
		{V4, BL_PKT_ACK, 0, 1, 0x04, BL_ROCE_BAD_IP},	 /* checksum not that of this class */
		{V4, BL_PKT_ACK, 0, 0, 0x55, BL_ROCE_BAD_IP},	 /* version */
		{V4, BL_PKT_ACK, 0, 0, 0x46, BL_ROCE_BAD_IP},	 /* options */
		{V4, BL_PKT_ACK, 0, 6, 0x60, BL_ROCE_BAD_IP},	 /* more fragments */
		{V4, BL_PKT_ACK, 0, 7, 0x01, BL_ROCE_BAD_IP},	 /* not the first one */
		{V4, BL_PKT_ACK, 0, 9, 6, BL_ROCE_BAD_IP},	 /* TCP */
		{V6, BL_PKT_ACK, 0, 6, 44, BL_ROCE_BAD_IP},	 /* a fragment header */
		{V6, BL_PKT_ACK, 0, 4, 1, BL_ROCE_SHORT},	 /* longer than there is */
		{V6, BL_PKT_ACK, 0, 5, 8, BL_ROCE_SHORT},	 /* no room for a BTH */
		{V6, BL_PKT_ACK, 0, 8, 0xff, BL_ROCE_BAD_ADDRESS}, /* from a multicast address */
		{V6, BL_PKT_ACK, 0, 42, 0x12, BL_ROCE_GOOD},	 /* the same port */
		{V6, BL_PKT_ACK, 0, 43, 0xb8, BL_ROCE_BAD_UDP},	 /* another port */
		{V6, BL_PKT_ACK, 0, 45, 0x1d, BL_ROCE_BAD_UDP},	 /* not the length */
		{V4, BL_PKT_ACK, 0, 25, 0x1d, BL_ROCE_BAD_UDP},
		{V4, BL_PKT_ACK, 0, 29, 0x40, BL_ROCE_GOOD},	 /* migration, of which nothing is made */
		{V4, BL_PKT_ACK, 0, 29, 0x01, BL_ROCE_BAD_VERSION},
		{V4, BL_PKT_ACK, 0, 28, 0x81, BL_ROCE_CONGESTION},
		{V4, BL_PKT_ACK, 0, 30, 0x7f, BL_ROCE_GOOD},	 /* a limited member */
		{V4, BL_PKT_ACK, 0, 31, 0xfe, BL_ROCE_BAD_PKEY},
		{V4, BL_PKT_ACK, 0, 28, 0x15, BL_ROCE_BAD_OPCODE},
		{V4, BL_PKT_ACK, 0, 28, BL_PKT_MASKED_CMP_SWAP, BL_ROCE_BAD_OPCODE},
		{V4, BL_PKT_ACK, 0, 28, BL_PKT_UC | BL_PKT_ACK, BL_ROCE_BAD_OPCODE},
		{V4, BL_PKT_ACK, 0, 28, 0x64, BL_ROCE_BAD_OPCODE}, /* a datagram */
		{V4, BL_PKT_ACK, 0, 28, BL_PKT_READ_REQUEST, BL_ROCE_SHORT},
		{V4, BL_PKT_ACK, 0, 29, 0x10, BL_ROCE_BAD_LENGTH}, /* padding of nothing */
		{V4, BL_PKT_SEND_ONLY, 4, 28, BL_PKT_ACK, BL_ROCE_GOOD},
		{V4, BL_PKT_SEND_ONLY, 8, 28, BL_PKT_ACK, BL_ROCE_BAD_LENGTH}, /* payload of an acknowledgement */
		{V4, BL_PKT_SEND_ONLY, 8, 29, 0x30, BL_ROCE_GOOD},
		{V4, BL_PKT_SEND_MIDDLE, 8, 29, 0x30, BL_ROCE_BAD_LENGTH}, /* a middle packet with padding */
		{V4, BL_PKT_SEND_ONLY, 0, 28, BL_PKT_SEND_MIDDLE, BL_ROCE_BAD_LENGTH}, /* an empty one */
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		enum bl_roce_drop drop = changed(faults[i].src, faults[i].opcode, faults[i].len, faults[i].at,
						 faults[i].value);

		if (drop != faults[i].drop)
			printf("# fault %zu\n", i);
		check_eq(drop, faults[i].drop);
	}
}

static void a_payload_beyond_4096_bytes_is_too_long(void)
{
	static uint8_t frame[BL_ROCE_BTH_LEN + BL_ROCE_MAX_PAYLOAD + 4] = {BL_PKT_SEND_ONLY, 0, 0xff, 0xff};
	const uint8_t *payload;
	struct bl_packet packet;

	check_eq(bl_roce_header_get(frame, sizeof(frame) - 4, &packet, &payload), BL_ROCE_GOOD);
	check_eq(bl_roce_header_get(frame, sizeof(frame), &packet, &payload), BL_ROCE_BAD_LENGTH);
	check_eq(bl_roce_header_get(frame, sizeof(frame) - 5, &packet, &payload), BL_ROCE_BAD_LENGTH);
}

/* The class, the hop limit, checksums and congestion bits change on the way, and nothing else may. */
static void any_other_byte_that_changes_is_found(void)
{
	static const char *const srcs[] = {V4, V6};
	struct bl_packet packet = packet_of(BL_PKT_WRITE_ONLY_IMM, 6), got;
	struct bytes bytes;

	for (int f = 0; f < 2; f++) {
		struct bl_roce_flow flow = flow_of(srcs[f], f ? "2001:db8::2" : "10.0.0.2");
		size_t udp = f ? 40 : 20, bth = udp + 8;

		write_out(&bytes, &flow, &packet, "abcdef");
		for (size_t i = 0; i < bytes.len; i++) {
			bool may = f ? i <= 3 || i == 7 : false;
			enum bl_roce_drop drop;

			may |= i == udp + 6 || i == udp + 7 || i == bth + 4;
			bytes.at[i] ^= 0x04;
			drop = read_back(&bytes, &got);
			bytes.at[i] ^= 0x04;
			check_eq(drop == BL_ROCE_GOOD, may);
		}
	}
}

static void a_packet_that_is_cut_off_anywhere_is_dropped(void)
{
	struct bl_roce_flow flow = flow_of(V6, "2001:db8::2");
	struct bl_packet packet = packet_of(BL_PKT_WRITE_ONLY_IMM, 6), got;
	struct bytes bytes;
	size_t len;

	write_out(&bytes, &flow, &packet, "abcdef");
	len = bytes.len;
	for (bytes.len = 0; bytes.len < len; bytes.len++)
		check_eq(read_back(&bytes, &got), BL_ROCE_SHORT);
	/* what Ethernet fills up with is no part of it */
	bytes.len = len + 9;
	check_eq(read_back(&bytes, &got), BL_ROCE_GOOD);
}

static enum bl_roce_drop datagram(const struct bytes *bytes, const struct bl_roce_flow *flow, struct bl_packet *packet)
{
	size_t wrap = bl_roce_wrap_len(flow->src);
	const uint8_t *payload;

	return bl_roce_datagram_get(flow, bytes->at + wrap, bytes->len - wrap, packet, &payload);
}

static void a_socket_takes_any_identification_and_still_finds_changes(void)
{
	struct bl_roce_flow flow = flow_of("192.168.0.7", "192.168.0.7");
	unsigned int found = 0, tried = 0;
	struct bl_packet packet;
	struct bytes bytes;

	/* identification 1144 */
	from_hex(&bytes, "45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf1710"
			 "4630818be28935d90e9a95505401be885e50000078f353f3");
	check_eq(datagram(&bytes, &flow, &packet), BL_ROCE_GOOD);
	check_eq(packet.psn, 0xcf1710);
	for (size_t i = 28; i < bytes.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			bytes.at[i] ^= (uint8_t)(1 << bit);
			found += datagram(&bytes, &flow, &packet) == BL_ROCE_BAD_ICRC;
			bytes.at[i] ^= (uint8_t)(1 << bit);
			tried++;
		}
	}
	/* eight bits may change on the way; any other single one is found */
	check_eq(found, tried - 8);
}

static void two_bytes_are_found_at_any_distance(void)
{
	static uint8_t bytes[70000];
	uint32_t reg, diff;
	uint8_t two[2];

	bl_roce_crc_begin();
	for (size_t behind = 0; behind < 66000; behind = behind * 3 + 1) {
		memset(bytes, 0, sizeof(bytes));
		reg = bl_roce_crc(BL_ROCE_CRC_SEED, bytes, behind + 2);
		bytes[0] = 0x12;
		bytes[1] = (uint8_t)(behind + 3);
		diff = reg ^ bl_roce_crc(BL_ROCE_CRC_SEED, bytes, behind + 2);
		check(bl_roce_crc_two_bytes(diff, behind, two));
		check(!memcmp(two, bytes, 2));
	}
	check(!bl_roce_crc_two_bytes(1, 1U << 20, two));
}

static void a_crc_does_not_depend_on_how_it_is_cut(void)
{
	uint32_t (*isa)(uint32_t reg, const void *at, size_t len) = bl_roce_crc_isa();
	static uint8_t longer[4200];
	uint8_t bytes[100];
	uint32_t whole;

	bl_roce_crc_begin();
	for (size_t i = 0; i < sizeof(longer); i++)
		longer[i] = (uint8_t)(i * i * 11 + i);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37);
	whole = bl_roce_crc(0xffffffff, bytes, sizeof(bytes));
	for (size_t i = 0; i <= sizeof(bytes); i++)
		check_eq(bl_roce_crc(bl_roce_crc(0xffffffff, bytes, i), bytes + i, sizeof(bytes) - i), whole);
	/* one byte at a time, by tables, by shifts, by instructions for it where the CPU has them, and by what was chosen */
	for (size_t len = 0; len <= sizeof(longer); len += len < 300 ? 1 : 97) {
		for (size_t off = 0; off < 3 && off <= len; off++) {
			uint32_t bytewise = 0x12345678;

			for (size_t i = off; i < len; i++)
				bytewise = bl_roce_crc_table(bytewise, longer + i, 1);
			check_eq(bl_roce_crc(0x12345678, longer + off, len - off), bytewise);
			check_eq(bl_roce_crc_table(0x12345678, longer + off, len - off), bytewise);
			check_eq(bl_roce_crc_words(0x12345678, longer + off, len - off), bytewise);
			if (isa)
				check_eq(isa(0x12345678, longer + off, len - off), bytewise);
		}
	}
	check_eq(~bl_roce_crc(0xffffffff, "123456789", 9), 0xcbf43926);
	memset(bytes, 0xff, 8);
	check_eq(bl_roce_crc(0xffffffff, bytes, 8), BL_ROCE_CRC_SEED);
}

static void begin(void)
{
	bl_roce_crc_begin();
	bl_roce_crc_begin();
}

static const struct tap_test tests[] = {
	{"tables_are_made_once", begin},
	{"a_crc_does_not_depend_on_how_it_is_cut", a_crc_does_not_depend_on_how_it_is_cut},
	{"packets_of_others_have_the_icrc_that_they_were_sent_with",
	 packets_of_others_have_the_icrc_that_they_were_sent_with},
	{"packets_are_written_as_others_write_them", packets_are_written_as_others_write_them},
	{"every_opcode_arrives_as_it_was_sent", every_opcode_arrives_as_it_was_sent},
	{"opcodes_that_a_wire_does_not_have_have_no_headers", opcodes_that_a_wire_does_not_have_have_no_headers},
	{"each_fault_of_a_header_is_told_from_the_others", each_fault_of_a_header_is_told_from_the_others},
	{"a_payload_beyond_4096_bytes_is_too_long", a_payload_beyond_4096_bytes_is_too_long},
	{"any_other_byte_that_changes_is_found", any_other_byte_that_changes_is_found},
	{"a_packet_that_is_cut_off_anywhere_is_dropped", a_packet_that_is_cut_off_anywhere_is_dropped},
	{"a_socket_takes_any_identification_and_still_finds_changes",
	 a_socket_takes_any_identification_and_still_finds_changes},
	{"two_bytes_are_found_at_any_distance", two_bytes_are_found_at_any_distance},
};

TAP_MAIN(tests)
