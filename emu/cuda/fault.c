// SPDX-License-Identifier: MIT
#include "emu.h"
#include "fault.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_MAX  32
#define FAULT_NAME 32

/**
 * struct fault - one entry of the list
 * @point:     where it fires
 * @left:      calls until it fires; 0: it has fired
 * @every:     fires at every call
 * @has_value: @value was given
 * @value:     what the point is told
 */
struct fault {
	char point[FAULT_NAME];
	unsigned long left;
	int every;
	int has_value;
	long value;
};

/* A leaf: nothing else is locked, called or waited for under it. */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault faults[FAULT_MAX];
static atomic_uint nr_faults; /* written under the lock; read without it to make an idle point cheap */
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;

/* A forked child must not wait for a thread that only its parent has. */
static void fault_child(void)
{
	pthread_mutex_init(&fault_lock, NULL);
}

static int parse_nth(const char *text, struct fault *fault)
{
	char *end;

	if (!strcmp(text, "*")) {
		fault->every = 1;
		return 0;
	}
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	fault->left = strtoul(text, &end, 10);
	if (errno || *end || !fault->left)
		return -EINVAL;
	return 0;
}

static int parse_value(const char *text, struct fault *fault)
{
	char *end;

	if (!*text || isspace((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	fault->value = strtol(text, &end, 0);
	if (errno || *end)
		return -EINVAL;
	fault->has_value = 1;
	return 0;
}

/* @text is POINT[:NTH[:VALUE]] and is cut into pieces. */
static int parse_entry(char *text, struct fault *fault)
{
	char *nth = strchr(text, ':'), *value = NULL;
	int ret;

	*fault = (struct fault){.left = 1};
	if (nth) {
		*nth++ = '\0';
		value = strchr(nth, ':');
	}
	if (value)
		*value++ = '\0';
	if (!*text || strlen(text) >= FAULT_NAME ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(text))
		return -EINVAL;
	strcpy(fault->point, text);
	if (nth) {
		ret = parse_nth(nth, fault);
		if (ret)
			return ret;
	}
	return value ? parse_value(value, fault) : 0;
}

static int parse_list(const char *spec, struct fault *list, unsigned int *nr_p)
{
	char *copy = strdup(spec), *rest = copy, *entry;
	unsigned int nr = 0;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (*spec && (entry = strsep(&rest, ","))) {
		ret = nr == FAULT_MAX ? -EINVAL : parse_entry(entry, &list[nr++]);
		if (ret)
			goto free_copy;
	}
	*nr_p = nr;
free_copy:
	free(copy);
	return ret;
}

static int fault_set(const char *spec)
{
	struct fault list[FAULT_MAX];
	unsigned int nr;
	int ret;

	ret = parse_list(spec, list, &nr);
	if (ret)
		return ret;
	pthread_mutex_lock(&fault_lock);
	memcpy(faults, list, nr * sizeof(*list));
	atomic_store(&nr_faults, nr);
	pthread_mutex_unlock(&fault_lock);
	return 0;
}

static void fault_from_environment(void)
{
	const char *spec = getenv("BARLANE_EMU_FAULT");

	pthread_atfork(NULL, NULL, fault_child);
	if (spec && fault_set(spec)) {
		fprintf(stderr, "barlane-emu: BARLANE_EMU_FAULT \"%s\": not a list of POINT[:NTH[:VALUE]]\n", spec);
		abort();
	}
}

static int fault_fires(struct fault *fault, const char *point)
{
	if (strcmp(fault->point, point))
		return 0;
	return fault->every || (fault->left && !--fault->left);
}

int emu_fault(const char *point, long *value_p)
{
	int fired = 0;

	pthread_once(&fault_once, fault_from_environment);
	if (!atomic_load(&nr_faults))
		return 0;
	pthread_mutex_lock(&fault_lock);
	for (unsigned int i = 0; i < atomic_load(&nr_faults); i++) {
		if (!fault_fires(&faults[i], point))
			continue;
		fired = 1;
		if (value_p && faults[i].has_value)
			*value_p = faults[i].value;
	}
	pthread_mutex_unlock(&fault_lock);
	return fired;
}

int bl_emu_fault(const char *spec)
{
	pthread_once(&fault_once, fault_from_environment);
	if (!spec)
		return -EINVAL;
	return fault_set(spec);
}
