// SPDX-License-Identifier: MIT
#include "layer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/child.h"
#include "tests/tap.h"

/* Past the page cache last: what has no such descriptors ends there, as skipped. */
static const struct layer_way ways[] = {
	{ "", "0", 0, REGISTERED },	   { "plain", "1", 0, UNREGISTERED },
	{ "staged", "1", 0, UNREGISTERED }, { "", "0", 0, PAGEABLE },
	{ "", "0", O_DIRECT, REGISTERED },  { "plain", "1", O_DIRECT, REGISTERED },
	{ "", "0", O_DIRECT, PAGEABLE },    { "staged", "1", O_DIRECT, UNREGISTERED },
};

void layer_in_time(void (*run)(const void *arg), const struct layer_way *way, const char *tune)
{
	const char *env[] = { "BARLANE_FILE_PATH", way->path, "BARLANE_FILE_STRICT", way->strict, "BARLANE_FILE_TUNE", tune,
			      NULL };

	child_run(run, way, env);
}

void layer_each(void (*run)(const void *arg), int direct_only)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].flags || !direct_only)
			layer_in_time(run, &ways[i], "");
	}
}

const char *layer_text(const char *name)
{
	const char *text = getenv(name);

	if (!text)
		tap_end(TAP_FAILED, "%s is not set: a script of tests/kernel/files starts this", name);
	return text;
}

size_t layer_number(const char *name)
{
	return strtoul(layer_text(name), NULL, 0);
}

size_t layer_hurt(void)
{
	return getenv("LAYER_HURT") ? layer_number("LAYER_HURT") : 64UL << 10;
}

int layer_run(const char *command)
{
	return system(command);
}

void layer_must(const char *command)
{
	int status = layer_run(command);

	if (status)
		tap_end(TAP_FAILED, "%s: status 0x%x", command, (unsigned int)status);
}

void layer_open(const struct layer_way *way, struct tested *tested, struct memory *memory)
{
	world_enter();
	snprintf(tested->path, sizeof(tested->path), "%s", layer_text("LAYER_FILE"));
	tested->plain = open(tested->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	tested->fd = open(tested->path, O_RDWR | O_CLOEXEC | way->flags);
	if (tested->fd < 0 && errno == EINVAL && way->flags)
		skip("%s: no O_DIRECT; all else passed", tested->path);
	if (tested->plain < 0 || tested->fd < 0)
		tap_end(TAP_FAILED, "%s: %s", tested->path, strerror(errno));
	tested->handle = must_register(tested->fd);
	memory_make(memory, way->kind, LAYER_SIZE);
}

void layer_close(struct tested *tested, struct memory *memory)
{
	memory_drop(memory);
	tested_drop(tested);
	world_check_rules();
}

void layer_check(const struct memory *memory, size_t off, size_t pos, size_t len)
{
	static unsigned char bytes[LAYER_SIZE];

	memory_get(memory, off, bytes, len);
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != pattern_at(LAYER_SEED, pos + i))
			tap_end(TAP_FAILED, "%s: byte 0x%zx of the file is wrong", kind_names[memory->kind], pos + i);
	}
}

/* Bytes that are bad already are left out. */
static void write_part(int fd, size_t from, size_t to)
{
	static unsigned char bytes[LAYER_SIZE];

	for (size_t i = from; i < to; i++)
		bytes[i] = pattern_at(LAYER_SEED, i);
	check_eq(pwrite(fd, bytes + from, to - from, (off_t)from), to - from);
}

void layer_fill(void)
{
	int fd = open(layer_text("LAYER_FILE"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	size_t bad = LAYER_SIZE, behind = LAYER_SIZE;

	if (fd < 0)
		tap_end(TAP_FAILED, "%s: %s", layer_text("LAYER_FILE"), strerror(errno));
	if (getenv("LAYER_HURT")) {
		bad = layer_number("LAYER_BAD");
		behind = bad + layer_hurt();
	}
	write_part(fd, 0, bad);
	write_part(fd, behind, LAYER_SIZE);
	check_eq(fsync(fd), 0);
	close(fd);
}
