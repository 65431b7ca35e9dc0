"""Says which method of xflow place wins on which graphs in which time, and prints a table in Markdown.

    verdict_table.py PROGRAM GRAPHS OBJECTIVE [--families cells large:10000 ...] [--budgets 1s 10s 60s] [--count N] [--seed N]

PROGRAM is xflow, GRAPHS xflow-bench-graphs, OBJECTIVE max-load, latency or step. `large:N` are graphs of N nodes. Of each family there are
--count graphs, with seeds from --seed on, which no training has. Methods are the search (`--method local` for steps, else all methods), the
shipped policy alone, and the shipped policy with a local search in the rest of the time. Figures are geometric means of value / best value
that any method has for the graph in any time of the table; methods within 0.1 % of the best one of a row win. `auto` is what xflow place
takes if no method is named.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

FAMILIES = ["cells", "transformers", "layers", "recurrent", "inception"]
LARGE = ["large:1000", "large:10000", "large:80000"]
POLICIES = {"max-load": "shipped:max-load", "latency": "shipped:latency", "step": "shipped:go"}
CLOSE = 1.001


def methods(objective):
    policy = ["--policy", POLICIES[objective]]
    search = ["--method", "local"] if objective == "step" else []
    return {"search": search, "policy": policy, "policy, then search": [*policy, "--then", "local-search"]}


def place(program, instance, objective, budget, arguments):
    result = instance.parent / "result.json"
    command = [program, "place", instance, "--objective", objective, "--budget", budget, "--json", result, *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(result.read_text())["value"]


def nodes_of(instance):
    return len(json.loads(instance.read_text())["nodes"])


def write_graph(options, family, seed, path):
    name, _, nodes = family.partition(":")
    command = [options.graphs, name, path, "--seed", str(seed), "--cluster", options.cluster]
    subprocess.run(command + (["--nodes", nodes] if nodes else []), check=True)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def values_of(options, family, folder):
    """Numbers of nodes, and for each graph the value by budget and method."""
    sizes, found = [], []
    for seed in range(options.seed, options.seed + options.count):
        instance = folder / "instance.json"
        write_graph(options, family, seed, instance)
        sizes.append(nodes_of(instance))
        found.append({(budget, name): place(options.program, instance, options.objective, budget, arguments)
                      for budget in options.budgets for name, arguments in methods(options.objective).items()})
    return sizes, found


def rows(options, family, folder):
    sizes, found = values_of(options, family, folder)
    names = list(methods(options.objective))
    size = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    for budget in options.budgets:
        means = {name: mean([own[budget, name] / min(own.values()) for own in found]) for name in names}
        winners = [name for name in names if means[name] <= CLOSE * min(means.values())]
        yield names, [family.partition(":")[0], size, budget, *(f"{means[name]:.3f}" for name in names), "; ".join(winners)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("graphs")
    parser.add_argument("objective", choices=POLICIES)
    parser.add_argument("--families", nargs="+")
    parser.add_argument("--budgets", nargs="+", default=["1s", "10s", "60s"])
    parser.add_argument("--cluster", default="dgx-h100")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1_000_000)
    options = parser.parse_args()
    families = options.families or FAMILIES + (LARGE if options.objective == "step" else [])
    is_first = True
    with tempfile.TemporaryDirectory() as folder:
        for family in families:
            for names, row in rows(options, family, pathlib.Path(folder)):
                if is_first:
                    print("| family | nodes | time | " + " | ".join(names) + " | winner |\n|---|---:|---:|" + "---:|" * len(names) + "---|")
                is_first = False
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
