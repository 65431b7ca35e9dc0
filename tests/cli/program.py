"""What tests of the program share: small models, and runs of the program in a folder of their own."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

PROGRAM = ""
# The command of the runner for ONNX Runtime, out of the checkout.
RUNNER = (f"PYTHONPATH={shlex.quote(str(pathlib.Path(__file__).resolve().parents[2] / 'python'))} "
          f"{shlex.quote(sys.executable)} -m xflow_onnx.runner_ort")
# The profile of a device that nobody has: times, and so results, are the same on every machine.
ROOFLINE = """xflow profile 1
device npu
model NPU 7
library vendor 2.1
threads 1
roofline launch 5000
roofline bandwidth 4e+11
roofline peak float32 1e+13
roofline peak uint8 1e+13
roofline peak int8 1e+13
roofline peak int32 1e+13
"""


def float_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def help_of(*arguments):
    """What is behind a message on a wrong command line."""
    names = arguments[:2] if arguments[0] in ["rules", "profile"] else arguments[:1]
    return f" (see '{' '.join(['xflow', *names])} --help')"


def model_of(nodes, inputs, outputs, initializers=(), opset=13, **fields):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=initializers)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)], **fields)


def transposes(shape=(256, 512)):
    """Two transposes that cancel, then a Relu."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    model = model_of(nodes, [float_info("x", shape)], [float_info("y", shape)])
    helper.set_model_props(model, {"author": "somebody"})
    return model


def relu(shape=(2, 3)):
    return model_of([helper.make_node("Relu", ["x"], ["y"])], [float_info("x", shape)], [float_info("y", shape)])


def network():
    """Two blocks of convolution, batch normalisation and a hard swish spelled out, on images of any number and size, and a sum of both."""
    random = numpy.random.default_rng(0)
    nodes, weights = [], []

    def weight(name, value):
        weights.append(numpy_helper.from_array(numpy.asarray(value, numpy.float32), name))
        return name

    three, zero, six = weight("three", 3), weight("zero", 0), weight("six", 6)
    value = "x"
    for k, (inputs, outputs) in enumerate([(3, 16), (16, 16)]):
        kernel = weight(f"kernel{k}", random.normal(0, 0.2, (outputs, inputs, 3, 3)))
        statistics = [weight(f"{name}{k}", random.uniform(0.5, 1.5, outputs)) for name in ["scale", "shift", "mean", "variance"]]
        nodes += [
            helper.make_node("Conv", [value, kernel], [f"c{k}"], name=f"conv{k}", pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", [f"c{k}", *statistics], [f"b{k}"], name=f"norm{k}"),
            helper.make_node("Add", [f"b{k}", three], [f"p{k}"]),
            helper.make_node("Clip", [f"p{k}", zero, six], [f"q{k}"]),
            helper.make_node("Mul", [f"b{k}", f"q{k}"], [f"r{k}"]),
            helper.make_node("Div", [f"r{k}", six], [f"s{k}"]),
        ]
        value = f"s{k}"
    nodes.append(helper.make_node("Add", ["s0", "s1"], ["y"]))
    shape = ["batch", 3, "height", "width"]
    return model_of(nodes, [float_info("x", shape)], [float_info("y", ["batch", 16, "height", "width"])], weights)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, onnx.ModelProto):
            content = content.SerializeToString()
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def run_program(self, *arguments, **variables):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), **variables}
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def succeed(self, *arguments):
        run = self.run_program(*arguments)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        return run.stdout

    def fail_with(self, status, message, *arguments):
        """The program must fail with exactly this line, print nothing else, and leave the folder as it is. A wrong command line is answered
        with the help of the command."""
        if status == 64 and "(see " not in message:
            message += help_of(*arguments)
        before = {p: p.read_bytes() for p in self.folder.iterdir() if p.is_file()}
        run = self.run_program(*arguments)
        self.assertEqual((status, "", f"xflow: {message}\n"), (run.returncode, run.stdout, run.stderr))
        self.assertEqual(before, {p: p.read_bytes() for p in self.folder.iterdir() if p.is_file()})

    def optimize(self, source, *arguments, output="out.onnx", gate=False):
        """Whole models are only run where the gate is what is tested."""
        return self.succeed("optimize", source, output, "--budget", "200states", *([] if gate else ["--no-gate"]), *arguments)


def main():
    """Runs the tests of a script that is called with the program and perhaps arguments of unittest."""
    global PROGRAM
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__")
