"""Rules of class special of a user: by default finite inputs give no NaN after xflow optimize: special_rules_test.py PROGRAM."""

import numpy
import onnx
import onnxruntime
import program
from onnx import helper, numpy_helper
from program import ROOFLINE, ProgramTest, float_info, model_of

SHAPE = [8, 64]
# Differences of their squares cancel, and exp of them is infinite.
LARGE = numpy.float32(1000) + numpy.random.default_rng(1).uniform(0, 1e-3, SHAPE).astype(numpy.float32)


def reduce(operator, value, output):
    return helper.make_node(operator, [value, "axis"] if operator == "ReduceSum" else [value], [output], keepdims=1,
                            **({} if operator == "ReduceSum" else {"axes": [1]}))


def node(operator, operands, output):
    return helper.make_node(operator, operands, [output])


def shifted():
    return [reduce("ReduceMax", "x", "m"), node("Sub", ["x", "m"], "d"), node("Exp", ["d"], "e")]


# Of each: the rule, and the nodes of a model of x that it would rewrite.
RULES = {
    "softmax-without-shift": (
        """
  with
    x: [N, C]
  source
    m = reduce_max(x, axes: [1])
    y = exp(x - m) / reduce_sum(exp(x - m), axes: [1])
  target
    y = exp(x) / reduce_sum(exp(x), axes: [1])
""",
        [*shifted(), reduce("ReduceSum", "e", "s"), node("Div", ["e", "s"], "y")],
    ),
    "softmax-without-shift-and-one-exp": (
        """
  with
    x: [N, C]
  source
    e = exp(x - reduce_max(x, axes: [1]))
    y = e / reduce_sum(e, axes: [1])
  target
    f = exp(x)
    y = f / reduce_sum(f, axes: [1])
""",
        [*shifted(), reduce("ReduceSum", "e", "s"), node("Div", ["e", "s"], "y")],
    ),
    "logarithm-of-sum-without-shift": (
        """
  with
    x: [N, C]
  source
    m = reduce_max(x, axes: [1])
    y = (x - m) - log(reduce_sum(exp(x - m), axes: [1]))
  target
    y = x - log(reduce_sum(exp(x), axes: [1]))
""",
        [*shifted(), reduce("ReduceSum", "e", "s"), node("Log", ["s"], "l"), node("Sub", ["d", "l"], "y")],
    ),
    "deviation-by-moments": (
        """
  with
    x: [N, C]
  source
    m = reduce_mean(x, axes: [1])
    q = reduce_mean(x * x, axes: [1])
    d = x - m
    y = sqrt(reduce_mean(d * d, axes: [1]))
  target
    m = reduce_mean(x, axes: [1])
    q = reduce_mean(x * x, axes: [1])
    y = sqrt(q - m * m)
""",
        [reduce("ReduceMean", "x", "m"), node("Mul", ["x", "x"], "s"), reduce("ReduceMean", "s", "q"), node("Sub", ["x", "m"], "d"),
         node("Mul", ["d", "d"], "e"), reduce("ReduceMean", "e", "v"), node("Sqrt", ["v"], "y")],
    ),
    "product-of-exponentials": (
        """
  with
    x: [N, C]
  source
    y = exp(x - abs(x)) * exp(-x + abs(x))
  target
    y = exp(x) * exp(-x)
""",
        [node("Abs", ["x"], "a"), node("Sub", ["x", "a"], "d"), node("Exp", ["d"], "e"), node("Neg", ["x"], "n"),
         node("Add", ["n", "a"], "p"), node("Exp", ["p"], "f"), node("Mul", ["e", "f"], "y")],
    ),
}


def evaluated(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": LARGE})[0]


class SpecialRules(ProgramTest):
    def optimize(self, *arguments):
        return self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "300states", "--no-gate", "--device", "profile:npu.xprof", "--rules",
                            "my.rules", *arguments)

    def optimized(self, *arguments):
        self.optimize(*arguments)
        return onnx.load(self.folder / "out.onnx")

    def test_finite_inputs_give_no_nan(self):
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        for name, (rule, nodes) in RULES.items():
            with self.subTest(rule=name):
                outputs = [float_info(output, None) for output in ("y", "m", "q") if name == "deviation-by-moments" or output == "y"]
                axis = numpy_helper.from_array(numpy.array([1], numpy.int64), "axis")
                model = model_of(nodes, [float_info("x", SHAPE)], outputs, [axis] if any("axis" in n.input for n in nodes) else [])
                self.write("in.onnx", model)
                self.write("my.rules", f"rule {name}{rule}")
                verdict = self.succeed("verify", "my.rules").split("\n")[0].split()
                self.assertEqual(["proved", "special"], [verdict[1], verdict[4]])
                self.assertTrue(numpy.isfinite(evaluated(model)).all())

                by_default = self.optimized()
                self.assertEqual([n.op_type for n in nodes], [n.op_type for n in by_default.graph.node])
                self.assertTrue(numpy.isfinite(evaluated(by_default)).all())
                # The rule is found in the model, and would have given what is not finite.
                with_any = self.optimized("--numbers", "any")
                self.assertNotEqual([n.op_type for n in nodes], [n.op_type for n in with_any.graph.node])
                self.assertFalse(numpy.isfinite(evaluated(with_any)).all())

    def applied(self, nodes, initializers, rule, *arguments):
        """True if the rule is applied to the model, however small the gain is."""
        model = model_of(nodes, [float_info("x", SHAPE)], [float_info("y", SHAPE)], initializers)
        self.write("in.onnx", model)
        self.write("my.rules", f"rule r{rule}")
        self.assertIn(" proved ", self.succeed("verify", "my.rules"))
        return "no proved rule makes it cheaper" not in self.optimize(*arguments)

    def test_rules_that_change_nan_are_not_applied_as_exact(self):
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        six = numpy_helper.from_array(numpy.float32([6]), "s")
        nodes = [node("Less", ["x", "s"], "c"), node("Where", ["c", "x", "s"], "y")]
        rule = "\n  source\n    y = select(less(x, s), x, s)\n  target\n    y = clip(x, max: 6)\n  where equal(s, 6)\n"
        self.assertFalse(self.applied(nodes, [six], rule, "--numbers", "exact"))
        self.assertFalse(self.applied(nodes, [six], rule))
        self.assertTrue(self.applied(nodes, [six], rule, "--numbers", "any"))

    def test_rules_that_change_the_sign_of_zero_are_not_applied_by_default(self):
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        zero = numpy_helper.from_array(numpy.float32([0]), "s")
        rules = {"Add": (["x", "s"], "x + s", "x"), "Sub": (["s", "x"], "s - x", "neg(x)")}
        for operator, (operands, source, target) in rules.items():
            with self.subTest(operator=operator):
                nodes = [node(operator, operands, "z"), node("Abs", ["z"], "a"), node("Add", ["a", "z"], "y")]
                rule = f"\n  source\n    y = {source}\n  target\n    y = {target}\n  where equal(s, 0)\n"
                self.assertFalse(self.applied(nodes, [zero], rule))
                self.assertTrue(self.applied(nodes, [zero], rule, "--numbers", "any"))


if __name__ == "__main__":
    program.main()
