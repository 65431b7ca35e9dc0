"""`xflow simplify`: what is cleaned up, what stays, and what the report says."""

import json
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import program
from program import ProgramTest, float_info, model_of


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.asarray(value), name))


def weight(name, value):
    return numpy_helper.from_array(numpy.asarray(value, numpy.float32), name)


def convolution(bias):
    """A convolution, batch normalisation and a Relu."""
    random = numpy.random.default_rng(0)
    weights = [weight("w", random.normal(0, 0.2, (8, 3, 3, 3))), weight("b", random.normal(0, 1, 8))]
    weights += [weight(name, random.uniform(0.5, 1.5, 8)) for name in ["scale", "shift", "mean", "variance"]]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"] if bias else ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    return model_of(nodes, [float_info("x", ["N", 3, "H", "W"])], [float_info("y", ["N", 8, "H", "W"])], weights if bias else [weights[0], *weights[2:]])


class SimplifyTest(ProgramTest):
    def simplify(self, model, *arguments):
        """The simplified model, which must compute the same and be left alone by a second run."""
        self.write("in.onnx", model)
        self.succeed("simplify", "in.onnx", "out.onnx", *arguments)
        self.succeed("simplify", "out.onnx", "again.onnx", *arguments)
        written = (self.folder / "out.onnx").read_bytes()
        self.assertEqual(written, (self.folder / "again.onnx").read_bytes())
        result = onnx.load_from_string(written)
        onnx.checker.check_model(result, full_check=True)
        self.assertEqual(model.graph.input, result.graph.input)
        self.assertEqual(model.graph.output, result.graph.output)
        self.assertEqual(model.metadata_props, result.metadata_props)
        self.assertEqual(model.opset_import, result.opset_import)
        self.compare(model, result)
        return result

    def compare(self, before, after):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        random = numpy.random.default_rng(1)
        inputs = {}
        for value in before.graph.input:
            dims = [d.dim_value or 4 for d in value.type.tensor_type.shape.dim]
            inputs[value.name] = random.uniform(-1, 1, dims).astype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        results = [
            onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)
            for m in [before, after]
        ]
        for a, b in zip(*results):
            self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
            numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)

    def types(self, model):
        return [node.op_type for node in model.graph.node]

    def test_what_runtimes_compute_as_one_function_stays_whole(self):
        random = numpy.random.default_rng(0)
        weights = [weight(name, random.normal(0, 0.5, (8, 8))) for name in ("w", "v")]
        weights += [weight("scale", random.uniform(0.5, 1.5, 8)), weight("shift", random.normal(0, 1, 8))]
        weights += [weight("root", 1.4142135), weight("one", 1), weight("half", 0.5)]
        nodes = [
            helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], axis=-1),
            helper.make_node("MatMul", ["n", "w"], ["m"]),
            helper.make_node("Div", ["m", "root"], ["d"]),
            helper.make_node("Erf", ["d"], ["e"]),
            helper.make_node("Add", ["e", "one"], ["p"]),
            helper.make_node("Mul", ["m", "p"], ["q"]),
            helper.make_node("Mul", ["q", "half"], ["g"]),
            helper.make_node("MatMul", ["g", "v"], ["y"]),
        ]
        model = model_of(nodes, [float_info("x", ["N", 4, 8])], [float_info("y", ["N", 4, 8])], weights)
        model.opset_import[0].version = 17
        self.assertEqual(self.types(model), self.types(self.simplify(model)))
        # Half of a product alone is folded.
        del model.graph.node[2:5]
        model.graph.node[2].CopyFrom(helper.make_node("Mul", ["m", "half"], ["g"]))
        del model.graph.node[3]
        self.assertEqual(["LayerNormalization", "MatMul", "MatMul"], self.types(self.simplify(model)))

    def test_functions_of_parts_stay_before_a_concatenation(self):
        nodes = [
            helper.make_node("Relu", ["a"], ["p"]),
            helper.make_node("Relu", ["b"], ["q"]),
            helper.make_node("Concat", ["p", "q"], ["y"], axis=1),
        ]
        model = model_of(nodes, [float_info("a", ["N", 2]), float_info("b", ["N", 3])], [float_info("y", ["N", 5])])
        self.assertEqual(["Relu", "Relu", "Concat"], self.types(self.simplify(model)))

    def test_constants_are_stored_and_computed_before(self):
        nodes = [
            constant("two", numpy.float32([2, 3])),
            constant("three", numpy.float32([5, 7])),
            helper.make_node("Mul", ["two", "three"], ["six"]),
            helper.make_node("Add", ["x", "six"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", [2])], [float_info("y", [2])]))
        self.assertEqual(["Add"], self.types(result))
        self.assertEqual(nodes[3].SerializeToString(), result.graph.node[0].SerializeToString())
        self.assertEqual([10, 21], numpy_helper.to_array(result.graph.initializer[0]).tolist())

    def test_arithmetic_is_not_moved_out_of_the_runtime_where_numbers_are_exact(self):
        nodes = [
            constant("two", numpy.float32([2, 3])),
            constant("three", numpy.float32([5, 7])),
            helper.make_node("Mul", ["two", "three"], ["six"]),
            helper.make_node("Add", ["x", "six"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", [2])], [float_info("y", [2])]), "--numbers", "exact")
        self.assertEqual(["Mul", "Add"], self.types(result))

    def test_shape_arithmetic_is_known_before_the_run(self):
        nodes = [
            helper.make_node("Shape", ["x"], ["s"]),
            constant("first", numpy.int64(0)),
            helper.make_node("Gather", ["s", "first"], ["n"]),
            constant("axes", numpy.int64([0])),
            helper.make_node("Unsqueeze", ["n", "axes"], ["u"]),
            constant("rest", numpy.int64([-1])),
            helper.make_node("Concat", ["u", "rest"], ["t"], axis=0),
            helper.make_node("Reshape", ["x", "t"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", ["N", 3, 4])], [float_info("y", ["N", 12])]))
        self.assertEqual(["Reshape"], self.types(result))

    def test_dead_and_duplicate_nodes_and_identities_go(self):
        nodes = [
            helper.make_node("Identity", ["x"], ["i"]),
            helper.make_node("Erf", ["i"], ["a"]),
            helper.make_node("Erf", ["x"], ["b"]),
            helper.make_node("Sin", ["a"], ["dead"]),
            helper.make_node("Dropout", ["b"], ["d"]),
            helper.make_node("Concat", ["d"], ["c"], axis=0),
            helper.make_node("Cast", ["c"], ["e"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["a", "e"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", [2])], [float_info("y", [2])]))
        self.assertEqual(["Erf", "Mul"], self.types(result))

    def test_cancelled_pairs_go(self):
        nodes = [
            helper.make_node("Transpose", ["x"], ["a"], perm=[2, 0, 1]),
            helper.make_node("Transpose", ["a"], ["b"], perm=[1, 2, 0]),
            constant("axes", numpy.int64([1])),
            helper.make_node("Unsqueeze", ["b", "axes"], ["c"]),
            helper.make_node("Squeeze", ["c", "axes"], ["d"]),
            helper.make_node("Neg", ["d"], ["e"]),
            helper.make_node("Neg", ["e"], ["f"]),
            helper.make_node("Relu", ["f"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", [2, 3, 4])], [float_info("y", [2, 3, 4])]))
        self.assertEqual(["Relu"], self.types(result))

    def test_a_cast_that_loses_digits_stays(self):
        nodes = [
            helper.make_node("Cast", ["x"], ["a"], to=TensorProto.FLOAT16),
            helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT),
            helper.make_node("Relu", ["b"], ["y"]),
        ]
        result = self.simplify(model_of(nodes, [float_info("x", [3])], [float_info("y", [3])]))
        self.assertEqual(["Cast", "Cast", "Relu"], self.types(result))

    def test_batch_normalisation_becomes_part_of_the_weights(self):
        for bias in [False, True]:
            result = self.simplify(convolution(bias))
            self.assertEqual(["Conv", "Relu"], self.types(result))
            self.assertEqual(["Conv", "BatchNormalization", "Relu"], self.types(self.simplify(convolution(bias), "--numbers", "exact")))

    def test_a_product_and_a_sum_are_one_gemm(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
        weights = [weight("w", numpy.ones((3, 4))), weight("b", numpy.ones(4))]
        model = model_of(nodes, [float_info("x", ["N", 3])], [float_info("y", ["N", 4])], weights)
        self.assertEqual(["Gemm"], self.types(self.simplify(model)))
        self.assertEqual(["MatMul", "Add"], self.types(self.simplify(model, "--numbers", "exact")))
        # A product that something else reads stays.
        model.graph.output.append(float_info("p", ["N", 4]))
        self.assertEqual(["MatMul", "Add"], self.types(self.simplify(model)))

    def test_bodies_are_graphs_of_their_own(self):
        then = [
            helper.make_node("Identity", ["a"], ["t1"]),
            constant("t2", numpy.float32([1, 2])),
            helper.make_node("Neg", ["t2"], ["t3"]),
            helper.make_node("Erf", ["t1"], ["t4"]),
            helper.make_node("Erf", ["a"], ["t5"]),
            helper.make_node("Mul", ["t4", "t5"], ["t6"]),
            helper.make_node("Mul", ["t6", "k"], ["t7"]),
            helper.make_node("Add", ["t7", "t3"], ["then"]),
        ]
        other = [helper.make_node("Transpose", ["a"], ["e"], perm=[0]), helper.make_node("Relu", ["e"], ["else"])]
        branches = {
            "then_branch": helper.make_graph(then, "then", [], [float_info("then", [2])]),
            "else_branch": helper.make_graph(other, "else", [], [float_info("else", [2])]),
        }
        nodes = [
            helper.make_node("Sin", ["x"], ["a"]),
            constant("k", numpy.float32([3, 4])),
            helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
            helper.make_node("Greater", ["s", "zero"], ["c"]),
            helper.make_node("If", ["c"], ["y"], name="choice", **branches),
        ]
        zero = numpy_helper.from_array(numpy.float32(0), "zero")
        result = self.simplify(model_of(nodes, [float_info("x", [2])], [float_info("y", [2])], [zero]))
        self.assertEqual(["Sin", "ReduceSum", "Greater", "If"], self.types(result))
        bodies = {a.name: a.g for a in result.graph.node[3].attribute}
        self.assertEqual(["Erf", "Mul", "Mul", "Add"], [n.op_type for n in bodies["then_branch"].node])
        self.assertEqual(["Relu"], [n.op_type for n in bodies["else_branch"].node])
        # Captured values keep their names.
        self.assertEqual(["a"], list(bodies["then_branch"].node[0].input))
        self.assertIn("k", [t.name for t in result.graph.initializer])

    def test_large_generated_constants_stay_computed(self):
        nodes = [
            helper.make_node("ConstantOfShape", ["shape"], ["ones"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [1.5])),
            helper.make_node("Add", ["x", "ones"], ["y"]),
        ]
        shape = numpy_helper.from_array(numpy.int64([100, 100]), "shape")
        model = model_of(nodes, [float_info("x", [100, 100])], [float_info("y", [100, 100])], [shape])
        self.assertEqual(["ConstantOfShape", "Add"], self.types(self.simplify(model)))
        self.assertEqual(["Add"], self.types(self.simplify(model, "--max-growth", "1000")))
        for growth, types in [("5%", ["ConstantOfShape", "Add"]), ("38KiB", ["ConstantOfShape", "Add"]), ("40KiB", ["Add"]), ("5%,40KiB", ["Add"])]:
            with self.subTest(growth):
                self.assertEqual(types, self.types(self.simplify(model, "--max-growth", growth)))

    def test_a_sum_with_zero_is_dropped_where_nobody_sees_the_sign_of_zero(self):
        """-0 + 0 is +0: tanh has another result for it, 1 / x too."""
        zero = numpy_helper.from_array(numpy.float32(0), "zero")
        for reader, is_dropped in [("Relu", True), ("Sigmoid", True), ("Tanh", False), ("Reciprocal", False)]:
            with self.subTest(reader):
                nodes = [helper.make_node("Add", ["x", "zero"], ["a"]), helper.make_node(reader, ["a"], ["y"])]
                model = model_of(nodes, [float_info("x", [2, 3])], [float_info("y", [2, 3])], [zero])
                self.assertEqual([reader] if is_dropped else ["Add", reader], self.types(self.simplify(model)))
        for least, is_dropped in [(0, True), (-1, False)]:
            with self.subTest("Clip", least=least):
                nodes = [helper.make_node("Add", ["x", "zero"], ["a"]), helper.make_node("Clip", ["a", "least", "six"], ["y"])]
                bounds = [numpy_helper.from_array(numpy.float32(value), name) for name, value in [("least", least), ("six", 6)]]
                model = model_of(nodes, [float_info("x", [2, 3])], [float_info("y", [2, 3])], [zero, *bounds])
                self.assertEqual(["Clip"] if is_dropped else ["Add", "Clip"], self.types(self.simplify(model)))
                self.assertEqual(["Add", "Clip"], self.types(self.simplify(model, "--numbers", "exact")))

    def test_a_model_without_clean_ups_is_copied(self):
        self.write("in.onnx", program.relu())
        text = self.succeed("simplify", "in.onnx", "out.onnx")
        self.assertEqual((self.folder / "in.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        self.assertIn("nodes       1 -> 1, 1 unchanged\n", text)
        self.assertIn("result      the original model: no clean-up leaves fewer nodes\n", text)

    def test_the_report_counts_clean_ups_by_rule(self):
        self.write("in.onnx", program.transposes())
        text = self.succeed("simplify", "in.onnx", "out.onnx", "--report", "report.json")
        self.assertIn("nodes       3 -> 1, 0 unchanged\n", text)
        self.assertRegex(text, r"\ntranspose-(undone|of-transpose) +1  exact\n")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual({"before": 3, "after": 1, "kept": 0}, report["nodes"])
        self.assertTrue(report["simplified"])
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual(["Relu"], self.types(result))
        self.assertEqual([("author", "somebody")], [(p.key, p.value) for p in result.metadata_props])

    def test_the_time_limit_ends_it(self):
        self.write("in.onnx", program.transposes())
        text = self.succeed("simplify", "in.onnx", "out.onnx", "--time-limit", "0ms", "--report", "report.json")
        self.assertEqual((self.folder / "in.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        self.assertIn("stopped     the time limit of 0 s is over\nresult      the original model: the time limit of 0 s is over\n", text)
        self.assertEqual("the time limit of 0 s is over", json.loads((self.folder / "report.json").read_text())["stopped"])
        text = self.succeed("simplify", "in.onnx", "out.onnx", "--time-limit", "2m", "--report", "report.json")
        self.assertNotIn("stopped", text)
        self.assertEqual("", json.loads((self.folder / "report.json").read_text())["stopped"])

    def test_wrong_arguments_are_named(self):
        self.write("in.onnx", program.relu())
        self.fail_with(2, "missing.onnx: cannot open: No such file or directory", "simplify", "missing.onnx", "out.onnx")
        self.fail_with(64, "there is no rule 'no-such-rule' to skip", "simplify", "in.onnx", "out.onnx", "--skip", "no-such-rule")
        self.fail_with(64, "time limit 'soon' is not of the form 300s, 500ms or 5m", "simplify", "in.onnx", "out.onnx", "--time-limit", "soon")


if __name__ == "__main__":
    program.main()
