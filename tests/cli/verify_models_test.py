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


def branches():
    """A block of RepVGG: two convolutions of one input and the input itself, scaled."""
    weights = [weight("k", (4, 4, 3, 3)), weight("p", (4, 4, 1, 1)), weight("s", (4, 1, 1)), weight("b", (4,))]
    nodes = [
        helper.make_node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["x", "p"], ["d"]),
        helper.make_node("Mul", ["x", "s"], ["e"]),
        helper.make_node("Sum", ["c", "d", "e"], ["f"]),
        helper.make_node("Relu", ["f"], ["y"]),
    ]
    return model_of(nodes, [float_info("x", ["n", 4, 7, 9])], [float_info("y", ["n", 4, 7, 9])], weights)


def merged_branches(at=(1, 1), change=1.0):
    """The same with one convolution; the small kernels are at this place of the large one."""
    model = branches()
    kernel = array_of(model, "k").copy()
    kernel[:, :, at[0], at[1]] += array_of(model, "p")[:, :, 0, 0]
    kernel[range(4), range(4), at[0], at[1]] += array_of(model, "s")[:, 0, 0]
    kernel[1, 2, 0, 1] *= change
    nodes = [helper.make_node("Conv", ["x", "k", "b"], ["f"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["f"], ["y"])]
    return model_of(nodes, [float_info("x", ["n", 4, 7, 9])], [float_info("y", ["n", 4, 7, 9])], [stored("k", kernel), stored("b", array_of(model, "b"))])


SIXTH = numpy.float32(1) / numpy.float32(6)


def near_sixth():
    """The floats beside the one next to 1/6."""
    return [numpy.nextafter(SIXTH, numpy.float32(towards)) for towards in [0, 1]]


def gate():
    """A gate that divides by 6, between products whose scales are constants."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "three"], ["s"]),
        helper.make_node("Clip", ["s", "zero", "six"], ["c"]),
        helper.make_node("Div", ["c", "six"], ["g"]),
        helper.make_node("Mul", ["m", "g"], ["p"]),
        helper.make_node("Relu", ["p"], ["y"]),
    ]
    return dense(nodes, [weight("w", (8, 8)), stored("zero", 0), stored("three", 3), stored("six", 6)])


def hard_gate(alpha, name="HardSigmoid"):
    """The same by a HardSigmoid, or by a product with alpha."""
    model = gate()
    weights = list(model.graph.initializer) + [stored("alpha", alpha)]
    if name == "HardSigmoid":
        gates = [helper.make_node("HardSigmoid", ["m"], ["g"], alpha=float(alpha), beta=0.5)]
    else:
        gates = [*copy.deepcopy(list(model.graph.node))[1:3], helper.make_node("Mul", ["c", "alpha"], ["g"])]
    return dense([model.graph.node[0], *gates, *list(model.graph.node)[4:]], weights)


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

    def test_kernels_that_were_added(self):
        text = self.proved(branches(), merged_branches())
        self.assertRegex(text, r"\nproved up to the rounding of constants, 1 of 1 part proved\n\Z")
        self.assertIn("\nproved up to the rounding of constants", self.proved(merged_branches(), branches()))
        self.refuted(branches(), merged_branches(at=(0, 1)))

    def test_a_rounded_fraction_in_place_of_a_division(self):
        for name in ["HardSigmoid", "Mul"]:
            text = self.proved(gate(), hard_gate(SIXTH, name))
            self.assertRegex(text, r"\n  1 constant rounded otherwise; the largest difference is [45]\.[\d]+e-09 of 0\.167, for '[a-z]+'\n")
            self.assertRegex(text, r"\nproved up to the rounding of constants, 1 of 1 part proved\n\Z")
            self.assertIn("\nproved up to the rounding of constants", self.proved(hard_gate(SIXTH, name), gate()))
        self.assertIn("\nproved up to the rounding of constants", self.proved(hard_gate(SIXTH), hard_gate(SIXTH, "Mul")))

    def test_rounded_fractions_that_both_have_are_exact(self):
        self.assertRegex(self.proved(hard_gate(SIXTH), hard_gate(SIXTH)), r"\nproved\n\Z")

    def test_a_float_beside_the_one_next_to_a_fraction_is_another_number(self):
        for alpha in near_sixth():
            self.unknown(gate(), hard_gate(alpha))
            self.unknown(hard_gate(alpha), gate())
            for name in ["HardSigmoid", "Mul"]:
                self.unknown(hard_gate(SIXTH, name), hard_gate(alpha, name))
        for alpha in [0.167, 1 / 7]:
            self.assertIn("output 'y' is ", self.refuted(gate(), hard_gate(alpha)))

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


class MoreRuns(VerifyModels):
    """Differences that the first run cannot see."""

    def test_operators_that_run_at_sizes_that_are_numbers(self):
        def split(axis):
            nodes = [helper.make_node("Split", ["x"], ["a", "b", "c"], axis=axis, num_outputs=3)]
            nodes += [helper.make_node("ReduceSum", [part, "axes"], [f"s{part}"], keepdims=0) for part in ["a", "b", "c"]]
            nodes += [helper.make_node("Sub", ["sa", "sc"], ["y"])]
            axes = numpy_helper.from_array(numpy.array([1, 2], numpy.int64), "axes")
            model = model_of(nodes, [float_info("x", ["n", "m", 6])], [float_info("y", ["n"])], [axes])
            model.opset_import[0].version = 18
            return model

        # The sizes of parts of m rows are not known before m is.
        status, text = self.verify(split(2), split(1))
        self.assertEqual(1, status)
        self.assertRegex(text.splitlines()[-1], r"\Arefuted: output 'y' is .* for x: float32\[1,128,6\], seed 1\Z")
        self.proved(split(1), split(1))

    def floors(self, raised, weights=None):
        """The floor of large numbers, which rounding changes by one: what is added after it hides there."""
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Floor", ["m"], ["f"]), helper.make_node("Add", ["f", "r"], ["y"])]
        if weights is None:
            weights = numpy_helper.to_array(weight("w", (8, 8), low=-1e4, high=1e4))
        return model_of(nodes, [float_info("x", [2048, 8])], [float_info("y", [2048, 8])], [stored("w", weights), stored("r", raised)])

    def test_differences_that_the_rounding_of_most_inputs_hides(self):
        a, b = self.floors(0), self.floors(3)
        status, text = self.verify(a, b)
        self.assertEqual(0, self.run_program("check", "a.onnx", "b.onnx").returncode)
        self.assertEqual(1, status)
        self.assertRegex(text.splitlines()[-1],
                         r"\Arefuted: output 'y' is .* \(error 3, allowed .*\) for x: float32\[2048,8\], seed \d+, all floating-point elements -?[\d.]+\Z")

    def test_rounding_alone_refutes_nothing(self):
        weights = array_of(self.floors(0), "w")
        for towards in [-1e30, 1e30]:
            self.unknown(self.floors(0), self.floors(0, numpy.nextafter(weights, numpy.float32(towards))))


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

    def test_attributes_that_are_defaults(self):
        def hardmax(**attributes):
            return dense([helper.make_node("Hardmax", ["x"], ["h"], **attributes), helper.make_node("Relu", ["h"], ["y"])], [])

        self.assertIn("\nproved", self.proved(hardmax(), hardmax(axis=-1)))
        self.assertIn("\nproved", self.proved(hardmax(axis=-1), hardmax()))
        self.unknown(hardmax(), hardmax(axis=0))
        self.unknown(hardmax(axis=0), hardmax())
        # Operators outside of ONNX have no defaults.
        self.unknown(self.custom(), self.custom(axis=-1))

    def test_random_numbers_are_not_the_same(self):
        nodes = [helper.make_node("RandomNormalLike", ["x"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]
        self.unknown(dense(nodes, []), dense(nodes, []))

    def test_nodes_that_compute_the_same_are_one(self):
        def twice(op_type, *names, **other):
            nodes = [helper.make_node(op_type, ["x"], [name]) for name in names[:-1]] + [helper.make_node(op_type, ["x"], names[-1:], **other)]
            return dense([*nodes, helper.make_node("Add", [names[0], names[-1]], ["y"])], [])

        self.assertIn("\nproved", self.proved(twice("Hardmax", "h", "g"), twice("Hardmax", "h")))
        self.assertIn("\nproved", self.proved(twice("Hardmax", "h"), twice("Hardmax", "h", "g")))
        self.unknown(twice("Hardmax", "h", "g", axis=0), twice("Hardmax", "h"))
        self.unknown(twice("Hardmax", "h"), twice("Hardmax", "h", "g", axis=0))
        self.unknown(twice("RandomNormalLike", "h", "g"), twice("RandomNormalLike", "h"))

    def test_custom_nodes_of_the_same_function_are_one(self):
        def twice(*names):
            nodes = [helper.make_node("Foo", ["x"], [name], domain="custom") for name in names]
            model = dense([*nodes, helper.make_node("Bar", [names[0], names[-1]], ["y"], domain="custom")], [])
            model.opset_import.append(helper.make_opsetid("custom", 1))
            return model

        for a, b in [(("f", "g"), ("f", "g")), (("f", "g"), ("f",)), (("f",), ("f", "g"))]:
            with self.subTest(a=a, b=b):
                text = self.proved(twice(*a), twice(*b))
                self.assertTrue(text.endswith("".join(f"  assumed to be the same function: 1 x custom.{name}\n" for name in ("Bar", "Foo")) + "proved\n"), text)

    def test_needless_casts_and_identities_between_unknown_types(self):
        def chain(*nodes):
            """Foo, these nodes, and Bar, which have one operand each."""
            values = [f"v{k}" for k in range(len(nodes) + 2)]
            made = [helper.make_node(op_type, [values[k]], [values[k + 1]], **attributes) for k, (op_type, attributes) in enumerate(nodes)]
            model = dense([helper.make_node("Foo", ["x"], ["v0"], domain="custom"), *made,
                           helper.make_node("Bar", [values[len(nodes)]], ["y"], domain="custom")], [])
            model.opset_import.append(helper.make_opsetid("custom", 1))
            return model

        boolean, integer, real = (("Cast", {"to": kind}) for kind in (onnx.TensorProto.BOOL, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT))
        self.proved(chain(("Not", {}), boolean, ("Identity", {})), chain(("Not", {})))
        self.proved(chain(("Not", {})), chain(("Not", {}), boolean, ("Identity", {})))
        self.proved(chain(("Shape", {}), integer), chain(("Shape", {})))
        # Another type, and a type that is not known.
        self.unknown(chain(("Not", {}), real), chain(("Not", {})))
        self.unknown(chain(("Shape", {}), boolean), chain(("Shape", {})))
        self.unknown(chain(boolean), chain())

    def test_needless_casts_of_results_without_a_known_rank(self):
        def model(*casts, then_type=onnx.TensorProto.FLOAT):
            """A branch and a recurrent node of unknown ranks, and casts of their results."""
            infos = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None), helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])]
            squeezed = helper.make_graph([helper.make_node("Squeeze", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["t"], to=then_type)],
                                         "then", [], [onnx.ValueInfoProto(name="t")])
            same = helper.make_graph([helper.make_node("Cast", ["x"], ["e"], to=then_type)], "else", [], [onnx.ValueInfoProto(name="e")])
            nodes = [helper.make_node("If", ["c"], ["v0"], then_branch=squeezed, else_branch=same)]
            nodes += [helper.make_node("Cast", [f"v{k}"], [f"v{k + 1}"], to=kind) for k, kind in enumerate(casts)]
            nodes.append(helper.make_node("Unsqueeze", [f"v{len(casts)}", "axes"], ["y"]))
            out = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
            axes = numpy_helper.from_array(numpy.array([0], numpy.int64), "axes")
            return helper.make_model(helper.make_graph(nodes, "casts", infos, out, [axes]), opset_imports=[helper.make_opsetid("", 13)])

        real, double = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
        self.assertIn("\nproved", self.proved(model(real), model()))
        self.assertIn("\nproved", self.proved(model(), model(real, real)))
        self.unknown(model(double, real), model())
        self.unknown(model(real, then_type=double), model(then_type=double))

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


def scalar(name, kind):
    return helper.make_tensor_value_info(name, kind, [])


def branch(nodes, outputs=("b",), weights=()):
    return helper.make_graph(nodes, "branch", [], [float_info(name, ["n", 8]) for name in outputs], list(weights))


def choice(then_branch, else_branch, before=(), outputs=("y",)):
    """An If whose condition is an input, beside values of the main graph that the branches may capture."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Tanh", ["x"], ["t"]), *before,
             helper.make_node("If", ["c"], list(outputs), then_branch=then_branch, else_branch=else_branch)]
    inputs = [float_info("x", ["n", 8]), scalar("c", onnx.TensorProto.BOOL)]
    return model_of(nodes, inputs, [float_info(name, ["n", 8]) for name in outputs], [weight("w", (8, 8))])


