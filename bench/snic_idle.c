// SPDX-License-Identifier: MIT
/*
 * snic_idle: what queue pairs that nobody uses cost the software NIC
 *
 * One NIC without thread, queue pairs connected to themselves in shared memory, rings and record of each in a page of its
 * own as programs have them. For each number of idle ones beside one that is used: a look at all of them that finds nothing;
 * a write of 8 bytes from its doorbell to its completion; and the same by all of them in turn, each once in a while. CPU
 * time, so that other programs on this machine do not count, and the least of some turns.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/error.h"
#include "softnic/snic.h"

#define PAGE   4096U
#define BLOCKS 16U
#define RECORD 2048U /* in the page of a queue pair */
#define RING_CQ 1024U
#define TURNS  15
#define PASSES 2000
#define WRITES 500

struct queue {
	struct bl_snic_qp *qp;
	struct bl_snic_cq *cq;
	uint8_t *page;
	uint32_t pi, ci;
};

static struct bl_snic *nic;
static struct bl_snic_pd *pd;
static struct bl_snic_mr *mr;
static uint8_t memory[PAGE] __attribute__((aligned(4096)));

static void expect(int ret, const char *what)
{
	if (ret)
		tool_die("%s: %s", what, strerror(-ret));
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void connect_itself(struct queue *queue)
{
	struct bl_snic_qp_mod mod = {
		.dest_qpn = bl_snic_qp_num(queue->qp),
		.mtu = 4096,
		.ack_timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.access = BL_SNIC_REMOTE_WRITE,
	};

	memcpy(mod.dest_gid, bl_snic_gid(nic), sizeof(mod.dest_gid));
	for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTS; state++) {
		mod.state = (enum bl_snic_qp_state)state;
		expect(bl_snic_qp_modify(queue->qp, &mod), "queue pair");
	}
}

static void queue_open(struct queue *queue)
{
	struct bl_snic_cq_attr cq_attr = {.nr = BLOCKS, .overrun = true};
	struct bl_snic_qp_attr attr = {.type = BL_SNIC_RC, .sq_nr = BLOCKS};

	queue->page = aligned_alloc(PAGE, PAGE);
	if (!queue->page)
		tool_die("out of memory");
	memset(queue->page, 0, PAGE);
	for (unsigned int i = 0; i < BLOCKS; i++)
		queue->page[RING_CQ + i * 64 + 63] = 0xf1;
	cq_attr.ring.addr = queue->page + RING_CQ;
	expect(bl_snic_cq_create(nic, &cq_attr, &queue->cq), "completion queue");
	attr.sq.addr = queue->page;
	attr.dbrec = (const uint32_t *)(const void *)(queue->page + RECORD);
	attr.send_cq = queue->cq;
	expect(bl_snic_qp_create(pd, &attr, &queue->qp), "queue pair");
	queue->pi = queue->ci = 0;
	connect_itself(queue);
}

static void queue_close(struct queue *queue)
{
	expect(bl_snic_qp_destroy(queue->qp), "queue pair");
	expect(bl_snic_cq_destroy(queue->cq), "completion queue");
	free(queue->page);
}

/* A signalled write of 8 bytes. */
static void post(struct queue *queue)
{
	uint32_t *words = (uint32_t *)(void *)(queue->page + queue->pi % BLOCKS * 64);
	uint32_t *record = (uint32_t *)(void *)(queue->page + RECORD);

	words[0] = htobe32(queue->pi << 8 | 0x08);
	words[1] = htobe32(bl_snic_qp_num(queue->qp) << 8 | 3);
	words[2] = htobe32(0x08);
	words[4] = htobe32((uint32_t)((uintptr_t)memory >> 32));
	words[5] = htobe32((uint32_t)(uintptr_t)memory);
	words[6] = htobe32(bl_snic_mr_rkey(mr));
	words[8] = htobe32(8);
	words[9] = htobe32(bl_snic_mr_lkey(mr));
	words[10] = htobe32((uint32_t)((uintptr_t)memory >> 32));
	words[11] = htobe32((uint32_t)(uintptr_t)memory + 64);
	queue->pi++;
	/* the NIC reads the request after the record */
	__atomic_store_n(&record[1], htobe32(queue->pi & 0xffff), __ATOMIC_RELEASE);
}

static bool is_complete(struct queue *queue)
{
	const uint8_t *cqe = queue->page + RING_CQ + queue->ci % BLOCKS * 64;
	uint8_t tail = __atomic_load_n(&cqe[63], __ATOMIC_ACQUIRE);

	if (tail >> 4 == 15 || (tail & 1) != !!(queue->ci & BLOCKS))
		return false;
	if (tail >> 4)
		tool_die("a write failed with syndrome 0x%02x", cqe[55]);
	queue->ci++;
	return true;
}

/* Return: calls that it took. */
static unsigned int finish(struct queue *queue)
{
	for (unsigned int passes = 1; passes < 1000000; passes++) {
		bl_snic_progress(nic);
		if (is_complete(queue))
			return passes;
	}
	tool_die("a write is not completed");
}

static double least(double a, double b)
{
	return !a || b < a ? b : a;
}

static void measure(unsigned int nr_idle)
{
	struct queue *queues = calloc(nr_idle + 1, sizeof(*queues)), *used = queues;
	double pass_ns = 0, write_ns = 0, wake_ns = 0;

	if (!queues)
		tool_die("out of memory");
	for (unsigned int i = 0; i <= nr_idle; i++)
		queue_open(&queues[i]);
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t begin = cpu_ns();

		for (int i = 0; i < PASSES; i++)
			bl_snic_progress(nic);
		pass_ns = least(pass_ns, (double)(cpu_ns() - begin) / PASSES);
		begin = cpu_ns();
		for (int i = 0; i < WRITES; i++) {
			post(used);
			finish(used);
		}
		write_ns = least(write_ns, (double)(cpu_ns() - begin) / WRITES);
		/* each of them once in a while, in no order that caches like */
		begin = cpu_ns();
		for (unsigned int i = 0; i < 64; i++) {
			struct queue *other = &queues[(i * 37U + (unsigned int)turn * 11U) % (nr_idle + 1)];

			post(other);
			finish(other);
		}
		wake_ns = least(wake_ns, (double)(cpu_ns() - begin) / 64);
	}
	printf("%6u %10.0f %10.0f %10.0f\n", nr_idle, pass_ns, write_ns, wake_ns);
	fflush(stdout);
	for (unsigned int i = 0; i <= nr_idle; i++)
		queue_close(&queues[i]);
	free(queues);
}

int main(void)
{
	static const unsigned int numbers[] = {0, 1, 32, 256, 1024};
	const struct bl_snic_attr attr = {.name = "bench", .manual = true};
	const struct bl_snic_mem mem = {.addr = memory};
	struct utsname kernel;

	expect(bl_snic_open(&attr, &nic), "NIC");
	expect(bl_snic_pd_create(nic, &pd), "domain");
	expect(bl_snic_mr_create(pd, &mem, (uintptr_t)memory, sizeof(memory), BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE,
				 &mr),
	       "region");
	uname(&kernel);
	printf("# snic_idle %s kernel %s; CPU time, the least of %d turns\n", BARLANE_VERSION, kernel.release, TURNS);
	printf("#%5s %10s %10s %10s\n", "idle", "pass_ns", "write_ns", "wake_ns");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		measure(numbers[i]);
	expect(bl_snic_mr_destroy(mr), "region");
	expect(bl_snic_pd_destroy(pd), "domain");
	bl_snic_close(nic);
	return 0;
}
