"""Tests of python/xflow_onnx: wrapper_test.py PROGRAM."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import onnx
import xflow_onnx
from onnx import TensorProto, helper


def model():
    """Two transposes that cancel, then a Relu."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 128])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 128])
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


class Wrapper(unittest.TestCase):
    def test_returns_a_model_with_the_same_inputs_and_outputs(self):
        optimized = onnx.load_from_string(xflow_onnx.optimize(model(), "--budget", "100states"))
        onnx.checker.check_model(optimized)
        self.assertEqual(["x"], [value.name for value in optimized.graph.input])
        self.assertEqual(["y"], [value.name for value in optimized.graph.output])
        self.assertEqual("Relu", optimized.graph.node[-1].op_type)

    def test_raises_with_the_message_of_the_program(self):
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            xflow_onnx.optimize(b"no model")
        self.assertEqual(2, caught.exception.returncode)
        self.assertEqual(1, len(caught.exception.stderr.splitlines()))


if __name__ == "__main__":
    os.environ["XFLOW"] = sys.argv.pop(1)
    unittest.main()
