"""A result is searched again until it stays as it is: stable_test.py PROGRAM TEST_RUNNER [unittest arguments].

Each search may cost so few graphs that it finds a part of what can be saved, so that a model needs several.
"""

import json
import pathlib
import shlex
import sys

import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ROOFLINE, ProgramTest, float_info, model_of

RUNNER = ""
BUDGET = ["--budget", "6states", "--max-growth", "5%"]  # by default the weights would become one product
PAIRS = 5


def pairs():
    """Pairs of transposes that cancel, with an operation between any two of them, and a weight that can be external data."""
    nodes, value = [], "x"
    for k in range(PAIRS):
        nodes.append(helper.make_node("Transpose", [value], [f"a{k}"], perm=[1, 0]))
        nodes.append(helper.make_node("Transpose", [f"a{k}"], [f"b{k}"], perm=[1, 0]))
        nodes.append(helper.make_node("MatMul", [f"b{k}", "w"], [f"c{k}"]))
        value = f"c{k}"
    weight = numpy.random.default_rng(0).normal(0, 0.1, (64, 64)).astype(numpy.float32)
    shape = [256, 64]
    return model_of(nodes, [float_info("x", shape)], [float_info(value, shape)], [numpy_helper.from_array(weight, "w")])


class Stable(ProgramTest):
    def optimize_twice(self, *arguments):
        """The report of the first run, after which another one must leave the model as it is."""
        files = {}
        for source, output in [("in.onnx", "out.onnx"), ("out.onnx", "again.onnx")]:
            self.succeed("optimize", source, output, *BUDGET, *arguments, *self.prices(), "--report", f"{output}.json")
            files[output] = (self.folder / output).read_bytes()
        first, second = (json.loads((self.folder / f"{name}.json").read_text()) for name in files)
        self.assertTrue(first["improved"], first["reason"])
        self.assertFalse(second["improved"])
        self.assertEqual(files["out.onnx"], files["again.onnx"])
        left = [node.op_type for node in onnx.load(self.folder / "out.onnx", load_external_data=False).graph.node]
        self.assertEqual(["MatMul"] * PAIRS, left)
        return first

    def write_external(self):
        model = pairs()
        onnx.save_model(model, self.folder / "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
        self.data = (self.folder / "in.data").read_bytes()

    def prices(self):
        """Those of a formula, so that every search does the same on every machine."""
        self.write("roofline.xprof", ROOFLINE)
        return ["--device", "profile:roofline.xprof"]

    def runner(self):
        return ["--runner", shlex.join([RUNNER, "--each", "Transpose=2e6", "--noise", "0.001"])]

    def test_without_a_gate(self):
        self.write("in.onnx", pairs())
        report = self.optimize_twice("--no-gate")
        self.assertEqual([], report["end_to_end"]["later"])

    def test_with_the_gate_in_a_runner(self):
        """Every result is run against the one before it."""
        self.write("in.onnx", pairs())
        report = self.optimize_twice(*self.runner())
        later = report["end_to_end"]["later"]
        self.assertGreaterEqual(len(later), 1)
        for text in later:
            self.assertRegex(text, r"\A0\.\d{3} of the time of the result before \[0\.\d{3}, 0\.\d{3}\] in \d+ pairs\Z")
        text = self.succeed("optimize", "in.onnx", "out.onnx", *BUDGET, *self.runner(), *self.prices())
        self.assertRegex(text, r"(?m)^            searched again: 0\.\d{3} of the time of the result before ")

    def test_with_external_data(self):
        self.write_external()
        self.optimize_twice("--no-gate")
        self.assertEqual(self.data, (self.folder / "in.data").read_bytes())

    def test_with_external_data_and_the_gate_in_a_runner(self):
        self.write_external()
        report = self.optimize_twice(*self.runner())
        self.assertGreaterEqual(len(report["end_to_end"]["later"]), 1)
        self.assertEqual(self.data, (self.folder / "in.data").read_bytes())
        self.assertEqual([], [path.name for path in self.folder.iterdir() if "candidate" in path.name or "former" in path.name])

    def test_what_is_slower_when_it_is_run_against_the_result_is_not_written(self):
        """The first result is faster, as the runner has it; all after it are slower than it."""
        self.write("in.onnx", pairs())
        runner = shlex.join([RUNNER, "--each", "Transpose=2e6", "--each", "a4=-60e6", "--time", "500e6", "--noise", "0.0001"])
        self.succeed("optimize", "in.onnx", "out.onnx", *BUDGET, "--runner", runner, *self.prices(), "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertTrue(report["improved"], report["reason"])
        kept = [node.op_type for node in onnx.load(self.folder / "out.onnx").graph.node].count("Transpose")
        self.assertGreater(kept, 0)
        self.assertRegex(
            report["end_to_end"]["others"][-1],
            r"\Aanother search on the result, against the result: run from end to end, it is (slower|not faster): ",
        )


if __name__ == "__main__":
    RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
