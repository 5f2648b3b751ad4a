/* SPDX-License-Identifier: MIT */
/*
 * child.h - a part of a test in a process of its own, with an environment of its own
 *
 * The emulated GPU reads its variables when it is loaded, and the library keeps what it learned for the rest of the
 * process. A test that needs another world runs its body in a child; the parent must not have entered the world.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

/**
 * child_run() - Run a function in a child
 * @run: body; uses check() and skip() as a test does
 * @arg: for @run
 * @env: NAME, VALUE, NAME, VALUE, ..., NULL: set in the child; NULL for nothing
 *
 * Ends the test as failed, with the child's text, when the child fails, and when it does not end within a minute.
 */
void child_run(void (*run)(const void *arg), const void *arg, const char *const *env);

#endif
