// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/share: " fmt
#include "share.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "packet.h"
#include "segs.h"
#include "util/clock.h"
#include "util/log.h"

/* Between words that were not answered. */
#define ASK_NS	(1 * BL_SNIC_MS)
#define DROP_NS (20 * BL_SNIC_MS)

/* How often a peer is told to let go, and how long that is waited for. */
#define MAX_DROPS 50U
#define WAIT_NS	  (200 * BL_SNIC_MS)

static bool is_up(const struct bl_snic_qp *qp)
{
	return qp->path && (qp->state == BL_SNIC_RTR || qp->state == BL_SNIC_RTS);
}

struct bl_snic_qp *bl_share_way(struct bl_snic *nic, const uint8_t *gid)
{
	for (struct bl_snic_qp *qp = nic->first_qp; qp; qp = qp->next) {
		if (is_up(qp) && bl_qp_is_rc(qp) && !memcmp(qp->mod.dest_gid, gid, BL_SNIC_GID_LEN))
			return qp;
	}
	return NULL;
}

bool bl_share_say(struct bl_snic_qp *qp, enum bl_share_word word, uint64_t id, const uint8_t *bytes)
{
	struct bl_packet packet = {
		.opcode = BL_PKT_SHARE,
		.syndrome = (uint8_t)word,
		.dest_qpn = qp->mod.dest_qpn,
		.src_qpn = qp->num,
		.swap_add = id,
		.len = bytes ? BL_SNIC_SHARE_LEN : 0,
	};
	void *payload = qp->nic->ops->reserve(qp->path, packet.len);

	if (!payload)
		return false;
	if (bytes)
		memcpy(payload, bytes, packet.len);
	qp->nic->ops->commit(qp->path, &packet);
	bl_snic_count(qp->nic, BL_SNIC_TX_PACKETS, 1);
	bl_snic_count(qp->nic, BL_SNIC_TX_BYTES, packet.len);
	return true;
}

static struct bl_share *find(const struct bl_snic *nic, uint32_t key, const uint8_t *gid)
{
	struct bl_share *share = nic->shares;

	while (share && (share->key != key || share->state == BL_SHARE_LEAVING ||
			 memcmp(share->gid, gid, BL_SNIC_GID_LEN) != 0))
		share = share->next;
	return share;
}

static struct bl_share *add(struct bl_snic_qp *qp, uint32_t key)
{
	struct bl_share *share = calloc(1, sizeof(*share));

	if (!share)
		return NULL;
	share->id = ++qp->nic->next_share;
	share->key = key;
	memcpy(share->gid, qp->mod.dest_gid, BL_SNIC_GID_LEN);
	share->next = qp->nic->shares;
	qp->nic->shares = share;
	return share;
}

static void offer(struct bl_snic_qp *qp, const struct bl_snic_mr *mr, struct bl_share *share)
{
	uint8_t bytes[BL_SNIC_SHARE_LEN] = {0};

	if (share->asked && qp->nic->now - share->asked < ASK_NS)
		return;
	share->asked = qp->nic->now ? qp->nic->now : 1;
	if (mr->mem.mover->share(mr->mem.moved, bytes))
		share->state = BL_SHARE_REFUSED;
	else
		bl_share_say(qp, BL_SHARE_OFFER, share->id, bytes);
}

uint64_t bl_share_get(struct bl_snic_qp *qp, const struct bl_snic_mr *mr)
{
	struct bl_share *share = find(qp->nic, mr->key, qp->mod.dest_gid);

	if (!share)
		share = add(qp, mr->key);
	if (share && share->state == BL_SHARE_ASKED)
		offer(qp, mr, share);
	return share && share->state == BL_SHARE_USED ? share->id : 0;
}

void bl_share_settle(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_segs_part part;

	bl_snic_mem_settle(qp->nic);
	/* a region that is gone meanwhile is not read either */
	if (!bl_segs_part(qp, wr, 0, 0, &part) && part.mr->mem.flush)
		part.mr->mem.flush(part.mr->mem.priv);
}

void bl_share_drop(struct bl_snic *nic, uint32_t key)
{
	for (struct bl_share *share = nic->shares; share; share = share->next) {
		if (share->key != key || share->state == BL_SHARE_LEAVING)
			continue;
		share->state = BL_SHARE_LEAVING;
		share->asked = 0;
	}
	nic->share_check = 0;
}

static bool is_leaving(const struct bl_snic *nic, uint32_t key)
{
	for (const struct bl_share *share = nic->shares; share; share = share->next) {
		if (share->key == key && share->state == BL_SHARE_LEAVING)
			return true;
	}
	return false;
}

/*
 * CUDA does not want memory to be freed that another process has open. It is the NIC's thread that hears of it; without
 * one nobody would, and the peer lets go a little later.
 */
