// SPDX-License-Identifier: MIT
/* Packets that no peer sends: each is counted, and changes nothing or ends the connection by the rules. */
#include "softnic/cq.h"
#include "softnic/nic.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

/* Send a packet from a port to b, of @w. */
static void inject(struct world *w, struct bl_snic_link *link, struct bl_packet packet, const void *payload)
{
	struct bl_snic_path *path;
	void *room;

	check_eq(world_transport.path_open(link, bl_snic_gid(w->b.nic), &path), 0);
	room = world_transport.reserve(path, packet.len);
	check(room);
	if (payload)
		memcpy(room, payload, packet.len);
	world_transport.commit(path, &packet);
	world_transport.path_close(path);
	world_run(w);
}

static void packets_of_strangers_are_dropped(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_link *link;
	struct bl_packet packet = {
		.opcode = BL_PKT_WRITE_ONLY, .va = w->b.iova, .rkey = w->b.key, .dma_len = 4, .len = 4};
	uint8_t gid[16];

	packet.dest_qpn = bl_snic_qp_num(w->b.qp);
	check_eq(world_transport.open("stranger", gid, &link), 0);
	inject(w, link, packet, "evil");
	check_eq(world_counter(&w->b, BL_SNIC_RX_WRONG_PEER), 1);
	packet.dest_qpn = 5;
	inject(w, link, packet, "evil");
	check_eq(world_counter(&w->b, BL_SNIC_RX_UNKNOWN_QP), 1);
	check_eq(w->b.mem[0], 0);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	world_transport.close(link);
	world_end(w);
}

/* The port of the peer: what it sends may be of other software. */
static struct bl_snic_link *port_of(struct world_side *side)
{
	return side->nic->link;
}

static struct bl_packet to_b(const struct world *w, uint8_t opcode, uint32_t psn)
{
	return (struct bl_packet){
		.opcode = opcode, .psn = psn, .dest_qpn = bl_snic_qp_num(w->b.qp), .src_qpn = bl_snic_qp_num(w->a.qp)};
}

static void nonsense_is_counted(void)
{
	static const uint8_t opcodes[] = {0x15, 0x16, 0x17, 0x1c, 0x24, 0x40, 0x64, 0x81, 0xff};
	struct world *w = world_begin(NULL);
	struct bl_packet packet;

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		inject(w, port_of(&w->a), to_b(w, opcodes[i], 0), NULL);
		check_eq(world_counter(&w->b, BL_SNIC_RX_MALFORMED), i + 1);
	}
	packet = to_b(w, BL_PKT_SEND_ONLY, 0x1000000);
	inject(w, port_of(&w->a), packet, NULL);
	check_eq(world_counter(&w->b, BL_SNIC_RX_MALFORMED), sizeof(opcodes) + 1);
	packet = to_b(w, BL_PKT_SEND_ONLY, 0);
	packet.src_qpn++;
	inject(w, port_of(&w->a), packet, NULL);
	check_eq(world_counter(&w->b, BL_SNIC_RX_WRONG_PEER), 1);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	check_eq(world_query(&w->b).expected_psn, 0);
	world_end(w);
}

/* b has sent nothing: nothing can be answered. */
static void answers_to_nothing_are_ignored(void)
{
	static const uint8_t opcodes[] = {BL_PKT_ACK, BL_PKT_READ_ONLY, BL_PKT_READ_FIRST, BL_PKT_ATOMIC_ACK};
	static const uint8_t syndromes[] = {0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64, 0xff};
	struct world *w = world_begin(NULL);

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		for (size_t j = 0; j < sizeof(syndromes); j++) {
			for (uint32_t psn = 0; psn <= 0xffffff; psn += 0x3fffff) {
				struct bl_packet packet = to_b(w, opcodes[i], psn);

				packet.syndrome = syndromes[j];
				inject(w, port_of(&w->a), packet, NULL);
			}
		}
	}
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	fill(w->b.mem, 3000, 1);
	post_write(&w->b, &w->a, 0, 0, 3000);
	world_run(w);
	world_expect(&w->b.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->a.mem, 3000, 1));
	world_end(w);
}

struct story {
	const char *text;
	struct bl_packet packets[2];
	uint8_t syndrome;
};

