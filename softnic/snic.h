/* SPDX-License-Identifier: MIT */
/*
 * snic.h - a software RDMA NIC in the process of its user
 *
 * It takes the work requests and doorbells that mlx5 hardware takes, from queues in memory of its user, and leaves the
 * same completions. What moves the bytes is one thread per NIC, or bl_snic_progress() where the user wants to say when.
 * Bytes travel by a transport (transport.h) in packets of RoCE's kinds, with its sequence numbers, acknowledgements and
 * retries, so that a lost, late or doubled packet is what it is on a wire.
 *
 * Thread-safe: everything here. Objects are destroyed by who made them, children first: -EBUSY otherwise.
 * Not inherited over fork(): a child gets -EACCES from everything but bl_snic_close(), which frees memory only.
 */
#ifndef SOFTNIC_SNIC_H
#define SOFTNIC_SNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bl_snic;
struct bl_snic_pd;
struct bl_snic_mr;
struct bl_snic_cq;
struct bl_snic_qp;
struct bl_snic_srq;
struct bl_snic_uar;
struct bl_snic_transport_ops;
struct bl_snic_fault;

#define BL_SNIC_GID_LEN	 16
#define BL_SNIC_WQEBB	 64
#define BL_SNIC_CQE_SIZE 64
#define BL_SNIC_UAR_SIZE 4096
#define BL_SNIC_UAR_CQ	 0x20  /* arm doorbell of completion queues */
#define BL_SNIC_UAR_NODBR 0x600 /* send doorbell without record */
#define BL_SNIC_UAR_DB	 0x800 /* send doorbell, BlueFlame register */
#define BL_SNIC_SHARE_LEN 128

#define BL_SNIC_PEEK_MAX 64

/**
 * struct bl_snic_job - bytes that a mover was given
 * @where:  of the mover's own
 * @number: the same
 */
struct bl_snic_job {
	void *where;
	uint64_t number;
};

/**
 * struct bl_snic_mover - moves bytes from one piece of memory to another while the NIC does other things
 * @least: bytes of a message that is worth the effort
 * @able:  whether it moves from @src to @dst, faster than the NIC's thread would
 * @start: begin to move @len bytes. Where two jobs overlap, and one of them writes there, it is as if each was over when
 *	   the next one began. 0, -EAGAIN: too many are under way, or another error: nothing was begun
 * @poll:  whether a job is over: 0, -EAGAIN: not yet, or another error: it is, and failed. After anything but -EAGAIN
 *	   it touches no memory any more, what it wrote is seen by whoever learns of it from now on, and the job must not
 *	   be asked for again
 * @share: tell how another process gets at memory to read it; NULL: none does. 0 or -errno: it cannot
 * @attach: get at memory that another process shares, as a @src of *@len_p bytes. 0, -EAGAIN: ask again later, with the
 *	   same bytes and the same *@moved_p, which is NULL at first; or another error: it cannot
 * @detach: let go of it, whatever @attach has said. 0 or -EAGAIN: not yet, call it again
 *
 * @dst and @src are the @moved of struct bl_snic_mem. All are called under the NIC's lock, @start and @poll often, so
 * that they must not wait for anything, and several NICs may call at a time; they must not call the NIC.
 */
struct bl_snic_mover {
	size_t least;
	bool (*able)(const void *dst, const void *src);
	int (*start)(void *dst, uint64_t dst_off, void *src, uint64_t src_off, size_t len, struct bl_snic_job *job);
	int (*poll)(const struct bl_snic_job *job);
	int (*share)(void *src, uint8_t bytes[BL_SNIC_SHARE_LEN]);
	int (*attach)(const uint8_t bytes[BL_SNIC_SHARE_LEN], void **moved_p, size_t *len_p);
	int (*detach)(void *moved);
};

