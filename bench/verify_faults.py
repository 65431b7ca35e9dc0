"""Puts seeded faults into models and asks xflow about each: verify_faults.py XFLOW MODELS [--count 200] [--timeout 60s].

MODELS has NAME.onnx, perhaps with inputs NAME.npz. Needs onnx, numpy and onnxruntime, which says whether a fault changes the results. Prints for
each kind of fault how many were made, how many change the results by more than 1e-4 of their magnitude, how many of these xflow refuted, left
unknown or proved, and how many of the others it refuted.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

CHANGED = 1e-4


def floats(model, least=2):
    return [i for i in model.graph.initializer if i.data_type == onnx.TensorProto.FLOAT and numpy.prod(i.dims) >= least]


def nodes_of(model, *names):
    return [node for node in model.graph.node if node.op_type in names]


def attribute(node, name):
    return next((a for a in node.attribute if a.name == name), None)


def swap_weights(model, random):
    shapes = collections.defaultdict(list)
    for initializer in floats(model):
        shapes[tuple(initializer.dims)].append(initializer)
    groups = [group for group in shapes.values() if len(group) > 1]
    if not groups:
        return False
    group = groups[random.integers(len(groups))]
    a, b = (group[k] for k in random.choice(len(group), 2, replace=False))
    first, second = numpy_helper.to_array(a), numpy_helper.to_array(b)
    a.CopyFrom(numpy_helper.from_array(second, a.name))
    b.CopyFrom(numpy_helper.from_array(first, b.name))
    return True


def change_constant(model, random):
    found = floats(model)
    if not found:
        return False
    chosen = found[random.integers(len(found))]
    chosen.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(chosen) * numpy.float32(1.01), chosen.name))
    return True


def one_of(model, random, names, name, change):
    found = [node for node in nodes_of(model, *names) if attribute(node, name) is not None]
    for k in random.permutation(len(found)):
        value = attribute(found[k], name)
        changed = change(helper.get_attribute_value(value))
        if changed is None:
            continue
        value.CopyFrom(helper.make_attribute(name, changed))
        return True
    return False


def change_pads(model, random):
    def moved(pads):
        half = len(pads) // 2
        return [pads[0] - 1, *pads[1:half], pads[half] + 1, *pads[half + 1 :]] if pads[0] > 0 else None

    return one_of(model, random, ["Conv", "MaxPool", "AveragePool"], "pads", moved)


def change_axis(model, random):
    return one_of(model, random, ["Softmax", "LayerNormalization", "Concat", "Gather", "Split"], "axis", lambda axis: axis - 1 if axis > 0 else None)


def change_permutation(model, random):
    def turned(order):
        return [*order[:-2], order[-1], order[-2]] if len(order) > 1 else None

    return one_of(model, random, ["Transpose"], "perm", turned)


def change_epsilon(model, random):
    return one_of(model, random, ["BatchNormalization", "LayerNormalization", "InstanceNormalization"], "epsilon", lambda value: 100 * value + 0.01)


def drop_bias(model, random):
    found = [node for node in nodes_of(model, "Conv", "Gemm") if len(node.input) == 3]
    if not found:
        return False
    del found[random.integers(len(found))].input[2:]
    return True


def turn_broadcast(model, random):
    """A vector that is added or multiplied becomes the reversed one."""
    named = {i.name: i for i in floats(model) if len(i.dims) == 1}
    found = sorted({name for node in nodes_of(model, "Add", "Mul") for name in node.input if name in named})
    if not found:
        return False
    chosen = named[found[random.integers(len(found))]]
    chosen.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(chosen)[::-1].copy(), chosen.name))
    return True


FAULTS = [swap_weights, change_constant, change_pads, change_axis, change_permutation, change_epsilon, drop_bias, turn_broadcast]


def inputs_of(session, path, random):
    file = path.with_suffix(".npz")
    stored = dict(numpy.load(file)) if file.exists() else {}
    stored = {name.removeprefix("in__"): value for name, value in stored.items() if not name.startswith("out")}
    values = {}
    for information in session.get_inputs():
        if information.name in stored:
            values[information.name] = stored[information.name]
            continue
        dims = [d if isinstance(d, int) and d > 0 else (1 if k == 0 else 64) for k, d in enumerate(information.shape)]
        integral = "int" in information.type
        kind = numpy.int64 if integral else numpy.float32
        values[information.name] = random.integers(0, 2, dims).astype(kind) if integral else random.uniform(-1, 1, dims).astype(kind)
    return values


def results(model, path, random_seed):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs_of(session, path, numpy.random.default_rng(random_seed)))


def changes(a, b):
    for x, y in zip(a, b):
        if x.shape != y.shape:
            return True
        x, y = x.astype(numpy.float64), y.astype(numpy.float64)
        if not numpy.all(numpy.abs(x - y) <= CHANGED * max(numpy.max(numpy.abs(x), initial=0), 1e-30)):
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--timeout", default="60s")
    arguments = parser.parse_args()
    paths = sorted(arguments.models.glob("*.onnx"))
    models = {path: onnx.load(path) for path in paths}
    table = collections.defaultdict(collections.Counter)
    made = 0
    seed = 0
    while made < arguments.count:
        seed += 1
        random = numpy.random.default_rng(seed)
        path = paths[seed % len(paths)]
        fault = FAULTS[seed // len(paths) % len(FAULTS)]
        model = onnx.ModelProto()
        model.CopyFrom(models[path])
        if not fault(model, random):
            continue
        try:
            changed = changes(results(models[path], path, seed), results(model, path, seed))
        except Exception:  # the fault makes the model invalid
            continue
        made += 1
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model.SerializeToString())
            file.flush()
            run = subprocess.run([arguments.program, "verify", path, file.name, "--json", "--timeout", arguments.timeout], capture_output=True, text=True)
        verdict = json.loads(run.stdout)["verdict"] if run.returncode in (0, 1) else "failed"
        count = table[fault.__name__]
        count["made"] += 1
        count["changes" if changed else "does not"] += 1
        count[f"{verdict}, {'changed' if changed else 'unchanged'}"] += 1
        if changed and verdict != "refuted" or verdict == "refuted" and not changed:
            print(f"seed {seed}: {path.stem}, {fault.__name__}: {verdict}, results {'changed' if changed else 'unchanged'} {run.stderr.strip()}", flush=True)
    columns = ["made", "changes", "refuted, changed", "unknown, changed", "timeout, changed", "proved, changed", "refuted, unchanged"]
    print("| fault | " + " | ".join(columns) + " |\n|---" * 1 + "|---" * len(columns) + "|")
    for name, count in sorted(table.items()):
        print(f"| {name.replace('_', ' ')} | " + " | ".join(str(count[column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
