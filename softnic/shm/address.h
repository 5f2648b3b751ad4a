/* SPDX-License-Identifier: MIT */
/*
 * address.h - where a link of this transport is found
 *
 * A link's GID is a unique local IPv6 address (RFC 4193): 8 bytes that all of them share, 8 bytes of chance. The socket
 * that it listens on is named after it: an abstract name, or a file in the folder that BARLANE_SNIC_DIR names.
 */
#ifndef SOFTNIC_SHM_ADDRESS_H
#define SOFTNIC_SHM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BL_SHM_GID_LEN	16
#define BL_SHM_GID_TEXT 46

/* A new GID. Return: 0 or -errno, logged. */
int bl_shm_gid_make(uint8_t gid[BL_SHM_GID_LEN]);

/* Whether it is one of this transport's. */
bool bl_shm_gid_is_ours(const uint8_t gid[BL_SHM_GID_LEN]);

/* As one writes it. Return: @text. */
const char *bl_shm_gid_text(const uint8_t gid[BL_SHM_GID_LEN], char text[BL_SHM_GID_TEXT]);

/* The socket of a GID. Return: 0, or -ENAMETOOLONG (BARLANE_SNIC_DIR), logged. */
int bl_shm_address(const uint8_t gid[BL_SHM_GID_LEN], struct sockaddr_un *addr, socklen_t *len_p);

/* Whether a process is let in: of the same user, or root. Else -EACCES, logged. @fd is connected. */
int bl_shm_check_user(int fd);

#endif
