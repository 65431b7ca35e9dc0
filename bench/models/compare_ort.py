"""Compares what xflow and its peers make of models, in ONNX Runtime with its own optimisations on; prints a table in Markdown.

    compare_ort.py PROGRAM --work FOLDER [--quickstart MODEL] [--threads 1,2] [--turns N] [--budget 30s] [--peers FOLDER] [NAME...]

The models are those of the folder XFLOW_TEST_MODELS (or those of the NAMEs there, without .onnx) and that of the quickstart. The numbers are
processor times as parts of the original's, medians over interleaved turns with their 95 % intervals. `same` is the original again, which is
the noise of the method; `saved` is the original read and written by onnx, the control for the peers, which do that too; `xflow` pays with the
kernels of this CPU, `runner` with those of ONNX Runtime, where it also runs whole models (docs/runner.md). --peers names a Python
environment with onnxsim and onnxslim (scripts/deps peers); without it they are left out.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import models_test
import ort

QUICKSTART_SHAPE = [1, 3, 48, 192]
RUNNER = f"PYTHONPATH={shlex.quote(str(ROOT / 'python'))} {shlex.quote(sys.executable)} -m xflow_onnx.runner_ort"


def inputs_of(path, quickstart):
    """The inputs to run `path` on, and whether the model was made for their sizes."""
    stored = path.with_suffix(".npz")
    if stored.exists():
        return models_test.stored_inputs(stored)[0], True
    if path == quickstart:
        return models_test.inputs_of_shape(onnx.load(path), {"x": QUICKSTART_SHAPE}), True
    return models_test.seeded_inputs(onnx.load(path))[0], False


def optimize(program, path, output, inputs, known, budget, work, arguments=()):
    """Writes what xflow makes of the model; returns its report. Raises RuntimeError with the program's message."""
    report = output.with_suffix(".json")
    command = [program, "optimize", path, output, "--budget", budget, "--costs", work / "costs.db", "--report", report]
    for name, value in inputs.items():
        if known and value.ndim > 0:
            command += ["--shape", f"{name}:{','.join(map(str, value.shape))}"]
    run = subprocess.run([*map(str, command), *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return json.loads(report.read_text())


def peer(command, output):
    """True if a peer made `output`."""
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    return run.returncode == 0 and output.exists()


def variants_of(path, options, inputs, known):
    """{variant: path, or None where it could not be made}; 'same' stands first."""
    folder = options.work / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    result = {"same": path, "saved": folder / "saved.onnx"}
    onnx.save(onnx.load(path), result["saved"])
    for name, arguments in {"xflow": [], "runner": ["--runner", RUNNER]}.items():
        result[name] = folder / f"{name}.onnx"
        try:
            optimize(options.program, path, result[name], inputs, known, options.budget, options.work, arguments)
        except RuntimeError as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            result[name] = None
    if options.peers:
        for name in ["onnxsim", "onnxslim"]:
            output = folder / f"{name}.onnx"
            made = peer([options.peers / "bin" / name, path, output], output)
            result[name] = output if made else None
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--quickstart", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--turns", type=int, default=31)
    parser.add_argument("--budget", default="30s", help="of the search, as for xflow optimize")
    parser.add_argument("--peers", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    options.work.mkdir(parents=True, exist_ok=True)

    folder = os.environ.get("XFLOW_TEST_MODELS")
    paths = sorted(pathlib.Path(folder).glob("*.onnx")) if folder else []
    if options.quickstart and options.quickstart.name not in {path.name for path in paths}:
        paths.append(options.quickstart)
    paths = [path for path in paths if not options.names or path.stem in options.names]
    if not paths:
        print("no models: XFLOW_TEST_MODELS is not set and --quickstart not given", file=sys.stderr)
        return 64
    columns = ["same", "saved", "xflow", "runner", *(["onnxsim", "onnxslim"] if options.peers else [])]
    for threads in map(int, options.threads.split(",")):
        print(f"\nProcessor time in ONNX Runtime, {threads} thread{'s' if threads > 1 else ''}, as a part of the original's\n")
        print(f"| model | original, ms | {' | '.join(columns)} |")
        print(f"|---|---|{'---|' * len(columns)}", flush=True)
        medians = {column: [] for column in columns}
        for path in paths:
            quickstart = options.quickstart
            if quickstart and path.name == quickstart.name:
                quickstart = path
            inputs, known = inputs_of(path, quickstart)
            made = variants_of(path, options, inputs, known)
            present = [column for column in columns if made[column]]
            time, found = ort.ratios([made[column] for column in present], inputs, threads, options.turns)
            row = dict(zip(present, found))
            for column, ratio in row.items():
                medians[column].append(ratio.median)
            cells = [str(row.get(column, "failed")) for column in columns]
            print(f"| {path.stem} | {time / 1e6:.2f} | {' | '.join(cells)} |", flush=True)
        means = [f"{math.exp(sum(map(math.log, m)) / len(m)):.3f}" if m else "" for m in medians.values()]
        print(f"| geometric mean | | {' | '.join(means)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
