// SPDX-License-Identifier: MIT
#include "net/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/error.h"
#include "net/say.h"
#include "net/wire.h"

static void say_client(const struct net_bed *bed)
{
	struct sockaddr_storage addr = { 0 };
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr;
	socklen_t len = sizeof(addr);
	char text[INET6_ADDRSTRLEN] = "?";

	getpeername(bed->sock, (struct sockaddr *)&addr, &len);
	inet_ntop(addr.ss_family, addr.ss_family == AF_INET6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, text, sizeof(text));
	net_say(bed->options, "Client connected at IP: %s and port: %u", text,
		ntohs(addr.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port));
}

static int serve(struct net_bed *bed)
{
	const struct net_options *options = bed->options;
	int fd = options->listen_fd;

	if (fd < 0)
		fd = net_listen(options->port, false);
	if (fd < 0)
		return fd;
	net_say(options, "Socket created successfully");
	net_say(options, "Done with binding");
	net_say(options, "Listening for incoming connections");
	bed->sock = net_accept(fd, options->timeout_s);
	if (bed->sock < 0)
		return bed->sock;
	say_client(bed);
	return 0;
}

static int check_hello(const struct net_options *options, const struct net_hello *hello)
{
	if (hello->program != options->program->id)
		return tool_fail(EPROTO, "the client is another program");
	if (hello->uc != (uint32_t)options->uc)
		return tool_fail(EPROTO, "the client has --qp-type %s, the server %s",
				 tool_value_name((int)hello->uc, net_qp_types), tool_value_name(options->uc, net_qp_types));
	if (!hello->nr_sizes || hello->nr_sizes > NET_MAX_SIZES || !hello->threads || hello->threads > 1024 || !hello->iters ||
	    hello->iters > 1 << 22)
		return tool_fail(EPROTO, "the client asks for what makes no sense");
	for (uint32_t i = 0; i < hello->nr_sizes; i++) {
		if (!hello->sizes[i] || hello->sizes[i] > options->program->max_size)
			return tool_fail(EPROTO, "the client asks for messages of %llu bytes",
					 (unsigned long long)hello->sizes[i]);
	}
	return 0;
}

int net_session_open(struct net_bed *bed, const struct net_self *self, struct net_hello *hello)
{
	const struct net_options *options = bed->options;
	int ret;

	if (!options->server && !self->pid) {
		ret = serve(bed);
		if (!ret)
			ret = net_recv(bed->sock, NET_HELLO, hello, sizeof(*hello), options->timeout_s);
		return ret ? ret : check_hello(options, hello);
	}
	*hello = (struct net_hello){ .program = options->program->id, .uc = (uint32_t)options->uc, .iters = options->iters,
				     .threads = options->threads, .nr_sizes = options->nr_sizes,
				     .imm = (uint64_t)options->imm };
	for (unsigned int i = 0; i < options->nr_sizes; i++)
		hello->sizes[i] = options->sizes[i];
	bed->sock = net_connect(self->pid ? "127.0.0.1" : options->server, self->pid ? self->port : options->port,
				options->timeout_s);
	return bed->sock < 0 ? bed->sock : net_send(bed->sock, NET_HELLO, hello, sizeof(*hello), options->timeout_s);
}

int net_session_end(struct net_bed *bed)
{
	int ret = net_send(bed->sock, NET_END, NULL, 0, bed->options->timeout_s);

	return ret ? ret : net_recv(bed->sock, NET_END, NULL, 0, bed->options->timeout_s);
}

int net_session_main(struct net_options *options, unsigned int kind, int (*run)(struct net_bed *bed, struct net_hello *hello))
{
	struct net_self self = { 0 };
	struct net_hello hello;
	struct net_bed bed = { .sock = -1, .options = options };
	int ret;

	net_catch_signals();
	/* before there is a GPU: a process that uses one cannot be copied */
	ret = options->self ? net_self_start(options, &self) : 0;
	if (!ret)
		ret = net_bed_open(options, kind, &bed);
	if (!ret)
		ret = net_session_open(&bed, &self, &hello);
	if (!ret)
		ret = net_bed_connect(&bed);
	if (!ret)
		ret = run(&bed, &hello);
	if (ret >= 0)
		net_say(options, "Sample finished successfully");
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", options->program->name, tool_why());
		net_send_error(bed.sock, tool_why());
		ret = NET_FAILED;
	}
	fflush(NULL);
	net_bed_close(&bed);
	return net_self_wait(options, &self, ret);
}