/* Requests against the rules: the queue pair refuses them and fails, and nothing else happens. */
static void requests_against_the_rules_are_refused(void)
{
	static const struct story stories[] = {
		{"without its begin", {{.opcode = BL_PKT_SEND_MIDDLE, .len = 8}}, 0x12},
		{"without its begin", {{.opcode = BL_PKT_WRITE_LAST, .len = 8}}, 0x12},
		{"before the last one is complete",
		 {{.opcode = BL_PKT_SEND_FIRST, .len = 8}, {.opcode = BL_PKT_SEND_FIRST, .len = 8, .psn = 1}},
		 0x12},
		{"before the last one is complete",
		 {{.opcode = BL_PKT_SEND_FIRST, .len = 8}, {.opcode = BL_PKT_READ_REQUEST, .psn = 1}},
		 0x12},
		{"without its begin",
		 {{.opcode = BL_PKT_SEND_FIRST, .len = 8}, {.opcode = BL_PKT_WRITE_LAST, .len = 8, .psn = 1}},
		 0x12},
		{"is empty", {{.opcode = BL_PKT_SEND_FIRST}}, 0x12},
		{"not as many bytes", {{.opcode = BL_PKT_WRITE_ONLY, .dma_len = 9, .len = 8}}, 0x12},
		{"not as many bytes", {{.opcode = BL_PKT_WRITE_ONLY, .dma_len = 7, .len = 8}}, 0x12},
		{"not as many bytes",
		 {{.opcode = BL_PKT_WRITE_FIRST, .dma_len = 10, .len = 8},
		  {.opcode = BL_PKT_WRITE_LAST, .len = 8, .psn = 1}},
		 0x12},
		{"a size", {{.opcode = BL_PKT_READ_REQUEST, .dma_len = 8, .imm = 1}}, 0x12},
		{"a size", {{.opcode = BL_PKT_READ_REQUEST, .dma_len = 8, .imm = 1U << 20}}, 0x12},
		{"beyond the region", {{.opcode = BL_PKT_READ_REQUEST, .dma_len = 1U << 30}}, 0x13},
		{"a length that there is not", {{.opcode = BL_PKT_FETCH_ADD, .operand_len = 4}}, 0x12},
		{"a length that there is not", {{.opcode = BL_PKT_MASKED_CMP_SWAP, .operand_len = 16}}, 0x12},
		{"a length that there is not", {{.opcode = BL_PKT_CMP_SWAP}}, 0x12},
	};

	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		struct world *w = world_begin(NULL);

		post_recv(&w->b, 0, 100);
		for (size_t j = 0; j < 2 && stories[i].packets[j].psn == j; j++) {
			struct bl_packet packet = stories[i].packets[j];

			packet.va = w->b.iova;
			packet.rkey = w->b.key;
			packet.dest_qpn = bl_snic_qp_num(w->b.qp);
			inject(w, port_of(&w->a), packet, "abcdefgh");
		}
		check_eq(world_query(&w->b).mod.state, BL_SNIC_ERR);
		check_has(world_query(&w->b).error.text, stories[i].text);
		check_eq(world_query(&w->b).error.syndrome, stories[i].syndrome);
		check(world_query(&w->b).error.responder);
		check_eq(world_counter(&w->b, BL_SNIC_NAK_SENT), 1);
		/* every story ends with one refusal, and that has one cause */
		check_eq(world_counter(&w->b, BL_SNIC_NAK_SENT_SEQUENCE), 0);
		check_eq(world_counter(&w->b, BL_SNIC_NAK_SENT_INVALID) + world_counter(&w->b, BL_SNIC_NAK_SENT_ACCESS) +
				 world_counter(&w->b, BL_SNIC_NAK_SENT_OPERATION),
			 1);
		world_end(w);
	}
}

static void an_answer_of_a_wrong_length_is_a_bad_response(void)
{
	struct world *w = world_begin(NULL);
	struct bl_packet packet;

	post_read(&w->b, &w->a, 0, 0, 100);
	check(bl_snic_progress(w->b.nic) > 0);
	world_lose();
	packet = to_b(w, BL_PKT_READ_ONLY, 0);
	packet.len = 8;
	inject(w, port_of(&w->a), packet, "abcdefgh");
	world_expect(&w->b.send, BL_CQE_REQ_ERR, 0x10, 0);
	check_eq(w->b.mem[0], 0);
	world_end(w);
}

