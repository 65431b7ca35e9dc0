"""Copies ONNX's backend cases with their shapes, axes and scalars as constants, as models have them.

bind_inputs.py BACKEND_DATA OUT: for each case under node/ that has integer vectors or scalars among its inputs, OUT/NAME.onnx is the model in
which those inputs are initializers with the values of the case's data.
"""
import glob
import os
import sys

import onnx
import onnx.numpy_helper


def bound(folder):
    """The model of the case with some of its inputs bound, or None if there is none to bind."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    graph = model.graph
    constants = []
    for k, value in enumerate(graph.input):
        try:
            with open(os.path.join(folder, "test_data_set_0", f"input_{k}.pb"), "rb") as file:
                tensor = onnx.numpy_helper.to_array(onnx.load_tensor_from_string(file.read()))
        except Exception:  # a sequence, a map, an optional, or no data
            continue
        is_list = tensor.ndim == 1 and tensor.dtype.kind == "i" or len(tensor.shape) == 1 and value.name in ("scales", "roi")
        if k > 0 and (tensor.ndim == 0 or is_list) and tensor.dtype.kind in "ifb":
            constants.append(onnx.numpy_helper.from_array(tensor, value.name))
    if not constants or model.ir_version < 4:
        return None
    names = {constant.name for constant in constants}
    kept = [value for value in graph.input if value.name not in names]
    del graph.input[:]
    graph.input.extend(kept)
    graph.initializer.extend(constants)
    return model


def main():
    for folder in sorted(glob.glob(os.path.join(sys.argv[1], "node", "*"))):
        model = bound(folder)
        if model is not None:
            onnx.save(model, os.path.join(sys.argv[2], os.path.basename(folder) + ".onnx"))


if __name__ == "__main__":
    main()
