// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "softnic/transport.h"

#define MILLION	 1000000U
#define DELAY_US 1000

struct key {
	const char *name;
	size_t off;
	size_t size;
	uint64_t max;
};

#define KEY(field, most)                                                                                               \
	{                                                                                                              \
#field, offsetof(struct bl_snic_fault, field), sizeof(((struct bl_snic_fault *)0)->field), most        \
	}

static const struct key keys[] = {
	KEY(seed, UINT64_MAX),	KEY(drop, MILLION),  KEY(reorder, MILLION), KEY(duplicate, MILLION), KEY(nak, MILLION),
	KEY(corrupt, MILLION), KEY(delay, MILLION), KEY(delay_us, MILLION),
};

#define NR_KEYS (sizeof(keys) / sizeof(keys[0]))

/* The key that @text begins with, and its '='; NR_KEYS: none. */
static size_t find_key(const char *text)
{
	size_t i, len;

	for (i = 0; i < NR_KEYS; i++) {
		len = strlen(keys[i].name);
		if (!strncmp(text, keys[i].name, len) && text[len] == '=')
			break;
	}
	return i;
}

/* Decimal digits. Return: what follows them, NULL when there are none or the number is too large. */
static const char *read_number(const char *text, uint64_t max, uint64_t *number_p)
{
	const char *start = text;
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (number > (max - digit) / 10)
			return NULL;
		number = number * 10 + digit;
	}
	*number_p = number;
	return text > start ? text : NULL;
}

static void set(struct bl_snic_fault *fault, const struct key *key, uint64_t number)
{
	char *field = (char *)fault + key->off;
	uint32_t word = (uint32_t)number;

	memcpy(field, key->size == sizeof(word) ? (void *)&word : (void *)&number, key->size);
}

/* Return: 0 or -EINVAL with the place in *@text_p. */
static int parse_one(const char **text_p, struct bl_snic_fault *fault, unsigned int *seen)
{
	size_t i = find_key(*text_p);
	const char *value, *end;
	uint64_t number;

	if (i == NR_KEYS || *seen & 1U << i)
		return -EINVAL;
	value = *text_p + strlen(keys[i].name) + 1;
	end = read_number(value, keys[i].max, &number);
	if (!end || (*end && *end != ',')) {
		*text_p = end ? end : value;
		return -EINVAL;
	}
	*seen |= 1U << i;
	set(fault, &keys[i], number);
	*text_p = end;
	return 0;
}

int bl_snic_fault_parse(const char *text, struct bl_snic_fault *fault, const char **bad_p)
{
	struct bl_snic_fault parsed = {.delay_us = DELAY_US};
	unsigned int seen = 0;
	int ret;

	do {
		ret = parse_one(&text, &parsed, &seen);
		if (ret) {
			*bad_p = text;
			return ret;
		}
	} while (*text++ == ',');
	*fault = parsed;
	return 0;
}
