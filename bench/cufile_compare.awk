# SPDX-License-Identifier: MIT
# cufile_compare.awk - the table of cufile_compare.sh, from rows of cufile_bw in files "theirs", "ours" and "bare"
#
# Columns of a row: case, bytes, threads, reps, ops, GB/s, best GB/s, us p50, us p99, CPU s/GiB, checked. The n-th row of a case
# in one file belongs to the n-th row of it in the others.

# The value below which a share of the list lies.
function quantile(list, share, n, i, j, t, v)
{
	n = split(list, v, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
			t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
		}
	if (!n)
		return 0
	t = 1 + share * (n - 1)
	i = int(t)
	return i == n ? v[n] : v[i] + (t - i) * (v[i + 1] - v[i])
}

function median(list)
{
	return quantile(list, 0.5)
}

# Ratios of what belongs together, as far as both have it; "pairs" says how many.
function ratios(above, below, a, b, i, list)
{
	pairs = split(above, a, " ")
	i = split(below, b, " ")
	if (i < pairs)
		pairs = i
	list = ""
	for (i = 1; i <= pairs; i++)
		list = list " " (b[i] > 0 ? a[i] / b[i] : 0)
	return list
}

function show_ratios(list)
{
	printf " %7.2f %6.2f-%-6.2f %3d", median(list), quantile(list, 0.25), quantile(list, 0.75), pairs
}

function load(who, file, line, f)
{
	while ((getline line < file) > 0) {
		split(line, f, ",")
		if (!(f[1] in seen)) {
			seen[f[1]] = 1
			order[++nr] = f[1]
		}
		gbps[who, f[1]] = gbps[who, f[1]] " " f[6]
		us[who, f[1]] = us[who, f[1]] " " f[8]
		cpu[who, f[1]] = cpu[who, f[1]] " " f[10]
	}
	close(file)
}

function smaller(a, b)
{
	return a < b ? a : b
}

# What the case must reach in GB/s; 0: nothing was set. "wish" tells how it comes about.
function target(name, their, limit, size, factor)
{
	size = name
	sub(/^[a-z0-9]*-[a-z]*-/, "", size)
	wish = ""
	if (name ~ /^read-cached-/) {
		factor = factors[size]
		wish = factor " x"
		return factor * their
	}
	if (name ~ /^read-direct-/) {
		wish = "min(1.2 x, 0.95 x disk)"
		return smaller(1.2 * their, 0.95 * limit)
	}
	if (name ~ /^write-/) {
		wish = "min(1.3 x, 0.95 x pwrite)"
		return smaller(1.3 * their, 0.95 * limit)
	}
	if (name ~ /^batch128-/) {
		wish = "more than 1 x"
		return their
	}
	return 0
}

function verdict(reached)
{
	total++
	met += reached
	return reached ? "yes" : "NO"
}

# What was to be reached in each turn.
function targets(name, t, l, i, n, list)
{
	n = split(gbps["theirs", name], t, " ")
	split(gbps["bare", "host-" name], l, " ")
	for (i = 1; i <= n; i++)
		list = list " " target(name, t[i], l[i])
	return list
}

function bandwidth(name, their, our, limit, need, reached)
{
	their = median(gbps["theirs", name]); our = median(gbps["ours", name]); limit = median(gbps["bare", "host-" name])
	if (!their || !our) {
		printf "%-28s %9.3f %9.3f  not measured by both\n", name, their, our
		return
	}
	need = targets(name)
	reached = median(ratios(gbps["ours", name], need))
	printf "%-28s %9.3f %9.3f", name, their, our
	show_ratios(ratios(gbps["ours", name], gbps["theirs", name]))
	printf " %9s %9.3f %7.2f  %-4s %s\n", limit ? sprintf("%.3f", limit) : "-", median(need), reached,
		verdict(reached >= 1), wish
}

function latency(name, their, our, wanted)
{
	their = median(us["theirs", name]); our = median(us["ours", name])
	if (!their || !our)
		return
	wanted = name == "first-read"
	printf "%-28s %9.2f %9.2f", name, their, our
	show_ratios(ratios(us["theirs", name], us["ours", name]))
	printf "  %-4s %s\n", wanted ? verdict(our < their) : "", wanted ? "less than theirs" : ""
}

function cpu_time(name, their, our, wanted, list)
{
	their = median(cpu["theirs", name]); our = median(cpu["ours", name])
	if (!their || !our)
		return
	wanted = name ~ /^read-.*-1M-/
	list = ratios(cpu["ours", name], cpu["theirs", name])
	printf "%-28s %9.4f %9.4f", name, their, our
	show_ratios(list)
	printf "  %-4s %s\n", wanted ? verdict(median(list) <= 0.8) : "", wanted ? "at most 0.8 x" : ""
}

BEGIN {
	factors["4K-t1"] = 5; factors["64K-t1"] = 2.5; factors["1M-t1"] = 1.5; factors["16M-t1"] = 1.2
	factors["4K-t4"] = 4; factors["64K-t4"] = 1.5; factors["1M-t4"] = 1.2; factors["16M-t4"] = 1
	load("theirs", theirs); load("ours", ours); load("bare", bare)

	printf "\n%-28s %9s %9s %7s %13s %3s %9s %9s %7s  %-4s\n", "GB/s", "theirs", "ours", "ratio", "middle half", "n",
		"limit", "target", "reached", "met"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^(read|write|batch128)-/)
			bandwidth(order[i])
	printf "\n%-28s %9s %9s %7s %13s %3s  %-4s\n", "us", "theirs", "ours", "ratio", "middle half", "n", "met"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^first-/)
			latency(order[i])
	printf "\n%-28s %9s %9s %7s %13s %3s  %-4s\n", "CPU s/GiB", "theirs", "ours", "ratio", "middle half", "n", "met"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^(read|write|batch128)-/)
			cpu_time(order[i])
	printf "\n%-28s %9s\n", "copy engine, GB/s", "median"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^copy-/)
			printf "%-28s %9.3f\n", order[i], median(gbps["bare", order[i]])
	printf "\ntargets met: %d of %d\n", met, total
}
