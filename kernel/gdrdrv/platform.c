// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What depends on the machine: which types of mappings there are, and the clock that user space is told about.
 */
#include "core.h"

#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mem_encrypt.h>
#include <linux/pci.h>
#include <linux/timex.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

/* root ports of BlueField-3: its CPU reaches peers with device mappings only */
#define VENDOR_MELLANOX	 0x15b3
#define DEVICE_BF3_ROOT	 0xa2da
#define DEVICE_BF3_ROOT2 0xa2db

static bool must_device;

static bool has_device(unsigned int device)
{
	struct pci_dev *pdev = pci_get_device(VENDOR_MELLANOX, device, NULL);

	pci_dev_put(pdev);
	return pdev;
}

void bl_platform_init(void)
{
	must_device = IS_ENABLED(CONFIG_ARM64) && (has_device(DEVICE_BF3_ROOT) || has_device(DEVICE_BF3_ROOT2));
	if (must_device)
		pr_info("mappings are of type device on this machine\n");
	if (bl_platform_may_cache())
		pr_info("mappings may be cached on this machine\n");
}

/* The CPU may cache memory of a GPU only where a coherent link can be. */
bool bl_platform_may_cache(void)
{
	return IS_ENABLED(CONFIG_ARM64);
}

/* GPU memory that the kernel counts as its own is cacheable. */
bool bl_platform_ram_cacheable(phys_addr_t pa)
{
#ifdef BL_NV_LINK
	return false;
#else
	return bl_platform_may_cache() && page_is_ram(PHYS_PFN(pa));
#endif
}

bool bl_platform_must_device(void)
{
	return must_device;
}

static pgprot_t prot_wc(pgprot_t prot)
{
#if defined(BL_NV_LINK) && defined(CONFIG_X86)
	/* pgprot_writecombine() is for GPL use only */
	return __pgprot((pgprot_val(prot) & ~_PAGE_CACHE_MASK) | cachemode2protval(_PAGE_CACHE_MODE_WC));
#else
	return pgprot_writecombine(prot);
#endif
}

/* Memory of a device is not encrypted by a confidential guest. */
static pgprot_t prot_decrypted(pgprot_t prot)
{
#ifdef BL_NV_LINK
	/* pgprot_decrypted() is for GPL use only; this does the same on AMD, and nothing on Intel TDX */
	return __pgprot(__sme_clr(pgprot_val(prot)));
#else
	return pgprot_decrypted(prot);
#endif
}

/**
 * bl_platform_prot() - Protection bits of a mapping
 * @prot: those of the VMA
 * @type: GDRDRV_MAPPING_*, but not NONE
 *
 * Return: the bits.
 */
pgprot_t bl_platform_prot(pgprot_t prot, u32 type)
{
	switch (type) {
	case GDRDRV_MAPPING_WC:
		return prot_decrypted(prot_wc(prot));
	case GDRDRV_MAPPING_DEVICE:
		return prot_decrypted(pgprot_device(prot));
	default:
		return prot;
	}
}

u64 bl_platform_cycles(void)
{
	return IS_ENABLED(CONFIG_X86) ? get_cycles() : 0;
}

u32 bl_platform_tsc_khz(void)
{
#ifdef CONFIG_X86
	return cpu_khz;
#else
	return 0;
#endif
}
