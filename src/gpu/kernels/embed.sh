#!/bin/sh
# SPDX-License-Identifier: MIT
# Write C source that defines a NUL-terminated array with the bytes of a file: embed.sh SYMBOL FILE OUTPUT
set -eu

if [ $# -ne 3 ]; then
	echo "usage: $0 SYMBOL FILE OUTPUT" >&2
	exit 2
fi
{
	printf 'extern const char %s[];\nconst char %s[] = {\n' "$1" "$1"
	od -An -v -tx1 "$2" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	printf '0\n};\n'
} >"$3"
