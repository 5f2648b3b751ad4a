// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A slice of video memory that the kernel has struct pages for, so that a user mapping of it can be
 * the buffer of direct I/O, and the drive's DMA reaches the card. Asked for by parameter "pages",
 * since the kernel maps the slice uncached itself and every other mapping of it becomes so too.
 *
 * Pages are of the generic kind, which needs no CONFIG_PCI_P2PDMA: distributions have that off.
 * Each has one reference of ours, for as long as the slice exists, so nobody else ever drops the
 * last one. What is more than that is somebody's mapping or somebody's I/O. An object that its
 * owner freed while there is some lingers: its mappings are gone, so there are no new references
 * but copies of those that exist, and one look at each page tells when all are gone. Until then
 * neither its blocks nor this module are given back.
 */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/numa.h>

#include "bl_card_compat.h"
#include "card.h"

#define LOOK_AGAIN_MS 10
#define SAY_AGAIN_MS  10000

static char *pages;
module_param(pages, charp, 0444);
MODULE_PARM_DESC(pages, "SIZE[@OFFSET]: video memory with struct pages, for direct I/O; "
			"multiples of 2M, at the end unless told; none");

/* SIZE[@OFFSET] as with the kernel's memmap=; nothing or 0: no slice. */
static int parse(const struct bl_card *card, u64 *off_p, u64 *size_p)
{
	char *end;

	*size_p = pages ? memparse(pages, &end) : 0;
	if (!pages || (!*size_p && !*end))
		return 0;
	*off_p = card->size - *size_p;
	if (*end == '@')
		*off_p = memparse(end + 1, &end);
	if (*end && *end != '\n')
		return -EINVAL;
	if ((*off_p | *size_p) & (BL_CARD_BLOCK_SIZE - 1) || !*size_p || !*off_p)
		return -EINVAL;
	return *off_p < card->size && *size_p <= card->size - *off_p ? 0 : -EINVAL;
}

static struct page *first_page(const struct bl_card *card, unsigned long block)
{
	return pfn_to_page(PHYS_PFN(bl_block_pa(card, block)));
}

static bool are_idle(const struct bl_card *card, unsigned long block, unsigned long nr)
{
	struct page *page = first_page(card, block);

	for (u64 i = 0; i < (u64)nr * (BL_CARD_BLOCK_SIZE >> PAGE_SHIFT); i++) {
		if (page_ref_count(page + i) != 1)
			return false;
	}
	/* who dropped the last reference had used the memory before; we give it away after */
	smp_mb();
	return true;
}

/* Give back what nobody uses any more; bl_rm held. */
static void look(struct bl_slice *slice)
{
	struct bl_mem *mem, *next;

	list_for_each_entry_safe(mem, next, &slice->lingering, linger) {
		if (!are_idle(mem->card, mem->block, mem->nr))
			continue;
		list_del(&mem->linger);
		mem->card->counts.lingering -= bl_mem_size(mem);
		bl_mem_give(mem);
		module_put(THIS_MODULE);
	}
}

static void look_again(struct work_struct *work)
{
	struct bl_slice *slice = container_of(to_delayed_work(work), struct bl_slice, work);

	mutex_lock(&bl_rm);
	look(slice);
	if (!list_empty(&slice->lingering))
		schedule_delayed_work(&slice->work, msecs_to_jiffies(LOOK_AGAIN_MS));
	mutex_unlock(&bl_rm);
}

bool bl_slice_linger(struct bl_mem *mem)
{
	struct bl_slice *slice = &mem->card->slice;

	/* dma-bufs and persistent pins may outlive the card, and then there are no pages to look at */
	if (!mem->has_pages || !slice->nr || are_idle(mem->card, mem->block, mem->nr))
		return false;
	/* an open file or a dma-buf of ours had it: the module is not on its way out */
	__module_get(THIS_MODULE);
	mem->card->counts.lingering += bl_mem_size(mem);
	list_add_tail(&mem->linger, &slice->lingering);
	schedule_delayed_work(&slice->work, msecs_to_jiffies(LOOK_AGAIN_MS));
	return true;
}

vm_fault_t bl_slice_insert(struct vm_area_struct *vma, unsigned long at, phys_addr_t pa)
{
	return vmf_insert_page(vma, at, pfn_to_page(PHYS_PFN(pa)));
}

/*
 * The mappings of all are gone. What is left is I/O, which ends when its drive ends it or gives it
 * up: there is nobody to return to before that, since the pages are about to go.
 */
static void wait_until_idle(struct bl_card *card)
{
	struct bl_slice *slice = &card->slice;
	unsigned long say_at = jiffies + msecs_to_jiffies(SAY_AGAIN_MS);

	while (!are_idle(card, slice->first, slice->nr)) {
		msleep(LOOK_AGAIN_MS);
		if (time_before(jiffies, say_at))
			continue;
		pr_warn("the card goes: waiting for I/O on pages of its memory\n");
		say_at = jiffies + msecs_to_jiffies(SAY_AGAIN_MS);
	}
}

int bl_slice_init(struct bl_card *card)
{
	struct bl_slice *slice = &card->slice;
	u64 off = 0, size;
	void *addr;
	int ret;

	INIT_LIST_HEAD(&slice->lingering);
	INIT_DELAYED_WORK(&slice->work, look_again);
	slice->first = card->nr_blocks;
	ret = parse(card, &off, &size);
	if (ret) {
		pr_err("pages %s: no multiples of 2 MiB in %llu MiB, behind the first block\n",
		       pages, card->size >> 20);
		return ret;
	}
	if (!size)
		return 0;
	/* elsewhere the kernel would map it cached */
	if (!IS_ENABLED(CONFIG_X86)) {
		pr_err("pages %s: only for x86\n", pages);
		return -EOPNOTSUPP;
	}
	slice->pgmap.type = MEMORY_DEVICE_GENERIC;
	slice->pgmap.nr_range = 1;
	slice->pgmap.range.start = card->bar_pa + off;
	slice->pgmap.range.end = card->bar_pa + off + size - 1;
	addr = memremap_pages(&slice->pgmap, dev_to_node(&card->pdev->dev));
	if (IS_ERR(addr)) {
		pr_err("pages %s: the kernel makes none: error %ld\n", pages, PTR_ERR(addr));
		return PTR_ERR(addr);
	}
	slice->first = off / BL_CARD_BLOCK_SIZE;
	slice->nr = size / BL_CARD_BLOCK_SIZE;
	pci_info(card->pdev, "pages for %llu MiB from offset 0x%llx on\n", size >> 20, off);
	return 0;
}

void bl_slice_exit(struct bl_card *card)
{
	struct bl_slice *slice = &card->slice;

	if (!slice->nr)
		return;
	wait_until_idle(card);
	cancel_delayed_work_sync(&slice->work);
	mutex_lock(&bl_rm);
	look(slice);
	slice->nr = 0;
	mutex_unlock(&bl_rm);
	memunmap_pages(&slice->pgmap);
}
