// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/uar: " fmt
#include "uar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"

#define NUMBER_BITS 24

/*
 * A page of its own, as large as pages are here: it may be registered with a driver, and nothing else of this process
 * may lie beside it.
 */
static void *page_new(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page;

	if (size < BL_SNIC_UAR_SIZE)
		size = BL_SNIC_UAR_SIZE;
	page = aligned_alloc(size, size);
	if (page)
		memset(page, 0, size);
	return page;
}

int bl_snic_uar_create(struct bl_snic *nic, struct bl_snic_uar **uar_p)
{
	struct bl_snic_uar *uar;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = -ENOMEM;
	uar = calloc(1, sizeof(*uar));
	if (!uar)
		goto unlock;
	uar->nic = nic;
	uar->page = page_new();
	if (uar->page)
		ret = bl_snic_number(&nic->uars, &nic->next_uar, NUMBER_BITS, uar, &uar->id);
	if (ret) {
		free(uar->page);
		free(uar);
	} else {
		*uar_p = uar;
	}
unlock:
	bl_snic_unlock(nic);
	return ret == -ENOMEM ? fail(ENOMEM, "%s: out of memory", nic->name) : ret;
}

int bl_snic_uar_destroy(struct bl_snic_uar *uar)
{
	struct bl_snic *nic = uar->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (uar->users) {
		ret = fail(EBUSY, "%s: uar %u: %u queue pairs use it", nic->name, uar->id, uar->users);
	} else {
		bl_snic_map_remove(&nic->uars, uar->id);
		free(uar->page);
		free(uar);
	}
	bl_snic_unlock(nic);
	return ret;
}

void *bl_snic_uar_page(const struct bl_snic_uar *uar)
{
	return uar->page;
}

uint32_t bl_snic_uar_id(const struct bl_snic_uar *uar)
{
	return uar->id;
}
