"""The judge finds what is wrong: judge_test.py [unittest arguments]."""

import argparse
import contextlib
import io
import pathlib
import unittest
from fractions import Fraction

import numpy
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper

import counterexamples
import float_class
import judge
import verdicts
from evaluation import Scope, Side
from exact import Exact, simple
from floats import POLICIES, Floats
from operators import IllTyped, Tensor
from rule_text import Parser, RuleError, read_rules, with_members

ROOT = pathlib.Path(__file__).resolve().parents[3]


def rule(source, target="y = x", types="", guards=""):
    parts = [("with", types), ("source", source), ("target", target), ("where", guards)]
    return read_rules("rule r\n" + "".join(f"  {name}\n    {text}\n" for name, text in parts if text))[0]


def difference(*arguments, **named):
    return verdicts.search(rule(*arguments, **named), 1).difference


class Text(unittest.TestCase):
    def test_reads_every_rule_of_the_repository(self):
        files = sorted(ROOT.glob("substitutions/*.rules")) + sorted(ROOT.glob("tests/verifier/*/*.rules"))
        rules = [r for f in files for r in read_rules(f.read_text())]
        self.assertGreater(len(rules), 700)
        text = "".join(with_members(f.read_text()) for f in files)
        self.assertEqual(len(rules), sum(line.startswith("rule ") for line in text.splitlines()))

    def test_writes_families_as_their_members(self):
        family = """rule sums-in-{n} for n in 2..3
  source
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
    z{i} = y{i} + w{i}
  target
    z{i} = w{i} + y{i}
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
  where const(w{i}) and rank(x) <= 5
"""
        rules = read_rules(family + "\n# The next one.\nrule plain\n  source\n    y = x + 0\n  target\n    y = x\n")
        self.assertEqual(["sums-in-2", "sums-in-3", "plain"], [r.name for r in rules])
        self.assertEqual([1 + 2, 1 + 3], [len(r.source) for r in rules[:2]])
        self.assertEqual(["w1", "w2", "w3"], [g.value for g in rules[1].guards if g.kind == "const"])

    def test_writes_families_without_a_last_number_up_to_three(self):
        family = "rule parts-{n} for n in 2..\n  source\n    y{1..n} = split(x, axis: 0, sizes: [s{1..n}])\n    z{i} = relu(y{i})\n"
        family += "  target\n    z{1..n} = split(relu(x), axis: 0, sizes: [s{1..n}])\n"
        rules = read_rules(family)
        self.assertEqual(["parts-2", "parts-3"], [r.name for r in rules])
        self.assertEqual([1 + 2, 1 + 3], [len(r.source) for r in rules])

    def test_writes_families_of_words_as_their_members(self):
        family = "rule turned-{f} for f in relu, tanh\n  source\n    y = {f}(transpose(x, perm: p))\n  target\n    y = transpose({f}(x), perm: p)\n"
        rules = read_rules(family + "\nrule plain\n  source\n    y = x + 0\n  target\n    y = x\n")
        self.assertEqual(["turned-relu", "turned-tanh", "plain"], [r.name for r in rules])
        self.assertEqual([{"relu", "transpose"}, {"tanh", "transpose"}], [r.operators() for r in rules[:2]])
        self.assertEqual(1, len([r for r in read_rules(family, 1)]))

    def test_folds_numbers_and_keeps_the_order_of_operators(self):
        read = rule("y = x - 1/2 * 3 - z", types="x: [2 * C + 1, B..]")
        inner = read.source[0][1].operands[0]
        self.assertEqual(("sub", Fraction(3, 2)), (inner.name, inner.operands[1].literal))
        self.assertEqual(["+", "sequence"], [e.kind for e in read.declarations["x"].dims])

    def test_says_what_it_cannot_read(self):
        with self.assertRaisesRegex(RuleError, r"line 4: expected an operator, a variable or a number, found '\*'"):
            read_rules("rule r\n  source\n    y = x\n      y = *\n")

    def test_evaluates_expressions_on_lists(self):
        scope = Scope()
        scope.names = {"p": [1, 2, 3, 4], "n": 7}
        for text, value in (("begins(p) + ends(p)", [4, 6]), ("permute([n, 8], [1, 0])", [8, 7]), ("p[-1] - floor_div(n, 2)", 1),
                            ("replace(p, 1, n)", [1, 7, 3, 4]), ("insert(remove(p, [0, 1]), 2, n)", [3, 4, 7])):
            self.assertEqual(value, scope.value(Parser(text).expression()), text)


