// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * bl_edu.c - let tests move bytes with the DMA engine of QEMU's edu device
 *
 * The device has 4 KiB of memory of its own and copies between that and any bus address. In debugfs, folder bl_edu:
 *
 *   bus_addr, len   where and how much, 1 to 4095 bytes: QEMU aborts on a whole 4096
 *   run             write "in": from bus_addr into the device; "out": from the device to bus_addr; returns when done
 *   ram             8 KiB of the kernel's memory, mapped for the device
 *   ram_phys        its physical address
 *   ram_dma         its address for the device: an IOVA where an IOMMU translates, else the same
 *   map             write "PHYS LEN": map another device's memory for this one, read: its address; "0 0": unmap
 *
 * Tests take bus addresses from anywhere: those of another driver's peer mappings, or wrong ones.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define EDU_VENDOR	0x1234
#define EDU_DEVICE	0x11e8

/* registers of BAR 0 */
#define EDU_DMA_SRC	0x80
#define EDU_DMA_DST	0x88
#define EDU_DMA_COUNT	0x90
#define EDU_DMA_CMD	0x98
#define EDU_CMD_START	BIT(0)
#define EDU_CMD_OUT	BIT(1)

/* the device's memory, as its own DMA engine sees it */
#define EDU_BUFFER	0x40000
#define EDU_MAX_LEN	4095

#define RAM_ORDER	1
#define RAM_SIZE	(PAGE_SIZE << RAM_ORDER)

/**
 * struct edu - one edu device
 * @pdev:     the device
 * @regs:     its registers
 * @dir:      folder in debugfs
 * @lock:     one transfer or change of a mapping at a time; the innermost lock of this module
 * @page:     memory for loop backs
 * @ram_dma:  address of @page for the device
 * @ram_phys: physical address of @page
 * @bus_addr: where the next transfer goes to or comes from
 * @len:      bytes of the next transfer
 * @map_dma:  address of the mapped peer memory for the device
 * @map_len:  bytes of it, 0 for none
 */
struct edu {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct dentry *dir;
	struct mutex lock;
	struct page *page;
	dma_addr_t ram_dma;
	u64 ram_phys;
	u64 bus_addr;
	u32 len;
	dma_addr_t map_dma;
	size_t map_len;
};

static int edu_wait(struct edu *edu)
{
	/* the device takes a tenth of a second of its own clock */
	unsigned long end = jiffies + 20 * HZ;

	while (readq(edu->regs + EDU_DMA_CMD) & EDU_CMD_START) {
		if (time_after(jiffies, end)) {
			dev_err(&edu->pdev->dev, "a transfer did not end within 20 s\n");
			return -ETIMEDOUT;
		}
		msleep(5);
	}
	return 0;
}

static int edu_transfer(struct edu *edu, bool out)
{
	int ret;

	if (!edu->len || edu->len > EDU_MAX_LEN)
		return -EINVAL;
	ret = edu_wait(edu);
	if (ret)
		return ret;
	dma_sync_single_for_device(&edu->pdev->dev, edu->ram_dma, RAM_SIZE, DMA_BIDIRECTIONAL);
	writeq(out ? EDU_BUFFER : edu->bus_addr, edu->regs + EDU_DMA_SRC);
	writeq(out ? edu->bus_addr : EDU_BUFFER, edu->regs + EDU_DMA_DST);
	writeq(edu->len, edu->regs + EDU_DMA_COUNT);
	writeq(EDU_CMD_START | (out ? EDU_CMD_OUT : 0), edu->regs + EDU_DMA_CMD);
	ret = edu_wait(edu);
	dma_sync_single_for_cpu(&edu->pdev->dev, edu->ram_dma, RAM_SIZE, DMA_BIDIRECTIONAL);
	return ret;
}

/* A short word from user space, ended by zero. */
static int get_word(char *word, size_t size, const char __user *data, size_t len)
{
	if (!len || len >= size)
		return -EINVAL;
	if (copy_from_user(word, data, len))
		return -EFAULT;
	word[len] = '\0';
	return 0;
}

static ssize_t run_write(struct file *file, const char __user *data, size_t len, loff_t *off)
{
	struct edu *edu = file->private_data;
	char word[8];
	bool out;
	int ret;

	ret = get_word(word, sizeof(word), data, len);
	if (ret)
		return ret;
	out = sysfs_streq(word, "out");
	if (!out && !sysfs_streq(word, "in"))
		return -EINVAL;
	mutex_lock(&edu->lock);
	ret = edu_transfer(edu, out);
	mutex_unlock(&edu->lock);
	return ret ? ret : len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static ssize_t ram_read(struct file *file, char __user *data, size_t len, loff_t *off)
{
	struct edu *edu = file->private_data;

	return simple_read_from_buffer(data, len, off, page_address(edu->page), RAM_SIZE);
}

static ssize_t ram_write(struct file *file, const char __user *data, size_t len, loff_t *off)
{
	struct edu *edu = file->private_data;

	return simple_write_to_buffer(page_address(edu->page), RAM_SIZE, off, data, len);
}

static const struct file_operations ram_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = ram_read,
	.write = ram_write,
	.llseek = default_llseek,
};

