// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/nic: " fmt
#include "cq.h"
#include "mem.h"
#include "nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr.h"
#include "offload.h"
#include "qp.h"
#include "share.h"
#include "show.h"
#include "srq.h"
#include "util/clock.h"
#include "util/guard.h"
#include "util/log.h"

#define OWNED	 0x6f776e64U
#define FLOOR_NS (250 * BL_SNIC_MS)
#define NO_FLOOR UINT64_MAX
#define SPIN_US	 200
/* Small numbers are those of special queue pairs. */
#define FIRST_QP 0x40

#define LEAST_MTU 256

/* A word that children find wiped, however they were made. */
static int own(struct bl_snic *nic)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *addr = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (addr == MAP_FAILED)
		return fail(ENOMEM, "%s: mmap: %s", nic->name, strerror(errno));
	if (madvise(addr, page, MADV_WIPEONFORK)) {
		munmap(addr, page);
		return fail(ENOMEM, "%s: madvise: %s", nic->name, strerror(errno));
	}
	nic->owner = addr;
	*nic->owner = OWNED;
	return 0;
}

static void disown(struct bl_snic *nic)
{
	munmap((void *)nic->owner, (size_t)sysconf(_SC_PAGESIZE));
}

static bool is_child(const struct bl_snic *nic)
{
	return __builtin_expect(*nic->owner != OWNED, 0);
}

int bl_snic_lock(struct bl_snic *nic)
{
	if (is_child(nic))
		return fail_quiet(EACCES, "%s: opened by the parent process", nic->name);
	/* the thread lets go as soon as it sees that it is waited for, and sees it when it is kicked */
	atomic_fetch_add(&nic->wanted, 1);
	if (!nic->attr.manual)
		nic->ops->kick(nic->link);
	pthread_mutex_lock(&nic->lock);
	atomic_fetch_sub(&nic->wanted, 1);
	nic->in_call = true;
	nic->now = nic->attr.now_ns();
	return 0;
}

void bl_snic_unlock(struct bl_snic *nic)
{
	bl_cq_show(nic);
	bl_snic_mem_push(nic);
	bl_show_changed(nic);
	nic->in_call = false;
	pthread_mutex_unlock(&nic->lock);
}

int bl_snic_number(struct bl_snic_map *map, uint32_t *next_p, unsigned int bits, void *object, uint32_t *number_p)
{
	uint32_t mask = (uint32_t)((1ULL << bits) - 1), high = *next_p & ~mask, number;
	int ret;

	if (map->nr >= mask / 2)
		return -ENOMEM;
	do {
		number = *next_p = high | ((*next_p + 1) & mask);
	} while (!number || bl_snic_map_find(map, number));
	ret = bl_snic_map_add(map, number, object);
	if (!ret)
		*number_p = number;
	return ret;
}

static int check_attr(const struct bl_snic_attr *attr)
{
	if (attr->mtu && (attr->mtu < LEAST_MTU || attr->mtu > BL_SNIC_MAX_PAYLOAD || attr->mtu & (attr->mtu - 1)))
		return fail(EINVAL, "mtu %u: not a power of two from %u to %u", attr->mtu, LEAST_MTU,
			    BL_SNIC_MAX_PAYLOAD);
	if (attr->cpu < 0 || (attr->cpu && attr->manual))
		return fail(EINVAL, "cpu %d: no such CPU, or no thread to bind", attr->cpu);
	return 0;
}

static void set_attr(struct bl_snic *nic, const struct bl_snic_attr *attr)
{
	nic->attr = *attr;
	snprintf(nic->name, sizeof(nic->name), "%s", attr->name ? attr->name : "soft0");
	nic->attr.name = nic->name;
	if (!attr->transport)
		nic->attr.transport = &bl_snic_shm;
	if (!attr->timeout_floor_ns)
		nic->attr.timeout_floor_ns = FLOOR_NS;
	else if (attr->timeout_floor_ns == NO_FLOOR)
		nic->attr.timeout_floor_ns = 0;
	if (!attr->now_ns)
		nic->attr.now_ns = bl_now_ns;
	if (!attr->spin_us)
		nic->attr.spin_us = SPIN_US;
}

/*
 * Keys and queue pairs of different ports begin with different numbers: one that is given to the wrong side is then
 * most likely nobody's there.
 */
static void set_numbers(struct bl_snic *nic)
{
	uint32_t hash = 0x811c9dc5U;

	for (size_t i = 0; i < sizeof(nic->gid); i++)
		hash = (hash ^ nic->gid[i]) * 0x01000193U;
	nic->next_mr = hash;
	nic->next_qp |= FIRST_QP + (hash >> 8) % ((1U << (nic->qpn_bits - 1)) - FIRST_QP);
}

static int open_link(struct bl_snic *nic)
{
	const struct bl_snic_transport_ops *ops = nic->attr.transport;
	struct bl_snic_link *link;
	int ret = ops->open(nic->name, nic->gid, &link);

	if (ret)
		return ret;
	nic->ops = ops;
	nic->link = link;
	if (nic->attr.fault) {
		ret = bl_snic_fault_open(ops, link, nic->attr.fault, &nic->counters[BL_SNIC_FAULT_DROPPED], &nic->ops,
					 &nic->link);
		if (ret) {
			ops->close(link);
			return ret;
		}
	}
	nic->max_payload = nic->ops->max_payload(nic->link);
	if (nic->max_payload > BL_SNIC_MAX_PAYLOAD)
		nic->max_payload = BL_SNIC_MAX_PAYLOAD;
	bl_snic_port_begin(nic);
	set_numbers(nic);
	return 0;
}

