"""Compares models of one node with what they are exported as in parts, on many numbers: by ONNX's reference, and operators of other domains
than ONNX's own by ONNX Runtime.

compare_functions.py LIST: each line of LIST is `A<tab>B`. Prints a line for each pair that disagrees and exits with 1.
"""
import sys

import numpy
import onnx
import onnx.reference
import onnxruntime


def outputs(path, feeds):
    model = onnx.load(path)
    if all(not node.domain for node in model.graph.node):
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def feeds_of(path):
    """Numbers on both sides of every bend; a second operand that moves them."""
    feeds = {}
    for k, value in enumerate(onnx.load(path).graph.input):
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        count = int(numpy.prod(dims))
        feeds[value.name] = (numpy.linspace(-9.03, 9.01, count) / (1 + 2 * k)).astype(numpy.float32).reshape(dims)
    return feeds


def main():
    failed = False
    pairs = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
    if not pairs:
        sys.exit("no pairs")
    for before, after in pairs:
        feeds = feeds_of(before)
        expected, found = outputs(before, feeds)[0], outputs(after, feeds)[0]
        if expected.shape != found.shape or expected.dtype != found.dtype:
            reason = f"{expected.dtype}{expected.shape} became {found.dtype}{found.shape}"
        else:
            error = numpy.abs(expected.astype(numpy.float64) - found)
            worst = (error / (1 + numpy.abs(expected))).max()
            reason = None if worst <= 2e-6 else f"error {worst:.3g}"
        if reason:
            print(f"{after}: {reason}")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
