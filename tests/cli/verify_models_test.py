"""Tests of `xflow verify A.onnx B.onnx`: verify_models_test.py PROGRAM [unittest arguments]."""

import copy
import json

import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of


def weight(name, shape, seed=0, low=-1.0, high=1.0):
    values = numpy.random.default_rng([seed, *map(ord, name)]).uniform(low, high, shape)
    return numpy_helper.from_array(values.astype(numpy.float32), name)


def stored(name, value):
    return numpy_helper.from_array(numpy.asarray(value, numpy.float32), name)


def array_of(model, name):
    return next(numpy_helper.to_array(i) for i in model.graph.initializer if i.name == name)


def with_array(model, name, value):
    """The model with another initializer of this name."""
    result = copy.deepcopy(model)
    for initializer in result.graph.initializer:
        if initializer.name == name:
            initializer.CopyFrom(numpy_helper.from_array(numpy.asarray(value, numpy.float32), name))
    return result


def with_node(model, node, **attributes):
    """The model with other attributes of a node."""
    result = copy.deepcopy(model)
    (found,) = [n for n in result.graph.node if n.name == node]
    for name, value in attributes.items():
        for k in reversed(range(len(found.attribute))):
            if found.attribute[k].name == name:
                del found.attribute[k]
        found.attribute.append(helper.make_attribute(name, value))
    return result


def dense(nodes, weights, outputs=(("y", ["n", 8]),), size=8):
    return model_of(nodes, [float_info("x", ["n", size])], [float_info(name, shape) for name, shape in outputs], weights)


def projections():
    """Three products that share an operand, each with a function."""
    weights = [weight(f"w{k}", (8, 8)) for k in range(3)]
    nodes = [helper.make_node("MatMul", ["x", f"w{k}"], [f"m{k}"]) for k in range(3)]
    nodes += [helper.make_node(name, [f"m{k}"], [f"y{k}"]) for k, name in enumerate(["Relu", "Tanh", "Sigmoid"])]
    return dense(nodes, weights, [(f"y{k}", ["n", 8]) for k in range(3)])


def merged_projections(order=(0, 1, 2)):
    """The same with one product, whose columns are in this order."""
    parts = {w.name: numpy_helper.to_array(w) for w in projections().graph.initializer}
    joined = numpy.concatenate([parts[f"w{k}"] for k in order], 1)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
        helper.make_node("Split", ["m"], [f"m{k}" for k in order], axis=1, name="parts"),
    ]
    nodes += [helper.make_node(name, [f"m{k}"], [f"y{k}"]) for k, name in enumerate(["Relu", "Tanh", "Sigmoid"])]
    return dense(nodes, [stored("w", joined)], [(f"y{k}", ["n", 8]) for k in range(3)])


def normalised_convolution(epsilon=1e-3, pads=(1, 1, 1, 1)):
    weights = [weight("k", (4, 3, 3, 3)), *(weight(name, (4,), low=0.5, high=1.5) for name in ["scale", "shift", "mean", "variance"])]
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], name="conv", pads=list(pads)),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["b"], name="norm", epsilon=epsilon),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    shape = ["n", 3, "h", "w"]
    return model_of(nodes, [float_info("x", shape)], [float_info("y", ["n", 4, "h", "w"])], weights)


