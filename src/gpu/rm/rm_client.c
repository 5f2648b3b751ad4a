// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm: " fmt
#include "rm_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver_version.h"
#include "gpu/mmap.h"
#include "gpu/sys.h"
#include "rm_gpu.h"
#include "rm_selftest.h"
#include "util/log.h"

static struct {
	pthread_mutex_t lock;
	int users;
	bool leaked;
	struct rm_conn conn;
	struct rm_gpu *gpus;
} rm = { .lock = PTHREAD_MUTEX_INITIALIZER, .conn = { .ctl = -1 } };

/* Where /sys and /proc are hidden: a version that does not match is refused, but answered with the kernel's own. */
static void ask_version(int ctl, struct bl_driver_version *version)
{
	struct rm_version_str arg = { .cmd = 0 };

	bl_sys()->ioctl(ctl, RM_ESCAPE(RM_ESC_CHECK_VERSION_STR, sizeof(arg)), &arg);
	arg.text[sizeof(arg.text) - 1] = '\0';
	if (bl_driver_version_parse(arg.text, version))
		snprintf(version->text, sizeof(version->text), "unknown");
}

static int choose_layout(struct rm_conn *conn)
{
	struct bl_driver_version version;

	if (bl_driver_version_read(&version))
		ask_version(conn->ctl, &version);
	snprintf(conn->driver, sizeof(conn->driver), "%s", version.text);
	conn->layout = rm_layout_for(version.major);
	if (!conn->layout)
		return fail(EOPNOTSUPP, "driver %s: older than %u, its interface is not known", conn->driver,
			    RM_FIRST_BRANCH);
	if (!version.major || version.major > RM_LAST_BRANCH)
		log_warn("driver %s: not a branch that was compared; its interface is taken to be that of %u, which the "
			 "self-test has to confirm",
			 conn->driver, RM_LAST_BRANCH);
	return 0;
}

static int connect_client(struct rm_conn *conn)
{
	int ret;

	conn->ctl = bl_device_open(RM_CTL_NODE);
	if (conn->ctl < 0)
		return fail(-conn->ctl, "open %s: %s", RM_CTL_NODE, strerror(-conn->ctl));
	ret = choose_layout(conn);
	if (ret)
		goto close;
	conn->client = 0;
	ret = rm_alloc(conn, 0, RM_CLASS_CLIENT, NULL, &conn->client);
	if (ret)
		goto close;
	return 0;
close:
	bl_device_close(conn->ctl);
	conn->ctl = -1;
	return ret;
}

/* Reverse order of making; what cannot be freed goes with the descriptor. */
static void disconnect(void)
{
	struct rm_gpu *gpu;

	while ((gpu = rm.gpus)) {
		rm.gpus = gpu->next;
		rm_gpu_close(&rm.conn, gpu);
	}
	rm_free(&rm.conn, rm.conn.client, rm.conn.client);
	bl_device_close(rm.conn.ctl);
	rm.conn = (struct rm_conn){ .ctl = -1 };
}

int rm_client_get(const struct rm_conn **conn_p)
{
	int ret = 0;

	pthread_mutex_lock(&rm.lock);
	if (rm.conn.ctl < 0)
		ret = connect_client(&rm.conn);
	if (!ret)
		rm.users++;
	pthread_mutex_unlock(&rm.lock);
	*conn_p = &rm.conn;
	return ret;
}

void rm_client_put(void)
{
	pthread_mutex_lock(&rm.lock);
	if (--rm.users == 0 && !rm.leaked)
		disconnect();
	pthread_mutex_unlock(&rm.lock);
}

void rm_client_leak(void)
{
	pthread_mutex_lock(&rm.lock);
	rm.leaked = true;
	pthread_mutex_unlock(&rm.lock);
}

int rm_client_gpu(const struct bl_cuda *cuda, int ordinal, struct rm_gpu **gpu_p)
{
	struct rm_gpu *gpu;
	int ret = 0;

	pthread_mutex_lock(&rm.lock);
	for (gpu = rm.gpus; gpu && gpu->ordinal != ordinal; gpu = gpu->next)
		;
	if (!gpu) {
		ret = rm_gpu_open(&rm.conn, cuda, ordinal, &gpu);
		if (!ret) {
			gpu->next = rm.gpus;
			rm.gpus = gpu;
		}
	}
	pthread_mutex_unlock(&rm.lock);
	*gpu_p = gpu;
	return ret;
}

void bl_rm_forget(void)
{
	pthread_mutex_init(&rm.lock, NULL);
	rm.users = 0;
	rm.leaked = false;
	rm.gpus = NULL;
	rm.conn = (struct rm_conn){ .ctl = -1 };
	rm_selftest_forget();
}
