"""Bodies of If, Loop and Scan are rewritten by price: bodies_test.py PROGRAM TEST_RUNNER [unittest arguments]."""

import json
import pathlib
import re
import shlex
import sys

import numpy
import onnx
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, float_info, model_of

RUNNER = ""
SHAPE = [64, 96]


def constant(name, value, kind=numpy.float32):
    return numpy_helper.from_array(numpy.asarray(value, kind), name)


def turned(value, name, captured):
    """Two transposes that cancel, and a sum with a value of the graph around: what can be saved in a body."""
    return [
        helper.make_node("Transpose", [value], [f"{name}_a"], perm=[1, 0]),
        helper.make_node("Transpose", [f"{name}_a"], [f"{name}_b"], perm=[1, 0]),
        helper.make_node("Add", [f"{name}_b", captured], [f"{name}_c"]),
        helper.make_node("Relu", [f"{name}_c"], [name]),
    ]


def around(node, inputs=(), initializers=()):
    """`h`, which bodies capture, from the input, and the node with its result `r`."""
    nodes = [helper.make_node("Tanh", ["x"], ["h"], name="outside"), node, helper.make_node("Neg", ["r"], ["y"], name="last")]
    infos = [float_info("x", SHAPE), *inputs]
    return model_of(nodes, infos, [float_info("y", SHAPE)], initializers, opset=17)


def if_model():
    then = helper.make_graph(turned("x", "t", "h"), "then", [], [float_info("t", SHAPE)])
    other = helper.make_graph([helper.make_node("Sin", ["h"], ["e"])], "else", [], [float_info("e", SHAPE)])
    node = helper.make_node("If", ["c"], ["r"], name="choice", then_branch=then, else_branch=other)
    return around(node, [helper.make_tensor_value_info("c", TensorProto.BOOL, [])])


def loop_model():
    nodes = [helper.make_node("Identity", ["go"], ["go_on"]), *turned("state", "next", "h")]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        float_info("state", SHAPE),
    ]
    outputs = [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), float_info("next", SHAPE)]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    node = helper.make_node("Loop", ["trips", "", "x"], ["r"], name="loop", body=body)
    return around(node, initializers=[constant("trips", 7, numpy.int64)])


def scan_model():
    """Over five slices; the state is handed on."""
    nodes = turned("state", "next", "slice") + [helper.make_node("Add", ["next", "h"], ["sum"])]
    body = helper.make_graph(nodes, "body", [float_info("state", SHAPE), float_info("slice", SHAPE)], [float_info("sum", SHAPE)])
    node = helper.make_node("Scan", ["x", "slices"], ["r"], name="scan", body=body, num_scan_inputs=1)
    return around(node, [float_info("slices", [5, *SHAPE])])


def inputs_of(model, choice):
    random = numpy.random.default_rng(choice)
    result = {}
    for info in model.graph.input:
        dims = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        is_bool = info.type.tensor_type.elem_type == TensorProto.BOOL
        result[info.name] = numpy.array(bool(choice)) if is_bool else random.normal(0, 1, dims).astype(numpy.float32)
    return result


def body_of(model):
    (node,) = [node for node in model.graph.node if node.op_type in ["If", "Loop", "Scan"]]
    return next(attribute.g for attribute in node.attribute if attribute.name in ["then_branch", "body"])


