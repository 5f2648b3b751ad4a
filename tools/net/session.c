// SPDX-License-Identifier: MIT
#include "net/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "net/say.h"
#include "net/self.h"
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
	int fd = bed->listen_fd;

	/* whoever accepts closes it */
	bed->listen_fd = -1;
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
	if (!hello->nr_sizes || hello->nr_sizes > NET_MAX_SIZES || !hello->threads || hello->threads > NET_MAX_THREADS ||
	    !hello->iters || hello->iters > 1 << 22 || !hello->qps || hello->qps > BL_NET_MAX_QPS)
		return tool_fail(EPROTO, "the client asks for what makes no sense");
	for (uint32_t i = 0; i < hello->nr_sizes; i++) {
		if (!hello->sizes[i] || hello->sizes[i] > options->program->largest)
			return tool_fail(EPROTO, "the client asks for messages of %llu bytes",
					 (unsigned long long)hello->sizes[i]);
	}
	return 0;
}

static int call(const struct net_options *options, unsigned int timeout_s)
{
	return net_connect(options->self ? "127.0.0.1" : options->server, options->port, !options->self, timeout_s);
}

/* Meet the peer. @hello: a client's is sent; a server receives it. */
static int meet(struct net_bed *bed, struct net_hello *hello)
{
	const struct net_options *options = bed->options;
	int ret;

	if (!net_is_client(options)) {
		ret = serve(bed);
		if (!ret)
			ret = net_recv(bed->sock, NET_HELLO, hello, sizeof(*hello), options->timeout_s);
		return ret ? ret : check_hello(options, hello);
	}
	*hello = (struct net_hello){ .program = options->program->id, .uc = (uint32_t)options->uc, .iters = options->iters,
				     .threads = options->threads, .nr_sizes = options->nr_sizes,
				     .qps = options->qps, .imm = (uint32_t)options->imm };
	for (unsigned int i = 0; i < options->nr_sizes; i++)
		hello->sizes[i] = options->sizes[i];
	bed->sock = call(options, options->timeout_s);
	return bed->sock < 0 ? bed->sock : net_send(bed->sock, NET_HELLO, hello, sizeof(*hello), options->timeout_s);
}

int net_session_end(struct net_bed *bed)
{
	int ret = net_send(bed->sock, NET_END, NULL, 0, bed->options->timeout_s);

	return ret ? ret : net_recv(bed->sock, NET_END, NULL, 0, bed->options->timeout_s);
}

/* The peer is to know why, and to see that this end is gone even where it was not told. */
static void hang_up(struct net_bed *bed)
{
	char why[512] = "";

	strncat(why, tool_why(), sizeof(why) - 1);
	/* the server of --self would wait for a client that never comes */
	if (bed->sock < 0 && bed->options->self)
		bed->sock = call(bed->options, 1);
	net_send_error(bed->sock, why);
	if (bed->sock >= 0)
		shutdown(bed->sock, SHUT_WR);
	if (bed->listen_fd >= 0)
		close(bed->listen_fd);
	bed->listen_fd = -1;
}

void net_session_leave(struct net_bed *bed, int ret)
{
	if (bed->left)
		return;
	bed->left = true;
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", bed->options->program->name, tool_why());
		hang_up(bed);
	}
	fflush(NULL);
	if (bed->pair)
		net_pair_leave(bed->options, bed->pair);
}

int net_session_play(const struct net_options *options, const struct net_part *part, struct net_pair *pair)
{
	struct net_hello hello;
	struct net_bed bed = { .sock = -1, .listen_fd = options->listen_fd, .options = options, .pair = pair };
	int ret = net_bed_open(&bed, part->kind);

	if (!ret)
		ret = meet(&bed, &hello);
	if (!ret)
		ret = net_bed_connect(&bed, hello.qps);
	if (!ret)
		ret = part->run(&bed, &hello);
	if (ret >= 0)
		net_say(options, "Sample finished successfully");
	net_session_leave(&bed, ret);
	net_bed_close(&bed);
	return ret < 0 ? NET_FAILED : ret;
}

int net_session_main(struct net_options *options, const struct net_part *part, const struct net_part *server)
{
	struct net_self self = { .pid = 0 };
	int ret;

	net_catch_signals();
	/* before there are threads: what it sets is the environment */
	net_bed_limits(options);
	ret = options->self ? net_self_start(options, server, &self) : 0;
	if (ret) {
		fprintf(stderr, "%s: %s\n", options->program->name, tool_why());
		return NET_FAILED;
	}
	return net_self_wait(options, &self, net_session_play(options, part, self.thread ? &self.pair : NULL));
}
