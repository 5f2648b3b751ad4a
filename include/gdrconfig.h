/* SPDX-License-Identifier: MIT */
/*
 * gdrconfig.h - which CPU family this header set was compiled for
 *
 * Defines exactly one of GDRAPI_X86, GDRAPI_POWER and GDRAPI_ARM64, as GDRCopy's header of the same name does.
 */
#ifndef GDRCONFIG_H
#define GDRCONFIG_H

#ifndef __GNUC__
#error "gdrconfig.h needs a compiler that defines __GNUC__"
#endif

#if defined(__x86_64__) || defined(__i386__)
#define GDRAPI_X86
#elif defined(__aarch64__)
#define GDRAPI_ARM64
#elif defined(__powerpc__)
#define GDRAPI_POWER
#else
#error "gdrconfig.h: unknown CPU family"
#endif

#endif
