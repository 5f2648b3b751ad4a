// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/mr: " fmt
#include "mr.h"

#include <errno.h>
#include <stdlib.h>

#include "mem.h"
#include "pd.h"
#include "rwqe.h"
#include "share.h"
#include "util/log.h"

#define REMOTE_CHANGES (BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_ATOMIC)

/*
 * Keys are a count, so that none comes back before all others were out, times an odd number, so that a key that is off
 * by a little, or an address given as one, is not somebody else's.
 */
static uint32_t key_of(uint32_t count)
{
	return count * 0x9e3779b1U;
}

/* @key: 0: any */
static int add(struct bl_snic *nic, struct bl_snic_mr *mr, uint32_t key)
{
	mr->key = key;
	if (key && (key == BL_RWQE_END || bl_snic_map_find(&nic->mrs, key)))
		return -EEXIST;
	if (key)
		return bl_snic_map_add(&nic->mrs, key, mr);
	do {
		mr->key = key_of(++nic->next_mr);
	} while (!mr->key || mr->key == BL_RWQE_END || bl_snic_map_find(&nic->mrs, mr->key));
	return bl_snic_map_add(&nic->mrs, mr->key, mr);
}

static int check_args(const struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t iova, size_t len,
		      unsigned int access)
{
	if (!bl_snic_mem_is_valid(mem))
		return fail(EINVAL, "%s: memory has neither an address nor functions to read and write", nic->name);
	if (!len || iova + (len - 1) < iova)
		return fail(EINVAL, "%s: iova 0x%llx len %zu: empty, or beyond the end of addresses", nic->name,
			    (unsigned long long)iova, len);
	if (access & REMOTE_CHANGES && !(access & BL_SNIC_LOCAL_WRITE))
		return fail(EINVAL, "%s: access 0x%x: remote write and atomic need local write", nic->name, access);
	return 0;
}

static int create(struct bl_snic_pd *pd, const struct bl_snic_mem *mem, uint64_t iova, size_t len, unsigned int access,
		  uint32_t key, struct bl_snic_mr **mr_p)
{
	struct bl_snic *nic = pd->nic;
	struct bl_snic_mr *mr;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = check_args(nic, mem, iova, len, access);
	if (ret)
		goto unlock;
	mr = malloc(sizeof(*mr));
	if (!mr) {
		ret = fail(ENOMEM, "%s: out of memory", nic->name);
		goto unlock;
	}
	*mr = (struct bl_snic_mr){.nic = nic, .pd = pd, .mem = *mem, .iova = iova, .len = len, .access = access};
	ret = add(nic, mr, key);
	if (ret) {
		free(mr);
		ret = ret == -EEXIST ? fail(EEXIST, "%s: key 0x%x is in use, or none", nic->name, key) :
				       fail(ENOMEM, "%s: out of memory for keys", nic->name);
		goto unlock;
	}
	pd->users++;
	*mr_p = mr;
unlock:
	bl_snic_unlock(nic);
	return ret;
}

int bl_snic_mr_create(struct bl_snic_pd *pd, const struct bl_snic_mem *mem, uint64_t iova, size_t len,
		      unsigned int access, struct bl_snic_mr **mr_p)
{
	return create(pd, mem, iova, len, access, 0, mr_p);
}

int bl_snic_mr_create_as(struct bl_snic_pd *pd, const struct bl_snic_mem *mem, uint64_t iova, size_t len,
			 unsigned int access, uint32_t key, struct bl_snic_mr **mr_p)
{
	if (!key)
		return fail(EINVAL, "%s: key 0 is none", pd->nic->name);
	return create(pd, mem, iova, len, access, key, mr_p);
}

/* Nothing is in use but by movers: every other access looks the key up anew, under the lock. */
int bl_snic_mr_destroy(struct bl_snic_mr *mr)
{
	struct bl_snic *nic = mr->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	/* from here on no job begins */
	bl_snic_map_remove(&nic->mrs, mr->key);
	ret = bl_jobs_wait(nic, &mr->jobs, "region", mr->key);
	if (ret) {
		/* cannot fail: its place is free */
		bl_snic_map_add(&nic->mrs, mr->key, mr);
	} else {
		bl_share_drop(nic, mr->key);
		bl_share_wait(nic, mr->key);
		bl_snic_mem_forget(nic, &mr->mem);
		mr->pd->users--;
		free(mr);
	}
	bl_snic_unlock(nic);
	return ret;
}

uint32_t bl_snic_mr_lkey(const struct bl_snic_mr *mr)
{
	return mr->key;
}

uint32_t bl_snic_mr_rkey(const struct bl_snic_mr *mr)
{
	return mr->key;
}

const char *bl_mr_check(struct bl_snic *nic, const struct bl_mr_span *span, struct bl_snic_mr **mr_p, uint64_t *off_p)
{
	struct bl_snic_mr *mr = bl_snic_map_find(&nic->mrs, span->key);
	uint64_t off;

	if (!mr)
		return "no region has the key";
	if (mr->pd != span->pd)
		return "the key is of another protection domain";
	if (span->access & ~mr->access)
		return "the region does not allow it";
	/* below the region the difference wraps and is larger than any region; the sum of the two could wrap as well */
	off = span->addr - mr->iova;
	if (span->addr < mr->iova || off > mr->len || span->len > mr->len - off)
		return "beyond the region";
	*mr_p = mr;
	*off_p = off;
	return NULL;
}
