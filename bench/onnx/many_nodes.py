#!/usr/bin/env python3
"""Seconds for models of many nodes in which nothing can be rewritten: many_nodes.py PROGRAM [NODES].

    build-deps/testenv/bin/python bench/onnx/many_nodes.py build/release/xflow

The goal is 5 s for 10,000 nodes.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import TensorProto, helper

COMMANDS = [
    ["show", "m.onnx"],
    ["simplify", "m.onnx", "out.onnx"],
    ["optimize", "m.onnx", "out.onnx", "--no-gate", "--costs", ""],
    ["optimize", "m.onnx", "out.onnx", "--costs", ""],
]


def chain(nodes):
    """Alternating sines and cosines, which no rule reduces."""
    made = [helper.make_node(["Sin", "Cos"][k % 2], [f"v{k}"], [f"v{k + 1}"]) for k in range(nodes)]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ["v0", f"v{nodes}"]]
    graph = helper.make_graph(made, "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(chain(nodes), pathlib.Path(folder, "m.onnx"))
        for command in COMMANDS:
            begin = time.monotonic()
            subprocess.run([program, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(f"{time.monotonic() - begin:6.2f} s  {' '.join(command)}")


if __name__ == "__main__":
    main()
