// SPDX-License-Identifier: MIT
/* What a NIC tells by itself, and who gets it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bed.h"
#include "gpunetio/host/doca_verbs_bridge.h"
#include "net/context.h"
#include "net/verbs/qp.h"

#define EVENTS 200

static struct bl_nic *nic_of(struct ibv_context *ibv)
{
	return ((struct bl_context *)((char *)ibv - offsetof(struct bl_context, ibv)))->nic;
}

static void tell(struct net_bed *bed, enum doca_verbs_event_type type, uint32_t num)
{
	bl_events_tell(nic_of(bed->context), type, num);
}

static bool is_readable(const struct ibv_context *context)
{
	struct pollfd fd = { .fd = context->async_fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* Now, or not at all. */
static int take(struct net_bed *bed, struct doca_verbs_async_event *event)
{
	*event = (struct doca_verbs_async_event){ 0 };
	return bl_net_get_async_event(bed->context, 0, event);
}

static void begin(struct net_bed *bed)
{
	net_bed_open(bed);
	net_bed_qp(bed, DOCA_VERBS_QP_TYPE_RC);
}

static void events_find_their_objects(void)
{
	struct doca_verbs_async_event event;
	struct net_bed bed;

	begin(&bed);
	check(!is_readable(bed.context));
	check_eq(take(&bed, &event), EAGAIN);
	tell(&bed, DOCA_VERBS_EVENT_QP_ACCESS_ERR, doca_verbs_qp_get_qpn(bed.qp));
	tell(&bed, DOCA_VERBS_EVENT_CQ_ERR, doca_verbs_cq_get_cqn(bed.cq));
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 1);
	/* nobody's */
	tell(&bed, DOCA_VERBS_EVENT_QP_FATAL, 0xabcdef);
	tell(&bed, DOCA_VERBS_EVENT_CQ_ERR, doca_verbs_qp_get_qpn(bed.qp));
	check(is_readable(bed.context));
	check_eq(take(&bed, &event), 0);
	check_eq(event.event_type, DOCA_VERBS_EVENT_QP_ACCESS_ERR);
	check(event.element.qp == bed.qp && event.context == bed.context);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	check_eq(take(&bed, &event), 0);
	check_eq(event.event_type, DOCA_VERBS_EVENT_CQ_ERR);
	check(event.element.cq == bed.cq);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	check(is_readable(bed.context));
	check_eq(take(&bed, &event), 0);
	check_eq(event.event_type, DOCA_VERBS_EVENT_PORT_ERR);
	check_eq(event.element.port_num, 1);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	check(!is_readable(bed.context));
	check_eq(take(&bed, &event), EAGAIN);
	net_bed_close(&bed);
}

