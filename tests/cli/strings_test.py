"""Strings block the nodes that move them alone: strings_test.py PROGRAM TEST_RUNNER [unittest arguments]."""

import json
import pathlib
import shlex
import sys

import numpy
import onnx
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import RUNNER, ProgramTest, float_info, model_of

TEST_RUNNER = ""


def ints(name, values):
    return numpy_helper.from_array(numpy.asarray(values, numpy.int64), name)


def model():
    """Two transposes that cancel, and beside them strings that an operator unknown to xflow makes lower, and that are moved."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Relu", ["b"], ["y"]),
        helper.make_node("StringNormalizer", ["s"], ["lower"], name="lower", case_change_action="LOWER", locale="C"),
        helper.make_node("Reshape", ["lower", "pairs"], ["p"], name="pairs"),
        helper.make_node("Transpose", ["p"], ["u"], name="turned", perm=[1, 0]),
    ]
    inputs = [float_info("x", [512, 1024]), helper.make_tensor_value_info("s", TensorProto.STRING, [6])]
    outputs = [float_info("y", [512, 1024]), helper.make_tensor_value_info("u", TensorProto.STRING, [3, 2])]
    return model_of(nodes, inputs, outputs, [ints("pairs", [2, 3])], opset=17)


class Strings(ProgramTest):
    def improve(self, *arguments):
        before = model()
        self.write("in.onnx", before)
        self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "200states", "--report", "r.json", *arguments)
        report = json.loads((self.folder / "r.json").read_text())
        after = onnx.load(self.folder / "out.onnx")
        kinds = [node.op_type for node in after.graph.node]
        self.assertEqual(["Relu", "StringNormalizer", "Reshape", "Transpose"], kinds, report["reason"])
        self.assertEqual(list(before.graph.node[3:]), list(after.graph.node[1:]))
        random = numpy.random.default_rng(3)
        inputs = {"x": random.normal(0, 1, [512, 1024]).astype(numpy.float32), "s": numpy.array(list("AbCdEf"), object)}
        results = [onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs) for m in [before, after]]
        for a, b in zip(*results, strict=True):
            numpy.testing.assert_array_equal(a, b)
        return report

    def test_block_nothing_without_the_gate(self):
        self.improve("--no-gate")

    def test_block_nothing_on_this_cpu(self):
        report = self.improve()
        self.assertTrue(report["end_to_end"]["run"])
        self.assertGreater(report["end_to_end"]["share_not_run"], 0)

    def test_block_nothing_in_a_runner(self):
        command = shlex.join([TEST_RUNNER, "--time", "60e6", "--each", "Transpose=5e6", "--noise", "0.001"])
        self.improve("--runner", command, "--device", "cpu")
        self.improve("--runner", RUNNER, "--device", "cpu", "--no-gate")

    def test_are_moved_by_rewrites(self):
        """A rewrite of strings alone is checked at strings."""
        nodes = [
            helper.make_node("StringNormalizer", ["s"], ["lower"], case_change_action="LOWER", locale="C"),
            helper.make_node("Reshape", ["lower", "pairs"], ["p"]),
            helper.make_node("Reshape", ["p", "flat"], ["u"]),
        ]
        before = model_of(
            nodes,
            [helper.make_tensor_value_info("s", TensorProto.STRING, [6])],
            [helper.make_tensor_value_info("u", TensorProto.STRING, [6])],
            [ints("pairs", [2, 3]), ints("flat", [6])],
            opset=17,
        )
        self.write("in.onnx", before)
        text = self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "200states", "--no-gate", "--accept", "smaller")
        self.assertNotIn("could not be executed", text)
        self.assertEqual(["StringNormalizer", "Reshape"], [node.op_type for node in onnx.load(self.folder / "out.onnx").graph.node])


if __name__ == "__main__":
    TEST_RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
