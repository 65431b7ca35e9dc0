"""Splits the nodes of every model of the folder XFLOW_TEST_MODELS over four devices: plan_models_test.py PROGRAM WORK [MODEL...]. The plan
as a configuration has no fault and the simulated step of the plan, and the parts compute what the model does by the rule of `xflow check`."""

import json
import shutil
import subprocess
import sys

import numpy
from parts import Parts, over_models, session

DEVICES = 4
# Links are free and arithmetic is slow, so that nodes are divided in every way.
DEVICE = {"kind": "test", "host": 0, "memory": 1e12, "roofline": {"launch": 0, "operations": 1e9, "bandwidth": 1e30}}
CLUSTER = {"name": "free", "devices": [{"name": f"d{k}", **DEVICE} for k in range(DEVICES)], "inside": {"latency": 0, "bandwidth": 1e30}}
# An If has all of it, which ONNX Runtime runs: inputs of the model.
IN_RUNTIME = {"silero_vad_v5": {"input": numpy.linspace(-1, 1, 512, dtype=numpy.float32).reshape(1, 512),
                                "state": numpy.zeros((2, 1, 128), numpy.float32), "sr": numpy.array(16000, numpy.int64)}}


def faults_of(program, path, work):
    (work / "free.json").write_text(json.dumps(CLUSTER))
    model, parts = work / f"{path.stem}-plan.onnx", work / f"{path.stem}-parts"
    shutil.rmtree(parts, ignore_errors=True)
    for left in work.glob(f"{path.stem}-plan.onnx*"):
        left.unlink()

    def run(*command):
        return subprocess.run([str(word) for word in [program, *command]], capture_output=True, text=True)

    search = ["parallelize", path, "--cluster", work / "free.json", "--steps", 100, "--out", work / "plan.json"]
    planned = run(*search, model)
    if planned.returncode != 0:
        return [planned.stderr]
    plan = json.loads((work / "plan.json").read_text())
    found = []
    check = run("check-plan", model)
    if check.returncode != 0:
        found.append(check.stdout + check.stderr)
    simulated = run("simulate", model, "--cluster", work / "free.json", "--out", work / "step.json")
    step = json.loads((work / "step.json").read_text())["step_seconds"] if simulated.returncode == 0 else simulated.stderr
    if step != plan["step_seconds"]:
        found.append(f"the simulated step is {step} instead of {plan['step_seconds']}")
    written = run(*search, "--parts", parts)
    if path.stem in IN_RUNTIME:
        return found + ([written.stderr] if written.returncode != 0 else faults_in_runtime(path, parts))
    divided = [node for node in json.loads((work / "plan.json").read_text())["nodes"] if node["splits"]]
    sums = [node for node in divided if any(split["axis"] == "sum" for split in node["splits"])]
    equal = run("run", parts, "--costs", work / "costs.db", "--check-against", path) if written.returncode == 0 else written
    if equal.returncode != 0:
        found.append(f"parts: {(equal.stdout.strip().splitlines() or [''])[-1]} {equal.stderr}")
    if not divided:
        found.append("no node is divided")
    print(f"{path.stem}: {len(divided)} nodes are divided, {len(sums)} of them along a sum", flush=True)
    shutil.rmtree(parts, ignore_errors=True)
    return found


def faults_in_runtime(path, parts):
    inputs = IN_RUNTIME[path.stem]
    whole, of_parts = session(path).run(None, inputs), Parts(parts).run(inputs).values()
    print(f"{path.stem}: its nodes stay as they are", flush=True)
    return [f"output {k} of the parts differs" for k, (one, other) in enumerate(zip(whole, of_parts)) if not numpy.array_equal(one, other)]


def main():
    program, work, *names = sys.argv[1:]
    return over_models(work, lambda path, folder: faults_of(program, path, folder), "the plans of {} models compute what the models do", names)


if __name__ == "__main__":
    sys.exit(main())
