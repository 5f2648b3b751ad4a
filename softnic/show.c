// SPDX-License-Identifier: MIT
/* What a NIC shows of itself: rounds over its objects. */
#include "show.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "cq.h"
#include "mr.h"
#include "pd.h"
#include "show_qp.h"
#include "shown_nic.h"
#include "srq.h"
#include "util/clock.h"
#include "util/guard.h"

/* Queue pairs in a pass: half a microsecond each at most. */
#define SLICE 4

#define PORT_NS (1000 * BL_SNIC_MS)

static struct bl_shown_nic *shown(const struct bl_snic *nic)
{
	return (struct bl_shown_nic *)nic->show.memory.head;
}

static void set_texts(struct bl_snic *nic, struct bl_shown_port *port)
{
	_Static_assert(BL_SNIC_NR_COUNTERS <= BL_SHOWN_COUNTERS, "all counters are shown");

	snprintf(port->name, sizeof(port->name), "%s", nic->name);
	snprintf(port->provider, sizeof(port->provider), "%s", nic->ops->offload ? "verbs" : "soft");
	snprintf(port->transport, sizeof(port->transport), "%s", nic->attr.transport->name);
	memcpy(port->gid, nic->gid, sizeof(port->gid));
	port->nr_counters = BL_SNIC_NR_COUNTERS;
	for (int i = 0; i < BL_SNIC_NR_COUNTERS; i++)
		snprintf(port->names[i], sizeof(port->names[i]), "%s", bl_snic_counter_name((enum bl_snic_counter)i));
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What takes a system call to find out. Not of devices, which would be asked by a command to their firmware. */
static void look_at_port(struct bl_snic *nic)
{
	struct bl_snic_port now = {.up = true};

	if (nic->now < nic->show.port_due || !nic->ops->port)
		return;
	nic->show.port_due = nic->now + PORT_NS;
	nic->ops->port(nic->link, &now);
	nic->show.down = !now.up;
}

static void show_port(struct bl_snic *nic)
{
	struct bl_shown_port *port = &shown(nic)->port;
	uint64_t values[BL_SHOWN_COUNTERS] = {0};

	look_at_port(nic);
	memcpy(values, nic->counters, sizeof(nic->counters));
	if (nic->ops->counts)
		nic->ops->counts(nic->link, values);
	bl_shown_begin(&port->seq);
	port->flags = (nic->show.down ? 0 : BL_SHOWN_UP) | (nic->wire ? BL_SHOWN_WIRE : 0) |
		      (nic->attr.manual ? BL_SHOWN_MANUAL : 0) | (nic->attr.fault ? BL_SHOWN_FAULTS : 0);
	port->now_ns = bl_now_ns();
	port->mtu = nic->path_mtu;
	port->max_payload = nic->max_payload;
	port->window = nic->window;
	port->nr_qps = nic->show.nr_qps;
	port->nr_cqs = nic->cqs.nr;
	port->nr_mrs = nic->mrs.nr;
	port->nr_pds = nic->pds.nr;
	port->nr_srqs = nic->srqs.nr;
	port->first_qps = least(nic->show.nr_qps, BL_SHOWN_QPS);
	port->first_cqs = least(nic->cqs.nr, BL_SHOWN_CQS);
	port->first_mrs = least(nic->mrs.nr, BL_SHOWN_MRS);
	port->first_srqs = least(nic->srqs.nr, BL_SHOWN_SRQS);
	memcpy(port->values, values, sizeof(values));
	bl_shown_end(&port->seq);
}

static void show_cq(struct bl_shown_cq *to, const struct bl_snic_cq *cq)
{
	bool looks = cq->attr.dbrec && !cq->attr.overrun;
	uint32_t consumer = 0;

	bl_shown_begin(&to->seq);
	to->num = cq->num;
	to->nr = cq->attr.nr;
	to->flags = (cq->attr.overrun ? BL_SHOWN_OVERRUN_IGNORED : 0) | (cq->attr.collapsed ? BL_SHOWN_COLLAPSED : 0) |
		    (looks ? BL_SHOWN_HAS_CONSUMER : 0);
	if (looks && !cq->lost)
		bl_guard_load32(cq->attr.dbrec, &consumer);
	to->consumer = be32toh(consumer) & 0xffffff;
	to->users = cq->users;
	to->written = cq->pi;
	to->overruns = cq->overruns;
	memcpy(to->last, cq->last, sizeof(to->last));
	bl_shown_end(&to->seq);
}

static void show_mr(struct bl_shown_mr *to, const struct bl_snic_mr *mr)
{
	bl_shown_begin(&to->seq);
	to->key = mr->key;
	to->pd = mr->pd->num;
	to->access = mr->access;
	to->iova = mr->iova;
	to->len = mr->len;
	to->kind = !mr->mem.read ? BL_SHOWN_HOST : mr->mem.domain ? BL_SHOWN_DEVICE : BL_SHOWN_FUNCTIONS;
	to->jobs = mr->jobs;
	to->moved = mr->mem.mover != NULL;
	bl_shown_end(&to->seq);
}

static void show_srq(struct bl_shown_srq *to, const struct bl_snic_srq *srq)
{
	uint64_t taken = srq->ci - srq->nr_back;

	bl_shown_begin(&to->seq);
	to->num = srq->num;
	to->pd = srq->pd->num;
	to->type = (uint32_t)srq->attr.type;
	to->nr = srq->attr.nr;
	to->sges = srq->attr.sges;
	to->users = srq->users;
	to->broken = srq->broken;
	to->posted = taken + bl_srq_waiting(srq);
	to->taken = taken;
	to->done = srq->done;
	bl_shown_end(&to->seq);
}

static void show_cqs(struct bl_snic *nic)
{
	uint32_t nr = 0;

	for (size_t i = 0; nic->cqs.nr && i < 1UL << nic->cqs.bits && nr < BL_SHOWN_CQS; i++) {
		if (nic->cqs.slots[i].number)
			show_cq(&shown(nic)->cqs[nr++], nic->cqs.slots[i].object);
	}
}

static void show_mrs(struct bl_snic *nic)
{
	uint32_t nr = 0;

	for (size_t i = 0; nic->mrs.nr && i < 1UL << nic->mrs.bits && nr < BL_SHOWN_MRS; i++) {
		if (nic->mrs.slots[i].number)
			show_mr(&shown(nic)->mrs[nr++], nic->mrs.slots[i].object);
	}
}

static void show_srqs(struct bl_snic *nic)
{
	uint32_t nr = 0;

	for (size_t i = 0; nic->srqs.nr && i < 1UL << nic->srqs.bits && nr < BL_SHOWN_SRQS; i++) {
		if (nic->srqs.slots[i].number)
			show_srq(&shown(nic)->srqs[nr++], nic->srqs.slots[i].object);
	}
}

void bl_show_open(struct bl_snic *nic)
{
	struct bl_show *show = &nic->show;

	*show = (struct bl_show){.due = UINT64_MAX};
	if (bl_shown_open(&show->memory, BL_SHOWN_NIC, BL_SHOWN_NIC_VERSION, sizeof(struct bl_shown_nic)))
		return;
	show->due = 0;
	set_texts(nic, &shown(nic)->port);
	show_port(nic);
	bl_shown_ready(&show->memory);
}

void bl_show_close(struct bl_snic *nic, bool is_child)
{
	nic->show.due = UINT64_MAX;
	bl_shown_close(&nic->show.memory, is_child);
}

/* Some queue pairs; the port last, so that what it counts is there. */
void bl_show(struct bl_snic *nic)
{
	struct bl_show *show = &nic->show;
	struct bl_snic_qp *qp = show->next_qp;

	if (!show->memory.head) {
		show->due = UINT64_MAX;
		return;
	}
	if (!qp) {
		show->begun = nic->now;
		show->at = 0;
		qp = nic->first_qp;
	}
	for (int i = 0; i < SLICE && qp; i++, qp = qp->next) {
		if (show->at < BL_SHOWN_QPS)
			bl_show_qp(&shown(nic)->qps[show->at], qp);
		show->at++;
	}
	show->next_qp = qp;
	if (qp)
		return;
	show->nr_qps = show->at;
	show_cqs(nic);
	show_srqs(nic);
	if (show->changed)
		show_mrs(nic);
	show->changed = false;
	show_port(nic);
	show->due = show->begun + BL_SHOW_NS;
}
