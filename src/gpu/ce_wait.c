// SPDX-License-Identifier: MIT
/* How the end of a transfer is seen. The channel's context is current, its lock is held. */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/log.h"

#define DEFAULT_TIMEOUT_MS 10000UL
#define QUERY_NS	   100000U /* between looks for a device error while the counter is polled */
#define CLOCK_POLLS	   16U	   /* looks at the counter for one at the clock, which takes as long */
#define COUNTER_POLLS	   64U	   /* looks at the counter alone */
#define EAGER_POLLS	   4096U
#define OUT_POLLS	   4096U   /* looks at it before the context is entered again, 100 us or more */

static uint64_t timeout_ns;

static void read_timeout(void)
{
	const char *text = getenv("BARLANE_CE_TIMEOUT_MS");
	unsigned long ms = DEFAULT_TIMEOUT_MS;
	char *end = NULL;

	if (text && *text) {
		errno = 0;
		ms = strtoul(text, &end, 10);
		if (*end || !ms || errno || ms > 86400000) {
			log_warn("BARLANE_CE_TIMEOUT_MS %s ignored: not a number of milliseconds", text);
			ms = DEFAULT_TIMEOUT_MS;
		}
	}
	timeout_ns = ms * 1000000;
}

uint64_t bl_ce_timeout_ns(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_timeout);
	return timeout_ns;
}

uint64_t bl_ce_deadline(void)
{
	return bl_now_ns() + bl_ce_timeout_ns();
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Acquire: the bytes of a transfer are there when its number is. */
static inline bool reached(const uint32_t *flag, uint32_t seq)
{
	return (int32_t)(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - seq) >= 0;
}

bool bl_ce_counted(const struct bl_ce *ce, uint32_t seq)
{
	return ce->counts && reached(ce->flag, seq);
}

int bl_ce_query(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUresult err = cuda->cuStreamQuery(ce->stream);

	if (err == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	if (!err) {
		if (ce->counts && !bl_ce_counted(ce, ce->seq)) {
			log_debug("the GPU does not write the counter: polling the stream instead");
			ce->counts = false;
		}
		return 0;
	}
	ce->broken = bl_cuda_errno(err);
	return fail(ce->broken, "waiting for a copy: %s", bl_cuda_strerror(err));
}

static __attribute__((noinline, cold)) int timed_out(struct bl_ce *ce)
{
	ce->broken = ETIMEDOUT;
	return fail(ETIMEDOUT, "the GPU did not end a copy within %" PRIu64 " ms", bl_ce_timeout_ns() / 1000000);
}

int bl_ce_look(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq, struct bl_ce_wait *wait)
{
	uint64_t now;
	int ret;

	if (bl_ce_counted(ce, seq))
		return 0;
	if (wait->polls++ % CLOCK_POLLS && ce->counts)
		return -EAGAIN;
	if (wait->polls > EAGER_POLLS)
		relax();
	now = bl_now_ns();
	if (!wait->end) {
		wait->end = bl_ce_deadline();
		wait->next = now + QUERY_NS;
	}
	if (ce->counts && now < wait->next)
		return -EAGAIN;
	wait->next = now + QUERY_NS;
	ret = bl_ce_query(cuda, ce);
	if (ret != -EAGAIN)
		return ret;
	return now > wait->end ? timed_out(ce) : -EAGAIN;
}

/*
 * Nothing but looks and pauses. Without the pause many loads are under way when the number comes, and the CPU does all of
 * them again: that took 10 to 120 ns of a copy on H200 hosts.
 */
static bool await(const uint32_t *flag, uint32_t seq, unsigned int polls)
{
	while (polls--) {
		if (reached(flag, seq))
			return true;
		relax();
	}
	return false;
}

int bl_ce_wait(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq)
{
	struct bl_ce_wait wait = { 0 };
	int ret;

	do {
		/* a look at the clock takes as long as many at the counter */
		if (ce->counts && await(ce->flag, seq, COUNTER_POLLS))
			return 0;
		ret = bl_ce_look(cuda, ce, seq, &wait);
	} while (ret == -EAGAIN);
	return ret;
}

void bl_ce_report(struct bl_ce *ce, bool asks_to, bool asks_from, enum bl_ce_tokens tokens)
{
	pthread_mutex_lock(&ce->lock);
	ce->asks[BL_COPY_TO] = asks_to;
	ce->asks[BL_COPY_FROM] = asks_from;
	ce->tokens = tokens;
	pthread_mutex_unlock(&ce->lock);
}

int bl_ce_wait_idle(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	uint64_t end = 0;
	int ret;

	for (unsigned int polls = 1; (ret = bl_ce_query(cuda, ce)) == -EAGAIN; polls++) {
		if (polls % CLOCK_POLLS)
			continue;
		if (!end)
			end = bl_ce_deadline();
		else if (bl_now_ns() > end)
			return timed_out(ce);
	}
	return ret;
}

int bl_ce_wait_posted(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	bl_ce_mark(cuda, ce);
	return bl_ce_wait(cuda, ce, ce->seq);
}

int bl_ce_wait_out(const struct bl_cuda *cuda, struct bl_ce *ce, struct bl_ce_entry *entry)
{
	uint32_t seq;
	int ret;

	bl_ce_mark(cuda, ce);
	seq = ce->seq;
	ret = bl_ce_ask(cuda, entry);
	if (ret)
		return ret;
	if (ce->counts) {
		bl_ce_go_out(cuda, entry);
		entry->free = true;
		pthread_mutex_unlock(&ce->lock);
		if (await(ce->flag, seq, OUT_POLLS))
			return 0;
		pthread_mutex_lock(&ce->lock);
		entry->free = false;
		ret = bl_ce_come_back(cuda, ce, entry);
	}
	return ret ? ret : bl_ce_wait(cuda, ce, seq);
}

static void write_number(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUresult err = cuda->cuStreamWriteValue32(ce->stream, (uintptr_t)ce->flag, ce->seq, 0);

	if (!err)
		return;
	log_debug("cuStreamWriteValue32: %s: polling the stream instead", bl_cuda_strerror(err));
	ce->counts = false;
}

int bl_ce_mark(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	ce->seq++;
	if (!ce->counts)
		return 0;
	if (!bl_ce_token_post(cuda, ce))
		write_number(cuda, ce);
	bl_ce_token_marked(cuda, ce);
	return 0;
}
