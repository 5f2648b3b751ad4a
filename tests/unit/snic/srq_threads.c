// SPDX-License-Identifier: MIT
/*
 * Four queue pairs that receive from one queue, in real time: a thread for each sender, one that takes completions and
 * posts the lists again, and NICs with threads of their own, in one process and in two. ThreadSanitizer finds what
 * release stores of the doorbell record, and acquire loads of completions, do not order.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"

#define DEADLINE_NS 30000000000ULL
#define ROUNDS	    (TAP_TSAN ? 300U : 1500U)
#define SLOT	    4096U
#define LISTS	    16U

static bool wait_cqe(struct world_queue *queue, struct world_cqe *cqe)
{
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (!world_poll(queue, cqe)) {
		if (bl_now_ns() > until)
			return false;
		sched_yield();
	}
	return true;
}

/* Who sent it, and which of its messages it is; the rest of it follows from these. */
struct head {
	uint32_t who;
	uint32_t round;
};

static uint32_t len_of(uint32_t who, uint32_t round)
{
	return (uint32_t)sizeof(struct head) + (who * 1009 + round * 37) % 3000;
}

static void make(uint8_t *at, uint32_t who, uint32_t round)
{
	struct head head = {who, round};

	memcpy(at, &head, sizeof(head));
	fill(at + sizeof(head), len_of(who, round) - sizeof(head), who << 16 | round);
}

static bool is_made(const uint8_t *at, uint32_t len, uint32_t who, uint32_t round)
{
	struct head head;

	memcpy(&head, at, sizeof(head));
	return head.who == who && head.round == round && len == len_of(who, round) &&
	       is_filled(at + sizeof(head), len - sizeof(head), who << 16 | round);
}

struct sender {
	struct world_side *side;
	uint32_t who;
	pthread_t thread;
};

static void *send_all(void *arg)
{
	struct sender *me = arg;
	size_t at = me->who * SLOT;
	struct world_cqe cqe;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		make(me->side->mem + at, me->who, round);
		post_send(me->side, at, len_of(me->who, round));
		bl_snic_kick(me->side->nic);
		if (!wait_cqe(&me->side->send, &cqe) || cqe.syndrome)
			return me;
	}
	return NULL;
}

