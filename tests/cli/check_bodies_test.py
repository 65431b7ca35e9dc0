"""`xflow check` of models with If, Loop and Scan: what xflow computes is what ONNX Runtime computes."""

import numpy
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, float_info, model_of

OPSET = 17


def scalar(name, kind):
    return helper.make_tensor_value_info(name, kind, [])


def free(name, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


def stored(name, value, kind=numpy.float32):
    return numpy_helper.from_array(numpy.asarray(value, kind), name)


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, **attributes)


def choose_by_sum(random):
    """An If inside of an If, whose branches capture an input, a value and a constant of the graphs around them."""
    inner = [helper.make_graph([node("Mul", ["p", "factor"], ["m"]), node("Sub", ["m", "r"], [f"i{k}"])], "inner", [], [free(f"i{k}")]) for k in (0, 1)]
    inner[1].node[0].input[1] = "other"
    then = helper.make_graph([node("Neg", ["x"], ["p"]), node("ReduceMax", ["x"], ["top"], keepdims=0), node("Greater", ["top", "limit"], ["d"]),
                              node("If", ["d"], ["q"], then_branch=inner[0], else_branch=inner[1])], "then", [], [free("q")])
    otherwise = helper.make_graph([node("Add", ["r", "factor"], ["e"])], "else", [], [free("e")])
    nodes = [node("Relu", ["x"], ["r"]), node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
             node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise), node("Tanh", ["y"], ["z"])]
    weights = [stored("factor", random.uniform(-2, 2)), stored("other", random.uniform(-2, 2)), stored("limit", 0.9), stored("zero", 0)]
    return nodes, [float_info("x", [3, 4])], [free("z"), free("y")], weights


def loop_until(random):
    """A Loop with a number of iterations, a condition, two carried values that are exchanged, and two results of each iteration."""
    steps = [node("Mul", ["a", "decay"], ["u"]), node("Add", ["b", "x"], ["v"]), node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
             node("Add", ["u", "f"], ["w"]), node("ReduceSum", ["v"], ["t"], keepdims=0), node("Abs", ["t"], ["n"]), node("Less", ["n", "limit"], ["on"]),
             node("And", ["on", "go"], ["next"])]
    body = helper.make_graph(steps, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("a"), free("b")],
                             [free("next", TensorProto.BOOL), free("v"), free("u"), free("w"), free("n")])
    nodes = [node("Neg", ["x"], ["m"]), node("Loop", ["trips", "first", "x", "m"], ["p", "q", "all", "sums"], body=body)]
    weights = [stored("decay", random.uniform(0.5, 1)), stored("limit", random.uniform(1, 20)), stored("trips", random.integers(1, 9), numpy.int64),
               stored("first", True, bool)]
    return nodes, [float_info("x", [2, 3])], [free(name) for name in ("p", "q", "all", "sums")], weights


def loop_without_iteration(random):
    steps = [node("Add", ["a", "x"], ["u"]), node("Identity", ["go"], ["next"])]
    body = helper.make_graph(steps, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("a")], [free("next", TensorProto.BOOL), free("u")])
    nodes = [node("Loop", ["trips", "first", "x"], ["p"], body=body)]
    weights = [stored("trips", random.integers(0, 2), numpy.int64), stored("first", False, bool)]
    return nodes, [float_info("x", [2, 3])], [free("p")], weights


def growing_loop(random):
    """The state of a Loop becomes longer in each iteration."""
    steps = [node("Concat", ["a", "x"], ["u"], axis=0), node("Identity", ["go"], ["next"])]
    body = helper.make_graph(steps, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("a")], [free("next", TensorProto.BOOL), free("u")])
    nodes = [node("Loop", ["trips", "", "x"], ["p"], body=body), node("Shape", ["p"], ["shape"])]
    return nodes, [float_info("x", [2, 3])], [free("p"), free("shape", TensorProto.INT64)], [stored("trips", random.integers(1, 5), numpy.int64)]