class Reports(unittest.TestCase):
    def test_counts_the_rules_of_each_class_that_are_run_on_extreme_floats(self):
        integers = rule("y = i + j", "y = j + i", types="i: int64 [N], j: int64 [N]")
        floats = rule("y = x + z", "y = z + x")
        results = [(r, {"verdict": "proved", "numbers": c, "microseconds": 1}, [], 1, float_class.search(r, c, 1)[1])
                   for r, c in ((integers, "exact"), (floats, "exact"), (floats, "rounding"), (floats, "special"))]
        options = argparse.Namespace(known=None, timeout=1)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            judge.Report(options).add("4 rules", results)
        self.assertIn("\nproved: 2 exact (1 run on extreme floats), 1 rounding (1 run on extreme floats), 1 special\n", printed.getvalue())


class PerClass(unittest.TestCase):
    def reached(self, results, wanted=1):
        options = argparse.Namespace(known=None, timeout=1, per_class=wanted)
        found = judge.PerClass(options, judge.Report(options))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for result in results:
                found.add(*result)
        return found, printed.getvalue()

    def test_counts_rules_that_were_run_on_extreme_floats(self):
        of = rule("y = x + z", "y = z + x")
        said = [{"verdict": "proved", "numbers": c} for c in judge.CLASSES]
        found, _ = self.reached([(of, said[0], [], 1, 5, False), (of, said[1], [], 1, 5, True), (of, said[1], [], 1, 0, False),
                                 (of, said[2], [], 1, 5, False)])
        self.assertEqual([True, True, True], [found.full(c) for c in judge.CLASSES])
        self.assertIn("run on extreme floats: 1 exact, 1 rounding (1 shown not to be exact), 1 special (0 shown not to be rounding); "
                      "1 without floats; 0 wrong", found.text())

    def test_fails_where_a_rule_is_wrong(self):
        of = rule("y = maximum(x, z)", "y = maximum(z, x)")
        found, printed = self.reached([judge.judged_of_class((of, {"verdict": "proved", "numbers": "exact", "number_effects": [], "guards": [],
                                                                   "needed_guards": []}, 1, 2))])
        self.assertTrue(found.report.failed)
        self.assertRegex(printed, r"wrong float class: rule r\n(.|\n)*other bits in float32")

    def test_classes_that_are_too_strict_are_shown(self):
        self.assertRegex(float_class.stricter(rule("y = x + z + w", "y = x + (z + w)"), "rounding", 1)[0], "other bits")
        self.assertRegex(float_class.stricter(rule("y = x - x + z", "y = z"), "special", 1)[0], "NaN changes")
        self.assertEqual("", float_class.stricter(rule("y = neg(neg(x))", "y = x"), "rounding", 1)[0])
        self.assertEqual(("", 0), float_class.stricter(rule("y = x + z + w", "y = x + (z + w)"), "exact", 1))

    def test_kinds_of_changes_take_turns(self):
        text = "# a: exact\nrule one\n\n# a: exact\nrule two\n\n# b: exact\nrule three\n\n# b: special\nrule four"
        self.assertEqual(["# a: exact\nrule one", "# b: exact\nrule three", "# a: exact\nrule two"], judge.interleaved(text, "exact"))


