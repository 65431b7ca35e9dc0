"""Local functions are graphs of their own: functions_test.py PROGRAM [unittest arguments]."""

import json

import numpy
import onnx
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, float_info

SHAPE = [64, 96]
OPSET = helper.make_opsetid("", 17)
OWN = helper.make_opsetid("custom", 1)


def turns(value, name):
    """Two transposes that cancel, and a Relu."""
    return [
        helper.make_node("Transpose", [value], [f"{name}_a"], perm=[1, 0]),
        helper.make_node("Transpose", [f"{name}_a"], [f"{name}_b"], perm=[1, 0]),
        helper.make_node("Relu", [f"{name}_b"], [name]),
    ]


def function(name, inputs, outputs, nodes, attributes=(), opsets=(OPSET, OWN)):
    return helper.make_function("custom", name, inputs, outputs, nodes, list(opsets), list(attributes))


def call(name, inputs, outputs, **attributes):
    return helper.make_node(name, inputs, outputs, domain="custom", **attributes)


def model_of(nodes, functions, inputs=("x",), outputs=("y",), shape=SHAPE):
    graph = helper.make_graph(nodes, "g", [float_info(name, shape) for name in inputs], [float_info(name, shape) for name in outputs])
    model = helper.make_model(graph, opset_imports=[OPSET, OWN], functions=functions, ir_version=8)
    onnx.checker.check_model(model)
    return model


def operators(model, function=0):
    return [node.op_type for node in model.functions[function].node]


