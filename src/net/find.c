// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/find: " fmt
#include "nic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barlane_net.h"
#include "net/log.h"

#define MAX_DEVICES 64
#define REASON	    256

/* Text that grows as far as there is room. */
struct text {
	char chars[900];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *fmt, ...)
{
	va_list args;
	int len;

	if (text->used >= sizeof(text->chars))
		return;
	va_start(args, fmt);
	len = vsnprintf(text->chars + text->used, sizeof(text->chars) - text->used, fmt, args);
	va_end(args);
	text->used += len > 0 ? (size_t)len : 0;
}

static const char *forced_provider(void)
{
	const char *name = getenv("BARLANE_NIC");

	return name && *name ? name : NULL;
}

static int check_forced(const char *forced)
{
	struct text names = { "", 0 };

	for (const struct bl_nic_ops *const *p = bl_nic_providers; *p; p++) {
		if (!forced || !strcmp((*p)->name, forced))
			return 0;
		add(&names, "%s%s", names.used ? ", " : "", (*p)->name);
	}
	return fail(EINVAL, "BARLANE_NIC %s: no such provider, there is %s", forced ? forced : "", names.chars);
}

static size_t devices_of(const struct bl_nic_ops *ops, const char *names[MAX_DEVICES])
{
	size_t nr = ops->devices(names, MAX_DEVICES);

	return nr < MAX_DEVICES ? nr : MAX_DEVICES;
}

int bl_nic_each(int (*fn)(const struct bl_nic_ops *ops, const char *device, void *arg), void *arg)
{
	const char *forced = forced_provider(), *names[MAX_DEVICES];
	char reason[REASON];
	int ret;

	ret = check_forced(forced);
	if (ret)
		return ret;
	for (const struct bl_nic_ops *const *p = bl_nic_providers; *p; p++) {
		if ((forced && strcmp((*p)->name, forced)) || (*p)->probe(reason, sizeof(reason)))
			continue;
		for (size_t i = 0, nr = devices_of(*p, names); i < nr; i++) {
			ret = fn(*p, names[i], arg);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/**
 * struct search - a device while it is looked for
 * @after: providers up to this one are left out; NULL: none is
 * @names, @nr: of devices that were seen: several providers may have one of a name
 */
struct search {
	const char *name;
	const struct bl_nic_ops *after;
	const struct bl_nic_ops *ops;
	const char *device;
	const char *names[MAX_DEVICES];
	size_t nr;
	struct text seen;
};

static void note(struct search *search, const char *device)
{
	for (size_t i = 0; i < search->nr; i++) {
		if (!strcmp(search->names[i], device))
			return;
	}
	add(&search->seen, "%s%s", search->seen.used ? ", " : "", device);
	if (search->nr < MAX_DEVICES)
		search->names[search->nr++] = device;
}

static bool comes_after(const struct bl_nic_ops *ops, const struct bl_nic_ops *after)
{
	const struct bl_nic_ops *const *p = bl_nic_providers;

	while (after && *p != after)
		p++;
	for (p += after != NULL; *p; p++) {
		if (*p == ops)
			return true;
	}
	return false;
}

static int look_at(const struct bl_nic_ops *ops, const char *device, void *arg)
{
	struct search *search = arg;

	note(search, device);
	if (strcmp(device, search->name) != 0 || !comes_after(ops, search->after))
		return 0;
	search->ops = ops;
	search->device = device;
	return 1;
}

static void add_reasons(struct text *text)
{
	const char *forced = forced_provider();
	char reason[REASON];

	for (const struct bl_nic_ops *const *p = bl_nic_providers; *p; p++) {
		if (forced && strcmp((*p)->name, forced))
			add(text, "; provider %s was not asked (BARLANE_NIC)", (*p)->name);
		else if ((*p)->probe(reason, sizeof(reason)))
			add(text, "; provider %s: %s", (*p)->name, reason);
	}
}

int bl_nic_find(const char *device, const struct bl_nic_ops *after, const struct bl_nic_ops **ops_p,
		const char **device_p)
{
	struct search search = { .name = device, .after = after };
	int ret;

	ret = bl_nic_each(look_at, &search);
	if (ret < 0)
		return ret;
	if (!search.ops && after)
		return fail_quiet(ENODEV, "device %s: no other provider has it", device);
	if (!search.ops) {
		if (!search.seen.used)
			add(&search.seen, "none");
		add_reasons(&search.seen);
		return fail(ENODEV, "device %s: not found; there is: %s", device, search.seen.chars);
	}
	*ops_p = search.ops;
	*device_p = search.device;
	return 0;
}

size_t bl_net_provider_list(struct bl_net_provider_info *infos, size_t nr)
{
	size_t i;

	for (i = 0; bl_nic_providers[i]; i++) {
		if (i >= nr)
			continue;
		infos[i] = (struct bl_net_provider_info){ .name = bl_nic_providers[i]->name };
		infos[i].error = bl_nic_providers[i]->probe(infos[i].reason, sizeof(infos[i].reason));
		infos[i].usable = !infos[i].error;
	}
	return i;
}