static void start_senders(struct sender *senders, struct world_side *tx)
{
	for (uint32_t i = 0; i < SHARED_QPS; i++) {
		senders[i] = (struct sender){.side = &tx[i], .who = i};
		check_eq(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
	}
}

static bool end_senders(struct sender *senders)
{
	bool good = true;
	void *wrong;

	for (uint32_t i = 0; i < SHARED_QPS; i++) {
		pthread_join(senders[i].thread, &wrong);
		good = good && !wrong;
	}
	return good;
}

static unsigned int qp_of(const struct shared *s, uint32_t qpn)
{
	for (unsigned int i = 0; i < SHARED_QPS; i++) {
		if (bl_snic_qp_num(s->rx[i].qp) == qpn)
			return i;
	}
	return SHARED_QPS;
}

/*
 * Each list has a place of its own, by its slot. Messages of a sender come in order, each once, with their bytes; the
 * list is posted again while others are on their way.
 */
static const char *receive_all(struct shared *s)
{
	uint32_t rounds[SHARED_QPS] = {0};
	struct world_cqe cqe;
	unsigned int qp;

	for (uint32_t i = 0; i < SHARED_QPS * ROUNDS; i++) {
		uint16_t slot;

		if (!wait_cqe(&s->cq, &cqe))
			return "a message did not come";
		slot = cqe.counter & (LISTS - 1);
		qp = qp_of(s, cqe.qpn);
		if (cqe.syndrome || qp == SHARED_QPS || cqe.srqn != bl_snic_srq_num(s->srq))
			return "a completion is wrong";
		if (!is_made(s->rx[0].mem + slot * SLOT, cqe.len, qp, rounds[qp]++))
			return "a message is not what was sent";
		shared_free(s, cqe.counter);
		/* a cyclic queue has its slots again in their order only: this is the one that a message has left */
		slot = s->options.type == BL_SNIC_SRQ_LINKED ? s->head : (uint16_t)(s->posted & (LISTS - 1));
		shared_post_one(s, slot * SLOT, SLOT);
	}
	return NULL;
}

static void post_lists(struct shared *s, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		shared_post_one(s, i * SLOT, SLOT);
}

static void one_process(bool shm, enum bl_snic_srq_type type, unsigned int nr)
{
	const struct world_options world = {.thread = true, .shm = shm, .bytes = LISTS * SLOT, .rnr_retry = 7};
	struct shared *s = shared_begin(&world, &(struct shared_options){.type = type, .nr = LISTS, .qps = SHARED_QPS});
	struct sender senders[SHARED_QPS];
	const char *wrong;

	/* fewer than messages under way: some find none */
	post_lists(s, nr);
	start_senders(senders, s->tx);
	wrong = receive_all(s);
	check(end_senders(senders));
	check_str(wrong ? wrong : "nothing", "nothing");
	check_eq(shared_query(s).done, SHARED_QPS * ROUNDS);
	shared_end(s);
}

static void four_queue_pairs_share_a_queue(void)
{
	one_process(false, BL_SNIC_SRQ_LINKED, 3);
}

static void they_do_through_shared_memory_too(void)
{
	/* one at a time, so that they complete in the order of their slots */
	one_process(true, BL_SNIC_SRQ_CYCLIC, 1);
}

/* What processes tell each other of their ends. */
struct ends {
	uint8_t gid[BL_SNIC_GID_LEN];
	uint32_t qpn[SHARED_QPS];
};

static void connect_ends(int fd, struct world_side *base, struct world_side *sides, const struct world_options *world)
{
	struct ends own, theirs;

	check_eq(bl_snic_gid_at(base->nic, 0, own.gid), 0);
	for (int i = 0; i < SHARED_QPS; i++)
		own.qpn[i] = bl_snic_qp_num(sides[i].qp);
	check_eq(write(fd, &own, sizeof(own)), (ssize_t)sizeof(own));
	check_eq(read(fd, &theirs, sizeof(theirs)), (ssize_t)sizeof(theirs));
	for (int i = 0; i < SHARED_QPS; i++)
		world_side_connect(&sides[i], world, 0, theirs.gid, theirs.qpn[i]);
	/* both are ready before anything is sent */
	check_eq(write(fd, "", 1), 1);
	check_eq(read(fd, own.gid, 1), 1);
}

static const struct world_options far = {
	.thread = true, .shm = true, .bytes = LISTS * SLOT, .rnr_retry = 7};

static int be_the_sender(int fd)
{
	static struct shared s;
	struct world_side base = {.nic = NULL};
	struct world_options world = far;
	struct sender senders[SHARED_QPS];

	if (setjmp(tap_env))
		return 2;
	world_defaults(&world);
	world_side_make(&base, &world, 0);
	for (int i = 0; i < SHARED_QPS; i++)
		shared_make_pair_end(&s, &s.tx[i], &base, false, &world);
	connect_ends(fd, &base, s.tx, &world);
	start_senders(senders, s.tx);
	if (!end_senders(senders))
		return 1;
	for (int i = 0; i < SHARED_QPS; i++)
		shared_drop_pair_end(&s.tx[i]);
	world_side_drop(&base);
	return 0;
}

static void receive_from(int fd)
{
	struct shared s = {.options = {.type = BL_SNIC_SRQ_LINKED, .nr = LISTS, .qps = SHARED_QPS}};
	struct world_side base = {.nic = NULL};
	struct world_options world = far;
	const char *wrong;

	world_defaults(&world);
	shared_defaults(&s.options);
	world_side_make(&base, &world, 1);
	shared_make_queue(&s, &base, &world);
	for (int i = 0; i < SHARED_QPS; i++)
		shared_make_pair_end(&s, &s.rx[i], &base, true, &world);
	post_lists(&s, 3);
	connect_ends(fd, &base, s.rx, &world);
	wrong = receive_all(&s);
	check_str(wrong ? wrong : "nothing", "nothing");
	for (int i = 0; i < SHARED_QPS; i++)
		shared_drop_pair_end(&s.rx[i]);
	shared_drop_queue(&s);
	world_side_drop(&base);
}

static void the_senders_may_be_another_process(void)
{
	int fds[2], status;
	pid_t pid;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		close(fds[0]);
		_exit(be_the_sender(fds[1]));
	}
	close(fds[1]);
	receive_from(fds[0]);
	check_eq(waitpid(pid, &status, 0), pid);
	close(fds[0]);
	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), 0);
}

static const struct tap_test tests[] = {
	{"four_queue_pairs_share_a_queue", four_queue_pairs_share_a_queue},
	{"they_do_through_shared_memory_too", they_do_through_shared_memory_too},
	{"the_senders_may_be_another_process", the_senders_may_be_another_process},
};

TAP_MAIN(tests)