class Operators(unittest.TestCase):
    """Against ONNX's own reference."""

    def agrees(self, text, inputs, onnx_type, onnx_inputs=(), **attributes):
        tensors = {n: numpy.array(v, dtype=numpy.int64 if n == "i" else numpy.float64) for n, v in inputs.items()}
        scope = Scope()
        exact = numpy.frompyfunc(lambda v: simple(Fraction(v)), 1, 1)
        scope.tensors = {n: Tensor(exact(v), "int64" if n == "i" else "float64") for n, v in tensors.items()}
        ours = Side(Exact, scope).term(Parser(text).term(), "float64")[0].values.astype(float)
        extra = {f"e{k}": numpy.array(v) for k, v in enumerate(onnx_inputs)}
        node = helper.make_node(onnx_type, list(tensors) + list(extra), ["y"], **attributes)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in {**tensors, **extra}.items()]
        graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        theirs = onnx.reference.ReferenceEvaluator(model).run(None, {**tensors, **extra})[0]
        self.assertEqual(theirs.shape, ours.shape, text)
        numpy.testing.assert_allclose(ours, theirs, err_msg=text)

    def test_quantisation(self):
        x = numpy.float32([[-3.0, 0.25, 0.5, 1.5], [2.5, 1000.0, -1000.0, 0.75]])
        cases = [("", {}, numpy.float32(0.5), numpy.uint8(128)), (", axis: 1", {"axis": 1}, numpy.float32([0.5, 1, 2, 0.25]), numpy.int8([0, -3, 5, 100])),
                 (", axis: 1, block: 3", {"axis": 1, "block_size": 3}, numpy.float32([[1, 0.5], [2, 4]]), numpy.int8([[1, 2], [3, -4]]))]
        for text, attributes, scale, zero in cases:
            kind = zero.dtype.name
            q = self.ran("QuantizeLinear", f"quantize_linear(x, s, z, to: {kind}{text})", attributes, x=x, s=scale, z=zero)
            self.ran("DequantizeLinear", f"dequantize_linear(q, s, z{text})", attributes, q=q.astype(kind), s=scale, z=zero)

    def test_sums_of_quantised_numbers(self):
        random = numpy.random.default_rng(2)
        a, b = random.integers(0, 255, (2, 3, 4), dtype=numpy.uint8), random.integers(-127, 127, (4, 5), dtype=numpy.int8)
        az, bz, by_column = numpy.uint8(120), numpy.int8(-3), random.integers(-9, 9, 5, dtype=numpy.int8)
        scales = {"p": numpy.float32(0.25), "r": numpy.float32(0.5), "u": numpy.float32(64)}
        self.ran("MatMulInteger", "matmul_integer(a, b)", {}, a=a, b=b)
        self.ran("MatMulInteger", "matmul_integer(a, b, s, t)", {}, a=a, b=b, s=az, t=by_column)
        self.ran("QLinearMatMul", "qlinear_matmul(a, p, q, b, r, s, u, v)", {}, a=a, p=scales["p"], q=az, b=b, r=scales["r"], s=bz, u=scales["u"],
                 v=numpy.int8(5))
        x, w = random.integers(0, 255, (2, 4, 5, 5), dtype=numpy.uint8), random.integers(0, 255, (6, 2, 3, 3), dtype=numpy.uint8)
        window = {"pads": [1, 0, 1, 2], "strides": [2, 1], "group": 2}
        self.ran("ConvInteger", "conv_integer(x, w, s, pads: [1, 0, 1, 2], strides: [2, 1], groups: 2)", window, x=x, w=w, s=az)
        by_channel = random.choice(numpy.float32([0.5, 1, 2]), 6)
        self.ran("QLinearConv", "qlinear_conv(x, c, d, w, e, f, g, h, b, pads: [1, 0, 1, 2], strides: [2, 1], groups: 2)", window, x=x,
                 c=scales["p"], d=az, w=w, e=by_channel, f=random.integers(0, 255, 6, dtype=numpy.uint8), g=numpy.float32(512), h=numpy.uint8(100),
                 b=random.integers(-999, 999, 6, dtype=numpy.int32))
        self.ran("DynamicQuantizeLinear", "dynamic_quantize_linear(x)", {}, x=numpy.float32([[0.5, 1, -2], [3, 1.5, 2]]))
        self.ran("DynamicQuantizeLinear", "dynamic_quantize_linear(x)", {}, x=numpy.zeros((2, 2), numpy.float32))

    def test_infinity_is_no_value(self):
        found = verdicts.search(rule("y = max_pool(pad(x, begins: [0, 0, 1], ends: 0, value: -inf), kernel: [1])", "y = max_pool(x, kernel: [1], pads: [1, 0])",
                                     types="x: [N, C, H]"), 1)
        self.assertEqual("", found.difference)
        self.assertGreater(found.compared, 0)
        found = verdicts.search(rule("y = pad(x, begins: [0, 0, 1], ends: 0)", "y = max_pool(pad(x, begins: [0, 0, 1], ends: 0, value: -inf), kernel: [1])",
                                     types="x: [N, C, H]"), 1)
        self.assertRegex(found.difference, "source 0, target -inf")

    def ran(self, onnx_type, text, attributes, **tensors):
        """What both compute, and compares it."""
        scope = Scope()
        exact = numpy.frompyfunc(lambda v: simple(Fraction(float(v))), 1, 1)
        scope.tensors = {n: Tensor(numpy.asarray(exact(v), dtype=object), v.dtype.name) for n, v in tensors.items()}
        ours = Side(Exact, scope).term(Parser(text).term(), "float32")[0].values.astype(float)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in tensors.items()]
        node = helper.make_node(onnx_type, list(tensors), ["y"], **attributes)
        model = helper.make_model(helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)]),
                                  opset_imports=[helper.make_opsetid("", 21)])
        theirs = onnx.reference.ReferenceEvaluator(model).run(None, tensors)[0].astype(float)
        numpy.testing.assert_array_equal(theirs, ours, err_msg=text)
        return theirs

    def test_windows(self):
        x = numpy.arange(2 * 4 * 5 * 6).reshape(2, 4, 5, 6) % 13 - 5
        w = numpy.arange(4 * 2 * 3 * 2).reshape(4, 2, 3, 2) % 7 - 3
        self.agrees("conv(x, w, strides: [2, 1], pads: [1, 0, 2, 1], dilations: [1, 2], groups: 2)", {"x": x, "w": w}, "Conv", strides=[2, 1],
                    pads=[1, 0, 2, 1], dilations=[1, 2], group=2)
        self.agrees("conv_transpose(x, w, strides: [2, 1], pads: [1, 0, 0, 1], output_padding: [1, 0])", {"x": x, "w": w}, "ConvTranspose",
                    strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0])
        self.agrees("max_pool(x, kernel: [2, 3], strides: 2, pads: [1, 1, 0, 1])", {"x": x}, "MaxPool", kernel_shape=[2, 3], strides=[2, 2],
                    pads=[1, 1, 0, 1])
        for include in (0, 1):
            self.agrees(f"average_pool(x, kernel: 3, strides: 2, pads: 1, count_include_pad: {include})", {"x": x}, "AveragePool",
                        kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=include)

    def test_movement(self):
        x = numpy.arange(24).reshape(2, 3, 4)
        self.agrees("gather(x, i, axis: 1)", {"x": x, "i": [[0, -1]]}, "Gather", axis=1)
        self.agrees("gather_elements(x, i, axis: 2)", {"x": x, "i": numpy.ones((2, 3, 1))}, "GatherElements", axis=2)
        self.agrees("gather_nd(x, i, batch: 1)", {"x": x, "i": [[[1, 2]], [[0, 3]]]}, "GatherND", batch_dims=1)
        self.agrees("pad(x, begins: [0, 1, 2], ends: [1, 0, 1], mode: reflect)", {"x": x[:, :, :]}, "Pad", [[0, 1, 2, 1, 0, 1]],
                    mode="reflect")
        self.agrees("pad(x, begins: [0, 1, 2], ends: [1, 0, 1])", {"x": x}, "Pad", [[0, 1, 2, 1, 0, 1]])
        self.agrees("slice(x, starts: [1, 2, 0], sizes: [1, 3, 2], steps: [1, -1, 3])", {"x": x}, "Slice",
                    [[1, 2, 0], [2, -10, 4], [0, 1, 2], [1, -1, 3]])
        self.agrees("trilu(x, diagonal: 1, upper: 0)", {"x": x}, "Trilu", [1], upper=0)
        y = numpy.arange(2 * 8 * 2 * 2).reshape(2, 8, 2, 2)
        self.agrees("depth_to_space(y, block: 2)", {"y": y}, "DepthToSpace", blocksize=2)
        self.agrees("depth_to_space(y, block: 2, order: column_first)", {"y": y}, "DepthToSpace", blocksize=2, mode="CRD")
        self.agrees("space_to_depth(y, block: 2)", {"y": y}, "SpaceToDepth", blocksize=2)
        for coordinates in ("asymmetric", "half_pixel"):
            for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
                self.agrees(f"resize(x, numerators: [1, 3, 5], denominators: [1, 1, 4], coordinates: {coordinates}, rounding: {rounding})",
                            {"x": x}, "Resize", [[], [1.0, 3.0, 1.25]], mode="nearest", coordinate_transformation_mode=coordinates,
                            nearest_mode=rounding)

    def test_reductions_and_functions(self):
        x = numpy.arange(24).reshape(2, 3, 4) % 7 - 3.5
        self.agrees("cumsum(x, axis: 1, exclusive: 1, reverse: 1)", {"x": x}, "CumSum", [1], exclusive=1, reverse=1)
        for ours, theirs in (("sum", "Sum"), ("mean", "Mean"), ("max", "Max"), ("min", "Min"), ("l2", "L2")):
            self.agrees(f"reduce_{ours}(x, axes: [0, -1], keep_dims: 0)", {"x": x}, f"Reduce{theirs}", [[0, 2]], keepdims=0)
        for name, theirs in (("softmax", "Softmax"), ("log_softmax", "LogSoftmax")):
            self.agrees(f"{name}(x, axis: 1)", {"x": x}, theirs, axis=1)
        for name, theirs in (("relu", "Relu"), ("elu", "Elu"), ("leaky_relu", "LeakyRelu"), ("hard_sigmoid", "HardSigmoid"), ("erf", "Erf"),
                             ("softplus", "Softplus"), ("round", "Round"), ("sign", "Sign"), ("sigmoid", "Sigmoid"), ("tanh", "Tanh")):
            self.agrees(f"{name}(x)", {"x": x}, theirs)
        self.agrees("mod(x, y, fmod: 1)", {"x": x, "y": x * 0 + 2}, "Mod", fmod=1)

    def test_casts_convert_as_the_standard_says(self):
        def cast(x, of, to):
            return Exact.cast(numpy.array([x], dtype=object), of, to)[0]
        self.assertEqual(2048, cast(2049, "int64", "float16"))
        self.assertEqual(-56, cast(200, "int64", "int8"))
        self.assertEqual(255, cast(-1, "int64", "uint8"))
        self.assertEqual(-1, cast(Fraction(-3, 2), "float32", "int64"))
        self.assertEqual(1, cast(Fraction(1, 2), "float32", "bool"))
        self.assertTrue(numpy.isnan(cast(300, "float32", "int8")))


