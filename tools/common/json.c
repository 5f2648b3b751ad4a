// SPDX-License-Identifier: MIT
#include "common/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

static struct json_object *need(struct json_object *object)
{
	if (!object)
		tool_die("JSON output: out of memory");
	return object;
}

struct json_object *tool_json_object(void)
{
	return need(json_object_new_object());
}

struct json_object *tool_json_array(void)
{
	return need(json_object_new_array());
}

void tool_json_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, need(value)))
		tool_die("JSON output: out of memory");
}

void tool_json_append(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, need(value)))
		tool_die("JSON output: out of memory");
}

void tool_json_string(struct json_object *object, const char *key, const char *value)
{
	tool_json_add(object, key, json_object_new_string(value));
}

void tool_json_int(struct json_object *object, const char *key, int64_t value)
{
	tool_json_add(object, key, json_object_new_int64(value));
}

void tool_json_double(struct json_object *object, const char *key, double value)
{
	struct json_object *number = need(json_object_new_double(value));

	/* 17 digits by default: more than any clock here can tell */
	json_object_set_serializer(number, json_object_double_to_json_string, (void *)(uintptr_t) "%.6g", NULL);
	tool_json_add(object, key, number);
}

void tool_json_bool(struct json_object *object, const char *key, int value)
{
	tool_json_add(object, key, json_object_new_boolean(value));
}

int tool_json_write(struct json_object *object, const char *path)
{
	FILE *file = stdout;
	const char *text;
	int ret = 0;

	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		tool_die("JSON output: out of memory");
	if (strcmp(path, "-")) {
		file = fopen(path, "we");
		if (!file) {
			ret = tool_fail(errno, "open %s: %s", path, strerror(errno));
			goto put;
		}
	}
	if (fprintf(file, "%s\n", text) < 0 || fflush(file))
		ret = tool_fail(errno, "write %s: %s", path, strerror(errno));
	if (file != stdout && fclose(file) && !ret)
		ret = tool_fail(errno, "close %s: %s", path, strerror(errno));
put:
	json_object_put(object);
	return ret;
}
