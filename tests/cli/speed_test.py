"""What the optimised models gain in ONNX Runtime: speed_test.py PROGRAM WORK QUICKSTART_MODEL.

Times are compared within one process, as processor time and interleaved, never with a limit; a test passes as soon as one round shows the gain.
"""

import collections
import os
import pathlib
import sys
import unittest

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/models"))
import compare_ort
import ort

ROUNDS = 6


def optimized(path, quickstart=None, budget="5000states"):
    """The model that xflow makes of `path`, and the inputs that it was made for."""
    output = WORK / path.name
    inputs, known = compare_ort.inputs_of(path, quickstart)
    report = compare_ort.optimize(PROGRAM, path, output, inputs, known, budget, WORK, ["--no-gate"])
    return output, inputs, report


class Speed(unittest.TestCase):
    def test_the_quickstart_model_takes_at_most_four_fifths(self):
        output, inputs, _ = optimized(QUICKSTART, QUICKSTART)
        seen = []
        for _ in range(ROUNDS):
            _, (_, ratio) = ort.ratios([QUICKSTART, output], inputs, rounds=3, turns=5)
            seen.append(str(ratio))
            if ratio.median <= 0.8:
                print(f"quickstart: {ratio}")
                return
        self.fail(f"the optimised model takes these parts of the original's time: {', '.join(seen)}")

    def test_a_block_of_branches_becomes_one_convolution(self):
        if not MODELS:
            self.skipTest("XFLOW_TEST_MODELS is not set")
        path = pathlib.Path(MODELS, "repvgg_ts.onnx")
        blocks = sum(node.op_type == "Conv" and kernel_of(node) == [3, 3] for node in onnx.load(path).graph.node)
        self.assertGreater(blocks, 1)
        # A kernel that was timed in a noisy moment may keep a branch: then all are timed again.
        for _ in range(ROUNDS):
            for costs in WORK.glob("costs.db*"):
                costs.unlink()
            output, _, report = optimized(path)
            after = collections.Counter(node.op_type for node in onnx.load(output).graph.node)
            if after["Conv"] == blocks:
                break
        self.assertEqual(blocks, after["Conv"], report.get("reason"))
        self.assertEqual(0, after["BatchNormalization"])


def kernel_of(node):
    return next((list(a.ints) for a in node.attribute if a.name == "kernel_shape"), None)


if __name__ == "__main__":
    QUICKSTART = pathlib.Path(sys.argv.pop())
    WORK = pathlib.Path(sys.argv.pop())
    PROGRAM = pathlib.Path(sys.argv.pop())
    MODELS = os.environ.get("XFLOW_TEST_MODELS")
    WORK.mkdir(parents=True, exist_ok=True)
    unittest.main()
