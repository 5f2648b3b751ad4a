// SPDX-License-Identifier: MIT
/* The devices: one software NIC each while somebody has it open. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct fake_mlx5 fake_mlx5;
static struct model_port ports[2];
static struct model_context *contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void model_lock(void)
{
	pthread_mutex_lock(&lock);
}

void model_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void model_complain(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fake_lock();
	fake_complain("%s", text);
	fake_unlock();
}

void model_count(int change)
{
	fake_lock();
	fake_ibv.live += change;
	fake_unlock();
}

void fake_mlx5_reset(void)
{
	fake_mlx5 = (struct fake_mlx5){ .log_max_qp_sz = 15, .log_max_cq_sz = 22 };
}

const struct fake_command *fake_mlx5_last(uint16_t opcode)
{
	for (unsigned int i = fake_mlx5.nr_commands; i--;) {
		if (fake_mlx5.commands[i].opcode == opcode)
			return &fake_mlx5.commands[i];
	}
	return NULL;
}

struct model_port *model_port_of(const struct ibv_context *ibv)
{
	for (struct model_context *context = contexts; context; context = context->next) {
		if (context->ibv == ibv)
			return context->port;
	}
	return NULL;
}

/* Its address is the software NIC's, so that devices of other processes find it. */
static bool gid_of(struct ibv_context *ibv, union ibv_gid *gid)
{
	const struct model_port *port;

	model_lock();
	port = model_port_of(ibv);
	if (port)
		memcpy(gid->raw, bl_snic_gid(port->snic), sizeof(gid->raw));
	model_unlock();
	return port;
}

static int start(struct model_port *port, struct ibv_device *device)
{
	const struct bl_snic_attr attr = { .name = device->name, .spin_us = 50 };
	int ret;

	if (port->users++)
		return 0;
	port->device = device;
	ret = bl_snic_open(&attr, &port->snic);
	if (ret)
		port->users = 0;
	else
		model_doorbells_start();
	return ret;
}

static void stop(struct model_port *port)
{
	if (--port->users)
		return;
	model_doorbells_stop();
	bl_snic_close(port->snic);
	port->snic = NULL;
}

static void closed(struct ibv_context *ibv)
{
	struct model_context **place = &contexts, *context;

	model_lock();
	while (*place && (*place)->ibv != ibv)
		place = &(*place)->next;
	context = *place;
	if (context)
		*place = context->next;
	for (struct model_object *object = model_objects; object && context; object = object->next) {
		if (object->ibv == ibv)
			model_complain("ibv_close_device: object 0x%x of kind %d is left", object->number,
				       (int)object->kind);
	}
	if (context)
		stop(context->port);
	model_unlock();
	free(context);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	struct model_context *context;
	struct ibv_context *ibv;
	int ret;

	if (fake_fails("mlx5dv_open_device"))
		return NULL;
	if (attr->comp_mask || attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX)
		model_complain("mlx5dv_open_device: flags 0x%x", attr->flags);
	if (fake_mlx5.no_devx && attr->flags & MLX5DV_CONTEXT_FLAGS_DEVX) {
		errno = EPERM;
		return NULL;
	}
	ibv = ibv_open_device(device);
	context = ibv ? calloc(1, sizeof(*context)) : NULL;
	if (!context)
		return NULL;
	model_lock();
	context->port = &ports[!strcmp(device->name, "mlx5_1")];
	context->ibv = ibv;
	ret = start(context->port, device);
	if (!ret) {
		context->next = contexts;
		contexts = context;
	}
	model_unlock();
	if (!ret)
		return ibv;
	free(context);
	ibv_close_device(ibv);
	errno = -ret;
	return NULL;
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return !strncmp(device->name, "mlx5_", 5);
}

__attribute__((constructor)) static void begin(void)
{
	static const char *const names[2] = { "mlx5_0", "mlx5_1" };
	static const struct fake_hooks hooks = {
		.gid = gid_of,
		.closed = closed,
		.pd_gone = model_pd_gone,
		.mr_made = model_mr_made,
		.mr_gone = model_mr_gone,
	};

	fake_mlx5_reset();
	fake_ibv_hook(&hooks, names);
}

/* For programs that know nothing of this: what a test looks for. */
__attribute__((destructor)) static void end(void)
{
	const char *file = getenv("FAKE_MLX5_REPORT");
	FILE *report = file ? fopen(file, "a") : NULL;

	if (!report)
		return;
	fprintf(report, "doorbells %u blueflames %u umem_dmabufs %u live %d complaint: %s\n", fake_mlx5.doorbells,
		fake_mlx5.blueflames, fake_mlx5.umem_dmabufs, fake_ibv.live, fake_ibv.complaint);
	fclose(report);
}
