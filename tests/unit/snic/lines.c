// SPDX-License-Identifier: MIT
/* Completion queues in memory in which one store can write a whole line, such as a GPU's behind a CPU that has such a store. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define NR	8
#define DATA	(64 * (NR + 1))
#define ALL	(DATA + 512)
#define MAX_LOG 64

/* A ring, room for one entry more, and memory for data; and what was written there, in order: 'l'ines, and 'w'ords to the
 * ring or 'd'ata. */
static struct {
	_Alignas(64) uint8_t bytes[ALL];
	char log[MAX_LOG + 1];
	unsigned int nr;
	int fails;
} gpu;

static void note(char what)
{
	check(gpu.nr < MAX_LOG);
	gpu.log[gpu.nr++] = what;
	gpu.log[gpu.nr] = '\0';
}

static int read_it(void *priv, uint64_t off, void *dst, size_t len)
{
	check(off + len <= ALL);
	memcpy(dst, gpu.bytes + off, len);
	return 0;
}

static int put(void *priv, uint64_t off, const void *src, size_t len)
{
	check(off + len <= ALL && !(off % 8) && !(len % 8));
	memcpy(gpu.bytes + off, src, len);
	note(off < DATA ? 'w' : 'd');
	return 0;
}

static int put_line(void *priv, uint64_t off, const void *src)
{
	check(off + 64 <= DATA && !(off % 64));
	if (!gpu.fails)
		memcpy(gpu.bytes + off, src, 64);
	note('l');
	return gpu.fails;
}

static const struct bl_snic_mem memory = {
	.addr = gpu.bytes, .read = read_it, .write = put, .put = put, .put_line = put_line, .domain = &gpu};

struct bed {
	struct world *w;
	struct bl_snic_cq *cq;
	struct bl_snic_mr *mr;
};

