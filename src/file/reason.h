/* SPDX-License-Identifier: MIT */
/* reason.h - why a path does not serve a file, in words that outlive the file */
#ifndef BL_FILE_REASON_H
#define BL_FILE_REASON_H

/* The same text, valid for ever: each is kept once, up to some number; then one that says where to ask. Thread-safe. */
const char *bl_reason_keep(const char *text);

#endif
