"""Verifies what other programs made of models: verify_models.py XFLOW MODELS RESULTS [--timeout 30s].

MODELS has NAME.onnx, RESULTS has NAME.TOOL.onnx. Prints a Markdown table: for each tool how many results are proved, refuted and unknown, and the
longest time; then a line for each result that is not proved.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import time


def verify(program, model, result, timeout):
    """The verdict, and the seconds that the program took."""
    start = time.monotonic()
    run = subprocess.run([program, "verify", model, result, "--json", "--timeout", timeout], capture_output=True, text=True)
    seconds = time.monotonic() - start
    if run.returncode not in (0, 1):
        return f"failed: {run.stderr.strip()}", seconds
    found = json.loads(run.stdout)
    return ("up to rounding" if found["up_to_rounding"] else found["verdict"]), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--timeout", default="30s")
    arguments = parser.parse_args()
    table = collections.defaultdict(list)
    others = []
    for result in sorted(arguments.results.glob("*.onnx")):
        name, tool = result.stem.rsplit(".", 1)
        model = arguments.models / f"{name}.onnx"
        if not model.exists():
            continue
        verdict, seconds = verify(arguments.program, model, result, arguments.timeout)
        table[tool].append((verdict, seconds))
        if verdict not in ("proved", "up to rounding"):
            others.append((name, tool, verdict, seconds))
    print("| tool | results | proved | up to rounding | refuted | unknown | timeout | longest |\n|---|---|---|---|---|---|---|---|")
    for tool, found in sorted(table.items()):
        count = collections.Counter(verdict.split(":")[0] for verdict, _ in found)
        numbers = [count[verdict] for verdict in ["proved", "up to rounding", "refuted", "unknown", "timeout"]]
        longest = max(seconds for _, seconds in found)
        print(f"| {tool} | {len(found)} | " + " | ".join(map(str, numbers)) + f" | {longest:.1f} s |")
    print("\n| model | tool | verdict | time |\n|---|---|---|---|")
    for name, tool, verdict, seconds in others:
        print(f"| {name} | {tool} | {verdict} | {seconds:.1f} s |")


if __name__ == "__main__":
    main()
