// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pins through the GPU driver's nvidia_p2p_get_pages() and its relatives.
 *
 * Without persistence the driver calls nv_freed() when the memory is freed or its owner dies, with locks of its own held.
 * The table of pages is good until that call returns. So the call waits until get has read the table, and put waits for
 * the call.
 */
#include "core.h"
#include "nvp2p.h"

#include <linux/rwsem.h>

/*
 * A table that was called back is gone, and the next one may lie where it lay. put_pages() knows a table by its address and
 * may be called just after that, since nobody can tell in time. So nobody gets a table (read) while one is being put that
 * can be called back (write). Taken outside of the driver's locks; never by a callback.
 */
static DECLARE_RWSEM(tables_lock);

/* Whether pins of these functions outlive the memory's owner, if that is wanted at all. */
static bool can_persist(const struct bl_nvp2p *nv)
{
	return nv->get_pages_persistent || (nv->cap && READ_ONCE(*nv->cap));
}

/**
 * bl_nvp2p_persistent() - Whether pins are persistent
 *
 * What the module's parameter asks for, unless the driver that is loaded cannot.
 *
 * Context: may sleep.
 * Return: true if pages stay until they are unpinned.
 */
bool bl_nvp2p_persistent(void)
{
	const struct bl_nvp2p *nv;
	bool ret;

	if (!bl_use_persistent || bl_nvp2p_take(&nv))
		return bl_use_persistent;
	ret = can_persist(nv);
	bl_nvp2p_drop();
	return ret;
}

static void nv_freed(void *data)
{
	struct bl_pin *pin = data;
	bool inside = READ_ONCE(pin->nv.getter) == current;

	if (!inside)
		wait_for_completion(&pin->nv.read);
	bl_pin_revoke(pin);
	if (!inside)
		pin->nv.fn->free_page_table(pin->nv.table);
	/* put may go on now, and free the pin */
	complete_all(&pin->nv.called);
}

static int check_table(struct bl_pin *pin, const struct nv_p2p_page_table *table)
{
	u32 major = NV_P2P_MAJOR(table->version);

	if (major != 1 && major != 2)
		return refuse(EFAULT, "pin va 0x%llx: page table of version 0x%x, known are 1 and 2", pin->va,
			      table->version);
	if (table->page_size != NV_P2P_PAGE_64K)
		return refuse(EINVAL, "pin va 0x%llx: GPU pages of type %u, not 64 KiB", pin->va,
			      table->page_size);
	if (!table->pages || table->entries != pin->len >> NV_P2P_GPU_PAGE_SHIFT)
		return refuse(EINVAL, "pin va 0x%llx len 0x%llx: the driver gave %u pages", pin->va, pin->len,
			      table->entries);
	return 0;
}

static int read_table(struct bl_pin *pin, const struct nv_p2p_page_table *table)
{
	int ret = check_table(pin, table);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < table->entries; i++) {
		u64 pa = table->pages[i]->physical_address;

		ret = bl_runs_add(&pin->runs, pa, NV_P2P_GPU_PAGE_SIZE);
		if (ret)
			return refuse(-ret, "pin va 0x%llx: GPU page %u of %u", pin->va, i, table->entries);
	}
	/* flags came with version 2; all pages of a table are alike */
	pin->cacheable = bl_platform_ram_cacheable(pin->runs.run[0].pa) ||
			 (NV_P2P_MAJOR(table->version) >= 2 && table->flags & NV_P2P_TABLE_CPU_CACHEABLE);
	return 0;
}

/* GPU pages that hold the request */
static int whole_pages(struct bl_pin *pin, const struct bl_pin_request *req)
{
	u64 end = req->va + req->size;

	if (!req->va || end < req->va || end > U64_MAX - (NV_P2P_GPU_PAGE_SIZE - 1))
		return refuse(EINVAL, "pin va 0x%llx size 0x%llx: no such range", req->va, req->size);
	pin->va = round_down(req->va, NV_P2P_GPU_PAGE_SIZE);
	pin->offset = req->va - pin->va;
	pin->len = round_up(end, NV_P2P_GPU_PAGE_SIZE) - pin->va;
	pin->page_size = NV_P2P_GPU_PAGE_SIZE;
	if (!pin->len)
		return refuse(EINVAL, "pin va 0x%llx size 0: nothing to pin", req->va);
	return 0;
}

