// SPDX-License-Identifier: MIT
/* The card's memory as a device reaches it: through nvidia_p2p_dma_map_pages(), and through a dma-buf. */
#include "card.h"
#include "engine.h"
#include "host.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int card, client;
static bool translated;
static struct p2ptest_dma edu; /* PCI address of the DMA engine */

static void loads(void)
{
	const char *iommu = getenv("LAB_IOMMU");

	check(iommu);
	translated = !strcmp(iommu, "on");
	check_eq(engine_find(&edu), 0);
	check_eq(module_load("bl_edu"), 0);
	check_eq(module_load("bl_p2ptest"), 0);
	check_eq(module_load("bl_card"), 0);
	card = card_open();
	client = client_open();
	check(card >= 0 && client >= 0);
}

static void engine_reaches_pinned_pages(void)
{
	struct p2ptest_dma dma = edu;
	struct object object;
	struct p2ptest_get get = { .len = 4 * GPU_PAGE };

	check_eq(object_bound(card, BLOCK, &object), 0);
	check(host_ask("fill", object.off, BLOCK, "11"));
	get.va = object.va + GPU_PAGE;
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check_eq(dma.version, 0x20003);
	check_eq(dma.entries, 4);
	check_eq(dma.addr == get.pa, !translated);
	check_eq(counters(card, false).dma_maps, 1);
	check(host_ask("fill", object.off + GPU_PAGE, 64, "beef"));
	check_eq(engine_run("in", dma.addr, 64), 0);
	check_eq(engine_run("out", dma.addr + 4096, 64), 0);
	check(host_ask("check", object.off + GPU_PAGE + 4096, 64, "beef"));
	check(host_ask("check", object.off + GPU_PAGE + 4096 + 64, 4096, "11"));
	check_eq(request(client, P2PTEST_IOC_DMA_UNMAP, NULL), 0);
	check_eq(counters(card, false).dma_maps, 0);
	check_eq(client_put(client, 0, 0, get.va), 0);
	check_eq(object_free(card, &object), 0);
}

/* Pages that are neighbours in memory need not be that for a device. */
static void every_page_has_its_address(void)
{
	struct p2ptest_dma dma = edu;
	struct p2ptest_addr to = { .slot = 0 };
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check(host_ask("fill", object.off, BLOCK, "44"));
	check(host_ask("fill", object.off, 16, "5a"));
	check_eq(client_get(client, 0, 0, object.va, 8 * GPU_PAGE), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_ADDR, &to), -EINVAL);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check_eq(engine_run("in", dma.addr, 16), 0);
	for (to.entry = 1; to.entry < 8; to.entry++) {
		check_eq(request(client, P2PTEST_IOC_DMA_ADDR, &to), 0);
		if (!translated)
			check_eq(to.addr, dma.addr + to.entry * GPU_PAGE);
		check_eq(engine_run("out", to.addr + to.entry * 256, 16), 0);
		check(host_ask("check", object.off + to.entry * (GPU_PAGE + 256), 16, "5a"));
	}
	check_eq(request(client, P2PTEST_IOC_DMA_ADDR, &to), -EINVAL);
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(object_free(card, &object), 0);
}

