#!/usr/bin/env python3
"""Searches models with two or more sets of rules and compares what is predicted.

    bench/generator/compare_rules.py PROGRAM PROFILE MODELS NAME=FOLDER...

PROGRAM is xflow, PROFILE a profile of a device (a roofline will do: prices are then the same in every run), MODELS a folder of *.onnx, and
each FOLDER one of *.rules with their records. Prints a row a model: the predicted time after the search, divided by that of the first set,
and the seconds that the search took. Nothing is timed on this machine but the search.
"""
import json
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


def predicted(report):
    """The predicted time of the result in nanoseconds."""
    return report["predicted_nanoseconds"]["after"]


def main():
    program, profile, models, *sets = sys.argv[1:]
    budget = "1000states"
    sets = [s.split("=", 1) for s in sets]
    print("| model | " + " | ".join(f"{name} | s" for name, _ in sets) + " |")
    print("|---|" + "---|---|" * len(sets))
    for model in sorted(pathlib.Path(models).glob("*.onnx")):
        cells = []
        first = None
        for _, rules in sets:
            report, seconds, why = search(program, profile, model, rules, budget)
            if report is None:
                cells += [" ".join(why)[:60] or "failed", f"{seconds:.1f}"]
                continue
            cost = predicted(report)
            first = first or cost
            cells += [f"{cost / first:.4f}", f"{seconds:.1f}"]
        print(f"| {model.stem} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