/**
 * struct bl_snic_mem - how the NIC reaches a piece of its user's memory
 * @addr:  where the CPU loads and stores it, or NULL when only @read and @write do
 * @read:  copies @len bytes from @off to @dst; NULL: @addr is ordinary memory
 * @write: copies @len bytes from @src to @off; a later write or @flush may not overtake it; NULL as above
 * @flush: whoever owns the memory (a GPU) sees all earlier writes before any later one; may be NULL
 * @peek:  as @read, of at most BL_SNIC_PEEK_MAX bytes, but several in a row need not wait for each other, and a load
 *	   that follows may be done before it until @peeked was called; NULL: there is nothing better than @read
 * @peeked: all earlier @peek before anything later; NULL only without @peek
 * @put:   as @write, of words of 8 bytes at multiples of 8, at most BL_SNIC_PEEK_MAX bytes, with no order but by a store
 *	   fence that the NIC makes; never fails; only with @domain; NULL: there is nothing better than @write
 * @put_line: as @put, of 64 bytes at a multiple of 64, which are seen all at once; only with @put; NULL: there is no such store
 * @domain: what owns the memory, when that sees writes to any piece of it in the order in which they were made, and
 *	   they are on their way when @write returns: then @flush is called only before a write elsewhere; or NULL
 * @priv:  first argument of all of them
 * @mover: moves long messages between this and other memory of the same mover, or NULL
 * @moved: what the mover knows this memory by
 *
 * @read, @peek, @write, @put and @put_line return 0 or -errno (the memory was taken away: local or remote access error of the request).
 * They run on the NIC's thread, one at a time per piece of memory, and must not call the NIC.
 */
struct bl_snic_mem {
	void *addr;
	int (*read)(void *priv, uint64_t off, void *dst, size_t len);
	int (*write)(void *priv, uint64_t off, const void *src, size_t len);
	void (*flush)(void *priv);
	int (*peek)(void *priv, uint64_t off, void *dst, size_t len);
	void (*peeked)(void *priv);
	int (*put)(void *priv, uint64_t off, const void *src, size_t len);
	int (*put_line)(void *priv, uint64_t off, const void *src);
	const void *domain;
	void *priv;
	const struct bl_snic_mover *mover;
	void *moved;
};

/* What a NIC tells by itself. */
enum bl_snic_event_type {
	BL_SNIC_QP_FATAL,      /* a queue pair has moved to ERR, which its user did not ask for */
	BL_SNIC_QP_REQ_ERR,    /* the same, for a request of the peer that is none */
	BL_SNIC_QP_ACCESS_ERR, /* the same, for one that asked for memory or a right that it does not have */
	BL_SNIC_CQ_ERR,	       /* a completion found no room in a queue, the first one since one did */
	BL_SNIC_DEVICE_FATAL,
	BL_SNIC_PORT_ACTIVE,
	BL_SNIC_PORT_ERR
};

/** struct bl_snic_event - @num: of the queue pair, completion queue or port */
struct bl_snic_event {
	enum bl_snic_event_type type;
	uint32_t num;
};

/**
 * struct bl_snic_attr - what a NIC is made with; all zero: defaults
 * @name:	   in messages, "soft0"
 * @transport:	   NULL: shared memory
 * @fault:	   faults of the wire to inject, or NULL
 * @mtu:	   largest payload of a packet; 0: 4096 at path MTU, and what the transport likes best for messages of its own
 *		   host. Otherwise 256 to 1 MiB, a power of two
 * @timeout_floor_ns: least time before a request is sent again, whatever the QP's ack_timeout says, since a thread may
 *		   wait for a CPU; 0: 250 ms. UINT64_MAX: no floor
 * @manual:	   no thread: the user calls bl_snic_progress()
 * @now_ns:	   clock of all timers, NULL: CLOCK_MONOTONIC
 * @cpu:	   CPU the thread is bound to, plus one; 0: any
 * @mover:	   attaches to memory that other processes share; NULL: none does
 * @spin_us:	   microseconds without work after which the thread gives its CPU away (then it sleeps in steps that grow
 *		   to 100 us, and until a doorbell or a packet comes where it can); 0: 200
 * @event:	   is told of each event, under the NIC's lock: it must not wait, nor call the NIC; NULL: nobody is
 * @event_arg:	   for @event
 */
struct bl_snic_attr {
	const char *name;
	const struct bl_snic_transport_ops *transport;
	const struct bl_snic_fault *fault;
	uint32_t mtu;
	uint64_t timeout_floor_ns;
	bool manual;
	uint64_t (*now_ns)(void);
	int cpu;
	const struct bl_snic_mover *mover;
	uint32_t spin_us;
	void (*event)(void *arg, const struct bl_snic_event *event);
	void *event_arg;
};

/* Return: 0, -EINVAL, -ENOMEM, or what the transport's open or pthread_create() says. */
int bl_snic_open(const struct bl_snic_attr *attr, struct bl_snic **nic_p);