class Differences(unittest.TestCase):
    def test_none_where_the_sides_are_equal(self):
        self.assertEqual("", difference("y = relu(relu(x))", "y = relu(x)"))
        self.assertEqual("", difference("y = log(exp(x))"))
        self.assertEqual("", difference("y = exp(log(x))", guards="positive(x)"))

    def test_of_numbers(self):
        self.assertRegex(difference("y = relu(x)"), r"output y at \[[0-9]+\]: source 0, target -")
        self.assertRegex(difference("y = x * z / z"), "^$")  # where the source has a value

    def test_of_a_target_without_a_value(self):
        self.assertRegex(difference("y = select(c, x / s, 0)", "y = select(c, x, 0) / s"), "target nan")
        self.assertRegex(difference("y = pad(x / s, begins: 1, ends: 1)", "y = pad(x, begins: 1, ends: 1) / s", "x: [A], s: []"), "target nan")
        self.assertRegex(difference("y = relu(z)", "y = relu(z) + 0 * sqrt(z)"), "target nan")

    def test_of_an_index_out_of_range(self):
        moved = difference("y = gather(x, slice(i, starts: [s], sizes: [n], steps: 1))",
                           "y = slice(gather(x, i), starts: [s, 0], sizes: [n, B], steps: 1)", "x: [A, B], i: int64[K]")
        self.assertRegex(moved, "the target does not run")
        self.assertRegex(difference("y = gather(x, i) * 0", "y = gather(x, i + 1) * 0", "x: [A], i: int64[K]"), "the target does not run")

    def test_of_casts(self):
        self.assertRegex(difference("y = cast(cast(i, to: int8), to: int64)", "y = i", "i: int64[K]"), "source")
        self.assertRegex(difference("y = cast(cast(i, to: float16), to: int64)", "y = i", "i: int64[K]"), "source")
        self.assertRegex(difference("y = equal(cast(i, to: float32), cast(j, to: float32))", "y = equal(i, j)", "i: int64[K], j: int64[K]"),
                         "source")
        self.assertEqual("", difference("y = cast(cast(i, to: float64), to: int32)", "y = i", "i: int32[K]"))

    def test_of_shapes(self):
        self.assertRegex(difference("y = x + z", "y = x", "x: [A, B], z: [C, B]"), "source")
        self.assertRegex(difference("y = relu(x)", "y = slice(x, starts: 1, sizes: [A], steps: 1)", "x: [A]"), "the target is ill-typed")

    def test_only_where_guards_hold(self):
        text = "y = slice(concat(x, z, axis: 0), starts: [s], sizes: [n], steps: 1)", "y = slice(x, starts: [s], sizes: [n], steps: 1)"
        self.assertEqual("", difference(*text, "x: [A], z: [B]", "s + n <= A"))
        self.assertNotEqual("", difference(*text, "x: [A], z: [B]", "s + n <= A + 1"))