/* Completions of the first side go to the ring, @off bytes into the memory. */
static void set_up(struct bed *bed, uint64_t off, bool collapsed)
{
	struct bl_snic_cq_attr cq_attr = {
		.ring = memory, .ring_off = off, .nr = collapsed ? 1 : NR, .overrun = true, .collapsed = collapsed};
	struct bl_snic_qp_attr attr;

	memset(&gpu, 0, sizeof(gpu));
	for (unsigned int i = 0; i < NR; i++)
		gpu.bytes[off + i * 64 + 63] = 0xf1;
	bed->w = world_begin(NULL);
	attr = world_query(&bed->w->a).attr;
	check_eq(bl_snic_mr_create(bed->w->a.pd, &memory, 0, ALL, BL_SNIC_LOCAL_WRITE, &bed->mr), 0);
	check_eq(bl_snic_qp_destroy(bed->w->a.qp), 0);
	check_eq(bl_snic_cq_create(bed->w->a.nic, &cq_attr, &bed->cq), 0);
	attr.send_cq = bed->cq;
	check_eq(bl_snic_qp_create(bed->w->a.pd, &attr, &bed->w->a.qp), 0);
	check_eq(bl_snic_qp_modify(bed->w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_connect(bed->w);
}

static void take_down(struct bed *bed)
{
	check_eq(bl_snic_qp_destroy(bed->w->a.qp), 0);
	bed->w->a.qp = NULL;
	check_eq(bl_snic_cq_destroy(bed->cq), 0);
	check_eq(bl_snic_mr_destroy(bed->mr), 0);
	world_end(bed->w);
}

/* Entry @slot of a ring @off bytes into the memory is a success of request @counter. */
static void expect(uint64_t off, unsigned int slot, uint8_t opcode, unsigned int counter)
{
	const uint8_t *raw = gpu.bytes + off + slot * 64UL;

	check_eq(raw[63], 0);
	check_eq(raw[60] << 8 | raw[61], counter);
	check_eq(raw[56], opcode);
}

static void a_completion_is_one_line(void)
{
	struct bed bed;

	set_up(&bed, 0, false);
	post_write(&bed.w->a, &bed.w->b, 0, 0, 100);
	world_run(bed.w);
	check_str(gpu.log, "l");
	expect(0, 0, BL_WQE_WRITE, 0);
	check_eq(gpu.bytes[64 + 63], 0xf1);
	take_down(&bed);
}

/* Four reads are answered at once: of each the data is written before the line that tells of it. */
static void data_comes_before_its_line(void)
{
	unsigned int data = 0, lines = 0;
	struct world_wqe wqe;
	struct bed bed;

	set_up(&bed, 0, false);
	fill(bed.w->b.mem, 64, 1);
	for (unsigned int i = 0; i < 4; i++) {
		wqe_begin(&wqe, &bed.w->a, 0, BL_WQE_READ, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, bed.w->b.iova + i * 16, bed.w->b.key);
		wqe_data(&wqe, DATA + i * 16, bl_snic_mr_lkey(bed.mr), 16);
		wqe_put(&wqe, &bed.w->a);
	}
	side_ring(&bed.w->a);
	world_run(bed.w);
	for (unsigned int i = 0; i < gpu.nr; i++) {
		data += gpu.log[i] == 'd';
		lines += gpu.log[i] == 'l';
		check(lines <= data);
	}
	check_eq(gpu.nr, 8);
	check_eq(lines, 4);
	check(is_filled(gpu.bytes + DATA, 64, 1));
	for (unsigned int i = 0; i < 4; i++)
		expect(0, i, BL_WQE_READ, i);
	take_down(&bed);
}

static void a_ring_between_lines_is_written_in_words(void)
{
	struct bed bed;

	set_up(&bed, 8, false);
	post_write(&bed.w->a, &bed.w->b, 0, 0, 100);
	world_run(bed.w);
	check_str(gpu.log, "ww");
	expect(8, 0, BL_WQE_WRITE, 0);
	take_down(&bed);
}

/* Each was one for its reader before the next takes its place. */
static void a_collapsed_queue_has_each_line_once(void)
{
	struct bed bed;

	set_up(&bed, 0, true);
	for (unsigned int i = 0; i < 3; i++)
		post_write(&bed.w->a, &bed.w->b, 0, 0, 8);
	world_run(bed.w);
	check_str(gpu.log, "lll");
	check_eq(gpu.bytes[60] << 8 | gpu.bytes[61], 2);
	take_down(&bed);
}

static void a_line_that_cannot_be_written_is_told(void)
{
	struct bed bed;

	set_up(&bed, 0, false);
	gpu.fails = -EFAULT;
	post_write(&bed.w->a, &bed.w->b, 0, 0, 8);
	world_run(bed.w);
	check_str(gpu.log, "l");
	check_eq(world_counter(&bed.w->a, BL_SNIC_CQE_LOST), 1);
	world_expect_event(&bed.w->a, BL_SNIC_CQ_ERR, bl_snic_cq_num(bed.cq));
	post_write(&bed.w->a, &bed.w->b, 0, 0, 8);
	world_run(bed.w);
	/* it is not touched again */
	check_str(gpu.log, "l");
	check_eq(world_query(&bed.w->a).mod.state, BL_SNIC_ERR);
	world_expect_event(&bed.w->a, BL_SNIC_QP_FATAL, bl_snic_qp_num(bed.w->a.qp));
	take_down(&bed);
}

static void lines_without_words_are_refused(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_cq_attr attr = {.ring = memory, .nr = NR};
	struct bl_snic_cq *cq = NULL;

	attr.ring.put = NULL;
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), -EINVAL);
	check(!cq);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_completion_is_one_line", a_completion_is_one_line},
	{"data_comes_before_its_line", data_comes_before_its_line},
	{"a_ring_between_lines_is_written_in_words", a_ring_between_lines_is_written_in_words},
	{"a_collapsed_queue_has_each_line_once", a_collapsed_queue_has_each_line_once},
	{"a_line_that_cannot_be_written_is_told", a_line_that_cannot_be_written_is_told},
	{"lines_without_words_are_refused", lines_without_words_are_refused},
};

TAP_MAIN(tests)
