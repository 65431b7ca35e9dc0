"""Checks FOLDER/model.onnx with onnx's checker and compares what ONNX Runtime computes with FOLDER/output.pb; the other .pb are its inputs."""
import pathlib
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

TOLERANCE = 1e-4  # of the largest magnitude: ONNX Runtime computes in float, what it is compared with was computed in double


def main():
    folder = pathlib.Path(sys.argv[1])
    tensors = {}
    for path in folder.glob("*.pb"):
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        tensors[tensor.name] = onnx.numpy_helper.to_array(tensor)
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
    expected = tensors.pop("output")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        (output,) = session.run(None, tensors)
        assert output.shape == expected.shape, f"{output.shape} instead of {expected.shape}"
        error = numpy.abs(output - expected).max() / numpy.abs(expected).max()
        assert error < TOLERANCE, f"error {error}, {level}"


if __name__ == "__main__":
    main()