class Functions(ProgramTest):
    def compare(self, model, written):
        onnx.checker.check_model(written)
        self.assertEqual(model.graph, written.graph)
        for before, after in zip(model.functions, written.functions, strict=True):
            for field in ["name", "domain", "input", "output", "attribute", "attribute_proto", "opset_import", "doc_string"]:
                self.assertEqual(getattr(before, field), getattr(after, field), field)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        random = numpy.random.default_rng(1)
        inputs = {v.name: random.normal(0, 1, [d.dim_value for d in v.type.tensor_type.shape.dim]).astype(numpy.float32) for v in model.graph.input}
        before, after = [
            onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs) for m in [model, written]
        ]
        for a, b in zip(before, after, strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def run_command(self, command, model, *arguments):
        self.write("in.onnx", model)
        self.succeed(command, "in.onnx", "out.onnx", *arguments)
        self.succeed(command, "out.onnx", "again.onnx", *arguments)
        written = (self.folder / "out.onnx").read_bytes()
        self.assertEqual(written, (self.folder / "again.onnx").read_bytes())
        result = onnx.load_from_string(written)
        self.compare(model, result)
        return result

    def simplify(self, model):
        return self.run_command("simplify", model)

    def test_are_cleaned_up(self):
        model = model_of([call("f", ["x"], ["y"])], [function("f", ["v"], ["w"], turns("v", "w"))])
        self.assertEqual(["Relu"], operators(self.simplify(model)))

    def test_get_constants_as_nodes(self):
        two = numpy_helper.from_array(numpy.full([96], 2, numpy.float32), "two")
        nodes = [
            helper.make_node("Constant", [], ["two"], value=two),
            helper.make_node("Mul", ["two", "two"], ["four"]),
            helper.make_node("Add", ["v", "four"], ["w"]),
        ]
        written = self.simplify(model_of([call("f", ["x"], ["y"])], [function("f", ["v"], ["w"], nodes)]))
        self.assertEqual(["Constant", "Add"], operators(written))
        value = numpy_helper.to_array(written.functions[0].node[0].attribute[0].t)
        numpy.testing.assert_array_equal(numpy.full([96], 4, numpy.float32), value)

    def test_keep_nodes_with_attributes_of_the_function(self):
        # Which axis is turned is known at a call alone; a missing value would be read as 0.
        turn = helper.make_node("Transpose", ["v"], ["a"])
        turn.attribute.append(helper.make_attribute("perm", [1, 0]))
        turn.attribute[0].Clear()
        turn.attribute[0].name, turn.attribute[0].type, turn.attribute[0].ref_attr_name = "perm", onnx.AttributeProto.INTS, "order"
        back = helper.make_node("Transpose", ["a"], ["w"])
        back.attribute.append(turn.attribute[0])
        turn.input[0] = "m"
        pair = [helper.make_node("Neg", ["v"], ["n"]), helper.make_node("Neg", ["n"], ["m"])]
        model = model_of([call("f", ["x"], ["y"], order=[1, 0])], [function("f", ["v"], ["w"], [*pair, turn, back], ["order"])])
        self.write("in.onnx", model)
        self.succeed("simplify", "in.onnx", "out.onnx")
        written = onnx.load(self.folder / "out.onnx")
        self.assertEqual(["Transpose", "Transpose"], operators(written))
        for node in written.functions[0].node:
            self.assertEqual(["order"], [a.ref_attr_name for a in node.attribute])
        self.compare(model, written)

    def test_have_bodies_and_call_functions(self):
        then = helper.make_graph(turns("v", "t"), "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
        other = helper.make_graph([call("g", ["v"], ["e"])], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
        nodes = [
            helper.make_node("ReduceSum", ["v"], ["s"], keepdims=0),
            helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL),
            helper.make_node("If", ["c"], ["w"], then_branch=then, else_branch=other),
        ]
        functions = [function("f", ["v"], ["w"], nodes), function("g", ["v"], ["w"], turns("v", "w"))]
        written = self.simplify(model_of([call("f", ["x"], ["y"])], functions))
        branches = {a.name: [node.op_type for node in a.g.node] for a in written.functions[0].node[2].attribute}
        self.assertEqual({"then_branch": ["Relu"], "else_branch": ["g"]}, branches)
        self.assertEqual(["Relu"], operators(written, 1))

    def test_that_lack_an_input_or_are_never_called_stay(self):
        nodes = [helper.make_node("Neg", ["v"], ["a"]), helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Clip", ["b", "low"], ["w"])]
        for functions in [[function("f", ["v", "low"], ["w"], nodes)], [function("f", ["v", "low"], ["w"], nodes), function("g", ["v"], ["w"], turns("v", "w"))]]:
            model = model_of([call("f", ["x", ""], ["y"])], functions)
            self.write("in.onnx", model)
            self.succeed("simplify", "in.onnx", "out.onnx")
            self.assertEqual((self.folder / "in.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_have_the_types_in_which_all_calls_agree(self):
        # A reshape to its own shape is none, but one of the calls has another shape.
        shape = helper.make_node("Constant", [], ["shape"], value_ints=[1, 8])
        nodes = [shape, helper.make_node("Reshape", ["v", "shape"], ["r"]), helper.make_node("Neg", ["r"], ["w"])]
        same = model_of([call("f", ["x"], ["y"]), call("f", ["z"], ["u"])], [function("f", ["v"], ["w"], nodes)], ["x", "z"], ["y", "u"], [1, 8])
        self.assertEqual(["Neg"], operators(self.simplify(same)))
        other = onnx.ModelProto()
        other.CopyFrom(same)
        other.graph.input[1].CopyFrom(float_info("z", [8, 1]))
        self.assertEqual(["Constant", "Reshape", "Neg"], operators(self.simplify(other)))

    def test_are_rewritten_by_price(self):
        model = model_of([call("f", ["x"], ["y"]), call("f", ["z"], ["u"])], [function("f", ["v"], ["w"], turns("v", "w"))], ["x", "z"], ["y", "u"])
        written = self.run_command("optimize", model, "--budget", "200states", "--no-gate", "--report", "r.json")
        self.assertEqual(["Relu"], operators(written))
        self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "200states", "--no-gate", "--report", "r.json")
        (body,) = json.loads((self.folder / "r.json").read_text())["bodies"]
        self.assertEqual("function custom.f", body["place"])
        self.assertEqual(2, body["runs"])
        self.assertEqual({"before": 3, "after": 1}, body["nodes"])
        self.assertTrue(body["improved"])


if __name__ == "__main__":
    program.main()