static void a_value_in_place_of_data_is_a_bad_response(void)
{
	struct world *w = world_begin(NULL);

	post_read(&w->b, &w->a, 0, 0, 8);
	check(bl_snic_progress(w->b.nic) > 0);
	world_lose();
	inject(w, port_of(&w->a), to_b(w, BL_PKT_ATOMIC_ACK, 0), NULL);
	world_expect(&w->b.send, BL_CQE_REQ_ERR, 0x10, 0);
	world_end(w);
}

/* Reads of 8 bytes with these sequence numbers arrive together at b. */
static void arrive(struct world *w, const uint32_t *psns, size_t nr)
{
	struct bl_packet packet = to_b(w, BL_PKT_READ_REQUEST, 0);
	struct bl_snic_path *path;

	packet.va = w->b.iova;
	packet.rkey = w->b.key;
	packet.dma_len = 8;
	check_eq(world_transport.path_open(port_of(&w->a), bl_snic_gid(w->b.nic), &path), 0);
	for (size_t i = 0; i < nr; i++) {
		packet.psn = psns[i];
		check(world_transport.reserve(path, 0));
		world_transport.commit(path, &packet);
	}
	world_transport.path_close(path);
	check(bl_snic_progress(w->b.nic) > 0);
}

static void more_reads_than_agreed_are_refused(void)
{
	struct world *w = world_begin(&(struct world_options){.max_rd = 2});

	arrive(w, (const uint32_t[]){0, 1, 2}, 3);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_ERR);
	check_has(world_query(&w->b).error.text, "agreed");
	world_end(w);
}

/* What the wire has kept for a while is answered again, and is not held against the sender. */
static void late_copies_of_reads_do_not_count(void)
{
	struct world *w = world_begin(&(struct world_options){.max_rd = 1});

	arrive(w, (const uint32_t[]){0}, 1);
	arrive(w, (const uint32_t[]){1}, 1);
	arrive(w, (const uint32_t[]){0, 1, 2}, 3);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	check_eq(world_query(&w->b).expected_psn, 3);
	check_eq(world_counter(&w->b, BL_SNIC_RX_DUPLICATE), 2);
	/* one place is for copies: the other one is not answered */
	check_eq(world_counter(&w->b, BL_SNIC_TX_PACKETS), 4);
	world_end(w);
}

static uint32_t answered[8];
static unsigned int nr_answered;

static enum world_fate note_answers(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode == BL_PKT_READ_ONLY && nr_answered < 8)
		answered[nr_answered++] = packet->psn;
	return WORLD_PASS;
}

/* Who asks again waits for that answer first, and cannot use the later one before. */
static void answers_go_in_order_of_their_numbers(void)
{
	struct world *w = world_begin(&(struct world_options){.max_rd = 2});

	nr_answered = 0;
	world_fate = note_answers;
	arrive(w, (const uint32_t[]){0}, 1);
	arrive(w, (const uint32_t[]){1, 0}, 2);
	check_eq(nr_answered, 3);
	check_eq(answered[1], 0);
	check_eq(answered[2], 1);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"packets_of_strangers_are_dropped", packets_of_strangers_are_dropped},
	{"nonsense_is_counted", nonsense_is_counted},
	{"answers_to_nothing_are_ignored", answers_to_nothing_are_ignored},
	{"requests_against_the_rules_are_refused", requests_against_the_rules_are_refused},
	{"an_answer_of_a_wrong_length_is_a_bad_response", an_answer_of_a_wrong_length_is_a_bad_response},
	{"a_value_in_place_of_data_is_a_bad_response", a_value_in_place_of_data_is_a_bad_response},
	{"more_reads_than_agreed_are_refused", more_reads_than_agreed_are_refused},
	{"late_copies_of_reads_do_not_count", late_copies_of_reads_do_not_count},
	{"answers_go_in_order_of_their_numbers", answers_go_in_order_of_their_numbers},
};

TAP_MAIN(tests)
