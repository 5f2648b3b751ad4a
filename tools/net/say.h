/* SPDX-License-Identifier: MIT */
/* say.h - what programs say while they run, and their results as JSON */
#ifndef TOOLS_NET_SAY_H
#define TOOLS_NET_SAY_H

#include "net/options.h"

struct net_bed;
struct json_object;

/* A line on stderr at DOCA_GPUNETIO_LOG 6 and above. */
void net_say(const struct net_options *options, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Which way the bytes go, as lines that begin with #. */
void net_say_path(const struct net_bed *bed);

/* Object with the setting, the path and the machine. */
struct json_object *net_json(const struct net_bed *bed, const char *role);

#endif