def scan_both_ways(random):
    """A Scan over two sequences along different axes and in different directions, with results along other axes."""
    axes, directions = [1, -2], [int(d) for d in random.integers(0, 2, 2)]
    steps = [node("Mul", ["s", "decay"], ["m"]), node("Add", ["m", "a"], ["u"]), node("Sub", ["u", "b"], ["o"]), node("Neg", ["o"], ["n"])]
    body = helper.make_graph(steps, "body", [free("s"), free("a"), free("b")], [free("u"), free("o"), free("n")])
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0]),
             node("Scan", ["zero", "x", "t"], ["last", "all", "negative"], body=body, num_scan_inputs=2, scan_input_axes=axes, scan_input_directions=directions,
                  scan_output_axes=[int(a) for a in random.choice([0, 1, -1, -2], 2)], scan_output_directions=[int(d) for d in random.integers(0, 2, 2)])]
    return nodes, [float_info("x", [3, 5])], [free("last"), free("all"), free("negative")], [stored("zero", numpy.zeros(3)), stored("decay", random.uniform(0.5, 1))]


def scan_with_a_loop(random):
    """A Scan whose body has a Loop, whose body has an If."""
    branches = {f"{name}_branch": helper.make_graph([node(kind, ["v"], [name])], name, [], [free(name)]) for name, kind in (("then", "Tanh"), ("else", "Neg"))}
    inner = helper.make_graph([node("ReduceSum", ["v"], ["t"], keepdims=0), node("Greater", ["t", "zero"], ["c"]), node("If", ["c"], ["k"], **branches),
                               node("Add", ["k", "a"], ["w"]), node("Identity", ["go"], ["next"])], "inner",
                              [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("v")], [free("next", TensorProto.BOOL), free("w")])
    steps = [node("Add", ["s", "a"], ["e"]), node("Loop", ["trips", "", "e"], ["u"], body=inner), node("Identity", ["u"], ["o"])]
    body = helper.make_graph(steps, "body", [free("s"), free("a")], [float_info("u", [4]), float_info("o", [4])])
    nodes = [node("Scan", ["first", "x"], ["last", "all"], body=body, num_scan_inputs=1)]
    weights = [stored("first", random.uniform(-1, 1, 4)), stored("zero", 0), stored("trips", 3, numpy.int64)]
    return nodes, [float_info("x", [5, 4])], [free("last"), free("all")], weights


MODELS = [choose_by_sum, loop_until, loop_without_iteration, growing_loop, scan_both_ways, scan_with_a_loop]


