/* SPDX-License-Identifier: MIT */
/*
 * run.h - what the runner and the verdicts share
 */
#ifndef TOOLS_SANITY_RUN_H
#define TOOLS_SANITY_RUN_H

/* Where a test writes why it did not pass; inherited by all its processes. */
extern int sanity_reason_fd;

#endif
