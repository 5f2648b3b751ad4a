/* SPDX-License-Identifier: MIT */
/*
 * reason.h - why the last failing call of a thread failed
 *
 * Memory of threads is scarce in libraries that are loaded late: glibc keeps some 1.5 KiB for all of them together. So
 * a thread has a pointer and a number there, and its text in a page that it gets with its first failure and gives back
 * when it ends. A page and not malloc(): a handler of signals may fail too, whatever it interrupted.
 */
#ifndef BL_UTIL_REASON_H
#define BL_UTIL_REASON_H

#define BL_REASON_SIZE 1024

/**
 * bl_reason_set() - Remember why the calling thread failed, for bl_last_error()
 * @code: positive errno value
 * @text: at most BL_REASON_SIZE bytes with their end; may be a part of the text that it replaces
 *
 * When there is no memory for the text, or no thread key to give it back by, bl_last_error() has the system's own text
 * of @code. May be called by handlers of signals. Where one interrupts this very function, the code that stays is the
 * interrupted call's, and the text may be partly either's, but has an end. Where the program made 32 thread keys before,
 * glibc calls calloc() for a thread's first failure: one in a handler must not have interrupted malloc() then.
 * May change errno.
 */
void bl_reason_set(int code, const char *text);

#endif
