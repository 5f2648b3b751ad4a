// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "barlane.h"

__attribute__((format(printf, 3, 4))) static void add(struct demo_results *results, const char *name, const char *fmt,
						       ...)
{
	struct demo_fact *fact;
	va_list args;

	if (results->nr_facts == DEMO_MAX_FACTS)
		return;
	fact = &results->facts[results->nr_facts++];
	fact->name = name;
	va_start(args, fmt);
	vsnprintf(fact->value, sizeof(fact->value), fmt, args);
	va_end(args);
}

const char *demo_fact(const struct demo_results *results, const char *name)
{
	for (size_t i = 0; i < results->nr_facts; i++) {
		if (!strcmp(results->facts[i].name, name))
			return results->facts[i].value;
	}
	return "unknown";
}

/* x86 kernels write "model name"; others have no such line, and their machine name must do. */
static void cpu_model(char *buf, size_t size, const char *machine)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	snprintf(buf, size, "%s", machine);
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (!colon || strncmp(line, "model name", strlen("model name")))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(buf, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		break;
	}
	fclose(file);
}

/*
 * gdr_open() and bl_open() choose alike, and only the latter tells what it chose. A context may go on with another
 * provider when the first one cannot serve at the first pin, so that one is made here too.
 */
static int add_provider(struct demo_results *results, const struct demo_buffer *buf)
{
	struct bl_provider_info info;
	bl_ctx_t ctx;
	bl_pin_t pin;
	int ret;

	ret = bl_open(NULL, &ctx);
	if (ret)
		return demo_error(-ret, "bl_open: %s", bl_last_error(NULL));
	ret = bl_pin(ctx, buf->va, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin);
	if (!ret)
		ret = bl_ctx_provider(ctx, &info);
	if (ret) {
		demo_error(-ret, "provider in use: %s", bl_last_error(NULL));
		goto close_ctx;
	}
	add(results, "provider", "%s", info.name);
	if (info.reason[0])
		add(results, "why this provider", "%s", info.reason);
close_ctx:
	bl_close(ctx); /* unpins too */
	return ret;
}

int demo_facts(struct demo_results *results, const struct demo_gpu *gpu, const struct demo_buffer *buf)
{
	struct utsname uts;
	time_t now = time(NULL);
	char text[128];
	struct tm utc;

	if (uname(&uts))
		return demo_error(errno, "uname");
	add(results, "version", "%s", bl_version());
	add(results, "kernel", "%s %s %s", uts.sysname, uts.release, uts.machine);
	cpu_model(text, sizeof(text), uts.machine);
	add(results, "cpu", "%s", text);
	add(results, "gpu", "%s", gpu->name);
	add(results, "gpu address", "%s", gpu->pci);
	add(results, "emulated", "%s", gpu->emulated ? "yes" : "no");
	add(results, "cuda driver", "%d.%d", gpu->driver / 1000, gpu->driver % 1000 / 10);
	if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &utc))
		add(results, "date", "%s", text);
	add(results, "mapping", "%s", buf->type);
	add(results, "clock cost", "%.0f ns, taken off every time", results->clock_ns);
	return add_provider(results, buf);
}
