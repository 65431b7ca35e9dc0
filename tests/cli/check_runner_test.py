"""`xflow check --runner`: models that xflow does not evaluate are compared in ONNX Runtime."""

import pathlib
import shlex
import sys
import unittest

import numpy
from onnx import TensorProto, helper, numpy_helper

import program
from program import ProgramTest, float_info, model_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = f"PYTHONPATH={shlex.quote(str(ROOT / 'python'))} {shlex.quote(sys.executable)} -m xflow_onnx.runner_ort"


def choice(function):
    """function(x) where the sum of x is positive, else -x."""
    branches = {
        "then_branch": helper.make_graph([helper.make_node(function, ["x"], ["then"])], "then", [], [float_info("then", ["N"])]),
        "else_branch": helper.make_graph([helper.make_node("Neg", ["x"], ["else"])], "else", [], [float_info("else", ["N"])]),
    }
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "least"], ["c"]),
        helper.make_node("If", ["c"], ["y"], name="choice", **branches),
    ]
    least = numpy_helper.from_array(numpy.float32(-1000), "least")
    return model_of(nodes, [float_info("x", ["N"])], [float_info("y", ["N"])], [least])


def quantised(scale):
    parameters = [numpy_helper.from_array(numpy.float32(scale), "scale"), numpy_helper.from_array(numpy.uint8(128), "zero")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    return model_of(nodes, [float_info("x", [64])], [float_info("y", [64])], parameters)


def half():
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, [4, 8]) for name in "xy"]
    return model_of([helper.make_node("Tanh", ["x"], ["y"])], info[:1], info[1:])


class CheckInRunnerTest(ProgramTest):
    def check(self, a, b):
        self.write("a.onnx", a)
        self.write("b.onnx", b)
        return self.run_program("check", "a.onnx", "b.onnx", "--runner", RUNNER)

    def test_models_with_bodies_are_compared(self):
        run = self.check(choice("Relu"), choice("Relu"))
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertIn("equal: 1 output on 3 sets of inputs\n", run.stdout)
        run = self.check(choice("Relu"), choice("Abs"))
        self.assertEqual((1, ""), (run.returncode, run.stderr))
        self.assertIn("different: output 'y' is ", run.stdout)

    def test_quantised_models_are_compared(self):
        self.assertEqual(0, self.check(quantised(0.01), quantised(0.01)).returncode)
        self.assertEqual(1, self.check(quantised(0.01), quantised(0.05)).returncode)

    def test_models_in_half_precision_are_compared(self):
        self.assertEqual(0, self.check(half(), half()).returncode)

    def test_simplified_models_with_bodies_are_equal(self):
        self.write("a.onnx", choice("Relu"))
        self.succeed("simplify", "a.onnx", "b.onnx")
        self.assertEqual(0, self.run_program("check", "a.onnx", "b.onnx", "--runner", RUNNER).returncode)

    def test_help_says_which_models_need_it(self):
        text = " ".join(self.succeed("check", "--help").split())
        self.assertIn("A runner also runs models with operators that xflow does not evaluate.", text)

    def test_without_a_runner_the_message_names_it(self):
        self.write("a.onnx", model_of([helper.make_node("NonZero", ["x"], ["y"], name="places")], [float_info("x", [2])], [helper.make_tensor_value_info("y", TensorProto.INT64, [1, None])]))
        self.fail_with(
            3, "a.onnx: cannot execute: NonZero at places; --runner runs both models in a runtime", "check", "a.onnx", "a.onnx"
        )

    def test_a_runner_that_does_not_start_is_an_error(self):
        self.write("a.onnx", choice("Relu"))
        run = self.run_program("check", "a.onnx", "a.onnx", "--runner", "false")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertTrue(run.stderr.startswith("xflow: "))


if __name__ == "__main__":
    program.main()
