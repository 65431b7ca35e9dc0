"""Optimises every model of the folder XFLOW_TEST_MODELS and compares ONNX Runtime's outputs before and after.

    models_test.py PROGRAM WORK [MODEL...] [-- ARGUMENT...]

WORK keeps the cost database, the optimised models and their reports. MODEL is a name without .onnx; without any, all are tested. Further
arguments are handed to `xflow optimize`, for example `-- --skip RULE` to find the rule that breaks a model.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime

# An output may differ by this part of its largest magnitude, and by four times what ONNX Runtime's own optimisations change in the original:
# a sigmoid of -16 has no correct digit in float arithmetic.
TOLERANCE = 1e-4
OWN_ERROR_FACTOR = 4
STATES = 150  # of each search; the result is searched again
NONE = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL


def inputs_of_shape(model, shapes, seed=1):
    """Seeded inputs of these shapes; integers are sampling rates."""
    random = numpy.random.default_rng(seed)
    inputs = {}
    for value in model.graph.input:
        if value.name in shapes:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            dims = shapes[value.name]
            whole = numpy.issubdtype(dtype, numpy.integer)
            inputs[value.name] = numpy.full(dims, 16000, dtype) if whole else random.uniform(-1, 1, dims).astype(dtype)
    return inputs


def seeded_inputs(model):
    """Two sets of inputs for a model without an .npz file: open dimensions are 1 and 64, then 2 and 96; integers are sampling rates, and
    where there is one, the samples are a window of 512."""
    weights = {tensor.name for tensor in model.graph.initializer}
    recurrent = any(value.name == "state" for value in model.graph.input)
    sets = []
    for first, other in [(1, 512), (2, 512)] if recurrent else [(1, 64), (2, 96)]:
        shapes = {}
        for value in model.graph.input:
            # The batch of a recurrent state stands second.
            position = 1 if value.name == "state" else 0
            dims = enumerate(value.type.tensor_type.shape.dim)
            if value.name not in weights:
                shapes[value.name] = [d.dim_value or (first if k == position else other) for k, d in dims]
        sets.append(inputs_of_shape(model, shapes, first))
    return sets


def stored_inputs(path):
    arrays = numpy.load(path)
    sets = []
    for prefix in ["in__", "in2__"]:
        inputs = {name[len(prefix) :]: arrays[name] for name in arrays.files if name.startswith(prefix)}
        if inputs:
            sets.append(inputs)
    return sets


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def largest_error(a, b):
    """Of elements that are finite in both."""
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    return float(numpy.abs(a[finite].astype(numpy.float64) - b[finite]).max()) if finite.any() else 0.0


def difference(before, own, after):
    """The error as a part of what is allowed, and what is wrong, if anything. `own` is `before` computed in another way."""
    infinite = float("inf")
    if before.dtype != after.dtype or before.shape != after.shape:
        return infinite, f"{after.dtype}{list(after.shape)} instead of {before.dtype}{list(before.shape)}"
    if not numpy.issubdtype(before.dtype, numpy.floating):
        equal = numpy.array_equal(before, after)
        return 0.0 if equal else infinite, "" if equal else "other integers, booleans or strings"
    finite = numpy.isfinite(before)
    if not numpy.array_equal(before[~finite], after[~finite], equal_nan=True) or not numpy.isfinite(after[finite]).all():
        return infinite, "other infinities or not-a-numbers"
    magnitude = float(numpy.abs(before[finite]).max()) if finite.any() else 0.0
    allowed = TOLERANCE * magnitude + OWN_ERROR_FACTOR * largest_error(before, own)
    error = largest_error(before, after)
    part = error / allowed if error > 0 else 0.0
    return part, f"error {error:.2e}, allowed {allowed:.2e}" if error > allowed else ""


def lost(before, after):
    """What the optimised model lacks or says differently."""
    weights = {tensor.name for tensor in before.graph.initializer}

    def inputs(model):
        return [v.SerializeToString() for v in model.graph.input if v.name not in weights]

    if inputs(before) != inputs(after):
        yield "inputs"
    if [v.SerializeToString() for v in before.graph.output] != [v.SerializeToString() for v in after.graph.output]:
        yield "outputs"
    for field in ["ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"]:
        if getattr(before, field) != getattr(after, field):
            yield field
    for field in ["opset_import", "metadata_props", "functions", "training_info"]:
        if [f.SerializeToString() for f in getattr(before, field)] != [f.SerializeToString() for f in getattr(after, field)]:
            yield field
    if before.graph.name != after.graph.name or before.graph.doc_string != after.graph.doc_string:
        yield "the graph's name or doc string"
    kept = {v.name: v.SerializeToString() for v in after.graph.value_info}
    values = {name for node in after.graph.node for name in node.output}
    for value in before.graph.value_info:
        if value.name in values and kept.get(value.name) != value.SerializeToString():
            yield f"the type of '{value.name}'"
            break


def valid(model):
    """Why onnx's checker refuses it; empty if it does not."""
    try:
        onnx.checker.check_model(model, full_check=True)
        return ""
    except Exception as error:  # the checker raises several kinds
        return str(error).splitlines()[0]


