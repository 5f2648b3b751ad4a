#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Set the results of the clients with either library side by side.

usage: compare.py OUT LIBDIR CLIENT...

The exit status is 1 when a run did not use the library that it should have used, gave up, or had a wrong result.
"""

import json
import os
import sys


def last_line(path):
    """A client's results: its last line, since a library may print as well."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    try:
        return json.loads(lines[-1]) if lines else {"error": "it printed nothing"}
    except ValueError:
        return {"error": "its last line is no JSON"}


def faults(which, run, libdir):
    """What makes a run worthless, in words."""
    if "error" in run:
        yield f"gave up: {run['error']}"
        return
    if run["barlane"] != (which == "ours"):
        yield f"ran on the wrong library, {run['libcufile']}"
    if which == "ours" and os.path.dirname(run["libcufile"]) != libdir:
        yield f"ran on {run['libcufile']}, not on that of {libdir}"
    if "paths_error" in run:
        yield f"does not tell the paths: {run['paths_error']}"
    if run["calls"] is None:
        yield "has no counts of calls"
    elif not run["calls"]["read"]["ok"]:
        yield "read nothing by cuFile"
    for name, row in run["cases"].items():
        if not row["right"]:
            yield f"{name}: wrong result: {row['result']}"


def rows(theirs, ours):
    """Of each case: its name, whether the results are the same, the two rates."""
    for name in dict.fromkeys([*theirs["cases"], *ours["cases"]]):
        pair = [run["cases"].get(name, {}) for run in (theirs, ours)]
        same = all(pair) and pair[0]["result"] == pair[1]["result"]
        yield name, same, [row.get("gbps") for row in pair]


def show(theirs, ours):
    """The table. Return: how many results differ."""
    differ = 0
    print(f"{'case':44} {'result':8} {'theirs':>8} {'ours':>8} {'ratio':>6}")
    for name, same, rates in rows(theirs, ours):
        differ += not same
        texts = ["" if value is None else f"{value:.2f}" for value in rates]
        ratio = f"{rates[1] / rates[0]:.2f}" if all(rates) else ""
        print(f"{name:44} {'same' if same else 'DIFFERS':8} {texts[0]:>8} {texts[1]:>8} {ratio:>6}".rstrip())
    return differ


def describe(which, run):
    if "error" in run:
        return
    counted = [f"{name} {calls['ok']}" + (f" (+{calls['failed']} failed)" if calls["failed"] else "")
               for name, calls in (run["calls"] or {}).items() if calls["ok"] or calls["failed"]]
    print(f"# {which}: {run['libcufile']}, cuFileGetVersion {run['libcufile_version']}; {', '.join(counted)}")
    for file in run.get("also_loaded", []):
        print(f"#   also loaded, and no function of cuFile leads to it: {file}")
    for path, flow in (run["paths"] or {}).items():
        print(f"#   path {path}: {flow['calls']} calls, {flow['bytes']} bytes")


def main(out, libdir, *clients):
    bad = 0
    for client in clients:
        runs = {which: last_line(os.path.join(out, f"{which}-{client}.json")) for which in ("theirs", "ours")}
        version = next((run["version"] for run in runs.values() if "version" in run), "version unknown")
        print(f"\n## {client} {version}; GB/s, median")
        for which, run in runs.items():
            describe(which, run)
            for fault in faults(which, run, libdir):
                bad += 1
                print(f"# FAULT: {which}: {fault}")
        if not any("error" in run for run in runs.values()):
            bad += show(runs["theirs"], runs["ours"])
    print(f"\n{'all results are the same' if not bad else f'{bad} faults and differences'}")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
