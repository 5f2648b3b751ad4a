// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/pd: " fmt
#include "pd.h"

#include <errno.h>
#include <stdlib.h>

#include "util/log.h"

#define NUMBER_BITS 24

int bl_snic_pd_create(struct bl_snic *nic, struct bl_snic_pd **pd_p)
{
	struct bl_snic_pd *pd;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = -ENOMEM;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		goto unlock;
	pd->nic = nic;
	ret = bl_snic_number(&nic->pds, &nic->next_pd, NUMBER_BITS, pd, &pd->num);
	if (ret)
		free(pd);
	else
		*pd_p = pd;
unlock:
	bl_snic_unlock(nic);
	return ret == -ENOMEM ? fail(ENOMEM, "%s: out of memory", nic->name) : ret;
}

int bl_snic_pd_destroy(struct bl_snic_pd *pd)
{
	struct bl_snic *nic = pd->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (pd->users) {
		ret = fail(EBUSY, "%s: pd %u: %u memory regions and queue pairs are left", nic->name, pd->num,
			   pd->users);
	} else {
		bl_snic_map_remove(&nic->pds, pd->num);
		free(pd);
	}
	bl_snic_unlock(nic);
	return ret;
}

uint32_t bl_snic_pd_num(const struct bl_snic_pd *pd)
{
	return pd->num;
}
