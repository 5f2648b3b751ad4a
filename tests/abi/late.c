// SPDX-License-Identifier: MIT
/*
 * Libraries that a program loads when it already has threads, in a process where the loader has next to no memory of
 * threads left for them; the environment makes it so (glibc.rtld.nns and .optional_static_tls). Arguments: libraries.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "barlane.h"
#include "tests/tap.h"

static struct {
	__typeof__(bl_open) *open;
	__typeof__(bl_last_error) *last_error;
} api;
static const char *const *libraries;
static sem_t loaded;

static void *wait_and_fail(void *arg)
{
	bl_ctx_t ctx;
	int code;

	sem_wait(&loaded);
	if (!api.open)
		return arg;
	if (*api.last_error(&code) || code || api.open("nonesuch", &ctx) != -EINVAL)
		return arg;
	return strstr(api.last_error(&code), "nonesuch") && code == EINVAL ? NULL : arg;
}

static void libraries_are_loaded_late(void)
{
	void *wrong = NULL, *core = NULL;
	pthread_t thread;
	bl_ctx_t ctx;

	check(!sem_init(&loaded, 0, 0));
	check(!pthread_create(&thread, NULL, wait_and_fail, &loaded));
	for (const char *const *name = libraries; *name; name++) {
		void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);

		if (!handle)
			tap_end(TAP_FAILED, "%s", dlerror());
		core = core ? core : handle;
	}
	api.last_error = (__typeof__(bl_last_error) *)dlsym(core, "bl_last_error");
	api.open = (__typeof__(bl_open) *)dlsym(core, "bl_open");
	sem_post(&loaded);
	check(!pthread_join(thread, &wrong));
	check(api.open && api.last_error && !wrong);
	check_str(api.last_error(NULL), "");
	check_eq(api.open("none such", &ctx), -EINVAL);
	check_has(api.last_error(NULL), "none such");
}

static const struct tap_test tests[] = {
	{"libraries that are loaded late find memory of threads", libraries_are_loaded_late},
};

int main(int argc, char **argv)
{
	libraries = (const char *const *)argv + 1;
	return tap_main(tests, 1, 1, argv);
}
