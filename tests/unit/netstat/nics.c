// SPDX-License-Identifier: MIT
/* What NICs show of themselves: two of them, with a wire and a clock of the test's own. */
#include <endian.h>
#include <sys/resource.h>
#include <unistd.h>

#include "look.h"
#include "softnic/cq.h"
#include "softnic/show.h"
#include "tap.h"
#include "../snic/shared.h"

/* After this everything is shown as it is. */
static void settle(struct world *w)
{
	world_wait(w, 3 * BL_SHOW_NS);
}

static const struct netstat_nic *nic_a(void)
{
	return look_nic(look(getpid()), "a");
}

static void a_connection_is_shown_as_it_is(void)
{
	struct world *w = world_begin(NULL);
	const struct netstat_nic *nic;
	const struct bl_shown_qp *qp;

	fill(w->a.mem, 3000, 1);
	post_write(&w->a, &w->b, 0, 0, 3000);
	settle(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	nic = nic_a();
	check_str(nic->port.provider, "soft");
	check_eq(nic->torn, 0);
	check(!memcmp(nic->port.gid, bl_snic_gid(w->a.nic), 16));
	check(nic->port.flags & BL_SHOWN_MANUAL);
	check_eq(nic->port.nr_qps, 1);
	check_eq(nic->nr_mrs, 1);
	check_eq(netstat_counter(nic, "tx_packets"), 3);
	check_eq(netstat_counter(nic, "tx_bytes"), 3000);
	check(netstat_counter(nic, "passes") > 0);
	check_eq(netstat_counter(nic, "no such counter"), 0);
	qp = look_qp(nic, bl_snic_qp_num(w->a.qp));
	check_str(netstat_state(qp->state), "RTS");
	check_str(netstat_type(qp->type), "rc");
	check_eq(qp->dest_qpn, bl_snic_qp_num(w->b.qp));
	check(!memcmp(qp->dest_gid, bl_snic_gid(w->b.nic), 16));
	check_eq(qp->sq_posted, 1);
	check_eq(qp->sq_fetched, 1);
	check_eq(qp->sq_done, 1);
	check_eq(qp->psn_next, qp->psn_acked);
	check_eq(qp->psn_next, world_query(&w->a).next_psn);
	check_eq(qp->retries + qp->rnr_retries, 0);
	check_eq(qp->timer_ns, 0);
	check_str(look_hints(qp), "no receive is posted: a SEND of the peer has to wait\n");
	world_end(w);
}

static void requests_around_the_index_are_taken_apart(void)
{
	struct world *w = world_begin(&(struct world_options){.rnr_retry = 7});
	const struct bl_shown_qp *qp;
	struct netstat_wqe wqe;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct world_wqe raw;
	uint32_t at;

	for (int i = 0; i < 5; i++)
		post_write(&w->a, &w->b, 64, 128, 32);
	settle(w);
	/* that waits for a receive list: a long one, and one that is inline */
	wqe_begin(&raw, &w->a, 0, BL_WQE_SEND, WORLD_SIGNAL, 0);
	raw.raw[8] = 0x5a;
	for (int i = 0; i < 4; i++)
		wqe_data(&raw, w->a.iova + (uint64_t)i, w->a.key, 8);
	wqe_post(&raw, &w->a);
	wqe_begin(&raw, &w->a, 0, BL_WQE_SEND, WORLD_SIGNAL, 0);
	wqe_inline(&raw, "hello", 5);
	wqe_post(&raw, &w->a);
	settle(w);
	qp = look_qp(nic_a(), bl_snic_qp_num(w->a.qp));
	check_eq(qp->sq_done, 5);
	check_eq(qp->sq_posted, 8);
	at = netstat_next_wqe(qp, 0, &wqe);
	check_eq(wqe.number, 3);
	check_eq(wqe.wqe.opcode, BL_WQE_WRITE);
	check_eq(wqe.wqe.raddr, w->b.iova + 64);
	check_eq(wqe.wqe.rkey, w->b.key);
	at = netstat_next_wqe(qp, at, &wqe);
	at = netstat_next_wqe(qp, at, &wqe);
	check_eq(wqe.number, 5);
	check_eq(wqe.wqe.nr_segs, 5);
	check_eq(wqe.signature, 0x5a);
	check(wqe.whole && !wqe.why);
	bl_wqe_walk_start(&walk, &wqe.wqe, wqe.raw, 0);
	for (uint64_t i = 0; i < 4; i++) {
		check(bl_wqe_walk_next(&walk, UINT32_MAX, &piece));
		check_eq(piece.addr, w->a.iova + i);
		check_eq(piece.lkey, w->a.key);
		check_eq(piece.len, 8);
	}
	at = netstat_next_wqe(qp, at, &wqe);
	check_eq(wqe.number, 7);
	check_eq(wqe.wqe.len, 5);
	check_eq(netstat_next_wqe(qp, at, &wqe), 0);
	check_has(look_hints(qp), "has no receive posted: asked ");
	check_has(look_hints(qp), "for ever");
	check(qp->rnr_retries > 0);
	world_end(w);
}

static void a_shared_receive_queue_is_shown_and_who_takes_of_it(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.type = BL_SNIC_SRQ_CYCLIC, .nr = 32, .qps = 2});
	char hints[2][NETSTAT_HINT];
	const struct netstat_nic *nic;
	const struct bl_shown_qp *qp;

	for (int i = 0; i < 3; i++)
		shared_post_one(s, 0, 100);
	for (int i = 0; i < 2; i++)
		post_send(&s->tx[1], 0, 100);
	settle(s->w);
	nic = look_nic(look(getpid()), "b");
	check_eq(nic->nr_srqs, 1);
	check_eq(nic->srqs[0].num, bl_snic_srq_num(s->srq));
	check_str(netstat_srq_type(nic->srqs[0].type), "cyclic");
	check_eq(nic->srqs[0].nr, 32);
	check_eq(nic->srqs[0].users, 2);
	check_eq(nic->srqs[0].posted, 3);
	check_eq(nic->srqs[0].taken, 2);
	check_eq(nic->srqs[0].done, 2);
	check_eq(netstat_srq_hints(&nic->srqs[0], hints, 2), 0);
	check_eq(netstat_counter(nic, "srq_taken"), 2);
	qp = look_qp(nic, bl_snic_qp_num(s->rx[1].qp));
	check_eq(qp->srq, nic->srqs[0].num);
	check_eq(qp->rq_done, 2);
	check_eq(look_qp(nic, bl_snic_qp_num(s->rx[0].qp))->rq_done, 0);
	check_eq(look_qp(nic, bl_snic_qp_num(s->w->b.qp))->srq, 0);
	post_send(&s->tx[0], 0, 100);
	settle(s->w);
	nic = look_nic(look(getpid()), "b");
	check_eq(netstat_srq_hints(&nic->srqs[0], hints, 2), 1);
	check_has(hints[0], "no receive is posted");
	shared_end(s);
}

