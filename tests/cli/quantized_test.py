"""Quantised models: they are evaluated, data movement crosses them, and nothing is dequantised: quantized_test.py PROGRAM."""

import os
import pathlib
import re
import sys

import numpy
import onnx
import onnxruntime
import program
from onnx import TensorProto, helper, numpy_helper
from program import ROOFLINE, ProgramTest, float_info, model_of


def tensor(name, values, kind=numpy.float32):
    return numpy_helper.from_array(numpy.asarray(values, kind), name)


def scales(*names):
    """A scale and a zero point for each name."""
    for k, name in enumerate(names):
        yield tensor(f"{name}_scale", 0.02 + 0.01 * k)
        yield tensor(f"{name}_zero", 7 * k, numpy.uint8)


def with_scale(operator, value, name, output, **attributes):
    return helper.make_node(operator, [value, f"{name}_scale", f"{name}_zero"], [output], name=output, **attributes)


def dense(random):
    """A product of quantised numbers as tools for quantisation write it, and a scale behind it that would fit into the weights."""
    nodes = [
        with_scale("QuantizeLinear", "x", "x", "xq"),
        with_scale("DequantizeLinear", "xq", "x", "xd"),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["wd"], name="wd", axis=1),
        helper.make_node("MatMul", ["xd", "wd"], ["p"], name="p"),
        helper.make_node("Mul", ["p", "half"], ["y"], name="y"),
    ]
    weights = [
        *scales("x"),
        tensor("w", random.integers(-127, 127, (64, 32)), numpy.int8),
        tensor("w_scale", random.uniform(0.01, 0.1, 32)),
        tensor("w_zero", numpy.zeros(32), numpy.int8),
        tensor("half", 0.5),
    ]
    return model_of(nodes, [float_info("x", [16, 64])], [float_info("y", [16, 32])], weights, opset=17)


def turned(random):
    """Transposes on both sides of a QuantizeLinear cancel."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[0, 2, 1]),
        with_scale("QuantizeLinear", "a", "x", "q"),
        helper.make_node("Transpose", ["q"], ["b"], perm=[0, 2, 1]),
        with_scale("DequantizeLinear", "b", "x", "y"),
    ]
    shape = [8, 64, 96]
    return model_of(nodes, [float_info("x", shape)], [float_info("y", shape)], [*scales("x")], opset=17)


def table(random):
    """Rows of a quantised table."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["wd"]),
        helper.make_node("Gather", ["wd", "rows"], ["g"]),
        helper.make_node("Add", ["g", "x"], ["y"]),
    ]
    weights = [
        tensor("w", random.integers(-127, 127, (1000, 64)), numpy.int8),
        tensor("w_scale", 0.05),
        tensor("w_zero", 3, numpy.int8),
        tensor("rows", [5, 7, 999, 0], numpy.int64),
    ]
    return model_of(nodes, [float_info("x", [4, 64])], [float_info("y", [4, 64])], weights, opset=17)