def not_allowed(of, *arguments, **named):
    """What the judge says of a rule of the class `of`."""
    return float_class.search(rule(*arguments, **named), of, 1, wanted=3)[0]


class FloatClasses(unittest.TestCase):
    def test_exact_keeps_every_bit(self):
        for source, target in (("y = relu(relu(x))", "y = relu(x)"), ("y = neg(neg(x))", "y = x"), ("y = x * 1", "y = x"),
                               ("y = not(less(x, z))", "y = or(greater_equal(x, z), or(is_nan(x), is_nan(z)))"),
                               ("y = clip(x, min: 0)", "y = relu(x)"), ("y = relu(transpose(x, perm: p))", "y = transpose(relu(x), perm: p)")):
            self.assertEqual("", not_allowed("exact", source, target), source)
        for source, target, shown in (
                ("y = select(less(0, x), x, 0)", "y = relu(x)", "other bits"), ("y = x + 0", "y = x", r"-0\.0"),
                ("y = not(less(x, z))", "y = greater_equal(x, z)", "nan"), ("y = select(equal(x, x), u, z)", "y = u", "nan"),
                ("y = select(less(x, 6), x, 6)", "y = clip(x, max: 6)", "nan"), ("y = x + z + w", "y = x + (z + w)", "other bits"),
                ("y = maximum(x, z)", "y = maximum(z, x)", "0"), ("y = reduce_max(x, axes: [0])", "y = reduce_max(relu(x), axes: [0])", "other bits")):
            self.assertRegex(not_allowed("exact", source, target), shown, source)

    def test_rounding_keeps_what_is_finite(self):
        m = "m = reduce_max(x, axes: [0])\n    "
        self.assertRegex(not_allowed("rounding", m + "y = exp(x - m) / reduce_sum(exp(x - m), axes: [0])",
                                     "y = exp(x) / reduce_sum(exp(x), axes: [0])", "x: [A]"), "finite")
        self.assertRegex(not_allowed("rounding", "y = exp(x - z) * exp(z)", "y = exp(x + z) * exp(-z)"), "finite|changes")
        self.assertEqual("", not_allowed("rounding", "y = reciprocal(exp(neg(x)) + 1)", "y = sigmoid(x)"))
        self.assertEqual("", not_allowed("rounding", "y = x / 6", "y = x * (1/6)"))

    def test_rounding_keeps_how_large_errors_are(self):
        moments = "d = x - reduce_mean(x, axes: [0])\n    y = reduce_mean(d * d, axes: [0])"
        self.assertRegex(not_allowed("rounding", moments, "m = reduce_mean(x, axes: [0])\n    y = reduce_mean(x * x, axes: [0]) - m * m",
                                     "x: [A]"), "a large error")
        self.assertRegex(not_allowed("rounding", "y = (x - z) * (x - z)", "y = x * x - 2 * x * z + z * z"), "a large error")
        self.assertEqual("", not_allowed("rounding", "y = x + s + t", "y = x + (s + t)"))
        self.assertEqual("", not_allowed("rounding", "y = matmul(x, a) * s", "y = matmul(x, a * s)", "x: [M, K], a: [K, N], s: []"))

    def test_rounding_keeps_jumps(self):
        self.assertRegex(not_allowed("rounding", "y = floor(x + 3)", "y = floor(x) + 3"), "a large error")
        self.assertRegex(not_allowed("rounding", "y = less(x + 1, z + 1)", "y = less(x, z)"), "another value")
        self.assertEqual("", not_allowed("rounding", "y = floor(x) * 3 + z", "y = z + floor(x) * 3"))

    def test_rounding_keeps_nan_infinities_and_signs_of_zero(self):
        self.assertRegex(not_allowed("rounding", "y = 1 / (x + 0)", "y = 1 / x"), "an infinity changes")
        self.assertRegex(not_allowed("rounding", "y = x - x + z", "y = z"), "NaN changes")
        self.assertRegex(not_allowed("rounding", "y = x * 3 + 0", "y = x * 3"), "the sign of 0 changes")
        self.assertRegex(not_allowed("rounding", "y = 0 - x", "y = neg(x)"), "the sign of 0 changes")

    def test_rounding_allows_no_terms_that_the_source_lacks(self):
        for source, target, types in (
                ("y = neg(x)", "y = (transpose(x, perm: [1, 0]) - x) - transpose(x, perm: [1, 0])", "x: [A, A]"),
                ("y = neg(x)", "y = cumsum(x, axis: 1, exclusive: 1) - cumsum(x, axis: 1)", "x: [A, B]"),
                ("y = matmul(slice(x, starts: 0, sizes: [M, K], steps: 1), slice(w, starts: 0, sizes: [K, N], steps: 1))",
                 "y = matmul(x, w) - slice(x, starts: [0, K], sizes: [M, 1], steps: 1) * slice(w, starts: [K, 0], sizes: [1, N], steps: 1)",
                 "x: [M, K + 1], w: [K + 1, N]"),
                ("y = maximum(x, z)", "y = x + relu(z - x)", ""), ("y = clip(x, min: 0, max: 6)", "y = relu(x) - relu(x - 6)", ""),
                ("y = minimum(x, 6)", "y = x - relu(x - 6)", "")):
            self.assertRegex(not_allowed("rounding", source, target, types), "a large error", target)

    def test_rounding_keeps_nan_where_it_is(self):
        self.assertRegex(not_allowed("rounding", "y = x + x", "y = x + x + transpose(x, perm: [1, 0]) * 0", "x: [A, A]"), "NaN changes")
        # Zeros of a kernel spread it.
        self.assertEqual("", not_allowed("rounding", "y = conv(x, w, pads: [1, 1])", "y = conv(x, pad(w, begins: 0, ends: [0, 0, 1]), pads: [1, 2])",
                                         "x: [N, C, H], w: [O, C, R]"))

    def test_classes_depend_on_guards_on_values(self):
        self.assertRegex(not_allowed("exact", "y = abs(x)", "y = x", guards="nonnegative(x)"), r"-0\.0")
        self.assertRegex(not_allowed("exact", "y = select(less(x, s), x, s)", "y = clip(x, max: 6)", guards="equal(s, 6)"), "nan")
        self.assertRegex(not_allowed("exact", "y = select(less(0, x), x, s)", "y = relu(x)", guards="equal(s, 0)"), "other bits")
        self.assertRegex(not_allowed("rounding", "y = x + s", "y = x", guards="equal(s, 0)"), "the sign of 0 changes")
        self.assertRegex(not_allowed("rounding", "y = s - x", "y = neg(x)", guards="equal(s, 0)"), "the sign of 0 changes")

    def test_exact_keeps_zeros_of_integers(self):
        for source, target in (("y = cast(neg(i), to: float32)", "y = neg(cast(i, to: float32))"),
                               ("y = neg(cast(i, to: float32))", "y = cast(neg(i), to: float32)")):
            self.assertRegex(not_allowed("exact", source, target, "i: int8[A]"), r"-0\.0")

    def test_special_allows_everything(self):
        self.assertEqual("", not_allowed("special", "y = x - x + z", "y = z"))

    def test_zeros_and_nan_are_those_of_onnx_runtime(self):
        def ran(operator, x, *bounds):
            info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy"]
            constants = [helper.make_tensor(f"c{k}", TensorProto.FLOAT, [], [b]) for k, b in enumerate(bounds)]
            node = helper.make_node(operator, ["x"] + [c.name for c in constants], ["y"])
            model = helper.make_model(helper.make_graph([node], "g", info[:1], info[1:], constants), ir_version=10,
                                      opset_imports=[helper.make_opsetid("", 21)])
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            return session.run(None, {"x": numpy.array([x], dtype=numpy.float32)})[0][0]

        d = Floats("float32", {key: values[0] for key, values in POLICIES.items()})
        for x in (-0.0, 0.0, numpy.nan, -numpy.inf):
            own = numpy.float32([x])
            self.assertEqual(str(ran("Relu", x)), str(d.relu(own)[0]))
            self.assertEqual(str(ran("Clip", x, 0.0, 6.0)), str(d.clip(own, 0, 6, "float32")[0]))
            self.assertEqual(str(ran("Clip", x, -6.0, 0.0)), str(d.clip(own, -6, 0, "float32")[0]))


