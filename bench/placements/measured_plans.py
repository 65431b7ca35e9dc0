"""Compares plans that were found by measured steps on this machine, and prints a table in Markdown.

    measured_plans.py PROGRAM MODELS_PROGRAM WORK [--scale N] [--budget 60s] [--rounds N] [--repeat N] [--models NAME...] [--mpirun COMMAND]

PROGRAM is xflow and MODELS_PROGRAM is xflow-bench-models, whose models are divided by --scale. WORK keeps models, the measured cluster of two
processes, costs and parts. For each model `xflow parallelize --reward measured` searches a plan by the methods `local` and `colocrl`, and a plan
by simulated steps alone with `local`. Then the parts of all of them run by turns, a process for each device, `--rounds` times `--repeat` steps.
A step is the least median of a round: other processes of the machine make rounds longer, not shorter. Ratios are to the least step of the row.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

MPIRUN = "mpirun --oversubscribe --allow-run-as-root"
NAMES = ["inception_v3", "nasnet_a", "bert"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "HWLOC_HIDE_ERRORS": "2"})
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Plans:
    def __init__(self, name, arguments):
        self.arguments, self.work, self.model = arguments, arguments.work, arguments.work / f"{name}.onnx"
        self.name = name
        if not self.model.exists():
            run(arguments.models_program, self.work, name, "--scale", arguments.scale)

    def find(self, label, *options):
        """The result of a search, whose parts are written."""
        parts, out = self.work / f"{self.name}-{label}", self.work / f"{self.name}-{label}.json"
        shutil.rmtree(parts, ignore_errors=True)
        run(self.arguments.program, "parallelize", self.model, "--cluster", self.work / "cpu-2.json", "--costs", self.work / "costs.db", "--budget",
            self.arguments.budget, "--parts", parts, "--out", out, *options)
        return json.loads(out.read_text())

    def step(self, label):
        """The median of a round, in ms."""
        parts = self.work / f"{self.name}-{label}"
        devices = len(json.loads((parts / "manifest.json").read_text())["devices"])
        text = run(*shlex.split(self.arguments.mpirun), "-n", devices, self.arguments.program, "run", parts, "--repeat", self.arguments.repeat,
                   "--warm-up", 5, "--costs", self.work / "costs.db")
        return float(re.search(r"\nstep\s*([\d.]+) ms", text)[1])


def row(name, arguments):
    plans = Plans(name, arguments)
    found = {"simulated": plans.find("simulated", "--method", "local"),
             "local": plans.find("local", "--method", "local", "--reward", "measured"),
             "colocrl": plans.find("colocrl", "--method", "colocrl", "--reward", "measured")}
    steps = {label: [] for label in found}
    for _ in range(arguments.rounds):
        for label in found:
            steps[label].append(plans.step(label))
    least = {label: min(rounds) for label, rounds in steps.items()}
    single = {start["name"]: start["step_seconds"] * 1e3 for start in found["local"]["starts"]}["single"]
    best = min(least.values())
    cells = [f"{least[label]:.3f} ({least[label] / best:.3f})" for label in found]
    runs = [f"{found[label]['placement']['measured_plans']}, {found[label]['start']}" for label in ("local", "colocrl")]
    return [name, str(found["local"]["placement"]["groups"]), f"{single:.3f}", *cells, *runs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models_program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--models", nargs="+", default=NAMES)
    parser.add_argument("--mpirun", default=MPIRUN)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if not (arguments.work / "cpu-2.json").exists():
        run(*shlex.split(arguments.mpirun), "-n", 2, arguments.program, "devices", "--measure", arguments.work / "cpu-2.json")
    print("| model | groups | single, ms | local by simulated steps | local by measured steps | colocrl by measured steps | local: plans run, found by |"
          " colocrl |\n|---|---:|---:|---:|---:|---:|---|---|")
    for name in arguments.models:
        print("| " + " | ".join(row(name, arguments)) + " |", flush=True)


if __name__ == "__main__":
    main()