def cut(random):
    """Most of what is quantised is not read."""
    nodes = [
        with_scale("QuantizeLinear", "x", "x", "q"),
        helper.make_node("Slice", ["q", "from", "to", "axis"], ["s"]),
        with_scale("DequantizeLinear", "s", "x", "d"),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    weights = [*scales("x"), tensor("from", [0], numpy.int64), tensor("to", [128], numpy.int64), tensor("axis", [1], numpy.int64)]
    return model_of(nodes, [float_info("x", [64, 16384])], [float_info("y", [64, 128])], weights, opset=17)


def integer_convolution(random):
    nodes = [
        with_scale("QuantizeLinear", "x", "x", "q"),
        helper.make_node(
            "QLinearConv",
            ["q", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"],
            ["c"],
            pads=[1, 1, 1, 1],
            strides=[2, 2],
        ),
        with_scale("DequantizeLinear", "c", "y", "y"),
    ]
    weights = [
        *scales("x", "y"),
        tensor("w", random.integers(-127, 127, (8, 3, 3, 3)), numpy.int8),
        tensor("w_scale", random.uniform(0.01, 0.1, 8)),
        tensor("w_zero", numpy.zeros(8), numpy.int8),
        tensor("bias", random.integers(-500, 500, 8), numpy.int32),
    ]
    return model_of(nodes, [float_info("x", [1, 3, 16, 16])], [float_info("y", [1, 8, 8, 8])], weights, opset=17)


class Quantized(ProgramTest):
    def improve(self, make):
        model = make(numpy.random.default_rng(0))
        self.write("in.onnx", model)
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "300states", "--no-gate", "--device", "profile:npu.xprof")
        result = onnx.load(self.folder / "out.onnx")
        onnx.checker.check_model(result)
        random = numpy.random.default_rng(1)
        inputs = {v.name: random.normal(0, 1, [d.dim_value for d in v.type.tensor_type.shape.dim]).astype(numpy.float32) for v in model.graph.input}
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        before, after = [
            onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0] for m in [model, result]
        ]
        numpy.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-5)
        return model, result

    def operators(self, model):
        return [node.op_type for node in model.graph.node]

    def test_nothing_is_dequantised(self):
        model, result = self.improve(dense)
        kept = {node.name: node for node in result.graph.node}
        for name in ["xq", "xd", "wd"]:
            self.assertIn(name, kept)
        self.assertEqual(
            [t for t in model.graph.initializer if t.data_type != TensorProto.FLOAT], [t for t in result.graph.initializer if t.data_type != TensorProto.FLOAT]
        )
        most = max(numpy.prod(t.dims, dtype=int) for t in result.graph.initializer if t.data_type == TensorProto.FLOAT)
        self.assertLessEqual(most, 32)
        self.succeed("simplify", "in.onnx", "small.onnx")
        self.assertEqual(self.operators(model), self.operators(onnx.load(self.folder / "small.onnx")))

    def test_data_movement_crosses(self):
        _, result = self.improve(turned)
        self.assertEqual(["QuantizeLinear", "DequantizeLinear"], self.operators(result))
        _, result = self.improve(table)
        self.assertEqual(["DequantizeLinear", "Add"], self.operators(result))  # rows are picked before the run
        _, result = self.improve(cut)
        self.assertEqual(["Slice", "QuantizeLinear", "DequantizeLinear", "Relu"], self.operators(result))

    def test_cases_of_onnx_are_evaluated(self):
        """All of them, with inputs that are given and with seeded ones."""
        folder = pathlib.Path(sys.prefix) / "backend-data" / "node"
        cases = [name for name in sorted(os.listdir(folder)) if re.search("quantizelinear|qlinear|matmulinteger|convinteger", name)]
        self.assertEqual(45, len(cases))
        for name in cases:
            with self.subTest(case=name):
                model = folder / name / "model.onnx"
                self.succeed("check", model, model, "--inputs", folder / name / "test_data_set_0")
                if not re.search("_axis|blocked|_expanded", name):
                    self.succeed("check", model, model)

    def test_numbers_of_few_bits_stay(self):
        """Nothing crosses them, and they are priced by nobody."""
        model = model_of(
            [
                helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
                helper.make_node("QuantizeLinear", ["a", "scale", "zero"], ["q"]),
                helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
                helper.make_node("Transpose", ["d"], ["b"], perm=[1, 0]),
                helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
                helper.make_node("Transpose", ["c"], ["y"], perm=[1, 0]),
            ],
            [float_info("x", [64, 96])],
            [float_info("y", [64, 96])],
            [tensor("scale", 0.25), helper.make_tensor("zero", TensorProto.INT4, [], [1])],
            opset=21,
        )
        self.write("in.onnx", model)
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        for device in [["--device", "profile:npu.xprof"], ["--device", "cpu"]]:
            self.succeed("optimize", "in.onnx", "out.onnx", "--budget", "300states", "--no-gate", *device)
            self.assertEqual(["Transpose", "QuantizeLinear", "DequantizeLinear", "Transpose"], self.operators(onnx.load(self.folder / "out.onnx")))
            self.succeed("check", "in.onnx", "out.onnx")

    def test_are_compared(self):
        for make in [dense, turned, table, cut, integer_convolution]:
            model = make(numpy.random.default_rng(0))
            self.write("a.onnx", model)
            self.write("b.onnx", model)
            self.succeed("check", "a.onnx", "b.onnx")
            scale = next(t for t in model.graph.initializer if t.name in ("x_scale", "w_scale"))
            scale.CopyFrom(tensor(scale.name, 0.5))
            self.write("b.onnx", model)
            self.assertEqual(1, self.run_program("check", "a.onnx", "b.onnx").returncode)


if __name__ == "__main__":
    program.main()
