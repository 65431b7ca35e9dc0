"""Simplifies every model of the folder XFLOW_TEST_MODELS and compares ONNX Runtime's outputs before and after.

    simplify_models_test.py PROGRAM WORK [MODEL...] [-- ARGUMENT...]

WORK keeps the simplified models. MODEL is a name without .onnx; without any, all are tested. Further arguments are handed to
`xflow simplify`. A model has to keep its interface and metadata, be no larger in nodes, come out the same twice and be left alone by a
second run. It has no more nodes than any simplifier leaves in the table of docs/onnx.md.
"""

import os
import pathlib
import subprocess
import sys

import numpy
import onnx

import models_test


def simplify(program, source, output, arguments):
    return subprocess.run([program, "simplify", source, output, *arguments], capture_output=True, text=True)


def table():
    """The numbers of nodes that simplifiers leave, by model."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/onnx.md").read_text()
    rows = text.split("### Compared with other simplifiers")[1].split("\n## ")[0].split("\n### ")[0]
    found = {}
    for line in rows.splitlines():
        model, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[0].isdigit():
            found[model] = [int(cell) for cell in cells[1:4] if cell.isdigit()]
    return found


def count(graph):
    """The nodes of a graph, those of its bodies included."""
    bodies = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return len(graph.node) + sum(map(count, bodies))


def test(program, path, work, arguments):
    """Problems as lines, and a summary."""
    output, again = work / path.name, work / f"{path.stem}.again.onnx"
    run = simplify(program, path, output, arguments)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()}"], "not simplified"
    problems = []
    simplify(program, path, again, arguments)
    if output.read_bytes() != again.read_bytes():
        problems.append("other bytes in a second run of the same model")
    simplify(program, output, again, arguments)
    if output.read_bytes() != again.read_bytes():
        problems.append("simplified again, the result changes")
    before, after = onnx.load(path), onnx.load(output)
    summary = f"{len(before.graph.node)} -> {len(after.graph.node)} nodes"
    if len(after.graph.node) > len(before.graph.node):
        problems.append("more nodes")
    left = table().get(path.stem)
    if left and not arguments and count(after.graph) > min(left):
        problems.append(f"{count(after.graph)} nodes where docs/onnx.md has {min(left)}")
    problems += [f"lost or changed: {what}" for what in models_test.lost(before, after)]
    if refused := models_test.valid(after):
        if not models_test.valid(before):
            problems.append(f"onnx.checker: {refused}")
    npz = path.with_suffix(".npz")
    sets = models_test.stored_inputs(npz) if npz.exists() else models_test.seeded_inputs(before)
    reference = models_test.session(path, models_test.NONE)
    alternative = models_test.session(path, models_test.ALL)
    candidate = models_test.session(output, models_test.NONE)
    worst = 0.0
    for k, inputs in enumerate(sets):
        for value, *results in zip(reference.get_outputs(), *(s.run(None, inputs) for s in [reference, alternative, candidate])):
            part, problem = models_test.difference(*map(numpy.asarray, results))
            worst = max(worst, part)
            if problem:
                problems.append(f"output '{value.name}', inputs {k + 1}: {problem}")
    return problems, f"{summary}, largest error {worst:.2g} of what is allowed"


def main():
    folder = os.environ.get("XFLOW_TEST_MODELS")
    if not folder:
        print("skipped: XFLOW_TEST_MODELS is not set")
        return 0
    arguments = sys.argv[1:]
    extra = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    program, work, *names = arguments[: arguments.index("--")] if "--" in arguments else arguments
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    paths = sorted(p for p in pathlib.Path(folder).glob("*.onnx") if not names or p.stem in names)
    failed = 0
    for path in paths:
        problems, summary = test(program, path, work, extra)
        print(f"{'FAILED' if problems else 'passed'}  {path.stem:<36} {summary}", flush=True)
        for problem in problems:
            print(f"        {problem}", flush=True)
        failed += bool(problems)
    print(f"{len(paths) - failed} of {len(paths)} models agree")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
