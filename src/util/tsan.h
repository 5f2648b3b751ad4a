/* SPDX-License-Identifier: MIT */
/*
 * tsan.h - whether this is compiled for ThreadSanitizer, and what it is not told
 *
 * Between BL_TSAN_READS_UNSEEN(cond) and BL_TSAN_READS_SEEN(cond) the thread's reads are no races, if @cond: of memory that a
 * device writes, and that was found to be written by looking at it. What a thread did before BL_TSAN_GIVE(addr) comes before what
 * another one does behind BL_TSAN_TAKE(addr): the emulated device, and who has found what it wrote there.
 */
#ifndef BL_UTIL_TSAN_H
#define BL_UTIL_TSAN_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BL_TSAN 1
/* of the sanitizer's own library */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateHappensBefore(const char *file, int line, const volatile void *addr);
void AnnotateHappensAfter(const char *file, int line, const volatile void *addr);
#define BL_TSAN_GIVE(addr)	   AnnotateHappensBefore(__FILE__, __LINE__, addr)
#define BL_TSAN_TAKE(addr)	   AnnotateHappensAfter(__FILE__, __LINE__, addr)
#define BL_TSAN_READS_UNSEEN(cond) ((cond) ? AnnotateIgnoreReadsBegin(__FILE__, __LINE__) : (void)0)
#define BL_TSAN_READS_SEEN(cond)   ((cond) ? AnnotateIgnoreReadsEnd(__FILE__, __LINE__) : (void)0)
#else
#define BL_TSAN 0
#define BL_TSAN_GIVE(addr)	   ((void)(addr))
#define BL_TSAN_TAKE(addr)	   ((void)(addr))
#define BL_TSAN_READS_UNSEEN(cond) ((void)(cond))
#define BL_TSAN_READS_SEEN(cond)   ((void)(cond))
#endif

#endif
