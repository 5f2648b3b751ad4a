# SPDX-License-Identifier: MIT
# cufile_compare.awk - the table of cufile_compare.sh, from rows of cufile_bw in files "theirs", "ours" and "bare"
#
# Columns of a row: case, bytes, threads, reps, ops, GB/s, best GB/s, us p50, us p99, CPU s/GiB, checked.

function median(list, n, i, j, t, v)
{
	n = split(list, v, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
			t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
		}
	if (!n)
		return 0
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
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

function bandwidth(name, their, our, limit, need)
{
	their = median(gbps["theirs", name]); our = median(gbps["ours", name]); limit = median(gbps["bare", "host-" name])
	if (!their || !our) {
		printf "%-28s %9.3f %9.3f  not measured by both\n", name, their, our
		return
	}
	need = target(name, their, limit)
	printf "%-28s %9.3f %9.3f %7.2f %9s %9.3f  %-4s %s\n", name, their, our, our / their,
		limit ? sprintf("%.3f", limit) : "-", need, verdict(our >= need), wish
}

function latency(name, their, our, wanted)
{
	their = median(us["theirs", name]); our = median(us["ours", name])
	if (!their || !our)
		return
	wanted = name == "first-read"
	printf "%-28s %9.2f %9.2f %7.2f  %-4s %s\n", name, their, our, their / our,
		wanted ? verdict(our < their) : "", wanted ? "less than theirs" : ""
}

function cpu_time(name, their, our, wanted)
{
	their = median(cpu["theirs", name]); our = median(cpu["ours", name])
	if (!their || !our)
		return
	wanted = name ~ /^read-.*-1M-/
	printf "%-28s %9.4f %9.4f %7.2f  %-4s %s\n", name, their, our, our / their,
		wanted ? verdict(our <= 0.8 * their) : "", wanted ? "at most 0.8 x" : ""
}

BEGIN {
	factors["4K-t1"] = 5; factors["64K-t1"] = 2.5; factors["1M-t1"] = 1.5; factors["16M-t1"] = 1.2
	factors["4K-t4"] = 4; factors["64K-t4"] = 1.5; factors["1M-t4"] = 1.2; factors["16M-t4"] = 1
	load("theirs", theirs); load("ours", ours); load("bare", bare)

	printf "\n%-28s %9s %9s %7s %9s %9s  %-4s %s\n", "GB/s", "theirs", "ours", "ratio", "limit", "target", "met", ""
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^(read|write|batch128)-/)
			bandwidth(order[i])
	printf "\n%-28s %9s %9s %7s  %-4s\n", "us", "theirs", "ours", "ratio", "met"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^first-/)
			latency(order[i])
	printf "\n%-28s %9s %9s %7s  %-4s\n", "CPU s/GiB", "theirs", "ours", "ratio", "met"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^(read|write|batch128)-/)
			cpu_time(order[i])
	printf "\n%-28s %9s\n", "copy engine, GB/s", "median"
	for (i = 1; i <= nr; i++)
		if (order[i] ~ /^copy-/)
			printf "%-28s %9.3f\n", order[i], median(gbps["bare", order[i]])
	printf "\ntargets met: %d of %d\n", met, total
}
