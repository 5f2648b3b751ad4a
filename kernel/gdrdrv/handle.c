// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Handles of a file. A handle is the first page of its pin's mapping in the file, so each pin takes as many numbers as it
 * has pages, and no two overlap. Numbers are given out in order from 0 on. Only when all 32 bits that user space of
 * GDRCopy keeps were used once, the lowest gap that is large enough is taken.
 */
#include "core.h"

#define HANDLES_END (1ULL << 32)

static u64 pages_of(const struct bl_pin *pin)
{
	return max_t(u64, 1, pin->len >> PAGE_SHIFT);
}

void bl_handles_init(struct bl_file *file)
{
	xa_init_flags(&file->pins, XA_FLAGS_ACCOUNT);
	mutex_init(&file->lock);
	file->next = 0;
	file->gap_end = HANDLES_END;
}

static int find_gap(struct bl_file *file, u64 pages)
{
	struct bl_pin *pin;
	unsigned long index;
	u64 start = 0;

	xa_lock(&file->pins);
	xa_for_each(&file->pins, index, pin) {
		if (index - start >= pages)
			break;
		start = index + pages_of(pin);
	}
	xa_unlock(&file->pins);
	file->next = start;
	file->gap_end = pin ? index : HANDLES_END;
	return file->gap_end - start >= pages ? 0 : -ENOMEM;
}

/**
 * bl_handle_add() - Put a pin into the table of a file
 * @file: the file
 * @pin:  the pin; its handle is set, and the table takes a reference over
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM (memory, or numbers).
 */
int bl_handle_add(struct bl_file *file, struct bl_pin *pin)
{
	u64 pages = pages_of(pin);
	int ret = 0;

	mutex_lock(&file->lock);
	if (file->gap_end - file->next < pages)
		ret = find_gap(file, pages);
	if (ret)
		goto unlock;
	pin->handle = file->next;
	ret = xa_err(xa_store(&file->pins, pin->handle, pin, GFP_KERNEL_ACCOUNT));
	if (!ret)
		file->next += pages;
unlock:
	mutex_unlock(&file->lock);
	return ret;
}

/**
 * bl_handle_get() - Find a pin
 * @file:   the file
 * @handle: its handle in that file
 *
 * Return: the pin with a reference for the caller, or NULL.
 */
struct bl_pin *bl_handle_get(struct bl_file *file, u64 handle)
{
	struct bl_pin *pin;

	xa_lock(&file->pins);
	pin = xa_load(&file->pins, handle);
	if (pin)
		bl_pin_ref(pin);
	xa_unlock(&file->pins);
	return pin;
}

/**
 * bl_handle_take() - Take a pin out of the table
 * @file:   the file
 * @handle: its handle in that file
 * @only:   take it only if it is this one; NULL for any
 *
 * Return: the pin with the table's reference, for the one caller that gets it; else NULL.
 */
struct bl_pin *bl_handle_take(struct bl_file *file, u64 handle, const struct bl_pin *only)
{
	struct bl_pin *pin;

	xa_lock(&file->pins);
	pin = xa_load(&file->pins, handle);
	if (pin && only && pin != only)
		pin = NULL;
	if (pin)
		__xa_erase(&file->pins, handle);
	xa_unlock(&file->pins);
	return pin;
}

/**
 * bl_handles_end() - End all pins of a file
 * @file: the file
 *
 * Context: may sleep, and wait for providers. Pins that are started at the same time may stay.
 */
void bl_handles_end(struct bl_file *file)
{
	struct bl_pin *pin;
	unsigned long index;

	xa_for_each(&file->pins, index, pin) {
		pin = bl_handle_take(file, index, NULL);
		if (pin)
			bl_pin_end(pin);
	}
}
