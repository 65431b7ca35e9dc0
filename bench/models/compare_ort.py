"""Compares what xflow and its peers make of models, in ONNX Runtime with its own optimisations on; prints a table in Markdown.

    compare_ort.py PROGRAM --work FOLDER [--quickstart MODEL] [--threads 1,2] [--rounds N] [--budget 30s] [--peers FOLDER] [--known] [NAME...]

The models are those of the folder XFLOW_TEST_MODELS (or those of the NAMEs there, without .onnx) and that of the quickstart. The numbers are
processor times as parts of the original's, medians over interleaved turns with their 95 % intervals. `same` is the original again, which is
the noise of the method; `saved` is the original read and written by onnx, the baseline of the peers, which do that too; `xflow` uses the
kernels of this CPU, `runner` those of ONNX Runtime, where it also runs whole models (docs/runner.md), both with as many threads as the
models run with then. "kept": xflow wrote the bytes of the original, which counts as 1 in the mean. --peers names a Python
environment with onnxsim and onnxslim (scripts/deps peers); without it they are left out. Figures stay in FOLDER/MODEL/THREADS; with --known
they are printed again, for models that were compared one by one. A second table says what was predicted of whole models from kernels timed in
ONNX Runtime, and what they took there when the gate ran them.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import statistics
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


def variants_of(path, options, threads, inputs, known):
    """{variant: path, or None where it could not be made}; 'same' stands first."""
    folder = options.work / path.stem / str(threads)
    folder.mkdir(parents=True, exist_ok=True)
    result = {"same": path, "saved": folder / "saved.onnx"}
    onnx.save(onnx.load(path), result["saved"])
    for name, arguments in {"xflow": [], "runner": ["--runner", RUNNER]}.items():
        result[name] = folder / f"{name}.onnx"
        arguments = ["--threads", str(threads), *arguments]
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


def figures_of(path, options, threads, columns):
    """{"milliseconds": of the original, column: [median, low, high], "kept" or "failed"}."""
    stored = options.work / path.stem / str(threads) / "figures.json"
    if options.known:
        return json.loads(stored.read_text()) if stored.exists() else None
    quickstart = path if options.quickstart and path.name == options.quickstart.name else None
    inputs, known = inputs_of(path, quickstart)
    made = variants_of(path, options, threads, inputs, known)
    present = [column for column in columns if made[column]]
    time, found = ort.ratios([made[column] for column in present], inputs, threads, options.rounds)
    result = {"milliseconds": time / 1e6, **dict.fromkeys(columns, "failed")}
    original = path.read_bytes()
    for column, ratio in zip(present, found):
        is_kept = column in ["xflow", "runner"] and made[column].read_bytes() == original
        result[column] = "kept" if is_kept else [ratio.median, ratio.low, ratio.high]
    stored.write_text(json.dumps(result))
    return result


def predictions(paths, options, threads):
    """Rows of (model, predicted and run nanoseconds of the original, predicted and run parts of the result), where the gate ran a result."""
    for path in paths:
        stored = options.work / path.stem / str(threads) / "runner.json"
        report = json.loads(stored.read_text()) if stored.exists() else {}
        compared = report.get("end_to_end", {}).get("comparisons", [])
        if compared:
            predicted, run = report["predicted_nanoseconds"], compared[0]
            gains = predicted["after"] / predicted["before"], run["ratio"]
            yield path.stem, predicted["before"], run["original_nanoseconds"], *gains


def print_predictions(paths, options, threads):
    rows = list(predictions(paths, options, threads))
    if not rows:
        return
    print("\nPredicted from kernels timed in ONNX Runtime, and run there by the gate\n")
    print("| model | original predicted, µs | run, µs | error, % | result predicted, of the original | run |\n|---|---|---|---|---|---|")
    for name, predicted, run, *gains in rows:
        error = 100 * (predicted / run - 1)
        print(f"| {name} | {predicted / 1e3:.0f} | {run / 1e3:.0f} | {error:.1f} | {gains[0]:.3f} | {gains[1]:.3f} |")
    error = statistics.median(abs(predicted / run - 1) for _, predicted, run, *_ in rows)
    difference = statistics.median(abs(predicted / run - 1) for *_, predicted, run in rows)
    print(f"\nMedian error of the original {100 * error:.1f} %, of the ratio {100 * difference:.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--quickstart", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--budget", default="30s", help="of the search, as for xflow optimize")
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--known", action="store_true", help="print what was compared before")
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
            figures = figures_of(path, options, threads, columns)
            if figures is None:
                continue
            cells = []
            for column in columns:
                figure = figures[column]
                cells.append(figure if isinstance(figure, str) else str(ort.Ratio(*figure)))
                if figure != "failed":
                    medians[column].append(1 if figure == "kept" else figure[0])
            print(f"| {path.stem} | {figures['milliseconds']:.2f} | {' | '.join(cells)} |", flush=True)
        means = [f"{math.exp(sum(map(math.log, m)) / len(m)):.3f}" if m else "" for m in medians.values()]
        print(f"| geometric mean | | {' | '.join(means)} |", flush=True)
        print_predictions(paths, options, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
