// SPDX-License-Identifier: MIT
/* Events that a device tells by itself. */
#define log_fmt(fmt) "net/events: " fmt
#include <errno.h>
#include <fcntl.h>

#include "../context.h"
#include "barlane_net.h"
#include "error.h"
#include "net/log.h"

/* What a program has told the descriptor of the context, as for libibverbs. */
static int timeout_of(const struct bl_context *context)
{
	int flags = fcntl(context->events.fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK ? 0 : -1;
}

static int take(struct ibv_context *ibv, int timeout_ms, bool by_flags, struct doca_verbs_async_event *event)
{
	struct bl_context *context;
	int ret;

	if (!event)
		return fail(EINVAL, "place for the event is NULL");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return ret;
	ret = bl_events_take(ibv, &context->events, by_flags ? timeout_of(context) : timeout_ms, event);
	bl_context_put(context);
	return ret;
}

doca_error_t doca_verbs_get_async_event(struct ibv_context *context, struct doca_verbs_async_event *event)
{
	int ret = take(context, 0, true, event);

	if (ret == -EINTR)
		return DOCA_ERROR_AGAIN;
	return ret == -ESHUTDOWN ? DOCA_ERROR_SHUTDOWN : bl_doca_error(ret);
}

int bl_net_get_async_event(struct ibv_context *context, int timeout_ms, struct doca_verbs_async_event *event)
{
	return bl_positive_errno(take(context, timeout_ms, false, event));
}

doca_error_t doca_verbs_ack_async_event(struct doca_verbs_async_event *event)
{
	struct bl_context *context;
	int ret;

	if (!event)
		return bl_doca_null(__func__, "event");
	ret = bl_context_get(event->context, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = bl_events_ack(&context->events, event);
	bl_context_put(context);
	return bl_doca_error(ret);
}

int bl_net_stop_async_events(struct ibv_context *ibv)
{
	struct bl_context *context;
	int ret = bl_context_get(ibv, &context);

	if (ret)
		return bl_positive_errno(ret);
	bl_events_stop(&context->events);
	bl_context_put(context);
	return 0;
}