class Runs(ProgramTest):
    def test_are_those_of_onnx_runtime(self):
        """The second model has the results of ONNX Runtime as constants."""
        for make in MODELS:
            for seed in range(8):
                with self.subTest(make.__name__, seed=seed):
                    random = numpy.random.default_rng(seed)
                    nodes, inputs, outputs, weights = make(random)
                    model = model_of(nodes, inputs, outputs, weights, opset=OPSET)
                    shape = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim]
                    x = random.uniform(-1, 1, shape).astype(numpy.float32)
                    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
                    results = session.run(None, {"x": x})
                    self.write("a.onnx", model)
                    numpy.savez(self.folder / "x.npz", x=x)
                    for wrong in (False, True):
                        constants = [numpy_helper.from_array(result + (result.dtype.type(1) if wrong else 0), f"k{k}").SerializeToString()
                                     for k, result in enumerate(results)]
                        tensors = [TensorProto.FromString(constant) for constant in constants]
                        identities = [node("Identity", [f"k{k}"], [output.name]) for k, output in enumerate(outputs)]
                        self.write("b.onnx", model_of(identities, inputs, outputs, tensors, opset=OPSET))
                        run = self.run_program("check", "a.onnx", "b.onnx", "--inputs", "x.npz")
                        self.assertEqual((1 if wrong else 0, ""), (run.returncode, run.stderr), run.stdout)

    def check_fails(self, message, nodes, outputs, weights, inputs=None):
        self.write("a.onnx", model_of(nodes, inputs or [float_info("x", [2, 3])], outputs, weights, opset=OPSET))
        self.fail_with(3, f"a.onnx: {message}; --runner runs both models in a runtime", "check", "a.onnx", "a.onnx")

    def test_end_where_onnx_defines_nothing(self):
        label = "(with x: float32[2,3], seed 1)"
        steps = [node("Gather", ["a", "i"], ["u"]), node("Expand", ["u", "shape"], ["w"]), node("Identity", ["go"], ["next"])]
        body = helper.make_graph(steps, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("a")],
                                 [free("next", TensorProto.BOOL), free("w")])
        nodes = [node("Loop", ["trips", "", "x"], ["p"], body=body)]
        weights = [stored("trips", 3, numpy.int64), stored("shape", [2, 3], numpy.int64)]
        self.check_fails(f"node 0 of graph body of an unnamed Loop (Gather): an index is out of range {label}", nodes, [free("p")], weights)
        # No iteration has a result to stack.
        nodes = [node("Loop", ["trips", "", "x"], ["p", "all"], body=self.counting())]
        self.check_fails(f"node 0 of graph 'g' (Loop): no iteration has a result to stack {label}", nodes, [free("all")], [stored("trips", 0, numpy.int64)])
        division = [node("Div", ["one", "i"], ["k"]), node("Cast", ["k"], ["f"], to=TensorProto.FLOAT), node("Add", ["a", "f"], ["u"]),
                    node("Identity", ["go"], ["next"])]
        nodes = [node("Loop", ["trips", "", "x"], ["p"], body=self.counting(division, 1))]
        self.check_fails(f"node 0 of graph body of an unnamed Loop (Div): an integer is divided by zero {label}", nodes, [free("p")],
                         [stored("trips", 2, numpy.int64), stored("one", 1, numpy.int64)])
        conversion = [node("Div", ["a", "zero"], ["q"]), node("Cast", ["q"], ["k"], to=TensorProto.INT32), node("Cast", ["k"], ["u"], to=TensorProto.FLOAT),
                      node("Identity", ["go"], ["next"])]
        nodes = [node("Loop", ["trips", "", "x"], ["p"], body=self.counting(conversion, 1))]
        self.check_fails(f"node 1 of graph body of an unnamed Loop (Cast): a number is converted to an integer that cannot hold it {label}", nodes,
                         [free("p")], [stored("trips", 2, numpy.int64), stored("zero", 0)])

    def test_end_at_the_bound_of_iterations(self):
        nodes = [node("Loop", ["trips", "", "x"], ["p", "all"], body=self.counting())]
        message = "node 0 of graph 'g' (Loop): more than 10000 iterations (with x: float32[2,3], seed 1)"
        self.check_fails(message, nodes, [free("p")], [stored("trips", 10001, numpy.int64)])

    @staticmethod
    def counting(steps=None, results=2):
        steps = steps or [node("Neg", ["a"], ["u"]), node("Identity", ["go"], ["next"])]
        outputs = [free("next", TensorProto.BOOL), free("u"), free("u")][: 1 + results]
        return helper.make_graph(steps, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), free("a")], outputs)

    def test_of_a_model_that_cannot_be_run_are_no_difference(self):
        branch = [helper.make_graph([node(kind, ["x"], ["b"], domain=domain)], "b", [], [free("b")]) for kind, domain in (("Neg", ""), ("Foo", "custom"))]
        models = []
        for k in (0, 1):
            nodes = [node("If", ["c"], ["y"], then_branch=branch[k], else_branch=branch[k])]
            models.append(model_of(nodes, [float_info("x", [2, 3]), scalar("c", TensorProto.BOOL)], [free("y")], opset=OPSET))
        models[1].opset_import.append(helper.make_opsetid("custom", 1))
        self.write("a.onnx", models[0])
        self.write("b.onnx", models[1])
        run = self.run_program("check", "a.onnx", "b.onnx")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: b\.onnx: node 0 of graph \w+ of an unnamed If \(Foo\): cannot execute: no operator for custom\.Foo\n\Z")


if __name__ == "__main__":
    program.main()
