"""Models with sizes behind opaque nodes: sizes_test.py PROGRAM [unittest arguments]."""

import json

import numpy
import onnx
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest


def info(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def floats(name, values):
    return numpy_helper.from_array(numpy.array(values, numpy.float32), name)


def resize(name, operand, scales, result):
    """A cubic Resize, which xflow has no operator for."""
    return helper.make_node("Resize", [operand, "", scales], [result], name=name, mode="cubic")


class Sizes(ProgramTest):
    def optimized(self, nodes, inputs, outputs, initializers=(), value_infos=(), *arguments, gate=False, functions=()):
        graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers), value_info=list(value_infos))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)], ir_version=8,
                                  functions=list(functions))
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        report = self.folder / "report.json"
        run = self.run_program("optimize", path, self.folder / "out.onnx", "--costs", self.folder / "costs.db", "--budget", "200states",
                               "--report", report, *arguments, *([] if gate else ["--no-gate"]))
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(report) as file:
            return run.stdout, json.load(file)

    def concatenated(self, *declared):
        nodes = [resize("cubic", "x", "scales", "r"), helper.make_node("Concat", ["r", "z"], ["c"], name="cat", axis=1),
                 helper.make_node("Relu", ["c"], ["y"], name="relu")]
        return self.optimized(nodes, [info("x", [1, 4, 8, 8]), info("z", [1, 4, 16, 16])], [info("y", None)],
                              [floats("scales", [1, 1, 2, 2])], declared)

    def test_a_value_of_unknown_size_meets_one_of_known_size_in_a_concat(self):
        # Sizes were assumed to be 128 here, and a kernel of operands that do not fit wrote out of range.
        for declared in ([], [info("r", ["unk__1", "unk__2", "unk__3", "unk__4"])]):
            text, report = self.concatenated(*declared)
            self.assertEqual(report["assumed_inner_sizes"], [])
            self.assertEqual(report["contradictions"], [])
            self.assertEqual(report["kernels"]["refused"], 0, text)

    def test_an_input_with_a_default_has_its_sizes(self):
        """1 and 128 do not fit a Concat and a product with what is stored."""
        nodes = [helper.make_node("MatMul", ["x", "v"], ["p"]), helper.make_node("Transpose", ["p"], ["t"], perm=[1, 0]),
                 helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0]), helper.make_node("Relu", ["u"], ["y"])]
        default = floats("v", [[1.0] * 3] * 5)
        _, report = self.optimized(nodes, [info("x", [2, "n"]), info("v", ["n", "m"])], [info("y", [2, "m"])], [default])
        self.assertEqual(report["assumed_sizes"], [])
        self.assertEqual(report["checked_sizes"][0], "x: [2, 5], v: [5, 3]")
        self.assertTrue(report["improved"], report["reason"])

    def test_a_wrong_declaration_is_reported_by_name(self):
        text, report = self.concatenated(info("r", [1, 4, 8, 8]))
        message = "value 'r' is declared float32[1, 4, 8, 8], and is float32[1, 4, 16, 16] by shape inference"
        self.assertEqual(report["contradictions"], [message])
        self.assertIn(f"warning     {message}: no rewrite relies on it\n", text)
        self.assertEqual(report["kernels"]["refused"], 0, text)

    def test_a_name_of_different_sizes_is_reported_and_distrusted(self):
        nodes = [resize("twice", "x", "two", "b"), resize("once", "x", "one", "c"), helper.make_node("Relu", ["b"], ["d"]),
                 helper.make_node("Relu", ["c"], ["e"])]
        declared = [info("b", ["N", 4, "size", "size"]), info("c", ["N", 4, "size", "size"])]
        for height, message in ((8, "dimension 'size' is 16 of 'b' and 8 of 'c' by shape inference"),
                             ("H", "dimension 'size' is 256 of 'b' and 128 of 'c' by shape inference")):
            text, report = self.optimized(nodes, [info("x", ["N", 4, height, height])], [info("d", None), info("e", None)],
                                          [floats("two", [1, 1, 2, 2]), floats("one", [1, 1, 1, 1])], declared)
            self.assertEqual(report["contradictions"], [message])
            self.assertEqual(report["kernels"]["refused"], 0, text)

    def test_what_nothing_tells_is_assumed_and_listed(self):
        nodes = [helper.make_node("NonZero", ["x"], ["nz"], name="nz"), helper.make_node("Cast", ["nz"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Relu", ["f"], ["y"])]
        text, report = self.optimized(nodes, [info("x", [2, 3])], [info("y", None)])
        self.assertEqual(report["assumed_inner_sizes"], ["nz of node 'nz' (NonZero): [2, 128]"])
        self.assertIn("sizes       nz of node 'nz' (NonZero): [2, 128] assumed for costs and runs; they are not known before a run\n", text)

    def test_what_nothing_tells_is_seen_in_a_run_where_there_is_a_runner(self):
        nodes = [helper.make_node("NonZero", ["x"], ["nz"], name="nz"), helper.make_node("Cast", ["nz"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Relu", ["f"], ["g"]), helper.make_node("Relu", ["g"], ["y"])]
        numpy.savez(self.folder / "inputs.npz", x=numpy.array([[1, 0, 2], [0, 0, 3]], numpy.float32))
        arguments = ["--runner", program.RUNNER, "--device", "cpu", "--inputs", self.folder / "inputs.npz"]
        _, report = self.optimized(nodes, [info("x", [2, 3])], [info("y", None)], (), (), *arguments, gate=True)
        self.assertEqual(report["assumed_inner_sizes"], [])
        # Without the gate nothing is run.
        _, report = self.optimized(nodes, [info("x", [2, 3])], [info("y", None)], (), (), *arguments)
        self.assertEqual(report["assumed_inner_sizes"], ["nz of node 'nz' (NonZero): [2, 128]"])

    def test_a_profile_is_recorded_at_inferred_sizes(self):
        self.concatenated()
        (self.folder / "models").mkdir()
        (self.folder / "model.onnx").rename(self.folder / "models" / "model.onnx")
        run = self.run_program("profile", "record", "--models", "models", "--out", "cpu.xprof", "--costs", "")
        self.assertEqual(run.returncode, 0, run.stderr)
        text = (self.folder / "cpu.xprof").read_text()
        self.assertIn("copy:concat(float32[1,4,16,16], float32[1,4,16,16]) -> float32[1,8,16,16] axis=[1]", text)

    def test_a_call_makes_what_its_function_makes(self):
        """The second call is of an unknown size in its first dimension until the sizes of the inputs are known."""
        function = helper.make_function("custom", "Enlarge", ["a", "by"], ["b"],
                                        [helper.make_node("Resize", ["a", "", "by"], ["b"], mode="cubic")], [helper.make_opsetid("", 17)])
        nodes = [helper.make_node("Enlarge", ["x", "scales"], ["r"], name="call", domain="custom"),
                 helper.make_node("Concat", ["r", "z"], ["c"], name="cat", axis=1), helper.make_node("Relu", ["c"], ["a"], name="a"),
                 helper.make_node("Relu", ["a"], ["y"], name="b")]
        for batch in (1, "N"):
            text, report = self.optimized(nodes, [info("x", [batch, 4, 8, 8]), info("z", [batch, 4, 16, 16])], [info("y", None)],
                                          [floats("scales", [1, 1, 2, 2])], functions=[function])
            self.assertEqual(report["assumed_inner_sizes"] + report["contradictions"], [], text)
            self.assertEqual(report["kernels"]["refused"], 0, text)
            self.assertEqual([step["rule"] for step in report["steps"]], ["relu-twice"], text)

    def test_a_call_that_is_declared_wrong_is_reported_by_name(self):
        function = helper.make_function("custom", "Join", ["a", "b"], ["c"], [helper.make_node("Concat", ["a", "b"], ["c"], axis=1)],
                                        [helper.make_opsetid("", 17)])
        nodes = [helper.make_node("Join", ["x", "x"], ["r"], domain="custom"), helper.make_node("Relu", ["r"], ["y"])]
        text, report = self.optimized(nodes, [info("x", [2, 3])], [info("y", None)], [], [info("r", [2, 7])], functions=[function])
        message = "value 'r' is declared float32[2, 7], and is float32[2, 6] by shape inference"
        self.assertEqual(report["contradictions"], [message], text)

    def test_sizes_that_do_not_fit_together_leave_that_part_alone(self):
        # Twice as large as x along two dimensions, and concatenated with it all the same.
        nodes = [resize("twice", "x", "two", "r"), helper.make_node("Concat", ["r", "x"], ["c"], name="cat", axis=1),
                 helper.make_node("Relu", ["x"], ["a"], name="a"), helper.make_node("Relu", ["a"], ["z"], name="b")]
        text, report = self.optimized(nodes, [info("x", [1, 4, "H", 8])], [info("c", None), info("z", None)],
                                      [floats("two", [1, 1, 2, 1])])
        self.assertEqual(report["contradictions"], ["sizes behind opaque nodes contradict each other: concat: expected the dimensions "
                                                    "beside the axis to be equal, found 256 and 128"])
        self.assertEqual([step["rule"] for step in report["steps"]], ["relu-twice"], text)

    def test_what_a_custom_operator_is_declared_to_make_is_taken_from_there(self):
        nodes = [helper.make_node("Unknown", ["x"], ["r"], name="custom", domain="custom"),
                 helper.make_node("Concat", ["r", "x"], ["c"], name="cat", axis=1), helper.make_node("Relu", ["c"], ["y"], name="a")]
        for declared in ([8, 5], ["M", 5]):
            text, report = self.optimized(nodes, [info("x", [8, 4])], [info("y", None)], [], [info("r", declared)])
            self.assertEqual(report["assumed_inner_sizes"] + report["contradictions"], [], text)
            self.assertEqual(report["kernels"]["refused"], 0, text)


if __name__ == "__main__":
    program.main()
