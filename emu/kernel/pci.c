// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The card on its bus: QEMU's ivshmem-plain, whose BAR 2 is video memory. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "bl_card_compat.h"
#include "card.h"

#define CARD_VENDOR 0x1af4
#define CARD_DEVICE 0x1110
#define VRAM_BAR    2

DEFINE_MUTEX(bl_rm);
DECLARE_RWSEM(bl_cpu_view);
struct bl_card *bl_card;

static const u8 card_uuid[16] = {0xba, 0x12, 0x1a, 0x9e, 0x0e, 0x41, 0x4d, 0x55,
				 0x80, 0x6d, 0x67, 0x70, 0x75, 0xca, 0x4d, 0x01};

void bl_card_release(struct kref *ref)
{
	struct bl_card *card = container_of(ref, struct bl_card, ref);

	bitmap_free(card->used);
	bitmap_free(card->poisoned);
	mutex_destroy(&card->dmabufs_lock);
	kfree(card);
}

static struct bl_card *card_new(struct pci_dev *pdev)
{
	struct bl_card *card = kzalloc(sizeof(*card), GFP_KERNEL);

	if (!card)
		return NULL;
	card->pdev = pdev;
	card->bar_pa = pci_resource_start(pdev, VRAM_BAR);
	card->nr_blocks = pci_resource_len(pdev, VRAM_BAR) / BL_CARD_BLOCK_SIZE;
	card->size = (u64)card->nr_blocks * BL_CARD_BLOCK_SIZE;
	card->used = bitmap_zalloc(card->nr_blocks, GFP_KERNEL);
	card->poisoned = bitmap_zalloc(card->nr_blocks, GFP_KERNEL);
	if (!card->used || !card->poisoned) {
		bitmap_free(card->used);
		bitmap_free(card->poisoned);
		kfree(card);
		return NULL;
	}
	kref_init(&card->ref);
	INIT_LIST_HEAD(&card->spaces);
	INIT_LIST_HEAD(&card->dmabufs);
	mutex_init(&card->dmabufs_lock);
	card->next_token = 1;
	memcpy(card->uuid, card_uuid, sizeof(card->uuid));
	/* kept from everybody, so that no object lies at offset 0 */
	__set_bit(0, card->used);
	return card;
}

static int card_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct bl_card *card;
	int ret;

	if (pci_resource_len(pdev, VRAM_BAR) < 2 * BL_CARD_BLOCK_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV,
				     "BAR %d is smaller than two blocks of 2 MiB\n", VRAM_BAR);
	ret = pci_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "enable\n");
	ret = pci_request_region(pdev, VRAM_BAR, "bl_card");
	if (ret) {
		dev_err_probe(&pdev->dev, ret, "request BAR %d\n", VRAM_BAR);
		goto disable;
	}
	card = card_new(pdev);
	if (!card) {
		ret = -ENOMEM;
		goto release_region;
	}
	ret = bl_slice_init(card);
	if (ret)
		goto put_card;
	mutex_lock(&bl_rm);
	ret = bl_card ? -EBUSY : 0;
	if (!ret)
		bl_card = card;
	mutex_unlock(&bl_rm);
	if (ret) {
		dev_err_probe(&pdev->dev, ret, "there is a card already, and only one is served\n");
		goto exit_slice;
	}
	pci_set_drvdata(pdev, card);
	pci_info(pdev, "emulated card, %llu MiB of video memory\n", card->size >> 20);
	return 0;
exit_slice:
	bl_slice_exit(card);
put_card:
	kref_put(&card->ref, bl_card_release);
release_region:
	pci_release_region(pdev, VRAM_BAR);
disable:
	pci_disable_device(pdev);
	return ret;
}

/*
 * The device goes: everybody is told, and what cannot be taken away (persistent pins) keeps
 * addresses of nothing.
 */
static void card_remove(struct pci_dev *pdev)
{
	struct bl_card *card = pci_get_drvdata(pdev);
	struct bl_space *space;
	struct bl_pin *pin;
	int bucket;

	mutex_lock(&bl_rm);
	bl_card = NULL;
	list_for_each_entry(space, &card->spaces, node)
		bl_space_clear(space);
	hash_for_each(bl_pins, bucket, pin, by_table) {
		if (pin->card != card)
			continue;
		pci_err(pdev, "removed with va 0x%llx len 0x%llx still pinned\n", pin->va,
			pin->len);
		bl_dma_unmap_all(pin);
	}
	WRITE_ONCE(card->pdev, NULL);
	mutex_unlock(&bl_rm);
	bl_dmabufs_revoke(card);
	bl_slice_exit(card);
	pci_release_region(pdev, VRAM_BAR);
	pci_disable_device(pdev);
	kref_put(&card->ref, bl_card_release);
}

static const struct pci_device_id card_ids[] = {{PCI_DEVICE(CARD_VENDOR, CARD_DEVICE)}, {}};
MODULE_DEVICE_TABLE(pci, card_ids);

static struct pci_driver card_driver = {
	.name = "bl_card",
	.id_table = card_ids,
	.probe = card_probe,
	.remove = card_remove,
};

static int __init card_init(void)
{
	int ret;

	bl_debugfs_create();
	ret = bl_card_node_register();
	if (ret)
		goto remove_debugfs;
	ret = pci_register_driver(&card_driver);
	if (ret)
		goto deregister_node;
	return 0;
deregister_node:
	bl_card_node_deregister();
remove_debugfs:
	bl_debugfs_remove();
	return ret;
}

static void __exit card_exit(void)
{
	pci_unregister_driver(&card_driver);
	bl_pin_flush();
	bl_card_node_deregister();
	bl_debugfs_remove();
}

module_init(card_init);
module_exit(card_exit);
BL_IMPORT_DMA_BUF();
MODULE_DESCRIPTION(
	"Barlane's emulated GPU: video memory in a BAR, with NVIDIA's kernel interface for peers");
MODULE_LICENSE("Dual MIT/GPL");