/* Ends the thread. Objects that are left are reported at warn level and freed; the user's memory is not touched again. */
void bl_snic_close(struct bl_snic *nic);

/* First address of the port; valid until bl_snic_close(). */
const uint8_t *bl_snic_gid(const struct bl_snic *nic);

/**
 * struct bl_snic_port - a port as it is now
 * @mtu:  largest path MTU in bytes
 * @gids: addresses
 * @up:	  packets may go out
 * @wire: behind it is a RoCE network: packets are of the path MTU, and there are no masked atomics
 * @qpn_base, @qpn_bits: numbers of queue pairs: these bits are free, the others those of the base
 * @window: packets of sends and writes of a queue pair that may be under way, a power of two of at least 8
 */
struct bl_snic_port {
	uint32_t mtu;
	uint32_t window;
	uint32_t qpn_base;
	unsigned int qpn_bits;
	unsigned int gids;
	bool up;
	bool wire;
};

/* In a child: a port that is down. */
void bl_snic_port(const struct bl_snic *nic, struct bl_snic_port *port);

/* An address of the port by its index, from 0 on. Return: 0, -EINVAL, -EACCES. */
int bl_snic_gid_at(const struct bl_snic *nic, unsigned int index, uint8_t gid[BL_SNIC_GID_LEN]);

/* One pass over doorbells, packets and timers. Return: things done, 0 when there was nothing, or -EINVAL: not manual. */
int bl_snic_progress(struct bl_snic *nic);

/* The thread may sleep: a CPU that has posted work calls this, a GPU need not. Cheap when it is awake. */
void bl_snic_kick(struct bl_snic *nic);

int bl_snic_pd_create(struct bl_snic *nic, struct bl_snic_pd **pd_p);
int bl_snic_pd_destroy(struct bl_snic_pd *pd);
uint32_t bl_snic_pd_num(const struct bl_snic_pd *pd);

/* Values of IBV_ACCESS_*. Others are accepted and mean nothing here (relaxed ordering). */
#define BL_SNIC_LOCAL_WRITE   0x1
#define BL_SNIC_REMOTE_WRITE  0x2
#define BL_SNIC_REMOTE_READ   0x4
#define BL_SNIC_REMOTE_ATOMIC 0x8

/**
 * bl_snic_mr_create() - Register memory
 * @pd:	    its queue pairs may use the keys
 * @mem:    copied; byte 0 of it is @iova
 * @iova:   address that work requests use for byte 0
 * @len:    bytes, > 0; @iova + @len does not wrap
 * @access: BL_SNIC_*; remote write and atomic need local write
 * @mr_p:   receives the region
 *
 * Keys are never zero, never 0x100 (the terminator of receive lists), and a key of a destroyed region is not given
 * out again before 2^24 others were.
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int bl_snic_mr_create(struct bl_snic_pd *pd, const struct bl_snic_mem *mem, uint64_t iova, size_t len,
		      unsigned int access, struct bl_snic_mr **mr_p);
/* The same with a key that is given: of a transport that carries whole requests. -EEXIST: there is a region of that key. */
int bl_snic_mr_create_as(struct bl_snic_pd *pd, const struct bl_snic_mem *mem, uint64_t iova, size_t len,
			 unsigned int access, uint32_t key, struct bl_snic_mr **mr_p);
/*
 * After it returns the memory is not touched again: requests that need it fail with an access error. A mover that works
 * on it is waited for, for a second; then -EBUSY, and the region is as it was.
 */
int bl_snic_mr_destroy(struct bl_snic_mr *mr);
uint32_t bl_snic_mr_lkey(const struct bl_snic_mr *mr);
uint32_t bl_snic_mr_rkey(const struct bl_snic_mr *mr);

/**
 * struct bl_snic_cq_attr - a completion queue in memory of the user
 * @ring:      CQEs, initialised by the user (opcode 15, owner 1)
 * @ring_off:  of CQE 0 in @ring
 * @nr:	       CQEs, power of two, 1 to 2^22
 * @dbrec:     consumer index (BE32, 24 bits) the CPU reads; NULL: overrun is ignored
 * @overrun:   true: the consumer index is not looked at, old CQEs are overwritten. false: a CQE that finds no room is
 *	       lost, is counted, and moves the QP to ERR
 * @collapsed: every CQE is written to entry 0
 */
