"""Compares the methods of xflow parallelize at equal total time, and prints a table in Markdown.

    method_table.py PROGRAM POLICY GO_POLICY CLUSTER MODEL... [--budgets 1s 10s 60s] [--objective training-step]

The simulated steps of each model by the search of splits (auto), of whole nodes by `local` and `colocrl`, and by POLICY (`xflow train-policy
--objective step`) and GO_POLICY (`xflow train-policy --method go`), each alone and with a local search after it. The last rows are geometric means of step / best step of whole nodes in the table.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

METHODS = [("splits", []), ("local", ["--method", "local"]), ("colocrl", ["--method", "colocrl"]), ("Placeto", ["policy"]),
           ("Placeto, then local", ["policy", "--then", "local-search"]), ("GO", ["go_policy"]),
           ("GO, then local", ["go_policy", "--then", "local-search"])]


def step(arguments, model, budget, options):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "plan.json"
        options = [word for option in options for word in (["--policy", getattr(arguments, option)] if option.endswith("policy") else [option])]
        command = [arguments.program, "parallelize", model, "--cluster", arguments.cluster, "--objective", arguments.objective, "--budget", budget,
                   "--out", out, "--quiet", *options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        return json.loads(out.read_text())["step_seconds"] * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("policy")
    parser.add_argument("go_policy")
    parser.add_argument("cluster")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--budgets", nargs="+", default=["1s", "10s", "60s"])
    parser.add_argument("--objective", default="training-step")
    arguments = parser.parse_args()
    names = [name for name, _ in METHODS]
    print("| model | time | " + " | ".join(names) + " |\n|---|---:|" + "---:|" * len(names))
    rows = {}
    for model in arguments.models:
        for budget in arguments.budgets:
            rows[model, budget] = [step(arguments, model, budget, options) for _, options in METHODS]
            print(f"| {model.stem} | {budget} | " + " | ".join(f"{value:.1f}" for value in rows[model, budget]) + " |", flush=True)
    best = {model: min(min(rows[model, budget][1:]) for budget in arguments.budgets) for model in arguments.models}
    for budget in arguments.budgets:
        means = [math.exp(sum(math.log(rows[model, budget][k] / best[model]) for model in arguments.models) / len(arguments.models))
                 for k in range(len(METHODS))]
        print(f"| all | {budget} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
