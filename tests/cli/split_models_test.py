"""Splits every model of the folder XFLOW_TEST_MODELS under two plans and runs the parts in ONNX Runtime: split_models_test.py PROGRAM WORK
[MODEL...]. Parts compute what the whole model does, bit for bit."""

import json
import shutil
import subprocess
import sys

import numpy
import onnx
from models_test import seeded_inputs, stored_inputs
from parts import Parts, over_models, plan_of, session

# The largest model that is split node by node: each part is a model that ONNX Runtime loads.
MOST_NODES = 1000


def same(one, other):
    """Also of sequences and of NaN."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def faults_of(program, path, work):
    model = onnx.load(path)
    stored = path.with_suffix(".npz")
    sets = stored_inputs(stored) if stored.exists() else seeded_inputs(model)
    whole = session(path)
    expected = [dict(zip((value.name for value in whole.get_outputs()), whole.run(None, inputs))) for inputs in sets]
    count = len(model.graph.node)
    for policy in ["chain"] + ["round-robin"] * (count <= MOST_NODES):
        folder = work / f"{path.stem}-{policy}"
        shutil.rmtree(folder, ignore_errors=True)
        plan = work / "plan.json"
        plan.write_text(json.dumps(plan_of(count, policy)))
        run = subprocess.run([program, "split", path, "--plan", plan, "--cluster", work / "cluster.json", "--out", folder],
                             capture_output=True, text=True)
        if run.returncode != 0:
            yield f"{policy}: {run.stderr}"
            continue
        parts = Parts(folder)
        held = sum(part["nodes"] for part in parts.manifest["parts"])
        if held + parts.manifest["left_out"] < count or (not parts.manifest["copied"] and held + parts.manifest["left_out"] != count):
            yield f"{policy}: {held} nodes in parts and {parts.manifest['left_out']} in none, of {count}"
        for inputs, outputs in zip(sets, expected):
            found = parts.run(inputs)
            if list(found) != list(outputs):
                yield f"{policy}: outputs {list(found)}"
            for name, value in outputs.items():
                if not same(value, found[name]):
                    error = numpy.abs(numpy.asarray(value, numpy.float64) - found[name]).max() if value.shape == found[name].shape else ""
                    yield f"{policy}: output {name} differs {error}"
        print(f"{path.stem}, {policy}: {len(parts.manifest['parts'])} parts, {held} nodes in parts, {parts.manifest['left_out']} in none, {parts.manifest['copied']} copied")
        shutil.rmtree(folder)


def main():
    program, work, *names = sys.argv[1:]
    return over_models(work, lambda path, folder: faults_of(program, path, folder), "{} models compute the same in parts", names)


if __name__ == "__main__":
    sys.exit(main())
