// SPDX-License-Identifier: MIT
#include <errno.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "gpu/provider.h"
#include "tap.h"

static const struct fake_device control_node;

static void clear(void)
{
	unsetenv("BARLANE_PROVIDER");
	unsetenv("GDRCOPY_PROVIDER");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
}

/* A machine with everything: the module, a driver that can do dma-buf mmap, the control node. */
static void begin(void)
{
	clear();
	fake_gdrdrv_begin(6);
	fake_sys_device("/dev/nvidiactl", &control_node);
	fake_sys_text("/sys/module/nvidia/version", "610.10\n");
}

static const char *selected(const char *name)
{
	const struct bl_provider_ops *const *ops = NULL;

	if (bl_provider_select(name, bl_providers, &ops))
		return "none";
	return (*ops)->name;
}

static void the_order_is_gdrdrv_dmabuf_rm(void)
{
	begin();
	check_str(selected(NULL), "gdrdrv");
	fake_sys_device("/dev/gdrdrv", NULL);
	check_str(selected(NULL), "dmabuf");
	fake_sys_text("/sys/module/nvidia/version", "580.159.04");
	check_str(selected(NULL), "rm");
	fake_sys_device("/dev/nvidiactl", NULL);
	check_str(selected(NULL), "none");
	check_eq(fake_sys_files(), 0);
}

static void the_search_can_go_on_behind_a_provider(void)
{
	const struct bl_provider_ops *const *ops = NULL;

	begin();
	check_eq(bl_provider_select(NULL, bl_providers + 1, &ops), 0);
	check_str((*ops)->name, "dmabuf");
	check_eq(bl_provider_select(NULL, ops + 1, &ops), 0);
	check_str((*ops)->name, "rm");
	check_eq(bl_provider_select(NULL, ops + 1, &ops), -ENODEV);
}

static void an_argument_forces_the_choice(void)
{
	begin();
	setenv("BARLANE_PROVIDER", "dmabuf", 1);
	check_str(selected("gdrdrv"), "gdrdrv");
	check_str(selected("rm"), "rm");
	check_str(selected("dmabuf"), "dmabuf");
}

static void variables_force_the_choice_ours_first(void)
{
	begin();
	check(!bl_provider_forced());
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	check_str(selected(NULL), "dmabuf");
	setenv("GDRCOPY_PROVIDER", "rm", 1);
	check_str(selected(NULL), "rm");
	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	check_str(selected(NULL), "gdrdrv");
	setenv("BARLANE_PROVIDER", "", 1);
	check_str(selected(NULL), "rm");
	setenv("GDRCOPY_PROVIDER", "", 1);
	check_str(selected(NULL), "dmabuf");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	check_str(selected(NULL), "gdrdrv");
	check(!bl_provider_forced());
}

static void only_1_switches_the_originals_variable_on(void)
{
	static const char *const values[] = {"", "0", "2", "yes", "01", "1 ", "true"};

	begin();
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setenv("GDRCOPY_USE_DMABUF_MMAP", values[i], 1);
		check(!bl_provider_forced());
		check_str(selected(NULL), "gdrdrv");
	}
}

static void a_forced_provider_that_cannot_serve_is_not_replaced(void)
{
	const struct bl_provider_ops *const *ops = NULL;
	int code = 0;

	begin();
	fake_sys_device("/dev/gdrdrv", NULL);
	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	check_eq(bl_provider_select(NULL, bl_providers, &ops), -ENODEV);
	check(!ops);
	check_has(bl_last_error(&code), "provider gdrdrv was asked for and cannot serve");
	check_has(bl_last_error(NULL), "/dev/gdrdrv");
	check_eq(code, ENODEV);
}

static void an_unknown_name_is_einval_and_names_those_that_exist(void)
{
	static const char *const names[] = {"gdr", "gdrdrv ", "RM", "", "dmabuf,rm", "%s%n"};
	const struct bl_provider_ops *const *ops = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		begin();
		check_eq(bl_provider_select(names[i], bl_providers, &ops), -EINVAL);
		check(!ops);
		check_has(bl_last_error(NULL), "no such provider");
		check_has(bl_last_error(NULL), "gdrdrv, dmabuf and rm");
	}
	setenv("GDRCOPY_PROVIDER", "nothing", 1);
	check_eq(bl_provider_select(NULL, bl_providers, &ops), -EINVAL);
	check_has(bl_last_error(NULL), "provider nothing");
}

