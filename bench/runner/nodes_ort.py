"""Compares the times of single nodes in ONNX Runtime with what they were predicted to take; prints a table in Markdown.

    nodes_ort.py BENCH_RUNNER --work FOLDER [--costs FILE] [NAME...]

The models are those of the folder XFLOW_TEST_MODELS, or those of the NAMEs there without .onnx. BENCH_RUNNER (build/release/bench/bench_runner)
times their kernels in ONNX Runtime, one thread. Then the model runs there with profiling on. An operation of the cover and a node of the profile are
the same if they are of the same kind and of the same sizes; where there are several, each gets the mean of them. A launch of the cover takes as long
as the nodes of its operations. Operations that are no node were fused into others, and count as nothing. Profiling itself takes time at each node:
what all nodes take together more than a run without profiling is taken off them in equal parts. Launches that cannot be timed alone are left out.

Columns: launches of the cover; how much of the time of all nodes belongs to them; launches of at least 10 us that were found, and the median of their
relative errors (absolute values); Spearman's correlation of predicted and executed time of all that were found; what part of the predicted
time is of launches that were not found (fused into others, or of a kind that is a node of another name); all launches, predicted as a part of
executed.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import time

import numpy
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = f"PYTHONPATH={shlex.quote(str(ROOT / 'python'))} {shlex.quote(sys.executable)} -m xflow_onnx.runner_ort"
RUNS = 60
LEAST = 10e3  # nanoseconds of a node whose relative error says something: a profile counts in microseconds

# Kernels of the cover by the names of ONNX Runtime's nodes, where these are not the same but for case and underscores.
KINDS = {
    "fusedconv": "conv",
    "convolution": "conv",
    "transposedconvolution": "convtranspose",
    "gemm": "matmul",
    "fusedmatmul": "matmul",
    "fusedgemm": "matmul",
    "poolmax": "maxpool",
    "poolaverage": "averagepool",
    "globalaveragepool": "reducemean",
    "layernormalization": "normalization",
    "simplifiedlayernormalization": "normalization",
    "biasgelu": "gelu",
    "fastgelu": "gelu",
    "quickgelu": "swish",
    "select": "where",
    "greaterequal": "greaterorequal",
    "lessequal": "lessorequal",
}


def kind_of(name):
    word = name.lower().replace("_", "")
    return KINDS.get(word, word)


def operation(kind, operands, result):
    """What identifies an operation: its kind and its sizes, lists of dimensions."""
    # Convolutions work on blocks of 16 channels, and so do those that a normalisation was made into.
    if kind == "conv":
        if len(operands) < 2:
            return None
        weights = operands[1]
        operands, result = [blocked(operands[0]), blocked_weights(weights)], blocked(result)
        if weights[1:] == [1] * (len(weights) - 1) and operands[0] == result:
            return "mul", text_of(result)
        return kind, " ".join(map(text_of, [*operands, result]))
    if kind == "matmul":
        return kind, " ".join(map(text_of, [*operands[:1], result]))
    return kind, text_of(blocked(result))


def blocked(dims):
    return [*dims[:1], up(dims[1]), *dims[2:]] if len(dims) == 4 else dims


def blocked_weights(dims):
    return [*map(up, dims[:2]), *dims[2:]]


def up(channels):
    return channels if channels < 16 else -(-channels // 16) * 16


def text_of(dims):
    return ",".join(map(str, dims))


def predicted_of(program, name, costs):
    """({input: (type, dims)}, [(operations, nanoseconds)] of the launches of the cover)."""
    variables = {
        "XFLOW_BENCH_RUNNER": RUNNER,
        "XFLOW_BENCH_COVER": "1",
        "XFLOW_BENCH_COSTS": str(costs),
    }
    command = [program, f"--benchmark_filter=RunnerCost/{name}/"]
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, **variables}, check=True)
    inputs, launches = {}, []
    for line in run.stdout.splitlines():
        if line.startswith("input "):
            _, key, data_type, dims = line.split(" ")
            inputs[key] = data_type, [int(d) for d in dims.strip("[]").split(",") if d]
        if line.startswith("kernel ") and not line.startswith("kernel - "):
            _, duration, text = line.split(" ", 2)
            launches.append((operations(text), float(duration)))
    return inputs, launches


def operations(text):
    """The operations of a kernel as `explain` writes it."""
    head, _, tail = text.partition(" -> ")
    kernel, _, operands = head.partition("(")
    kernel = kernel.removeprefix("pointwise/").removeprefix("copy:").replace("reduce:", "reduce_")
    tail, *post = tail.split(" | ")
    result = dims_of(tail)[0]
    found = [operation(kind_of(re.split("[/:]", kernel)[0]), dims_of(operands), result)]
    return found + [operation(kind_of(re.match("[a-z_0-9]*", p).group()), [], result) for p in post]


def dims_of(text):
    return [[int(d) for d in dims.split(",") if d] for dims in re.findall(r"[a-z]+[0-9]*\[([0-9,]*)\]", text)]


def executed_of(path, inputs):
    """{operation: nanoseconds of all such nodes of the model as the runtime runs it}, and of all nodes."""
    generator = numpy.random.default_rng(1)
    feed = {}
    for name, (data_type, dims) in inputs.items():
        values = generator.standard_normal(dims) if data_type.startswith("float") else numpy.zeros(dims)
        feed[name] = values.astype("bool" if data_type == "bool" else data_type)
    sessions = []
    for profiled in [False, True]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_profiling = profiled
        options.profile_file_prefix = str(path.with_suffix(""))
        sessions.append(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))
    plain, profiled = sessions
    whole = []
    for _ in range(RUNS):
        profiled.run(None, feed)
        plain.run(None, feed)
        begin = time.perf_counter_ns()
        plain.run(None, feed)
        whole.append(time.perf_counter_ns() - begin)
    profile = pathlib.Path(profiled.end_profiling())
    events = json.loads(profile.read_text())
    profile.unlink()
    times, described = collections.defaultdict(list), {}
    for event in events:
        # Nodes inside of a body are part of the node that holds it.
        if event.get("cat") != "Node" or not event["name"].endswith("_kernel_time"):
            continue
        key = event["name"], event["args"]["node_index"]
        times[key].append(1e3 * event["dur"] + 500)  # it is rounded down to microseconds
        described[key] = event["args"]
    medians = {key: statistics.median(found) for key, found in times.items()}
    extra = max(sum(medians.values()) - statistics.median(whole), 0) / max(len(medians), 1)
    nodes = collections.Counter()
    for key, arguments in described.items():
        operands, results = (
            [dims for entry in arguments.get(f"{side}_type_shape", []) for dims in entry.values()] for side in ["input", "output"]
        )
        found = operation(kind_of(arguments["op_name"]), operands, results[0]) if results else None
        nodes[found] += max(medians[key] - extra, 0)
    return nodes


def spearman(a, b):
    ranks = [numpy.argsort(numpy.argsort(values, kind="stable"), kind="stable") for values in (a, b)]
    return float(numpy.corrcoef(*ranks)[0, 1])


def compare(launches, nodes):
    """[(predicted, executed, or None where no operation of it is a node)] for each launch."""
    count = collections.Counter(found for made, _ in launches for found in set(made))
    result = []
    for made, duration in launches:
        seen = [nodes[found] / count[found] for found in set(made) if found in nodes]
        result.append((duration, sum(seen) if seen else None))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--costs", type=pathlib.Path, help="file of measured costs (one in the work folder)")
    options = parser.parse_intermixed_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder = os.environ.get("XFLOW_TEST_MODELS")
    if not folder:
        print("no models: XFLOW_TEST_MODELS is not set", file=sys.stderr)
        return 64
    print("| model | launches | of the time, % | at least 10 us | median error, % | Spearman | not found, % | predicted, of executed |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for source in sorted(pathlib.Path(folder).glob("*.onnx")):
        if options.names and source.stem not in options.names:
            continue
        path = options.work / source.name
        path.write_bytes(source.read_bytes())
        inputs, launches = predicted_of(options.program, source.stem, options.costs or options.work / "costs.db")
        try:
            nodes = executed_of(path, inputs)
        except Exception as error:  # ONNX Runtime has no class of its own for what a model refuses
            print(f"{source.stem}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        compared = compare(launches, nodes)
        found = [(p, e) for p, e in compared if e is not None]
        predicted, executed = sum(p for p, _ in compared), sum(nodes.values())
        errors = [abs(p / e - 1) for p, e in found if e >= LEAST]
        cells = [source.stem, len(launches), f"{100 * sum(e for _, e in found) / executed:.0f}", len(errors)]
        cells.append(f"{100 * statistics.median(errors):.1f}" if errors else "")
        cells.append(f"{spearman(*zip(*found)):.3f}" if len(found) > 2 else "")
        cells.append(f"{100 * sum(p for p, e in compared if e is None) / max(predicted, 1):.0f}")
        cells.append(f"{predicted / executed:.3f}")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
