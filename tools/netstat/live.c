// SPDX-License-Identifier: MIT
/* Of "barlane stat" what is of the network: who has NICs, what they have done, and how fast they are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "barlane.h"
#include "common/error.h"
#include "common/json.h"
#include "netstat/netstat.h"

static const char *const heads[] = { "tx_pkt/s", "tx_MB/s", "rx_pkt/s", "rx_MB/s", "wqe/s", "cqe/s", "again/s", "rnr/s",
				     "nak/s",	 "drop/s" };

enum { TX_PACKETS, TX_BYTES, RX_PACKETS, RX_BYTES, WQES, CQES, AGAIN, RNR, NAK, DROPS, NR_COLUMNS };

/**
 * struct sample - what is counted of a NIC
 * @now_ns: when its process wrote it
 */
struct sample {
	uint64_t now_ns;
	uint64_t columns[NR_COLUMNS];
};

static uint64_t drops(const struct netstat_nic *nic)
{
	uint64_t sum = netstat_counter(nic, "rx_unknown_qp") + netstat_counter(nic, "rx_malformed") +
		       netstat_counter(nic, "rx_wrong_peer");

	for (uint32_t i = 0; i < nic->port.nr_counters; i++) {
		if (!strncmp(nic->port.names[i], "drop_", 5))
			sum += nic->port.values[i];
	}
	return sum;
}

static void take(const struct netstat_nic *nic, struct sample *sample)
{
	*sample = (struct sample){
		.now_ns = nic->port.now_ns,
		.columns = {
			[TX_PACKETS] = netstat_counter(nic, "tx_packets"),
			[TX_BYTES] = netstat_counter(nic, "tx_bytes"),
			[RX_PACKETS] = netstat_counter(nic, "rx_packets"),
			[RX_BYTES] = netstat_counter(nic, "rx_bytes"),
			[WQES] = netstat_counter(nic, "wqe"),
			[CQES] = netstat_counter(nic, "cqe"),
			[AGAIN] = netstat_counter(nic, "tx_retries"),
			[RNR] = netstat_counter(nic, "rnr_sent") + netstat_counter(nic, "rnr_received"),
			[NAK] = netstat_counter(nic, "nak_sent") + netstat_counter(nic, "nak_received"),
			[DROPS] = drops(nic),
		},
	};
}

static void list_one(const struct netstat_process *process, void *arg)
{
	static struct netstat_all all;
	struct sample sample;
	int *nr = arg;

	if (netstat_load(process, false, &all) || !all.nr)
		return;
	if (!(*nr)++)
		printf("%8s  %-16s %-12s %6s %12s %12s %10s\n", "PID", "NAME", "NIC", "QPS", "SENT_MIB", "RECEIVED_MIB",
		       "SENT_AGAIN");
	for (unsigned int i = 0; i < all.nr; i++) {
		take(&all.nics[i], &sample);
		printf("%8d  %-16s %-12s %6u %12.1f %12.1f %10" PRIu64 "\n", (int)process->pid, process->name,
		       all.nics[i].port.name, all.nics[i].port.nr_qps, (double)sample.columns[TX_BYTES] / (1 << 20),
		       (double)sample.columns[RX_BYTES] / (1 << 20), sample.columns[AGAIN]);
	}
	netstat_free(&all);
}

int netstat_list_text(void)
{
	int nr = 0;

	netstat_each(list_one, &nr);
	return nr;
}

static void list_json_one(const struct netstat_process *process, void *arg)
{
	static struct netstat_all all;

	if (netstat_load(process, false, &all) || !all.nr)
		return;
	tool_json_append(arg, netstat_json(&all, process));
	netstat_free(&all);
}

struct json_object *netstat_list_json(void)
{
	struct json_object *array = tool_json_array();

	netstat_each(list_json_one, array);
	return array;
}

static void print_totals(const struct netstat_process *process, const struct netstat_all *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		const struct netstat_nic *nic = &all->nics[i];

		printf("process %d (%s), %s, NIC %s, %u queue pairs\n", (int)process->pid, process->name,
		       netstat_process_state(process->state), nic->port.name, nic->port.nr_qps);
		for (uint32_t j = 0; j < nic->port.nr_counters; j++) {
			if (nic->port.values[j])
				printf("  %-24s %20" PRIu64 "\n", nic->port.names[j], nic->port.values[j]);
		}
	}
}

static void print_heads(void)
{
	printf("%-12s", "NIC");
	for (int i = 0; i < NR_COLUMNS; i++)
		printf(" %10s", heads[i]);
	putchar('\n');
}

static void print_rates(const char *name, const struct sample *now, const struct sample *before)
{
	double seconds = now->now_ns > before->now_ns ? (double)(now->now_ns - before->now_ns) / 1e9 : 0;

	printf("%-12s", name);
	/* the process is stopped, or its NIC's thread is */
	for (int i = 0; i < NR_COLUMNS && !(seconds > 0); i++)
		printf(" %10s", "-");
	for (int i = 0; i < NR_COLUMNS && seconds > 0; i++) {
		uint64_t more = now->columns[i] >= before->columns[i] ? now->columns[i] - before->columns[i] : 0;
		bool is_bytes = i == TX_BYTES || i == RX_BYTES;

		printf(" %10.1f", (double)more / seconds / (is_bytes ? 1e6 : 1));
	}
	putchar('\n');
}

static void nap(double seconds)
{
	struct timespec ts = { (time_t)seconds, 0 };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	nanosleep(&ts, NULL);
}

/* A line per NIC and interval, until the process ends. NICs are known by the order of their descriptors. */
static int live(const struct netstat_process *process, double interval, uint64_t count)
{
	static struct sample before[NETSTAT_FILES], now;
	static struct netstat_all all;
	unsigned int had = 0;

	for (uint64_t i = 0; !count || i <= count; i++) {
		if (i)
			nap(interval);
		if (netstat_load(process, false, &all))
			return EXIT_FAILURE;
		if (i % 20 == 1 || (i && all.nr > 1))
			print_heads();
		for (unsigned int nic = 0; nic < all.nr; nic++) {
			take(&all.nics[nic], &now);
			if (nic < had)
				print_rates(all.nics[nic].port.name, &now, &before[nic]);
			before[nic] = now;
		}
		had = all.nr;
		netstat_free(&all);
		if (fflush(stdout) || netstat_has_ended(process))
			break;
	}
	return EXIT_SUCCESS;
}

int netstat_stat(pid_t pid, double interval, uint64_t count, bool json)
{
	struct netstat_process process;
	static struct netstat_all all;
	int status = EXIT_SUCCESS;

	if (netstat_open(pid, &process) || netstat_load(&process, false, &all))
		tool_die("%s", tool_why());
	if (json && tool_json_write(netstat_json(&all, &process), "-"))
		tool_die("%s", tool_why());
	if (!json && !(interval > 0))
		print_totals(&process, &all);
	netstat_free(&all);
	if (!json && interval > 0)
		status = live(&process, interval, count);
	if (status)
		tool_die("%s", tool_why());
	netstat_close(&process);
	return status;
}
