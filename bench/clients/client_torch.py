#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Load and save storages with torch.cuda.gds, compare every byte, and measure."""

import os
import platform

import torch
from torch.cuda import gds

import client


def tensor_of(data, device):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)


def bytes_of(tensor):
    return tensor.cpu().numpy().tobytes()


class Run:
    def __init__(self, opt, report):
        self.opt = opt
        self.report = report
        self.path = os.path.join(opt.dir, "torch.bin")

    def load(self, name, size, offset=0):
        """Read from an offset of the file; compared where the bytes are, and hashed."""
        data = client.pattern(offset + size, size)
        client.write_file(self.path, data)
        expected = tensor_of(data[offset:], self.opt.device)
        tensor = torch.zeros(size, dtype=torch.uint8, device=self.opt.device)
        file = gds.GdsFile(self.path, os.O_RDONLY)
        file.load_storage(tensor.untyped_storage(), offset)
        same = torch.equal(tensor, expected)
        rate = client.gbps(lambda: file.load_storage(tensor.untyped_storage(), offset), size, self.opt.seconds)
        result = client.digest(bytes_of(tensor)) if same else "differs in GPU memory"
        self.report.case(name, result, client.digest(data[offset:]), rate)

    def save(self, name, size):
        data = client.pattern(size, size + 1)
        client.write_file(self.path, bytes(size))
        tensor = tensor_of(data, self.opt.device)
        file = gds.GdsFile(self.path, os.O_RDWR)
        rate = client.gbps(lambda: file.save_storage(tensor.untyped_storage(), 0), size, self.opt.seconds)
        self.report.case(name, client.digest(client.read_file(self.path, size)), client.digest(data), rate)

    def registered(self, size):
        """The same with a buffer that is registered: what the tensor's storage is, not a copy of it."""
        data = client.pattern(size, size + 2)
        client.write_file(self.path, data)
        tensor = torch.zeros(size, dtype=torch.uint8, device=self.opt.device)
        storage = tensor.untyped_storage()
        gds.gds_register_buffer(storage)
        try:
            file = gds.GdsFile(self.path, os.O_RDWR)
            rate = client.gbps(lambda: file.load_storage(storage, 0), size, self.opt.seconds)
            self.report.case(f"load registered {size}", client.digest(bytes_of(tensor)), client.digest(data), rate)
            tensor.bitwise_xor_(0x5a)
            changed = bytes_of(tensor)
            rate = client.gbps(lambda: file.save_storage(storage, 0), size, self.opt.seconds)
            self.report.case(f"save registered {size}", client.digest(client.read_file(self.path, size)),
                             client.digest(changed), rate)
        finally:
            gds.gds_deregister_buffer(storage)

    def errors(self):
        """What cannot work must fail, and the same way."""
        client.write_file(self.path, bytes(client.MIB))
        storage = torch.zeros(client.MIB, dtype=torch.uint8, device=self.opt.device).untyped_storage()
        file = gds.GdsFile(self.path, os.O_RDONLY)
        self.report.case("save to a file opened for reading", self.outcome(lambda: file.save_storage(storage, 0)),
                         "RuntimeError")
        self.report.case("deregister what is not registered", self.outcome(lambda: gds.gds_deregister_buffer(storage)),
                         "RuntimeError")

    @staticmethod
    def outcome(call):
        try:
            call()
        except Exception as error:  # the name is the result
            return type(error).__name__
        return "no error"

    def all(self):
        for size in self.opt.size:
            self.load(f"load {size}", size)
            self.save(f"save {size}", size)
            self.registered(size)
        self.load("load from 4096", client.MIB, 4096)
        self.errors()
        os.unlink(self.path)


def main():
    opt = client.options(__doc__, [64 * client.KIB, client.MIB, 16 * client.MIB, 256 * client.MIB])
    report = client.Report("torch", f"{torch.__version__}, python {platform.python_version()}")
    Run(opt, report).all()
    return report.finish()


if __name__ == "__main__":
    client.run(main)
