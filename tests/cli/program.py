"""What tests of the program share: small models, and runs of the program in a folder of their own."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

PROGRAM = ""


def float_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


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

    def run_program(self, *arguments):
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))
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
        """The program must fail with exactly this line, print nothing else, and leave the folder as it is."""
        before = {p: p.read_bytes() for p in self.folder.iterdir() if p.is_file()}
        run = self.run_program(*arguments)
        self.assertEqual((status, "", f"xflow: {message}\n"), (run.returncode, run.stdout, run.stderr))
        self.assertEqual(before, {p: p.read_bytes() for p in self.folder.iterdir() if p.is_file()})

    def optimize(self, source, *arguments, output="out.onnx"):
        return self.succeed("optimize", source, output, "--budget", "200states", *arguments)


def main():
    """Runs the tests of a script that is called with the program and perhaps arguments of unittest."""
    global PROGRAM
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__")
