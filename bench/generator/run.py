#!/usr/bin/env python3
"""Times `xflow generate`, stage by stage.

    bench/generator/run.py PROGRAM [OPERATORS...]

Prints a row a job: a set of operators with graphs of up to so many (default: 2 3), with one thread and with two. The seconds are those that a
job leaves in work/seconds: graphs enumerated; grouped by fingerprint; candidates reduced to a minimal set by derivations; rules proved, with
the records of the proofs. The whole and the peak of memory are those of the process.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TASO = "add,average_pool,concat,conv,enlarge,matmul,max_pool,mul,relu,split,transpose"
MATRICES = "add,concat,matmul,mul,relu,split,transpose"
SETS = {"TASO's operators": TASO, "of matrices": MATRICES}


def run(program, ops, operators, jobs):
    with tempfile.TemporaryDirectory() as folder:
        start = time.time()
        process = subprocess.Popen([program, "generate", "--ops", ops, "--max-ops", str(operators), "--jobs", str(jobs), "--out", folder],
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.time() - start
        if status != 0:
            sys.exit(f"{ops} {operators}: failed")
        report = json.loads((pathlib.Path(folder) / "generated.json").read_text())
        lines = (pathlib.Path(folder) / "work" / "seconds").read_text().split("\n")
        steps = dict(line.split() for line in lines if line)
        return report, steps, seconds, usage.ru_maxrss / 1024


def main():
    program = sys.argv[1]
    sizes = [int(a) for a in sys.argv[2:]] or [2, 3]
    print("| operators | up to | threads | graphs | candidates | rules | not proved | enumerated, s | grouped, s | derived, s | proved, s | whole, s | peak, MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for operators in sizes:
        for name, ops in SETS.items():
            for jobs in (1, 2):
                report, steps, seconds, memory = run(program, ops, operators, jobs)
                graphs = sum(u["graphs"] for u in report["signatures"])
                verdicts = report["verdicts"]
                open_ones = sum(n for v, n in verdicts.items() if v != "proved")
                times = " | ".join(f"{float(steps[k]):.1f}" for k in ("enumerated", "grouped", "derived", "proved"))
                print(f"| {name} | {operators} | {jobs} | {graphs} | {report['candidates']} | {report['rules']} | {open_ones} | {times} | "
                      f"{seconds:.1f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
