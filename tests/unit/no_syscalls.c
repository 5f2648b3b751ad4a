// SPDX-License-Identifier: MIT
/* no_syscalls.c - a small copy makes no system call, takes no lock, allocates nothing */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy/cpu.h"
#include "fake_gdrdrv.h"
#include "gdrapi.h"
#include "quiet.h"
#include "tap.h"

#define MAX_COPY 4096

struct setup {
	gdr_t g;
	gdr_mh_t handle[2];
	uint8_t *va;
};

/* With @mixed a second mapping of another type exists. */
static void set_up(struct setup *s, uint32_t type, bool mixed)
{
	void *va = NULL;

	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	fake_gdrdrv_begin(6);
	s->g = gdr_open();
	if (!s->g)
		quiet_leave(QUIET_WRONG_SETUP);
	for (int i = mixed; i >= 0; i--) {
		fake_gdrdrv.type = i ? 3 - type : type;
		if (gdr_pin_buffer(s->g, FAKE_VRAM_VA, GPU_PAGE_SIZE, 0, 0, &s->handle[i]) ||
		    gdr_map(s->g, s->handle[i], &va, GPU_PAGE_SIZE))
			quiet_leave(QUIET_WRONG_SETUP);
	}
	s->va = va;
}

/* The arena is in the data segment: nothing here may fault in what is not there for want of a system call. */
static uint8_t sent[MAX_COPY + 64], seen[MAX_COPY + 64];

static int copy_all_sizes(const struct setup *s)
{
	for (size_t len = 1; len <= MAX_COPY; len++) {
		size_t at = len * 13 % 64, host = len * 7 % 64;

		sent[host] = (uint8_t)len;
		sent[host + len - 1] = (uint8_t)(len >> 4);
		seen[host + len - 1] = (uint8_t)~sent[host + len - 1];
		if (gdr_copy_to_mapping(s->handle[0], s->va + at, sent + host, len) ||
		    gdr_copy_from_mapping(s->handle[0], seen + host, s->va + at, len))
			return QUIET_CALL_FAILED;
		if (memcmp(sent + host, seen + host, len))
			return QUIET_WRONG_BYTES;
	}
	return 0;
}

static void run_locked_down(uint32_t type, bool mixed)
{
	unsigned long before;
	struct setup s;
	int ret;

	set_up(&s, type, mixed);
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 5);
	quiet_lock_down();
	before = quiet_calls;
	ret = copy_all_sizes(&s);
	quiet_leave(ret ? ret : quiet_calls != before ? QUIET_CALLED : 0);
}

static void call_something(uint32_t type, bool mixed)
{
	quiet_lock_down();
	syscall(SYS_getppid);
	quiet_leave(0);
}

static void call_nothing(uint32_t type, bool mixed)
{
	quiet_lock_down();
	quiet_leave(0);
}

static void a_system_call_would_be_noticed(void)
{
	int status = quiet_child(call_something, 0, false);

	check(WIFSIGNALED(status));
	check_eq(WTERMSIG(status), SIGSYS);
	quiet_check(call_nothing, 0, false);
}

static void locks_and_allocations_would_be_noticed(void)
{
	unsigned long before = quiet_calls;
	struct setup s = {0};
	void *va = NULL;

	fake_gdrdrv_begin(6);
	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	s.g = gdr_open();
	check(s.g);
	check(quiet_calls > before);
	before = quiet_calls;
	check_eq(gdr_pin_buffer(s.g, FAKE_VRAM_VA, 1, 0, 0, &s.handle[0]), 0);
	check(quiet_calls > before);
	before = quiet_calls;
	check_eq(gdr_map(s.g, s.handle[0], &va, 1), 0);
	check(quiet_calls > before);
	check_eq(gdr_close(s.g), 0);
	fake_gdrdrv_end();
}

static void copies_to_write_combining_mappings_make_no_call(void)
{
	int tried = 0;

	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (!bl_cpu_isas[i]->supported())
			continue;
		setenv("BARLANE_CPU_ISA", bl_cpu_isas[i]->name, 1);
		printf("# %s\n", bl_cpu_isas[i]->name);
		quiet_check(run_locked_down, GDR_MAPPING_TYPE_WC, false);
		tried++;
	}
	unsetenv("BARLANE_CPU_ISA");
	check(tried > 0);
	quiet_check(run_locked_down, GDR_MAPPING_TYPE_WC, false);
}

static void copies_to_cached_mappings_make_no_call(void)
{
	quiet_check(run_locked_down, GDR_MAPPING_TYPE_CACHING, false);
}

static void copies_beside_a_mapping_of_another_type_make_no_call(void)
{
	quiet_check(run_locked_down, GDR_MAPPING_TYPE_WC, true);
	quiet_check(run_locked_down, GDR_MAPPING_TYPE_CACHING, true);
}

static const struct tap_test tests[] = {
	{"a system call would be noticed", a_system_call_would_be_noticed},
	{"locks and allocations would be noticed", locks_and_allocations_would_be_noticed},
	{"copies to write-combining mappings make no call", copies_to_write_combining_mappings_make_no_call},
	{"copies to cached mappings make no call", copies_to_cached_mappings_make_no_call},
	{"copies beside a mapping of another type make no call",
	 copies_beside_a_mapping_of_another_type_make_no_call},
};

TAP_MAIN(tests)
