"""Verifies what other programs made of models: verify_models.py XFLOW MODELS RESULTS [--timeout 30s] [--check] [--certify PYTHON].

MODELS has NAME.onnx, RESULTS has NAME.TOOL.onnx. Prints a Markdown table: for each tool how many results are proved, refuted and unknown, and the
longest time; then a line for each result that is not proved. With --check, only results count that `xflow check` finds equal, on the inputs of
MODELS/NAME.npz if there are any; the others are listed. With --certify, each result whose TOOL begins with onnxsim is also handed to
onnxsim's own proof, onnxsim.certify of the Python program PYTHON, which needs onnxsim and z3-solver; it gets the same time limit, and stopped
after three times as long.
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


CERTIFY = """
import sys
import onnx
from onnxsim.certify import certify
found = certify(onnx.load(sys.argv[1]), onnx.load(sys.argv[2]), total_timeout_ms=int(1000 * float(sys.argv[3])))
states = sorted(set(found.outputs.values()))
print("proved" if found.ok else "refuted" if "refuted" in states else "+".join(states))
"""


def is_equal(program, model, result):
    """Whether `xflow check` finds the result equal."""
    stored = model.with_suffix(".npz")
    inputs = ["--inputs", stored] if stored.exists() else []
    return subprocess.run([program, "check", model, result, *inputs], capture_output=True).returncode == 0


def seconds_of(text):
    """The seconds of 500ms, 20s or 2m."""
    for unit, factor in (("ms", 0.001), ("s", 1), ("m", 60)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text)


def certify(python, model, result, timeout):
    """What onnxsim's proof says, and the seconds that it took."""
    limit = seconds_of(timeout)
    start = time.monotonic()
    try:
        run = subprocess.run([python, "-c", CERTIFY, model, result, str(limit)], capture_output=True, text=True, timeout=3 * limit)
        said = (run.stdout.strip().splitlines() if run.returncode == 0 else run.stderr.strip().splitlines() or [""])[-1]
        verdict = said if run.returncode == 0 else f"failed: {said}"
    except subprocess.TimeoutExpired:
        verdict = "stopped"
    return verdict, time.monotonic() - start


def print_beside(beside):
    """The verdicts of both proofs."""
    print("\n| model | xflow verify | time | onnxsim certify | time |\n|---|---|---|---|---|")
    for name, verdict, seconds, other, other_seconds in beside:
        print(f"| {name} | {verdict} | {seconds:.1f} s | {other} | {other_seconds:.1f} s |")
    for whose, verdicts in (("xflow verify", [row[1] for row in beside]), ("onnxsim certify", [row[3] for row in beside])):
        count = collections.Counter(verdict.split(":")[0] for verdict in verdicts)
        print(f"\n{whose}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--timeout", default="30s")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--certify", metavar="PYTHON")
    arguments = parser.parse_args()
    table = collections.defaultdict(list)
    others = []
    beside = []
    for result in sorted(arguments.results.glob("*.onnx")):
        name, tool = result.stem.rsplit(".", 1)
        model = arguments.models / f"{name}.onnx"
        if not model.exists():
            continue
        if arguments.check and not is_equal(arguments.program, model, result):
            others.append((name, tool, "not equal by xflow check", 0))
            continue
        verdict, seconds = verify(arguments.program, model, result, arguments.timeout)
        table[tool].append((verdict, seconds))
        if arguments.certify and tool.startswith("onnxsim"):
            beside.append((name, verdict, seconds, *certify(arguments.certify, model, result, arguments.timeout)))
        if verdict not in ("proved", "up to rounding"):
            others.append((name, tool, verdict, seconds))
    print("| tool | results | proved | up to rounding | refuted | unknown | timeout | longest |\n|---|---|---|---|---|---|---|---|")
    table["all"] = [one for found in table.values() for one in found]
    for tool, found in table.items():
        count = collections.Counter(verdict.split(":")[0] for verdict, _ in found)
        numbers = [count[verdict] for verdict in ["proved", "up to rounding", "refuted", "unknown", "timeout"]]
        longest = max(seconds for _, seconds in found)
        print(f"| {tool} | {len(found)} | " + " | ".join(map(str, numbers)) + f" | {longest:.1f} s |")
    print("\n| model | tool | verdict | time |\n|---|---|---|---|")
    for name, tool, verdict, seconds in others:
        print(f"| {name} | {tool} | {verdict} | {seconds:.1f} s |")
    if beside:
        print_beside(beside)


if __name__ == "__main__":
    main()
