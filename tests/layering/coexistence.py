"""Loads libxflow.so with RTLD_GLOBAL beside Python's onnx and onnxruntime, in every order, and uses all of them.

    coexistence.py LIBRARY SHIM             all orders, each in a process of its own
    coexistence.py LIBRARY SHIM NAME...     one order
"""

import ctypes
import itertools
import os
import subprocess
import sys


def use_xflow(library, shim):
    ctypes.CDLL(library, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    optimize = ctypes.CDLL(shim).shim_optimize
    optimize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    assert optimize(RELU, len(RELU)) == 0


def model():
    import onnx
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def use_onnx():
    import onnx

    onnx.checker.check_model(model(), full_check=True)
    assert onnx.shape_inference.infer_shapes(model()).graph.output[0].name == "y"


def use_onnxruntime(data):
    import numpy
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    x = numpy.array([[-1, 2, -3], [4, -5, 6]], numpy.float32)
    assert (session.run(None, {"x": x})[0] == numpy.maximum(x, 0)).all()


# `model().SerializeToString()`, so that an order can start without Python's onnx.
RELU = bytes.fromhex(
    "08083a3b0a0c0a0178120179220452656c751201675a130a0178120e0a0c08011208"
    "0a0208020a02080362130a0179120e0a0c080112080a0208020a02080342040a00100d"
)


def main(library, shim, order):
    if not order:
        failed = []
        for names in itertools.permutations(["xflow", "onnx", "onnxruntime"]):
            result = subprocess.run([sys.executable, __file__, library, shim, *names], capture_output=True, text=True)
            if result.returncode:
                failed.append(f"{' '.join(names)}: exit status {result.returncode}\n{result.stderr}")
        print("\n".join(failed) or "every order works")
        return 1 if failed else 0
    for turn in range(2):  # the second turn uses each after all have been loaded
        for name in order:
            if name == "xflow":
                use_xflow(library, shim)
            elif name == "onnx":
                use_onnx()
            else:
                use_onnxruntime(RELU)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
