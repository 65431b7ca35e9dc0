"""`xflow check` of LSTM, GRU and RNN: what xflow computes is what ONNX Runtime computes."""

import pathlib

import numpy
import onnx
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, model_of

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}  # of a direction
# The activations of ONNX, with numbers in activation_alpha and activation_beta that they need.
ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Softsign": 0, "Softplus": 0, "LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1, "Affine": 2,
               "ScaledTanh": 2, "HardSigmoid": 2}
NO_DEFAULTS = ["Affine", "ScaledTanh", "ThresholdedRelu"]
TYPES = {"float": numpy.float32, "double": numpy.float64, "float16": numpy.float16}
BACKEND = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


class Case:
    """A model of one node, with its inputs in the layout 0. Sizes, attributes, operands and outputs are drawn."""

    def __init__(self, kind, random, **attributes):
        self.kind, self.random = kind, random
        self.sequence, self.batch, self.size, self.hidden = (int(n) for n in random.integers(1, 5, 4))
        direction = attributes.pop("direction", None) or str(random.choice(["forward", "reverse", "bidirectional"]))
        self.directions = 2 if direction == "bidirectional" else 1
        self.attributes = {"direction": direction, "hidden_size": self.hidden, **attributes}
        rows = GATES[kind] * self.hidden
        self.inputs = {"x": self.draw(self.sequence, self.batch, self.size)}
        self.inputs |= {"w": self.draw(self.directions, rows, self.size), "r": self.draw(self.directions, rows, self.hidden)}
        self.names = ["x", "w", "r", "", "", "", "", ""]
        state = (self.directions, self.batch, self.hidden)
        self.add(3, "b", lambda: self.draw(self.directions, 2 * rows))
        self.add(4, "lengths", lambda: random.integers(1, self.sequence + 1, self.batch).astype(numpy.int32))
        self.add(5, "h", lambda: self.draw(*state))
        if kind == "LSTM":
            self.add(6, "c", lambda: self.draw(*state))
            self.add(7, "p", lambda: self.draw(self.directions, 3 * self.hidden))
        while not self.names[-1]:
            del self.names[-1]
        names = ["y", "last_h", "last_c"] if kind == "LSTM" else ["y", "last_h"]
        kept = random.integers(0, 2, len(names)).astype(bool)
        kept[random.integers(len(names))] = True
        self.outputs = [name if keep else "" for name, keep in zip(names, kept)]

    def draw(self, *shape):
        return self.random.uniform(-0.6, 0.6, shape)

    def add(self, place, name, make):
        if self.random.integers(2):
            self.names[place] = name
            self.inputs[name] = make()

    def typed(self, kind):
        return {name: value if name == "lengths" else value.astype(kind) for name, value in self.inputs.items()}

    def model(self, inputs, outputs=None, opset=17, **attributes):
        node = helper.make_node(self.kind, self.names, self.outputs, **(self.attributes | attributes))
        names = [name for name in self.outputs if name]
        infos = [info(name, value) for name, value in zip(names, outputs)] if outputs else [onnx.ValueInfoProto(name=name) for name in names]
        return model_of([node], [info(name, value) for name, value in inputs.items()], infos, opset=opset)

    def run(self, inputs):
        """The results of ONNX Runtime, which has the layout 0 alone."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(self.model(inputs).SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)


def with_batch_first(case, inputs, results):
    """The same with the layout 1."""
    moved = {name: value.swapaxes(0, 1).copy() if name in ("x", "h", "c") else value for name, value in inputs.items()}
    names = [name for name in case.outputs if name]
    return moved, [result.transpose(2, 0, 1, 3).copy() if name == "y" else result.swapaxes(0, 1).copy() for name, result in zip(names, results)]


class Runs(ProgramTest):
    def compare(self, model, inputs, results):
        """The second model has the expected results as constants; wrong ones must differ."""
        self.write("a.onnx", model)
        numpy.savez(self.folder / "x.npz", **inputs)
        for wrong in (False, True):
            tensors = [numpy_helper.from_array(result + result.dtype.type(0.25 if wrong else 0), f"k{k}") for k, result in enumerate(results)]
            identities = [helper.make_node("Identity", [f"k{k}"], [output.name]) for k, output in enumerate(model.graph.output)]
            self.write("b.onnx", model_of(identities, model.graph.input, model.graph.output, tensors, opset=17))
            run = self.run_program("check", "a.onnx", "b.onnx", "--inputs", "x.npz")
            self.assertEqual((1 if wrong else 0, ""), (run.returncode, run.stderr), run.stdout + str(model.graph.node))

    def check_case(self, case, kind=numpy.float32, opset=17):
        inputs = case.typed(kind)
        # ONNX Runtime has float alone.
        in_float = {name: value if name == "lengths" else value.astype(numpy.float32) for name, value in inputs.items()}
        results = [result.astype(kind) for result in case.run(in_float)]
        self.compare(case.model(inputs, results, opset), inputs, results)
        return inputs, results

    def test_with_random_operands_are_those_of_onnx_runtime(self):
        for kind in GATES:
            for seed in range(24):
                with self.subTest(kind, seed=seed):
                    self.check_case(Case(kind, numpy.random.default_rng(seed)))

    def test_with_the_batch_first(self):
        for kind in GATES:
            for seed in range(8):
                with self.subTest(kind, seed=seed):
                    case = Case(kind, numpy.random.default_rng(seed))
                    inputs = case.typed(numpy.float32)
                    inputs, results = with_batch_first(case, inputs, case.run(inputs))
                    self.compare(case.model(inputs, results, layout=1), inputs, results)

    def test_of_other_types_and_versions(self):
        for kind in GATES:
            for name, dtype in TYPES.items():
                for opset in (7, 14, 22):
                    with self.subTest(kind, type=name, opset=opset):
                        self.check_case(Case(kind, numpy.random.default_rng(opset)), dtype, opset)

    def test_with_all_activations(self):
        for kind in GATES:
            for k, activation in enumerate(ACTIVATIONS):
                for numbers in (True, False):
                    if not numbers and activation in NO_DEFAULTS:
                        continue
                    with self.subTest(kind, activation=activation, numbers=numbers):
                        random = numpy.random.default_rng(k)
                        direction = str(random.choice(["forward", "bidirectional"]))
                        count = FUNCTIONS[kind] * (2 if direction == "bidirectional" else 1)
                        names = [activation if f % 2 == 0 else str(random.choice(["Tanh", "LeakyRelu", "Relu"])) for f in range(count)]
                        attributes = {"activations": names}
                        if numbers:
                            taken = [sum(ACTIVATIONS[name] > k for name in names) for k in (0, 1)]
                            attributes |= {name: [float(a) for a in random.uniform(0.1, 0.9, n)]
                                           for name, n in zip(["activation_alpha", "activation_beta"], taken) if n}
                        self.check_case(Case(kind, random, direction=direction, **attributes))

    def test_with_clip_and_coupled_gates(self):
        for kind, flag in (("LSTM", "input_forget"), ("GRU", "linear_before_reset"), ("RNN", None)):
            for seed in range(8):
                with self.subTest(kind, seed=seed):
                    random = numpy.random.default_rng(seed)
                    attributes = {"clip": float(random.uniform(0.1, 1))} if seed % 2 else {}
                    self.check_case(Case(kind, random, **attributes, **({flag: int(seed // 2 % 2)} if flag else {})))

    def test_of_the_cases_of_onnx(self):
        found = [folder for prefix in ("lstm", "gru", "rnn", "simple_rnn") for folder in sorted(BACKEND.glob(f"test_{prefix}_*"))]
        self.assertGreaterEqual(len(found), 12)
        for folder in found:
            with self.subTest(folder.name):
                model = onnx.load(folder / "model.onnx")
                tensors = {kind: [numpy_helper.to_array(onnx.load_tensor(path)) for path in sorted((folder / "test_data_set_0").glob(f"{kind}_*.pb"))]
                           for kind in ("input", "output")}
                self.compare(model, {value.name: tensor for value, tensor in zip(model.graph.input, tensors["input"])}, tensors["output"])

    def test_in_a_body(self):
        """An LSTM in a branch, whose weights are captured."""
        case = Case("LSTM", numpy.random.default_rng(3), direction="bidirectional")
        inputs = case.typed(numpy.float32)
        results = case.run(inputs)
        names = [name for name in case.outputs if name]
        nodes = [[helper.make_node("LSTM", case.names, case.outputs, **case.attributes)], [helper.make_node("Identity", ["x"], [name]) for name in names]]
        branches = [helper.make_graph(body, f"body{k}", [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names])
                    for k, body in enumerate(nodes)]
        outputs = [info(f"o{k}", result) for k, result in enumerate(results)]
        node = helper.make_node("If", ["c"], [output.name for output in outputs], then_branch=branches[0], else_branch=branches[1])
        inputs["c"] = numpy.array(True)
        self.compare(model_of([node], [info(name, value) for name, value in inputs.items()], outputs, opset=17), inputs, results)


class Messages(ProgramTest):
    def check_fails(self, message, change=lambda node, inputs: None, kind="LSTM", opset=17, **attributes):
        x = {"x": (4, 2, 3), "w": (1, 5 * GATES[kind], 3), "r": (1, 5 * GATES[kind], 5), "lengths": (2,)}
        inputs = {name: numpy.zeros(shape, numpy.int32 if name == "lengths" else numpy.float32) for name, shape in x.items()}
        inputs["lengths"][:] = 4
        node = helper.make_node(kind, ["x", "w", "r", "", "lengths"], ["y"], name="cell", **attributes)
        change(node, inputs)
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)]
        self.write("a.onnx", model_of([node], [info(name, value) for name, value in inputs.items()], outputs, opset=opset))
        numpy.savez(self.folder / "x.npz", **inputs)
        run = self.run_program("check", "a.onnx", "a.onnx", "--inputs", "x.npz")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertEqual(f"xflow: a.onnx: node 'cell' ({kind}): {message}\n", run.stderr)

    def test_name_what_does_not_fit(self):
        def without(name):
            def change(node, inputs):
                node.input[list(node.input).index(name)] = ""
                del inputs[name]
            return change

        def of(name, value):
            return lambda node, inputs: inputs.update({name: value})

        self.check_fails("cannot execute: LSTM of opset 6", opset=6)
        self.check_fails("direction is 'backward'", direction="backward")
        self.check_fails("clip is -1", clip=-1.0)
        self.check_fails("layout is 2", layout=2)
        self.check_fails("input_forget is 3", input_forget=3)
        self.check_fails("linear_before_reset is -1", kind="GRU", linear_before_reset=-1)
        self.check_fails("hidden_size is 6, and R has 5", hidden_size=6)
        self.check_fails("operand W is omitted", without("w"))
        self.check_fails("operand X is float32[4,3]", of("x", numpy.zeros((4, 3), numpy.float32)))
        self.check_fails("operand W is float32[1,20,2], not float32[1,20,3]", of("w", numpy.zeros((1, 20, 2), numpy.float32)))
        self.check_fails("operand W is float64[1,20,3], not float32[1,20,3]", of("w", numpy.zeros((1, 20, 3))))
        self.check_fails("operand sequence_lens is int32[3], not int32[2]", of("lengths", numpy.ones(3, numpy.int32)))
        self.check_fails("a sequence has the length 5 of 4", of("lengths", numpy.array([1, 5], numpy.int32)))
        self.check_fails("a sequence has the length 0 of 4", of("lengths", numpy.array([0, 4], numpy.int32)))
        self.check_fails("GRU has 7 operands", lambda node, inputs: node.input.extend(["", "lengths"]), kind="GRU")

    def test_name_what_is_wrong_with_activations(self):
        self.check_fails("activations has 2 names, not 3", activations=["Tanh", "Tanh"])
        self.check_fails("activation 'Swish' is none of ONNX", activations=["Tanh", "Tanh", "Swish"])
        self.check_fails("activation 'Affine' has no number in activation_alpha", activations=["Affine", "Tanh", "Tanh"])
        # ONNX and ONNX Runtime have different defaults.
        self.check_fails("activation 'ThresholdedRelu' has no number in activation_alpha", kind="RNN", activations=["ThresholdedRelu"])
        self.check_fails("activation 'ScaledTanh' has no number in activation_beta", activations=["ScaledTanh", "Tanh", "Tanh"], activation_alpha=[1.0])
        self.check_fails("activation_alpha has 2 numbers, and the activations take 1", kind="GRU", activations=["Elu", "Tanh"], activation_alpha=[1.0, 2.0])
        self.check_fails("activation_beta has 1 numbers, and the activations take 0", kind="RNN", activation_beta=[1.0])

    def test_name_attributes_of_functions(self):
        node = helper.make_node("RNN", ["x", "w", "r"], ["y"])
        attribute = onnx.AttributeProto(name="direction", type=onnx.AttributeProto.STRING, ref_attr_name="way")
        node.attribute.append(attribute)
        inputs = {name: numpy.zeros(shape, numpy.float32) for name, shape in (("x", (4, 2, 3)), ("w", (1, 5, 3)), ("r", (1, 5, 5)))}
        function = helper.make_function("local", "recur", list(inputs), ["y"], [node], [helper.make_opsetid("", 17)], ["way"])
        call = helper.make_node("recur", list(inputs), ["y"], domain="local", name="call", way="reverse")
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 1, 2, 5])]
        model = model_of([call], [info(name, value) for name, value in inputs.items()], outputs, opset=17, functions=[function])
        model.opset_import.append(helper.make_opsetid("local", 1))
        self.write("a.onnx", model)
        run = self.run_program("check", "a.onnx", "a.onnx")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertIn("(RNN): cannot execute: its attribute 'direction' is the function's attribute 'way' (with", run.stderr)


if __name__ == "__main__":
    program.main()
