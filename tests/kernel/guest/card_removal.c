// SPDX-License-Identifier: MIT
/* The emulated card goes while a client in the kernel has it pinned, mapped for a device and imported as a dma-buf. */
#include "card.h"
#include "engine.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define DRIVER "/sys/bus/pci/drivers/bl_card"

static int card, client;
static char bdf[48];
static struct p2ptest_dma edu;

static void loads(void)
{
	struct bl_card_info info;

	check_eq(module_load("bl_edu"), 0);
	check_eq(engine_find(&edu), 0);
	check_eq(module_load("bl_p2ptest"), 0);
	check_eq(module_load("bl_card"), 0);
	client = client_open();
	card = card_open();
	check(client >= 0 && card >= 0);
	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
	snprintf(bdf, sizeof(bdf), "%04x:%02x:%02x.%x", info.domain, info.bus, info.devfn >> 3, info.devfn & 7);
}

static void driver(const char *what)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), DRIVER "/%s", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check(fd >= 0);
	check_eq(write(fd, bdf, strlen(bdf)), (long)strlen(bdf));
	close(fd);
}

/* Slots: 0 is called back, 1 is persistent, 2 is a dma-buf; all are mapped for the engine. */
static void use_all(struct object *object)
{
	struct bl_card_export export = { .len = BLOCK };
	struct p2ptest_dma dma = edu;

	check_eq(object_bound(card, BLOCK, object), 0);
	check_eq(client_get(client, 0, 0, object->va, GPU_PAGE), 0);
	check_eq(client_get(client, 1, P2PTEST_PERSISTENT, object->va, GPU_PAGE), 0);
	for (dma.slot = 0; dma.slot < 2; dma.slot++)
		check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	export.handle = object->handle;
	check_eq(request(card, BL_CARD_IOC_EXPORT, &export), 0);
	dma.fd = export.fd;
	check_eq(request(client, P2PTEST_IOC_IMPORT, &dma), 0);
	close(export.fd);
	check_eq(counters(card, false).pins, 2);
	check_eq(counters(card, false).dma_maps, 2);
	check_eq(counters(card, false).dmabufs, 1);
}

static void give_all_back(const struct object *object)
{
	check_eq(client_put(client, 0, 0, object->va), 0);
	check_eq(client_put(client, 1, P2PTEST_PERSISTENT, object->va), 0);
	check_eq(request(client, P2PTEST_IOC_DROP, (void *)2), 0);
}

static void must_be_gone(const struct object *object)
{
	struct p2ptest_imported imported = { .slot = 2 };
	struct object other;

	check_eq(client_called(client, 0), 1);
	check_eq(client_called(client, 1), 0);
	check_eq(request(client, P2PTEST_IOC_IMPORTED, &imported), 0);
	check_eq(imported.moved, 1);
	check_eq(imported.remap, -ENODEV);
	check_eq(client_get(client, 3, 0, object->va, GPU_PAGE), -ENODEV);
	check_eq(client_get(client, 3, P2PTEST_PERSISTENT, object->va, GPU_PAGE), -ENODEV);
	check_eq(object_new(card, BLOCK, &other), -ENODEV);
	check_eq(card_open(), -ENODEV);
	/* the client and the open file keep the driver */
	check_eq(module_unload("bl_card"), -EAGAIN);
}

static void must_work(void)
{
	struct bl_card_counters counts;
	int old = card;

	card = card_open();
	check(card >= 0);
	close(old);
	counts = counters(card, true);
	check_eq(counts.used, 0);
	check_eq(counts.pins, 0);
	check_eq(counts.dma_maps, 0);
	check_eq(counts.dmabufs, 0);
	check_eq(counts.late_writes, 0);
	check_eq(counts.misuses, 0);
}

static void given_back_while_it_is_away(void)
{
	struct object object;

	use_all(&object);
	driver("unbind");
	must_be_gone(&object);
	give_all_back(&object);
	driver("bind");
	must_work();
}

static void given_back_to_the_next(void)
{
	struct object object;

	use_all(&object);
	driver("unbind");
	driver("bind");
	give_all_back(&object);
	must_work();
}

static void old_files_have_nothing(void)
{
	volatile uint8_t *at;
	struct object object;

	check_eq(object_bound(card, BLOCK, &object), 0);
	at = object_map(card, &object);
	at[0] = 1;
	driver("unbind");
	check(read_is_sigbus(at));
	driver("bind");
	check(read_is_sigbus(at));
	check(!object_map(card, &object));
	check_eq(object_free(card, &object), -ENODEV);
	munmap((void *)at, BLOCK);
	must_work();
}

static void unloads(void)
{
	check(modules_unload(card, client));
}

static const struct tap_test tests[] = {
	{ "the modules load", loads },
	{ "a card that goes calls back, unmaps for devices, and takes puts", given_back_while_it_is_away },
	{ "what a card left is given back when the next one is there", given_back_to_the_next },
	{ "files of a card that went have nothing of the next one", old_files_have_nothing },
	{ "the modules unload", unloads },
};

TAP_MAIN(tests)
