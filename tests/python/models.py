"""Models of the tests of the Python package."""

import onnx
from onnx import TensorProto, helper


def transposes(rows=48, columns=32):
    """An onnx.ModelProto: two transposes that cancel, then a Relu; x and y are float32[rows, columns]."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns]) for name in "xy"]
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def operators(model):
    """The operators of a model, or of the bytes of one."""
    proto = onnx.load_from_string(model) if isinstance(model, bytes) else model
    return [node.op_type for node in proto.graph.node]
