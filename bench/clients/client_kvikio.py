#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read and write with KvikIO, compare every byte, and measure. KvikIO may not do without cuFile here."""

import os

import kvikio
import kvikio.defaults

import client
from gpu_buffer import Gpu, GpuBuffer


class Run:
    def __init__(self, opt, report):
        self.opt = opt
        self.report = report
        self.path = os.path.join(opt.dir, "kvikio.bin")
        self.gpu = Gpu()

    def reads(self, size, registered):
        """Whole by KvikIO's threads, and raw in one call of cuFile."""
        data = client.pattern(size, size)
        client.write_file(self.path, data)
        buf = GpuBuffer(self.gpu, size)
        kind = " registered" if registered else ""
        if registered:
            kvikio.memory_register(buf)
        with kvikio.CuFile(self.path, "r") as file:
            for name, call in (("read", lambda: file.read(buf)), ("raw_read", lambda: file.raw_read(buf))):
                buf.fill(0)
                rate = client.gbps(call, size, self.opt.seconds)
                self.report.case(f"{name}{kind} {size}", client.digest(buf.get()), client.digest(data), rate)
        if registered:
            kvikio.memory_deregister(buf)
        buf.free()

    def writes(self, size, registered):
        data = client.pattern(size, size + 1)
        buf = GpuBuffer(self.gpu, size)
        buf.put(data)
        kind = " registered" if registered else ""
        if registered:
            kvikio.memory_register(buf)
        for name in ("write", "raw_write"):
            client.write_file(self.path, bytes(size))
            with kvikio.CuFile(self.path, "r+") as file:
                rate = client.gbps(lambda: getattr(file, name)(buf), size, self.opt.seconds)
            self.report.case(f"{name}{kind} {size}", client.digest(client.read_file(self.path, size)),
                             client.digest(data), rate)
        if registered:
            kvikio.memory_deregister(buf)
        buf.free()

    def odd(self):
        """Offsets and sizes that are multiples of nothing, in the file and in memory; and past the end of the file."""
        size, pos, at, part = 3 * client.MIB + 77, 4099, 515, client.MIB + 1
        data = client.pattern(size, 7)
        client.write_file(self.path, data)
        buf = GpuBuffer(self.gpu, size)
        with kvikio.CuFile(self.path, "r+") as file:
            moved = file.raw_read(buf, part, pos, at)
            self.report.case("raw_read at odd offsets", client.digest(buf.get(part, at)),
                             client.digest(data[pos:pos + part]))
            self.report.case("raw_read at odd offsets, bytes", moved, part)
            self.report.case("raw_read leaves the rest alone", buf.get(at) == bytes(at)
                             and buf.get(size - at - part, at + part) == bytes(size - at - part), True)
            self.report.case("raw_read past the end, bytes", file.raw_read(buf, 8192, size - 1000), 1000)
            buf.put(data)
            moved = file.raw_write(buf, part, size - 100, at)
            self.report.case("raw_write that extends, bytes", moved, part)
        self.report.case("raw_write that extends", client.digest(client.read_file(self.path, 2 * size)),
                         client.digest(data[:size - 100] + data[at:at + part]))
        buf.free()

    def streams(self, size):
        """Requests in the order of a stream."""
        data = client.pattern(size, 9)
        client.write_file(self.path, data)
        client.write_file(self.path + "2", b"")
        buf = GpuBuffer(self.gpu, size)
        stream = self.gpu.stream()
        with kvikio.CuFile(self.path, "r") as source, kvikio.CuFile(self.path + "2", "r+") as target:
            read = source.raw_read_async(buf, stream, size)
            write = target.raw_write_async(buf, stream, size)
            self.report.case(f"raw_read_async {size}, bytes", read.check_bytes_done(), size)
            self.report.case(f"raw_write_async {size}, bytes", write.check_bytes_done(), size)
            self.report.case(f"raw_read_async {size}", client.digest(buf.get()), client.digest(data))
        self.report.case(f"raw_write_async {size}", client.digest(client.read_file(self.path + "2", size + 1)),
                         client.digest(data))
        os.unlink(self.path + "2")
        buf.free()

    def all(self):
        for size in self.opt.size:
            for registered in (False, True):
                self.reads(size, registered)
                self.writes(size, registered)
        self.odd()
        self.streams(4 * client.MIB)
        os.unlink(self.path)


def main():
    opt = client.options(__doc__, [64 * client.KIB, client.MIB, 16 * client.MIB, 256 * client.MIB])
    # the default does without where it cannot have it, and says nothing
    kvikio.defaults.set("compat_mode", kvikio.CompatMode.OFF)
    report = client.Report("kvikio", kvikio.__version__)
    Run(opt, report).all()
    return report.finish()


if __name__ == "__main__":
    client.run(main)
