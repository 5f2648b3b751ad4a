// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pins, taken from whoever exports nvidia_p2p_*() at the first call, and given back with each call.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "p2ptest.h"

/*
 * The provider is held from a successful get to the end of the pin, by one more reference than the
 * calls take: what the symbol points to must not go while a callback may come.
 */
#define with_symbol(name, ret, call)                                                               \
	do {                                                                                       \
		typeof(&name) fn_ = symbol_get(name);                                              \
		if (fn_) {                                                                         \
			(ret) = fn_ call;                                                          \
			symbol_put(name);                                                          \
		} else {                                                                           \
			(ret) = -ENXIO;                                                            \
		}                                                                                  \
	} while (0)

static int put(struct slot *slot, u64 va, bool persistent)
{
	const struct p2ptest_get *request = &slot->request;
	int ret;

	if (persistent)
		with_symbol(nvidia_p2p_put_pages_persistent, ret, (va, slot->table, 0));
	else
		with_symbol(nvidia_p2p_put_pages, ret,
			    (request->token, request->va_space, va, slot->table));
	return ret;
}

static void freed(void *data)
{
	struct slot *slot = data;
	int ret;

	wait_for_completion(&slot->read);
	if (slot->request.flags & P2PTEST_PUT_IN_CALLBACK)
		slot->put_result = put(slot, slot->request.va, false);
	with_symbol(nvidia_p2p_free_page_table, ret, (slot->table));
	WARN_ON(ret);
	atomic_inc(&slot->called);
}

static int get(struct slot *slot, const struct p2ptest_get *arg)
{
	u32 flags = arg->flags & P2PTEST_FORCE_BAR1 ? NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING : 0;
	int ret;

	if (arg->flags & P2PTEST_PERSISTENT)
		with_symbol(nvidia_p2p_get_pages_persistent, ret,
			    (arg->va, arg->len, &slot->table, flags));
	else
		with_symbol(nvidia_p2p_get_pages, ret,
			    (arg->token, arg->va_space, arg->va, arg->len, &slot->table,
			     arg->flags & P2PTEST_NO_CALLBACK ? NULL : freed, slot));
	return ret;
}

static void describe(struct slot *slot, struct p2ptest_get *arg)
{
	const struct nvidia_p2p_page_table *table = slot->table;

	arg->version = table->version;
	arg->page_size = table->page_size;
	arg->entries = table->entries;
	if (table->version >> 16 >= 2)
		arg->table_flags = table->flags;
	arg->pa = slot->pa = table->pages[0]->physical_address;
	arg->contiguous = 1;
	for (u32 i = 0; i < table->entries; i++)
		arg->contiguous &= table->pages[i]->physical_address == slot->pa + (u64)i * SZ_64K;
}

int p2ptest_get(struct slot *slot, struct p2ptest_get *arg)
{
	typeof(&nvidia_p2p_put_pages) hold;
	int ret;

	if (slot->held || slot->dmabuf)
		return -EBUSY;
	hold = symbol_get(nvidia_p2p_put_pages);
	if (!hold)
		return -ENXIO;
	atomic_set(&slot->called, 0);
	slot->put_result = 0;
	slot->request = *arg;
	slot->table = NULL;
	reinit_completion(&slot->read);
	ret = get(slot, arg);
	if (ret) {
		symbol_put(nvidia_p2p_put_pages);
		return ret;
	}
	slot->held = true;
	describe(slot, arg);
	complete_all(&slot->read);
	return 0;
}

static void end(struct slot *slot)
{
	if (slot->held)
		symbol_put(nvidia_p2p_put_pages);
	slot->held = false;
	/* went with the table */
	slot->mapping = NULL;
	if (slot->peer)
		p2ptest_peer_put(slot->peer);
	slot->peer = NULL;
}

int p2ptest_put(struct slot *slot, const struct p2ptest_put *arg)
{
	int ret = put(slot, arg->va, arg->how & P2PTEST_PERSISTENT);

	if (!ret)
		end(slot);
	return ret;
}

void p2ptest_pin_drop(struct slot *slot)
{
	if (slot->held && !put(slot, slot->request.va, slot->request.flags & P2PTEST_PERSISTENT))
		end(slot);
}

int p2ptest_state(struct slot *slot, struct p2ptest_state *arg)
{
	arg->called = atomic_read(&slot->called);
	arg->put_result = slot->put_result;
	return 0;
}

int p2ptest_write(struct slot *slot, const struct p2ptest_write *arg)
{
	void __iomem *io;

	if (!slot->pa || !arg->len || arg->off + arg->len > slot->request.len)
		return -EINVAL;
	io = ioremap_wc(slot->pa + arg->off, arg->len);
	if (!io)
		return -ENOMEM;
	memset_io(io, arg->byte, arg->len);
	iounmap(io);
	return 0;
}

int p2ptest_dma_map(struct slot *slot, struct p2ptest_dma *arg)
{
	struct pci_dev *peer;
	int ret;

	if (slot->mapping || slot->peer)
		return -EBUSY;
	peer = p2ptest_peer(arg);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	with_symbol(nvidia_p2p_dma_map_pages, ret, (peer, slot->table, &slot->mapping));
	if (ret) {
		p2ptest_peer_put(peer);
		return ret;
	}
	slot->peer = peer;
	arg->version = slot->mapping->version;
	arg->entries = slot->mapping->entries;
	arg->addr = slot->mapping->dma_addresses[0];
	arg->len = slot->request.len;
	return 0;
}

/* Not after a callback: the mapping went with the table. */
int p2ptest_dma_addr(struct slot *slot, struct p2ptest_addr *arg)
{
	if (!slot->mapping || atomic_read(&slot->called) || arg->entry >= slot->mapping->entries)
		return -EINVAL;
	arg->addr = slot->mapping->dma_addresses[arg->entry];
	return 0;
}

int p2ptest_dma_unmap(struct slot *slot)
{
	int ret;

	if (!slot->peer)
		return -EINVAL;
	with_symbol(nvidia_p2p_dma_unmap_pages, ret, (slot->peer, slot->table, slot->mapping));
	slot->mapping = NULL;
	p2ptest_peer_put(slot->peer);
	slot->peer = NULL;
	return ret;
}
