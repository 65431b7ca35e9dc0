"""Optimises the models of TASO and TENSAT by predicted times; prints a table in Markdown beside the published figures.

    xflow-bench-models FOLDER nasrnn bert inception_v3 resnext50 squeezenet nasnet_a vgg19
    tensat_table.py PROGRAM FOLDER PROFILE... [--budget TIME...] [--models NAME...] [-- OPTION...]

PROGRAM is xflow; OPTIONs are passed to `xflow optimize`. Figures of time are percentages that the result saves: 100 * (before / after - 1).
Those of TASO and TENSAT are measured on GPUs (Yang et al.: Equality Saturation for Tensor Graph Superoptimization, 2021), those of xflow
are predicted. They are printed beside a profile that --published names: the one whose prices are like theirs, where copies are free.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# Model -> what TASO and TENSAT save, in percent.
PUBLISHED = {
    "nasrnn": (45.4, 68.9),
    "bert": (8.5, 9.2),
    "inception_v3": (6.3, 10.0),
    "resnext50": (5.5, 8.8),
    "squeezenet": (6.7, 24.5),
    "nasnet_a": (1.9, 7.3),
    "vgg19": (8.9, 8.9),
}


def optimize(program, model, profile, budget, options):
    """The JSON report of one run, or its last line of errors."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [program, "optimize", model, pathlib.Path(folder) / "out.onnx", "--device", f"profile:{profile}", "--no-gate",
                   "--budget", budget, "--gap", "on", "--report", report, *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if not report.exists():
            return None, (done.stderr or done.stdout).strip().splitlines()[-1:]
        return json.loads(report.read_text()), None


def saved(report):
    times = report["predicted_nanoseconds"]
    if not times["before"] or not times["after"]:
        return 0
    return 100 * (times["before"] / times["after"] - 1)


def gap(report):
    """The gap in percent, or why there is none."""
    found = report["search"].get("gap")
    if not found:
        return "not searched"
    if found["above"] is not None:
        return f"{100 * found['above']:.1f} %"
    if found["reason"]:
        return found["reason"]
    if found["open_parts"]:
        return f"{found['open_parts']} of {found['parts']} parts open"
    return "the parts save nearly all"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("profiles", type=pathlib.Path, nargs="+")
    parser.add_argument("--budget", nargs="+", default=["100ms", "1s", "10s"])
    parser.add_argument("--models", nargs="+", choices=PUBLISHED, default=list(PUBLISHED))
    parser.add_argument("--published", default="v100free", help="name of the profile beside which published figures are printed")
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    a = parser.parse_args(arguments[:at])
    print("| model | profile | budget | saved, % | TASO, % | TENSAT, % | gap | graphs costed | stop |")
    print("|---|---|---:|---:|---:|---:|---|---:|---|")
    for name in a.models:
        for profile in a.profiles:
            for budget in a.budget:
                report, error = optimize(a.program, a.folder / f"{name}.onnx", profile, budget, arguments[at + 1:])
                if error is not None:
                    print(f"{name}, {profile.stem}, {budget}: {' '.join(error)}", file=sys.stderr)
                    continue
                published = " | ".join(map(str, PUBLISHED[name])) if profile.stem == a.published else " | "
                search = report["search"]
                print(f"| {name} | {profile.stem} | {budget} | {saved(report):.1f} | {published} | {gap(report)} | {search['states']} | "
                      f"{search['stop_reason']} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