class Bodies(ProgramTest):
    def improve(self, model, place, runs, *arguments, improved=True):
        self.write("in.onnx", model)
        text = self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "200states", "--report", "r.json", *arguments)
        report = json.loads((self.folder / "r.json").read_text())
        (body,) = [body for body in report["bodies"] if body["place"] == place]
        self.assertEqual(runs, body["runs"])
        self.assertEqual(improved, body["improved"], body["reason"])
        if improved:
            self.assertRegex(text, rf"(?m)^body        {re.escape(place)}, {runs} runs?: .* -> .* for one, \d+ -> \d+ nodes$")
        else:
            self.assertIn(f"\nbodies      1 unchanged: {body['reason']}\n", text)
        return report, body

    def check_result(self, model):
        """The same in ONNX Runtime and by our evaluation; all but the body byte for byte; nothing more in a second run."""
        result = onnx.load(self.folder / "out.onnx")
        onnx.checker.check_model(result, full_check=True)
        kinds = [node.op_type for node in body_of(result).node]
        self.assertNotIn("Transpose", kinds)
        sessions = [
            onnxruntime.InferenceSession(self.folder / name, providers=["CPUExecutionProvider"]) for name in ["in.onnx", "out.onnx"]
        ]
        for choice in [0, 1]:
            inputs = inputs_of(model, choice)
            (a,), (b,) = (session.run(None, inputs) for session in sessions)
            numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        # Without the body both are the same.
        parts = [onnx.load(self.folder / name) for name in ["in.onnx", "out.onnx"]]
        interfaces = []
        for part in parts:
            body = body_of(part)
            interfaces.append(([i.SerializeToString() for i in body.input], [o.SerializeToString() for o in body.output]))
            del body.node[:]
            del body.initializer[:]
            del body.value_info[:]
        self.assertEqual(interfaces[0], interfaces[1])
        self.assertEqual(parts[0].SerializeToString(deterministic=True), parts[1].SerializeToString(deterministic=True))
        self.assertIn("h", [name for node in body_of(result).node for name in node.input], "the captured value keeps its name")

    def leave_alone(self, *arguments):
        self.succeed("optimize", "out.onnx", "again.onnx", "--budget", "200states", *arguments)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())

    def optimize_model(self, model, place, runs):
        report, body = self.improve(model, place, runs, "--no-gate")
        self.assertTrue(report["improved"])
        self.assertEqual("", report["reason"])
        before, after = body["predicted_nanoseconds"]["before"], body["predicted_nanoseconds"]["after"]
        self.assertLess(after, before)
        whole = report["predicted_nanoseconds"]
        self.assertGreaterEqual(whole["before"] - whole["after"], 0.99 * runs * (before - after), "a body counts as often as it runs")
        self.assertTrue(any(step["where"].endswith(f", in the {place}") for step in report["steps"]))
        regions = [region for region in report["regions"] if region["value"].endswith(f", in the {place}")]
        self.assertTrue(regions and all(region["agrees"] for region in regions), "rewritten parts were executed")
        self.check_result(model)
        self.leave_alone("--no-gate")
        return report

    def test_of_an_if(self):
        self.optimize_model(if_model(), "then_branch of node 'choice' (If)", 1)

    def test_of_a_loop_as_often_as_it_runs(self):
        self.optimize_model(loop_model(), "body of node 'loop' (Loop)", 7)

    def test_count_in_the_gap_as_they_are_in_the_result(self):
        self.write("in.onnx", loop_model())
        arguments = ["--budget", "200states", "--no-gate", "--gap", "on", "--report", "r.json"]
        text = self.succeed("optimize", "in.onnx", "out.onnx", *arguments)
        self.assertIn("\ngap         0 %: all graphs that the rules reach were visited; bodies count as they are in the result\n", text)
        report = json.loads((self.folder / "r.json").read_text())
        gap = report["search"]["gap"]
        self.assertAlmostEqual(7 * report["bodies"][0]["predicted_nanoseconds"]["after"], gap["body_nanoseconds"], delta=1)
        self.assertEqual(0, gap["above"])
        self.assertAlmostEqual(report["predicted_nanoseconds"]["after"], gap["lower_bound_nanoseconds"], delta=1)

    def test_of_a_scan_as_often_as_it_has_slices(self):
        self.optimize_model(scan_model(), "body of node 'scan' (Scan)", 5)

    def test_in_a_runner_the_whole_model_is_run(self):
        place = "body of node 'loop' (Loop)"
        for model, runner, improved in [(loop_model(), "Transpose=5e6", True), (loop_model(), "Transpose=-3e6", False)]:
            command = shlex.join([RUNNER, "--time", "60e6", "--each", runner, "--noise", "0.001"])
            report, body = self.improve(model, place, 7, "--runner", command, "--device", "cpu", improved=improved)
            self.assertEqual(improved, report["improved"])
            if improved:
                (comparison,) = report["end_to_end"]["comparisons"]
                self.assertAlmostEqual(60 / 70, comparison["ratio"], delta=0.01)
                self.check_result(model)
            else:
                self.assertRegex(body["reason"], r"\Arun from end to end, it is slower: ")
                self.assertEqual((self.folder / "in.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())


if __name__ == "__main__":
    RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
