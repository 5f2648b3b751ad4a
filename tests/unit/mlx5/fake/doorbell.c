// SPDX-License-Identifier: MIT
/* The thread that looks at pages of doorbells, as hardware takes writes to them. */
#include <endian.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "model.h"

#define IDLE_PASSES 200
#define IDLE_US	    20

static pthread_t thread;
static unsigned int devices;
static atomic_bool over;

static uint32_t load(const uint32_t *word)
{
	/* pairs with the release of who wrote it: requests before their count */
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void show(struct model_qp *qp, int which)
{
	uint32_t now;

	/* there are no counts, and the program may be clearing its records */
	if (qp->mod.state == BL_SNIC_RST)
		return;
	now = load(&qp->records[which]);
	if (now == qp->shown[which])
		return;
	__atomic_store_n(&qp->shown[which], now, __ATOMIC_RELEASE);
	bl_snic_kick(model_port_of(qp->obj.object.ibv)->snic);
}

/* An object is the first member of a queue pair. */
static struct model_qp *next_qp(struct model_object **at)
{
	struct model_qp *qp;

	while (*at && (*at)->kind != MODEL_QP)
		*at = (*at)->next;
	qp = (struct model_qp *)(void *)*at;
	if (qp)
		*at = (*at)->next;
	return qp;
}

/* A store to a register, taken away, so that the same once more is another one. */
static bool take(struct model_uar *uar, size_t off)
{
	uint64_t *reg = (uint64_t *)(void *)((char *)uar->dv.base_addr + off);
	struct model_object *at = model_objects;
	uint32_t words[2], qpn;
	struct model_qp *qp;
	union {
		uint64_t value;
		uint32_t words[2];
	} bell;

	if (!__atomic_load_n(reg, __ATOMIC_RELAXED))
		return false;
	bell.value = __atomic_exchange_n(reg, 0, __ATOMIC_ACQUIRE);
	words[0] = be32toh(bell.words[0]);
	words[1] = be32toh(bell.words[1]);
	qpn = words[1] >> 8;
	/* a count alone has neither opcode nor size */
	if (words[0] & 0xff000000 || (!(words[0] & 0xff) != !(words[1] & 0xff)))
		model_complain("doorbell 0x%08x 0x%08x: neither a count nor a request", words[0], words[1]);
	if (words[1] & 0xff)
		fake_mlx5.blueflames++;
	else
		fake_mlx5.doorbells++;
	while ((qp = next_qp(&at))) {
		if (qp->obj.object.number == qpn && qp->uar == uar)
			return true;
	}
	model_complain("doorbell of qp 0x%x in page 0x%x, where it is not", qpn, uar->dv.page_id);
	return true;
}

/* A register holds one count, and a page may be of several queue pairs: each of them is looked at. */
static bool ring(struct model_uar *uar)
{
	size_t off = (size_t)((char *)uar->dv.reg_addr - (char *)uar->dv.base_addr);
	struct model_object *at = model_objects;
	struct model_qp *qp;

	if (!take(uar, off))
		return false;
	while ((qp = next_qp(&at))) {
		if (qp->uar == uar)
			show(qp, 1);
	}
	return true;
}

static bool pass(void)
{
	struct model_object *at;
	struct model_qp *qp;
	bool moved = false;

	model_lock();
	for (at = model_objects; at; at = at->next) {
		if (at->kind == MODEL_UAR)
			moved |= ring(model_of(model_uar, at));
	}
	at = model_objects;
	while ((qp = next_qp(&at)))
		show(qp, 0);
	model_unlock();
	return moved;
}

static void *run(void *arg)
{
	unsigned int idle = 0;

	while (!atomic_load(&over)) {
		idle = pass() ? 0 : idle + 1;
		if (idle > IDLE_PASSES)
			usleep(IDLE_US);
		else
			sched_yield();
	}
	return NULL;
}

void model_doorbells_start(void)
{
	if (devices++)
		return;
	atomic_store(&over, false);
	if (pthread_create(&thread, NULL, run, NULL))
		model_complain("no thread for doorbells");
}

void model_doorbells_stop(void)
{
	if (--devices)
		return;
	atomic_store(&over, true);
	model_unlock();
	pthread_join(thread, NULL);
	model_lock();
}
