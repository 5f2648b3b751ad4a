# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Repeated bytes in a file: the card's memory, seen from the host. Sourced.

# pattern_bytes LEN HEX: LEN bytes of repeated HEX
pattern_bytes() {
	local len=$1 hex=$2 escaped temp

	[[ $len =~ ^[0-9]+$ && $hex =~ ^([0-9a-fA-F]{2})+$ ]] || {
		echo "$len bytes of $hex make no sense: a count, and pairs of hexadecimal digits" >&2
		return 1
	}
	escaped=$(printf '%s' "$hex" | sed 's/../\\x&/g')
	temp=$(mktemp -d) || return
	# shellcheck disable=SC2059 # the escapes are meant
	printf "$escaped" >"$temp/a"
	while [ "$(stat -c %s "$temp/a")" -lt "$len" ]; do
		cat "$temp/a" "$temp/a" >"$temp/b" && mv "$temp/b" "$temp/a"
	done
	head -c "$len" "$temp/a"
	rm -r "$temp"
}

pattern_inside() {
	[[ $2 =~ ^[0-9]+$ && $3 =~ ^[1-9][0-9]*$ && $(($2 + $3)) -le $(stat -c %s "$1") ]] && return
	echo "$3 bytes at $2 do not lie in the file of $(stat -c %s "$1") bytes" >&2
	return 1
}

# pattern_check FILE OFF LEN HEX: compare; says where the first difference is
pattern_check() {
	pattern_inside "$1" "$2" "$3" || return
	cmp <(pattern_bytes "$3" "$4") <(tail -c "+$(($2 + 1))" "$1" | head -c "$3") && return
	echo "from $2 on there is $(tail -c "+$(($2 + 1))" "$1" | head -c 16 | od -An -t x1)"
	return 1
}

# pattern_fill FILE OFF LEN HEX
pattern_fill() {
	pattern_inside "$1" "$2" "$3" || return
	pattern_bytes "$3" "$4" | dd of="$1" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none iflag=fullblock
}
