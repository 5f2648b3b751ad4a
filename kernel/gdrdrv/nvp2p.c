// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pins through the GPU driver's functions, by common/table.c. Those that are not persistent go when the memory is freed or
 * its owner dies.
 */
#include "core.h"
#include "nvp2p.h"

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

static struct bl_pin *pin_of(struct bl_table *table)
{
	return container_of(table, struct bl_pin, nv);
}

static void nv_revoke(struct bl_table *table)
{
	bl_pin_revoke(pin_of(table));
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

static int call_get(struct bl_table *table)
{
	bool force_pcie = pin_of(table)->force_pcie;

	if (table->persistent && table->fn->get_pages_persistent)
		return bl_table_call_get_persistent(table, force_pcie ? NV_P2P_GET_FORCE_BAR1 : 0);
	if (table->persistent && force_pcie)
		return -EOPNOTSUPP;
	return bl_table_call_get(table);
}

static void give_back(struct bl_pin *pin)
{
	int ret = bl_table_put(&pin->nv);

	if (ret)
		refuse(-ret, "unpin va 0x%llx: the GPU driver does not take the pages back", pin->va);
	atomic_dec(&bl_nr_pins);
}

static int nv_get(struct bl_pin *pin, const struct bl_pin_request *req)
{
	struct bl_table *table = &pin->nv;
	int ret;

	ret = bl_nvp2p_take(&table->fn);
	if (ret)
		return refuse(-ret, "pin va 0x%llx: no GPU driver for GPL use (a closed one needs NV_LINK=1 here)",
			      req->va);
	table->persistent = bl_use_persistent && can_persist(table->fn);
	table->token = req->token;
	table->space = req->space;
	table->revoke = nv_revoke;
	pin->force_pcie = req->flags & GDRDRV_PIN_FORCE_PCIE;
	ret = check_request(req, table->persistent);
	if (!ret)
		ret = whole_pages(pin, req);
	if (ret)
		goto drop;

	table->va = pin->va;
	table->len = pin->len;
	ret = bl_table_get(table, call_get);
	if (ret) {
		/* a number of the kernel's own, which must not reach user space */
		if (ret == -ENOTSUPP)
			ret = -EOPNOTSUPP;
		refuse(-ret, "pin va 0x%llx len 0x%llx%s: the GPU driver refuses", pin->va, pin->len,
		       table->persistent ? " persistent" : "");
		goto drop;
	}
	atomic_inc(&bl_nr_pins);
	/* only a callback from inside get_pages() can have come by now: others wait for us */
	ret = bl_table_is_freed(table) ? refuse(EINVAL, "pin va 0x%llx: freed meanwhile", pin->va) :
					 read_table(pin, table->pages);
	bl_table_was_read(table);
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