struct bl_snic_cq_attr {
	struct bl_snic_mem ring;
	uint64_t ring_off;
	uint32_t nr;
	const uint32_t *dbrec;
	bool overrun;
	bool collapsed;
};

int bl_snic_cq_create(struct bl_snic *nic, const struct bl_snic_cq_attr *attr, struct bl_snic_cq **cq_p);
int bl_snic_cq_destroy(struct bl_snic_cq *cq);
uint32_t bl_snic_cq_num(const struct bl_snic_cq *cq);

enum bl_snic_qp_type { BL_SNIC_RC, BL_SNIC_UC };
enum bl_snic_qp_state { BL_SNIC_RST, BL_SNIC_INIT, BL_SNIC_RTR, BL_SNIC_RTS, BL_SNIC_ERR };

/**
 * struct bl_snic_qp_attr - a queue pair in memory of the user
 * @type:	service
 * @sq, @sq_off: send ring: @sq_nr blocks of 64 bytes
 * @sq_nr:	blocks, power of two, 0 (no send queue) to 32768
 * @rq, @rq_off: receive ring: @rq_nr lists of @rq_sges 16-byte data segments
 * @rq_nr:	receive WQEs, power of two, 0 to 32768
 * @rq_sges:	power of two
 * @dbrec:	two BE32 words the CPU reads, receive and send counter modulo 2^16. Polled all the time: whoever writes
 *		them needs no doorbell. The WQEs must be visible to a CPU before the record is (system-scope release);
 *		where they are not yet, the NIC waits until the index in the control segment is the expected one
 * @send_cq, @recv_cq: may be the same; @recv_cq may be NULL without receive ring
 * @srq:	where it receives from in place of a ring: @rq_nr is 0; or NULL
 * @sq_sig_all:	a CQE for every send WQE whatever its flags say
 * @no_dbrec:	the send counter of @dbrec is not looked at, the doorbell is: BL_SNIC_UAR_NODBR of @uar
 * @uar:	doorbell page, or NULL; may be shared when @no_dbrec is false
 * @domain:	for a transport that carries whole requests: its own protection domain
 */
struct bl_snic_qp_attr {
	enum bl_snic_qp_type type;
	struct bl_snic_mem sq;
	uint64_t sq_off;
	uint32_t sq_nr;
	struct bl_snic_mem rq;
	uint64_t rq_off;
	uint32_t rq_nr;
	uint32_t rq_sges;
	const uint32_t *dbrec;
	struct bl_snic_cq *send_cq;
	struct bl_snic_cq *recv_cq;
	struct bl_snic_srq *srq;
	bool sq_sig_all;
	bool no_dbrec;
	struct bl_snic_uar *uar;
	void *domain;
};

int bl_snic_qp_create(struct bl_snic_pd *pd, const struct bl_snic_qp_attr *attr, struct bl_snic_qp **qp_p);
/* Movers that work for it are waited for, for a second; then -EBUSY, and it stays. */
int bl_snic_qp_destroy(struct bl_snic_qp *qp);
uint32_t bl_snic_qp_num(const struct bl_snic_qp *qp);

/**
 * bl_snic_qp_watch() - Take a count of posted blocks from a word as well
 * @qp:	  queue pair
 * @word: 64-bit count of send blocks posted since the queue pair left RST (the word that a CPU proxy serves), or NULL
 *	  to stop; when it returns, the old word is not looked at again
 */
int bl_snic_qp_watch(struct bl_snic_qp *qp, const uint64_t *word);

/* Words of each block of a request that is given whole, and its blocks at most. */
#define BL_SNIC_EXPRESS_WORDS  16
#define BL_SNIC_EXPRESS_BLOCKS 2

/**
 * bl_snic_qp_express() - Take requests that are given whole as well
 * @qp:	  queue pair
 * @line: BL_SNIC_EXPRESS_WORDS words for each of BL_SNIC_EXPRESS_BLOCKS blocks, or NULL to stop; when it returns, the old
 *	  line is not looked at again
 *
 * Word n of a block has its bytes 4 n to 4 n + 3 in its low half, and in its high half the low 32 bits of the count of
 * send blocks posted since the queue pair left RST, this one included. The words may be written in any order. A
 * request that is the next one is taken when all of its words are there; it lies in the ring as well, and its doorbell
 * follows, since the line may be written over before it is looked at. Zeros are no request.
 */
int bl_snic_qp_express(struct bl_snic_qp *qp, const uint64_t *line);

