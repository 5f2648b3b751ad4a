/* SPDX-License-Identifier: MIT */
/* fds.h - descriptors that no child keeps: with one of a peer's socket it would look alive after its parent's end */
#ifndef SOFTNIC_SHM_FDS_H
#define SOFTNIC_SHM_FDS_H

/*
 * Register a new descriptor, inside bl_fork_window_enter() and _leave(), which the call that made it is in, too.
 * Return: @fd, or -errno: @fd is negative and errno says why, or there is no memory, and @fd is closed.
 */
int bl_shm_fd_own(int fd);

/* Negative numbers are ignored. Keeps errno. */
void bl_shm_fd_close(int fd);

/* In a child: close it if that has not happened at the fork. */
void bl_shm_fd_forget(int fd);

#endif