/* What is printed, in a buffer. */
static const char *printed(const struct netstat_process *process, const struct netstat_all *all)
{
	static char text[16384];
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);
	ssize_t len;

	check(file && out >= 0);
	fflush(stdout);
	check(dup2(fileno(file), STDOUT_FILENO) == STDOUT_FILENO);
	netstat_text(process, all);
	fflush(stdout);
	check(dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
	close(out);
	len = pread(fileno(file), text, sizeof(text) - 1, 0);
	check(len > 0);
	text[len] = '\0';
	fclose(file);
	return text;
}

static void a_shared_receive_queue_is_told_in_words_and_as_json(void)
{
	struct netstat_process process = {.pid = 1, .pidfd = -1, .name = "test", .state = 'R'};
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 2});
	const struct netstat_all *all;
	struct json_object *object;
	char line[160];

	shared_wqe(s, 0)[2] = 0x80;
	shared_post_one(s, 0, 100);
	post_send(&s->tx[0], 0, 100);
	settle(s->w);
	all = look(getpid());
	snprintf(line, sizeof(line), "  SRQ 0x%x of 16 lists of 1, linked list, pd %u, 2 queue pairs: posted 1, taken 1, done 1\n",
		 bl_snic_srq_num(s->srq), bl_snic_pd_num(s->w->b.pd));
	check_has(printed(&process, all), line);
	check_has(printed(&process, all), "    ! it has ended with a list that names no next one");
	snprintf(line, sizeof(line), "    receives from SRQ 0x%x, cq 0x%x: taken 1, done 1\n", bl_snic_srq_num(s->srq),
		 bl_snic_cq_num(s->cq.cq));
	check_has(printed(&process, all), line);
	object = netstat_json(all, &process);
	snprintf(line, sizeof(line), "\"srqn\":%u,\"type\":\"linked list\"", bl_snic_srq_num(s->srq));
	check_has(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), line);
	check_has(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		  "\"queue_pairs\":2,\"broken\":true,\"posted\":1,\"taken\":1,\"done\":1");
	check_has(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), "\"nr_shared_receive_queues\":1");
	json_object_put(object);
	shared_end(s);
}