/* What a program calls the memory is nothing to a device. */
static void gpu_address_is_no_bus_address(void)
{
	struct p2ptest_dma dma = edu;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check(host_ask("fill", object.off, BLOCK, "33"));
	check(host_ask("fill", object.off, 16, "77"));
	check_eq(client_get(client, 0, 0, object.va, BLOCK), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check(dma.addr != object.va);
	check_eq(engine_run("in", dma.addr, 16), 0);
	if (translated)
		puts("# host: expect DMAR:.*fault");
	check_eq(engine_run("out", object.va + GPU_PAGE, 16), 0);
	check(host_ask("check", object.off + 16, BLOCK - 16, "33"));
	check_eq(engine_run("out", dma.addr + 4096, 16), 0);
	check(host_ask("check", object.off + 4096, 16, "77"));
	check_eq(client_put(client, 0, 0, object.va), 0);
	check_eq(object_free(card, &object), 0);
}

/* Offset of an extended capability of the device at @path in sysfs, 0 for none. */
static unsigned int extended_capability(const char *path, unsigned int id)
{
	unsigned int off = 0x100, found = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t header;

	check(fd >= 0);
	/* at most as many as there is room for; a conventional device's space ends before the first */
	for (int i = 0; i < 960 && off >= 0x100 && !found; i++) {
		if (pread(fd, &header, sizeof(header), off) != sizeof(header))
			break;
		if (header && (header & 0xffff) == id)
			found = off;
		off = header >> 20;
	}
	close(fd);
	return found;
}

static void nobody_translates_by_itself(void)
{
	enum { AER = 0x01, ATS = 0x0f, PRI = 0x13, PASID = 0x1b };
	char port[96], path[2][96];
	struct bl_card_info info;

	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
	snprintf(path[0], sizeof(path[0]), "/sys/bus/pci/devices/%04x:%02x:%02x.0/config", info.domain, info.bus,
		 info.devfn >> 3);
	snprintf(port, sizeof(port), "/sys/bus/pci/devices/%04x:%02x:%02x.0/../config", info.domain, info.bus,
		 info.devfn >> 3);
	snprintf(path[1], sizeof(path[1]), "/sys/bus/pci/devices/%04x:%02x:%02x.0/config", edu.domain, edu.bus,
		 edu.devfn >> 3);
	/* the search finds what is there */
	check(extended_capability(port, AER));
	for (int i = 0; i < 2; i++) {
		check_eq(extended_capability(path[i], ATS), 0);
		check_eq(extended_capability(path[i], PRI), 0);
		check_eq(extended_capability(path[i], PASID), 0);
	}
}

static void mapping_goes_with_the_table(void)
{
	struct p2ptest_dma dma = edu, again = edu;
	uint64_t late = counters(card, true).late_writes;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, 0, object.va, BLOCK), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check_eq(object_free(card, &object), 0);
	check_eq(client_called(client, 0), 1);
	check_eq(counters(card, false).dma_maps, 0);
	/* the engine is not told, and writes: without IOMMU it gets there, and is found out */
	if (translated)
		puts("# host: expect DMAR:.*fault");
	check_eq(engine_run("out", dma.addr + 7 * GPU_PAGE, 16), 0);
	check_eq(counters(card, true).late_writes, late + !translated);
	check_eq(client_put(client, 0, 0, object.va), 0);
	/* the table is gone, so nothing can be mapped */
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &again), -EINVAL);
}

static void mappings_that_are_refused(void)
{
	struct p2ptest_dma dma = edu, nobody = { .bus = 0xff };
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT | P2PTEST_FORCE_BAR1, object.va, GPU_PAGE), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), -KERNEL_ENOTSUPP);
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(client_get(client, 0, P2PTEST_PERSISTENT, object.va, GPU_PAGE), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &nobody), -ENODEV);
	knob("fail_dma_map", 1);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), -ENOMEM);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check_eq(client_put(client, 0, P2PTEST_PERSISTENT, object.va), 0);
	check_eq(counters(card, false).dma_maps, 0);
	check_eq(object_free(card, &object), 0);
}

static int export(const struct object *object, uint32_t flags)
{
	struct bl_card_export arg = { .off = 4096, .len = BLOCK - 4096, .handle = object->handle, .flags = flags };
	int ret = request(card, BL_CARD_IOC_EXPORT, &arg);

	return ret ? ret : arg.fd;
}

static void dmabuf_reaches_a_device(void)
{
	struct p2ptest_dma dma = edu;
	struct object object;

	check_eq(object_new(card, BLOCK, &object), 0);
	check(host_ask("fill", object.off, BLOCK, "22"));
	dma.fd = export(&object, 0);
	check(dma.fd >= 0);
	check_eq(fcntl(dma.fd, F_GETFD), FD_CLOEXEC);
	check_eq(lseek(dma.fd, 0, SEEK_END), BLOCK - 4096);
	check_eq(request(client, P2PTEST_IOC_IMPORT, &dma), 0);
	check_eq(dma.entries, 1);
	check(host_ask("fill", object.off + 4096, 32, "abcd"));
	check_eq(engine_run("in", dma.addr, 32), 0);
	check_eq(engine_run("out", dma.addr + 100, 32), 0);
	check(host_ask("check", object.off + 4096 + 100, 32, "abcd"));
	/* the memory stays as long as somebody has the dma-buf */
	close(dma.fd);
	check_eq(object_free(card, &object), 0);
	check_eq(counters(card, false).used, BLOCK);
	check_eq(engine_run("out", dma.addr + 200, 32), 0);
	check(host_ask("check", object.off + 4096 + 200, 32, "abcd"));
	check_eq(request(client, P2PTEST_IOC_DROP, NULL), 0);
	check_eq(counters(card, true).used, 0);
	check_eq(counters(card, false).dmabufs, 0);
}

