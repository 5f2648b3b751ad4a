// SPDX-License-Identifier: MIT
#include "gpu/view.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static const struct bl_cpu_copy routines;

#define ID(generation, index) ((uint64_t)(generation) << 32 | ((index) + 1))

static void places_that_no_handle_has_are_none(void)
{
	check(!bl_view_find(0));
	check(!bl_view_find(UINT64_MAX));
	check(!bl_view_find(ID(1, BL_VIEW_CHUNK * BL_VIEW_CHUNKS)));
	check(!bl_view_find(ID(1, 5 * BL_VIEW_CHUNK)));
}

static void a_reserved_entry_is_empty_and_stays(void)
{
	struct bl_view *view;

	check_eq(bl_view_reserve(ID(1, 7)), 0);
	view = bl_view_find(ID(1, 7));
	check(view);
	check_eq(atomic_load(&view->id), 0);
	check_eq(bl_view_reserve(ID(9, 7)), 0);
	check(bl_view_find(ID(9, 7)) == view);
	check(bl_view_find(ID(1, 8)) == view + 1);
	/* the last place of all */
	check_eq(bl_view_reserve(ID(1, BL_VIEW_CHUNK * BL_VIEW_CHUNKS - 1)), 0);
	check(bl_view_find(ID(1, BL_VIEW_CHUNK * BL_VIEW_CHUNKS - 1)));
}

static void what_is_shown_is_found_until_it_is_hidden(void)
{
	uint64_t id = ID(3, 20);
	struct bl_view *view;
	char mapping[64];

	check_eq(bl_view_reserve(id), 0);
	bl_view_show(id, mapping, sizeof(mapping), &routines);
	view = bl_view_find(id);
	check_eq(atomic_load(&view->id), id);
	check_eq(atomic_load(&view->addr), (uintptr_t)mapping);
	check_eq(atomic_load(&view->len), sizeof(mapping));
	check(atomic_load(&view->copy) == &routines);
	bl_view_hide(id);
	check_eq(atomic_load(&view->id), 0);
}

static void a_child_finds_empty_entries(void)
{
	uint64_t id = ID(4, 21);
	char mapping[64];
	int status;
	pid_t pid;

	check_eq(bl_view_reserve(id), 0);
	bl_view_show(id, mapping, sizeof(mapping), &routines);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		syscall(SYS_exit_group, atomic_load(&bl_view_find(id)->id) != 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(atomic_load(&bl_view_find(id)->id), id);
	bl_view_hide(id);
}

/* One thread shows and hides; readers must never see the fields of one handle under another's name. */
static _Atomic(uint64_t) shown;
static atomic_bool stop;

static void *reader(void *arg)
{
	size_t *seen = arg;

	while (!atomic_load(&stop)) {
		uint64_t id = atomic_load(&shown);
		struct bl_view *view = bl_view_find(id);
		uintptr_t addr;

		if (!view || atomic_load_explicit(&view->id, memory_order_acquire) != id)
			continue;
		addr = atomic_load(&view->addr);
		/* unless it was hidden meanwhile */
		if (atomic_load(&view->id) == id && addr != (uintptr_t)id)
			return (void *)1;
		++*seen;
	}
	return NULL;
}

static void fields_belong_to_the_handle_they_are_read_for(void)
{
	pthread_t readers[3];
	size_t seen[3] = {0};
	void *wrong = NULL;

	check_eq(bl_view_reserve(ID(1, 22)), 0);
	for (int i = 0; i < 3; i++)
		check(!pthread_create(&readers[i], NULL, reader, &seen[i]));
	for (uint32_t generation = 1; generation <= 20000; generation++) {
		uint64_t id = ID(generation, 22);

		bl_view_show(id, (void *)(uintptr_t)id, 1, &routines);
		atomic_store(&shown, id);
		if (generation % 64 == 0)
			usleep(20);
		bl_view_hide(id);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++) {
		void *one;

		pthread_join(readers[i], &one);
		wrong = one ? one : wrong;
	}
	check(!wrong);
	check(seen[0] + seen[1] + seen[2] > 0);
}

static const struct tap_test tests[] = {
	{"places that no handle has are none", places_that_no_handle_has_are_none},
	{"a reserved entry is empty and stays", a_reserved_entry_is_empty_and_stays},
	{"what is shown is found until it is hidden", what_is_shown_is_found_until_it_is_hidden},
	{"a child finds empty entries", a_child_finds_empty_entries},
	{"fields belong to the handle they are read for", fields_belong_to_the_handle_they_are_read_for},
};

TAP_MAIN(tests)
