// SPDX-License-Identifier: MIT
/* Opening and failing to open, a great many times: the number of descriptors stays what it was. */
#include <errno.h>
#include <unistd.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "gdrapi.h"
#include "tap.h"

#define ROUNDS 100000

static void begin(void)
{
	unsetenv("GDRCOPY_PROVIDER");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	fake_gdrdrv_begin(6);
}

static void opening_and_closing_leaves_no_descriptor(void)
{
	bl_ctx_t first = 0, ctx = 0;
	int fds;

	begin();
	fds = fake_count_fds();
	for (int i = 0; i < ROUNDS; i++) {
		check_eq(bl_open(NULL, &ctx), 0);
		check(ctx != first);
		first = first ? first : ctx;
		check_eq(bl_close(ctx), 0);
	}
	check_eq(fake_count_fds(), fds);
	fake_gdrdrv_end();
}

static void gdr_open_and_gdr_close_leave_no_descriptor(void)
{
	int fds;

	begin();
	fds = fake_count_fds();
	for (int i = 0; i < ROUNDS; i++) {
		gdr_t g = gdr_open();

		check(g);
		check_eq(gdr_close(g), 0);
	}
	check_eq(fake_count_fds(), fds);
	fake_gdrdrv_end();
}

/* Every way to fail in turn: no node, no permission, no answer, a version that does not fit, at the second opening. */
static void make_fail(int how)
{
	fake_gdrdrv.fail_code = 0;
	fake_gdrdrv.version = FAKE_GDRDRV_VERSION(6);
	fake_sys_fail_at(-1, 0);
	switch (how) {
	case 0:
		fake_sys_fail_at(0, EACCES);
		break;
	case 1:
		fake_gdrdrv.fail_code = 0xC008DAFF;
		fake_gdrdrv.fail_err = ENOTTY;
		break;
	case 2:
		fake_gdrdrv.version = 3U << 16;
		break;
	case 3: /* probing is open, version and two attributes */
		fake_sys_fail_at(4, EMFILE);
		break;
	case 4:
		fake_sys_fail_at(5, EIO);
		break;
	}
}

static void failing_to_open_leaves_no_descriptor(void)
{
	static const int want[] = {-ENODEV, -ENODEV, -ENODEV, -EMFILE, -EIO};
	bl_ctx_t ctx = 77;
	int fds;

	begin();
	fds = fake_count_fds();
	for (int i = 0; i < ROUNDS; i++) {
		make_fail(i % 5);
		check_eq(bl_open(NULL, &ctx), want[i % 5]);
	}
	check_eq(ctx, 77);
	check_eq(fake_count_fds(), fds);
	fake_gdrdrv_end();
}

static void failing_to_gdr_open_leaves_no_descriptor(void)
{
	int fds;

	begin();
	fds = fake_count_fds();
	for (int i = 0; i < ROUNDS; i++) {
		make_fail(i % 5);
		check(!gdr_open());
	}
	check_eq(fake_count_fds(), fds);
	fake_gdrdrv_end();
}

static void names_that_do_not_exist_leave_no_descriptor(void)
{
	bl_ctx_t ctx = 77;
	int fds;

	begin();
	fds = fake_count_fds();
	for (int i = 0; i < ROUNDS; i++)
		check_eq(bl_open("nothing", &ctx), -EINVAL);
	check_eq(fake_count_fds(), fds);
	fake_gdrdrv_end();
}

static const struct tap_test tests[] = {
	{"opening and closing leaves no descriptor", opening_and_closing_leaves_no_descriptor},
	{"gdr_open and gdr_close leave no descriptor", gdr_open_and_gdr_close_leave_no_descriptor},
	{"failing to open leaves no descriptor", failing_to_open_leaves_no_descriptor},
	{"failing to gdr_open leaves no descriptor", failing_to_gdr_open_leaves_no_descriptor},
	{"names that do not exist leave no descriptor", names_that_do_not_exist_leave_no_descriptor},
};

TAP_MAIN(tests)