static int check_request(const struct bl_pin_request *req, bool persistent)
{
	if (req->flags & ~GDRDRV_PIN_FORCE_PCIE)
		return refuse(EINVAL, "pin va 0x%llx: unknown flags 0x%x", req->va, req->flags);
	if (!persistent && req->flags)
		return refuse(EINVAL, "pin va 0x%llx: through PCI only with persistent pins, which are off", req->va);
	if (persistent && (req->token || req->space))
		return refuse(EINVAL, "pin va 0x%llx: persistent pins take no P2P tokens", req->va);
	return 0;
}

static int call_get(struct bl_pin *pin, const struct bl_pin_request *req)
{
	struct bl_pin_nv *p = &pin->nv;
	const struct bl_nvp2p *nv = p->fn;

	if (p->by_put)
		return nv->get_pages_persistent(pin->va, pin->len, &p->table,
						pin->force_pcie ? NV_P2P_GET_FORCE_BAR1 : 0);
	if (p->persistent && pin->force_pcie)
		return -EOPNOTSUPP;
	return nv->get_pages(p->token, p->space, pin->va, pin->len, &p->table, p->persistent ? NULL : nv_freed,
			     pin);
}

static void call_put(struct bl_pin *pin)
{
	struct bl_pin_nv *p = &pin->nv;
	const struct bl_nvp2p *nv = p->fn;
	int ret;

	if (p->by_put)
		ret = nv->put_pages_persistent(pin->va, p->table, 0);
	else
		ret = nv->put_pages(p->token, p->space, pin->va, p->table);
	if (ret)
		refuse(-ret, "unpin va 0x%llx: the GPU driver does not take the pages back", pin->va);
}

/* Give back what was not given back by the callback, and wait for one that is running. */
static void give_back(struct bl_pin *pin)
{
	bool freed;

	if (!pin->nv.persistent)
		down_write(&tables_lock);
	mutex_lock(&pin->lock);
	freed = pin->freed;
	mutex_unlock(&pin->lock);
	/* a callback that begins now is waited for by put_pages() */
	if (!freed)
		call_put(pin);
	if (!pin->nv.persistent)
		up_write(&tables_lock);
	mutex_lock(&pin->lock);
	freed = pin->freed;
	mutex_unlock(&pin->lock);
	if (freed)
		wait_for_completion(&pin->nv.called);
	atomic_dec(&bl_nr_pins);
}

static int nv_get(struct bl_pin *pin, const struct bl_pin_request *req)
{
	struct bl_pin_nv *p = &pin->nv;
	int ret;

	ret = bl_nvp2p_take(&p->fn);
	if (ret)
		return refuse(-ret, "pin va 0x%llx: no GPU driver for GPL use (a closed one needs NV_LINK=1 here)",
			      req->va);
	p->persistent = bl_use_persistent && can_persist(p->fn);
	p->by_put = p->persistent && p->fn->get_pages_persistent;
	p->token = req->token;
	p->space = req->space;
	pin->force_pcie = req->flags & GDRDRV_PIN_FORCE_PCIE;
	init_completion(&p->read);
	init_completion(&p->called);
	ret = check_request(req, p->persistent);
	if (!ret)
		ret = whole_pages(pin, req);
	if (ret)
		goto drop;

	down_read(&tables_lock);
	WRITE_ONCE(p->getter, current);
	ret = call_get(pin, req);
	WRITE_ONCE(p->getter, NULL);
	up_read(&tables_lock);
	if (ret) {
		/* a number of the kernel's own, which must not reach user space */
		if (ret == -ENOTSUPP)
			ret = -EOPNOTSUPP;
		refuse(-ret, "pin va 0x%llx len 0x%llx%s: the GPU driver refuses", pin->va, pin->len,
		       p->persistent ? " persistent" : "");
		goto drop;
	}
	atomic_inc(&bl_nr_pins);
	/* only a callback from inside get_pages() can have come by now: others wait for us */
	ret = pin->freed ? refuse(EINVAL, "pin va 0x%llx: freed meanwhile", pin->va) : read_table(pin, p->table);
	complete_all(&p->read);
	if (ret)
		goto give_back;
	return 0;
give_back:
	give_back(pin);
drop:
	bl_nvp2p_drop();
	return ret;
}

static void nv_put(struct bl_pin *pin)
{
	give_back(pin);
	bl_nvp2p_drop();
}

const struct bl_pin_ops bl_pin_nvp2p = {
	.name = "nvp2p",
	.get = nv_get,
	.put = nv_put,
};
