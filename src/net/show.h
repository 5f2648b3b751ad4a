/* SPDX-License-Identifier: MIT */
/*
 * show.h - what GPUs and proxies are doing, for who looks at the process: "barlane dump"
 *
 * A thread of its own, "barlane-show", looks at the words that GPUs write, 20 times a second, while queue pairs are exported: those may lie
 * behind the bus, and neither a NIC's thread nor a proxy should wait for them.
 */
#ifndef BL_NET_SHOW_H
#define BL_NET_SHOW_H

struct bl_gpu_qp;

/* A queue pair that is complete is shown from the thread's next look on. Where that cannot be, it is not; why is logged at info level. */
void bl_show_gpu_qp(struct bl_gpu_qp *qp);

/* It is looked at no more when this returns; nothing happens when it was not shown. */
void bl_hide_gpu_qp(struct bl_gpu_qp *qp);

#endif
