# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# TAP for shell scripts in the guest. Sourced.

tap_nr=0
tap_failures=0

plan() {
	echo "1..$1"
}

# tap_result STATUS NAME: 0 is passed
tap_result() {
	tap_nr=$((tap_nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_nr - $2"
	else
		tap_failures=$((tap_failures + 1))
		echo "not ok $tap_nr - $2"
	fi
}

# is NAME GOT WANT
is() {
	[ "$2" = "$3" ]
	tap_result $? "$1"
	[ "$2" = "$3" ] || echo "# got '$2', not '$3'"
}

# differ NAME GOT OTHER
differ() {
	[ -n "$2" ] && [ "$2" != "$3" ]
	tap_result $? "$1"
	[ "$2" != "$3" ] || echo "# got '$2' twice"
}

# does NAME COMMAND...: passed when the command succeeds
does() {
	tap_name=$1
	shift
	tap_out=$("$@" 2>&1 </dev/null)
	tap_rc=$?
	tap_result $tap_rc "$tap_name"
	[ $tap_rc = 0 ] || echo "# status $tap_rc: $tap_out"
}

# fails NAME COMMAND...: passed when the command does not succeed
fails() {
	tap_name=$1
	shift
	! "$@" >/dev/null 2>&1 </dev/null
	tap_result $? "$tap_name"
}

# tap_skip NAME REASON
tap_skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

# long_tests: all, some or none, by how much time the guest has
long_tests() {
	case $LAB_KERNEL/$LAB_IOMMU in
	6.1/off | 6.12/on) echo all ;;
	*-debug/*) echo some ;;
	*) echo none ;;
	esac
}

finish() {
	[ $tap_failures = 0 ]
	exit $?
}
