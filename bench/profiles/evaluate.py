"""Errors of kernel times that profiles of GPUs predict, as tables in Markdown.

    evaluate.py PROGRAM FOLDER [--tables shapes sum intervals]

PROGRAM is xflow. FOLDER is that of XFLOW_TEST_GPU: tables of NeuSight, packed with xz.

shapes: a profile of four fifths of the shapes of a device predicts the last fifth. sum: the same with the sum of rates as the model of
all classes. Errors are means of |predicted / measured - 1| over the kernels above the launch floor, in percent; that of the plain
roofline is in brackets. intervals: the share of the held-out kernels whose time is within the interval of 90 % of its price.
"""

import argparse
import hashlib
import json
import lzma
import pathlib
import subprocess
import tempfile

DEVICES = ["Tesla P4", "Tesla T4", "Tesla P100-PCIE-16GB", "Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"]
FAMILIES = {"linear": "products with a bias", "bmm": "batched products", "conv": "3x3 convolutions", "ln": "layer norm", "softmax": "softmax",
            "add": "add", "mul": "mul", "relu": "relu", "gelu": "gelu"}
FOLD = 5
TITLES = {
    "shapes": "Held-out shapes of a device, in percent (roofline).",
    "intervals": "Held-out kernels whose time is within the interval of 90 % of its price, in percent.",
    "sum": "Held-out shapes of a device by the sum of rates, in percent (roofline).",
}


def is_held_out(row):
    """Whether a row's shape is in the last fifth: by its columns after the name of the kernel."""
    shape = row.rsplit('"', 1)[-1] if '"' in row else row.split(",", 3)[3]
    return int(hashlib.sha256(shape.strip(",").encode()).hexdigest(), 16) % FOLD == 0


def run(program, *arguments):
    return subprocess.run([program, "profile", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def errors(program, profile, tables, device):
    """(error, error of the roofline, share of times within their intervals) of a profile on tables, in percent."""
    result = json.loads(run(program, "compare", profile, "--against", *tables, "--device", device, "--json"))
    every = [row for row in result["errors"] if row["kernels_of"] == "all"]
    kernels = sum(row["kernels"] for row in every)
    return tuple(100 * sum(row[key] * row["kernels"] for row in every) / kernels for key in ["mean", "roofline", "covered"])


def write(path, header, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text(header + "".join(rows))
    return path


def short(device):
    return device.split()[-1].split("-")[0] if device.startswith("Tesla") else "A100 40GB" if "40GB" in device else "A100 80GB"


def print_table(title, rows, form="{0:.1f} ({1:.1f})"):
    """A row for each family, of (device, (error, error of the roofline, share)), and the means over the devices."""
    print(f"\n{title}\n\n| | " + " | ".join(map(short, DEVICES)) + " | mean |\n|---" + "|---:" * (len(DEVICES) + 1) + "|")
    for family, cells in rows.items():
        mean = [sum(cell[k] for cell in cells.values()) / len(cells) for k in range(3)]
        texts = [form.format(*cells[device]) if device in cells else "" for device in DEVICES]
        print(f"| {FAMILIES[family]} | " + " | ".join(texts) + " | " + form.format(*mean) + " |")


def without(path, *words):
    """The path of a copy of a profile without the lines that begin with these words."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith(words)]
    copy = path.with_name("copy.xprof")
    copy.write_text("".join(lines))
    return copy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tables", nargs="+", default=TITLES, choices=TITLES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        tables = {family: lzma.decompress((options.folder / f"{family}.csv.xz").read_bytes()).decode().splitlines(keepends=True)
                  for family in FAMILIES}
        found = {name: {family: {} for family in FAMILIES} for name in TITLES}
        for device in DEVICES:
            for family, (header, *rows) in tables.items():
                own = [row for row in rows if row.startswith(device + ",")]
                if not own:
                    continue
                known = write(work / f"known/{family}.csv", header, [row for row in own if not is_held_out(row)])
                held = write(work / f"held/{family}.csv", header, [row for row in own if is_held_out(row)])
                profile = work / "known.xprof"
                run(options.program, "convert", known, "--out", profile)
                found["shapes"][family][device] = errors(options.program, profile, [held], device)
                found["intervals"][family][device] = found["shapes"][family][device]
                found["sum"][family][device] = errors(options.program, without(profile, "roofline multiprocessors"), [held], device)
        for name in options.tables:
            print_table(TITLES[name], found[name], *(["{2:.1f}"] if name == "intervals" else []))


if __name__ == "__main__":
    main()
