// SPDX-License-Identifier: MIT
/* Messages of any kind and length between two queue pairs of one NIC, so that some are handed over and some are packets. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define ROUNDS	 400
#define MOST	 5
#define SLOT	 256
#define FROM	 0
#define TO	 8192
#define LONGEST	 200
#define LEAST_NR 1000

static const uint8_t kinds[] = {BL_WQE_WRITE, BL_WQE_WRITE_IMM, BL_WQE_SEND, BL_WQE_SEND_IMM};

struct message {
	uint8_t opcode;
	uint32_t len, imm;
	unsigned int seed;
};

/* What one side has sent in a round: message @i goes from slot @i of its memory to slot @i of the peer's. */
struct sender {
	struct world_side *side, *peer;
	struct message messages[MOST];
	unsigned int nr;
	uint16_t received;
	uint64_t all;
};

static bool is_write(const struct message *message)
{
	return message->opcode == BL_WQE_WRITE || message->opcode == BL_WQE_WRITE_IMM;
}

static void post(struct sender *sender, unsigned int slot)
{
	struct message *message = &sender->messages[slot];
	size_t from = FROM + slot * SLOT, to = TO + slot * SLOT;
	struct world_wqe wqe;

	*message = (struct message){.opcode = kinds[rand() % 4],
				    .len = 1 + (uint32_t)rand() % LONGEST,
				    .imm = (uint32_t)rand(),
				    .seed = (unsigned int)rand() % 256};
	fill(sender->side->mem + from, message->len, message->seed);
	memset(sender->peer->mem + to, 0, SLOT);
	if (message->opcode != BL_WQE_WRITE)
		post_recv(sender->peer, to, is_write(message) ? 0 : SLOT);
	wqe_begin(&wqe, sender->side, 0, message->opcode, WORLD_SIGNAL, message->imm);
	if (is_write(message))
		wqe_raddr(&wqe, sender->peer->iova + to, sender->peer->key);
	if (rand() % 2)
		wqe_inline(&wqe, sender->side->mem + from, message->len);
	else
		wqe_data(&wqe, sender->side->iova + from, sender->side->key, message->len);
	wqe_post(&wqe, sender->side);
}

static void post_some(struct sender *sender)
{
	sender->nr = 1 + (unsigned int)rand() % MOST;
	for (unsigned int i = 0; i < sender->nr; i++)
		post(sender, i);
	sender->all += sender->nr;
}

static void expect_message(struct sender *sender, unsigned int slot)
{
	const struct message *message = &sender->messages[slot];
	uint8_t want[SLOT] = {0};
	struct world_cqe cqe;

	fill(want, message->len, message->seed);
	check_eq(memcmp(sender->peer->mem + TO + slot * SLOT, want, SLOT), 0);
	check(world_poll(&sender->side->send, &cqe));
	check_eq(cqe.opcode, BL_CQE_REQ);
	check_eq(cqe.send_opcode, message->opcode);
	check_eq(cqe.len, message->len);
	if (message->opcode == BL_WQE_WRITE)
		return;
	check(world_poll(&sender->peer->recv, &cqe));
	check_eq(cqe.opcode == BL_CQE_RESP_WRITE_IMM, is_write(message));
	check_eq(cqe.syndrome, 0);
	check_eq(cqe.counter, sender->received++);
	check_eq(cqe.len, message->len);
	if (message->opcode != BL_WQE_SEND)
		check_eq(cqe.imm, message->imm);
}

/* Both sides have something to say in the same pass. */
static void many_messages_arrive_as_they_were_sent(void)
{
	struct world *w = world_begin(&(struct world_options){.one_nic = true, .loops = true});
	struct sender senders[] = {{.side = &w->a, .peer = &w->b}, {.side = &w->b, .peer = &w->a}};

	srand(7);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++)
			post_some(&senders[i]);
		world_run(w);
		for (int i = 0; i < 2; i++) {
			for (unsigned int slot = 0; slot < senders[i].nr; slot++)
				expect_message(&senders[i], slot);
		}
		world_expect_none(&w->a.send);
		world_expect_none(&w->b.send);
	}
	check(senders[0].all + senders[1].all > LEAST_NR);
	check_eq(world_counter(&w->a, BL_SNIC_SERVED), senders[0].all + senders[1].all);
	check(world_counter(&w->a, BL_SNIC_LOOPED) > LEAST_NR / 10);
	check(world_counter(&w->a, BL_SNIC_TX_PACKETS) > LEAST_NR / 10);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
	check_eq(world_counter(&w->a, BL_SNIC_RX_OUT_OF_ORDER), 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"loop_many_messages_arrive_as_they_were_sent", many_messages_arrive_as_they_were_sent},
};

TAP_MAIN(tests)
