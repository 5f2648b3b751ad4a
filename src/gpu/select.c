// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/select: " fmt
#include "provider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

const struct bl_provider_ops *const bl_providers[] = {
	&bl_provider_gdrdrv,
	&bl_provider_dmabuf,
	&bl_provider_rm,
	NULL,
};

const char *bl_provider_forced(void)
{
	const char *value = getenv("BARLANE_PROVIDER");

	if (!value || !*value)
		value = getenv("GDRCOPY_PROVIDER");
	if (value && *value)
		return value;
	/* the original's own switch */
	value = getenv("GDRCOPY_USE_DMABUF_MMAP");
	return value && !strcmp(value, "1") ? "dmabuf" : NULL;
}

static int probe(const struct bl_provider_ops *ops, struct bl_provider_info *info)
{
	int ret;

	*info = (struct bl_provider_info){ .name = ops->name };
	ret = ops->probe(info);
	info->usable = !ret;
	info->error = ret;
	return ret;
}

size_t bl_provider_list(struct bl_provider_info *infos, size_t nr)
{
	size_t i;

	for (i = 0; bl_providers[i]; i++) {
		if (i < nr)
			probe(bl_providers[i], &infos[i]);
	}
	return i;
}

static int select_by_name(const char *name, const struct bl_provider_ops *const **ops_p)
{
	struct bl_provider_info info;

	for (const struct bl_provider_ops *const *p = bl_providers; *p; p++) {
		if (strcmp((*p)->name, name))
			continue;
		if (probe(*p, &info))
			return fail(ENODEV, "provider %s was asked for and cannot serve: %s", name, info.reason);
		*ops_p = p;
		return 0;
	}
	return fail(EINVAL, "provider %s: no such provider, there are gdrdrv, dmabuf and rm", name);
}

int bl_provider_select(const char *name, const struct bl_provider_ops *const *first,
		       const struct bl_provider_ops *const **ops_p)
{
	struct bl_provider_info info;
	char reasons[900] = "";
	size_t used = 0;

	if (!name)
		name = bl_provider_forced();
	if (name)
		return select_by_name(name, ops_p);
	for (; *first; first++) {
		if (!probe(*first, &info)) {
			*ops_p = first;
			return 0;
		}
		if (used < sizeof(reasons))
			used += (size_t)snprintf(reasons + used, sizeof(reasons) - used, "%s%s: %s", used ? "; " : "",
						 info.name, info.reason);
	}
	return fail(ENODEV, "no provider can serve: %s", reasons);
}
