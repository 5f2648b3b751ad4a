#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cufile_pairs.sh - processes of "cufile_bw --serve" that measure the same case in turn; to be sourced
#
# Part of cufile_compare.sh, whose variables program, theirs, ours, file, size, seconds, pairs, dir and function failed it
# uses. Process "theirs" or "ours" has that library, "bare" has none. Each is started when it is first wanted, and again when
# it has died.

# shellcheck disable=SC2154 # variables of whoever sources this
declare -A pairs_pid=() pairs_to=() pairs_from=() pairs_open=()

# pairs_drop WHICH: be done with a process, however it is
pairs_drop() {
	local to=${pairs_to[$1]} from=${pairs_from[$1]}

	exec {to}>&- {from}<&-
	kill "${pairs_pid[$1]}" 2>/dev/null
	unset "pairs_pid[$1]" "pairs_open[$1]"
}

# pairs_hear WHICH [FILE]: its answer; a row goes to FILE. False: it has failed, or died
pairs_hear() {
	local line

	while IFS= read -r -t 150 -u "${pairs_from[$1]}" line; do
		case $line in
		'# cufile_bw'*) echo "$line" >"$dir/log/$1.head" ;;
		'# ready') pairs_open[$1]=1 && return 0 ;;
		'# ended') unset "pairs_open[$1]" && return 0 ;;
		'# failed') unset "pairs_open[$1]" && return 1 ;;
		case,*) return 0 ;;
		*) echo "$line" >>"$2" && return 0 ;;
		esac
	done
	pairs_drop "$1"
	return 1
}

# pairs_ask WHICH LINE [FILE]: say it and hear the answer
pairs_ask() {
	printf '%s\n' "$2" 2>/dev/null 1>&"${pairs_to[$1]}"
	pairs_hear "$1" "${3-/dev/null}"
}

# pairs_start WHICH: unless it is there
pairs_start() {
	local which=$1 lib=() pipe=$dir/log/$1.pipe to from

	[ -z "${pairs_pid[$which]-}" ] || return 0
	case $which in
	theirs) lib=(--lib "$theirs") ;;
	ours) lib=(--lib "$ours") ;;
	esac
	rm -f "$pipe"
	mkfifo "$pipe" || return 1
	exec {to}> >(cd "$dir/log" && CUFILE_LOGFILE_PATH=$dir/log/$which.log exec "$program" "${lib[@]}" --serve \
		--file "$file" --seconds "$seconds" --size "$size" >"$pipe" 2>"$dir/log/$which.err")
	pairs_pid[$which]=$!
	exec {from}<"$pipe"
	pairs_to[$which]=$to pairs_from[$which]=$from
	pairs_hear "$which"
}

# pairs_turns CASE WHICH...: all of them ready, or none is measured
pairs_turns() {
	local name=$1 which i there back=()

	shift
	there=("$@")
	for which; do
		back=("$which" "${back[@]}")
	done
	for which; do
		pairs_start "$which" && pairs_ask "$which" "case $(pairs_case "$which" "$name")" && continue
		failed "$which" "$name"
		return
	done
	for ((i = 0; i < pairs; i++)); do
		for which in "${there[@]}"; do
			pairs_ask "$which" slice "$dir/$which.csv" && continue
			failed "$which" "$name"
			return
		done
		set -- "${there[@]}"
		there=("${back[@]}") back=("$@")
	done
}

# pairs_case WHICH CASE: what its bare limit is called
pairs_case() {
	case $1-$2 in
	bare-read-* | bare-write-*) echo "host-$2" ;;
	*) echo "$2" ;;
	esac
}

# pairs_measure CASE WHICH...: a row of each to WHICH.csv, as often as there are to be pairs
pairs_measure() {
	local which

	pairs_turns "$@"
	for which in "${!pairs_open[@]}"; do
		pairs_ask "$which" end || failed "$which" "$1"
	done
}

pairs_quit() {
	local which

	for which in "${!pairs_pid[@]}"; do
		echo quit 2>/dev/null 1>&"${pairs_to[$which]}"
		wait "${pairs_pid[$which]}" 2>/dev/null
		pairs_drop "$which"
	done
}

# Of those that are still there, when the script ends before its time
pairs_kill() {
	[ ${#pairs_pid[@]} = 0 ] || kill "${pairs_pid[@]}" 2>/dev/null
}
