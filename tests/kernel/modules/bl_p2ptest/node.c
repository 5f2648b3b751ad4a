// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* /dev/bl_p2ptest: requests by number. */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "bl_card_compat.h"
#include "p2ptest.h"

/* A device that nobody drives has to be woken before it can use an address. */
struct pci_dev *p2ptest_peer(const struct p2ptest_dma *arg)
{
	struct pci_dev *pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->devfn);

	if (!pdev)
		return ERR_PTR(-ENODEV);
	if (pci_enable_device(pdev))
		goto put;
	if (dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64)))
		goto disable;
	pci_set_master(pdev);
	return pdev;
disable:
	pci_disable_device(pdev);
put:
	pci_dev_put(pdev);
	return ERR_PTR(-EIO);
}

void p2ptest_peer_put(struct pci_dev *pdev)
{
	pci_disable_device(pdev);
	pci_dev_put(pdev);
}

static int node_open(struct inode *inode, struct file *file)
{
	struct slot *slots = kcalloc(P2PTEST_NR_SLOTS, sizeof(*slots), GFP_KERNEL);

	if (!slots)
		return -ENOMEM;
	for (unsigned int i = 0; i < P2PTEST_NR_SLOTS; i++)
		init_completion(&slots[i].read);
	file->private_data = slots;
	return 0;
}

static int node_release(struct inode *inode, struct file *file)
{
	struct slot *slots = file->private_data;

	for (unsigned int i = 0; i < P2PTEST_NR_SLOTS; i++) {
		p2ptest_pin_drop(&slots[i]);
		p2ptest_import_drop(&slots[i]);
	}
	kfree(slots);
	return 0;
}

/* The first word of every argument is the slot. */
union any_arg {
	u32 slot;
	struct p2ptest_get get;
	struct p2ptest_put put;
	struct p2ptest_state state;
	struct p2ptest_write write;
	struct p2ptest_dma dma;
	struct p2ptest_addr addr;
	struct p2ptest_imported imported;
};

static int serve(struct slot *slot, unsigned int cmd, union any_arg *arg)
{
	switch (cmd) {
	case P2PTEST_IOC_GET:
		return p2ptest_get(slot, &arg->get);
	case P2PTEST_IOC_PUT:
		return p2ptest_put(slot, &arg->put);
	case P2PTEST_IOC_STATE:
		return p2ptest_state(slot, &arg->state);
	case P2PTEST_IOC_WRITE:
		return p2ptest_write(slot, &arg->write);
	case P2PTEST_IOC_DMA_MAP:
		return p2ptest_dma_map(slot, &arg->dma);
	case P2PTEST_IOC_DMA_ADDR:
		return p2ptest_dma_addr(slot, &arg->addr);
	case P2PTEST_IOC_DMA_UNMAP:
		return p2ptest_dma_unmap(slot);
	case P2PTEST_IOC_IMPORT:
		return p2ptest_import(slot, &arg->dma);
	case P2PTEST_IOC_IMPORTED:
		return p2ptest_imported(slot, &arg->imported);
	case P2PTEST_IOC_DROP:
		return p2ptest_import_drop(slot);
	default:
		return -ENOTTY;
	}
}

static long node_ioctl(struct file *file, unsigned int cmd, unsigned long param)
{
	struct slot *slots = file->private_data;
	union any_arg arg = {};
	int ret;

	if (_IOC_SIZE(cmd) > sizeof(arg))
		return -ENOTTY;
	if (_IOC_DIR(cmd) == _IOC_NONE)
		arg.slot = param;
	else if (copy_from_user(&arg, (void __user *)param, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (arg.slot >= P2PTEST_NR_SLOTS)
		return -EINVAL;
	ret = serve(&slots[arg.slot], cmd, &arg);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user((void __user *)param, &arg, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	return ret;
}

static const struct file_operations node_ops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.unlocked_ioctl = node_ioctl,
};

static struct miscdevice node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bl_p2ptest",
	.fops = &node_ops,
	.mode = 0600,
};
module_misc_device(node);

BL_IMPORT_DMA_BUF();
MODULE_DESCRIPTION("Test client of NVIDIA's kernel interface for peers, and importer of dma-bufs");
MODULE_LICENSE("Dual MIT/GPL");
