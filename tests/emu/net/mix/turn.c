// SPDX-License-Identifier: MIT
#include "turn.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/error.h"
#include "net/wire.h"
#include "util/clock.h"

/* Of an unreliable connection, which nobody holds back: what comes before the peer says that it may go on. */
#define ROUND	 4U
#define LISTS	 4U /* fewer than requests, so that some find none */
#define QUIET_NS 250000000ULL
#define LISTS_NS 50000000L
#define SECOND	 1000000000ULL

/* A wait: for something on this end, while the peer lives. */
struct wait {
	int sock;
	uint64_t deadline;
	const char *what;
	uint32_t index;
};

static struct wait wait_for(int sock, unsigned int timeout_s, const char *what, uint32_t index)
{
	return (struct wait){ sock, bl_now_ns() + timeout_s * SECOND, what, index };
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 50000 }, NULL);
}

static int wait_more(const struct wait *wait)
{
	if (bl_now_ns() > wait->deadline)
		return tool_fail(ETIMEDOUT, "request %u: no %s in time", wait->index, wait->what);
	nap();
	/* in a turn it sends nothing but its end, or that it has done its part */
	return net_peer_check(wait->sock);
}

static int wait_sent(struct mix_end *end, struct wait wait, struct mix_cqe *cqe)
{
	int ret;

	while (!(ret = mix_end_sent(end, cqe))) {
		ret = wait_more(&wait);
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : 0;
}

static int wait_received(struct mix_end *end, struct wait wait, struct mix_cqe *cqe)
{
	int ret;

	while (!(ret = mix_end_received(end, cqe))) {
		ret = wait_more(&wait);
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : 0;
}

static int wrong_bytes(const struct mix_request *request, const char *where, const uint8_t *got, const uint8_t *want,
		       size_t len)
{
	size_t i = 0;

	while (i < len && got[i] == want[i])
		i++;
	return tool_fail(EBADMSG, "request %u, opcode 0x%02x len %u off %u: byte %zu of %s is 0x%02x, not 0x%02x",
			 request->index, request->opcode, request->len, request->off, i, where, got[i], want[i]);
}

/* What a requester keeps: the requests under way, and what they bring. */
static struct mix_request under_way[MIX_SLOTS];
static uint8_t expected[MIX_SLOTS][MIX_SLOT];
static struct mix_script script;

static void post(struct mix_end *end)
{
	struct mix_request request;
	uint8_t *slot;

	mix_script_next(&script, &request);
	under_way[request.index % MIX_SLOTS] = request;
	slot = mix_send_slot(end, request.index);
	if (request.opcode == MIX_READ || mix_is_atomic(&request)) {
		memcpy(expected[request.index % MIX_SLOTS], script.target + request.off, request.len);
		memset(slot, 0xee, request.len);
	} else {
		mix_fill(&request, slot);
	}
	mix_script_do(&script, &request);
	mix_end_post(end, &request);
}

static int finish(struct mix_end *end, int sock, unsigned int timeout_s, uint32_t index)
{
	const struct mix_request *request = &under_way[index % MIX_SLOTS];
	const uint8_t *slot = mix_send_slot(end, index);
	struct mix_cqe cqe;
	int ret = wait_sent(end, wait_for(sock, timeout_s, "completion", index), &cqe);

	if (ret)
		return ret;
	if (cqe.opcode != MIX_CQE_REQ)
		return tool_fail(EBADMSG, "request %u: a completion of kind %u", index, cqe.opcode);
	if (request->opcode == MIX_READ || mix_is_atomic(request)) {
		if (memcmp(slot, expected[index % MIX_SLOTS], request->len) != 0)
			return wrong_bytes(request, "the answer", slot, expected[index % MIX_SLOTS], request->len);
	}
	return 0;
}

int mix_turn_request(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s)
{
	uint32_t posted = 0, done = 0, most = one->uc ? ROUND : MIX_SLOTS;
	int ret;

	mix_script_begin(&script, one->seed, one->ops, one->uc, one->lossy);
	ret = net_barrier(sock, timeout_s);
	if (ret)
		return ret;
	while (done < one->nr) {
		while (posted < one->nr && posted - done < most) {
			post(end);
			posted++;
		}
		/* unreliable: all of a round, and then the next one when the peer has it */
		do {
			ret = finish(end, sock, timeout_s, done);
			if (ret)
				return ret;
			done++;
		} while (one->uc && done < posted);
		if (one->uc) {
			ret = net_barrier(sock, timeout_s);
			if (!ret && one->lossy)
				ret = net_barrier(sock, timeout_s);
			if (ret)
				return ret;
		}
	}
	return net_barrier(sock, timeout_s);
}

static int check_received(struct mix_end *end, const struct mix_request *request, const struct mix_cqe *cqe)
{
	const uint8_t *slot = mix_recv_slot(end, end->recv_ci - 1);
	unsigned int kind = request->opcode == MIX_SEND	     ? MIX_CQE_SEND :
			    request->opcode == MIX_SEND_IMM ? MIX_CQE_SEND_IMM :
							       MIX_CQE_WRITE_IMM;
	uint32_t bad;

	if (cqe->opcode != kind || cqe->len != request->len)
		return tool_fail(EBADMSG, "request %u, opcode 0x%02x len %u: a completion of kind %u, len %u",
				 request->index, request->opcode, request->len, cqe->opcode, cqe->len);
	if (request->opcode != MIX_SEND && cqe->imm != request->imm)
		return tool_fail(EBADMSG, "request %u, opcode 0x%02x: immediate 0x%x, not 0x%x", request->index,
				 request->opcode, cqe->imm, request->imm);
	if (request->opcode != MIX_WRITE_IMM && !mix_is_filled(request, slot, &bad))
		return tool_fail(EBADMSG, "request %u, opcode 0x%02x len %u: byte %u of the message is 0x%02x",
				 request->index, request->opcode, request->len, bad, slot[bad]);
	return 0;
}

static int respond_to(struct mix_end *end, int sock, unsigned int timeout_s)
{
	struct mix_request request;
	struct mix_cqe cqe;
	int ret;

	mix_script_next(&script, &request);
	mix_script_do(&script, &request);
	if (!mix_is_received(&request))
		return 0;
	ret = wait_received(end, wait_for(sock, timeout_s, "message", request.index), &cqe);
	if (!ret)
		ret = check_received(end, &request, &cqe);
	mix_end_post_recv(end);
	return ret;
}

/* Of an unreliable connection a request may be complete before its bytes are here. */
static int check_target(struct mix_end *end, const struct mix_case *one)
{
	const struct mix_request all = { .index = one->nr, .len = MIX_TARGET };
	uint64_t deadline = bl_now_ns() + (one->uc ? 2 * SECOND : 0);

	while (memcmp(end->data, script.target, MIX_TARGET) != 0) {
		if (bl_now_ns() >= deadline)
			return wrong_bytes(&all, "the responder's memory", end->data, script.target, MIX_TARGET);
		nap();
	}
	return 0;
}

/* A message of which others may be lost, or come twice; late ones of earlier rounds may have been written over since. */
static int take_lossy(struct mix_end *end, const struct mix_cqe *cqe, uint32_t first, struct mix_lost *lost)
{
	uint32_t index = cqe->imm ^ MIX_IMM, bad;
	const struct mix_request *request = &under_way[index % MIX_SLOTS];
	int ret;

	if (index >= script.next || request->index != index)
		return tool_fail(EBADMSG, "message 0x%x comes after request %u", cqe->imm, script.next - 1);
	ret = check_received(end, request, cqe);
	mix_end_post_recv(end);
	if (ret || index < first)
		return ret;
	if (request->opcode == MIX_WRITE_IMM && !mix_is_filled(request, end->data + request->off, &bad))
		return tool_fail(EBADMSG, "request %u, a write of %u bytes: byte %u is 0x%02x", index, request->len, bad,
				 end->data[request->off + bad]);
	lost->last = index;
	return 0;
}

/* A round: until all has come, or nothing more does. */
static int respond_lossy(struct mix_end *end, uint32_t nr, struct mix_lost *lost)
{
	uint32_t first = script.next, seen = 0;
	uint64_t quiet = bl_now_ns() + QUIET_NS;
	struct mix_request request;
	struct mix_cqe cqe;
	int ret;

	for (uint32_t i = 0; i < nr; i++) {
		mix_script_next(&script, &request);
		under_way[request.index % MIX_SLOTS] = request;
	}
	while (seen != (1U << nr) - 1 && bl_now_ns() < quiet) {
		ret = mix_end_received(end, &cqe);
		if (!ret) {
			nap();
			continue;
		}
		if (ret > 0)
			ret = take_lossy(end, &cqe, first, lost);
		if (ret)
			return ret;
		if ((cqe.imm ^ MIX_IMM) - first < nr)
			seen |= 1U << ((cqe.imm ^ MIX_IMM) - first);
	}
	lost->nr += nr - (uint32_t)__builtin_popcount(seen);
	return 0;
}

static int respond_uc(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s, struct mix_lost *lost)
{
	int ret = 0;

	for (uint32_t done = 0; !ret && done < one->nr; done += ROUND) {
		uint32_t nr = one->nr - done < ROUND ? one->nr - done : ROUND;

		if (one->lossy) {
			ret = net_barrier(sock, timeout_s);
			if (!ret)
				ret = respond_lossy(end, nr, lost);
		} else {
			for (uint32_t i = 0; !ret && i < nr; i++)
				ret = respond_to(end, sock, timeout_s);
		}
		if (!ret)
			ret = net_barrier(sock, timeout_s);
	}
	return ret;
}

/* Nothing but what messages were for has changed. */
static int check_rest(struct mix_end *end)
{
	const struct mix_request none = { .opcode = MIX_WRITE_IMM };
	size_t used = ROUND * MIX_UC_LONGEST;

	if (memcmp(end->data + used, script.target + used, MIX_TARGET - used) != 0)
		return wrong_bytes(&none, "the rest of memory", end->data + used, script.target + used, MIX_TARGET - used);
	return 0;
}

/*
 * Receive lists get to a device of libibverbs by a thread; on an unreliable connection a message that comes first is
 * lost without a word.
 */
static void prepare(struct mix_end *end, const struct mix_case *one)
{
	unsigned int lists = one->uc ? MIX_SLOTS : LISTS;

	mix_script_begin(&script, one->seed, one->ops, one->uc, one->lossy);
	memcpy(end->data, script.target, MIX_TARGET);
	while (lists--)
		mix_end_post_recv(end);
	if (one->uc)
		nanosleep(&(struct timespec){ 0, LISTS_NS }, NULL);
}

int mix_turn_respond(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s,
		     struct mix_lost *lost)
{
	int ret;

	*lost = (struct mix_lost){ .nr = 0 };
	prepare(end, one);
	ret = net_barrier(sock, timeout_s);
	if (ret)
		return ret;
	if (one->uc) {
		ret = respond_uc(end, sock, one, timeout_s, lost);
	} else {
		for (uint32_t i = 0; !ret && i < one->nr; i++)
			ret = respond_to(end, sock, timeout_s);
	}
	if (ret)
		return ret;
	/* the requester has all its completions when it says so */
	ret = net_recv(sock, NET_BARRIER, NULL, 0, timeout_s);
	if (!ret)
		ret = one->lossy ? check_rest(end) : check_target(end, one);
	return ret ? ret : net_send(sock, NET_BARRIER, NULL, 0, timeout_s);
}
