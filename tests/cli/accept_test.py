"""`xflow optimize --accept`: which results are written, and what the report says of clean-ups."""

import json
import unittest

import numpy
import onnx
from onnx import helper, numpy_helper

import program
from program import ProgramTest, float_info, model_of


def with_constants():
    """Constant nodes, which cost nothing and are no reason to write another model."""
    values = {"two": numpy.float32([2, 3]), "three": numpy.float32([5, 7])}
    nodes = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name)) for name, value in values.items()]
    nodes += [helper.make_node("Mul", ["two", "three"], ["six"]), helper.make_node("Add", ["x", "six"], ["y"])]
    return model_of(nodes, [float_info("x", [2])], [float_info("y", [2])])


class AcceptTest(ProgramTest):
    def optimize_constants(self, *arguments):
        self.write("in.onnx", with_constants())
        arguments = ["--budget", "10states", "--report", "report.json", *arguments]
        text = self.succeed("optimize", "in.onnx", "out.onnx", *arguments)
        return text, json.loads((self.folder / "report.json").read_text())

    def test_the_default_says_what_smaller_would_remove(self):
        text, report = self.optimize_constants()
        self.assertIn("\nclean-ups   could remove 3 of 4 nodes and 8 B of constants with --accept smaller\n", text)
        self.assertIn("\nresult      the original model: ", text)
        self.assertEqual({"nodes": 3, "nodes_before": 4, "bytes": 8, "written": False, "reason": ""}, report["smaller"])
        self.assertEqual((self.folder / "in.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_the_default_says_so_for_large_models(self):
        nodes = [helper.make_node(["Sin", "Cos"][k % 2], [f"v{k}"], [f"v{k + 1}"]) for k in range(2500)]
        nodes.append(helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(numpy.float32(2), "two")))
        nodes.append(helper.make_node("Add", ["v2500", "two"], ["y"]))
        self.write("in.onnx", model_of(nodes, [float_info("v0", [2])], [float_info("y", [2])]))
        text = self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "10states", "--no-gate")
        self.assertIn("\nclean-ups   could remove 1 of 2502 nodes ", text)

    def test_smaller_is_written_where_nothing_is_slower(self):
        for more in [[], ["--no-gate"]]:
            text, report = self.optimize_constants("--accept", "smaller", *more)
            self.assertIn("\nclean-ups   removed 3 of 4 nodes and 8 B of constants\n", text)
            self.assertIn("\nresult      a smaller model\n", text)
            self.assertTrue(report["improved"])
            self.assertEqual((4, 1, 1), tuple(report["nodes"][k] for k in ["before", "after", "kept"]))
            result = onnx.load(self.folder / "out.onnx")
            self.assertEqual(["Add"], [node.op_type for node in result.graph.node])

    def test_nothing_is_said_where_nothing_can_be_removed(self):
        self.write("in.onnx", program.relu())
        text = self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "10states", "--accept", "smaller")
        self.assertNotIn("clean-ups", text)

    def test_other_words_are_refused(self):
        self.write("in.onnx", program.relu())
        run = self.run_program("optimize", "in.onnx", "out.onnx", "--accept", "larger")
        self.assertEqual(64, run.returncode)
        self.assertIn("--accept: larger not in {faster,smaller}", run.stderr)


if __name__ == "__main__":
    program.main()
