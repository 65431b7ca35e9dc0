"""Makes models smaller and faster with xflow and its peers, and measures what came out.

    compare.py PROGRAM PEERS --work FOLDER [--threads 1,2] [--rounds N] [--known] [--times] [MODEL.onnx ...] [-- ARGUMENT...]

PROGRAM is xflow, PEERS a Python environment with onnxsim, OnnxSlim and onnxoptimizer (scripts/deps peers). The models are those of the folder
XFLOW_TEST_MODELS without any MODEL. ARGUMENTs are handed to `xflow optimize`, which times kernels and runs whole models in ONNX Runtime. For
each model and each tool: the wall time and the largest resident memory of the command; nodes (bodies included) and bytes of the result; whether
`xflow check` finds it equal and `xflow verify` proves it; and the processor time of a run in ONNX Runtime with its own optimisations on, as a
part of the original's, with its 95 % interval, as bench/models/ort.py measures it. 'ORT basic' is what ONNX Runtime itself writes at its basic
level.

Figures and results are kept in FOLDER/MODEL; with --known they are not made once more. With --times the results are run once more, and nothing
else is done. tables.py makes tables and pictures of the figures.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/cli"), str(ROOT / "bench/models")]
import models_test
import ort
import simplify_table

RUNNER = f"PYTHONPATH={shlex.quote(str(ROOT / 'python'))} {shlex.quote(sys.executable)} -m xflow_onnx.runner_ort"
LIMIT = 600  # seconds of a command
# Runs a command from a small process, because the memory of a process that starts another one counts for that, too.
LAUNCHER = """
import resource
import subprocess
import sys
try:
    status = subprocess.run(sys.argv[3:], timeout=float(sys.argv[2])).returncode
except subprocess.TimeoutExpired:
    print(f"no result after {sys.argv[2]} s")
    status = 1
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""
# What ONNX Runtime writes by itself.
ORT_BASIC = """
import sys
import onnxruntime
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
options.optimized_model_filepath = sys.argv[2]
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
ONNXOPTIMIZER = """
import sys
import onnx
import onnxoptimizer
onnx.save(onnxoptimizer.optimize(onnx.load(sys.argv[1])), sys.argv[2])
"""


def result_of(folder, tool):
    return folder / f"{tool.replace(' ', '_')}.onnx"


def commands(options, source, folder, inputs):
    """{tool: (command, result)}"""
    made = {tool: result_of(folder, tool) for tool in ("onnxsim", "OnnxSlim", "onnxoptimizer", "ORT basic", "xflow simplify", "xflow")}
    shapes = [word for name, value in inputs.items() if value.ndim > 0 for word in ("--shape", f"{name}:{','.join(map(str, value.shape))}")]
    return {
        "onnxsim": ([options.peers / "bin/onnxsim", source, made["onnxsim"]], made["onnxsim"]),
        "OnnxSlim": ([options.peers / "bin/onnxslim", source, made["OnnxSlim"]], made["OnnxSlim"]),
        "onnxoptimizer": ([options.peers / "bin/python", "-c", ONNXOPTIMIZER, source, made["onnxoptimizer"]], made["onnxoptimizer"]),
        "ORT basic": ([sys.executable, "-c", ORT_BASIC, source, made["ORT basic"]], made["ORT basic"]),
        "xflow simplify": ([options.program, "simplify", source, made["xflow simplify"]], made["xflow simplify"]),
        "xflow": ([options.program, "optimize", source, made["xflow"], "--runner", RUNNER, "--costs", folder / "costs.db", *shapes, *options.arguments],
                  made["xflow"]),
    }


def run(command, result):
    """What a command needs and leaves; {"error": its last line} where it writes no model. The memory is that of its largest process."""
    result.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile("r") as peak:
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, peak.name, str(LIMIT), *map(str, command)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        seconds = time.perf_counter() - start
        kilobytes = peak.read()
    if done.returncode != 0 or not result.exists():
        return {"error": (done.stdout.strip().splitlines() or ["no result"])[-1][-200:]}
    return {"seconds": seconds, "peak": int(kilobytes) * 1024, "nodes": simplify_table.count(result), "bytes": bytes_of(result)}


def bytes_of(path):
    data = path.with_name(path.name + ".data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def answer(options, *arguments):
    """The last line of what xflow says, and whether it says yes."""
    said = subprocess.run([options.program, *map(str, arguments)], capture_output=True, text=True)
    return said.returncode, (said.stdout.strip().splitlines() or said.stderr.strip().splitlines() or [""])[-1]


def figures_of(options, source):
    folder = options.work / source.stem
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / "figures.json"
    if options.known and stored.exists():
        return json.loads(stored.read_text())
    npz = source.with_suffix(".npz")
    inputs = models_test.stored_inputs(npz)[0] if npz.exists() else models_test.seeded_inputs(onnx.load(source))[0]
    figures = json.loads(stored.read_text()) if options.times else made_by_tools(options, source, folder, inputs)
    add_times(options, source, folder, inputs, figures)
    stored.write_text(json.dumps(figures, indent=1))
    return figures


def made_by_tools(options, source, folder, inputs):
    npz = source.with_suffix(".npz")
    figures = {"model": source.stem, "nodes": simplify_table.count(source), "bytes": bytes_of(source), "tools": {}, "milliseconds": {}}
    for tool, (command, result) in commands(options, source, folder, inputs).items():
        found = figures["tools"][tool] = run(command, result)
        if "error" in found:
            continue
        status, found["check"] = answer(options, "check", source, result, *(["--inputs", npz] if npz.exists() else []), "--time-limit", "120s")
        found["equal"] = {0: True, 1: False}.get(status)
        status, found["verdict"] = answer(options, "verify", source, result, "--timeout", "60s")
        found["proved"] = status == 0
        found["kept"] = result.read_bytes() == source.read_bytes()
    return figures


def add_times(options, source, folder, inputs, figures):
    results = {tool: result_of(folder, tool) for tool, found in figures["tools"].items() if "error" not in found}
    for threads in options.threads:
        original, ratios = ort.ratios([source, *results.values()], inputs, threads, options.rounds)
        figures["milliseconds"][str(threads)] = original / 1e6
        figures.setdefault("same", {})[str(threads)] = [ratios[0].median, ratios[0].low, ratios[0].high]
        for tool, ratio in zip(results, ratios[1:]):
            figures["tools"][tool].setdefault("ratio", {})[str(threads)] = [ratio.median, ratio.low, ratio.high]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("peers", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--known", action="store_true", help="keep the figures of earlier runs")
    parser.add_argument("--times", action="store_true", help="run the results of an earlier run once more")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_intermixed_args(words[:cut])
    options.arguments = words[cut + 1:]
    options.threads = [int(number) for number in options.threads.split(",")]
    folder = os.environ.get("XFLOW_TEST_MODELS")
    models = options.models or (sorted(pathlib.Path(folder).glob("*.onnx")) if folder else [])
    if not models:
        print("no models: none is named, and XFLOW_TEST_MODELS is not set", file=sys.stderr)
        return 64
    for source in models:
        figures = figures_of(options, source)
        ratios = {tool: found.get("ratio", {}).get(str(options.threads[0]), [found.get("error")])[0] for tool, found in figures["tools"].items()}
        print(source.stem, ", ".join(f"{tool} {ratio if isinstance(ratio, str) else f'{ratio:.3f}'}" for tool, ratio in ratios.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
