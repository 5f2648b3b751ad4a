// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/driver: " fmt
#include "driver_ctx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "driver.h"
#include "gpu/edge.h"
#include "util/log.h"

static _Atomic(bl_ctx_t) context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Why there is none; asked for once per open of the driver. */
static int error;
static char reason[512];

static bl_ctx_t open_locked(void)
{
	bl_ctx_t ctx = atomic_load(&context);
	int ret;

	if (ctx)
		return ctx;
	if (error) {
		bl_fail_quiet(error, "%s", reason);
		return 0;
	}
	bl_fail_hush(1);
	ret = bl_open(NULL, &ctx);
	bl_fail_hush(-1);
	if (ret) {
		error = -ret;
		snprintf(reason, sizeof(reason), "%s", bl_last_error(NULL));
		log_info("GPU memory is copied by CUDA alone: %s", reason);
		return 0;
	}
	atomic_store_explicit(&context, ctx, memory_order_release);
	return ctx;
}

bl_ctx_t bl_driver_ctx(void)
{
	bl_ctx_t ctx = atomic_load_explicit(&context, memory_order_acquire);

	if (ctx)
		return ctx;
	pthread_mutex_lock(&lock);
	ctx = open_locked();
	pthread_mutex_unlock(&lock);
	return ctx;
}

void bl_driver_ctx_close(void)
{
	bl_ctx_t ctx;

	pthread_mutex_lock(&lock);
	error = 0;
	ctx = atomic_load(&context);
	if (ctx && bl_ctx_pins(ctx) <= 0) {
		atomic_store(&context, 0);
		if (bl_close(ctx))
			log_warn("close: %s", bl_last_error(NULL));
	}
	pthread_mutex_unlock(&lock);
}

void bl_driver_ctx_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	atomic_store(&context, 0);
	error = 0;
}