def test(program, path, work, arguments):
    """Problems as lines, and a summary."""
    output, report_path = work / path.name, work / f"{path.stem}.json"
    before = onnx.load(path)
    npz = path.with_suffix(".npz")
    sets = stored_inputs(npz) if npz.exists() else seeded_inputs(before)
    # Costs are measured at the sizes that the model was made for, where these are known.
    shapes = [f"{name}:{','.join(map(str, x.shape))}" for name, x in sets[0].items() if npz.exists() and x.ndim > 0]
    command = [program, "optimize", path, output, "--budget", f"{STATES}states", "--costs", work / "costs.db", "--report", report_path]
    command.append("--no-gate")  # also what is slower must compute the same
    command += [part for shape in shapes for part in ("--shape", shape)]
    run = subprocess.run([*map(str, command), *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()}"], "not optimised"
    report = json.loads(report_path.read_text())
    times = report["predicted_nanoseconds"]
    summary = f"predicted {times['after'] / times['before']:.3f}, {report['seconds']:.1f} s"
    if not report["improved"]:
        same = output.read_bytes() == path.read_bytes()
        return ([] if same else ["not improved, but other bytes"]), f"{summary}, unchanged: {report['reason']}"
    after = onnx.load(output)
    problems = [f"lost or changed: {what}" for what in lost(before, after)]
    if refused := valid(after):
        if not valid(before):
            problems.append(f"onnx.checker: {refused}")
    worst = 0.0
    reference = session(path, NONE)
    expected = [reference.run(None, inputs) for inputs in sets]
    alternative = session(path, ALL)
    others = [alternative.run(None, inputs) for inputs in sets]
    for level in [NONE, ALL]:
        candidate = session(output, level)
        for k, inputs in enumerate(sets):
            for value, *results in zip(reference.get_outputs(), expected[k], others[k], candidate.run(None, inputs)):
                part, problem = difference(*map(numpy.asarray, results))
                worst = max(worst, part)
                if problem:
                    problems.append(f"output '{value.name}', inputs {k + 1}, {level.name}: {problem}")
    return problems, f"{summary}, largest error {worst:.2g} of what is allowed"


def main():
    folder = os.environ.get("XFLOW_TEST_MODELS")
    if not folder:
        print("skipped: XFLOW_TEST_MODELS is not set")
        return 0
    arguments = sys.argv[1:]
    extra = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    program, work, *names = arguments[: arguments.index("--")] if "--" in arguments else arguments
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    paths = sorted(p for p in pathlib.Path(folder).glob("*.onnx") if not names or p.stem in names)
    failed = 0
    for path in paths:
        problems, summary = test(program, path, work, extra)
        print(f"{'FAILED' if problems else 'passed'}  {path.stem:<36} {summary}", flush=True)
        for problem in problems:
            print(f"        {problem}", flush=True)
        failed += bool(problems)
    print(f"{len(paths) - failed} of {len(paths)} models agree")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
