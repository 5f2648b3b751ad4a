/* SPDX-License-Identifier: MIT */
/*
 * fake_ibv.h - a stand-in libibverbs.so.1 with two RDMA devices whose queue pairs reach each other, and what tests of it
 * may change and see
 *
 * It moves the bytes of a request when it is posted, or when the peer has posted a receive list for it, and is as strict
 * as a device and the kernel together: what a caller may not do is a complaint, which a test finds at its end. For any
 * number of threads.
 */
#ifndef BL_TESTS_FAKE_IBV_H
#define BL_TESTS_FAKE_IBV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define FAKE_MAX_GIDS 8

/**
 * struct fake_ibv - all of it; tests change it while no thread is at work, or by fake_set()
 * @fail_call, @fail_after, @fail_errno: the call of that name, without "ibv_", that comes after so many fails
 * @no_devices: there are none
 * @no_dmabuf: no device takes dma-bufs
 * @refuse:   memory that cannot be registered by address
 * @port_down: ports are not active
 * @infiniband: and not Ethernet
 * @mtu, @max_sge, @max_inline, @max_wr: of devices
 * @no_atomics: they have none
 * @vendor:   who made them
 * @gids, @gid_types, @nr_gids: their addresses; a type of 0xff: cannot be read
 * @interface: index of the network interface of all addresses; 0: none
 * @key:      the next key that is given out, 0: any
 * @hold:     completions stay in the device
 * @status, @status_in: the send request after so many completes with it
 * @stuck:    requests of queue pairs that go to ERR are not completed
 * @live:     objects that exist
 * @complaint: the first thing that a caller may not do, or ""
 * @attr, @mask: of the last ibv_modify_qp()
 * @ah:	      of the last ibv_create_ah()
 * @dmabufs:  regions by dma-buf
 * @receives: receive lists
 * @posts, @inline_posts, @segments: send requests, those with inline data, segments of the last
 * @last:     the last send request
 */
struct fake_ibv {
	const char *fail_call;
	int fail_after;
	int fail_errno;
	bool no_devices;
	bool no_dmabuf;
	const void *refuse;
	bool port_down;
	bool infiniband;
	enum ibv_mtu mtu;
	int max_sge;
	uint32_t max_inline;
	int max_wr;
	bool no_atomics;
	uint32_t vendor;
	union ibv_gid gids[FAKE_MAX_GIDS];
	uint32_t gid_types[FAKE_MAX_GIDS];
	int nr_gids;
	unsigned int interface;
	uint32_t key;
	bool hold;
	enum ibv_wc_status status;
	int status_in;
	bool stuck;
	int live;
	char complaint[200];
	struct ibv_qp_attr attr;
	int mask;
	struct ibv_ah_attr ah;
	unsigned int dmabufs;
	unsigned int receives;
	unsigned int posts;
	unsigned int inline_posts;
	int segments;
	struct ibv_send_wr last;
};

extern struct fake_ibv fake_ibv;

/* As after start; live objects stay. */
void fake_ibv_reset(void);

void fake_lock(void);
void fake_unlock(void);

/* While threads are at work. */
#define fake_set(field, value)                                                                                         \
	do {                                                                                                           \
		fake_lock();                                                                                           \
		fake_ibv.field = (value);                                                                              \
		fake_unlock();                                                                                         \
	} while (0)
#define fake_get(field)                                                                                                \
	({                                                                                                             \
		__typeof__(fake_ibv.field) fake_value;                                                                 \
		fake_lock();                                                                                           \
		fake_value = fake_ibv.field;                                                                           \
		fake_unlock();                                                                                         \
		fake_value;                                                                                            \
	})

/* An event of a queue pair by its number, or of the device (@qpn 0). */
void fake_ibv_event(uint32_t qpn, enum ibv_event_type type);

/* An address handle, with what it was made of. */
struct fake_ah {
	struct ibv_ah ibv;
	struct ibv_ah_attr attr;
};

/**
 * struct fake_hooks - a library on top of this one, whose devices these are as well
 * @gid:     address of a context's port, instead of the table's; false: it has none of its own
 * @closed:  a context, before it is closed
 * @pd_gone: a domain, before it is
 * @mr_made, @mr_gone: regions; @bytes is where a CPU reaches the first one. @mr_made: 0 or a positive errno value
 */
struct fake_hooks {
	bool (*gid)(struct ibv_context *context, union ibv_gid *gid);
	void (*closed)(struct ibv_context *context);
	void (*pd_gone)(struct ibv_pd *pd);
	int (*mr_made)(struct ibv_mr *mr, unsigned char *bytes, uint64_t iova, int access);
	void (*mr_gone)(struct ibv_mr *mr);
};

/* The devices get these names; both strings stay. */
void fake_ibv_hook(const struct fake_hooks *hooks, const char *const names[2]);

/**
 * struct fake_map - a dma-buf that a CPU reaches
 * @bytes: the byte that was asked for
 */
struct fake_map {
	unsigned char *bytes;
	void *map;
	size_t len;
	void *attached;
};

/* Return: 0 or -1 and errno. */
int fake_map_dmabuf(int fd, uint64_t off, size_t len, struct fake_map *map);
void fake_unmap_dmabuf(struct fake_map *map);

/* For files of the libraries; the lock is held but in fake_fails(). */
extern struct fake_hooks fake_hooks;
bool fake_fails(const char *call);
__attribute__((format(printf, 1, 2))) void fake_complain(const char *fmt, ...);
unsigned char *fake_reach(const struct ibv_pd *pd, uint32_t key, bool remote, uint64_t addr, size_t len, int access);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc);
void fake_push_event(struct ibv_context *context, const struct ibv_async_event *event);

#define FAKE_WORK 4096

struct fake_cq {
	struct ibv_cq ibv;
	int users;
	struct ibv_wc *wc;
	unsigned int head, tail, size;
};

/* A request that waits; its data is taken when it is carried out. */
struct fake_send {
	struct ibv_send_wr wr;
	struct ibv_sge sges[64];
	unsigned char data[1024];
};

struct fake_recv {
	struct ibv_recv_wr wr;
	struct ibv_sge sges[64];
};

struct fake_qp {
	struct ibv_qp ibv;
	struct fake_qp *next;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr;
	struct fake_send *sends;
	struct fake_recv *recvs;
	unsigned int send_head, send_tail, recv_head, recv_tail;
};

extern struct fake_qp *fake_qps;

/* fake_work.c: carry out what can be; in ERR: flush. */
void fake_progress(void);
void fake_flush(struct fake_qp *qp);
void fake_drop(struct fake_qp *qp);

#endif
