#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Load a file of tensors with fastsafetensors, compare every tensor where it is, and measure."""

import json
import os
import struct

import torch
import fastsafetensors

import client

TYPES = (("F32", torch.float32), ("BF16", torch.bfloat16), ("I64", torch.int64), ("U8", torch.uint8))


def contents(size, misalign):
    """A file of about that size, and the bytes of its tensors by name. misalign: bytes that the data begins off 8."""
    header, tensors, pos = {}, {}, 0
    for nr, (name, dtype) in enumerate(TYPES):
        length = size // len(TYPES) // 8 * 8
        key = f"layer.{nr}.{name.lower()}"
        header[key] = {"dtype": name, "shape": [length // dtype.itemsize], "data_offsets": [pos, pos + length]}
        tensors[key] = (client.pattern(length, nr + 1), dtype)
        pos += length
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + misalign)
    return struct.pack("<Q", len(text)) + text + b"".join(data for data, _ in tensors.values()), tensors


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


class Run:
    def __init__(self, opt, report):
        self.opt = opt
        self.report = report
        self.path = os.path.join(opt.dir, "client.safetensors")

    def load(self, use):
        """Open, load, hand the tensors to use, close: what a program does for each file."""
        loader = fastsafetensors.SafeTensorsFileLoader(None, self.opt.device, nogds=False)
        loader.add_filenames({0: [self.path]})
        buffers = loader.copy_files_to_device()
        tensors = {key: buffers.get_tensor(key) for key in loader.get_keys()}
        use(tensors)
        del tensors
        buffers.close()
        loader.close()

    def compare(self, name, loaded, tensors):
        for key, (data, dtype) in tensors.items():
            tensor = loaded[key]
            expected = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(self.opt.device)
            same = tensor.dtype == dtype and torch.equal(bits(tensor), expected)
            result = client.digest(bits(tensor).cpu().numpy().tobytes()) if same else "differs in GPU memory"
            self.report.case(f"{name} {key}", result, client.digest(data))

    def file(self, name, size, misalign):
        image, tensors = contents(size, misalign)
        client.write_file(self.path, image)
        self.load(lambda loaded: self.compare(name, loaded, tensors))
        rate = client.gbps(lambda: self.load(lambda loaded: None), len(image), self.opt.seconds)
        self.report.case(f"{name} rate", "measured", "measured", rate)
        os.unlink(self.path)

    def all(self):
        for size in self.opt.size:
            self.file(f"load {size}", size, 0)
        self.file("load misaligned", client.MIB, 3)


def main():
    opt = client.options(__doc__, [client.MIB, 16 * client.MIB, 256 * client.MIB])
    report = client.Report("fastsafetensors", f"{fastsafetensors.__version__}, torch {torch.__version__}")
    Run(opt, report).all()
    return report.finish()


if __name__ == "__main__":
    client.run(main)
