// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* /sys/kernel/debug/bl_card: knobs, counters, and what is pinned now. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "card.h"

static struct dentry *dir;

int bl_counters_read(struct bl_card_counters *counts, bool verify)
{
	if (!bl_card)
		return -ENODEV;
	if (verify)
		bl_poison_check(bl_card);
	*counts = bl_card->counts;
	counts->flags = verify ? BL_CARD_COUNTERS_VERIFY : 0;
	return 0;
}

static void show(struct seq_file *seq, const char *name, u64 value)
{
	seq_printf(seq, "%s %llu\n", name, value);
}

static int show_counters(struct seq_file *seq, bool verify)
{
	struct bl_card_counters counts;
	int ret;

	mutex_lock(&bl_rm);
	ret = bl_counters_read(&counts, verify);
	mutex_unlock(&bl_rm);
	if (ret)
		return ret;
	show(seq, "used", counts.used);
	show(seq, "pins", counts.pins);
	show(seq, "persistent", counts.persistent);
	show(seq, "dma_maps", counts.dma_maps);
	show(seq, "dmabufs", counts.dmabufs);
	show(seq, "poisoned", counts.poisoned);
	show(seq, "gets", counts.gets);
	show(seq, "puts", counts.puts);
	show(seq, "callbacks", counts.callbacks);
	show(seq, "late_puts", counts.late_puts);
	show(seq, "late_writes", counts.late_writes);
	show(seq, "misuses", counts.misuses);
	show(seq, "unpoisoned", counts.unpoisoned);
	show(seq, "lingering", counts.lingering);
	return 0;
}

static int counters_show(struct seq_file *seq, void *unused)
{
	return show_counters(seq, false);
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int verify_show(struct seq_file *seq, void *unused)
{
	return show_counters(seq, true);
}
DEFINE_SHOW_ATTRIBUTE(verify);

static int pins_show(struct seq_file *seq, void *unused)
{
	struct bl_pin *pin;
	int bucket;

	mutex_lock(&bl_rm);
	if (bl_card) {
		hash_for_each(bl_pins, bucket, pin, by_table)
			seq_printf(seq, "va 0x%llx len 0x%llx offset 0x%llx %s\n", pin->va,
				   pin->len, (u64)(pin->pa - bl_card->bar_pa),
				   pin->callback ? "callback" : "persistent");
	}
	mutex_unlock(&bl_rm);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pins);

static int knob_get(void *data, u64 *value)
{
	struct bl_knob *knob = data;

	mutex_lock(&bl_rm);
	*value = knob->left;
	mutex_unlock(&bl_rm);
	return 0;
}

static int knob_set(void *data, u64 value)
{
	struct bl_knob *knob = data;

	mutex_lock(&bl_rm);
	knob->left = value;
	mutex_unlock(&bl_rm);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(knob_ops, knob_get, knob_set, "%llu\n");

/* 1: all pins that can be. 2: the dma-bufs as well. */
static int revoke_set(void *data, u64 value)
{
	struct bl_card *card;

	if (value != 1 && value != 2)
		return -EINVAL;
	mutex_lock(&bl_rm);
	card = bl_card;
	if (card) {
		kref_get(&card->ref);
		bl_pins_revoke_all();
	}
	mutex_unlock(&bl_rm);
	if (!card)
		return -ENODEV;
	if (value == 2)
		bl_dmabufs_revoke(card);
	kref_put(&card->ref, bl_card_release);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(revoke_ops, NULL, revoke_set, "%llu\n");

static void knob(const char *name, struct bl_knob *at)
{
	debugfs_create_file_unsafe(name, 0600, dir, at, &knob_ops);
}

/* Nothing depends on these files, so what debugfs refuses is not an error. */
void bl_debugfs_create(void)
{
	dir = debugfs_create_dir("bl_card", NULL);
	debugfs_create_file("counters", 0400, dir, NULL, &counters_fops);
	debugfs_create_file("verify", 0400, dir, NULL, &verify_fops);
	debugfs_create_file("pins", 0400, dir, NULL, &pins_fops);
	debugfs_create_file_unsafe("revoke", 0200, dir, NULL, &revoke_ops);
	knob("fail_get_pages", &bl_knobs.fail_get);
	knob("fail_dma_map", &bl_knobs.fail_dma_map);
	knob("fail_alloc", &bl_knobs.fail_alloc);
	knob("revoke_get_pages", &bl_knobs.revoke_get);
	debugfs_create_u32("fail_errno", 0600, dir, &bl_knobs.fail_errno);
	debugfs_create_u32("delay_get_ms", 0600, dir, &bl_knobs.delay_get_ms);
	debugfs_create_u32("delay_put_ms", 0600, dir, &bl_knobs.delay_put_ms);
	debugfs_create_u32("delay_callback_ms", 0600, dir, &bl_knobs.delay_callback_ms);
	debugfs_create_x32("page_table_version", 0600, dir, &bl_knobs.page_table_version);
	debugfs_create_u32("page_size", 0600, dir, &bl_knobs.page_size);
	debugfs_create_bool("cacheable", 0600, dir, &bl_knobs.cacheable);
	debugfs_create_bool("persistent", 0600, dir, &bl_knobs.persistent);
	debugfs_create_bool("force_bar1", 0600, dir, &bl_knobs.force_bar1);
	debugfs_create_u32("poison_max_mib", 0600, dir, &bl_knobs.poison_max_mib);
}

void bl_debugfs_remove(void)
{
	debugfs_remove(dir);
}
