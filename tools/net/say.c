// SPDX-License-Identifier: MIT
#include "net/say.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/json.h"
#include "net/bed.h"

#define LEVEL_INFO 6

static const struct tool_name handlers[] = { { "CPU proxy", 1 }, { "GPU doorbell", 2 }, { "GPU BlueFlame", 6 },
					     { "GPU without record", 10 },
					     { "CPU proxy, free flow", 17 }, { NULL, 0 } };
static const struct tool_name ringers[] = { { "GPU", BL_NET_RINGER_GPU },	  { "NIC looks at the word", BL_NET_RINGER_NIC },
					    { "service", BL_NET_RINGER_SERVICE }, { "library", BL_NET_RINGER_LIBRARY },
					    { "program", BL_NET_RINGER_PROGRAM }, { NULL, 0 } };

void net_say(const struct net_options *options, const char *fmt, ...)
{
	const char *level = getenv("DOCA_GPUNETIO_LOG");
	va_list args;

	if (!level || atoi(level) < LEVEL_INFO)
		return;
	fprintf(stderr, "%s: ", options->program->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void gid_text(const struct bl_net_peer *peer, char text[40])
{
	for (int i = 0; i < 8; i++)
		snprintf(text + i * 5, 6, "%02x%02x%s", peer->gid[i * 2], peer->gid[i * 2 + 1], i < 7 ? ":" : "");
}

static unsigned int mtu_of(const struct net_bed *bed)
{
	unsigned int mtu = bed->local.mtu < bed->remote.mtu ? bed->local.mtu : bed->remote.mtu;

	return bed->options->mtu && bed->options->mtu < mtu ? bed->options->mtu : mtu;
}

void net_say_path(const struct net_bed *bed)
{
	FILE *out = bed->options->out;
	char gid[40];

	gid_text(&bed->local, gid);
	if (!bed->cpu)
		fprintf(out, "# GPU %s %s%s\n", bed->device.bus_id, bed->device.name, bed->device.emulated ? ", emu" : "");
	fprintf(out, "# NIC %s, GID %s (index %u), %s, MTU %u\n", bed->nic_name, gid, bed->local.gid_index,
		tool_value_name(bed->options->uc, net_qp_types), mtu_of(bed));
	if (bed->cpu)
		fprintf(out, "# a CPU posts and polls, queues in host memory\n");
	else
		fprintf(out, "# handler %s, rung by %s, send queue in %s memory, completions in %s memory%s%s\n",
		tool_value_name((int)bed->path.handler, handlers), tool_value_name((int)bed->path.ringer, ringers),
		bed->path.sq_on_host ? "host" : "GPU", bed->path.cq_on_host ? "host" : "GPU",
		*bed->path.reason ? ": " : "", bed->path.reason);
	fflush(out);
}

static void json_gpu(const struct net_bed *bed, struct json_object *object)
{
	tool_json_string(object, "gpu", bed->device.name);
	tool_json_string(object, "gpu_bus_id", bed->device.bus_id);
	tool_json_bool(object, "emu", bed->device.emulated);
	tool_json_int(object, "handler", bed->path.handler);
	tool_json_string(object, "handler_name", tool_value_name((int)bed->path.handler, handlers));
	tool_json_string(object, "rung_by", tool_value_name((int)bed->path.ringer, ringers));
	tool_json_string(object, "send_queue", bed->path.sq_on_host ? "host" : "gpu");
	tool_json_string(object, "completions", bed->path.cq_on_host ? "host" : "gpu");
	tool_json_string(object, "reason", bed->path.reason);
}

struct json_object *net_json(const struct net_bed *bed, const char *role)
{
	struct json_object *object = tool_json_object();
	char gid[40];

	gid_text(&bed->local, gid);
	tool_json_string(object, "program", bed->options->program->name);
	tool_json_string(object, "version", BARLANE_VERSION);
	tool_json_string(object, "role", role);
	tool_json_string(object, "nic", bed->nic_name);
	tool_json_string(object, "gid", gid);
	tool_json_string(object, "qp_type", tool_value_name(bed->options->uc, net_qp_types));
	tool_json_int(object, "mtu", mtu_of(bed));
	if (!bed->cpu)
		json_gpu(bed, object);
	return object;
}
