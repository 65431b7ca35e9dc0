"""Runs pairs of models in ONNX Runtime, without its optimisations, and compares their outputs.

compare_models.py LIST: each line of LIST is `A<tab>B[<tab>INPUTS]`, where INPUTS is an .npz with in__NAME (and in2__NAME at other sizes),
or a folder of ONNX's backend tests with input_N.pb and output_N.pb: its outputs are right where ONNX Runtime does not have A. Without
inputs they are seeded at two sizes of the dynamic dimensions. Prints a line for each pair that disagrees or cannot run and exits with 1.
"""
import glob
import os
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64,
          "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


UNDECIDED = "undecided"


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seeded(inputs, sizes):
    random = numpy.random.default_rng(7)
    result = {}
    for value in inputs:
        shape = []
        for axis, size in enumerate(value.shape):
            shape.append(size if isinstance(size, int) and size > 0 else sizes[min(axis, len(sizes) - 1)])
        dtype = DTYPES[value.type]
        if numpy.issubdtype(dtype, numpy.floating):
            result[value.name] = random.standard_normal(shape).astype(dtype)
        else:
            result[value.name] = random.integers(0, 2, shape).astype(dtype)
    return result


def feeds(inputs, path):
    if not path and {value.name for value in inputs} == {"input", "state", "sr"}:  # Silero VAD
        random = numpy.random.default_rng(7)
        return [{"input": random.standard_normal([batch, samples]).astype(numpy.float32),
                 "state": random.standard_normal([2, batch, 128]).astype(numpy.float32),
                 "sr": numpy.array(rate)} for batch, samples, rate in ((1, 512, 16000), (3, 256, 8000))]
    if not path:
        if any(len(value.shape) == 4 for value in inputs):
            return [seeded(inputs, sizes) for sizes in ([1, 3, 64, 192], [2, 3, 96, 320], [1, 3, 48, 192], [2, 3, 48, 320])]
        return [seeded(inputs, [1, 512]), seeded(inputs, [2, 256])]
    stored = numpy.load(path)
    names = [value.name for value in inputs]
    sets = [{name: stored[prefix + name] for name in names if prefix + name in stored} for prefix in ("in__", "in2__")]
    return [feed for feed in sets if len(feed) == len(names)]


def stored_tensors(folder, kind):
    """The tensors of KIND_0.pb, KIND_1.pb, ...; None if one of them is no tensor."""
    result = []
    for k in range(len(glob.glob(os.path.join(folder, kind + "_*.pb")))):
        with open(os.path.join(folder, f"{kind}_{k}.pb"), "rb") as file:
            try:
                result.append(onnx.numpy_helper.to_array(onnx.load_tensor_from_string(file.read())))
            except Exception:  # a sequence, a map, or an optional
                return None
    return result


def compare_case(before, after, folder):
    """A case of ONNX's backend tests. UNDECIDED where ONNX Runtime runs it neither before nor after."""
    inputs = stored_tensors(folder, "input")
    if inputs is None:
        return UNDECIDED
    # Of a case whose shapes were bound (bind_inputs.py) the model beside the data has all inputs.
    names = [value.name for value in onnx.load(os.path.join(folder, "..", "model.onnx"), load_external_data=False).graph.input]
    left = {value.name for value in onnx.load(before, load_external_data=False).graph.input}
    feed = {name: tensor for name, tensor in zip(names, inputs) if name in left}
    expected = None
    try:
        expected = session(before).run(None, feed)
    except Exception:  # not implemented, or stricter than ONNX
        pass
    try:
        found = session(after).run(None, feed)
    except Exception as error:
        # ONNX Runtime does not have every operator for every type.
        return UNDECIDED if expected is None or "NOT_IMPLEMENTED" in str(error) else f"cannot run: {error}"
    if expected is None:
        expected = stored_tensors(folder, "output")
    for k, (x, y) in enumerate(zip(expected or [], found)):
        reason = difference(x, y)
        if reason:
            return f"output {k}: {reason}"
    return None


def difference(a, b):
    """The reason why b is not a, or None."""
    if not isinstance(a, numpy.ndarray):
        return None if a == b else "values differ"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    if not numpy.issubdtype(a.dtype, numpy.floating):
        return None if numpy.array_equal(a, b) else "integers differ"
    if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)):
        return "NaN differ"
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "infinities differ"
    if not finite.any():
        return None
    tolerance = 1e-2 if a.dtype == numpy.float16 else 2e-4
    worst = float(numpy.abs(a[finite].astype(numpy.float64) - b[finite]).max())
    largest = float(numpy.abs(a[finite]).max())
    return None if worst <= tolerance * max(largest, 1e-3) else f"error {worst:.3g} of {largest:.3g}"


def compare(before, after, inputs):
    try:
        a = session(before)
        b = session(after)
    except Exception as error:  # every fault of a model is an exception of ONNX Runtime
        return f"cannot load: {error}"
    # Shapes of outputs are what ONNX Runtime infers where the model has none.
    signature = lambda s: [(v.name, v.type, v.shape) for v in s.get_inputs()] + [(v.name, v.type) for v in s.get_outputs()]
    if signature(a) != signature(b):
        return f"inputs or outputs differ: {signature(a)}, {signature(b)}"
    runs = 0
    last = "no inputs"
    for feed in feeds(a.get_inputs(), inputs):
        try:
            expected = a.run(None, feed)
        except Exception as error:
            last = error
            continue
        runs += 1
        try:
            found = b.run(None, feed)
        except Exception as error:
            return f"cannot run: {error}"
        for value, x, y in zip(a.get_outputs(), expected, found):
            reason = difference(x, y)
            if reason:
                return f"output {value.name}: {reason}"
    return None if runs else f"the original cannot run: {last}"


def main():
    failed = False
    undecided = 0
    total = 0
    with open(sys.argv[1], encoding="utf-8") as pairs:
        for line in pairs:
            parts = line.rstrip("\n").split("\t") + [""]
            reason = (compare_case if os.path.isdir(parts[2]) else compare)(parts[0], parts[1], parts[2])
            total += 1
            if reason == UNDECIDED:
                undecided += 1
            elif reason:
                print(f"{parts[1]}: {reason}")
                failed = True
    if undecided > total // 4:
        print(f"{undecided} of {total} models cannot be run")
        failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