def folded_convolution(change=lambda kernel, bias: None):
    """The same with the normalisation in the weights, computed in float as exporters do."""
    model = normalised_convolution()
    one = numpy.float32(1)
    factor = array_of(model, "scale") * (one / numpy.sqrt(array_of(model, "variance") + numpy.float32(1e-3)))
    kernel = array_of(model, "k") * factor[:, None, None, None]
    bias = array_of(model, "shift") - array_of(model, "mean") * factor
    change(kernel, bias)
    nodes = [helper.make_node("Conv", ["x", "kernel", "bias"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    shape = ["n", 3, "h", "w"]
    return model_of(nodes, [float_info("x", shape)], [float_info("y", ["n", 4, "h", "w"])], [stored("kernel", kernel), stored("bias", bias)])


def layers():
    """A dense layer on a tensor of three dimensions, and its bias."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["s"]), helper.make_node("Tanh", ["s"], ["y"])]
    return model_of(nodes, [float_info("x", ["n", 5, 8])], [float_info("y", ["n", 5, 4])], [weight("w", (8, 4)), weight("b", (4,))])


def layers_of_rows():
    """The same by Gemm on rows."""
    nodes = [
        helper.make_node("Reshape", ["x", "rows"], ["r"]),
        helper.make_node("Gemm", ["r", "w", "b"], ["g"]),
        helper.make_node("Tanh", ["g"], ["t"]),
        helper.make_node("Reshape", ["t", "shape"], ["y"]),
    ]
    shapes = [numpy_helper.from_array(numpy.array(value, numpy.int64), name) for name, value in [("rows", [-1, 8]), ("shape", [-1, 5, 4])]]
    weights = [weight("w", (8, 4)), weight("b", (4,)), *shapes]
    return model_of(nodes, [float_info("x", ["n", 5, 8])], [float_info("y", ["n", 5, 4])], weights)


class VerifyModels(ProgramTest):
    def verify(self, a, b, *arguments):
        """The status and the output; nothing may be said on standard error."""
        self.write("a.onnx", a)
        self.write("b.onnx", b)
        run = self.run_program("verify", "a.onnx", "b.onnx", *arguments)
        self.assertEqual("", run.stderr)
        return run.returncode, run.stdout

    def proved(self, a, b, *arguments):
        status, text = self.verify(a, b, *arguments)
        self.assertEqual(0, status, text)
        return text

    def refuted(self, a, b, *arguments):
        """What differs."""
        status, text = self.verify(a, b, *arguments)
        line = text.splitlines()[-1]
        self.assertEqual((1, "refuted"), (status, line.split(",")[0].split(":")[0]), text)
        # The comparison of results must find the difference as well.
        self.assertEqual(1, self.run_program("check", "a.onnx", "b.onnx").returncode)
        return line.split(": ", 1)[1]

    def unknown(self, a, b, *arguments):
        status, text = self.verify(a, b, *arguments)
        self.assertEqual((1, "unknown"), (status, text.splitlines()[-1].split(",")[0]), text)
        return text


class Proofs(VerifyModels):
    def test_the_same_model(self):
        self.assertEqual("  proved   output 'y0'\n  proved   output 'y1'\n  proved   output 'y2'\nproved\n",
                         self.proved(projections(), projections()))

    def test_names_and_the_order_of_operands_do_not_matter(self):
        a = dense([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "x"], ["y"])], [])
        b = dense([helper.make_node("Relu", ["x"], ["other"]), helper.make_node("Add", ["x", "other"], ["y"])], [])
        self.assertIn("\nproved", self.proved(a, b))

    def test_products_that_one_product_computes(self):
        self.assertIn("\nproved", self.proved(projections(), merged_projections()))
        self.assertIn("\nproved", self.proved(merged_projections(), projections()))
        self.assertIn("\nproved", self.proved(merged_projections((2, 0, 1)), projections()))

    def test_constants_folded_in_float(self):
        text = self.proved(normalised_convolution(), folded_convolution())
        self.assertRegex(text, r"\n  [12] constants? rounded otherwise; the largest difference is [\d.e-]+ of [\d.]+, for '(kernel|bias|c)'\n")
        self.assertRegex(text, r"\nproved up to the rounding of constants")
        self.assertRegex(self.proved(folded_convolution(), normalised_convolution()), r"\nproved up to the rounding of constants")

    def test_rows_in_place_of_batches(self):
        self.assertIn("\nproved", self.proved(layers(), layers_of_rows()))
        self.assertIn("\nproved", self.proved(layers_of_rows(), layers()))

    def test_a_result_of_optimize(self):
        self.write("m.onnx", program.transposes())
        self.write("npu.xprof", program.ROOFLINE)
        self.optimize("m.onnx", "--device", "profile:npu.xprof")
        self.assertEqual(1, len(onnx.load(str(self.folder / "out.onnx")).graph.node))
        self.assertRegex(self.succeed("verify", "m.onnx", "out.onnx"), r"\nproved\n")

    def test_an_input_that_only_one_model_has_keeps_its_default(self):
        nodes = [helper.make_node("Mul", ["x", "s"], ["y"])]
        a = dense(nodes, [stored("s", 3)])
        a.graph.input.append(float_info("s", []))
        self.assertIn("proved", self.proved(a, dense(nodes, [stored("s", 3)])))
        self.assertIn("output 'y' is ", self.refuted(a, dense(nodes, [stored("s", 4)])))
        b = with_array(a, "s", 4)
        self.assertEqual((1, "refuted: input 's' has another default in B\n"), self.verify(a, b))

    def test_sizes_with_each_others_names(self):
        def sized(first, second):
            nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Shape", ["t"], ["y"])]
            outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [2])]
            return model_of(nodes, [float_info("x", [first, second])], outputs)

        self.assertIn("\nproved", self.proved(sized("m", "n"), sized("n", "m")))
        # B accepts square matrices alone.
        self.assertEqual((1, "refuted: input 'x' is float32[m, n] in A and float32[n, n] in B, where 'n' has another size\n"),
                         self.verify(sized("m", "n"), sized("n", "n")))

    def test_other_names_of_sizes(self):
        b = projections()
        b.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        self.assertIn("\nproved", self.proved(projections(), b))

    def test_details_as_json(self):
        status, text = self.verify(normalised_convolution(), folded_convolution(), "--json")
        found = json.loads(text)
        self.assertEqual((0, "proved", True, ""), (status, found["verdict"], found["up_to_rounding"], found["difference"]))
        self.assertEqual(["proved"], [output["verdict"] for output in found["outputs"]])
        for constant in found["constants"]:
            self.assertLessEqual(constant["difference"], constant["allowed"])
            self.assertLess(constant["allowed"], 1e-5 * constant["magnitude"])


class Refutations(VerifyModels):
    def test_columns_in_another_order(self):
        b = merged_projections((1, 0, 2))
        for node in b.graph.node:
            if node.name == "parts":
                node.output[:] = ["m0", "m1", "m2"]
        self.assertRegex(self.refuted(projections(), b), r"\Aoutput 'y0' is .* for x: float32\[1,8\], seed 1\Z")

    def test_a_constant_of_which_one_element_changed(self):
        a = projections()
        changed = array_of(a, "w1").copy()
        changed[3, 4] *= 1.01
        self.assertIn("output 'y1' is ", self.refuted(a, with_array(a, "w1", changed)))

    def test_folded_constants_with_an_error(self):
        def scaled(kernel, _):
            kernel *= numpy.float32(1.01)

        def without_mean(_, bias):
            bias += numpy.float32(0.125)

        for change in [scaled, without_mean]:
            self.assertIn("output 'y' is ", self.refuted(normalised_convolution(), folded_convolution(change)))

    def test_another_epsilon_and_other_pads(self):
        self.assertIn("output 'y' is ", self.refuted(normalised_convolution(), normalised_convolution(epsilon=2e-2)))
        self.assertIn("output 'y' is ", self.refuted(normalised_convolution(), normalised_convolution(pads=(0, 0, 2, 2))))

    def test_another_permutation_and_a_missing_bias(self):
        def turned(order):
            nodes = [helper.make_node("Transpose", ["x"], ["t"], name="turn", perm=order), helper.make_node("Relu", ["t"], ["y"])]
            return model_of(nodes, [float_info("x", [4, 4, 4])], [float_info("y", [4, 4, 4])])

        self.assertIn("output 'y' is ", self.refuted(turned([1, 2, 0]), turned([2, 0, 1])))
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["y"])]
        b = model_of(nodes, [float_info("x", ["n", 5, 8])], [float_info("y", ["n", 5, 4])], [weight("w", (8, 4))])
        self.assertIn("output 'y' is ", self.refuted(layers(), b))

    def test_other_inputs_and_outputs(self):
        a = dense([helper.make_node("Relu", ["x"], ["y"])], [])
        for b, message in [
            (dense([helper.make_node("Relu", ["x"], ["z"])], [], [("z", ["n", 8])]), "output 0 is 'y' in A and 'z' in B"),
            (dense([helper.make_node("Relu", ["x"], ["y"])], [], size=9), "input 'x' is float32[n, 8] in A and float32[n, 9] in B"),
            (dense([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["x"], ["z"])], [], [("y", ["n", 8]), ("z", ["n", 8])]),
             "A has 1 output, B has 2"),
        ]:
            self.assertEqual((1, f"refuted: {message}\n"), self.verify(a, b))
        # B refuses sizes that A accepts.
        b = copy.deepcopy(a)
        b.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
        self.assertEqual((1, "refuted: input 'x' is float32[n, 8] in A and float32[1, 8] in B\n"), self.verify(a, b))


class Unknown(VerifyModels):
    def custom(self, domain="custom", **attributes):
        nodes = [helper.make_node("Foo", ["x"], ["f"], domain=domain, **attributes), helper.make_node("Relu", ["f"], ["y"])]
        model = dense(nodes, [])
        model.opset_import.append(helper.make_opsetid(domain, 1))
        return model

    def test_unknown_operators_are_assumed_to_be_the_same_function(self):
        self.assertEqual("  proved   output 'y'\n  assumed to be the same function: 1 x custom.Foo\nproved\n",
                         self.proved(self.custom(size=1), self.custom(size=1)))
        self.assertIn("unknown  output 'y'", self.unknown(self.custom(size=1), self.custom(size=2)))

    def test_random_numbers_are_not_the_same(self):
        nodes = [helper.make_node("RandomNormalLike", ["x"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]
        self.unknown(dense(nodes, []), dense(nodes, []))

    def test_random_numbers_of_a_function_are_not_the_same(self):
        body = [helper.make_node("RandomNormalLike", ["v"], ["w"])]
        opsets = [helper.make_opsetid("", 13)]
        model = dense([helper.make_node("Noise", ["x"], ["y"], domain="local")], [])
        model.opset_import.append(helper.make_opsetid("local", 1))
        model.functions.append(helper.make_function("local", "Noise", ["v"], ["w"], body, opsets))
        self.unknown(model, model)

    def test_names_of_sizes_behind_unknown_operators_mean_nothing_in_the_other_model(self):
        """A: f(x) has the rows of x, by its name. In B another size has this name."""
        def tiled(rows):
            model = self.custom()
            model.graph.node[1].CopyFrom(helper.make_node("Shape", ["f"], ["y"], end=1))
            model.graph.value_info.append(float_info("f", [rows, 8]))
            del model.graph.output[:]
            model.graph.output.append(helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [1]))
            model.opset_import[0].version = 15
            return model

        self.assertIn("\nproved", self.proved(tiled("n"), tiled("n")))
        self.assertIn("\nproved", self.proved(tiled("rows"), tiled("other")))

    def test_a_loop_with_the_same_body(self):
        body = helper.make_graph(
            [helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"])],
            "body",
            [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []), helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
             float_info("v", ["n", 8])],
            [helper.make_tensor_value_info("d", onnx.TensorProto.BOOL, []), float_info("w", ["n", 8])],
        )
        trips = numpy_helper.from_array(numpy.array(3, numpy.int64), "trips")

        def looped(name):
            nodes = [helper.make_node("Relu", ["x"], [name]), helper.make_node("Loop", ["trips", "", name], ["y"], body=body)]
            return dense(nodes, [trips])

        self.assertEqual("  proved   output 'y'\nproved\n", self.proved(looped("a"), looped("b")))


class CommandLine(VerifyModels):
    def test_options_of_rules_and_models_that_cannot_be_read(self):
        self.write("a.onnx", program.relu())
        self.write("b.onnx", program.relu())
        message = "--explain, --infer-guards, --replay and --no-records are for rules, not for models"
        for option in ["--explain", "--infer-guards", "--no-records"]:
            self.fail_with(64, message, "verify", "a.onnx", "b.onnx", option)
        self.fail_with(64, "--shape and --allow-external are for two models, not for rules", "verify", "merge-matmuls-sharing-lhs", "--shape", "x:2")
        self.write("c.onnx", "no model")
        run = self.run_program("verify", "a.onnx", "c.onnx")
        self.assertEqual((2, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: c\.onnx: [^\n]+\n\Z")
        self.fail_with(64, "shape [2] of input 'x' has 1 dimensions, the model's has 2", "verify", "a.onnx", "b.onnx", "--shape", "x:2")

    def test_what_is_not_decided_in_time_is_not_proved(self):
        self.write("a.onnx", normalised_convolution())
        self.write("b.onnx", folded_convolution())
        run = self.run_program("verify", "a.onnx", "b.onnx", "--timeout", "0.001ms")
        self.assertEqual((1, "", "timeout"), (run.returncode, run.stderr, run.stdout.splitlines()[-1].split(",")[0]))
        # Wherever the limit falls, the models are proved or not decided.
        for limit in ["1ms", "3ms", "10ms", "20ms", "30ms", "50ms", "100ms"]:
            run = self.run_program("verify", "a.onnx", "b.onnx", "--timeout", limit)
            self.assertRegex(run.stdout.splitlines()[-1], r"\A(timeout|proved)", limit)



if __name__ == "__main__":
    program.main()
