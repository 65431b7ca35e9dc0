"""`xflow replay` makes the result of an earlier call again, or says why it cannot: replay_test.py PROGRAM."""

import json
import os

import bodies_test
import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of


def merged_products():
    """Four products of one input, which become one."""
    random = numpy.random.default_rng(0)
    weights = [numpy_helper.from_array(random.normal(size=(64, 64)).astype(numpy.float32), name) for name in "abcd"]
    nodes = []
    for name in "abcd":
        nodes.append(helper.make_node("MatMul", ["x", name], [f"{name}x"]))
        nodes.append(helper.make_node("Relu", [f"{name}x"], [f"{name}y"]))
    return model_of(nodes, [float_info("x", ["n", 64])], [float_info(f"{name}y", ["n", 64]) for name in "abcd"], weights)


class ReplayTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "npu.xprof").write_text(program.ROOFLINE)

    def optimize(self, model, *arguments):
        self.write("in.onnx", model)
        self.succeed("optimize", "in.onnx", "out.onnx", "--device", "profile:npu.xprof", "--budget", "2000states", "--max-growth", "100%",
                     "--no-gate", "--report", "trace.json", *arguments)
        return json.loads((self.folder / "trace.json").read_text())

    def replay(self, *arguments):
        text = self.succeed("replay", "trace.json", "in.onnx", "again.onnx", *arguments)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        return text

    def test_makes_the_same_bytes(self):
        models = {"transposes": program.transposes(), "network": program.network(), "products": merged_products(),
                  "if": bodies_test.if_model(), "loop": bodies_test.loop_model()}
        for name, model in models.items():
            with self.subTest(model=name):
                report = self.optimize(model)
                self.assertTrue(report["improved"])
                rewrites = sum(len(search["rewrites"]) for search in report["trace"]["searches"])
                searches = len(report["trace"]["searches"])
                self.assertEqual(rewrites, len(report["steps"]))
                text = self.replay("--report", "again.json")
                self.assertIn(f"\ntrace       {rewrites} rewrites in {searches} searches were applied\n", text)
                self.assertIn("\nnot run     the rewrites of a trace were applied; nothing was timed\n", text)
                self.assertIn("\nresult      the model of the trace\n", text)
                again = json.loads((self.folder / "again.json").read_text())
                self.assertEqual(report["trace"], again["trace"])
                self.assertEqual(report["nodes"], again["nodes"])
                self.assertEqual([step["rule"] for step in report["steps"]], [step["rule"] for step in again["steps"]])

    def test_makes_the_same_bytes_of_each_strategy(self):
        saved = {}
        for strategy in ("auto", "backtracking", "partition", "egraph"):
            with self.subTest(strategy=strategy):
                report = self.optimize(merged_products(), "--strategy", strategy)
                self.assertTrue(report["improved"])
                self.replay()
                saved[strategy] = report["predicted_nanoseconds"]["after"]
        self.assertEqual(saved["auto"], saved["egraph"])

    def test_names_members_of_families_by_their_number(self):
        report = self.optimize(merged_products())
        self.assertEqual(["merge-4-relu-matmuls"], [step["rule"] for step in report["steps"]])
        self.assertEqual(["merge-4-relu-matmuls"], list(report["trace"]["rules"]))
        self.replay()

    def test_makes_the_same_bytes_with_clean_ups(self):
        nodes = [helper.make_node("Identity", ["x"], ["same"]), *merged_products().graph.node]
        model = merged_products()
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        model.graph.node.append(helper.make_node("Identity", ["same"], ["z"]))
        model.graph.output.append(float_info("z", ["n", 64]))
        report = self.optimize(model, "--accept", "smaller")
        self.assertTrue(report["improved"])
        self.replay()

    def test_makes_the_original_again(self):
        report = self.optimize(program.relu())
        self.assertFalse(report["improved"])
        self.assertEqual([], report["trace"]["searches"])
        self.assertIn("\nresult      the original model: the trace has no rewrites of it\n", self.replay())

    def test_makes_what_a_gate_has_shipped(self):
        self.write("in.onnx", program.transposes())
        self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "50states", "--report", "trace.json", "--costs", "")
        self.replay()

    def test_checks_at_the_sizes_of_the_first_call(self):
        report = self.optimize(merged_products(), "--shape", "x:5,64", "--shape", "x:7,64")
        self.assertEqual([["x", [5, 64]], ["x", [7, 64]]], report["trace"]["shapes"])
        text = self.replay()
        self.assertIn("at x: [5, 64]\n", text)

    def test_refuses_another_model(self):
        trace = self.optimize(merged_products())["trace"]
        self.write("in.onnx", program.transposes())
        result = self.run_program("replay", "trace.json", "in.onnx", "again.onnx")
        self.assertEqual(3, result.returncode)
        self.assertRegex(result.stderr, f"^xflow: the trace is of another model: its hash is {trace['model']}, that of this model [0-9a-f]{{32}}")
        self.assertFalse((self.folder / "again.onnx").exists())

    def changed(self, change):
        report = self.optimize(merged_products())
        change(report["trace"])
        (self.folder / "trace.json").write_text(json.dumps(report))
        result = self.run_program("replay", "trace.json", "in.onnx", "again.onnx")
        self.assertEqual(3, result.returncode, result.stdout + result.stderr)
        self.assertFalse((self.folder / "again.onnx").exists())
        return result.stderr

    def test_refuses_rewrites_that_are_not_possible(self):
        def move(trace):
            trace["searches"][0]["rewrites"][0][1] += 1000
        self.assertRegex(self.changed(move), "^xflow: rewrite 1 of search 1 of the trace is not possible: rule [0-9a-z-]+ at operation [0-9]+")

        def add(trace):
            trace["searches"].append(trace["searches"][0])
        self.assertIn(" is not possible", self.changed(add))

        def body(trace):
            trace["searches"].append({"graph": 3, "pass": 0, "declares_shapes": False, "rewrites": []})
        self.assertRegex(self.changed(body), "^xflow: search [0-9]+ of the trace, of graph 3, is not possible in this model")

    def test_refuses_other_rules(self):
        def rename(trace):
            trace["rules"]["no-such-rule"] = "0" * 32
        self.assertIn("xflow: the trace has a rule no-such-rule, which is not among the rules", self.changed(rename))

        def rewrite(trace):
            for name in trace["rules"]:
                trace["rules"][name] = "0" * 32
        self.assertRegex(self.changed(rewrite), "xflow: the rule [0-9a-z-]+ is not that of the trace: it has another text")

    def test_ends_at_its_time_limit(self):
        self.optimize(merged_products())
        result = self.run_program("replay", "trace.json", "in.onnx", "again.onnx", "--time-limit", "0.001ms")
        self.assertEqual((3, "xflow: the trace was not applied as a whole: time limit\n"), (result.returncode, result.stderr))
        self.assertFalse((self.folder / "again.onnx").exists())

    def test_refuses_what_is_no_trace(self):
        self.write("in.onnx", program.relu())
        result = self.run_program("replay", "in.onnx", "in.onnx", "again.onnx")
        self.assertEqual(2, result.returncode)
        self.assertEqual("xflow: in.onnx: this is no trace: it is no JSON, from byte 1 on\n", result.stderr)
        (self.folder / "trace.json").write_text("{}")
        result = self.run_program("replay", "trace.json", "in.onnx", "again.onnx")
        self.assertEqual("xflow: trace.json: this is no trace: a field is missing, or of another type or version\n", result.stderr)
        result = self.run_program("replay", "nothing.json", "in.onnx", "again.onnx")
        self.assertEqual(2, result.returncode)
        self.assertEqual(f"xflow: nothing.json: cannot be read: {os.strerror(2)}\n", result.stderr)


if __name__ == "__main__":
    program.main()
