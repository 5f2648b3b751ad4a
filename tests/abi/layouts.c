// SPDX-License-Identifier: MIT
/* gdrapi.h's types and numbers, stated again: programs that were built for the original rely on every one of them. */
#include "gdrapi.h"
#include "gdrconfig.h"
#include "tap.h"

/* Version 1, which the header does not show any more; the symbol's type is the library's. */
struct info_v1 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
};

#define field(type, name, at, bytes)                                                                                   \
	do {                                                                                                           \
		check_eq(offsetof(type, name), at);                                                                    \
		check_eq(sizeof(((type *)NULL)->name), bytes);                                                         \
	} while (0)

static void handles_are_one_word(void)
{
	check_eq(sizeof(gdr_t), 8);
	check_eq(sizeof(gdr_mh_t), 8);
	field(gdr_mh_t, h, 0, 8);
	check_eq(sizeof(struct gdr_mh_s), 8);
}

static void info_version_2_has_its_layout(void)
{
	check_eq(sizeof(gdr_info_v2_t), 48);
	check_eq(sizeof(gdr_info_t), 48);
	check_eq(sizeof(struct gdr_info_v2), 48);
	field(gdr_info_v2_t, va, 0, 8);
	field(gdr_info_v2_t, mapped_size, 8, 8);
	field(gdr_info_v2_t, page_size, 16, 4);
	field(gdr_info_v2_t, tm_cycles, 24, 8);
	field(gdr_info_v2_t, cycles_per_ms, 32, 4);
	field(gdr_info_v2_t, mapping_type, 40, 4);
}

static uint32_t word_at(const void *base, size_t at)
{
	uint32_t word;

	memcpy(&word, (const char *)base + at, sizeof(word));
	return word;
}

static void bit_fields_lie_at_36(void)
{
	gdr_info_v2_t info;
	struct info_v1 old;

	memset(&info, 0, sizeof(info));
	info.mapped = 1;
	check_eq(word_at(&info, 36), 1);
	info.mapped = 0;
	info.wc_mapping = 1;
	check_eq(word_at(&info, 36), 2);
	memset(&old, 0, sizeof(old));
	old.mapped = 1;
	check_eq(word_at(&old, 36), 1);
	old.wc_mapping = 1;
	check_eq(word_at(&old, 36), 3);
}

static void info_version_1_is_the_beginning_of_version_2(void)
{
	check_eq(sizeof(struct info_v1), 40);
	check_eq(offsetof(struct info_v1, cycles_per_ms), offsetof(gdr_info_v2_t, cycles_per_ms));
	check_eq(offsetof(struct info_v1, tm_cycles), offsetof(gdr_info_v2_t, tm_cycles));
}

static void enumerators_have_their_values(void)
{
	check_eq(GDR_PIN_FLAG_DEFAULT, 0);
	check_eq(GDR_PIN_FLAG_FORCE_PCIE, 1);
	check_eq(GDR_MAP_FLAG_DEFAULT, 0);
	check_eq(GDR_MAP_FLAG_REQ_WC_MAPPING, 1);
	check_eq(GDR_MAP_FLAG_REQ_CACHE_MAPPING, 2);
	check_eq(GDR_MAP_FLAG_REQ_DEVICE_MAPPING, 3);
	check_eq(GDR_MAPPING_TYPE_NONE, 0);
	check_eq(GDR_MAPPING_TYPE_WC, 1);
	check_eq(GDR_MAPPING_TYPE_CACHING, 2);
	check_eq(GDR_MAPPING_TYPE_DEVICE, 3);
	check_eq(GDR_MAPPING_TYPE_MAX, 4);
	check_eq(GDR_ATTR_USE_PERSISTENT_MAPPING, 1);
	check_eq(GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, 2);
	check_eq(GDR_ATTR_USING_DMA_BUF_MMAP, 3);
	check_eq(GDR_ATTR_MAX, 4);
	check_eq(sizeof(gdr_pin_flags_t), 4);
	check_eq(sizeof(gdr_map_flags_t), 4);
	check_eq(sizeof(gdr_mapping_type_t), 4);
	check_eq(sizeof(gdr_attr_t), 4);
}

