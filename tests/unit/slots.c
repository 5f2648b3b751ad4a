// SPDX-License-Identifier: MIT
#include "util/slots.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "tap.h"

static struct bl_slots slots;

/* Tests start from an empty table; chunks of the last one are given back. */
static void begin(void)
{
	for (size_t i = 0; i < BL_SLOT_CHUNKS; i++)
		free(slots.chunks[i]);
	memset(&slots, 0, sizeof(slots));
}

static uint64_t add(void *object)
{
	uint64_t id = 0;

	check_eq(bl_slots_add(&slots, object, &id), 0);
	check(id);
	return id;
}

static void an_id_names_its_object(void)
{
	int a, b;
	uint64_t ida, idb;

	begin();
	ida = add(&a);
	idb = add(&b);
	check(ida != idb);
	check(bl_slots_object(&slots, ida) == &a);
	check(bl_slots_object(&slots, idb) == &b);
	check_eq(ida, 1ULL << 32 | 1);
	check_eq(idb, 1ULL << 32 | 2);
}

static void ids_that_were_never_given_out_name_nothing(void)
{
	int a;
	uint64_t id;

	begin();
	check(!bl_slots_find(&slots, 1ULL << 32 | 1));
	id = add(&a);
	check(!bl_slots_object(&slots, 0));
	check(!bl_slots_object(&slots, 1));
	check(!bl_slots_object(&slots, id + 1));
	check(!bl_slots_object(&slots, id + (1ULL << 32)));
	check(!bl_slots_object(&slots, id - (1ULL << 32)));
	check(!bl_slots_find(&slots, 0));
	check(!bl_slots_find(&slots, UINT64_MAX));
	check(!bl_slots_find(&slots, 1ULL << 32 | (BL_SLOT_CHUNK * BL_SLOT_CHUNKS + 1)));
	check(!bl_slots_find(&slots, 1ULL << 32 | (BL_SLOT_CHUNK + 1)));
}

static void a_removed_id_stays_stale_when_its_slot_is_used_again(void)
{
	int a, b;
	uint64_t old, new;

	begin();
	old = add(&a);
	bl_slots_remove(&slots, old);
	check(!bl_slots_object(&slots, old));
	new = add(&b);
	check_eq((uint32_t)new, (uint32_t)old);
	check(new != old);
	check(!bl_slots_object(&slots, old));
	check(bl_slots_object(&slots, new) == &b);
	bl_slots_remove(&slots, old);
	check(bl_slots_object(&slots, new) == &b);
}

static void removing_twice_or_nothing_changes_nothing(void)
{
	int a;
	uint64_t id, other;

	begin();
	id = add(&a);
	bl_slots_remove(&slots, 0);
	bl_slots_remove(&slots, id);
	bl_slots_remove(&slots, id);
	bl_slots_remove(&slots, UINT64_MAX);
	other = add(&a);
	check((uint32_t)add(&a) != (uint32_t)other);
}

static void the_slot_freed_first_is_used_first(void)
{
	uint64_t ids[5];
	int a;

	begin();
	for (int i = 0; i < 5; i++)
		ids[i] = add(&a);
	bl_slots_remove(&slots, ids[3]);
	bl_slots_remove(&slots, ids[0]);
	bl_slots_remove(&slots, ids[2]);
	check_eq((uint32_t)add(&a), (uint32_t)ids[3]);
	check_eq((uint32_t)add(&a), (uint32_t)ids[0]);
	check_eq((uint32_t)add(&a), (uint32_t)ids[2]);
	check_eq((uint32_t)add(&a), 6);
}

static void a_slot_whose_generation_is_used_up_is_retired(void)
{
	uint64_t id;
	int a;

	begin();
	id = add(&a);
	bl_slots_find(&slots, id)->generation = UINT32_MAX - 1;
	bl_slots_remove(&slots, id);
	id = add(&a);
	check_eq(id, (uint64_t)UINT32_MAX << 32 | 1);
	bl_slots_remove(&slots, id);
	id = add(&a);
	check_eq((uint32_t)id, 2);
	bl_slots_remove(&slots, id);
	check_eq((uint32_t)add(&a), 2);
}

static void a_full_table_is_enomem_and_recovers(void)
{
	const size_t max = (size_t)BL_SLOT_CHUNK * BL_SLOT_CHUNKS;
	uint64_t id = 0, last = 0;
	int a;

	begin();
	for (size_t i = 0; i < max; i++)
		last = add(&a);
	check_eq((uint32_t)last, max);
	check_eq(bl_slots_add(&slots, &a, &id), -ENOMEM);
	check_eq(id, 0);
	bl_slots_remove(&slots, 1ULL << 32 | 77);
	check_eq(add(&a), 2ULL << 32 | 77);
	check_eq(bl_slots_add(&slots, &a, &id), -ENOMEM);
	begin();
}

static void forgetting_makes_every_id_stale_and_every_slot_free(void)
{
	uint64_t ids[300], again;
	int a;

	begin();
	for (int i = 0; i < 300; i++)
		ids[i] = add(&a);
	bl_slots_remove(&slots, ids[100]);
	bl_slots_forget(&slots);
	for (int i = 0; i < 300; i++)
		check(!bl_slots_object(&slots, ids[i]));
	for (int i = 0; i < 300; i++) {
		again = add(&a);
		check((uint32_t)again <= 300);
		for (int j = 0; j < 300; j++)
			check(again != ids[j]);
	}
	check_eq((uint32_t)add(&a), 301);
}

/* One writer adds and removes; readers look ids up without a lock, as they may at any time. */
static _Atomic(uint64_t) shown;
static atomic_bool stop;

static void *reader(void *arg)
{
	size_t *seen = arg;

	while (!atomic_load(&stop)) {
		uint64_t id = atomic_load(&shown);
		struct bl_slot *slot = bl_slots_find(&slots, id);
		uint64_t now = slot ? atomic_load(&slot->id) : 0;

		/* the slot is free or has an id of its own place, never one that lies before */
		if (now && ((uint32_t)now != (uint32_t)id || now < id))
			return (void *)1;
		*seen += now == id && id;
	}
	return NULL;
}

static void lookups_without_a_lock_see_no_other_id(void)
{
	pthread_t readers[3];
	size_t seen[3] = {0};
	void *wrong = NULL;
	int a;

	begin();
	atomic_store(&shown, 0);
	atomic_store(&stop, false);
	for (int i = 0; i < 3; i++)
		check(!pthread_create(&readers[i], NULL, reader, &seen[i]));
	for (size_t i = 0; i < 2000; i++) {
		uint64_t id = add(&a);

		atomic_store(&shown, id);
		if (i % 8 == 0)
			usleep(50);
		bl_slots_remove(&slots, id);
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
	{"an id names its object", an_id_names_its_object},
	{"ids that were never given out name nothing", ids_that_were_never_given_out_name_nothing},
	{"a removed id stays stale when its slot is used again", a_removed_id_stays_stale_when_its_slot_is_used_again},
	{"removing twice or nothing changes nothing", removing_twice_or_nothing_changes_nothing},
	{"the slot freed first is used first", the_slot_freed_first_is_used_first},
	{"a slot whose generation is used up is retired", a_slot_whose_generation_is_used_up_is_retired},
	{"a full table is ENOMEM and recovers", a_full_table_is_enomem_and_recovers},
	{"forgetting makes every id stale and every slot free", forgetting_makes_every_id_stale_and_every_slot_free},
	{"lookups without a lock see no other id", lookups_without_a_lock_see_no_other_id},
};

TAP_MAIN(tests)