static void a_failure_is_shown_with_its_request_and_cause(void)
{
	struct world *w = world_begin(NULL);
	const struct netstat_nic *nic;
	const struct bl_shown_qp *qp;
	struct netstat_cqe cqe;
	struct netstat_wqe wqe;
	struct world_wqe raw;

	post_write(&w->a, &w->b, 0, 0, 8);
	wqe_begin(&raw, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&raw, w->b.iova, w->b.key + 1);
	wqe_data(&raw, w->a.iova, w->a.key, 100);
	wqe_post(&raw, &w->a);
	for (int i = 0; i < 10; i++)
		post_write(&w->a, &w->b, 0, 0, 8);
	settle(w);
	nic = nic_a();
	qp = look_qp(nic, bl_snic_qp_num(w->a.qp));
	check_str(netstat_state(qp->state), "ERR");
	check_eq(qp->error_syndrome, 0x13);
	check_eq(qp->error_wqe, 1);
	check(qp->flags & BL_SHOWN_ERROR_BLOCK);
	netstat_wqe(qp->error_wqe, qp->error_block, sizeof(qp->error_block), &wqe);
	check_eq(wqe.wqe.index, 1);
	check_eq(wqe.wqe.rkey, w->b.key + 1);
	check_has(look_hints(qp), "it has failed: opcode 0x08");
	check_has(look_hints(qp), "no access");
	check_eq(netstat_counter(nic, "nak_received_access"), 1);
	netstat_cqe(look_cq(nic, bl_snic_cq_num(w->a.send.cq))->last, &cqe);
	check_str(netstat_cqe_opcode(cqe.opcode), "REQ_ERR");
	check_str(netstat_syndrome(cqe.syndrome), "flushed");
	check_eq(cqe.vendor, 0xf9);
	check_eq(cqe.wqe_counter, 11);
	check_eq(cqe.qpn, bl_snic_qp_num(w->a.qp));
	qp = look_qp(look_nic(look(getpid()), "b"), bl_snic_qp_num(w->b.qp));
	check(qp->flags & BL_SHOWN_RESPONDER);
	world_end(w);
}

static void a_full_completion_queue_is_named(void)
{
	struct world *w = world_begin(&(struct world_options){.cq_nr = 4, .checked_cq = true});
	const struct bl_shown_cq *cq;
	struct netstat_cqe cqe;
	char hints[4][NETSTAT_HINT];

	for (int i = 0; i < 4; i++)
		post_nop(&w->a, WORLD_SIGNAL);
	settle(w);
	cq = look_cq(nic_a(), bl_snic_cq_num(w->a.send.cq));
	check_eq(cq->nr, 4);
	check_eq(cq->written, 4);
	check_eq(cq->consumer, 0);
	check_eq(cq->overruns, 0);
	netstat_cqe(cq->last, &cqe);
	check_eq(cqe.wqe_counter, 3);
	check_eq(cqe.owner, 0);
	check_eq(netstat_cq_hints(cq, hints, 4), 1);
	check_has(hints[0], "it is full");
	post_nop(&w->a, WORLD_SIGNAL);
	settle(w);
	cq = look_cq(nic_a(), bl_snic_cq_num(w->a.send.cq));
	check(cq->overruns >= 1);
	check_eq(netstat_cq_hints(cq, hints, 4), 1);
	check_has(hints[0], "lost");
	world_end(w);
}

static void a_peer_that_is_silent_is_named(void)
{
	struct world *w = world_begin(NULL);
	const struct bl_shown_qp *qp;

	world_room = 0;
	post_write(&w->a, &w->b, 0, 0, 8);
	world_wait(w, 600 * WORLD_MS);
	qp = look_qp(nic_a(), bl_snic_qp_num(w->a.qp));
	check_eq(qp->retries, 2);
	check(qp->timer_ns > 0 && qp->timer_ns <= 250 * WORLD_MS);
	check_has(look_hints(qp), "does not answer: sent again 2 times of 7");
	world_end(w);
}

