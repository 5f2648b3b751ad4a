/* SPDX-License-Identifier: MIT */
/*
 * fake_verbs.h - a stand-in libibverbs.so.1 with one RDMA device, whose queue pairs reach each other
 *
 * It takes dma-bufs of the emulated GPU, moves the bytes of RDMA WRITE and READ when they are posted, and is as strict as
 * a device: states of queue pairs, protection domains, keys, bounds and access rights. For one thread.
 *
 * FAKE_VERBS=WORD makes it worse:
 *	none       there is no device
 *	down       its port is not active
 *	ib         its port is InfiniBand's, with local identifiers (default: Ethernet)
 *	nodmabuf   it does not take dma-bufs
 *	lost       no request completes
 *	refused    requests complete with IBV_WC_REM_ACCESS_ERR
 *	corrupt    one bit of each transfer is wrong
 *	shifted    each transfer reads from a byte further on
 * When objects are left at the end, it says so on stderr.
 */
#ifndef TESTS_EMU_FAKE_VERBS_H
#define TESTS_EMU_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether FAKE_VERBS is this word. */
bool fake_mode(const char *word);

/* What exists is counted: +1, -1. */
void fake_count(int change);

/**
 * fake_mr_reach() - Find memory by key
 * @pd:     protection domain of who asks
 * @key:    local or remote key, which are the same number here
 * @addr:   address, in the terms of the registration
 * @len:    bytes
 * @access: rights that are needed
 *
 * Return: where the bytes are, or NULL when the device would refuse.
 */
unsigned char *fake_mr_reach(const struct ibv_pd *pd, uint32_t key, uint64_t addr, size_t len, int access);

/* Functions of the device's table. */
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_p);
int fake_poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc);

#endif
