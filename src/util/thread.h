/* SPDX-License-Identifier: MIT */
#ifndef BL_UTIL_THREAD_H
#define BL_UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>

/**
 * bl_thread_start() - Start a thread that nobody waits for
 * @run: what it does
 * @arg: its argument
 *
 * All signals are blocked in it: they are for the program's own threads.
 *
 * Return: 0, or a positive errno value.
 */
static inline int bl_thread_start(void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

#endif
