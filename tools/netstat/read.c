// SPDX-License-Identifier: MIT
/* Bytes that another process writes while they are read, and may write to mislead: made safe to look at. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "netstat/netstat.h"
#include "util/clock.h"

/* A record takes well below a microsecond to write, unless its writer is stopped in between. */
#define TRIES  20
#define NAP_NS 100000
#define FEW    4

static ssize_t read_fd(const struct netstat_source *source, void *to, size_t len, uint64_t off)
{
	ssize_t got;

	do {
		got = pread(source->fd, to, len, (off_t)off);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

struct netstat_source netstat_source_fd(int fd)
{
	return (struct netstat_source){ .read = read_fd, .fd = fd };
}

static int read_all(const struct netstat_source *source, void *to, size_t len, uint64_t off)
{
	ssize_t got = source->read(source, to, len, off);

	if (got < 0)
		return (int)got;
	return (size_t)got == len ? 0 : -EPROTO;
}

/*
 * A record that begins with its count: whole, if it is the same before and after. Return: 0, 1: torn, or -errno. What is
 * torn in a process that is stopped stays so: each word of it is old or new. A stopped writer has few such records; who has
 * more, @torn, does not want to be read.
 */
static int read_record(const struct netstat_source *source, void *to, size_t len, uint64_t off, uint32_t torn)
{
	const struct timespec nap = { 0, NAP_NS };
	uint32_t before, after;
	int ret;

	for (int i = 0; i < (torn < FEW ? TRIES : 1); i++) {
		ret = read_all(source, &before, sizeof(before), off);
		if (!ret)
			ret = read_all(source, to, len, off);
		if (!ret)
			ret = read_all(source, &after, sizeof(after), off);
		if (ret)
			return ret;
		if (before == after && !(before & 1))
			return 0;
		nanosleep(&nap, NULL);
	}
	return 1;
}

int netstat_kind(const struct netstat_source *source, struct bl_shown_head *head)
{
	int ret = read_all(source, head, sizeof(*head), 0);

	if (ret)
		return ret;
	if (!head->magic)
		return -ENODATA;
	if (head->magic != BL_SHOWN_MAGIC)
		return -EPROTO;
	if (head->kind == BL_SHOWN_NIC && head->version == BL_SHOWN_NIC_VERSION &&
	    head->size == sizeof(struct bl_shown_nic))
		return BL_SHOWN_NIC;
	if (head->kind == BL_SHOWN_GPU && head->version == BL_SHOWN_GPU_VERSION &&
	    head->size == sizeof(struct bl_shown_gpu))
		return BL_SHOWN_GPU;
	return -EPROTO;
}

/* What a terminal would obey and JSON does not know; and an end. */
static void make_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static void clean_port(struct bl_shown_port *port)
{
	make_text(port->name, sizeof(port->name));
	make_text(port->provider, sizeof(port->provider));
	make_text(port->transport, sizeof(port->transport));
	port->nr_counters = at_most(port->nr_counters, BL_SHOWN_COUNTERS);
	for (uint32_t i = 0; i < BL_SHOWN_COUNTERS; i++)
		make_text(port->names[i], sizeof(port->names[i]));
	port->first_qps = at_most(port->first_qps, BL_SHOWN_QPS);
	port->first_cqs = at_most(port->first_cqs, BL_SHOWN_CQS);
	port->first_mrs = at_most(port->first_mrs, BL_SHOWN_MRS);
	port->first_srqs = at_most(port->first_srqs, BL_SHOWN_SRQS);
}

static void clean_qp(struct bl_shown_qp *qp)
{
	make_text(qp->text, sizeof(qp->text));
	qp->nr_blocks = at_most(qp->nr_blocks, BL_SHOWN_BLOCKS);
}

/* A table: @nr records of @size bytes. Those that are none, or come twice where they should not, are left out. */
struct table {
	uint64_t off;
	size_t size;
	uint32_t nr;
	size_t number_off;
	bool twice;
};

static uint32_t number_of(const struct table *table, const char *record)
{
	uint32_t number;

	memcpy(&number, record + table->number_off, sizeof(number));
	return number;
}

/* While the writer's list changes an object may be in two places. */
static bool comes_twice(const struct table *table, const char *records, uint32_t nr)
{
	uint32_t number = number_of(table, records + (size_t)nr * table->size);

	for (uint32_t i = 0; i < nr; i++) {
		if (number_of(table, records + (size_t)i * table->size) == number)
			return true;
	}
	return false;
}

static int read_table(const struct netstat_source *source, const struct table *table, void **to_p, uint32_t *nr_p,
		      uint32_t *torn_p)
{
	char *records = calloc(table->nr ? table->nr : 1, table->size), *at;
	uint32_t nr = 0;
	int ret;

	if (!records)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr; i++) {
		at = records + (size_t)nr * table->size;
		ret = read_record(source, at, table->size, table->off + (uint64_t)i * table->size, *torn_p);
		if (ret < 0) {
			free(records);
			return ret;
		}
		*torn_p += ret > 0;
		if (number_of(table, at) && (table->twice || !comes_twice(table, records, nr)))
			nr++;
	}
	*to_p = records;
	*nr_p = nr;
	return 0;
}

static int load_tables(const struct netstat_source *source, struct netstat_nic *nic)
{
	const struct table qps = { offsetof(struct bl_shown_nic, qps), sizeof(struct bl_shown_qp), nic->port.first_qps,
				   offsetof(struct bl_shown_qp, num), false };
	const struct table cqs = { offsetof(struct bl_shown_nic, cqs), sizeof(struct bl_shown_cq), nic->port.first_cqs,
				   offsetof(struct bl_shown_cq, num), false };
	const struct table mrs = { offsetof(struct bl_shown_nic, mrs), sizeof(struct bl_shown_mr), nic->port.first_mrs,
				   offsetof(struct bl_shown_mr, key), false };
	const struct table srqs = { offsetof(struct bl_shown_nic, srqs), sizeof(struct bl_shown_srq),
				    nic->port.first_srqs, offsetof(struct bl_shown_srq, num), false };
	int ret;

	ret = read_table(source, &qps, (void **)&nic->qps, &nic->nr_qps, &nic->torn);
	if (!ret)
		ret = read_table(source, &cqs, (void **)&nic->cqs, &nic->nr_cqs, &nic->torn);
	if (!ret)
		ret = read_table(source, &mrs, (void **)&nic->mrs, &nic->nr_mrs, &nic->torn);
	if (!ret)
		ret = read_table(source, &srqs, (void **)&nic->srqs, &nic->nr_srqs, &nic->torn);
	for (uint32_t i = 0; !ret && i < nic->nr_qps; i++)
		clean_qp(&nic->qps[i]);
	return ret;
}

int netstat_nic_load(const struct netstat_source *source, bool all, struct netstat_nic *nic)
{
	struct bl_shown_head head;
	int ret = netstat_kind(source, &head);

	*nic = (struct netstat_nic){ .torn = 0 };
	if (ret != BL_SHOWN_NIC)
		return ret < 0 ? ret : -EPROTO;
	ret = read_record(source, &nic->port, sizeof(nic->port), offsetof(struct bl_shown_nic, port), 0);
	if (ret < 0)
		return ret;
	nic->torn += ret > 0;
	clean_port(&nic->port);
	ret = all ? load_tables(source, nic) : 0;
	if (ret)
		netstat_nic_free(nic);
	return ret;
}

void netstat_nic_free(struct netstat_nic *nic)
{
	free(nic->qps);
	free(nic->cqs);
	free(nic->mrs);
	free(nic->srqs);
	*nic = (struct netstat_nic){ .torn = 0 };
}

int netstat_gpu_load(const struct netstat_source *source, struct netstat_gpu *gpu)
{
	/* numbers are those of a device: two of them may have the same */
	struct table table = { offsetof(struct bl_shown_gpu, qps), sizeof(struct bl_shown_gpu_qp), 0,
			       offsetof(struct bl_shown_gpu_qp, qpn), true };
	const size_t off = offsetof(struct bl_shown_gpu, seq);
	char raw[offsetof(struct bl_shown_gpu, qps) - offsetof(struct bl_shown_gpu, seq)];
	struct bl_shown_head head;
	uint32_t nr, first;
	int ret = netstat_kind(source, &head);

	*gpu = (struct netstat_gpu){ .nr = 0 };
	if (ret != BL_SHOWN_GPU)
		return ret < 0 ? ret : -EPROTO;
	ret = read_record(source, raw, sizeof(raw), off, 0);
	if (ret < 0)
		return ret;
	gpu->torn = ret > 0;
	memcpy(&nr, raw + (offsetof(struct bl_shown_gpu, nr) - off), sizeof(nr));
	memcpy(&first, raw + (offsetof(struct bl_shown_gpu, first) - off), sizeof(first));
	memcpy(&gpu->now_ns, raw + (offsetof(struct bl_shown_gpu, now_ns) - off), sizeof(gpu->now_ns));
	table.nr = at_most(first, BL_SHOWN_GPU_QPS);
	gpu->more = nr > table.nr ? nr - table.nr : 0;
	ret = read_table(source, &table, (void **)&gpu->qps, &gpu->nr, &gpu->torn);
	for (uint32_t i = 0; !ret && i < gpu->nr; i++) {
		make_text(gpu->qps[i].nic, sizeof(gpu->qps[i].nic));
		make_text(gpu->qps[i].reason, sizeof(gpu->qps[i].reason));
	}
	return ret;
}

void netstat_gpu_free(struct netstat_gpu *gpu)
{
	free(gpu->qps);
	*gpu = (struct netstat_gpu){ .nr = 0 };
}

const struct bl_shown_gpu_qp *netstat_gpu_of(const struct netstat_gpu *gpu, const char *nic, uint32_t qpn)
{
	for (uint32_t i = 0; i < gpu->nr; i++) {
		if (gpu->qps[i].qpn == qpn && !strcmp(gpu->qps[i].nic, nic))
			return &gpu->qps[i];
	}
	return NULL;
}

bool netstat_is_alone(const struct netstat_all *all, const struct bl_shown_gpu_qp *gpu)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		for (uint32_t j = 0; j < all->nics[i].nr_qps; j++) {
			if (all->nics[i].qps[j].num == gpu->qpn && !strcmp(all->nics[i].port.name, gpu->nic))
				return false;
		}
	}
	return true;
}

