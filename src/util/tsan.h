/* SPDX-License-Identifier: MIT */
/*
 * tsan.h - whether this is compiled for ThreadSanitizer
 */
#ifndef BL_UTIL_TSAN_H
#define BL_UTIL_TSAN_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BL_TSAN 1
#else
#define BL_TSAN 0
#endif

#endif
