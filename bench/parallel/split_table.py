"""Splits models over clusters, and prints a table in Markdown: plans that are found beside data parallel and the experts' plans.

    split_table.py PROGRAM MODELS FOLDER [--budget 20s] [--only TEXT]

PROGRAM is xflow, MODELS is xflow-bench-models, which writes the models with their batches to FOLDER. Steps are simulated; those of one
row are from one run. `expert` is the best of the start plans but `single`, `data parallel`, `random` and pipelines of micro-batches, which
`pipeline` is the best of.
"""

import argparse
import json
import math
import pathlib
import resource
import subprocess
import time

# Model, arguments of its builder, cluster, devices. Batches are those of the paper on FlexFlow (MLSys 2019).
ROWS = [
    ("alexnet", ["--batch", "256"], "slow-16", 16),
    ("bert", ["--batch", "16", "--layers", "24"], "slow-16", 16),
    ("inception_v3", ["--batch", "64"], "slow-16", 16),
    *(("alexnet", ["--batch", "256"], "flexflow-k80", count) for count in (4, 16, 64)),
    *(("resnet50", ["--batch", "64"], "flexflow-k80", count) for count in (4, 16, 64)),
    *(("inception_v3", ["--batch", "64"], "flexflow-k80", count) for count in (4, 16, 64)),
    *((name, ["--batch", "64"], "flexflow-k80", count) for name in ("rnntc", "rnnlm", "nmt") for count in (4, 16, 64)),
    ("bert", ["--batch", "16", "--layers", "24"], "dgx-h100", 8),
    ("bert", ["--batch", "8", "--layers", "48"], "dgx-h100", 8),
    ("bert", ["--batch", "8", "--layers", "48"], "flexflow-k80", 64),
    *(("bert", ["--batch", batch, "--layers", "24"], "ethernet-16", 16) for batch in ("64", "256")),
]


def split(arguments, model, cluster, devices):
    out = arguments.folder / "plan.json"
    begin = time.monotonic()
    own = pathlib.Path(__file__).with_name(f"{cluster}.json")
    command = [arguments.program, "parallelize", model, "--cluster", own if own.exists() else cluster, "--devices", str(devices), "--objective", "training-step",
               "--budget", arguments.budget, "--out", out]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(run.stderr)
    return json.loads(out.read_text()), time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("| model | cluster | devices | single, ms | data parallel, ms | expert, ms | pipeline, ms | found, ms | data parallel / found | expert / found "
          "| pipeline / found | proposals | seconds | claims proved | fits |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, options, cluster, devices in ROWS:
        if arguments.only not in f"{name} {cluster}":
            continue
        folder = arguments.folder / "-".join([name, *options]).replace("--", "")
        if not (folder / f"{name}.onnx").exists():
            subprocess.run([arguments.models, folder, name, *options], check=True, capture_output=True)
        plan, seconds = split(arguments, folder / f"{name}.onnx", cluster, devices)
        starts = {start["name"]: 1e3 * start["step_seconds"] for start in plan["starts"]}
        pipeline = min((step for start, step in starts.items() if start.startswith("pipeline")), default=math.nan)
        expert = min(step for start, step in starts.items() if start not in ("single", "data parallel", "random") and not start.startswith("pipeline"))
        found = 1e3 * plan["step_seconds"]
        print(f"| {' '.join([name, *options])} | {cluster} | {devices} | {starts['single']:.2f} | {starts['data parallel']:.2f} | {expert:.2f} | {pipeline:.2f} | {found:.2f} "
              f"| {starts['data parallel'] / found:.2f} | {expert / found:.2f} | {pipeline / found:.2f} | {plan['search']['proposals']} | {seconds:.0f} "
              f"| {plan['claims']['proved']} of {plan['claims']['decided']} | {'yes' if plan['fits_memory'] else 'no'} |", flush=True)
    print(f"\nMost memory of a run: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB.")


if __name__ == "__main__":
    main()
