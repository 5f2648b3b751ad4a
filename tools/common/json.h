/* SPDX-License-Identifier: MIT */
/*
 * json.h - write a result as JSON
 */
#ifndef TOOLS_COMMON_JSON_H
#define TOOLS_COMMON_JSON_H

#include <json-c/json.h>

/**
 * tool_json_write() - Write an object and drop it
 * @object: what to write; the reference is taken over
 * @path:   file to make or replace, or "-" for stdout
 *
 * Return: 0 or -errno.
 */
int tool_json_write(struct json_object *object, const char *path);

/* Add a member of the type that the name says; a failed allocation ends the program. */
void tool_json_add(struct json_object *object, const char *key, struct json_object *value);
void tool_json_string(struct json_object *object, const char *key, const char *value);
void tool_json_int(struct json_object *object, const char *key, int64_t value);
void tool_json_double(struct json_object *object, const char *key, double value);
void tool_json_bool(struct json_object *object, const char *key, int value);

/* New object, new array; a failed allocation ends the program. */
struct json_object *tool_json_object(void);
struct json_object *tool_json_array(void);

/* Append to an array. */
void tool_json_append(struct json_object *array, struct json_object *value);

#endif
