/* SPDX-License-Identifier: MIT */
/*
 * capture.h - a file of all packets, in the format of pcap
 *
 * BARLANE_SNIC_PCAP names it; %p in the name is the process, %n the NIC. Packets of packet sockets have their Ethernet
 * headers, those of UDP sockets begin at the IP header that they are known to have.
 */
#ifndef SOFTNIC_ROCE_CAPTURE_H
#define SOFTNIC_ROCE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

struct bl_roce_capture;

/*
 * Begins the file, if one is wanted; *@capture_p is NULL otherwise. @name: of the NIC.
 * Return: 0, -EBUSY (another NIC writes it), other -errno; logged.
 */
int bl_roce_capture_open(const char *name, bool ethernet, struct bl_roce_capture **capture_p);
/* What follows takes NULL. Packets that are not written yet are. */
void bl_roce_capture_close(struct bl_roce_capture *capture);
void bl_roce_capture_forget(struct bl_roce_capture *capture);

/* A packet of two parts, one after the other. */
void bl_roce_capture_add(struct bl_roce_capture *capture, const void *head, size_t head_len, const void *rest,
			 size_t rest_len);
/* Write what was put by. Later packets are lost, with one message, when that fails. */
void bl_roce_capture_flush(struct bl_roce_capture *capture);

#endif