static void receives_and_memory_are_shown(void)
{
	struct world *w = world_begin(NULL);
	const struct netstat_nic *nic;
	const struct bl_shown_qp *qp;
	struct bl_snic_mem mem = {.addr = w->a.mem};
	struct bl_snic_mr *mr;
	char text[64];

	for (int i = 0; i < 3; i++)
		post_recv(&w->a, 0, 100);
	post_send(&w->b, 0, 50);
	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0x7000, 512, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_READ, &mr), 0);
	settle(w);
	nic = nic_a();
	qp = look_qp(nic, bl_snic_qp_num(w->a.qp));
	check_eq(qp->rq_posted, 3);
	check_eq(qp->rq_done, 1);
	check_eq(nic->nr_mrs, 2);
	for (uint32_t i = 0; i < nic->nr_mrs; i++) {
		if (nic->mrs[i].key != bl_snic_mr_rkey(mr))
			continue;
		check_eq(nic->mrs[i].iova, 0x7000);
		check_eq(nic->mrs[i].len, 512);
		check_str(netstat_mr_kind(nic->mrs[i].kind), "host");
		check_str(netstat_access(nic->mrs[i].access, text), "local write, remote read");
	}
	check_eq(bl_snic_mr_destroy(mr), 0);
	settle(w);
	check_eq(nic_a()->nr_mrs, 1);
	world_end(w);
}

static void objects_that_go_are_shown_no_more(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_attr attr = world_query(&w->a).attr;
	struct bl_snic_qp *qps[20];
	const struct netstat_nic *nic;

	for (int i = 0; i < 20; i++)
		check_eq(bl_snic_qp_create(w->a.pd, &attr, &qps[i]), 0);
	settle(w);
	check_eq(nic_a()->nr_qps, 21);
	/* one after the other, some in the middle of a round */
	for (int i = 0; i < 20; i++) {
		check_eq(bl_snic_qp_destroy(qps[(i * 7) % 20]), 0);
		world_leap(w, i * WORLD_MS);
		check(bl_snic_progress(w->a.nic) >= 0);
	}
	settle(w);
	nic = nic_a();
	check_eq(nic->nr_qps, 1);
	check_eq(nic->port.nr_qps, 1);
	look_qp(nic, bl_snic_qp_num(w->a.qp));
	world_end(w);
}

static void nothing_is_left_behind(void)
{
	unsigned int before = look_fds();
	struct world *w = world_begin(NULL);

	check_eq(look_fds(), before + 2);
	world_end(w);
	check_eq(look_fds(), before);
}

/* The signal of a file that grows too long would be the program's end. */
static void a_limit_of_files_keeps_nobody_from_working(void)
{
	struct rlimit old, none = {0, 0};
	struct world *w;

	check_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	none.rlim_max = old.rlim_max;
	check_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	w = world_begin(NULL);
	check_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	check_eq(look_fds(), 0);
	post_write(&w->a, &w->b, 0, 0, 8);
	settle(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

static void a_descriptor_that_took_its_place_is_left_alone(void)
{
	struct world *w = world_begin(NULL);
	int fds[64], nr = 0, pipes[2];

	check_eq(pipe(pipes), 0);
	/* as programs do that become daemons: close all, and go on */
	for (int fd = 3; fd < 64; fd++) {
		char path[64], link[100];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		if (strstr(link, BL_SHOWN_NAME " (deleted)"))
			fds[nr++] = fd;
	}
	check_eq(nr, 2);
	for (int i = 0; i < nr; i++)
		check_eq(dup2(pipes[0], fds[i]), fds[i]);
	world_end(w);
	for (int i = 0; i < nr; i++)
		check_eq(close(fds[i]), 0);
	close(pipes[0]);
	close(pipes[1]);
}

static const struct tap_test tests[] = {
	{"a_connection_is_shown_as_it_is", a_connection_is_shown_as_it_is},
	{"requests_around_the_index_are_taken_apart", requests_around_the_index_are_taken_apart},
	{"a_shared_receive_queue_is_shown_and_who_takes_of_it", a_shared_receive_queue_is_shown_and_who_takes_of_it},
	{"a_shared_receive_queue_is_told_in_words_and_as_json", a_shared_receive_queue_is_told_in_words_and_as_json},
	{"a_failure_is_shown_with_its_request_and_cause", a_failure_is_shown_with_its_request_and_cause},
	{"a_full_completion_queue_is_named", a_full_completion_queue_is_named},
	{"a_peer_that_is_silent_is_named", a_peer_that_is_silent_is_named},
	{"receives_and_memory_are_shown", receives_and_memory_are_shown},
	{"objects_that_go_are_shown_no_more", objects_that_go_are_shown_no_more},
	{"nothing_is_left_behind", nothing_is_left_behind},
	{"a_limit_of_files_keeps_nobody_from_working", a_limit_of_files_keeps_nobody_from_working},
	{"a_descriptor_that_took_its_place_is_left_alone", a_descriptor_that_took_its_place_is_left_alone},
};

TAP_MAIN(tests)