static void an_event_that_is_not_acknowledged_keeps_its_object(void)
{
	struct doca_verbs_async_event event, port;
	struct net_bed bed;

	begin(&bed);
	tell(&bed, DOCA_VERBS_EVENT_QP_FATAL, doca_verbs_qp_get_qpn(bed.qp));
	tell(&bed, DOCA_VERBS_EVENT_PORT_ACTIVE, 1);
	check_eq(take(&bed, &event), 0);
	check_eq(take(&bed, &port), 0);
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	/* once */
	check_eq(doca_verbs_ack_async_event(&event), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_close_device(bed.context), EBUSY);
	check_eq(doca_verbs_ack_async_event(&port), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void events_of_what_is_destroyed_are_dropped(void)
{
	struct doca_verbs_async_event event;
	struct doca_verbs_cq *other;
	struct net_bed bed;

	begin(&bed);
	other = net_bed_cq(&bed);
	tell(&bed, DOCA_VERBS_EVENT_CQ_ERR, doca_verbs_cq_get_cqn(other));
	tell(&bed, DOCA_VERBS_EVENT_CQ_ERR, doca_verbs_cq_get_cqn(bed.cq));
	tell(&bed, DOCA_VERBS_EVENT_CQ_ERR, doca_verbs_cq_get_cqn(other));
	check_eq(doca_verbs_cq_destroy(other), DOCA_SUCCESS);
	check_eq(take(&bed, &event), 0);
	check(event.element.cq == bed.cq);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	check(!is_readable(bed.context));
	/* the queue's end is where it should be */
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 2);
	check_eq(take(&bed, &event), 0);
	check_eq(event.element.port_num, 2);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	/* one waits while all is closed */
	tell(&bed, DOCA_VERBS_EVENT_DEVICE_FATAL, 0);
	net_bed_close(&bed);
}

static void waits_end_in_each_way(void)
{
	struct doca_verbs_async_event event;
	struct net_bed bed;

	begin(&bed);
	check_eq(bl_net_get_async_event(bed.context, 10, &event), ETIMEDOUT);
	check_eq(fcntl(bed.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	check_eq(doca_verbs_get_async_event(bed.context, &event), DOCA_ERROR_AGAIN);
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 1);
	check_eq(doca_verbs_get_async_event(bed.context, &event), DOCA_SUCCESS);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 1);
	check_eq(bl_net_stop_async_events(bed.context), 0);
	check_eq(bl_net_stop_async_events(bed.context), 0);
	check_eq(bl_net_get_async_event(bed.context, -1, &event), ESHUTDOWN);
	check_eq(doca_verbs_get_async_event(bed.context, &event), DOCA_ERROR_SHUTDOWN);
	check(is_readable(bed.context));
	net_bed_close(&bed);
}

static void bad_arguments_are_refused(void)
{
	struct doca_verbs_async_event event = { .event_type = DOCA_VERBS_EVENT_QP_FATAL };
	struct ibv_context stranger = { 0 };
	struct net_bed bed;

	begin(&bed);
	check_eq(doca_verbs_get_async_event(NULL, &event), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_get_async_event(&stranger, &event), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_verbs_get_async_event(bed.context, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_get_async_event(bed.context, 0, NULL), EINVAL);
	check_eq(bl_net_stop_async_events(NULL), EINVAL);
	check_eq(doca_verbs_ack_async_event(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_ERROR_INVALID_VALUE);
	event.context = bed.context;
	check_eq(doca_verbs_ack_async_event(&event), DOCA_ERROR_INVALID_VALUE);
	net_bed_close(&bed);
}

static void too_many_are_lost_and_the_others_come(void)
{
	struct doca_verbs_async_event event;
	struct net_bed bed;
	int nr = 0;

	begin(&bed);
	for (int i = 0; i < 1100; i++)
		tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, (uint32_t)i);
	while (!take(&bed, &event)) {
		check_eq(event.element.port_num, nr++);
		check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	}
	check_eq(nr, 1024);
	net_bed_close(&bed);
}

static void contexts_have_events_of_their_own(void)
{
	struct doca_verbs_async_event event;
	struct ibv_context *other;
	struct net_bed bed;

	begin(&bed);
	other = bl_net_open_device("fake1");
	check(other);
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 1);
	bl_events_tell(nic_of(other), DOCA_VERBS_EVENT_QP_FATAL, doca_verbs_qp_get_qpn(bed.qp));
	check(!is_readable(other));
	check_eq(bl_net_get_async_event(other, 0, &event), EAGAIN);
	check_eq(take(&bed, &event), 0);
	/* by the wrong one */
	event.context = other;
	check_eq(doca_verbs_ack_async_event(&event), DOCA_ERROR_INVALID_VALUE);
	event.context = bed.context;
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	check_eq(bl_net_close_device(other), 0);
	net_bed_close(&bed);
}

/* @taken: by both threads */
struct race {
	struct net_bed *bed;
	unsigned int taken;
	unsigned int wrong;
};

static void *reader(void *arg)
{
	struct race *race = arg;
	struct doca_verbs_async_event event;
	doca_error_t err;

	while ((err = doca_verbs_get_async_event(race->bed->context, &event)) == DOCA_SUCCESS) {
		if (doca_verbs_ack_async_event(&event))
			__atomic_fetch_add(&race->wrong, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&race->taken, 1, __ATOMIC_RELAXED);
	}
	if (err != DOCA_ERROR_SHUTDOWN)
		__atomic_fetch_add(&race->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void two_threads_share_the_events(void)
{
	struct net_bed bed;
	struct race race = { .bed = &bed };
	pthread_t threads[2];

	begin(&bed);
	for (int i = 0; i < 2; i++)
		check_eq(pthread_create(&threads[i], NULL, reader, &race), 0);
	for (int i = 0; i < EVENTS; i++)
		tell(&bed, i % 2 ? DOCA_VERBS_EVENT_QP_FATAL : DOCA_VERBS_EVENT_PORT_ACTIVE,
		     i % 2 ? doca_verbs_qp_get_qpn(bed.qp) : 1);
	for (int i = 0; i < 10000 && __atomic_load_n(&race.taken, __ATOMIC_RELAXED) < EVENTS; i++)
		usleep(1000);
	check_eq(bl_net_stop_async_events(bed.context), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check_eq(race.taken, EVENTS);
	check_eq(race.wrong, 0);
	net_bed_close(&bed);
}

static void *teller(void *arg)
{
	struct race *race = arg;

	for (uint32_t num = 0; num < 20 * EVENTS; num++)
		tell(race->bed, DOCA_VERBS_EVENT_CQ_ERR, FAKE_FIRST_NUM + num % 4096);
	return NULL;
}

/* Queues come and go while a NIC tells of them and a program takes that. */
static void destruction_and_events_meet(void)
{
	struct net_bed bed;
	struct race race = { .bed = &bed };
	pthread_t threads[2];

	begin(&bed);
	check_eq(pthread_create(&threads[0], NULL, reader, &race), 0);
	check_eq(pthread_create(&threads[1], NULL, teller, &race), 0);
	for (int i = 0; i < EVENTS; i++) {
		struct doca_verbs_cq *cq = net_bed_cq(&bed);
		doca_error_t err;

		while ((err = doca_verbs_cq_destroy(cq)) == DOCA_ERROR_IN_USE)
			usleep(10);
		check_eq(err, DOCA_SUCCESS);
	}
	pthread_join(threads[1], NULL);
	check_eq(bl_net_stop_async_events(bed.context), 0);
	pthread_join(threads[0], NULL);
	check_eq(race.wrong, 0);
	net_bed_close(&bed);
}

static void a_child_has_none_of_them(void)
{
	struct doca_verbs_async_event event;
	struct net_bed bed;
	int status;
	pid_t pid;

	begin(&bed);
	tell(&bed, DOCA_VERBS_EVENT_PORT_ERR, 1);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		_exit(doca_verbs_get_async_event(bed.context, &event) != DOCA_ERROR_NOT_PERMITTED ||
		      bl_net_close_device(bed.context) != 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(take(&bed, &event), 0);
	check_eq(doca_verbs_ack_async_event(&event), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static const struct tap_test tests[] = {
	{ "events find their objects", events_find_their_objects },
	{ "an event that is not acknowledged keeps its object", an_event_that_is_not_acknowledged_keeps_its_object },
	{ "events of what is destroyed are dropped", events_of_what_is_destroyed_are_dropped },
	{ "waits end in each way", waits_end_in_each_way },
	{ "bad arguments are refused", bad_arguments_are_refused },
	{ "too many events are lost, and the others come", too_many_are_lost_and_the_others_come },
	{ "contexts have events of their own", contexts_have_events_of_their_own },
	{ "two threads share the events", two_threads_share_the_events },
	{ "destruction and events meet", destruction_and_events_meet },
	{ "a child has none of them", a_child_has_none_of_them },
};

TAP_MAIN(tests)