int netstat_load(const struct netstat_process *process, bool all, struct netstat_all *to)
{
	int ret = 0;

	*to = (struct netstat_all){ .nr = 0 };
	for (unsigned int i = 0; i < process->nr && !ret; i++) {
		struct netstat_source source = netstat_source_fd(process->fds[i]);
		struct bl_shown_head head;
		int kind = netstat_kind(&source, &head);

		if (kind == BL_SHOWN_GPU && all && !to->gpu.qps)
			ret = netstat_gpu_load(&source, &to->gpu);
		else if (kind == BL_SHOWN_NIC)
			ret = netstat_nic_load(&source, all, &to->nics[to->nr]);
		else if (kind < 0)
			to->skipped++;
		if (!ret && kind == BL_SHOWN_NIC)
			to->nr++;
		/* one that lies about its size is not what it says it is */
		if (ret == -EPROTO) {
			to->skipped++;
			ret = 0;
		}
	}
	if (ret) {
		netstat_free(to);
		return tool_fail(-ret, "what process %d shows: %s", (int)process->pid, strerror(-ret));
	}
	if (to->nr || !to->skipped)
		return 0;
	return tool_fail(EPROTO, "what process %d shows is of another version of the library", (int)process->pid);
}

void netstat_free(struct netstat_all *all)
{
	for (unsigned int i = 0; i < all->nr; i++)
		netstat_nic_free(&all->nics[i]);
	netstat_gpu_free(&all->gpu);
	all->nr = 0;
}

uint64_t netstat_counter(const struct netstat_nic *nic, const char *name)
{
	for (uint32_t i = 0; i < nic->port.nr_counters; i++) {
		if (!strcmp(nic->port.names[i], name))
			return nic->port.values[i];
	}
	return 0;
}

double netstat_age_ms(uint64_t now_ns)
{
	uint64_t now = bl_now_ns();

	return now >= now_ns ? (double)(now - now_ns) / 1e6 : -1;
}
