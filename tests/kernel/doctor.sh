# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What "barlane doctor" says in the guest, for tests that compare it with the truth. Sourced after tap.sh.

# rows_of_json: STATUS CHECK SUBJECT FINDING CURE, separated by tabs, a row a line
rows_of_json() {
	awk '
		/^ *"(check|subject|status|finding|cure)":"/ {
			key = $0
			sub(/^ *"/, "", key)
			value = key
			sub(/".*/, "", key)
			sub(/^[a-z]*":"/, "", value)
			sub(/",?$/, "", value)
			gsub(/\\"/, "\"", value)
			row[key] = value
			if (key == "cure")
				printf "%s\t%s\t%s\t%s\t%s\n", row["status"], row["check"], row["subject"], row["finding"], value
		}'
}

# rows_of_table: the same
rows_of_table() {
	awk '
		function part(from, to,    text) {
			text = to ? substr($0, from, to - from) : substr($0, from)
			sub(/ +$/, "", text)
			return text
		}
		function flush() {
			if (row != "")
				print row "\t" cure
			row = cure = ""
		}
		NR == 1 { check = index($0, "CHECK"); subject = index($0, "SUBJECT"); finding = index($0, "FINDING"); next }
		/^ +-> / { cure = $0; sub(/^ +-> /, "", cure); next }
		{ flush() }
		/^(ok|info|warn|FAIL) / {
			row = tolower(part(1, check)) "\t" part(check, subject) "\t" part(subject, finding) "\t" part(finding, 0)
		}
		END { flush() }'
}

# examine COMMAND...: have the doctor look, as a table and as JSON; the command takes the line to run as its last argument
examine() {
	"$@" 'barlane doctor' >/tmp/doctor.txt 2>/dev/null
	doctor_table_rc=$?
	"$@" 'barlane doctor --json' >/tmp/doctor.json 2>/dev/null
	doctor_json_rc=$?
	rows_of_table </tmp/doctor.txt >/tmp/doctor.rows
	rows_of_json </tmp/doctor.json >/tmp/doctor.json.rows
}

# said CHECK SUBJECT: "STATUS: FINDING", and " -> CURE" when there is one, for each such row
said() {
	awk -F '\t' -v check="$1" -v subject="$2" '
		$2 == check && $3 == subject { print $1 ": " $4 ($5 == "" ? "" : " -> " $5) }' /tmp/doctor.rows
}

# cure_of CHECK SUBJECT: the cure of the first such row
cure_of() {
	awk -F '\t' -v check="$1" -v subject="$2" '$2 == check && $3 == subject { print $5; exit }' /tmp/doctor.rows
}

# agree NAME WANT: table and JSON say the same, and both exit statuses are WANT: 0 when no row failed, else 1
agree() {
	agree_fails=$(grep -c '^fail' /tmp/doctor.rows)
	agree_rows=$(wc -l </tmp/doctor.rows)
	if cmp -s /tmp/doctor.rows /tmp/doctor.json.rows && [ "$agree_rows" -gt 5 ] &&
		[ "$doctor_table_rc $doctor_json_rc" = "$2 $2" ] && [ "$((agree_fails > 0))" = "$2" ] &&
		grep -q "^  \"healthy\":$([ "$2" = 0 ] && echo true || echo false),\$" /tmp/doctor.json; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		echo "# exit status $doctor_table_rc and $doctor_json_rc, $agree_fails of $agree_rows rows failed"
		diff /tmp/doctor.rows /tmp/doctor.json.rows | sed 's/^/# /'
	fi
}
