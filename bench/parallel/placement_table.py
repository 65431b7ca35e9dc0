"""Places the published instances and prints a table in Markdown, with the published figures beside those of xflow.

    placement_table.py PROGRAM FOLDER [--budgets 1s 2s 10s] [--seed N] [--only TEXT]

PROGRAM is xflow. FOLDER is that of XFLOW_TEST_PLACEMENT: instances in throughput/ and latency/, and figures.tsv with what the published
programs give and the best known values. Columns of xflow are values after each budget; bound and gap are those of the last one. The last
line checks the bars: values within 0.5 % (latency: 1 %) of the best known, max loads within 3.5 % after 2 s, gaps of at most 1.1 %.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time


def read_figures(path):
    """[(objective, {column: text})] of the two tables of figures.tsv."""
    rows, columns = [], []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if cells[0] == "instance":
            columns = cells
        else:
            rows.append(("latency" if cells[0].startswith("latency") else "max-load", dict(zip(columns, cells))))
    return rows


def place(program, instance, *arguments):
    """The result of one run, and its time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        begin = time.monotonic()
        subprocess.run([program, "place", instance, "--json", result, *arguments], check=True, capture_output=True)
        return json.loads(result.read_text()), time.monotonic() - begin


def number(text):
    """The number of a figure, without marks; None for none."""
    try:
        return float(text.strip("*() "))
    except ValueError:
        return None


def table(title, rows):
    print(f"\n{title}\n\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows[1:]:
        print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--budgets", nargs="+", default=["1s", "2s", "10s"])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    published = {"max-load": ["expert", "one accelerator", "PipeDream", "DP", "local search"], "latency": ["expert", "greedy"]}
    rows = {objective: [["instance", *columns, "best known", *options.budgets, "bound", "by", "gap", "contiguous"]]
            for objective, columns in published.items()}
    missed = []
    gaps = []
    for objective, figures in read_figures(options.folder / "figures.tsv"):
        name = figures["instance"]
        if options.only not in name:
            continue
        instance = options.folder / f"{name}.json"
        best = number(figures["best known"])
        values = []
        for budget in options.budgets:
            result, _ = place(options.program, instance, "--objective", objective, "--budget", budget, "--seed", options.seed)
            values.append(result["value"])
            if budget == "2s" and objective == "max-load" and result["value"] > 1.035 * best:
                missed.append(f"{name} after 2 s: {result['value']:.4f}")
        if values[-1] > best * (1.005 if objective == "max-load" else 1.01):
            missed.append(f"{name}: {values[-1]:.4f}, best known {best}")
        if objective == "max-load":
            gaps.append(result["gap"])
        elif values[-1] > number(figures["greedy"]):
            missed.append(f"{name}: above the greedy baseline")
        contiguous = "" if result["contiguous"] is None else f"{result['contiguous']:.4f}"
        rows[objective].append([name, *(figures.get(column, "") for column in published[objective]), figures["best known"],
                                *(f"{value:.4f}" for value in values), f"{result['bound']:.4f}", result["bound_by"],
                                f"{100 * result['gap']:.2f} %", contiguous])
    for objective, title in (("max-load", "Max load, ms"), ("latency", "Latency, ms")):
        if len(rows[objective]) > 1:
            table(title, rows[objective])
    ideals = [["instance", "published DP", "its seconds", "`ideals`", "seconds"]]
    for objective, figures in read_figures(options.folder / "figures.tsv"):
        if objective == "max-load" and options.only in figures["instance"] and "operators" in figures["instance"]:
            result, seconds = place(options.program, options.folder / f"{figures['instance']}.json", "--method", "ideals", "--budget", "600s")
            ideals.append([figures["instance"], figures["DP"], figures["DP seconds"], f"{result['contiguous']:.4f}", f"{seconds:.2f}"])
            if seconds > 1:
                missed.append(f"{figures['instance']}: ideals took {seconds:.2f} s")
    if len(ideals) > 1:
        table("Contiguous optimum of operator graphs, ms", ideals)
    print(f"\nGaps of at most 1.1 %: {sum(gap <= 0.011 for gap in gaps)} of {len(gaps)} max loads.")
    print("Bars missed: " + ("; ".join(missed) or "none") + ".")


if __name__ == "__main__":
    main()
