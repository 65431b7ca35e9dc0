#!/usr/bin/env python3
"""Times `xflow generate`, stage by stage.

    bench/generator/run.py PROGRAM [OPERATORS...]

Prints a row a job: a set of operators with graphs of up to so many (default: 2 3), with one thread and with two. Stages are told by the times
of the files that they leave: graphs enumerated and grouped; candidates derived and rules proved, with the records of the proofs. Memory is the
peak of the process.
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


def run(program, words, operators, jobs):
    with tempfile.TemporaryDirectory() as folder:
        start = time.time()
        process = subprocess.Popen([program, "generate", "--ops", words, "--max-ops", str(operators), "--jobs", str(jobs), "--out", folder],
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.time() - start
        if status != 0:
            sys.exit(f"{words} {operators}: failed")
        report = json.loads((pathlib.Path(folder) / "generated.json").read_text())
        grouped = max(p.stat().st_mtime for p in (pathlib.Path(folder) / "work").glob("candidates-*")) - start
        return report, grouped, seconds, usage.ru_maxrss / 1024


def main():
    program = sys.argv[1]
    sizes = [int(a) for a in sys.argv[2:]] or [2, 3]
    print("| operators | up to | threads | graphs | candidates | rules | not proved | enumerated and grouped, s | derived and proved, s | peak, MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for operators in sizes:
        for name, words in SETS.items():
            for jobs in (1, 2):
                report, grouped, seconds, memory = run(program, words, operators, jobs)
                graphs = sum(u["graphs"] for u in report["universes"])
                verdicts = report["verdicts"]
                open_ones = sum(n for v, n in verdicts.items() if v != "proved")
                print(f"| {name} | {operators} | {jobs} | {graphs} | {report['candidates']} | {report['rules']} | {open_ones} | {grouped:.1f} | "
                      f"{seconds - grouped:.1f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
