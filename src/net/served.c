// SPDX-License-Identifier: MIT
/*
 * Who serves a queue pair: the service that the program gave it to, else the library's own. That one is the answer to
 * programs that ask for the CPU proxy, or whose AUTO came to it, and have no thread: without it their kernels would
 * wait for ever. Programs that call doca_gpu_verbs_cpu_proxy_progress() are none the worse: its thread sleeps when they
 * are faster.
 */
#define log_fmt(fmt) "service: " fmt
#include <errno.h>

#include "net/log.h"
#include "net/service.h"

/**
 * struct own - the library's service
 * @lock:    guards it, and who serves what; above the locks of services
 * @service: NULL: it serves nothing
 * @nr:	     queue pairs that it serves
 */
static struct own {
	pthread_mutex_t lock;
	struct bl_service *service;
	size_t nr;
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool own_wanted(void)
{
	return bl_net_env_number("BARLANE_NET_SERVICE", 0, 1, 1);
}

/* A NIC that looks at the word itself counts no completions, and does not look at slots. */
static bool needs_thread(const struct bl_gpu_qp *qp)
{
	return !qp->watched || qp->fold_cqe || qp->slots;
}

/* The lock is held. */
static int own_add(struct bl_gpu_qp *qp)
{
	int ret = 0;

	if (!own.service)
		ret = bl_service_new("barlane-net", &own.service);
	if (ret)
		return ret;
	ret = bl_service_add(own.service, qp);
	if (!ret) {
		own.nr++;
		qp->service = own.service;
		return 0;
	}
	if (!own.nr) {
		bl_service_free(own.service);
		own.service = NULL;
	}
	return ret;
}

/* The lock is held. */
static void leave(struct bl_gpu_qp *qp)
{
	struct bl_service *service = qp->service;

	if (!service)
		return;
	bl_service_remove(service, qp);
	qp->service = NULL;
	if (service != own.service || --own.nr)
		return;
	bl_service_free(own.service);
	own.service = NULL;
}

int bl_served_begin(struct bl_gpu_qp *qp)
{
	int ret = 0;

	if (!needs_thread(qp) || !own_wanted())
		return 0;
	pthread_mutex_lock(&own.lock);
	ret = own_add(qp);
	pthread_mutex_unlock(&own.lock);
	return ret;
}

void bl_served_end(struct bl_gpu_qp *qp)
{
	pthread_mutex_lock(&own.lock);
	leave(qp);
	pthread_mutex_unlock(&own.lock);
}

enum bl_net_ringer bl_served_by(struct bl_gpu_qp *qp)
{
	enum bl_net_ringer ringer = BL_NET_RINGER_PROGRAM;

	pthread_mutex_lock(&own.lock);
	if (qp->service)
		ringer = qp->service == own.service ? BL_NET_RINGER_LIBRARY : BL_NET_RINGER_SERVICE;
	pthread_mutex_unlock(&own.lock);
	return ringer;
}

/* From the library's thread to the program's, or from nobody. */
static int move_to(struct bl_service *service, struct bl_gpu_qp *qp)
{
	int ret = 0;

	pthread_mutex_lock(&own.lock);
	if (qp->service && qp->service != own.service)
		ret = fail(EEXIST, "qp %p: a service serves it already", (void *)qp);
	if (!ret)
		ret = bl_service_add(service, qp);
	if (!ret) {
		leave(qp);
		qp->service = service;
	}
	pthread_mutex_unlock(&own.lock);
	return ret;
}

/*
 * Back to the library's thread; the lock is held. That it cannot be had is no reason to keep the queue pair: it is
 * said, and the program has to call doca_gpu_verbs_cpu_proxy_progress() then.
 */
static void give_back(struct bl_gpu_qp *qp)
{
	leave(qp);
	if (needs_thread(qp) && own_wanted() && own_add(qp))
		log_warn("qp %p: nobody serves it any more", (void *)qp);
}

static int move_back(struct bl_service *service, struct bl_gpu_qp *qp)
{
	int ret = 0;

	pthread_mutex_lock(&own.lock);
	if (qp->service == service)
		give_back(qp);
	else
		ret = fail(ENOENT, "service %p does not serve qp %p", (void *)service, (void *)qp);
	pthread_mutex_unlock(&own.lock);
	return ret;
}

doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *service)
{
	struct bl_service *made;
	int ret;

	if (!service)
		return bl_net_doca(fail(EINVAL, "no place for the service"));
	/* the lock above may be in any state there, and there is nothing to serve */
	if (bl_gpu_forked())
		return bl_net_doca(fail(EACCES, "this process was forked, and has no GPU"));
	ret = bl_service_new("barlane-service", &made);
	if (ret)
		return bl_net_doca(ret);
	bl_object_add(bl_service_object(made), BL_GPU_SERVICE, made, NULL);
	*service = made;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp)
{
	struct bl_object *service_object, *qp_object;
	int ret;

	ret = bl_object_get(BL_GPU_SERVICE, service, &service_object);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_object_get(BL_GPU_QP, qp, &qp_object);
	if (ret)
		goto put_service;
	if (!qp->cpu_proxy)
		ret = fail(EOPNOTSUPP, "qp %p: the GPU rings its doorbell itself", (void *)qp);
	else
		ret = move_to(service, bl_gpu_qp_of(qp));
	bl_object_put(qp_object);
put_service:
	bl_object_put(service_object);
	return bl_net_doca(ret);
}

int bl_net_service_remove_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp)
{
	struct bl_object *service_object, *qp_object;
	int ret;

	ret = bl_object_get(BL_GPU_SERVICE, service, &service_object);
	if (ret)
		return ret;
	ret = bl_object_get(BL_GPU_QP, qp, &qp_object);
	if (!ret) {
		ret = move_back(service, bl_gpu_qp_of(qp));
		bl_object_put(qp_object);
	}
	bl_object_put(service_object);
	return ret;
}

doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service)
{
	struct bl_object *object;
	struct bl_gpu_qp *qp;
	int ret;

	ret = bl_object_take(BL_GPU_SERVICE, service, false, &object);
	if (ret)
		return bl_net_doca(ret);
	pthread_mutex_lock(&own.lock);
	while ((qp = bl_service_any(service)))
		give_back(qp);
	pthread_mutex_unlock(&own.lock);
	bl_service_free(service);
	return DOCA_SUCCESS;
}
