"""How well profiles of GPUs predict products and attention in bfloat16, and whether one product is quicker than two, as tables in Markdown.

    merges.py PROGRAM PROFILE... [--fp8]

PROGRAM is xflow. Each PROFILE is one that `python3 -m xflow_onnx.profiles get` wrote, of which four fifths of the kernels predict the last
fifth. `error` is the mean of |predicted / measured - 1| over the last fifth, in percent; that of the plain roofline is in brackets.

Pairs are two products whose columns add up to those of a third one, where at least one of the three is in the last fifth. Times that are
not of the last fifth are the measured ones. `decided` is the number of pairs for which the two and the one differ by more than 5 % as
measured, `one` in how many of these the one is quicker, and `right` in how many the profile says so, in percent, that of the roofline in
brackets. `sure` is the percentage of the decided ones whose sign the profile gives with a probability of 90 %.

With --fp8 products in bfloat16 are left out of the profiles, such as h100-fp8, and those in fp8 are looked at.

Profiles with attention have a second table: how many of its kernels are in the last fifth, the error, and the percentage whose measured
time is within the interval of 90 % of its price.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import tempfile

FOLD = 5


def is_held_out(line):
    """Whether a line is of a kernel in the last fifth: by the text of the kernel."""
    if not line.startswith(("kernel ", "at_floor ", "contradicted ")):
        return False
    return int(hashlib.sha256(line.split(" ", 9)[9].strip().encode()).hexdigest(), 16) % FOLD == 0


def modelled(rows, **keys):
    return next(row for row in rows if row["modelled"] and all(row[key] == value for key, value in keys.items()))


def percent(row):
    return f"{100 * row['mean']:.1f} ({100 * row['roofline']:.1f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("profiles", type=pathlib.Path, nargs="+")
    parser.add_argument("--fp8", action="store_true")
    options = parser.parse_args()
    attention = []
    print("| GPU | products | held out | error | pairs | decided | one | right | sure | right if sure |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for path in options.profiles:
        lines = [line for line in path.read_text().splitlines(keepends=True) if not options.fp8 or " matmul(bfloat16" not in line]
        with tempfile.TemporaryDirectory() as name:
            known = pathlib.Path(name) / "known.xprof"
            known.write_text("".join(line for line in lines if not is_held_out(line)))
            every = pathlib.Path(name) / "every.xprof"
            every.write_text("".join(lines))
            command = [options.program, "profile", "compare", known, "--against", every, "--json"]
            result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        error = modelled(result["errors"], kernels_of="matmul bfloat16 of float8e4m3fn" if options.fp8 else "matmul bfloat16")
        signs = modelled(result["merges"])
        model = next(line.split(" ", 1)[1].strip() for line in lines if line.startswith("model "))
        products = sum(line.startswith(("kernel ", "at_floor ", "contradicted ")) and " matmul(" in line for line in lines)
        if kernels := sum(" attention(" in line for line in lines):
            row = modelled(result["errors"], kernels_of="attention bfloat16")
            attention.append(f"| {model} | {kernels} | {row['kernels']} | {percent(row)} | {100 * row['covered']:.1f} |")
        right, roofline = (100 * signs[key] / signs["decided"] for key in ("right", "roofline_right"))
        print(f"| {model} | {products} | {error['kernels']} | {percent(error)} | {signs['pairs']} "
              f"| {signs['decided']} | {signs['one_is_quicker']} | {right:.1f} ({roofline:.1f}) "
              f"| {100 * signs['sure'] / signs['decided']:.1f} | {100 * signs['sure_right'] / max(1, signs['sure']):.1f} |")
    if attention:
        print("\n| GPU | attention | held out | error | in the interval |\n|---|---:|---:|---:|---:|")
        print("\n".join(attention))


if __name__ == "__main__":
    main()
