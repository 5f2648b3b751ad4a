// SPDX-License-Identifier: MIT
#include "fault.h"

#include "tap.h"

#include <fcntl.h>
#include <unistd.h>

#define POINTS_MAX 3000
#define COUNT_MAX  1000000U

static void setting(const char *folder, const char *name, const char *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", folder, name);
	file = fopen(path, "we");
	check(file);
	fprintf(file, "%s\n", value);
	check_eq(fclose(file), 0);
}

void fault_needed(void)
{
	if (access("/proc/thread-self/fail-nth", W_OK) || access("/sys/kernel/debug/failslab", F_OK) ||
	    access("/sys/kernel/debug/fail_page_alloc", F_OK))
		skip("this kernel has no fault injection");
	/* else only allocations that may not sleep fail, of which there are hardly any */
	setting("failslab", "ignore-gfp-wait", "N");
	setting("failslab", "verbose", "0");
	setting("fail_page_alloc", "ignore-gfp-wait", "N");
	setting("fail_page_alloc", "ignore-gfp-highmem", "N");
	setting("fail_page_alloc", "verbose", "0");
}

/* 10 is beyond what the page allocator gives, so that none of its allocations count. */
static void count_pages(bool on)
{
	setting("fail_page_alloc", "min-order", on ? "0" : "10");
}

/*
 * Between the two system calls there is nothing but the operation. Returns how many allocations more than it made would
 * have been needed: 0 when the Nth came, and failed.
 */
static unsigned int run_armed(int (*run)(void), int fail_nth, unsigned int n, int *ret_p)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	check_eq(pwrite(fail_nth, text, (size_t)len, 0), len);
	*ret_p = run();
	len = (int)pread(fail_nth, text, sizeof(text) - 1, 0);
	/* nothing that follows may fail */
	check_eq(pwrite(fail_nth, "0", 1, 0), 1);
	check(len > 0);
	text[len] = '\0';
	return (unsigned int)strtoul(text, NULL, 10);
}

static int open_fail_nth(void)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

unsigned int fault_count(int (*run)(void))
{
	int fail_nth = open_fail_nth(), ret;
	unsigned int left;

	count_pages(false);
	left = run_armed(run, fail_nth, COUNT_MAX, &ret);
	close(fail_nth);
	check(left);
	return COUNT_MAX - left;
}

/* Whether the operation failed. */
static bool judge(const struct fault_op *op, unsigned int n, int ret, const struct state *before,
		  struct state (*now)(void))
{
	struct state after;

	if (!ret)
		return false;
	if (ret != -ENOMEM && (!op->also || ret != -op->also))
		tap_end(TAP_FAILED, "allocation %u fails: errno %d", n, -ret);
	after = now();
	if (op->splits && after.nr_maps == before->nr_maps + 1)
		after.nr_maps = before->nr_maps;
	state_check(&after, before);
	/* and it works when it is tried again */
	check_eq(op->run(), 0);
	return true;
}

void fault_walk(const char *name, const struct fault_op *op, struct state (*now)(void))
{
	struct state empty = now(), before = empty, after;
	unsigned int first = op->first ? op->first : 1, n = first, failed = 0;
	int fail_nth = open_fail_nth();
	bool injected;
	int ret;

	count_pages(!op->coarse);
	do {
		check(n <= POINTS_MAX);
		if (op->prepare) {
			op->prepare();
			before = now();
		}
		injected = !run_armed(op->run, fail_nth, n, &ret);
		if (injected)
			failed += judge(op, n++, ret, &before, now);
		else
			check_eq(ret, 0);
		op->undo();
		after = now();
		state_check(&after, &empty);
	} while (injected);
	close(fail_nth);
	if (op->first)
		printf("# %s: from allocation %u on\n", name, first);
	printf("# %s: %u points, %u of them let it fail\n", name, n - first, failed);
}
