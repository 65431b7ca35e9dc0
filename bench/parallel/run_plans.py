"""Compares simulated steps with measured ones on this machine, and prints a table in Markdown.

    run_plans.py PROGRAM MODELS_PROGRAM WORK [--scale N] [--repeat N] [--models NAME...] [--mpirun COMMAND]

PROGRAM is xflow and MODELS_PROGRAM is xflow-bench-models, whose models are divided by --scale; `mlp` is built here. WORK keeps models, the
measured cluster of two processes, times of kernels, parts and traces. For each model, the plan of `xflow simulate --policy chain` is split
and run. `simulated` is the step of `xflow simulate`, which times nodes one by one. `of parts` is that of `xflow run --cluster`, which knows
the kernels of each part. A ratio is simulated / measured, with the median step, and with the fastest one in brackets: other processes of the
machine slow down steps, but not the fastest.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

MPIRUN = "mpirun --oversubscribe --allow-run-as-root"
NAMES = ["inception_v3", "bert", "llama_lora", "resnext50", "vit", "mlp"]


def mlp(width=1024, layers=8, rows=32):
    random = numpy.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for k in range(layers):
        weights.append(numpy_helper.from_array(random.normal(0, width**-0.5, (width, width)).astype(numpy.float32), f"w{k}"))
        weights.append(numpy_helper.from_array(random.normal(0, 1, width).astype(numpy.float32), f"b{k}"))
        nodes.append(helper.make_node("Gemm", [value, f"w{k}", f"b{k}"], [f"g{k}"], name=f"gemm{k}"))
        value = f"h{k}" if k + 1 < layers else "y"
        nodes.append(helper.make_node("Relu", [f"g{k}"], [value], name=f"relu{k}"))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width]) for name in "xy"]
    return helper.make_model(helper.make_graph(nodes, "mlp", infos[:1], infos[1:], weights), ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "HWLOC_HIDE_ERRORS": "2"})
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}: {done.stderr}")
    return done.stdout


def milliseconds(pattern, text):
    return float(re.search(pattern + r"\s*([\d.]+) ms", text)[1])


def row(name, arguments, work):
    model = work / f"{name}.onnx"
    if name == "mlp":
        onnx.save(mlp(), model)
    elif not model.exists():
        run(arguments.models_program, work, name, "--scale", arguments.scale)
    cluster, costs = work / "cpu-2.json", work / "costs.db"
    run(arguments.program, "simulate", model, "--cluster", cluster, "--policy", "chain", "--costs", costs, "--out", work / "simulated.json",
        "--trace", work / f"{name}-simulated.json")
    simulated = json.loads((work / "simulated.json").read_text())
    (work / "plan.json").write_text(json.dumps(simulated["plan"]))
    parts = work / f"{name}-parts"
    shutil.rmtree(parts, ignore_errors=True)
    run(arguments.program, "split", model, "--plan", work / "plan.json", "--cluster", cluster, "--out", parts)
    text = run(*shlex.split(arguments.mpirun), "-n", 2, arguments.program, "run", parts, "--repeat", arguments.repeat, "--warm-up", 5, "--costs",
               costs, "--cluster", cluster, "--check-against", model, "--trace", work / f"{name}-measured.json")
    count = len(json.loads((parts / "manifest.json").read_text())["parts"])
    median, fastest = milliseconds(r"\nstep ", text), milliseconds("the fastest", text)
    of_parts = milliseconds(r"\nsimulated ", text)
    step = simulated["step_seconds"] * 1e3

    def ratio(value):
        return f"{value / median:.2f} ({value / fastest:.2f})"

    return [name, str(count), f"{median:.3f}", f"{fastest:.3f}", f"{step:.3f}", ratio(step), f"{of_parts:.3f}", ratio(of_parts)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models_program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--scale", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--models", nargs="+", default=NAMES)
    parser.add_argument("--mpirun", default=MPIRUN)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    measured = run(*shlex.split(arguments.mpirun), "-n", 2, arguments.program, "devices", "--measure", arguments.work / "cpu-2.json")
    print(measured)
    print("| model | parts | median, ms | fastest, ms | simulated, ms | ratio | of parts, ms | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in arguments.models:
        print("| " + " | ".join(row(name, arguments, arguments.work)) + " |", flush=True)


if __name__ == "__main__":
    main()
