# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Two hosts for tests of the wire: network namespaces, this one with interface wa, the other one with wb, which are one cable.
# Sourced, after tools.sh and with $limit, by a script that starts itself anew.
# shellcheck disable=SC2154 # names, temp and limit are of who sources this
export PATH=$PATH:/usr/sbin:/sbin
port=21000

# Skip the tests in $names.
give_up() {
	for name in "${names[@]}"; do
		skipped "$name" "$1"
	done
	finish
	exit
}

# hosts_enter ARGUMENT...: of the script, which comes back in a network namespace of its own
hosts_enter() {
	[ "${WIRE_INSIDE:-}" = '' ] || return
	command -v ip >/dev/null || give_up 'ip (iproute2) is not installed'
	for as in -n -rn; do
		if unshare $as ip link add wa type veth peer name wb 2>/dev/null; then
			WIRE_INSIDE=yes exec unshare $as "$0" "$@"
		fi
	done
	give_up 'network namespaces with pairs of interfaces (veth) are not allowed'
}

# The second host is the namespace of a process that waits.
hosts_make() {
	unshare -n sleep 300 &
	host=$!
	# shellcheck disable=SC2064 # the process that runs now
	trap "kill $host; rm -rf $temp" EXIT
	there=(nsenter --preserve-credentials "--net=/proc/$host/ns/net")
	for _ in $(seq 100); do
		[ "$(readlink /proc/$host/ns/net)" = "$(readlink /proc/self/ns/net)" ] || break
		sleep 0.01
	done
	ip link add wa mtu 4300 type veth peer name wb mtu 4300 netns $host
	ip addr add 10.79.0.1/24 dev wa
	ip link set lo up
	"${there[@]}" ip addr add 10.79.0.2/24 dev wb
	hosts_up
}

# The cable is there, as at the beginning.
hosts_up() {
	ip link set wa up mtu 4300
	"${there[@]}" ip link set wb up mtu 4300
	for _ in $(seq 100); do
		ip link show wa | grep -q LOWER_UP && "${there[@]}" ip link show wb | grep -q LOWER_UP && break
		sleep 0.02
	done
}

# serve COMMAND...: a server on the second host, in the background. IPv4: the first address that is not link-local
serve() {
	port=$((port + 1))
	: >"$temp/server.err"
	DOCA_GPUNETIO_LOG=6 "${there[@]}" "$@" -d soft_wb --port $port --timeout "$limit" >"$temp/server.out" 2>"$temp/server.err" \
		</dev/null &
	server=$!
	for _ in $(seq 200); do
		grep -q 'Listening for incoming connections' "$temp/server.err" && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	# it may have said so after it was looked at last
	grep -q 'Listening for incoming connections' "$temp/server.err" && return
	problem "the server does not listen: $(head -c 300 "$temp/server.err")"
}

# served STATUS: it has ended by itself with this status
served() {
	local rc

	for _ in $(seq $((limit * 40))); do
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	kill -9 "$server" 2>/dev/null && problem 'the server did not end'
	wait "$server"
	rc=$?
	[ "$rc" = "$1" ] || problem "the server ended with $rc, not $1: $(head -c 300 "$temp/server.err")"
}

# of clients, on this host
# shellcheck disable=SC2034 # for who sources this
client=(-d soft_wa -c 10.79.0.2 --timeout "$limit")
