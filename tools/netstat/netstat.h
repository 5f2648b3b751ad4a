/* SPDX-License-Identifier: MIT */
/*
 * netstat.h - the network lane of a running process, as others see it: "barlane stat" and "barlane dump"
 *
 * What is read was written by another process, which may be hostile: every number is checked before it is used as one
 * of this program's, and every text is made printable.
 */
#ifndef TOOLS_NETSTAT_NETSTAT_H
#define TOOLS_NETSTAT_NETSTAT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "net/shown_gpu.h"
#include "softnic/shown_nic.h"
#include "softnic/wqe.h"

#define NETSTAT_FILES 64

/**
 * struct netstat_process - a process that can be looked at
 * @pidfd: tells when it has ended; -1: the kernel has none
 * @dir:   where /proc has it, or a thread of it that lives
 * @name:  that it has given itself
 * @state: as in /proc: 'R', 'S', 'T', ...; '?': not known
 * @fds:   what it shows
 */
struct netstat_process {
	pid_t pid;
	int pidfd;
	char dir[64];
	char name[64];
	char state;
	unsigned int nr;
	int fds[NETSTAT_FILES];
};

/**
 * netstat_open() - Look at a process
 * @pid:     its number here
 * @process: receives it, to be given to netstat_close()
 *
 * Return: 0; -ESRCH (there is no such process), -EACCES (another user's), -ENOENT (it has no NIC of the network lane),
 * or another -errno; with the reason by tool_fail().
 */
int netstat_open(pid_t pid, struct netstat_process *process);
void netstat_close(struct netstat_process *process);

/* Whether it has ended since; what it showed can still be read. */
bool netstat_has_ended(const struct netstat_process *process);

/* Look at its state again. */
void netstat_look(struct netstat_process *process);

/* Visit the processes that can be looked at and show something. */
void netstat_each(void (*visit)(const struct netstat_process *process, void *arg), void *arg);

/**
 * struct netstat_source - bytes that another process shows
 * @read: as pread(); -errno
 */
struct netstat_source {
	ssize_t (*read)(const struct netstat_source *source, void *to, size_t len, uint64_t off);
	const void *priv;
	int fd;
};

struct netstat_source netstat_source_fd(int fd);

/* What a source shows: enum bl_shown_kind; -EPROTO: nothing that is known here, -ENODATA: not ready; other -errno. */
int netstat_kind(const struct netstat_source *source, struct bl_shown_head *head);

/**
 * struct netstat_nic - a NIC at a moment
 * @port, @qps, @cqs, @mrs, @srqs: as it wrote them, but that counts fit their tables and texts are printable
 * @nr_*: of them
 * @torn: records that were being written all the time: parts of them are old
 */
struct netstat_nic {
	struct bl_shown_port port;
	struct bl_shown_qp *qps;
	struct bl_shown_cq *cqs;
	struct bl_shown_mr *mrs;
	struct bl_shown_srq *srqs;
	uint32_t nr_qps, nr_cqs, nr_mrs, nr_srqs;
	uint32_t torn;
};

/* Return: 0, to be given to netstat_nic_free(), -EPROTO, -ENOMEM or another -errno. @all: else the port alone. */
int netstat_nic_load(const struct netstat_source *source, bool all, struct netstat_nic *nic);
void netstat_nic_free(struct netstat_nic *nic);

/* The same of what GPUs use. */
struct netstat_gpu {
	struct bl_shown_gpu_qp *qps;
	uint32_t nr, more;
	uint64_t now_ns;
	uint32_t torn;
};

int netstat_gpu_load(const struct netstat_source *source, struct netstat_gpu *gpu);
void netstat_gpu_free(struct netstat_gpu *gpu);

/* The GPU's side of a queue pair; NULL: there is none. */
const struct bl_shown_gpu_qp *netstat_gpu_of(const struct netstat_gpu *gpu, const char *nic, uint32_t qpn);

struct netstat_all;

/* Of a NIC that shows nothing itself. */
bool netstat_is_alone(const struct netstat_all *all, const struct bl_shown_gpu_qp *gpu);

/**
 * struct netstat_all - all of a process
 * @nics: with their queue pairs
 * @skipped: things of another version
 */
