"""Fits the model of kernels that memory bounds to several GPUs, and prints its errors on a GPU that was left out, as a table in Markdown.

    fit_memory.py FOLDER [--coefficients]

FOLDER is that of XFLOW_TEST_GPU. Needs numpy, pandas and scipy. The model is that of src/devices/profile/memory_model.cpp,
(launch^p + (m bytes / bandwidth)^p)^(1/p). m and p are fitted to four GPUs and predict the kernels of the fifth above the launch floor,
with the shortest time of its table as launch. Errors are means of |predicted / measured - 1|, in percent; those of the roofline are in
brackets. --coefficients prints m and p of fits to all GPUs instead.
"""

import argparse
import pathlib

import evaluate
import fit_waves
import numpy
import pandas
from scipy.optimize import least_squares

# Tables with tensors that a kernel reads or writes, of kernels that have the same coefficients.
CLASSES = {
    "pointwise": {"add": 3, "mul": 3, "relu": 2, "gelu": 2},
    "softmax": {"softmax": 2},
    "normalisation": {"ln": 2},
}
INITIAL = [1.2, 1.2]


def read(folder, family, tensors):
    table = pandas.read_csv(folder / f"{family}.csv.xz")
    table["seconds"] = table.latency_ms / 1e3
    table["shortest"] = table.groupby("device").seconds.transform("min")
    table["bytes"] = 4.0 * tensors * table.B * table.H
    return dict(list(table[table.seconds >= fit_waves.FLOOR].groupby("device")))


def predicted(x, table, gpu):
    memory, p = x
    return (table.shortest**p + (memory * table.bytes / fit_waves.GPUS[gpu][0]) ** p) ** (1 / p)


def fitted(tables, gpus):
    """The coefficients for the tables of a class; each of them counts the same."""

    def errors(x):
        each = [(numpy.log(predicted(x, table[gpu], gpu) / table[gpu].seconds), len(table[gpu])) for table in tables for gpu in gpus]
        return numpy.concatenate([error / numpy.sqrt(count) for error, count in each])

    return least_squares(errors, INITIAL, bounds=([0.1, 1], [10, 4]), loss="soft_l1", f_scale=0.02).x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--coefficients", action="store_true")
    options = parser.parse_args()
    devices = [gpu for gpu in evaluate.DEVICES if gpu != "NVIDIA A100 80GB PCIe"]
    if not options.coefficients:
        print("| | " + " | ".join(map(evaluate.short, devices)) + " | mean |\n|---" + "|---:" * (len(devices) + 1) + "|")
    for kind, families in CLASSES.items():
        tables = {family: read(options.folder, family, tensors) for family, tensors in families.items()}
        if options.coefficients:
            print(f"{kind}: {', '.join(f'{value:.3g}' for value in fitted(tables.values(), devices))}")
            continue
        for family, table in tables.items():
            cells = []
            for gpu, rows in table.items():
                x = fitted(tables.values(), [other for other in devices if other != gpu])
                roofline = rows.shortest + rows.bytes / fit_waves.GPUS[gpu][0]
                cells.append((gpu, fit_waves.error(predicted(x, rows, gpu), rows), fit_waves.error(roofline, rows)))
            cells.sort(key=lambda cell: devices.index(cell[0]))
            means = [numpy.mean([cell[k] for cell in cells]) for k in [1, 2]]
            texts = [f"{own:.1f} ({other:.1f})" for own, other in [*(cell[1:] for cell in cells), means]]
            print(f"| {evaluate.FAMILIES[family]} | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    main()
