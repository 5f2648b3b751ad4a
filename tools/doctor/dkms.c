// SPDX-License-Identifier: MIT
/* DKMS keeps NAME/VERSION/source, NAME/VERSION/KERNEL/ARCH for each build and a link NAME/kernel-KERNEL-ARCH for what
 * it installed. NAME/VERSION/build is there while it builds, and stays when that fails. */
#include "doctor/dkms.h"

#include <stdio.h>
#include <string.h>

#define DKMS "/var/lib/dkms"

struct visit {
	const struct tool_tree *tree;
	const char *name;
	const char *release;
	enum doctor_dkms state;
};

static int is_dir(const struct tool_tree *tree, const char *name, const char *version, const char *entry)
{
	struct stat st;

	return !tool_tree_stat(tree, &st, DKMS "/%s/%s/%s", name, version, entry) && S_ISDIR(st.st_mode);
}

/* "kernel-RELEASE-ARCH"; a release may begin like another, an architecture has no dash. */
static int is_link_of(const char *entry, const char *release)
{
	static const char prefix[] = "kernel-";
	size_t len = strlen(release);

	if (strncmp(entry, prefix, strlen(prefix)) != 0)
		return 0;
	entry += strlen(prefix);
	return !strncmp(entry, release, len) && entry[len] == '-' && entry[len + 1] && !strchr(entry + len + 1, '-');
}

static int visit(const char *entry, void *arg)
{
	struct visit *v = arg;
	enum doctor_dkms state = DOCTOR_DKMS_ABSENT;
	struct stat st;

	if (is_link_of(entry, v->release))
		state = DOCTOR_DKMS_INSTALLED;
	else if (is_dir(v->tree, v->name, entry, v->release))
		state = DOCTOR_DKMS_BUILT;
	else if (!tool_tree_stat(v->tree, &st, DKMS "/%s/%s/build/make.log", v->name, entry))
		state = DOCTOR_DKMS_FAILED;
	else if (is_dir(v->tree, v->name, entry, "source"))
		state = DOCTOR_DKMS_ADDED;
	v->state = state > v->state ? state : v->state;
	return 0;
}

enum doctor_dkms doctor_dkms_state(const struct tool_tree *tree, const char *name, const char *release)
{
	struct visit v = {tree, name, release, DOCTOR_DKMS_ABSENT};
	char path[128];

	snprintf(path, sizeof(path), DKMS "/%s", name);
	tool_tree_each(tree, path, visit, &v);
	return v.state;
}