void bl_share_wait(struct bl_snic *nic, uint32_t key)
{
	uint64_t end = bl_now_ns() + WAIT_NS;

	while (!nic->attr.manual && is_leaving(nic, key)) {
		if (bl_now_ns() > end) {
			log_warn("%s: region 0x%x: a peer does not let go of it", nic->name, key);
			return;
		}
		bl_snic_unlock(nic);
		sched_yield();
		/* not a child: it was none a moment ago */
		(void)!bl_snic_lock(nic);
	}
}

static void remove_share(struct bl_snic *nic, struct bl_share **place)
{
	struct bl_share *share = *place;

	*place = share->next;
	free(share);
}

static void answered(struct bl_snic_qp *qp, enum bl_share_word word, uint64_t id)
{
	struct bl_snic *nic = qp->nic;
	struct bl_share **place = &nic->shares;

	while (*place && ((*place)->id != id || memcmp((*place)->gid, qp->mod.dest_gid, BL_SNIC_GID_LEN) != 0))
		place = &(*place)->next;
	if (!*place)
		return;
	if (word == BL_SHARE_GONE && (*place)->state == BL_SHARE_LEAVING)
		remove_share(nic, place);
	else if (word == BL_SHARE_HAS && (*place)->state == BL_SHARE_ASKED)
		(*place)->state = BL_SHARE_USED;
	else if (word == BL_SHARE_CANNOT && (*place)->state == BL_SHARE_ASKED)
		(*place)->state = BL_SHARE_REFUSED;
}

void bl_share_receive(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload)
{
	bool has_bytes = packet->len == BL_SNIC_SHARE_LEN;
	uint8_t bytes[BL_SNIC_SHARE_LEN];

	if (packet->syndrome > BL_SHARE_GONE || has_bytes != (packet->syndrome == BL_SHARE_OFFER) || !packet->swap_add) {
		bl_snic_count(qp->nic, BL_SNIC_RX_MALFORMED, 1);
	} else if (packet->syndrome == BL_SHARE_OFFER) {
		/* nobody changes the copy */
		memcpy(bytes, payload, sizeof(bytes));
		bl_attach_offered(qp, packet->swap_add, bytes);
	} else if (packet->syndrome == BL_SHARE_DROP) {
		bl_attach_dropped(qp, packet->swap_add);
	} else {
		answered(qp, (enum bl_share_word)packet->syndrome, packet->swap_add);
	}
}

/* Whoever was not told lets go when it hears of the end of the connection. */
static void forget_peer(struct bl_snic *nic, const uint8_t *gid)
{
	struct bl_share **place = &nic->shares;

	while (*place) {
		if (memcmp((*place)->gid, gid, BL_SNIC_GID_LEN) != 0)
			place = &(*place)->next;
		else
			remove_share(nic, place);
	}
}

void bl_share_part(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;

	if (!nic->shares && !nic->attaches)
		return;
	for (const struct bl_snic_qp *other = nic->first_qp; other; other = other->next) {
		if (other != qp && other->path && !memcmp(other->mod.dest_gid, qp->mod.dest_gid, BL_SNIC_GID_LEN))
			return;
	}
	forget_peer(nic, qp->mod.dest_gid);
	bl_attach_leave(nic, qp->mod.dest_gid);
}

/* Return: whether it is over. */
static bool say_drop(struct bl_snic *nic, struct bl_share *share)
{
	struct bl_snic_qp *way = bl_share_way(nic, share->gid);

	if (!way || share->words >= MAX_DROPS)
		return true;
	if (share->asked && nic->now - share->asked < DROP_NS)
		return false;
	if (bl_share_say(way, BL_SHARE_DROP, share->id, NULL)) {
		share->asked = nic->now ? nic->now : 1;
		share->words++;
	}
	return false;
}

int bl_shares_serve(struct bl_snic *nic)
{
	struct bl_share **place = &nic->shares;
	int nr = 0;

	if (nic->now < nic->share_check)
		return 0;
	nic->share_check = nic->now + ASK_NS;
	while (*place) {
		if ((*place)->state != BL_SHARE_LEAVING || !say_drop(nic, *place)) {
			place = &(*place)->next;
			continue;
		}
		remove_share(nic, place);
		nr++;
	}
	return nr + bl_attach_serve(nic);
}

void bl_shares_close(struct bl_snic *nic)
{
	uint64_t end = bl_now_ns() + WAIT_NS;

	bl_attach_leave(nic, NULL);
	while (nic->attaches && bl_now_ns() < end) {
		bl_attach_serve(nic);
		sched_yield();
	}
	if (nic->attaches)
		log_warn("%s: memory of peers is not let go of", nic->name);
}

void bl_shares_free(struct bl_snic *nic)
{
	while (nic->shares)
		remove_share(nic, &nic->shares);
	for (struct bl_attach *attach; (attach = nic->attaches); free(attach))
		nic->attaches = attach->next;
}