struct netstat_all {
	struct netstat_nic nics[NETSTAT_FILES];
	unsigned int nr;
	struct netstat_gpu gpu;
	unsigned int skipped;
};

/* Return: 0 or -errno with the reason. */
int netstat_load(const struct netstat_process *process, bool all, struct netstat_all *to);
void netstat_free(struct netstat_all *all);

/* A counter by its name; 0: there is none. */
uint64_t netstat_counter(const struct netstat_nic *nic, const char *name);

/* Words for numbers; never NULL. */
const char *netstat_state(uint8_t state);
const char *netstat_type(uint8_t type);
const char *netstat_opcode(uint8_t opcode);
const char *netstat_syndrome(uint8_t syndrome);
const char *netstat_handler(uint32_t handler);
const char *netstat_ringer(uint32_t ringer);
const char *netstat_mr_kind(uint32_t kind);
const char *netstat_srq_type(uint32_t type);
const char *netstat_process_state(char state);
const char *netstat_gid(const uint8_t gid[16], char text[48]);
/* Of memory regions, "local write, remote read", "local read" alone is "-". */
const char *netstat_access(uint32_t access, char text[64]);

/**
 * struct netstat_wqe - a send request, taken apart
 * @number:    of its first block
 * @wqe:       as the NIC's parser has it
 * @signature: byte of the control segment
 * @nr_shown:  bytes of it that are known, at least 64
 * @whole:     all segments are known, and @walk goes through its data
 * @why:       what is wrong with it, or NULL
 */
struct netstat_wqe {
	uint64_t number;
	struct bl_wqe wqe;
	uint8_t signature;
	uint32_t nr_shown;
	bool whole;
	const char *why;
	const uint8_t *raw;
};

/* Take blocks apart that begin with a request. */
void netstat_wqe(uint64_t number, const uint8_t *raw, size_t len, struct netstat_wqe *to);

/* The first request at or after block @at of those that a queue pair shows. Return: blocks to go on from, 0: no more. */
uint32_t netstat_next_wqe(const struct bl_shown_qp *qp, uint32_t at, struct netstat_wqe *to);

/**
 * struct netstat_cqe - a completion, taken apart
 * @is_one: it was ever written
 */
struct netstat_cqe {
	bool is_one;
	uint8_t opcode, owner, send_opcode, syndrome, vendor;
	uint16_t wqe_counter;
	uint32_t qpn, bytes;
};

void netstat_cqe(const uint8_t raw[BL_SHOWN_BLOCK], struct netstat_cqe *to);
const char *netstat_cqe_opcode(uint8_t opcode);

/* What keeps a queue pair, or all of a process, from going on: lines for people, at most @nr. Return: how many. */
#define NETSTAT_HINT 256
unsigned int netstat_qp_hints(const struct bl_shown_qp *qp, const struct bl_shown_gpu_qp *gpu,
			      char hints[][NETSTAT_HINT], unsigned int nr);
unsigned int netstat_cq_hints(const struct bl_shown_cq *cq, char hints[][NETSTAT_HINT], unsigned int nr);
unsigned int netstat_srq_hints(const struct bl_shown_srq *srq, char hints[][NETSTAT_HINT], unsigned int nr);
unsigned int netstat_nic_hints(const struct netstat_process *process, const struct netstat_nic *nic,
			       char hints[][NETSTAT_HINT], unsigned int nr);

/* Milliseconds since that was written; -1: a clock of another namespace. */
double netstat_age_ms(uint64_t now_ns);

/* "barlane dump"; and of "barlane stat" what is of the network. */
int netstat_dump_main(int argc, char **argv);
void netstat_text(const struct netstat_process *process, const struct netstat_all *all);
struct json_object *netstat_json(const struct netstat_all *all, const struct netstat_process *process);

/* One line per NIC and process; JSON: an array. Return: how many processes. */
int netstat_list_text(void);
struct json_object *netstat_list_json(void);

/* A table of one process' NICs, its counters, and with @interval > 0 a line per NIC and interval. */
int netstat_stat(pid_t pid, double interval, uint64_t count, bool json);

#endif
