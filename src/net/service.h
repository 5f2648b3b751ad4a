/* SPDX-License-Identifier: MIT */
/*
 * service.h - threads that serve queue pairs whose doorbells a CPU rings
 *
 * A queue pair is served by one service at most: the one that the program gave it to, else the library's own, whose
 * thread is there as long as it serves something.
 */
#ifndef BL_NET_SERVICE_H
#define BL_NET_SERVICE_H

#include "net/export.h"

/**
 * bl_service_new() - Start a thread that serves nothing yet
 * @name:      name of the thread
 * @service_p: receives the service
 *
 * Return: 0, -ENOMEM, -ECHILD (no thread).
 */
int bl_service_new(const char *name, struct bl_service **service_p);

/* Stop the thread and free the service, which serves nothing. */
void bl_service_free(struct bl_service *service);

/* Serve one more. 0 or -ENOMEM. One caller at a time for a service. */
int bl_service_add(struct bl_service *service, struct bl_gpu_qp *qp);

/* Serve it no more; when this returns the thread does not touch it. Cannot fail. One caller at a time for a service. */
void bl_service_remove(struct bl_service *service, struct bl_gpu_qp *qp);

/* One of those that are served, or NULL. */
struct bl_gpu_qp *bl_service_any(struct bl_service *service);

/* What makes it known to the program. */
struct bl_object *bl_service_object(struct bl_service *service);

/* Have the library's own thread serve; the program may have switched that off. 0, -ENOMEM, -ECHILD. */
int bl_served_begin(struct bl_gpu_qp *qp);

/* Have nobody serve. */
void bl_served_end(struct bl_gpu_qp *qp);

/* Who serves, of those that are not the NIC and not the GPU. */
enum bl_net_ringer bl_served_by(struct bl_gpu_qp *qp);

#endif