/**
 * struct bl_snic_qp_mod - what a transition sets; only what the transition allows is looked at
 * @dest_gid:	       port of the peer
 * @sgid_index:	       own address
 * @hop_limit:	       of IP packets; 0: 64
 * @traffic_class:     of IP packets
 * @mtu:	       path MTU in bytes, 256 to 4096, and no more than the port has
 * @ack_timeout:       4.096 us << value; 0: for ever
 * @min_rnr_timer:     code, gpunetio-abi table
 * @access:	       BL_SNIC_REMOTE_* that the peer may do
 * @port, @sgid_index: port of this side, from 1 on, and its address; these and the next are for transports on a wire
 * @hop_limit, @traffic_class, @sl, @static_rate, @pkey_index: of packets, as libibverbs has them
 * @no_grh:	       they go to @dlid alone, without addresses
 */
struct bl_snic_qp_mod {
	enum bl_snic_qp_state state;
	uint8_t dest_gid[BL_SNIC_GID_LEN];
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t port;
	uint8_t sl;
	uint8_t static_rate;
	uint16_t dlid;
	uint16_t pkey_index;
	bool no_grh;
	uint32_t dest_qpn;
	uint32_t mtu;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t ack_timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned int access;
};

/*
 * Moves: RST->INIT (access), INIT->RTR (dest_*, sgid_index, hop_limit, traffic_class, mtu, rq_psn, min_rnr_timer,
 * max_dest_rd_atomic), RTR->RTS (sq_psn, ack_timeout, retry_cnt, rnr_retry, max_rd_atomic), RTS->RTS (access,
 * min_rnr_timer), any->ERR (everything posted is flushed, and so is what is posted later), any->RST (nothing is flushed,
 * all indices start at 0).
 * Return: 0, -EINVAL (no such move, or a value), -ENOTCONN (no port answers at dest_gid), -ENOMEM, -EBUSY (to RST: a
 * mover works for it and did not end within a second).
 */
int bl_snic_qp_modify(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod);

/**
 * struct bl_snic_error - why a queue pair went to ERR: the first cause
 * @syndrome:	 of the error CQE (0x01 local length ... 0x16 RNR retries), 0: none; moved to ERR by its user: 0x05
 * @vendor:	 vendor syndrome
 * @opcode:	 of the send WQE
 * @wqe_counter: its index; where it is not the fault of one, that of the first that is not done
 * @responder:	 the cause is a request of the peer
 * @text:	 one line: what failed, on which address and key, and whose it was
 */
struct bl_snic_error {
	uint8_t syndrome;
	uint8_t vendor;
	uint8_t opcode;
	uint16_t wqe_counter;
	bool responder;
	uint32_t dest_qpn;
	char text[160];
};

/**
 * struct bl_snic_qp_info - what bl_snic_qp_query() tells
 * @attr:     as it was created
 * @mod:      as it was set, with the present state
 * @error:    first cause, when the state is ERR
 * @sq_pi:    send blocks taken over from the user
 * @sq_ci:    send blocks completed
 * @rq_pi, @rq_ci: the same for receive WQEs; of a shared queue those that it took, and completed
 * @send_cqes, @recv_cqes: CQEs written to its completion queues since they were made, of other queue pairs too
 * @next_psn, @acked_psn, @expected_psn: of the requester, the requester and the responder
 * @waits:    in state RTS: what the oldest request waits for, one line, as far as something is wrong, or what is wrong with
 *	      this side's port; else ""
 */
struct bl_snic_qp_info {
	struct bl_snic_qp_attr attr;
	struct bl_snic_qp_mod mod;
	struct bl_snic_error error;
	uint64_t sq_pi, sq_ci, rq_pi, rq_ci;
	uint64_t send_cqes, recv_cqes;
	uint32_t next_psn, acked_psn, expected_psn;
	char waits[160];
};

int bl_snic_qp_query(struct bl_snic_qp *qp, struct bl_snic_qp_info *info);

/* A page of doorbell registers in memory that may be shown to a GPU. */
int bl_snic_uar_create(struct bl_snic *nic, struct bl_snic_uar **uar_p);
int bl_snic_uar_destroy(struct bl_snic_uar *uar);
void *bl_snic_uar_page(const struct bl_snic_uar *uar);
uint32_t bl_snic_uar_id(const struct bl_snic_uar *uar);

