// SPDX-License-Identifier: MIT
/*
 * peek.c - load a word that may not be there
 */
#include "sanity/sanity.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf peek_env;

static void on_fault(int sig)
{
	siglongjmp(peek_env, sig);
}

int st_peek(volatile const uint32_t *addr, uint32_t *value_p)
{
	struct sigaction action = { .sa_handler = on_fault }, old_segv, old_bus;
	int sig;

	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, &old_segv);
	sigaction(SIGBUS, &action, &old_bus);
	sig = sigsetjmp(peek_env, 1);
	if (!sig)
		*value_p = *addr;
	sigaction(SIGSEGV, &old_segv, NULL);
	sigaction(SIGBUS, &old_bus, NULL);
	return sig;
}
