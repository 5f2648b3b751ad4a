# SPDX-License-Identifier: MIT
"""What the client programs share: data, timing, what was loaded and counted, and the line of results."""

import argparse
import ctypes
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
import traceback

KIB = 1 << 10
MIB = 1 << 20


def options(description, sizes):
    """Arguments that all clients take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dir", default=".", help="folder for the files, which are removed again")
    parser.add_argument("--device", default="cuda:0", help="GPU, in the words of torch")
    parser.add_argument("--seconds", type=float, default=0.5, help="time of one measurement")
    parser.add_argument("--size", type=int, action="append", metavar="BYTES", help="may be repeated")
    opt = parser.parse_args()
    opt.size = opt.size or sizes
    return opt


def pattern(size, seed):
    """Bytes that do not repeat, the same in every run."""
    source = random.Random(seed)
    # Python before 3.13 makes less than 256 MiB at once
    return b"".join(source.randbytes(min(size - pos, 16 * MIB)) for pos in range(0, size, 16 * MIB))


def digest(data):
    return hashlib.sha256(data).hexdigest()


def write_file(path, data):
    """Write and sync, so that a read with O_DIRECT meets no dirty page cache of ours."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_file(path, size, offset=0):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def gbps(call, size, seconds):
    """Median rate of a call that moves size bytes, called for that long and at least three times."""
    times = []
    call()
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return size / statistics.median(times) / 1e9


def mapped(name):
    """Files that are mapped into this process and have the name in theirs."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        words = (line.split(maxsplit=5) for line in maps)
        return sorted({word[5].strip() for word in words if len(word) > 5 and name in os.path.basename(word[5])})


class DlInfo(ctypes.Structure):
    """Dl_info of dladdr()."""

    _fields_ = [("fname", ctypes.c_char_p), ("fbase", ctypes.c_void_p), ("sname", ctypes.c_char_p),
                ("saddr", ctypes.c_void_p)]


def file_of(function):
    """The file of the library that a function is in."""
    info = DlInfo()
    if not ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info)):
        raise RuntimeError(f"{function}: in no library")
    return os.path.realpath(os.fsdecode(info.fname))


class Cufile:
    """The libcufile that the client calls, asked from outside of the client.

    More than one may be loaded: who loads a library by a path gets that file, whatever was loaded under its name before.
    What counts is which one a name leads to. A library that is linked with cuFile gets its functions from the global
    scope, where preloaded libraries come first, else from its own dependency, which the loader finds by the name
    libcufile.so.0, as it does for dlopen().
    """

    NAME = "libcufile.so.0"
    FUNCTIONS = ("cuFileDriverOpen", "cuFileHandleRegister", "cuFileHandleDeregister", "cuFileBufRegister",
                 "cuFileBufDeregister", "cuFileRead", "cuFileWrite", "cuFileReadAsync", "cuFileWriteAsync",
                 "cuFileStreamRegister")
    COUNTERS = ("read", "write", "handle_register", "handle_deregister", "buf_register", "buf_deregister")

    def __init__(self):
        bound = {f"{name} {scope}": file_of(getattr(lib, name)) for scope, lib in self.scopes().items()
                 for name in self.FUNCTIONS if hasattr(lib, name)}
        files = sorted(set(bound.values()))
        if len(files) != 1:
            raise RuntimeError(f"calls do not go to one libcufile: {bound or 'none is loaded'}")
        self.file = files[0]
        self.others = [file for file in mapped("libcufile.so") if file != self.file]
        # by its path: the library that is in memory already, not another one
        self.lib = ctypes.CDLL(self.file)

    def scopes(self):
        """Where functions are looked for: by who is linked, and by who opens the name."""
        scopes = {"in the global scope": ctypes.CDLL(None)}
        try:
            scopes["by name"] = ctypes.CDLL(self.NAME, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            pass  # none is loaded under this name
        return scopes

    def version(self):
        number = ctypes.c_int()
        self.lib.cuFileGetVersion(ctypes.byref(number))
        return number.value

    def calls(self):
        """Calls that succeeded and that failed, by kind; None where the library does not count."""
        # larger than struct CUfileStatsLevel1 of any release; it begins with pairs of u64
        stats = (ctypes.c_uint64 * 1024)()
        self.lib.cuFileGetStatsL1.restype = ctypes.c_uint64
        status = self.lib.cuFileGetStatsL1(ctypes.byref(stats))
        if status & 0xffffffff:
            return None
        return {name: {"ok": stats[2 * i], "failed": stats[2 * i + 1]} for i, name in enumerate(self.COUNTERS)}


def paths():
    """Requests by path, as "barlane stat" tells; None without the tool, or of another library."""
    tool = os.environ.get("BARLANE_TOOL")
    if not tool or not mapped("libbarlane.so"):
        return None
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([tool, "stat", str(os.getpid()), "--json"], env=env, check=False, capture_output=True,
                          text=True, timeout=30)
    if done.returncode:
        raise RuntimeError(f"{tool} stat: {done.stderr.strip()}")
    return {f"{row['path']} {row['direction']}": {"calls": row["calls"], "bytes": row["bytes"]}
            for row in json.loads(done.stdout)["requests"] if row["calls"] and row["kind"] == "single"}


class Report:
    """Cases with their results, and what is known of the run."""

    def __init__(self, client, version):
        self.out = {"client": client, "version": version, "cases": {}}

    def case(self, name, result, expected, rate=None):
        """What came out of a case: a digest, or the name of an error. It is wrong when it is not what was expected."""
        row = {"result": result, "right": result == expected}
        if rate is not None:
            row["gbps"] = round(rate, 3)
        self.out["cases"][name] = row

    def finish(self):
        lib = Cufile()
        calls = lib.calls()
        self.out.update(libcufile=lib.file, also_loaded=lib.others, libcufile_version=lib.version(),
                        barlane=bool(mapped("libbarlane.so")), calls=calls)
        try:
            self.out["paths"] = paths() if calls and calls["handle_register"]["ok"] else None
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:  # the results are worth having without
            self.out.update(paths=None, paths_error=str(error))
        print(json.dumps(self.out), flush=True)
        return 0 if all(row["right"] for row in self.out["cases"].values()) else 1


def run(main):
    """Run a client; the last line says why it ended, if it did so early."""
    try:
        status = main()
    except Exception as error:  # whatever a client throws is a result
        traceback.print_exc()
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        status = 1
    sys.exit(status)
