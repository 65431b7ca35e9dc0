"""Trains a policy further on single graphs of families that it has not seen, and prints a table in Markdown.

    further_steps.py PROGRAM GRAPHS POLICY [--objective max-load|latency] [--further 100 1000] [--count N] [--seed N]

PROGRAM is xflow, GRAPHS xflow-bench-graphs, POLICY a file of `xflow train-policy`. A figure is the value of the policy / that of a search with
--search steps, for an untrained policy, for POLICY, and after each number of --further steps on the graph, all in steps: no figure depends on
the machine.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

FAMILIES = ["recurrent", "inception"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("graphs")
    parser.add_argument("policy")
    parser.add_argument("--objective", default="max-load")
    parser.add_argument("--further", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--search", default="3000000")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1_000_000)
    options = parser.parse_args()
    objective = ["--objective", options.objective]
    print("| graph | untrained | 0 steps | " + " | ".join(f"{steps} steps" for steps in options.further) + " |")
    print("|---|---|---|" + "---|" * len(options.further))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        instance, result, own = folder / "instance.json", folder / "result.json", folder / "own.npz"

        def value(*arguments):
            run(options.program, "place", instance, *objective, "--json", result, *arguments)
            return json.loads(result.read_text())["value"]

        def train(steps, *arguments):
            run(options.program, "train-policy", "--graphs", instance, *objective, "--out", own, "--quiet", "--steps", str(steps), *arguments)

        run(options.program, "train-policy", "--graphs", "generator:layers", *objective, "--out", folder / "untrained.npz", "--quiet", "--steps", "0")
        for family in FAMILIES:
            for seed in range(options.seed, options.seed + options.count):
                run(options.graphs, family, instance, "--seed", str(seed))
                search = value("--steps", options.search)
                shutil.copy(options.policy, own)
                made = int(run(options.program, "train-policy", "--graphs", instance, *objective, "--out", own, "--quiet", "--resume", "--steps",
                               "0").split()[1])
                cells = [value("--policy", folder / "untrained.npz") / search, value("--policy", own) / search]
                for steps in options.further:
                    train(made + steps, "--resume")
                    cells.append(value("--policy", own) / search)
                print(f"| {family} {seed} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
