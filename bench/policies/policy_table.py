"""Places generated graphs by a trained policy, an untrained one and search, and prints a table in Markdown.

    policy_table.py PROGRAM GRAPHS POLICY [--objective max-load|latency] [--count N] [--seed N] [--best 10s]

PROGRAM is xflow, GRAPHS xflow-bench-graphs, POLICY a file of `xflow train-policy`. Of each family there are --count graphs, with seeds from
--seed on, which no training has. Figures are geometric means of value / best value, where the best one is that of all columns and of a
search of --best. `seconds` is the mean time of the policy as a process; search has the same time, and the policy followed by a local search
twice that time, like the search beside it.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

FAMILIES = ["cells", "transformers", "layers", "recurrent", "inception"]


def place(program, instance, objective, *arguments):
    """Value of a run, and its time in seconds."""
    result = instance.parent / "result.json"
    begin = time.monotonic()
    subprocess.run([program, "place", instance, "--objective", objective, "--json", result, *arguments], check=True, capture_output=True)
    return json.loads(result.read_text())["value"], time.monotonic() - begin


def first_value(program, instance, objective, policy):
    """The value of the placement with which a policy begins."""
    return place(program, instance, objective, "--policy", policy, "--steps", "0")[0]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row(program, instance, objective, policies, best_budget):
    trained, untrained = policies
    values = {"first": first_value(program, instance, objective, trained)}
    values["untrained"], _ = place(program, instance, objective, "--policy", untrained)
    values["policy"], seconds = place(program, instance, objective, "--policy", trained)
    once, twice = f"{max(1, round(1000 * seconds))}ms", f"{max(1, round(2000 * seconds))}ms"
    values["search"], _ = place(program, instance, objective, "--budget", once)
    values["policy, then search"], _ = place(program, instance, objective, "--policy", trained, "--then", "local-search", "--budget", twice)
    values["search, twice"], _ = place(program, instance, objective, "--budget", twice)
    best = min(*values.values(), place(program, instance, objective, "--budget", best_budget)[0])
    return {name: value / best for name, value in values.items()}, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("graphs")
    parser.add_argument("policy")
    parser.add_argument("--objective", default="max-load")
    parser.add_argument("--cluster", default="dgx-h100")
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1_000_000)
    parser.add_argument("--best", default="10s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        untrained = folder / "untrained.npz"
        subprocess.run([options.program, "train-policy", "--graphs", "generator:layers", "--objective", options.objective, "--steps", "0", "--out",
                        untrained], check=True, capture_output=True)
        names = []
        for family in FAMILIES:
            rows, times = [], []
            for seed in range(options.seed, options.seed + options.count):
                instance = folder / "instance.json"
                subprocess.run([options.graphs, family, instance, "--seed", str(seed), "--cluster", options.cluster], check=True)
                found, seconds = row(options.program, instance, options.objective, (options.policy, untrained), options.best)
                rows.append(found)
                times.append(seconds)
            if not names:
                names = list(rows[0])
                print("| family | " + " | ".join(names) + " | seconds |\n|---|" + "---|" * (len(names) + 1))
            means = " | ".join(f"{mean([one[name] for one in rows]):.3f}" for name in names)
            print(f"| {family} | {means} | {sum(times) / len(times):.2f} |", flush=True)


if __name__ == "__main__":
    main()
