"""Splits models of the folder XFLOW_TEST_MODELS in two and runs the parts with `xflow run`, in two processes, or in one without MPIRUN:
run_models_test.py PROGRAM WORK [MPIRUN]. Outputs are those of the whole model by the rule of `xflow check`."""

import json
import shutil
import subprocess
import sys

import mpi
import numpy
import onnx
from models_test import seeded_inputs
from parts import over_models, plan_of

# xflow runs no If, and a part whose Reshape has a computed shape only with known sizes.
UNSUPPORTED = {"silero_vad_v5"}


def inputs_of(path, work):
    """A file of inputs, and their sizes as options."""
    stored = path.with_suffix(".npz")
    arrays = numpy.load(stored) if stored.exists() else seeded_inputs(onnx.load(path))[0]
    prefix = "in__" if stored.exists() else ""
    inputs = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
    numpy.savez(work / "x.npz", **inputs)
    return [word for name, value in inputs.items() for word in ["--shape", f"{name}:{','.join(map(str, value.shape))}"]]


def faults_of(program, mpirun, path, work):
    shapes = inputs_of(path, work)
    parts = work / path.stem
    shutil.rmtree(parts, ignore_errors=True)
    (work / "plan.json").write_text(json.dumps(plan_of(len(onnx.load(path).graph.node), "chain")))

    def run(*command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=mpi.environment())
        return "" if done.returncode == 0 else f"{command[-1]}: {done.stdout[-300:]}{done.stderr}"

    fault = run(program, "split", path, "--plan", work / "plan.json", "--cluster", work / "cluster.json", "--out", parts, *shapes)
    arguments = ["run", parts, "--inputs", work / "x.npz", "--costs", work / "costs.db", "--check-against", path]
    processes = [mpirun, *mpi.OPTIONS, "-n", 2] if mpirun else []
    fault = fault or run(*processes, program, *arguments)
    if (path.stem in UNSUPPORTED) != ("cannot run" in fault):
        return [fault or "is supported now"]
    return [] if path.stem in UNSUPPORTED or not fault else [fault]


def main():
    program, work, *mpirun = sys.argv[1:]
    return over_models(work, lambda path, folder: faults_of(program, mpirun[0] if mpirun else "", path, folder),
                       "the parts of {} models compute what the models do")


if __name__ == "__main__":
    sys.exit(main())