static void when_none_can_serve_every_reason_is_told(void)
{
	const struct bl_provider_ops *const *ops = NULL;
	const char *text;
	bl_ctx_t ctx = 77;
	int code = 0;

	begin();
	fake_sys_broken("/dev/gdrdrv", EACCES);
	fake_sys_text("/sys/module/nvidia/version", "470.256.02");
	check_eq(bl_provider_select(NULL, bl_providers, &ops), -ENODEV);
	text = bl_last_error(&code);
	check_eq(code, ENODEV);
	check_has(text, "gdrdrv: open /dev/gdrdrv: Permission denied");
	check_has(text, "dmabuf: driver 470.256.02");
	check_has(text, "rm: driver 470.256.02 is older than 515");
	fake_sys_broken("/dev/nvidiactl", ENOENT);
	check_eq(bl_open(NULL, &ctx), -ENODEV);
	check_eq(ctx, 77);
	check_has(bl_last_error(NULL), "rm: open /dev/nvidiactl: No such file or directory (no NVIDIA driver");
	fake_sys_text("/sys/module/nvidia/version", NULL);
	check_eq(bl_open(NULL, &ctx), -ENODEV);
	check_has(bl_last_error(NULL), "dmabuf: no NVIDIA driver is loaded");
	check_eq(fake_sys_files(), 0);
}

static void the_list_has_every_provider_with_its_state(void)
{
	struct bl_provider_info infos[4];

	begin();
	fake_sys_broken("/dev/nvidiactl", EPERM);
	fake_sys_text("/sys/module/nvidia/version", "580.159.04");
	memset(infos, 0x5a, sizeof(infos));
	check_eq(bl_provider_list(infos, 4), 3);
	check_str(infos[0].name, "gdrdrv");
	check_eq(infos[0].usable, 1);
	check_eq(infos[0].error, 0);
	check_eq(infos[0].minor, 6);
	check_str(infos[1].name, "dmabuf");
	check_eq(infos[1].usable, 0);
	check_eq(infos[1].error, -EOPNOTSUPP);
	check_has(infos[1].reason, "610");
	check_str(infos[2].name, "rm");
	check_eq(infos[2].usable, 0);
	check_eq(infos[2].error, -EPERM);
	check_eq(infos[2].persistent, 1);
	check_eq((unsigned char)infos[3].reason[0], 0x5a);
	check_eq(fake_sys_files(), 0);
}

static void a_short_list_still_says_how_many_exist(void)
{
	struct bl_provider_info infos[2];

	begin();
	memset(infos, 0x5a, sizeof(infos));
	check_eq(bl_provider_list(NULL, 0), 3);
	check_eq(bl_provider_list(infos, 1), 3);
	check_str(infos[0].name, "gdrdrv");
	check_eq((unsigned char)infos[1].reason[0], 0x5a);
}

static void unknown_driver_versions_are_not_held_against_rm(void)
{
	struct bl_provider_info infos[3];

	begin();
	fake_sys_text("/sys/module/nvidia/version", "development");
	check_eq(bl_provider_list(infos, 3), 3);
	check_eq(infos[1].usable, 0);
	check_eq(infos[2].usable, 1);
	fake_sys_text("/sys/module/nvidia/version", NULL);
	check_eq(bl_provider_list(infos, 3), 3);
	check_eq(infos[2].usable, 1);
	check_has(infos[2].reason, "unknown version");
	fake_sys_text("/sys/module/nvidia/version", "514.99");
	check_eq(bl_provider_list(infos, 3), 3);
	check_eq(infos[2].usable, 0);
	fake_sys_text("/sys/module/nvidia/version", "515.43.04");
	check_eq(bl_provider_list(infos, 3), 3);
	check_eq(infos[2].usable, 1);
}

static const struct tap_test tests[] = {
	{"the order is gdrdrv, dmabuf, rm", the_order_is_gdrdrv_dmabuf_rm},
	{"the search can go on behind a provider", the_search_can_go_on_behind_a_provider},
	{"an argument forces the choice", an_argument_forces_the_choice},
	{"variables force the choice, ours first", variables_force_the_choice_ours_first},
	{"only 1 switches the original's variable on", only_1_switches_the_originals_variable_on},
	{"a forced provider that cannot serve is not replaced", a_forced_provider_that_cannot_serve_is_not_replaced},
	{"an unknown name is EINVAL and names those that exist",
	 an_unknown_name_is_einval_and_names_those_that_exist},
	{"when none can serve every reason is told", when_none_can_serve_every_reason_is_told},
	{"the list has every provider with its state", the_list_has_every_provider_with_its_state},
	{"a short list still says how many exist", a_short_list_still_says_how_many_exist},
	{"unknown driver versions are not held against rm", unknown_driver_versions_are_not_held_against_rm},
};

TAP_MAIN(tests)
