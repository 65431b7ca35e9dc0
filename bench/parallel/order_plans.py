"""Compares the order of plans by simulated steps with their order by measured ones, and prints a table in Markdown.

    order_plans.py PROGRAM MODELS_PROGRAM WORK [--model NAME] [--scale N] [--batch N] [--plans N] [--repeat N] [--rounds N] [--mpirun COMMAND]

PROGRAM is xflow and MODELS_PROGRAM is xflow-bench-models. Of the plans for two processes of this machine, one of five gives the nodes by
turns to the two devices, between 1 to 32 random cuts of their order. One of five is what `xflow parallelize` finds from another seed with few
proposals, with split nodes. The others are between both: of a plan of `xflow parallelize`, every second range of nodes between 1 to 16 random
cuts is on a single device. `simulated` is the step that `xflow run --cluster` predicts from the kernels of the parts. All
plans run in turn, in several rounds, so that a machine whose speed changes changes all of them; `measured` is the median over the rounds of
the medians of their steps. A plan whose outputs are not those of the model ends the run. The last line has Spearman's rank correlation of
all plans, and of those of at most twice the least simulated step.
"""

import argparse
import json
import pathlib
import random
import shlex
import shutil
import statistics

import onnx
import run_plans
from run_plans import milliseconds, run


def cuts_of(program, model, cluster, costs, work, numbers):
    """A plan whose nodes change their device at random places."""
    run(program, "simulate", model, "--cluster", cluster, "--policy", "single", "--costs", costs, "--out", work / "whole.json")
    nodes = json.loads((work / "whole.json").read_text())["plan"]["nodes"]
    cuts = sorted(numbers.sample(range(1, len(nodes)), numbers.choice([1, 2, 4, 8, 16, 32])))
    names = ["cpu0", "cpu1"]
    for k, node in enumerate(nodes):
        node["device"] = names[sum(k >= cut for cut in cuts) % 2]
    (work / "plan.json").write_text(json.dumps({"version": 1, "nodes": nodes}))
    return f"{len(cuts)} cuts"


def mixed_of(program, model, cluster, costs, work, numbers, seed):
    """A model with the configuration of a found plan, of which every second range of nodes is on one device."""
    steps = numbers.choice([10, 30, 100])
    run(program, "parallelize", model, work / "found.onnx", "--cluster", cluster, "--costs", costs, "--steps", steps, "--seed", seed)
    found = onnx.load(work / "found.onnx")
    wholes = []
    for device in ["cpu0", "cpu1"]:
        (work / "plan.json").write_text(json.dumps({"version": 1, "default": device, "nodes": []}))
        run(program, "simulate", model, "--cluster", cluster, "--plan", work / "plan.json", "--costs", costs, "--out-model", work / "whole.onnx")
        wholes.append(onnx.load(work / "whole.onnx"))
    cuts = sorted(numbers.sample(range(1, len(found.graph.node)), numbers.choice([1, 2, 4, 8, 16])))
    begins_whole = numbers.choice([0, 1])
    for k, node in enumerate(found.graph.node):
        turn = sum(k >= cut for cut in cuts)
        if turn % 2 == begins_whole:
            node.CopyFrom(wholes[turn // 2 % 2].graph.node[k])
    onnx.save(found, work / "mixed.onnx")
    return f"a plan of {steps} proposals and one device, {len(cuts)} cuts"


def ranks(values):
    order = sorted(range(len(values)), key=lambda k: values[k])
    result = [0] * len(values)
    for rank, k in enumerate(order):
        result[k] = rank
    return result


def spearman(pairs):
    a, b = (ranks([pair[side] for pair in pairs]) for side in (0, 1))
    count = len(pairs)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (count * (count**2 - 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models_program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--model", default="inception_v3")
    parser.add_argument("--scale", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--plans", type=int, default=30)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mpirun", default=run_plans.MPIRUN)
    arguments = parser.parse_args()
    work, program = arguments.work, arguments.program
    work.mkdir(parents=True, exist_ok=True)
    mpirun = [*shlex.split(arguments.mpirun), "-n", "2", program]
    model, cluster, costs = work / f"{arguments.model}.onnx", work / "cpu-2.json", work / "costs.db"
    run(arguments.models_program, work, arguments.model, "--scale", arguments.scale, "--batch", arguments.batch)
    run(*mpirun, "devices", "--measure", cluster)
    numbers = random.Random(1)
    plans = []
    for k in range(arguments.plans):
        parts = work / f"parts-{k}"
        shutil.rmtree(parts, ignore_errors=True)
        if k % 5 == 0:
            name = cuts_of(program, model, cluster, costs, work, numbers)
            run(program, "split", model, "--plan", work / "plan.json", "--cluster", cluster, "--out", parts)
        elif k % 5 < 4:
            name = mixed_of(program, model, cluster, costs, work, numbers, k)
            run(program, "split", work / "mixed.onnx", "--out", parts)
        else:
            steps = numbers.choice([10, 30, 100, 300])
            name = f"splits, {steps} proposals"
            run(program, "parallelize", model, "--cluster", cluster, "--costs", costs, "--steps", steps, "--seed", k, "--parts", parts)
        plans.append((name, parts, [], []))
    for _ in range(arguments.rounds):
        for _, parts, simulated, measured in plans:
            text = run(*mpirun, "run", parts, "--repeat", arguments.repeat, "--warm-up", 5, "--costs", costs, "--cluster", cluster,
                       "--check-against", model)
            simulated.append(milliseconds(r"\nsimulated ", text))
            measured.append(milliseconds(r"\nstep ", text))
    pairs = []
    print("| plan | parts | simulated, ms | measured, ms | ratio | of rounds |\n|---|---:|---:|---:|---:|---|")
    for name, parts, simulated, measured in plans:
        count = len(json.loads((parts / "manifest.json").read_text())["parts"])
        pairs.append((simulated[-1], statistics.median(measured)))
        print(f"| {name} | {count} | {pairs[-1][0]:.3f} | {pairs[-1][1]:.3f} | {pairs[-1][0] / pairs[-1][1]:.2f} "
              f"| {', '.join(f'{m:.2f}' for m in measured)} |")
    near = [pair for pair in pairs if pair[0] <= 2 * min(pairs)[0]]
    print(f"\nSpearman {spearman(pairs):.2f} of {len(pairs)} plans, {spearman(near):.2f} of {len(near)} within twice the best.")


if __name__ == "__main__":
    main()
