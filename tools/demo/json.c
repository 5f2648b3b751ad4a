// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <json-c/json.h>

#include "report.h"

static void add_double(struct json_object *to, const char *name, double value)
{
	json_object_object_add(to, name, json_object_new_double(value));
}

static struct json_object *stats_json(const struct demo_stats *stats)
{
	struct json_object *obj = json_object_new_object();

	json_object_object_add(obj, "samples", json_object_new_uint64(stats->nr));
	json_object_object_add(obj, "group", json_object_new_uint64(stats->group));
	add_double(obj, "min_ns", stats->min_ns);
	add_double(obj, "p50_ns", stats->p50_ns);
	add_double(obj, "p99_ns", stats->p99_ns);
	add_double(obj, "p999_ns", stats->p999_ns);
	add_double(obj, "mean_ns", stats->mean_ns);
	return obj;
}

static struct json_object *copy_json(size_t bytes, const struct demo_stats *stats)
{
	struct json_object *obj = stats_json(stats);

	add_double(obj, "bytes_per_s", demo_stats_rate(stats, bytes));
	return obj;
}

static struct json_object *points_json(const struct demo_results *results)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < DEMO_NR_SIZES; i++) {
		const struct demo_point *point = &results->points[i];
		struct json_object *obj = json_object_new_object();

		json_object_object_add(obj, "bytes", json_object_new_uint64(point->bytes));
		json_object_object_add(obj, "write", copy_json(point->bytes, &point->write));
		json_object_object_add(obj, "read", copy_json(point->bytes, &point->read));
		json_object_array_add(list, obj);
	}
	return list;
}

static struct json_object *costs_json(const struct demo_results *results)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < DEMO_NR_COSTS; i++) {
		const struct demo_cost *cost = &results->costs[i];
		struct json_object *obj = json_object_new_object();

		json_object_object_add(obj, "bytes", json_object_new_uint64(cost->bytes));
		json_object_object_add(obj, "pin", stats_json(&cost->pin));
		json_object_object_add(obj, "map", stats_json(&cost->map));
		json_object_object_add(obj, "unmap", stats_json(&cost->unmap));
		json_object_object_add(obj, "unpin", stats_json(&cost->unpin));
		json_object_object_add(obj, "total", stats_json(&cost->total));
		json_object_array_add(list, obj);
	}
	return list;
}

static struct json_object *facts_json(const struct demo_results *results)
{
	struct json_object *obj = json_object_new_object();

	for (size_t i = 0; i < results->nr_facts; i++)
		json_object_object_add(obj, results->facts[i].name, json_object_new_string(results->facts[i].value));
	return obj;
}

static struct json_object *checks_json(const struct demo_results *results)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < results->nr_checks; i++) {
		const struct demo_check *check = &results->checks[i];
		struct json_object *obj = json_object_new_object();

		json_object_object_add(obj, "name", json_object_new_string(check->name));
		json_object_object_add(obj, "passed", json_object_new_boolean(check->passed));
		json_object_object_add(obj, "detail", json_object_new_string(check->detail));
		json_object_array_add(list, obj);
	}
	return list;
}

int demo_write_json(const struct demo_results *results, const char *path)
{
	struct json_object *root = json_object_new_object();
	const char *text;
	int ret;

	json_object_object_add(root, "program", json_object_new_string(demo_program));
	json_object_object_add(root, "label", results->emulated ? json_object_new_string("emu") : NULL);
	json_object_object_add(root, "emulated", json_object_new_boolean(results->emulated));
	json_object_object_add(root, "facts", facts_json(results));
	json_object_object_add(root, "checks", checks_json(results));
	json_object_object_add(root, "clock_cost_ns", json_object_new_double(results->clock_ns));
	json_object_object_add(root, "first_pin_ns", json_object_new_double(results->first_pin_ns));
	json_object_object_add(root, "copies", points_json(results));
	json_object_object_add(root, "mapping_cost", costs_json(results));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	ret = text ? report_write_text(path, text) : -ENOMEM;
	json_object_put(root);
	return ret ? demo_error(-ret, "cannot write %s", path) : 0;
}
