/* SPDX-License-Identifier: MIT */
/* container.h - signs of a container */
#ifndef TOOLS_DOCTOR_CONTAINER_H
#define TOOLS_DOCTOR_CONTAINER_H

/* What made the container that a text of /proc/self/cgroup tells of, NULL when it tells of none. */
const char *doctor_container_of_cgroup(const char *text);

#endif
