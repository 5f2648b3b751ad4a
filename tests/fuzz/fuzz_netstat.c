// SPDX-License-Identifier: MIT
/*
 * Any bytes where "barlane dump" reads those of another process: right heads now and then, so that what follows is looked
 * at; all that is shown is printed to nowhere, as text and as JSON.
 */
#include <stddef.h>
#include <string.h>

#include "fuzz.h"
#include "netstat/netstat.h"
#include "util/log.h"

static union {
	struct bl_shown_head head;
	struct bl_shown_nic nic;
	struct bl_shown_gpu gpu;
} bytes;
static size_t len;

static ssize_t read_bytes(const struct netstat_source *source, void *to, size_t want, uint64_t off)
{
	size_t left = off < len ? len - (size_t)off : 0;

	if (want > left)
		want = left;
	memcpy(to, (const char *)&bytes + off, want);
	return (ssize_t)want;
}

static const struct netstat_source source = {.read = read_bytes};

static void try_qp(const struct bl_shown_qp *qp, const struct bl_shown_gpu_qp *gpu)
{
	char hints[4][NETSTAT_HINT];
	struct netstat_wqe wqe;
	unsigned int nr;

	must(memchr(qp->text, '\0', sizeof(qp->text)));
	nr = netstat_qp_hints(qp, gpu, hints, 4);
	must(nr <= 4);
	for (unsigned int i = 0; i < nr; i++)
		must(*hints[i] && memchr(hints[i], '\0', NETSTAT_HINT));
	for (uint32_t at = 0, next; (next = netstat_next_wqe(qp, at, &wqe)); at = next) {
		struct bl_wqe_piece piece;
		struct bl_wqe_walk walk;
		uint64_t sum = 0;

		must(next > at && next <= qp->nr_blocks);
		must(wqe.nr_shown <= (BL_SHOWN_BLOCKS - at) * BL_SHOWN_BLOCK);
		if (!wqe.whole || wqe.why)
			continue;
		bl_wqe_walk_start(&walk, &wqe.wqe, wqe.raw, 0);
		while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
			/* inline bytes are some that are there */
			for (uint32_t i = 0; piece.bytes && i < piece.len; i++)
				sum += piece.bytes[i];
		}
		must(sum <= 255UL * BL_WQE_MAX_BYTES);
	}
}

static void try_all(struct netstat_all *all)
{
	struct netstat_process process = {.pid = 1, .pidfd = -1, .name = "fuzz", .state = 'T'};
	struct json_object *object;

	for (unsigned int i = 0; i < all->nr; i++) {
		const struct netstat_nic *nic = &all->nics[i];

		must(memchr(nic->port.name, '\0', sizeof(nic->port.name)));
		must(nic->nr_qps <= BL_SHOWN_QPS && nic->nr_cqs <= BL_SHOWN_CQS && nic->nr_mrs <= BL_SHOWN_MRS &&
		     nic->nr_srqs <= BL_SHOWN_SRQS);
		for (uint32_t j = 0; j < nic->nr_qps; j++)
			try_qp(&nic->qps[j], netstat_gpu_of(&all->gpu, nic->port.name, nic->qps[j].num));
	}
	netstat_text(&process, all);
	object = netstat_json(all, &process);
	must(json_object_to_json_string(object));
	json_object_put(object);
}

/* Where the input goes, beside the head: ports, one record of each table, and some at their ends. */
static void scatter(void)
{
	static const size_t places[] = {
		offsetof(struct bl_shown_nic, port), offsetof(struct bl_shown_nic, qps),
		offsetof(struct bl_shown_nic, qps) + sizeof(struct bl_shown_qp), offsetof(struct bl_shown_nic, cqs),
		offsetof(struct bl_shown_nic, mrs), offsetof(struct bl_shown_nic, srqs),
		offsetof(struct bl_shown_gpu, seq), offsetof(struct bl_shown_gpu, qps)};

	while (fuzz_byte() % 8) {
		size_t at = places[fuzz_byte() % (sizeof(places) / sizeof(places[0]))] + fuzz_number() % 1024;
		size_t nr = fuzz_byte();

		if (at + nr <= sizeof(bytes))
			fuzz_bytes((char *)&bytes + at, nr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	struct netstat_all all = {.nr = 0};
	uint8_t what;

	bl_log_set_level(BL_LOG_OFF);
	if (!nowhere)
		nowhere = freopen("/dev/null", "w", stdout);
	must(nowhere);
	fuzz_begin(data, size);
	what = fuzz_byte();
	memset(&bytes, 0, sizeof(bytes));
	bytes.head.magic = what & 1 ? BL_SHOWN_MAGIC : fuzz_number();
	bytes.head.kind = what & 2 ? BL_SHOWN_NIC : BL_SHOWN_GPU;
	bytes.head.version = !(what & 4) ? (uint32_t)fuzz_number() : what & 2 ? BL_SHOWN_NIC_VERSION : BL_SHOWN_GPU_VERSION;
	bytes.head.size = what & 2 ? sizeof(bytes.nic) : sizeof(bytes.gpu);
	len = what & 8 ? sizeof(bytes) : fuzz_number() % sizeof(bytes);
	bytes.nic.port.first_qps = bytes.nic.port.first_cqs = bytes.nic.port.first_mrs = bytes.nic.port.first_srqs = 2;
	bytes.nic.qps[0].num = bytes.nic.qps[1].num = 1;
	scatter();
	/* an odd count is waited for: seldom enough */
	if (what & 16) {
		bytes.nic.port.seq &= ~1U;
		bytes.nic.qps[0].seq &= ~1U;
		bytes.nic.qps[1].seq &= ~1U;
	}
	if (!netstat_nic_load(&source, true, &all.nics[0]))
		all.nr = 1;
	if (netstat_gpu_load(&source, &all.gpu))
		must(!all.gpu.qps);
	try_all(&all);
	netstat_free(&all);
	return 0;
}
