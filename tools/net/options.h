/* SPDX-License-Identifier: MIT */
/* options.h - command lines of the programs of the network lane */
#ifndef TOOLS_NET_OPTIONS_H
#define TOOLS_NET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/option.h"

/* Port that the original's programs meet at. */
#define NET_PORT 2000

#define NET_MAX_SIZES 32
#define NET_MAX_THREADS 2048

/* What only some programs have: bits of struct net_program.takes. */
enum { NET_TAKES_SCOPE = 1, NET_TAKES_DBR = 2, NET_TAKES_THREADS = 4, NET_TAKES_MEMORY = 8, NET_TAKES_ECHO = 16, NET_TAKES_RATE = 32,
       NET_TAKES_INLINE = 64, NET_TAKES_QPS = 128 };

enum net_echo { NET_ECHO_GPU, NET_ECHO_CPU };

/* Where the server of --self runs: AUTO is a thread where both ends would be on one GPU. */
enum net_self_mode { NET_SELF_NONE, NET_SELF_AUTO, NET_SELF_THREAD, NET_SELF_PROCESS };

enum net_memory { NET_MEMORY_HOST, NET_MEMORY_GPU };

/** struct net_program - a program
 * @name:	  its name
 * @id:		  what its peer must be
 * @takes:	  NET_TAKES_*
 * @about:	  one line for --help
 * @min_size:	  smallest message
 * @max_size:	  largest message unless told otherwise
 * @largest:	  largest that can be told
 * @server:	  program that --self starts; NULL: itself
 * @role:	  's': always the server, 'c': always the client, 0: as -c says
 * @uc:		  default of --qp-type
 * @iters:	  default of -i
 * @max_inline:	  longest message inside of a request
 * @max_block:	  threads of a block at most
 * @block_has_qp: each block has a queue pair; else warps take them in turn
 * @reads:	  the client reads the server's memory; else it writes it
 * @atomics:	  ends, or the client alone, add to words by the NIC
 */
struct net_program {
	const char *name;
	uint32_t id;
	unsigned int takes;
	const char *about;
	size_t min_size;
	size_t max_size;
	size_t largest;
	const char *server;
	char role;
	int uc;
	uint64_t iters;
	unsigned int max_inline;
	unsigned int max_block;
	bool block_has_qp;
	bool reads;
	bool atomics;
};

/**
 * struct net_options - what the user asked for
 * @server:    address of the server; NULL: this is the server
 * @device:    NIC, NULL: the first there is
 * @gpu:       PCI address of the GPU, NULL: the first there is
 * @iters:     operations for each size
 * @gid:       index of the port's address; -1: chosen
 * @handler:   enum doca_gpu_dev_verbs_nic_handler
 * @scope:     0 thread, 1 warp
 * @dbr:       enum doca_gpu_verbs_send_dbr_mode_ext
 * @port:      TCP port of the server; --self: once that listens
 * @mtu:       largest path MTU; 0: the ports'
 * @uc:	       unreliable connection
 * @self:      enum net_self_mode: run both ends
 * @server_device: NIC of the server of --self, NULL: @device
 * @server_gpu: GPU of the server of --self, NULL: @gpu
 * @json:      where the JSON result goes, or NULL
 * @timeout_s: longest wait for anything
 * @threads:   of the kernel
 * @qps:       queue pairs that they share
 * @memory:    of the server
 * @echo:      enum net_echo: who sends messages back
 * @workers:   threads of the kernel that does
 * @imm:       1: by RDMA write with an immediate, 0: by SEND
 * @rate:      messages a second; 0: one after the other
 * @inlined:   messages that fit travel inside of the request
 * @sizes:     of messages, bytes
 * @nr_sizes:  how many
 * @listen_fd: socket that listens already; -1: none
 * @out:       where text goes; the server of --self keeps all but the verdict to itself
 * @verdict:   where the verdict goes
 */
struct net_options {
	const struct net_program *program;
	const char *server;
	const char *device;
	const char *gpu;
	uint64_t iters;
	int gid;
	int handler;
	int scope;
	int dbr;
	uint16_t port;
	unsigned int mtu;
	int uc;
	int self;
	const char *server_device;
	const char *server_gpu;
	const char *json;
	unsigned int timeout_s;
	unsigned int threads;
	unsigned int qps;
	int memory;
	int echo;
	unsigned int workers;
	int imm;
	unsigned int rate;
	bool inlined;
	size_t sizes[NET_MAX_SIZES];
	unsigned int nr_sizes;
	int listen_fd;
	FILE *out;
	FILE *verdict;
};

/* "rc", "uc" */
extern const struct tool_name net_qp_types[];

/* "host", "gpu" */
extern const struct tool_name net_memories[];

/* "gpu", "cpu" */
extern const struct tool_name net_echoes[];

/* Whether this end is the client. */
static inline bool net_is_client(const struct net_options *options)
{
	return options->server || options->self;
}

/* Read the command line; ends the program with a message and status 1 when it is wrong, and with 0 for --help. */
void net_options_parse(int argc, char **argv, const struct net_program *program, struct net_options *options);

#endif
