/* SPDX-License-Identifier: MIT */
/*
 * tsan.h - a lock that is made new in a forked child
 *
 * ThreadSanitizer keeps its own books: for it the child still holds the lock.
 */
#ifndef BL_UTIL_TSAN_H
#define BL_UTIL_TSAN_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define tsan_release(lock) (__tsan_mutex_pre_unlock(lock, 0), __tsan_mutex_post_unlock(lock, 0))
#else
#define tsan_release(lock) ((void)(lock))
#endif

#endif
