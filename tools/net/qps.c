// SPDX-License-Identifier: MIT
/* Queue pairs of an end: made, connected, asked. */
#include <errno.h>
#include <string.h>

#include "barlane.h"
#include "common/error.h"
#include "net/bed.h"
#include "net/cpu.h"
#include "net/say.h"
#include "net/wire.h"

#define NWQE 2048

static int show_qp(struct net_bed *bed, unsigned int index)
{
	struct doca_gpu_verbs_qp *qp = bed->qps[index]->qp_gverbs;
	doca_error_t err = doca_gpu_verbs_get_qp_dev(qp, &bed->qp_devs[index]);
	int ret;

	if (err)
		return net_doca_fail(err, "queue pair for the GPU");
	bed->path.sz = sizeof(bed->path);
	ret = bl_net_qp_path(qp, &bed->path);
	return ret ? tool_fail(-ret, "queue pair: how it works: %s", strerror(-ret)) : 0;
}

static struct doca_gpu_verbs_qp_init_attr_hl init_attr(const struct net_bed *bed)
{
	return (struct doca_gpu_verbs_qp_init_attr_hl){
		.gpu_dev = bed->gpu,
		.ibpd = bed->pd,
		.sq_nwqe = NWQE,
		.nic_handler = (enum doca_gpu_dev_verbs_nic_handler)bed->options->handler,
		.send_dbr_mode_ext = (enum doca_gpu_verbs_send_dbr_mode_ext)bed->options->dbr,
		.cq_collapsed = bed->kind & NET_BED_COLLAPSED,
	};
}

/* The companion is not used before it is connected. */
static int make_group(struct net_bed *bed, unsigned int index)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = init_attr(bed);
	doca_error_t err = doca_gpu_verbs_create_qp_group_hl(&attr, &bed->groups[index]);

	if (err)
		return net_doca_fail(err, "queue pair and companion");
	bed->qps[index] = &bed->groups[index]->qp_main;
	bed->nr_qps++;
	err = doca_gpu_verbs_get_qp_dev(bed->groups[index]->qp_companion.qp_gverbs, &bed->companions[index]);
	return err ? net_doca_fail(err, "companion for the GPU") : show_qp(bed, index);
}

int net_bed_qp_make(struct net_bed *bed)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .uc = bed->options->uc,
					  .rq_nwqe = bed->kind & NET_BED_RECEIVES ? NET_SLOTS : 0 };
	struct doca_gpu_verbs_qp_init_attr_hl attr = init_attr(bed);
	doca_error_t err;

	if (bed->kind & NET_BED_COUNTS)
		return make_group(bed, bed->nr_qps);
	err = bl_net_create_qp_hl(&attr, &more, &bed->qps[bed->nr_qps]);
	return err ? net_doca_fail(err, "queue pair") : show_qp(bed, bed->nr_qps++);
}

void net_bed_qp_drop(struct net_bed *bed)
{
	unsigned int index = --bed->nr_qps;

	if (bed->groups[index])
		doca_gpu_verbs_destroy_qp_group_hl(bed->groups[index]);
	else
		doca_gpu_verbs_destroy_qp_hl(bed->qps[index]);
	bed->groups[index] = NULL;
}

struct doca_verbs_qp *net_bed_qp(const struct net_bed *bed)
{
	return bed->cpu ? bed->cpu->qp : bed->qps[0]->qp;
}

/* What the library has said, or what the number means. */
static const char *reason(int err)
{
	const char *why = bl_last_error(NULL);

	return why && *why ? why : strerror(err);
}

