// SPDX-License-Identifier: MIT
/*
 * The best NIC there is: that of the first provider that has one with an active port and an address. Providers stand in the
 * order of what they ask of CPUs, so that is the ladder from doorbells of the GPU down to the software NIC; each step is
 * said, with its reason.
 */
#define log_fmt(fmt) "net/best: " fmt
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "barlane_net.h"
#include "context.h"
#include "gid.h"
#include "net/log.h"

/**
 * struct steps - what was looked at
 * @text: receives it, a line each; NULL: nobody asks
 */
struct steps {
	char *text;
	size_t size;
	size_t used;
	struct ibv_context *best;
};

__attribute__((format(printf, 2, 3))) static void say(struct steps *steps, const char *fmt, ...)
{
	char line[300];
	va_list args;
	int len;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	log_info("%s", line);
	if (!steps->text || steps->used >= steps->size)
		return;
	len = snprintf(steps->text + steps->used, steps->size - steps->used, "%s%s", steps->used ? "\n" : "", line);
	steps->used += len > 0 ? (size_t)len : 0;
}

/* Why not to take it; NULL: nothing is against it. */
static const char *objection(struct ibv_context *context, char text[200])
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t index;
	int ret;

	ret = bl_net_query_port(context, 1, &port);
	if (!ret && port.state != IBV_PORT_ACTIVE)
		return "port 1 is not active";
	if (!ret)
		ret = -bl_gid_choose(context, 1, port.gid_tbl_len, &gid, &index);
	if (!ret)
		return NULL;
	snprintf(text, 200, "%s", bl_last_error(NULL));
	return text;
}

static int try(const struct bl_nic_ops *ops, const char *device, void *arg)
{
	struct steps *steps = arg;
	struct ibv_context *context;
	const char *why;
	char text[200];

	bl_fail_hush(1);
	context = bl_context_open(ops, device);
	why = context ? objection(context, text) : bl_last_error(NULL);
	bl_fail_hush(-1);
	if (!why) {
		steps->best = context;
		say(steps, "device %s, provider %s: taken: %s", device, ops->name, ops->about);
		return 1;
	}
	say(steps, "device %s, provider %s: passed over: %s", device, ops->name, why);
	if (context)
		bl_net_close_device(context);
	return 0;
}

static void say_what_cannot_serve(struct steps *steps)
{
	const char *forced = getenv("BARLANE_NIC");
	char reason[200];

	for (const struct bl_nic_ops *const *p = bl_nic_providers; *p; p++) {
		if (forced && *forced && strcmp((*p)->name, forced) != 0)
			say(steps, "provider %s: not asked (BARLANE_NIC)", (*p)->name);
		else if ((*p)->probe(reason, sizeof(reason)))
			say(steps, "provider %s: passed over: %s", (*p)->name, reason);
	}
}

struct ibv_context *bl_net_open_best(char *text, size_t size)
{
	struct steps steps = { .text = size ? text : NULL, .size = size };
	int ret;

	if (steps.text)
		*text = '\0';
	say_what_cannot_serve(&steps);
	ret = bl_nic_each(try, &steps);
	if (steps.best)
		return steps.best;
	if (ret < 0)
		return bl_null_errno(ret);
	return bl_null_errno(fail(ENODEV, "no NIC can be used%s%s", steps.used ? ": " : "", steps.used ? text : ""));
}