class Bodies(VerifyModels):
    """Nodes with graphs are equal if these are proved to be equal. A run refutes models whose results differ."""

    @staticmethod
    def doubled(of="r", result="b"):
        return branch([helper.make_node("Add", [of, of], [result])], [result])

    @staticmethod
    def twice(of="r", factor=2.0):
        return branch([helper.make_node("Mul", ["two", of], ["b"])], ["b"], [stored("two", factor)])

    @staticmethod
    def product(of="r"):
        return branch([helper.make_node("MatMul", [of, "w"], ["m"]), helper.make_node("Neg", ["m"], ["b"])])

    def test_branches_that_compute_otherwise(self):
        turned = branch([helper.make_node("Neg", ["r"], ["negative"]), helper.make_node("MatMul", ["negative", "w"], ["out"])], ["out"])
        text = self.proved(choice(self.doubled(), self.product()), choice(self.twice(), turned))
        self.assertRegex(text, r"\A  proved   output 'y'\nproved, 2 of 2 parts proved\n\Z")

    def test_other_names_of_captured_values(self):
        renamed = choice(self.doubled("other", "d"), self.product("other"), [helper.make_node("Relu", ["x"], ["other"])])
        self.assertIn("\nproved", self.proved(choice(self.doubled(), self.product()), renamed))
        self.assertIn("\nproved", self.proved(renamed, choice(self.doubled(), self.product())))
        # Two names of one value.
        both = branch([helper.make_node("Add", ["r", "other"], ["b"])])
        two_names = choice(both, self.product(), [helper.make_node("Relu", ["x"], ["other"])])
        self.assertIn("\nproved", self.proved(choice(self.doubled(), self.product()), two_names))
        self.assertIn("\nproved", self.proved(two_names, choice(self.doubled(), self.product())))

    def test_a_captured_constant_in_place_of_one_of_the_branch(self):
        captured = choice(branch([helper.make_node("Mul", ["r", "two"], ["b"])]), self.product())
        captured.graph.initializer.append(stored("two", 2))
        self.assertIn("\nproved", self.proved(choice(self.twice(), self.product()), captured))
        self.assertIn("\nproved", self.proved(captured, choice(self.doubled(), self.product())))
        self.refuted(choice(self.twice(), self.product()), with_array(captured, "two", 3))

    def test_branches_in_the_other_order(self):
        self.refuted(choice(self.doubled(), self.product()), choice(self.product(), self.doubled()))
        self.refuted(choice(self.doubled(), self.product()), choice(self.doubled(), self.doubled()))

    def test_another_constant_of_a_branch(self):
        self.refuted(choice(self.twice(), self.product()), choice(self.twice(factor=2.5), self.product()))
        self.refuted(choice(self.doubled(), self.product()), choice(self.twice(factor=-2.0), self.product()))

    def test_another_captured_value(self):
        self.refuted(choice(self.doubled(), self.product()), choice(self.doubled("t"), self.product()))
        # The same bytes capture another value of the same name.
        self.refuted(choice(self.doubled("v"), self.product(), [helper.make_node("Neg", ["r"], ["v"])]),
                     choice(self.doubled("v"), self.product(), [helper.make_node("Neg", ["t"], ["v"])]))

    def test_another_condition(self):
        b = choice(self.twice(), self.product(), [helper.make_node("Not", ["c"], ["d"])])
        b.graph.node[3].input[0] = "d"
        self.refuted(choice(self.doubled(), self.product()), b)

    def test_outputs_of_branches_in_the_other_order(self):
        def two(names):
            nodes = [helper.make_node("Neg", ["r"], ["p"]), helper.make_node("Neg", ["t"], ["q"])]
            return choice(branch(nodes, names), branch(nodes, ["p", "q"]), outputs=["y", "z"])

        self.assertIn("\nproved", self.proved(two(["p", "q"]), two(["p", "q"])))
        self.refuted(two(["p", "q"]), two(["q", "p"]))

    def test_rounded_constants_of_branches(self):
        def with_gate(model):
            nodes = [node for node in model.graph.node if node.op_type not in ("MatMul", "Relu")]
            nodes = [helper.make_node("Identity", ["r"], ["m"]), *nodes[:-1], helper.make_node("Identity", ["p"], ["b"])]
            nodes[-2].output[0] = "p"
            constants = [i for i in model.graph.initializer if i.name != "w"]
            return choice(branch(nodes, weights=constants), self.product())

        text = self.proved(with_gate(gate()), with_gate(hard_gate(SIXTH)))
        self.assertIn("1 constant rounded otherwise", text)
        self.assertIn("\nproved up to the rounding of constants", text)
        for alpha in near_sixth():
            self.unknown(with_gate(gate()), with_gate(hard_gate(alpha)))

    def nested(self, inner):
        outer = branch([helper.make_node("Neg", ["r"], ["k"]),
                        helper.make_node("If", ["c"], ["b"], then_branch=inner, else_branch=self.doubled("k"))])
        return choice(outer, self.product())

    def test_nested_branches(self):
        self.assertIn("\nproved", self.proved(self.nested(self.doubled("k")), self.nested(self.twice("k"))))
        self.refuted(self.nested(self.doubled("k")), self.nested(self.twice("k", 3.0)))
        self.refuted(self.nested(self.doubled("k")), self.nested(self.twice("t")))

    def test_custom_operators_of_branches_are_assumed_to_be_the_same_function(self):
        def custom(last):
            with_foo = branch([helper.make_node("Foo", ["r"], ["f"], domain="custom"), last])
            with_foo.value_info.append(float_info("f", ["n", 8]))
            model = choice(with_foo, self.product())
            model.opset_import.append(helper.make_opsetid("custom", 1))
            return model

        text = self.proved(custom(helper.make_node("Add", ["f", "r"], ["b"])), custom(helper.make_node("Add", ["r", "f"], ["b"])))
        self.assertIn("  assumed to be the same function: 1 x custom.Foo\n", text)

    @staticmethod
    def loop(step, initial="r", trips=3, state=("n", 8), results=()):
        """A Loop with a state v that becomes w, and results of all iterations."""
        outputs = [scalar("d", onnx.TensorProto.BOOL), float_info("w", list(state)), *[float_info(name, list(state)) for name in results]]
        body = helper.make_graph([*step, helper.make_node("Identity", ["go"], ["d"])], "body",
                                 [scalar("i", onnx.TensorProto.INT64), scalar("go", onnx.TensorProto.BOOL), float_info("v", list(state))], outputs)
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Tanh", ["x"], ["t"]),
                 helper.make_node("Loop", ["trips", "", initial], ["y", *[f"all{k}" for k in range(len(results))]], body=body)]
        outputs = [("y", ["n", 8]), *[(f"all{k}", ["k", "n", 8]) for k in range(len(results))]]
        return dense(nodes, [numpy_helper.from_array(numpy.array(trips, numpy.int64), "trips"), stored("two", 2), stored("three", 3)], outputs)

    def test_loops(self):
        doubled = [helper.make_node("Add", ["v", "v"], ["e"]), helper.make_node("Sub", ["e", "t"], ["w"])]
        def twice(factor="two", captured="t"):
            return [helper.make_node("Mul", ["v", factor], ["e"]), helper.make_node("Sub", ["e", captured], ["w"])]

        self.assertIn("\nproved", self.proved(self.loop(doubled), self.loop(twice())))
        self.assertIn("\nproved", self.proved(self.loop(doubled, results=["e"]), self.loop(twice(), results=["e"])))
        for wrong in [self.loop(twice("three")), self.loop(twice(captured="r")), self.loop(twice(), "t"), self.loop(twice(), trips=4),
                      self.loop([helper.make_node("Mul", ["v", "two"], ["e"]), helper.make_node("Sub", ["t", "e"], ["w"])])]:
            self.refuted(self.loop(doubled), wrong)
        # The states are equal, the results are not.
        self.refuted(self.loop(doubled, results=["e"]), self.loop(twice(), results=["w"]))

    def test_loops_that_end_otherwise(self):
        def ending(name):
            model = self.loop([helper.make_node("Add", ["v", "t"], ["w"])])
            model.graph.node[2].attribute[0].g.node[1].CopyFrom(helper.make_node(name, ["go"], ["d"]))
            return model

        # ONNX ignores the condition of a body of a Loop without one, and ONNX Runtime does not.
        text = self.unknown(ending("Identity"), ending("Not"))
        self.assertIn("\n  not run: node 2 of graph 'g' (Loop): a Loop without condition ends by the condition of its body\n", text)
        details = json.loads(self.verify(ending("Identity"), ending("Not"), "--json")[1])
        self.assertEqual("node 2 of graph 'g' (Loop): a Loop without condition ends by the condition of its body", details["not_run"])

    def test_states_in_the_other_order(self):
        def exchanged(outputs):
            step = [helper.make_node("Neg", ["v"], ["p"]), helper.make_node("Add", ["u", "v"], ["q"]), helper.make_node("Identity", ["go"], ["d"])]
            states = [float_info(name, ["n", 8]) for name in ("v", "u")]
            body = helper.make_graph(step, "body", [scalar("i", onnx.TensorProto.INT64), scalar("go", onnx.TensorProto.BOOL), *states],
                                     [scalar("d", onnx.TensorProto.BOOL), *[float_info(name, ["n", 8]) for name in outputs]])
            nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Loop", ["trips", "", "x", "r"], ["y", "z"], body=body)]
            trips = numpy_helper.from_array(numpy.array(3, numpy.int64), "trips")
            return dense(nodes, [trips], [("y", ["n", 8]), ("z", ["n", 8])])

        self.assertIn("\nproved", self.proved(exchanged(["p", "q"]), exchanged(["p", "q"])))
        self.refuted(exchanged(["p", "q"]), exchanged(["q", "p"]))

    def scan(self, step, axis=0):
        body = helper.make_graph(step, "body", [float_info("s", [8]), float_info("e", [8])], [float_info("u", [8]), float_info("o", [8])])
        nodes = [helper.make_node("Scan", ["first", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_input_directions=[axis])]
        return dense(nodes, [weight("first", (8,))])

    def test_scans(self):
        def summed(a, b, of="u"):
            return [helper.make_node("Add", [a, b], ["u"]), helper.make_node("Neg", [of], ["o"])]

        doubled = [helper.make_node("Add", ["s", "e"], ["u"]), helper.make_node("Neg", ["s"], ["m"]), helper.make_node("Sub", ["m", "e"], ["o"])]
        self.assertIn("\nproved", self.proved(self.scan(summed("s", "e")), self.scan(doubled)))
        self.refuted(self.scan(summed("s", "e")), self.scan(summed("s", "e", "s")))
        self.refuted(self.scan(summed("s", "e")), self.scan(summed("s", "s")))
        self.refuted(self.scan(summed("s", "e")), self.scan(doubled, 1))

    def test_recurrent_nodes(self):
        """They are equal if they are the same. Runs refute others, whatever is made of them."""
        def recurrent(kind, gates, change=0.0, **attributes):
            weights = [weight("w", (1, 4 * gates, 3)), weight("r", (1, 4 * gates, 4)), weight("b", (1, 8 * gates))]
            weights[1].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights[1]) + numpy.float32(change), "r"))
            nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node(kind, ["t", "w", "r", "b"], ["s", "h"], hidden_size=4, **attributes),
                     helper.make_node("Squeeze", ["s", "one"], ["q"]), helper.make_node("Relu", ["q"], ["y"])]
            weights.append(numpy_helper.from_array(numpy.array([1]), "one"))
            outputs = [float_info("y", ["t", "n", 4]), float_info("h", [1, "n", 4])]
            return model_of(nodes, [float_info("x", ["t", "n", 3])], outputs, weights, opset=14)

        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            with self.subTest(kind):
                self.assertIn("\nproved", self.proved(recurrent(kind, gates), recurrent(kind, gates)))
                self.refuted(recurrent(kind, gates), recurrent(kind, gates, 0.01))
                self.refuted(recurrent(kind, gates), recurrent(kind, gates, direction="reverse"))
        self.refuted(recurrent("GRU", 3), recurrent("GRU", 3, linear_before_reset=1))
        self.refuted(recurrent("LSTM", 4), recurrent("LSTM", 4, input_forget=1))

    def test_large_constants_that_a_body_captures(self):
        """What A computes of a captured constant in a branch is a stored constant in B."""
        large = weight("k", (8, 512))
        computed = branch([helper.make_node("Slice", ["k", "zero", "half", "one"], ["s"]), helper.make_node("Transpose", ["s"], ["p"], perm=[1, 0]),
                           helper.make_node("MatMul", ["r", "wide"], ["e"]), helper.make_node("MatMul", ["e", "p"], ["b"])])
        slices = [numpy_helper.from_array(numpy.array([value]), name) for name, value in (("zero", 0), ("half", 256), ("one", 1))]
        folded = numpy_helper.to_array(large)[:, :256].T.copy()
        wide = weight("wide", (8, 256))

        def model(then_branch, weights):
            result = choice(then_branch, branch([helper.make_node("Neg", ["r"], ["b"])]))
            result.graph.initializer.extend(weights)
            return result

        # The axes of the slice are [1].
        a = model(computed, [large, wide, *slices])
        b = model(branch([helper.make_node("MatMul", ["r", "wide"], ["e"]), helper.make_node("MatMul", ["e", "f"], ["b"])]), [wide, stored("f", folded)])
        self.assertIn("\nproved", self.proved(a, b))
        wrong = folded.copy()
        wrong[0, 0] += 0.1
        b.graph.initializer[-1].CopyFrom(stored("f", wrong))
        self.refuted(a, b)

    def test_a_state_whose_batch_is_not_its_first_dimension(self):
        """The sizes of the state follow from no operator: runs try others until the recurrent node takes them."""
        def cell(change=0.0):
            weights = [weight("w", (1, 16, 8)), weight("r", (1, 16, 4))]
            weights[0].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights[0]) + numpy.float32(change), "w"))
            weights.append(numpy_helper.from_array(numpy.array([0]), "zero"))
            nodes = [helper.make_node("Unsqueeze", ["x", "zero"], ["s"]),
                     helper.make_node("LSTM", ["s", "w", "r", "", "", "h", "h"], ["", "y"], hidden_size=4)]
            return model_of(nodes, [float_info("x", ["n", 8]), float_info("h", [1, "m", 4])], [float_info("y", [1, "n", 4])], weights, opset=14)

        self.refuted(cell(), cell(0.01))
        run = self.run_program("check", "a.onnx", "a.onnx")
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertTrue(run.stdout.startswith("inputs   x: float32[1,8], h: float32[1,1,4], seed "), run.stdout)

    def test_branches_that_are_chosen_by_an_integer(self):
        """No drawn integer is 16000, and runs try the integers that A compares its inputs with."""
        def chosen(kind):
            branches = [branch([helper.make_node(name, ["r"], ["b"])]) for name in (kind, "Tanh")]
            nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Equal", ["rate", "known"], ["c"]),
                     helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])]
            model = dense(nodes, [numpy_helper.from_array(numpy.array(16000, numpy.int64), "known")])
            model.graph.input.append(scalar("rate", onnx.TensorProto.INT64))
            return model

        status, text = self.verify(chosen("Sin"), chosen("Cos"))
        self.assertEqual(1, status, text)
        self.assertRegex(text.splitlines()[-1], r"\Arefuted: output 'y' is .*, all elements of 'rate' 16000\Z")

    def test_random_numbers_of_bodies_are_not_the_same(self):
        noisy = branch([helper.make_node("RandomNormalLike", ["r"], ["b"])])
        text = self.unknown(choice(noisy, noisy), choice(noisy, noisy))
        self.assertIn("  not run: node 0 of graph else_branch of an unnamed If (RandomNormalLike): cannot execute: no operator for RandomNormalLike\n", text)


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
