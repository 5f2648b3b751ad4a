// SPDX-License-Identifier: MIT
/* Kernel module gdrdrv while it is loaded. */
#include "doctor/module.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"

#define MODULE "/sys/module/gdrdrv"
#define PARAMS "/proc/driver/gdrdrv/params"

/* What follows "KEY: " in its line, NULL when there is none. */
static const char *value_of(const char *text, const char *key)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)) && !strncmp(line + strlen(key), ": ", 2))
			return line + strlen(key) + 2;
	}
	return NULL;
}

static bool is_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return at && !strncmp(at, word, len) && (!at[len] || at[len] == '\n');
}

void doctor_params_parse(const char *text, struct doctor_params *params)
{
	const char *flavour = value_of(text, "Built for NVIDIA driver flavor");
	const char *persistent = value_of(text, "Use persistent mapping");

	params->flavour = is_word(flavour, "opensource")    ? DOCTOR_FLAVOUR_OPEN
			  : is_word(flavour, "proprietary") ? DOCTOR_FLAVOUR_PROPRIETARY
							    : DOCTOR_FLAVOUR_UNKNOWN;
	params->persistent = is_word(persistent, "yes") ? 1 : is_word(persistent, "no") ? 0 : -1;
}

int doctor_module_version_parse(const char *text, unsigned int *major_p, unsigned int *minor_p)
{
	unsigned int major, minor;
	const char *dot = strchr(text, '.');
	int end = 0;

	/* sscanf itself would skip white space, and take a sign */
	if (!dot || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)dot[1]))
		return -EINVAL;
	if (sscanf(text, "%5u.%5u%n", &major, &minor, &end) != 2 || (text[end] && !strchr(".-+\n", text[end])))
		return -EINVAL;
	*major_p = major;
	*minor_p = minor;
	return 0;
}

static const char *taint_word(char letter)
{
	switch (letter) {
	case 'P':
		return "proprietary";
	case 'O':
		return "out of tree";
	case 'F':
		return "forced";
	case 'C':
		return "staging";
	case 'E':
		return "unsigned";
	default:
		return NULL;
	}
}

void doctor_taint_words(const char *text, char *words, size_t size)
{
	size_t used = 0;

	words[0] = '\0';
	for (; isupper((unsigned char)*text); text++) {
		const char *word = taint_word(*text), letter[2] = {*text, '\0'};
		size_t len;

		word = word ? word : letter;
		len = strlen(word);
		if (used + len + 3 > size)
			return;
		used += (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "", word);
	}
}

bool doctor_module_loaded(const struct tool_tree *tree)
{
	struct stat st;

	return !tool_tree_stat(tree, &st, MODULE);
}

/* A parameter that can be read is what ours has and GDRCopy's has not. */
static bool is_ours(const struct tool_tree *tree)
{
	struct stat st;

	return !tool_tree_stat(tree, &st, MODULE "/parameters/node_mode");
}

static void add_version(struct doctor *doctor, const struct doctor_params *params)
{
	const char *whose = is_ours(&doctor->tree) ? "Barlane's" : "GDRCopy's";
	unsigned int major, minor;
	char text[64];

	if (tool_tree_read(&doctor->tree, text, sizeof(text), MODULE "/version") < 0)
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "compare modinfo gdrdrv with what should be loaded",
			   "loaded, but shows no version: not a module of GDRCopy or Barlane");
	else if (doctor_module_version_parse(text, &major, &minor))
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "report the text of this line",
			   "loaded, but its version cannot be understood: \"%s\"", text);
	else if (major != 2)
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "load a module of version 2.x",
			   "loaded, %s, version %u.%u: provider gdrdrv speaks 2.0 to 2.6", whose, major, minor);
	else
		doctor_add(doctor, DOCTOR_OK, "gdrdrv", NULL, "loaded, %s, version %u.%u, persistent mapping %s", whose,
			   major, minor,
			   params->persistent < 0 ? "not shown"
			   : params->persistent	  ? "on"
						  : "off");
}

static void add_taint(struct doctor *doctor)
{
	char text[32], words[96];

	if (tool_tree_read(&doctor->tree, text, sizeof(text), MODULE "/taint") <= 0)
		return;
	doctor_taint_words(text, words, sizeof(words));
	if (strchr(text, 'F'))
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "build it for the running kernel, and load it without force",
			   "taints the kernel: %s; it was built for another kernel", words);
	else
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", NULL, "taints the kernel: %s",
			   *words ? words : "by letters that are not known");
}

/* Ours takes the driver's functions by name at the first pin, unless it was linked to the closed driver. */
static void add_flavour(struct doctor *doctor, const struct doctor_params *params)
{
	if (is_ours(&doctor->tree) && params->flavour == DOCTOR_FLAVOUR_OPEN &&
	    doctor->driver.flavour == DOCTOR_FLAVOUR_PROPRIETARY)
		doctor_add(
			doctor, DOCTOR_WARN, "gdrdrv",
			"install NVIDIA's open kernel modules, or build this one with NV_LINK=1",
			"built for the open kernel modules of the NVIDIA driver, but the proprietary ones are loaded: "
			"pins will be refused");
}

void doctor_module_live(struct doctor *doctor)
{
	struct doctor_params params;
	char text[1024];
	int len;

	len = tool_tree_read(&doctor->tree, text, sizeof(text), MODULE "/initstate");
	if (len >= 0 && strcmp(text, "live") != 0) {
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "wait, and look again; dmesg says what holds it up",
			   "is not ready: its state is \"%.64s\"%s", text,
			   !strcmp(text, "coming")  ? ", it is being loaded"
			   : !strcmp(text, "going") ? ", it is being unloaded"
						    : "");
		return;
	}
	tool_tree_read(&doctor->tree, text, sizeof(text), PARAMS);
	doctor_params_parse(text, &params);
	add_version(doctor, &params);
	add_taint(doctor);
	add_flavour(doctor, &params);
}