class Counterexamples(unittest.TestCase):
    def replayed(self, of, tensors=(), integers=None, choice="", index=(0,)):
        shaped = [{"name": n, "shape": s, "value": v} for n, s, v in tensors]
        return counterexamples.replay(of, {"choice": choice, "integers": integers or {}, "tensors": shaped, "output": "y", "index": index}, 1)

    def test_of_numbers_are_evaluated(self):
        shift = rule("y = x + z", "y = x", "x: [A], z: [A]")
        self.assertEqual("", self.replayed(shift, [("x", [1], "[0]"), ("z", [1], "[1/2]")], {"A": 1}))
        self.assertEqual("output y at [0]: 0 in the source, 0 in the target",
                         self.replayed(shift, [("x", [1], "[0]"), ("z", [1], "[0]")], {"A": 1}))
        inverse = rule("y = x / z", "y = x", "x: [A], z: [A]")
        self.assertEqual("the source is not defined there", self.replayed(inverse, [("x", [1], "[1]"), ("z", [1], "[0]")], {"A": 1}))

    def test_0_times_an_approximation_is_0(self):
        by_zero = rule("y = z * x", "y = x / (z * log(x))", "x: [A], z: [A]")
        self.assertEqual("", self.replayed(by_zero, [("x", [1], "[2]"), ("z", [1], "[0]")], {"A": 1}))

    def test_have_numbers_of_their_types(self):
        sign = rule("y = relu(cast(i, to: int32))", "y = cast(i, to: int32)", "i: uint8[A]")
        for value in ("[-1]", "[256]"):
            self.assertEqual("an entry of i is no uint8", self.replayed(sign, [("i", [1], value)], {"A": 1}))
        self.assertEqual("output y at [0]: 255 in the source, 255 in the target", self.replayed(sign, [("i", [1], "[255]")], {"A": 1}))

    def test_of_types_are_typed(self):
        sum_of = rule("y = x + z", "y = x", "x: [A], z: [B]")
        self.assertEqual("", self.replayed(sum_of, integers={"A": 1, "B": 2}))
        self.assertRegex(self.replayed(sum_of, integers={"A": 2, "B": 1}), "both sides are typed")
        part = rule("y = slice(x, starts: [0], sizes: [n], steps: 1)", "y = x", "x: [A]")
        self.assertRegex(self.replayed(part, integers={"A": 2, "n": 0}), "no sizes of this kind")  # an empty tensor is none

    def test_open_choices_are_kept(self):
        any_rank = rule("y = reduce_sum(x, axes: s, keep_dims: f)", "y = x")
        self.assertRegex(self.replayed(any_rank, choice="x: 2 dimensions, s = [], f = 1"), "both sides are typed")
        self.assertEqual("", self.replayed(any_rank, choice="x: 2 dimensions, s = [0, 1], f = 0"))