static void macros_have_their_values(void)
{
	check_eq(MAJOR_VERSION_SHIFT, 16);
	check_eq(MINOR_VERSION_MASK, 0xffff);
	check_eq(GDR_API_MAJOR_VERSION, 2);
	check_eq(GDR_API_MINOR_VERSION, 6);
	check_eq(GDR_API_VERSION, 0x20006);
	check_eq(MINIMUM_GDRDRV_MAJOR_VERSION, 2);
	check_eq(MINIMUM_GDRDRV_MINOR_VERSION, 0);
	check_eq(MINIMUM_GDRDRV_VERSION, 0x20000);
	check_eq(GPU_PAGE_SHIFT, 16);
	check_eq(GPU_PAGE_SIZE, 65536);
	check_eq(GPU_PAGE_OFFSET, 65535);
	check_eq(GPU_PAGE_MASK, 0xffffffffffff0000);
	check_eq(sizeof(GPU_PAGE_SIZE), 8);
}

/* The old name is the new function in sources, and only there. */
static void the_alias_leads_to_version_2(void)
{
	int (*info)(gdr_t, gdr_mh_t, gdr_info_v2_t *) = gdr_get_info;

	check(info == gdr_get_info_v2);
}

static void one_cpu_family_is_named(void)
{
	int families = 0;

#ifdef GDRAPI_X86
	families++;
#endif
#ifdef GDRAPI_ARM64
	families++;
#endif
#ifdef GDRAPI_POWER
	families++;
#endif
	check_eq(families, 1);
}

/* Types of all functions: an assignment of another type does not compile. */
static void functions_have_their_types(void)
{
	gdr_t (*open)(void) = gdr_open;
	int (*close)(gdr_t) = gdr_close;
	int (*pin)(gdr_t, unsigned long, size_t, uint64_t, uint32_t, gdr_mh_t *) = gdr_pin_buffer;
	int (*pin_v2)(gdr_t, unsigned long, size_t, uint32_t, gdr_mh_t *) = gdr_pin_buffer_v2;
	int (*unpin)(gdr_t, gdr_mh_t) = gdr_unpin_buffer;
	int (*flag)(gdr_t, gdr_mh_t, int *) = gdr_get_callback_flag;
	int (*map)(gdr_t, gdr_mh_t, void **, size_t) = gdr_map;
	int (*map_v2)(gdr_t, gdr_mh_t, void **, size_t, int) = gdr_map_v2;
	int (*unmap)(gdr_t, gdr_mh_t, void *, size_t) = gdr_unmap;
	int (*to)(gdr_mh_t, void *, const void *, size_t) = gdr_copy_to_mapping;
	int (*from)(gdr_mh_t, void *, const void *, size_t) = gdr_copy_from_mapping;
	void (*runtime)(int *, int *) = gdr_runtime_get_version;
	int (*driver)(gdr_t, int *, int *) = gdr_driver_get_version;
	int (*attribute)(gdr_t, gdr_attr_t, int *) = gdr_get_attribute;
	int (*string)(gdr_mapping_type_t, const char **) = gdr_get_mapping_type_string;

	check(open && close && pin && pin_v2 && unpin && flag && map && map_v2 && unmap && to && from && runtime &&
	      driver && attribute && string);
}

static const struct tap_test tests[] = {
	{"handles are one word", handles_are_one_word},
	{"info version 2 has its layout", info_version_2_has_its_layout},
	{"bit fields lie at 36", bit_fields_lie_at_36},
	{"info version 1 is the beginning of version 2", info_version_1_is_the_beginning_of_version_2},
	{"enumerators have their values", enumerators_have_their_values},
	{"macros have their values", macros_have_their_values},
	{"the alias leads to version 2", the_alias_leads_to_version_2},
	{"one CPU family is named", one_cpu_family_is_named},
	{"functions have their types", functions_have_their_types},
};

TAP_MAIN(tests)