static int connect_qp(struct net_bed *bed, struct doca_verbs_qp *qp)
{
	unsigned int limit = bed->options->timeout_s;
	int ret = bl_net_qp_local(bed->nic, qp, 1, bed->options->gid, &bed->local);

	if (ret)
		return tool_fail(-ret, "NIC %s, address %d: %s", bed->nic_name, bed->options->gid, reason(-ret));
	ret = net_send(bed->sock, NET_PEER, &bed->local, sizeof(bed->local), limit);
	if (!ret)
		ret = net_recv(bed->sock, NET_PEER, &bed->remote, sizeof(bed->remote), limit);
	if (ret)
		return ret;
	ret = bl_net_qp_connect(bed->nic, qp, bed->options->uc, &bed->local, &bed->remote);
	return ret ? tool_fail(-ret, "connecting the queue pair: %s", reason(-ret)) : 0;
}

/* With itself: what it counts is memory of this end. */
static int connect_companion(struct net_bed *bed, unsigned int index)
{
	struct bl_net_peer self;
	struct doca_verbs_qp *qp;
	int ret;

	if (!bed->groups[index])
		return 0;
	qp = bed->groups[index]->qp_companion.qp;
	ret = bl_net_qp_local(bed->nic, qp, 1, bed->options->gid, &self);
	if (!ret)
		ret = bl_net_qp_connect(bed->nic, qp, 0, &self, &self);
	return ret ? tool_fail(-ret, "connecting the companion with itself: %s", strerror(-ret)) : 0;
}

int net_bed_connect(struct net_bed *bed, unsigned int nr)
{
	int ret = connect_qp(bed, net_bed_qp(bed));

	if (!ret && !bed->cpu)
		ret = connect_companion(bed, 0);

	while (!ret && !bed->cpu && bed->nr_qps < nr) {
		ret = net_bed_qp_make(bed);
		if (!ret)
			ret = connect_qp(bed, bed->qps[bed->nr_qps - 1]->qp);
		if (!ret)
			ret = connect_companion(bed, bed->nr_qps - 1);
	}
	if (!ret)
		ret = net_barrier(bed->sock, bed->options->timeout_s);
	if (!ret)
		net_say(bed->options, "QP has been successfully connected and ready to use");
	return ret;
}

void net_bed_stop(struct net_bed *bed)
{
	__atomic_store_n(&bed->state->stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < bed->nr_qps; i++) {
		bl_net_qp_stop(bed->qps[i]->qp_gverbs, 1);
		if (bed->groups[i])
			bl_net_qp_stop(bed->groups[i]->qp_companion.qp_gverbs, 1);
	}
}

/* 0, 1: one of an index has failed, or -errno. */
static int ask(const struct net_bed *bed, unsigned int index, struct bl_net_qp_error *error)
{
	struct doca_gpu_verbs_qp *qps[2] = { bed->qps[index]->qp_gverbs };
	int ret = 0;

	if (bed->groups[index])
		qps[1] = bed->groups[index]->qp_companion.qp_gverbs;
	for (unsigned int i = 0; i < 2 && qps[i] && !ret; i++) {
		*error = (struct bl_net_qp_error){ .sz = sizeof(*error) };
		ret = bl_net_qp_error(qps[i], error);
		if (!ret)
			ret = error->has_error;
	}
	return ret;
}

int net_bed_check(struct net_bed *bed)
{
	for (unsigned int i = 0; i < bed->nr_qps; i++) {
		struct bl_net_qp_error error;
		int ret = ask(bed, i, &error);

		if (ret < 0)
			return tool_fail(-ret, "queue pair: %s", strerror(-ret));
		if (ret)
			return tool_fail(EIO, "queue pair: %s", error.text);
	}
	return 0;
}

bool net_bed_error(const struct net_bed *bed, struct bl_net_qp_error *error)
{
	for (unsigned int i = 0; i < bed->nr_qps; i++) {
		if (ask(bed, i, error) > 0)
			return true;
	}
	/* none has failed: one may wait for something that does not come */
	for (unsigned int i = 0; i < bed->nr_qps; i++) {
		*error = (struct bl_net_qp_error){ .sz = sizeof(*error) };
		if (!bl_net_qp_error(bed->qps[i]->qp_gverbs, error) && error->text[0])
			return false;
	}
	*error = (struct bl_net_qp_error){ .sz = sizeof(*error) };
	return false;
}
