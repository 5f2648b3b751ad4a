// SPDX-License-Identifier: MIT
/* The module's ioctl interface, stated again: either side may be the original's. */
#include "gdrdrv.h"

#include <stddef.h>

#include "tap.h"

#define field(type, name, at, bytes)                                                                                   \
	do {                                                                                                           \
		check_eq(offsetof(struct type, name), at);                                                             \
		check_eq(sizeof(((struct type *)NULL)->name), bytes);                                                  \
	} while (0)

static void commands_have_their_codes(void)
{
	check_eq(GDRDRV_IOC_PIN_BUFFER, 0xC028DA01U);
	check_eq(GDRDRV_IOC_UNPIN_BUFFER, 0xC008DA02U);
	check_eq(GDRDRV_IOC_GET_CB_FLAG, 0xC008DA03U);
	check_eq(GDRDRV_IOC_GET_INFO, 0xC008DA04U);
	check_eq(GDRDRV_IOC_GET_INFO_V2, 0xC008DA05U);
	check_eq(GDRDRV_IOC_GET_ATTR, 0xC008DA06U);
	check_eq(GDRDRV_IOC_PIN_BUFFER_V2, 0xC020DA07U);
	check_eq(GDRDRV_IOC_REQ_MAPPING_TYPE, 0xC008DA08U);
	check_eq(GDRDRV_IOC_GET_VERSION, 0xC008DAFFU);
	check_str(GDRDRV_PATH, "/dev/gdrdrv");
}

static void constants_have_their_values(void)
{
	check_eq(GDRDRV_VERSION(2, 6), 0x20006);
	check_eq(GDRDRV_PIN_FORCE_PCIE, 1);
	check_eq(GDRDRV_ATTR_PERSISTENT, 1);
	check_eq(GDRDRV_ATTR_FORCE_PCIE, 2);
	check_eq(GDRDRV_MAPPING_NONE, 0);
	check_eq(GDRDRV_MAPPING_WC, 1);
	check_eq(GDRDRV_MAPPING_CACHED, 2);
	check_eq(GDRDRV_MAPPING_DEVICE, 3);
}

static void pinning_has_its_layouts(void)
{
	check_eq(sizeof(struct gdrdrv_pin_buffer), 40);
	field(gdrdrv_pin_buffer, addr, 0, 8);
	field(gdrdrv_pin_buffer, size, 8, 8);
	field(gdrdrv_pin_buffer, p2p_token, 16, 8);
	field(gdrdrv_pin_buffer, va_space, 24, 4);
	field(gdrdrv_pin_buffer, handle, 32, 8);
	check_eq(sizeof(struct gdrdrv_pin_buffer_v2), 32);
	field(gdrdrv_pin_buffer_v2, addr, 0, 8);
	field(gdrdrv_pin_buffer_v2, size, 8, 8);
	field(gdrdrv_pin_buffer_v2, flags, 16, 4);
	field(gdrdrv_pin_buffer_v2, pad, 20, 4);
	field(gdrdrv_pin_buffer_v2, handle, 24, 8);
	check_eq(sizeof(struct gdrdrv_unpin_buffer), 8);
	field(gdrdrv_unpin_buffer, handle, 0, 8);
}

static void info_has_its_layouts(void)
{
	check_eq(sizeof(struct gdrdrv_get_info), 48);
	field(gdrdrv_get_info, handle, 0, 8);
	field(gdrdrv_get_info, va, 8, 8);
	field(gdrdrv_get_info, mapped_size, 16, 8);
	field(gdrdrv_get_info, page_size, 24, 4);
	field(gdrdrv_get_info, tsc_khz, 28, 4);
	field(gdrdrv_get_info, tm_cycles, 32, 8);
	field(gdrdrv_get_info, v1.mapped, 40, 4);
	field(gdrdrv_get_info, v1.wc_mapping, 44, 4);
	field(gdrdrv_get_info, v2.mapping_type, 40, 4);
	field(gdrdrv_get_info, v2.pad, 44, 4);
}

static void the_rest_has_its_layouts(void)
{
	check_eq(sizeof(struct gdrdrv_get_cb_flag), 16);
	field(gdrdrv_get_cb_flag, handle, 0, 8);
	field(gdrdrv_get_cb_flag, flag, 8, 4);
	check_eq(sizeof(struct gdrdrv_get_attr), 8);
	field(gdrdrv_get_attr, attr, 0, 4);
	field(gdrdrv_get_attr, val, 4, 4);
	check_eq(sizeof(struct gdrdrv_req_mapping_type), 16);
	field(gdrdrv_req_mapping_type, handle, 0, 8);
	field(gdrdrv_req_mapping_type, mapping_type, 8, 4);
	check_eq(sizeof(struct gdrdrv_get_version), 8);
	field(gdrdrv_get_version, gdrdrv_version, 0, 4);
	field(gdrdrv_get_version, minimum_gdr_api_version, 4, 4);
}

static const struct tap_test tests[] = {
	{"commands have their codes", commands_have_their_codes},
	{"constants have their values", constants_have_their_values},
	{"pinning has its layouts", pinning_has_its_layouts},
	{"info has its layouts", info_has_its_layouts},
	{"the rest has its layouts", the_rest_has_its_layouts},
};

TAP_MAIN(tests)
