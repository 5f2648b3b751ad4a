// SPDX-License-Identifier: MIT
/* Finding the nvidia-fs module, and what its answers mean. */
#include "file/nvfs_dev.h"

#include "nvfs_fixture.h"

#define VERSION "/proc/driver/nvidia-fs/version"

static void opens(int want, const char *says)
{
	struct bl_nvfs_dev *dev = NULL;
	char why[256] = "";
	int ret = bl_nvfs_dev_open(&dev, why, sizeof(why));

	check_eq(ret, want);
	check_has(why, says);
	if (!ret)
		bl_nvfs_dev_put(dev);
	else
		check(!dev);
	fake_nvfs_end();
}

static void all_nodes_are_opened_and_used_in_turn(void)
{
	struct bl_nvfs_dev *dev;
	char why[256];
	int first;

	fake_nvfs_begin();
	check_eq(bl_nvfs_dev_open(&dev, why, sizeof(why)), 0);
	check_eq(dev->nr, 16);
	check_eq(fake_nvfs_counts().files, 16);
	first = bl_nvfs_dev_fd(dev);
	for (int i = 1; i < 16; i++)
		check(bl_nvfs_dev_fd(dev) != first);
	check_eq(bl_nvfs_dev_fd(dev), first);
	bl_nvfs_dev_put(dev);
	fake_nvfs_end();
}

static void without_the_module_the_cure_is_to_load_it(void)
{
	fake_nvfs_begin();
	fake_nvfs_text(VERSION, NULL);
	opens(-ENOENT, "modprobe nvidia-fs");
}

static void without_nodes_the_cure_is_to_make_them(void)
{
	fake_nvfs_begin();
	fake_nvfs.nodes = 0;
	opens(-ENOENT, "container");
}

static void closed_nodes_are_told_with_their_mode(void)
{
	fake_nvfs_begin();
	fake_nvfs.closed = 0xffff;
	opens(-EACCES, "0666");
	fake_nvfs.closed = 0xfffe;
	opens(0, "1 nodes");
	fake_nvfs.closed = 1;
	opens(0, "15 nodes");
}

static void stale_nodes_and_a_module_that_goes_are_told(void)
{
	fake_nvfs_begin();
	fake_nvfs.open_err = ENXIO;
	opens(-ENXIO, "earlier load");
	fake_nvfs.open_err = 0;
	fake_nvfs.unloading = true;
	opens(-EINVAL, "being unloaded");
	fake_nvfs.unloading = false;
	fake_nvfs.open_err = EMFILE;
	opens(-EMFILE, "limit");
}

static void versions_that_nobody_knows_are_refused(void)
{
	static const struct {
		const char *text;
		int ret;
	} cases[] = {
		{"version: 2.12\n", 0},	 {"version: 2.28\n", 0},     {"version: 2.11\n", -EPROTONOSUPPORT},
		{"version: 1.9\n", -EPROTONOSUPPORT}, {"version: 3.0\n", -EPROTONOSUPPORT}, {"2.28\n", -EPROTONOSUPPORT},
		{"", -EPROTONOSUPPORT}, {"version: x\n", -EPROTONOSUPPORT},
	};

	fake_nvfs_begin();
	for (size_t i = 0; i < NR_OF(cases); i++) {
		fake_nvfs_text(VERSION, cases[i].text);
		opens(cases[i].ret, cases[i].ret ? "version" : "nvidia-fs 2.");
	}
}

static int read_gives(struct nvfs *n, int refusal)
{
	struct bl_nvfs_request rq = nvfs_request(n, false, 0, 0, 4096);
	int ret;

	fake_nvfs_inject(FAKE_REFUSE, refusal, 0);
	ret = bl_nvfs_transfer(n->pool, &rq);
	check(fake_nvfs_happened());
	return ret == -EAGAIN ? rq.reason : ret;
}

static void numbers_of_the_kernel_alone_are_translated(void)
{
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(64 * KB, 0, MB);
	check_eq(read_gives(&n, 524), -EOPNOTSUPP);
	check_eq(read_gives(&n, 529), -EOPNOTSUPP);
	check_eq(read_gives(&n, 528), -EIO);
	check_eq(read_gives(&n, 4095), -EIO);
	/* a signal: the request is made again, and this time works */
	check_eq(read_gives(&n, 512), 0);
	check_eq(read_gives(&n, EINTR), 0);
	nvfs_close(&n);
}

static void a_module_that_went_is_asked_nothing_more(void)
{
	struct bl_nvfs_request rq;
	struct nvfs n;

	fake_nvfs_begin();
	n = nvfs_open(64 * KB, 0, MB);
	rq = nvfs_request(&n, false, 0, 0, 4096);
	check_eq(bl_nvfs_transfer(n.pool, &rq), 0);
	fake_nvfs.unloading = true;
	check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
	check_eq(rq.reason, -ENODEV);
	check(atomic_load(&n.dev->gone));
	/* even if it comes back behind our back */
	fake_nvfs.unloading = false;
	check_eq(bl_nvfs_transfer(n.pool, &rq), -EAGAIN);
	check_eq(rq.reason, -ENODEV);
	check_eq(fake_nvfs_counts().reads, 1);
	nvfs_close(&n);
}

static const struct tap_test tests[] = {
	{"all_nodes_are_opened_and_used_in_turn", all_nodes_are_opened_and_used_in_turn},
	{"without_the_module_the_cure_is_to_load_it", without_the_module_the_cure_is_to_load_it},
	{"without_nodes_the_cure_is_to_make_them", without_nodes_the_cure_is_to_make_them},
	{"closed_nodes_are_told_with_their_mode", closed_nodes_are_told_with_their_mode},
	{"stale_nodes_and_a_module_that_goes_are_told", stale_nodes_and_a_module_that_goes_are_told},
	{"versions_that_nobody_knows_are_refused", versions_that_nobody_knows_are_refused},
	{"numbers_of_the_kernel_alone_are_translated", numbers_of_the_kernel_alone_are_translated},
	{"a_module_that_went_is_asked_nothing_more", a_module_that_went_is_asked_nothing_more},
};

TAP_MAIN(tests)
