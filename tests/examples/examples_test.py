"""What the programs in examples/ print: examples_test.py FOLDER, which has the programs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx


def erf_model():
    """y = Erf(x) + Erf(x) for x: float32[256, 256], in three nodes of which two are enough."""
    nodes = [onnx.helper.make_node("Erf", ["x"], ["a"]), onnx.helper.make_node("Erf", ["x"], ["b"]),
             onnx.helper.make_node("Add", ["a", "b"], ["y"])]
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [256, 256]) for name in "xy")
    graph = onnx.helper.make_graph(nodes, "g", [x], [y])
    return onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString()


class Examples(unittest.TestCase):
    def output(self, name):
        run = subprocess.run([FOLDER / f"example_{name}"], capture_output=True, text=True)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        return run.stdout

    def test_own_rules(self):
        lines = self.output("own_rules").splitlines()
        self.assertIn("sum-of-opposite-tangents at node 3 (add)", lines[0])
        self.assertTrue(lines[-1].startswith("rule_text:1:6: rule wrong is not proved, so it cannot be applied: "), lines[-1])

    def test_own_cost(self):
        lines = self.output("own_cost").splitlines()
        # Two launches of 2 * 64 * 16 * 32 + 64 * 16 operations.
        self.assertRegex(lines[0], r"^own: operations 1, 1 thread, by the caller: 2133 ns -> [0-9]+ ns$")
        self.assertIn("merge-matmuls-sharing-lhs", lines[1:])

    def test_own_strategy(self):
        lines = self.output("own_strategy").splitlines()
        self.assertRegex(lines[0], r"^20 walks: [0-9]+ ns -> [0-9]+ ns, end of the strategy$")
        self.assertRegex(lines[1], r"^replayed: ([1-9][0-9]*) of \1 rewrites$")

    def test_own_device(self):
        text = self.output("own_device")
        self.assertIn("device      own: accelerator 1, simulated, 1 thread, by the caller\n", text)
        self.assertIn("(0.333 of the original [0.333, 0.333]) at the declared sizes\n", text)
        self.assertIn("result      a cheaper model\n", text)
        self.assertRegex(text, r"\n[1-9][0-9]* kernels were asked for, [1-9][0-9]* models were loaded\n$")

    def test_optimize(self):
        program = FOLDER / "example_optimize"
        run = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual((64, f"usage: {program} MODEL.onnx OUT.onnx\n"), (run.returncode, run.stderr))
        with tempfile.TemporaryDirectory() as folder:
            model, output = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "out.onnx"
            run = subprocess.run([program, model, output], capture_output=True, text=True)
            self.assertEqual((1, f"unreadable: {model}: "), (run.returncode, run.stderr[: len(f"unreadable: {model}: ")]))
            model.write_bytes(erf_model())
            run = subprocess.run([program, model, output], capture_output=True, text=True)
            self.assertEqual(0, run.returncode, run.stderr)
            self.assertEqual("3 nodes -> 2 nodes, faster\nresults: equal\n", run.stdout)
            self.assertEqual(2, len(onnx.load(output).graph.node))
            self.assertRegex(run.stderr, "(?m)^checking ")

    def test_are_listed(self):
        folder = pathlib.Path(__file__).resolve().parents[2] / "examples"
        listed = {line.split("`")[1] for line in (folder / "README.md").read_text().splitlines() if line.startswith("| `")}
        self.assertEqual({path.name for path in folder.glob("*.c*")}, listed)


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
