// SPDX-License-Identifier: MIT
/*
 * The kernel's list of memory types tells how the card's memory is mapped, and bytes that are stored through a mapping
 * reach that memory.
 */
#include "host.h"
#include "number.h"
#include "tap.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIST "/sys/kernel/debug/x86/pat_memtype_list"

static char folder[PATH_MAX];

/* The card's folder in sysfs goes to @folder. */
static void find_card(void)
{
	glob_t found;
	size_t i;

	folder[0] = '\0';
	if (!glob("/sys/bus/pci/devices/*", 0, NULL, &found)) {
		for (i = 0; i < found.gl_pathc; i++) {
			if (read_number(found.gl_pathv[i], "vendor") == 0x1af4 &&
			    read_number(found.gl_pathv[i], "device") == 0x1110)
				snprintf(folder, sizeof(folder), "%s", found.gl_pathv[i]);
		}
		globfree(&found);
	}
	check(folder[0]);
}

/* Physical address of BAR 2: the third line has start, end and flags. */
static uint64_t card_pa(void)
{
	char path[PATH_MAX + 32], line[128];
	uint64_t start = 0;
	FILE *file;
	int i;

	snprintf(path, sizeof(path), "%s/resource", folder);
	file = fopen(path, "re");
	check(file);
	for (i = 0; i < 3 && fgets(line, sizeof(line), file); i++)
		start = strtoull(line, NULL, 0);
	fclose(file);
	check(start);
	return start;
}

static volatile unsigned char *map_card(const char *name, size_t len, off_t off)
{
	char path[PATH_MAX + 32];
	void *addr;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	close(fd);
	check(addr != MAP_FAILED);
	return addr;
}

/* Whether the list has a range that begins at @pa, of that type. */
static bool listed(uint64_t pa, const char *type)
{
	char line[256], start[48];
	bool found = false;
	FILE *file;

	file = fopen(LIST, "re");
	check(file);
	snprintf(start, sizeof(start), "0x%016" PRIx64 "-", pa);
	while (fgets(line, sizeof(line), file)) {
		const char *range = strstr(line, start);

		if (range && strstr(range, type))
			found = true;
	}
	fclose(file);
	return found;
}

static void write_combining_is_listed(void)
{
	volatile unsigned char *addr;
	uint64_t pa;

	find_card();
	pa = card_pa();
	check(!listed(pa + 0x100000, "write-combining"));
	addr = map_card("resource2_wc", 0x10000, 0x100000);
	check(listed(pa + 0x100000, "write-combining"));
	munmap((void *)addr, 0x10000);
	check(!listed(pa + 0x100000, "write-combining"));
}

static void uncached_is_listed(void)
{
	volatile unsigned char *addr;
	uint64_t pa;

	find_card();
	pa = card_pa();
	addr = map_card("resource2", 0x10000, 0x200000);
	check(listed(pa + 0x200000, "uncached-minus"));
	check(!listed(pa + 0x200000, "write-combining"));
	munmap((void *)addr, 0x10000);
}

static void stores_reach_the_card(void)
{
	volatile unsigned char *addr;
	size_t i;

	find_card();
	addr = map_card("resource2_wc", 0x10000, 0x300000);
	for (i = 0; i < 0x10000; i++)
		addr[i] = i & 1 ? 0x5a : 0xc3;
	check(host_ask("check", 0x300000, 0x10000, "c35a"));
	check(host_ask("fill", 0x300100, 8, "0123456789abcdef"));
	check_eq(addr[0x100], 0x01);
	check_eq(addr[0x107], 0xef);
	check_eq(addr[0x108], 0xc3);
	munmap((void *)addr, 0x10000);
}

static const struct tap_test tests[] = {
	{ "a_write_combining_mapping_is_listed_as_such", write_combining_is_listed },
	{ "a_plain_mapping_is_listed_as_uncached", uncached_is_listed },
	{ "stores_reach_the_card_and_what_the_host_fills_is_read", stores_reach_the_card },
};

TAP_MAIN(tests)
