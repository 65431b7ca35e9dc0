#!/usr/bin/env python3
"""Searches models with two or more sets of rules and compares what is predicted.

    bench/generator/compare_rules.py PROGRAM PROFILE MODELS NAME=FOLDER...

PROGRAM is xflow, PROFILE a profile of a device (a roofline will do: prices are then the same in every run), MODELS a folder of *.onnx, and
each FOLDER one of *.rules with their records. Prints a row a model: the predicted time of the best graph of a search over 1,000 states,
divided by that of the model, and the seconds that it took. A result that is not written, since it has more nodes than the model and
nothing was run, counts as the others do. The last rows are the geometric mean, and the gain as a share of that of the first set (in
logarithms). Nothing is timed on this machine but the search.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time


def search(program, profile, model, rules, budget):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [program, "optimize", str(model), f"{folder}/out.onnx", "--device", f"profile:{profile}", "--no-gate", "--budget", budget,
                   "--rules", rules, "--report", str(report)]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            return None, seconds, (done.stderr or done.stdout).strip().splitlines()[-1:]
        return json.loads(report.read_text()), seconds, []


def ratio(report):
    """The predicted time of the best graph, divided by that of the model."""
    best = [found["predicted_nanoseconds"] for found in report["search"]["best"]]
    return best[-1] / best[0]


def main():
    program, profile, models, *sets = sys.argv[1:]
    budget = "1000states"
    sets = [s.split("=", 1) for s in sets]
    print("| model | " + " | ".join(f"{name} | s" for name, _ in sets) + " |")
    print("|---|" + "---|---|" * len(sets))
    logarithms = []
    for model in sorted(pathlib.Path(models).glob("*.onnx")):
        cells, found = [], []
        for _, rules in sets:
            report, seconds, why = search(program, profile, model, rules, budget)
            if report is None:
                cells += [" ".join(why)[:60] or "failed", f"{seconds:.1f}"]
                continue
            found.append(math.log(ratio(report)))
            cells += [f"{ratio(report):.4f}", f"{seconds:.1f}"]
        if len(found) == len(sets):
            logarithms.append(found)
        print(f"| {model.stem} | " + " | ".join(cells) + " |", flush=True)
    sums = [sum(column) for column in zip(*logarithms)]
    if sums:
        print(f"| geometric mean of {len(logarithms)} | " + " | ".join(f"{math.exp(s / len(logarithms)):.4f} |" for s in sums) + " |")
    if sums and sums[0]:
        print("| share of the gain | " + " | ".join(f"{s / sums[0]:.2f} |" for s in sums) + " |")


if __name__ == "__main__":
    main()