static void dmabuf_in_a_process(void)
{
	struct object object;
	volatile uint8_t *at;
	int fd;

	check_eq(object_new(card, BLOCK, &object), 0);
	fd = export(&object, 0);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == KERNEL_ENOTSUPP);
	close(fd);
	fd = export(&object, BL_CARD_EXPORT_MMAP);
	check(mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	at = mmap(NULL, BLOCK - 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED);
	close(fd);
	at[0] = at[1] = 0x31;
	at[BLOCK - 4096 - 1] = 0x32;
	check(host_ask("check", object.off + 4096, 2, "31"));
	check(host_ask("check", object.off + BLOCK - 1, 1, "32"));
	check_eq(object_free(card, &object), 0);
	check_eq(at[0], 0x31);
	munmap((void *)at, BLOCK - 4096);
	check_eq(counters(card, true).used, 0);
}

static void revoked_dmabuf(void)
{
	struct p2ptest_imported can_move = { .slot = 0 }, cannot = { .slot = 1 };
	struct p2ptest_dma dma = edu, fixed = edu;
	struct object object;
	volatile uint8_t *at;

	check_eq(object_new(card, BLOCK, &object), 0);
	dma.fd = fixed.fd = export(&object, BL_CARD_EXPORT_MMAP);
	fixed.slot = 1;
	fixed.flags = 1;
	check_eq(request(client, P2PTEST_IOC_IMPORT, &dma), 0);
	check_eq(request(client, P2PTEST_IOC_IMPORT, &fixed), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dma.fd, 0);
	check(at != MAP_FAILED);
	at[0] = 1;
	check_eq(request(client, P2PTEST_IOC_IMPORTED, &can_move), 0);
	check_eq(can_move.moved, 0);
	check_eq(can_move.remap, 0);
	check_eq(can_move.cpu, 0);
	knob("revoke", 2);
	check(read_is_sigbus(at));
	check_eq(request(client, P2PTEST_IOC_IMPORTED, &can_move), 0);
	check_eq(can_move.moved, 1);
	check_eq(can_move.remap, -ENODEV);
	check_eq(can_move.cpu, -ENODEV);
	check_eq(request(client, P2PTEST_IOC_DROP, NULL), 0);
	check_eq(request(client, P2PTEST_IOC_IMPORT, &dma), -ENODEV);
	check_eq(request(client, P2PTEST_IOC_IMPORTED, &cannot), 0);
	check_eq(cannot.moved, 0);
	check_eq(request(client, P2PTEST_IOC_DROP, (void *)1), 0);
	munmap((void *)at, 4096);
	close(dma.fd);
	check_eq(object_free(card, &object), 0);
	check_eq(counters(card, true).used, 0);
}

static void unloads(void)
{
	check_eq(counters(card, false).dmabufs, 0);
	check_eq(counters(card, false).misuses, 0);
	check(modules_unload(card, client));
}

static const struct tap_test tests[] = {
	{ "the modules load", loads },
	{ "a DMA engine reaches pinned pages", engine_reaches_pinned_pages },
	{ "every page has an address of its own for an engine", every_page_has_its_address },
	{ "a GPU address is no address for a DMA engine", gpu_address_is_no_bus_address },
	{ "neither the card nor the engine has ATS, PRI or PASID", nobody_translates_by_itself },
	{ "a mapping goes with its page table, and a late DMA is found", mapping_goes_with_the_table },
	{ "mappings that cannot be are refused", mappings_that_are_refused },
	{ "a dma-buf reaches a device and keeps the memory", dmabuf_reaches_a_device },
	{ "a dma-buf is mapped into a process where that is allowed", dmabuf_in_a_process },
	{ "a revoked dma-buf is taken from devices and processes", revoked_dmabuf },
	{ "the modules unload", unloads },
};

TAP_MAIN(tests)
