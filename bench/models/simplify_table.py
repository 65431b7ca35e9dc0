"""Compares `xflow simplify` with its peers: nodes left and wall time on each model; prints a table in Markdown.

    simplify_table.py PROGRAM --peers FOLDER --work FOLDER [--repeat N] [NAME...]

The models are those of the folder XFLOW_TEST_MODELS, or those of the NAMEs there, without .onnx. --peers names a Python environment with
onnxsim and onnxslim (scripts/deps peers prints it). Nodes are those of all graphs of a model, bodies of If, Loop and Scan included. Times
are those of the whole command, the quickest of N runs (default 3). A peer that writes no model is "fails".
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import onnx


def nodes_of(graph):
    """The nodes of a graph and of the bodies in it."""
    count = len(graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs] if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) else []:
                count += nodes_of(body)
    return count


def count(path):
    return nodes_of(onnx.load(path, load_external_data=False).graph)


def run(command, output, repeat):
    """Nodes left and seconds; nothing where the command writes no model."""
    best = None
    for _ in range(repeat):
        output.unlink(missing_ok=True)
        start = time.perf_counter()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode != 0 or not output.exists():
            print(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-300:]}", file=sys.stderr)
            return None
        best = seconds if best is None else min(best, seconds)
    return count(output), best


def cell(result):
    return ("fails", "") if result is None else (str(result[0]), f"{result[1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--peers", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    folder = os.environ.get("XFLOW_TEST_MODELS")
    if not folder:
        print("skipped: XFLOW_TEST_MODELS is not set")
        return 0
    a.work.mkdir(parents=True, exist_ok=True)
    print("| model | nodes | xflow | onnxslim | onnxsim | xflow s | onnxslim s | onnxsim s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for path in sorted(pathlib.Path(folder).glob("*.onnx")):
        if a.names and path.stem not in a.names:
            continue
        outputs = {name: a.work / f"{path.stem}.{name}.onnx" for name in ["xflow", "onnxslim", "onnxsim"]}
        results = {
            "xflow": run([a.program, "simplify", path, outputs["xflow"]], outputs["xflow"], a.repeat),
            "onnxslim": run([a.peers / "bin/onnxslim", path, outputs["onnxslim"]], outputs["onnxslim"], a.repeat),
            "onnxsim": run([a.peers / "bin/onnxsim", path, outputs["onnxsim"]], outputs["onnxsim"], a.repeat),
        }
        cells = [cell(results[name]) for name in ["xflow", "onnxslim", "onnxsim"]]
        print(f"| {path.stem} | {count(path)} | {' | '.join(c[0] for c in cells)} | {' | '.join(c[1] for c in cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
