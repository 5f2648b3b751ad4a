// SPDX-License-Identifier: MIT
/* Mapped pins are write-combining in the kernel's list of memory types, and what is stored reaches the card. */
#include "gdrdrv_fixture.h"
#include "host.h"
#include "tap.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIST "/sys/kernel/debug/x86/pat_memtype_list"

/* Whether the list has exactly that range as write-combining. */
static bool is_listed(uint64_t pa, uint64_t len)
{
	char line[256], range[64];
	bool found = false;
	FILE *file = fopen(LIST, "re");

	check(file);
	snprintf(range, sizeof(range), "0x%016" PRIx64 "-0x%016" PRIx64, pa, pa + len);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, range) && strstr(line, "write-combining");
	fclose(file);
	return found;
}

static void list_has_mappings(void)
{
	uint64_t handle, pa;
	void *addr;

	begin(PERSISTENT);
	pa = gpu_bar_pa() + mem.offset + 64 * KIB;
	check_eq(try_pin(drv, mem.va + 64 * KIB, 192 * KIB, &handle), 0);
	check(!is_listed(pa, 128 * KIB));
	addr = drv_map(drv, handle, 128 * KIB);
	check(is_listed(pa, 128 * KIB));
	*(volatile uint32_t *)addr = 1;
	check(is_listed(pa, 128 * KIB));
	munmap(addr, 128 * KIB);
	check(!is_listed(pa, 128 * KIB));
	end();
}

static void list_forgets_with_the_pin(void)
{
	uint64_t handle, pa;
	void *addr;

	begin(PERSISTENT);
	pa = gpu_bar_pa() + mem.offset;
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	check(is_listed(pa, mem.len));
	check_eq(try_unpin(drv, handle), 0);
	check(!is_listed(pa, mem.len));
	munmap(addr, mem.len);
	end();
}

static void stores_arrive(void)
{
	volatile unsigned char *addr;
	uint64_t handle;

	begin(PERSISTENT);
	check_eq(try_pin(drv, mem.va + 64 * KIB, 64 * KIB, &handle), 0);
	addr = drv_map(drv, handle, 64 * KIB);
	for (size_t i = 0; i < 64 * KIB; i++)
		addr[i] = i & 1 ? 0x96 : 0x3c;
	check(host_ask("check", mem.offset + 64 * KIB, 64 * KIB, "3c96"));
	check(host_ask("fill", mem.offset + 64 * KIB + 256, 4, "01020304"));
	check_eq(addr[256], 1);
	check_eq(addr[259], 4);
	check_eq(addr[260], 0x3c);
	munmap((void *)addr, 64 * KIB);
	end();
}

static const struct tap_test tests[] = {
	{ "a_mapping_is_listed_as_write_combining_while_it_exists", list_has_mappings },
	{ "an_unpin_takes_it_off_the_list_before_the_munmap", list_forgets_with_the_pin },
	{ "stores_reach_the_card_and_what_the_host_fills_is_read", stores_arrive },
};

TAP_MAIN(tests)
