// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"

/* Of one NIC: no peer makes it more. */
#define MAX_ATTACHES 1024U

static struct bl_attach *find(const struct bl_snic_qp *qp, uint64_t id)
{
	struct bl_attach *attach = qp->nic->attaches;

	while (attach && (attach->id != id || memcmp(attach->gid, qp->mod.dest_gid, BL_SNIC_GID_LEN) != 0))
		attach = attach->next;
	return attach;
}

struct bl_attach *bl_attach_find(struct bl_snic_qp *qp, uint64_t id)
{
	struct bl_attach *attach = find(qp, id);

	return attach && attach->ready && !attach->leaving ? attach : NULL;
}

static struct bl_attach *add(struct bl_snic_qp *qp, uint64_t id)
{
	struct bl_snic *nic = qp->nic;
	struct bl_attach *attach;
	unsigned int nr = 0;

	for (attach = nic->attaches; attach; attach = attach->next)
		nr++;
	attach = nr < MAX_ATTACHES && nic->attr.mover && nic->attr.mover->attach ? calloc(1, sizeof(*attach)) : NULL;
	if (!attach)
		return NULL;
	memcpy(attach->gid, qp->mod.dest_gid, BL_SNIC_GID_LEN);
	attach->id = id;
	attach->mem.mover = nic->attr.mover;
	attach->next = nic->attaches;
	nic->attaches = attach;
	return attach;
}

/* An answer that finds no room is given when it is offered again. */
void bl_attach_offered(struct bl_snic_qp *qp, uint64_t id, const uint8_t *bytes)
{
	struct bl_attach *attach = find(qp, id);
	int ret = 0;

	if (!attach)
		attach = add(qp, id);
	if (!attach || attach->leaving) {
		bl_share_say(qp, BL_SHARE_CANNOT, id, NULL);
		return;
	}
	if (!attach->ready)
		ret = attach->mem.mover->attach(bytes, &attach->mem.moved, &attach->len);
	if (ret == -EAGAIN)
		return;
	attach->ready = !ret;
	attach->leaving = ret;
	bl_share_say(qp, ret ? BL_SHARE_CANNOT : BL_SHARE_HAS, id, NULL);
}

void bl_attach_dropped(struct bl_snic_qp *qp, uint64_t id)
{
	struct bl_attach *attach = find(qp, id);

	if (!attach) {
		bl_share_say(qp, BL_SHARE_GONE, id, NULL);
		return;
	}
	attach->leaving = attach->tell = true;
	qp->nic->share_check = 0;
}

void bl_attach_leave(struct bl_snic *nic, const uint8_t *gid)
{
	for (struct bl_attach *attach = nic->attaches; attach; attach = attach->next) {
		if (!gid || !memcmp(attach->gid, gid, BL_SNIC_GID_LEN))
			attach->leaving = true;
	}
	nic->share_check = 0;
}

/* Return: whether nothing is left of it. */
static bool let_go(struct bl_snic *nic, struct bl_attach *attach)
{
	struct bl_snic_qp *way;

	if (!attach->leaving || attach->jobs)
		return false;
	if (attach->mem.moved && attach->mem.mover->detach(attach->mem.moved) == -EAGAIN) {
		nic->share_check = 0;
		return false;
	}
	way = attach->tell ? bl_share_way(nic, attach->gid) : NULL;
	if (way)
		bl_share_say(way, BL_SHARE_GONE, attach->id, NULL);
	return true;
}

int bl_attach_serve(struct bl_snic *nic)
{
	struct bl_attach **place = &nic->attaches, *attach;
	int nr = 0;

	while ((attach = *place)) {
		if (!let_go(nic, attach)) {
			place = &attach->next;
			continue;
		}
		*place = attach->next;
		free(attach);
		nr++;
	}
	return nr;
}