int bl_snic_open(const struct bl_snic_attr *attr, struct bl_snic **nic_p)
{
	struct bl_snic *nic;
	int ret = check_attr(attr);

	if (ret)
		return ret;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return fail(ENOMEM, "out of memory");
	set_attr(nic, attr);
	bl_guard_init();
	pthread_mutex_init(&nic->lock, NULL);
	ret = own(nic);
	if (ret)
		goto free_nic;
	ret = open_link(nic);
	if (ret)
		goto disown;
	bl_show_open(nic);
	ret = nic->attr.manual ? 0 : bl_snic_thread_start(nic);
	if (ret)
		goto close_show;
	*nic_p = nic;
	return 0;
close_show:
	bl_show_close(nic, false);
	nic->ops->close(nic->link);
disown:
	disown(nic);
free_nic:
	pthread_mutex_destroy(&nic->lock);
	free(nic);
	return ret;
}

/* What is left goes without being told: nobody writes to the user's memory any more. */
static void free_objects(struct bl_snic *nic, bool close_paths)
{
	struct bl_snic_uar *uar;

	for (struct bl_snic_qp *qp = nic->first_qp, *next; qp; qp = next) {
		next = qp->next;
		if (qp->path && close_paths)
			nic->ops->path_close(qp->path);
		if (qp->offload && close_paths)
			bl_offload_close(qp);
		bl_qp_free(qp);
	}
	for (void *object; (object = bl_snic_map_any(&nic->mrs)); free(object))
		bl_snic_map_remove(&nic->mrs, ((struct bl_snic_mr *)object)->key);
	for (void *object; (object = bl_snic_map_any(&nic->cqs)); free(object))
		bl_snic_map_remove(&nic->cqs, ((struct bl_snic_cq *)object)->num);
	for (void *object; (object = bl_snic_map_any(&nic->pds)); free(object))
		bl_snic_map_remove(&nic->pds, ((struct bl_snic_pd *)object)->num);
	while ((uar = bl_snic_map_any(&nic->uars))) {
		bl_snic_map_remove(&nic->uars, uar->id);
		free(uar->page);
		free(uar);
	}
	bl_shares_free(nic);
	bl_srqs_free(nic);
	bl_snic_map_free(&nic->qps);
	bl_snic_map_free(&nic->mrs);
	bl_snic_map_free(&nic->cqs);
	bl_snic_map_free(&nic->pds);
	bl_snic_map_free(&nic->uars);
}

static void say_what_is_left(const struct bl_snic *nic)
{
	if (nic->qps.nr || nic->mrs.nr || nic->cqs.nr || nic->pds.nr || nic->uars.nr || nic->srqs.nr)
		log_warn("%s: closed with %u queue pairs, %u memory regions, %u completion queues, %u domains, %u "
			 "pages, %u shared receive queues left",
			 nic->name, nic->qps.nr, nic->mrs.nr, nic->cqs.nr, nic->pds.nr, nic->uars.nr, nic->srqs.nr);
}

static void say_what_was_placed(const struct bl_snic *nic)
{
	const uint64_t *counters = nic->counters;

	if (counters[BL_SNIC_PLACED] || counters[BL_SNIC_PLACE_REFUSED])
		log_info("%s: %llu messages of %llu bytes were placed, %llu came in packets after all", nic->name,
			 (unsigned long long)counters[BL_SNIC_PLACED],
			 (unsigned long long)counters[BL_SNIC_PLACED_BYTES],
			 (unsigned long long)counters[BL_SNIC_PLACE_REFUSED]);
}

void bl_snic_close(struct bl_snic *nic)
{
	if (is_child(nic)) {
		/* what another thread was changing when the process was forked is left alone: rather a leak than a
		 * crash */
		if (!nic->in_call)
			free_objects(nic, false);
		nic->ops->forget(nic->link);
		bl_show_close(nic, true);
	} else {
		if (!nic->attr.manual)
			bl_snic_thread_stop(nic);
		bl_show_close(nic, false);
		bl_jobs_wait(nic, &nic->nr_jobs, "port", 0);
		bl_shares_close(nic);
		say_what_was_placed(nic);
		say_what_is_left(nic);
		free_objects(nic, true);
		nic->ops->close(nic->link);
		pthread_mutex_destroy(&nic->lock);
	}
	disown(nic);
	free(nic);
}

struct bl_snic_link *bl_snic_link(struct bl_snic *nic)
{
	return nic->link;
}

int bl_snic_progress(struct bl_snic *nic)
{
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (nic->attr.manual) {
		do {
			ret = bl_snic_pass(nic);
		} while (!ret && nic->unseen);
	} else {
		ret = fail(EINVAL, "%s: its thread makes the progress", nic->name);
	}
	bl_snic_unlock(nic);
	return ret;
}

void bl_snic_kick(struct bl_snic *nic)
{
	if (!nic->attr.manual && !is_child(nic))
		nic->ops->kick(nic->link);
}
