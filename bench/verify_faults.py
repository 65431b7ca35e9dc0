"""Puts seeded faults into models and asks xflow about each: verify_faults.py XFLOW MODELS [--count 200] [--timeout 60s] [--rounded].

MODELS has NAME.onnx, perhaps with inputs NAME.npz. Needs onnx, numpy and onnxruntime, which says whether a fault changes the results. Prints for
each kind of fault how many were made, how many change the results by more than 1e-4 of their magnitude, how many of these xflow refuted, left
unknown or proved, and how many of the others it refuted. With --rounded, the constants of each model change by one unit in the last place instead:
none may be refuted.
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


def graphs_of(graph):
    """The graph and the bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs_of(body)


def floats(model, least=2):
    """Initializers, and tensors of constant nodes, which have the names of their results."""
    found = []
    for graph in graphs_of(model.graph):
        found += graph.initializer
        for node in graph.node:
            if node.op_type == "Constant" and attribute(node, "value") is not None:
                tensor = attribute(node, "value").t
                tensor.name = node.output[0]
                found.append(tensor)
    return [i for i in found if i.data_type == onnx.TensorProto.FLOAT and numpy.prod(i.dims) >= least]


def nodes_of(model, *names):
    return [node for graph in graphs_of(model.graph) for node in graph.node if node.op_type in names]


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


def round_constants(model, random):
    """No fault: another program may round each constant otherwise."""
    for initializer in floats(model, 1):
        value = numpy_helper.to_array(initializer)
        up = random.integers(0, 2, value.shape).astype(bool)
        moved = numpy.nextafter(value, numpy.where(up, 1e30, -1e30).astype(numpy.float32))
        # Small integers are exact in any program, and masks are the largest numbers.
        kept = numpy.isin(value, numpy.arange(-16, 17)) | ~(numpy.abs(value) < 1e30)
        initializer.CopyFrom(numpy_helper.from_array(numpy.where(kept, value, moved).astype(numpy.float32), initializer.name))
    return True


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


# Open first, inner and last dimensions of inputs.
SIZES = [(1, 64, 64), (1, 1, 256)]


def compared_with(model, name):
    """The integers that the main graph compares an input with."""
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    constants |= {node.output[0]: numpy_helper.to_array(attribute(node, "value").t) for node in model.graph.node
                  if node.op_type == "Constant" and attribute(node, "value") is not None}
    others = [other for node in model.graph.node if node.op_type == "Equal" and name in node.input for other in node.input if other in constants]
    return [value for other in others for value in constants[other].ravel()]


def inputs_of(session, path, random, sizes):
    file = path.with_suffix(".npz")
    stored = dict(numpy.load(file)) if file.exists() else {}
    stored = {name.removeprefix("in__"): value for name, value in stored.items() if not name.startswith("out")}
    values = {}
    first, inner, last = sizes
    for information in session.get_inputs():
        if information.name in stored:
            values[information.name] = stored[information.name]
            continue
        rank = len(information.shape)
        dims = [d if isinstance(d, int) and d > 0 else first if k == 0 else last if k == rank - 1 else inner for k, d in enumerate(information.shape)]
        integral = "int" in information.type
        kind = numpy.int64 if integral else numpy.float32
        values[information.name] = random.integers(0, 2, dims).astype(kind) if integral else random.uniform(-1, 1, dims).astype(kind)
    return values


def sessions_inputs(model, session, path, random_seed):
    """Sets of inputs that the model takes, at the first sizes that it takes: drawn ones, and with each integer that it compares an input with."""
    for sizes in SIZES:
        drawn = inputs_of(session, path, numpy.random.default_rng(random_seed), sizes)
        sets = [drawn] + [drawn | {name: numpy.full_like(drawn[name], value)} for name in drawn for value in compared_with(model, name)]
        try:
            for values in sets:
                session.run(None, values)
            return sets
        except Exception:  # of any kind: other sizes
            continue
    raise RuntimeError(f"{path} takes none of the sizes")


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def results(session, sets):
    return [result for values in sets for result in session.run(None, values)]


def changes(a, b):
    for x, y in zip(a, b):
        if x.shape != y.shape:
            return True
        x, y = x.astype(numpy.float64), y.astype(numpy.float64)
        if not numpy.all(numpy.abs(x - y) <= CHANGED * max(numpy.max(numpy.abs(x), initial=0), 1e-30)):
            return True
    return False


def verdict_of(arguments, path, model):
    """What xflow says of a changed model, and why it differs or the error."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        run = subprocess.run([arguments.program, "verify", path, file.name, "--json", "--timeout", arguments.timeout], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        return "failed", run.stderr.strip()
    found = json.loads(run.stdout)
    return found["verdict"], found["difference"]


def rounded(arguments, paths):
    """Asks about each model with its constants rounded otherwise."""
    count = collections.Counter()
    for path in paths:
        model = onnx.load(path)
        round_constants(model, numpy.random.default_rng(1))
        verdict, said = verdict_of(arguments, path, model)
        count[verdict] += 1
        if verdict in ("refuted", "failed"):
            print(f"{path.stem}: {verdict}, {said}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items())) + f" of {len(paths)} models with constants rounded otherwise")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--timeout", default="60s")
    parser.add_argument("--rounded", action="store_true", help="round the constants of each model otherwise, which must never be refuted")
    arguments = parser.parse_args()
    paths = sorted(arguments.models.glob("*.onnx"))
    if arguments.rounded:
        return rounded(arguments, paths)
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
        original = session_of(models[path])
        sets = sessions_inputs(models[path], original, path, seed)
        try:
            changed = changes(results(original, sets), results(session_of(model), sets))
        except Exception:  # the fault makes the model invalid
            continue
        made += 1
        verdict, said = verdict_of(arguments, path, model)
        count = table[fault.__name__]
        count["made"] += 1
        count["changes" if changed else "does not"] += 1
        count[f"{verdict}, {'changed' if changed else 'unchanged'}"] += 1
        if changed and verdict != "refuted" or verdict == "refuted" and not changed:
            print(f"seed {seed}: {path.stem}, {fault.__name__}: {verdict}, results {'changed' if changed else 'unchanged'} {said}", flush=True)
    columns = ["made", "changes", "refuted, changed", "unknown, changed", "timeout, changed", "proved, changed", "refuted, unchanged"]
    print("| fault | " + " | ".join(columns) + " |\n|---" * 1 + "|---" * len(columns) + "|")
    for name, count in sorted(table.items()):
        print(f"| {name.replace('_', ' ')} | " + " | ".join(str(count[column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
