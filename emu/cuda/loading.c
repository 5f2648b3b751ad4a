// SPDX-License-Identifier: MIT
#include "loading.h"

#include <unistd.h>

#include "env.h"
#include "queue.h"

/* How often the end of something is looked for. */
#define LOOK_US 20

static void drain_alone(struct emu_ctx *ctx)
{
	int nobody = 0;

	while (!atomic_compare_exchange_strong(&ctx->loading, &nobody, emu_tid())) {
		nobody = 0;
		usleep(LOOK_US);
	}
	emu_drain(ctx);
	atomic_store(&ctx->loading, 0);
}

void emu_load_module(struct emu_ctx *ctx)
{
	if (emu_env()->load == EMU_LOAD_IDLE)
		drain_alone(ctx);
	/* seen on an H200: 996 ms beside a kernel of one second, in a non-blocking stream, and of a single block too */
	while (emu_env()->load == EMU_LOAD_KERNELS && atomic_load(&ctx->kernels))
		usleep(LOOK_US);
}

void emu_load_function(struct emu_ctx *ctx)
{
	if (emu_env()->load == EMU_LOAD_LAUNCH)
		drain_alone(ctx);
}

void emu_load_await(struct emu_ctx *ctx)
{
	int loader;

	while ((loader = atomic_load(&ctx->loading)) && loader != emu_tid())
		usleep(LOOK_US);
}
