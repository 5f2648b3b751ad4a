# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions for tests of command-line tools; sourced. They speak TAP: a test is a list of expectations, then verdict NAME.

export LC_ALL=C
temp=$(mktemp -d) || exit 1
trap 'rm -rf "$temp"' EXIT
nr=0
failures=0
problems=

problem() {
	problems="$problems$*"$'\n'
}

# go WANTED-STATUS COMMAND...: run it; stdout and stderr are kept for the expectations. A test that hangs fails.
go() {
	local wanted=$1 rc

	shift
	timeout 50 "$@" >"$temp/out" 2>"$temp/err" </dev/null
	rc=$?
	[ "$rc" = "$wanted" ] || problem "${*##*/}: status $rc, not $wanted: $(head -c 600 "$temp/err")"
}

# full WANTED-STATUS COMMAND...: the same with a stdout that takes nothing; that must be said
full() {
	# shellcheck disable=SC2016
	go "$1" bash -c 'exec "$@" >/dev/full' - "${@:2}"
	complains ': not all of the output could be written(: No space left on device)?$'
}

# says REGEX: a line of stdout matches; complains REGEX: one of stderr does
says() {
	grep -qE -- "$1" "$temp/out" || problem "stdout has no line that matches $1: $(head -c 600 "$temp/out")"
}

complains() {
	grep -qE -- "$1" "$temp/err" || problem "stderr has no line that matches $1: $(head -c 600 "$temp/err")"
}

# count NUMBER REGEX: so many lines of stdout match
count() {
	local got

	got=$(grep -cE -- "$2" "$temp/out")
	[ "$got" = "$1" ] || problem "$got lines match $2, not $1"
}

# json FILE EXPRESSION...: Python expressions over the document d that must be true
json() {
	local file=$1 expression

	shift
	for expression; do
		python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$file" "$expression" 2>"$temp/json" ||
			problem "not true of the JSON: $expression $(tail -n 1 "$temp/json")"
	done
}

verdict() {
	nr=$((nr + 1))
	if [ -z "$problems" ]; then
		printf 'ok %d - %s\n' "$nr" "$1"
	else
		failures=$((failures + 1))
		printf 'not ok %d - %s\n' "$nr" "$1"
		printf '%s' "$problems" | sed 's/^/# /'
	fi
	problems=
}

skipped() {
	nr=$((nr + 1))
	printf 'ok %d - %s # SKIP %s\n' "$nr" "$1" "$2"
	problems=
}

finish() {
	printf '1..%d\n' "$nr"
	[ "$failures" = 0 ]
}