static void edu_unmap_peer(struct edu *edu)
{
	if (edu->map_len)
		dma_unmap_resource(&edu->pdev->dev, edu->map_dma, edu->map_len, DMA_BIDIRECTIONAL, 0);
	edu->map_len = 0;
}

static int edu_map_peer(struct edu *edu, phys_addr_t phys, size_t len)
{
	dma_addr_t dma = dma_map_resource(&edu->pdev->dev, phys, len, DMA_BIDIRECTIONAL, 0);

	if (dma_mapping_error(&edu->pdev->dev, dma))
		return -EIO;
	edu->map_dma = dma;
	edu->map_len = len;
	return 0;
}

static ssize_t map_write(struct file *file, const char __user *data, size_t len, loff_t *off)
{
	struct edu *edu = file->private_data;
	u64 phys, size;
	char word[48];
	int ret;

	ret = get_word(word, sizeof(word), data, len);
	if (ret)
		return ret;
	if (sscanf(word, "%lli %lli", &phys, &size) != 2)
		return -EINVAL;
	mutex_lock(&edu->lock);
	edu_unmap_peer(edu);
	if (size)
		ret = edu_map_peer(edu, phys, size);
	mutex_unlock(&edu->lock);
	return ret ? ret : len;
}

static ssize_t map_read(struct file *file, char __user *data, size_t len, loff_t *off)
{
	struct edu *edu = file->private_data;
	char text[24];
	int nr;

	mutex_lock(&edu->lock);
	nr = scnprintf(text, sizeof(text), "0x%llx\n", edu->map_len ? (u64)edu->map_dma : 0);
	mutex_unlock(&edu->lock);
	return simple_read_from_buffer(data, len, off, text, nr);
}

static const struct file_operations map_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = map_read,
	.write = map_write,
	.llseek = default_llseek,
};

static void edu_show(struct edu *edu)
{
	edu->dir = debugfs_create_dir("bl_edu", NULL);
	debugfs_create_x64("bus_addr", 0600, edu->dir, &edu->bus_addr);
	debugfs_create_u32("len", 0600, edu->dir, &edu->len);
	debugfs_create_x64("ram_phys", 0400, edu->dir, &edu->ram_phys);
	debugfs_create_file("run", 0200, edu->dir, edu, &run_fops);
	debugfs_create_file("ram", 0600, edu->dir, edu, &ram_fops);
	debugfs_create_file("map", 0600, edu->dir, edu, &map_fops);
	if (sizeof(edu->ram_dma) == sizeof(u64))
		debugfs_create_x64("ram_dma", 0400, edu->dir, (u64 *)&edu->ram_dma);
}

static int edu_alloc_ram(struct edu *edu)
{
	struct device *dev = &edu->pdev->dev;

	edu->page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, RAM_ORDER);
	if (!edu->page)
		return -ENOMEM;
	edu->ram_phys = page_to_phys(edu->page);
	edu->ram_dma = dma_map_page(dev, edu->page, 0, RAM_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, edu->ram_dma)) {
		__free_pages(edu->page, RAM_ORDER);
		return -EIO;
	}
	return 0;
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *edu;
	int ret;

	edu = devm_kzalloc(&pdev->dev, sizeof(*edu), GFP_KERNEL);
	if (!edu)
		return -ENOMEM;
	edu->pdev = pdev;
	mutex_init(&edu->lock);
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	edu->regs = pcim_iomap(pdev, 0, 0);
	if (!edu->regs)
		return -ENOMEM;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	ret = edu_alloc_ram(edu);
	if (ret)
		return ret;
	pci_set_master(pdev);
	pci_set_drvdata(pdev, edu);
	edu_show(edu);
	return 0;
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu *edu = pci_get_drvdata(pdev);

	/* waits for who is in one of the files */
	debugfs_remove_recursive(edu->dir);
	/* a transfer that timed out must not reach memory that is given back */
	pci_clear_master(pdev);
	edu_unmap_peer(edu);
	dma_unmap_page(&pdev->dev, edu->ram_dma, RAM_SIZE, DMA_BIDIRECTIONAL);
	__free_pages(edu->page, RAM_ORDER);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(EDU_VENDOR, EDU_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "bl_edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};
module_pci_driver(edu_driver);

MODULE_DESCRIPTION("DMA by QEMU's edu device, for tests");
MODULE_LICENSE("Dual MIT/GPL");