class Judgement(unittest.TestCase):
    def test_ill_typed_is_judged_at_the_given_choice(self):
        flat = rule("y = relu(x)", "y = reshape(relu(x), shape: [elements(x)])")
        for choice, text, expected in (("x: 1 dimension", "a clash", ["ill-typed"]), ("x: 2 dimensions", "a clash", []),
                                       ("", "target: a clash (for x: 1 dimension)", ["ill-typed"]), ("", "a clash (for x: 2 dimensions)", [])):
            said = {"verdict": "ill-typed", "choice": choice, "open": text}
            self.assertEqual(expected, [kind for kind, _ in judge.judge(flat, said, 1, 6)[0]], choice + text)

    def test_one_element_that_is_gathered_is_an_array(self):
        scope = Scope()
        scope.tensors = {"x": Tensor(numpy.array([3, 4], dtype=object), "float32"), "i": Tensor(numpy.array(1, dtype=object), "int64")}
        self.assertEqual((), Side(Exact, scope).term(Parser("gather(x, i)").term(), "float32")[0].shape)

    def test_operators_refuse_what_is_ill_typed(self):
        scope = Scope()
        scope.tensors = {"x": Tensor(numpy.zeros((2, 3), dtype=object), "float32"), "i": Tensor(numpy.zeros(2, dtype=object), "int64")}
        for text in ("x + i", "matmul(x, x)", "slice(x, starts: 0, sizes: [3, 3], steps: 1)", "exp(i)", "concat(x, i, axis: 0)", "not(x)"):
            with self.assertRaises(IllTyped, msg=text):
                Side(Exact, scope).term(Parser(text).term(), "float32")


if __name__ == "__main__":
    unittest.main()