/* Counters since bl_snic_open(); names are those of bl_snic_counter_name(). */
enum bl_snic_counter {
	BL_SNIC_TX_PACKETS,
	BL_SNIC_TX_BYTES,
	BL_SNIC_RX_PACKETS,
	BL_SNIC_RX_BYTES,
	BL_SNIC_TX_RETRIES,	 /* packets sent again */
	BL_SNIC_TIMEOUTS,
	BL_SNIC_RNR_SENT,
	BL_SNIC_RNR_RECEIVED,
	BL_SNIC_NAK_SENT,
	BL_SNIC_NAK_RECEIVED,
	/* both by cause, in the order of the codes of acknowledgements */
	BL_SNIC_NAK_SENT_SEQUENCE,
	BL_SNIC_NAK_SENT_INVALID,
	BL_SNIC_NAK_SENT_ACCESS,
	BL_SNIC_NAK_SENT_OPERATION,
	BL_SNIC_NAK_SENT_UNPLACED,
	BL_SNIC_NAK_RECEIVED_SEQUENCE,
	BL_SNIC_NAK_RECEIVED_INVALID,
	BL_SNIC_NAK_RECEIVED_ACCESS,
	BL_SNIC_NAK_RECEIVED_OPERATION,
	BL_SNIC_NAK_RECEIVED_UNPLACED,
	BL_SNIC_RX_DUPLICATE,
	BL_SNIC_RX_OUT_OF_ORDER,
	BL_SNIC_RX_UNKNOWN_QP,
	BL_SNIC_RX_MALFORMED,
	BL_SNIC_RX_WRONG_PEER,
	BL_SNIC_CQE,
	BL_SNIC_CQE_ERROR,
	BL_SNIC_CQ_OVERRUN,
	BL_SNIC_WQE,
	BL_SNIC_WQE_BAD,
	BL_SNIC_FAULT_DROPPED,
	BL_SNIC_FAULT_DELAYED,
	BL_SNIC_FAULT_DOUBLED,
	BL_SNIC_FAULT_NAK,
	BL_SNIC_FAULT_CORRUPTED,
	BL_SNIC_PASSES,
	BL_SNIC_SLEEPS,
	BL_SNIC_PLACED,	       /* messages that a mover moved */
	BL_SNIC_PLACED_BYTES,
	BL_SNIC_PLACE_REFUSED, /* that were sent in packets after all */
	BL_SNIC_LOOPED,	       /* messages that were handed to a queue pair of this NIC without a packet */
	/* what became of send requests: done, with bytes of their messages; failed by themselves; flushed */
	BL_SNIC_WQE_DONE,
	BL_SNIC_WQE_DONE_BYTES,
	BL_SNIC_WQE_FAILED,
	BL_SNIC_WQE_FLUSHED,
	/* the same of receive lists */
	BL_SNIC_RECV_DONE,
	BL_SNIC_RECV_DONE_BYTES,
	BL_SNIC_RECV_FAILED,
	BL_SNIC_RECV_FLUSHED,
	/* requests of peers: carried out, with bytes of their messages; and refused */
	BL_SNIC_SERVED,
	BL_SNIC_SERVED_BYTES,
	BL_SNIC_SERVED_FAILED,
	BL_SNIC_CQE_LOST, /* with the memory of their queues */
	BL_SNIC_SRQ_TAKEN,     /* receive lists of shared receive queues */
	BL_SNIC_SRQ_EMPTY,     /* messages that found none there */
	/* of a transport over a network */
	BL_SNIC_DROP_SHORT,
	BL_SNIC_DROP_IP,
	BL_SNIC_DROP_ADDRESS,
	BL_SNIC_DROP_UDP,
	BL_SNIC_DROP_ICRC,
	BL_SNIC_DROP_VERSION,
	BL_SNIC_DROP_PKEY,
	BL_SNIC_DROP_OPCODE,
	BL_SNIC_DROP_LENGTH,
	BL_SNIC_DROP_CONGESTION,
	BL_SNIC_DROP_FULL,	 /* by the kernel: the NIC came too late */
	BL_SNIC_DROP_SEND,	 /* packets that could not be sent */
	BL_SNIC_NR_COUNTERS
};

void bl_snic_counters(const struct bl_snic *nic, uint64_t values[BL_SNIC_NR_COUNTERS]);
const char *bl_snic_counter_name(enum bl_snic_counter counter);

#endif
