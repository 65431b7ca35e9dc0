"""Fits the model of waves to several GPUs, and prints its errors on a GPU that was left out, as a table in Markdown.

    fit_waves.py FOLDER [--coefficients]
    fit_waves.py --bfloat16 PROFILE... [--coefficients]

FOLDER is that of XFLOW_TEST_GPU: tables of NeuSight, packed with xz. Each PROFILE is one with products in bfloat16 that
`python3 -m xflow_onnx.profiles get` wrote, of a GPU whose multiprocessors and cache it has. Needs numpy, pandas and scipy.

The model is that of src/devices/profile/wave_model.cpp with tiles of 64 rows. Its coefficients, relative to peak, bandwidth,
multiprocessors and cache, are fitted to 400 kernels of each GPU but one and predict all kernels of that one above the launch floor.
The launch is the shortest time of the GPU's table. Errors are means of |predicted / measured - 1|, in percent; those of the roofline,
launch + max(arithmetic, memory), are in brackets. --coefficients prints those of fits to all GPUs instead, which wave_model.cpp has.
"""

import argparse
import pathlib
import re

import numpy
import pandas
from scipy.optimize import least_squares

# Bytes and operations per second, multiprocessors, bytes of cache.
GPUS = {
    "Tesla P4": (192e9, 5699e9, 20, 2e6),
    "Tesla T4": (320e9, 8141e9, 40, 4e6),
    "Tesla P100-PCIE-16GB": (732e9, 9519e9, 56, 4e6),
    "Tesla V100-PCIE-32GB": (900e9, 14029e9, 80, 6e6),
    "NVIDIA A100-PCIE-40GB": (1555e9, 19492e9, 108, 40e6),
    "NVIDIA A100 80GB PCIe": (1935e9, 19492e9, 108, 40e6),
}
FAMILIES = {"linear": "products with a bias", "bmm": "batched products", "conv": "3x3 convolutions"}
FLOOR = 60e-6
INITIAL = numpy.log([0.7, 20, 0.77, 1.6, 0.64, 2, 0.8, 3, 1.1, 32, 8])
WINOGRAD = numpy.log([0.3, 1, 3])  # efficiency, memory, launches
SAMPLES = 400


def read(folder, family):
    """The rows of a table as products: b batches of [m, k] x [k, n], the bytes read and written, and the seconds."""
    rows = pandas.read_csv(folder / f"{family}.csv.xz")
    if family == "conv":
        pixels = rows.B * rows.Input_Size**2
        table = pandas.DataFrame({"b": 1, "m": pixels, "n": rows.Output_Channel, "k": 9 * rows.Input_Channel})
        table["read"] = 4 * (pixels * rows.Input_Channel + table.k * table.n)
        table["tiles"] = rows.B * numpy.ceil(rows.Input_Size / 4) ** 2
    else:
        table = pandas.DataFrame({"b": rows.B, "m": rows.M, "n": rows.N, "k": rows.K})
        table["read"] = 4 * rows.B * (rows.M * rows.K + rows.K * rows.N) + (4 * rows.N if family == "linear" else 0)
    table["written"] = 4 * table.b * table.m * table.n
    table["seconds"] = rows.latency_ms / 1e3
    table["gpu"] = rows.device
    table["element"] = 4
    return table.astype({column: float for column in table.columns if column != "gpu"})


def read_profile(path):
    """The products in bfloat16 above the launch floor, and what GPUS has of the GPU."""
    text = path.read_text()
    found = re.findall(r"^(kernel|at_floor) \w+ \w+ \w+ (\S+) .* matmul\(bfloat16\[(\d+),(\d+)\], const bfloat16\[\d+,(\d+)\]\)", text, re.MULTILINE)
    table = pandas.DataFrame([map(float, row) for _, *row in found], columns=["seconds", "m", "k", "n"])
    table["seconds"] /= 1e9
    table["b"], table["element"] = 1, 2
    table["read"], table["written"] = 2 * (table.m * table.k + table.k * table.n), 2 * table.m * table.n
    table["shortest"] = table.seconds.min()
    sizes = [float(re.search(rf"^roofline {name} (\S+)", text, re.MULTILINE)[1]) for name in ["bandwidth", "peak bfloat16", "multiprocessors", "cache"]]
    return table[[kind == "kernel" for kind, *_ in found]], tuple(sizes)


def run_of(coefficients, t, gpu):
    """Seconds without the launch."""
    bandwidth, peak, multiprocessors, cache = GPUS[gpu]
    efficiency, start, rounding, memory, norm, write, occupancy, reload, cached, tile, wave = coefficients
    at_a_time = multiprocessors * occupancy
    waves = t.b * numpy.ceil(t.m / 64) * numpy.ceil(t.n / 8) / at_a_time
    up = rounding / (1 + rounding)
    rounded = up * numpy.ceil(waves) + (1 - up) * numpy.maximum(waves, 1)
    arithmetic = rounded * at_a_time * 2 * 64 * 8 * (t.k + start) / (efficiency * peak)
    moved = (t.read + write * t.written) * memory / bandwidth
    rows_of_tiles, columns_of_tiles = numpy.maximum(t.m / tile, 1), numpy.maximum(t.n / tile, 1)
    columns = numpy.minimum(columns_of_tiles, multiprocessors * wave)
    rows = numpy.clip(multiprocessors * wave / columns, 1, rows_of_tiles)
    reloads = rows_of_tiles * columns_of_tiles / (rows * columns) * (rows + columns)
    second = t.element * t.k * t.n
    missed = second / (second + cache * cached)
    reloaded = t.b * t.element * t.k * reloads * tile * missed * reload / bandwidth
    p = 1 + norm
    return (arithmetic**p + moved**p + reloaded**p) ** (1 / p)


def products_of(t):
    """The products of Winograd's algorithm F(4x4, 3x3), one for each of the 36 elements of a transformed tile."""
    table = pandas.DataFrame({"b": 36, "m": t.tiles, "n": t.n, "k": t.k / 9, "element": t.element})
    table["read"] = 4 * table.b * table.k * (table.m + table.n)
    table["written"] = 4 * table.b * table.m * table.n
    return table


def wave_model(x, t, gpu):
    values = numpy.exp(x)
    run = run_of(values[: len(INITIAL)], t, gpu)
    if "tiles" not in t:
        return t.shortest + run
    winograd = values[: len(INITIAL)].copy()
    winograd[0], winograd[3] = values[len(INITIAL)], values[len(INITIAL) + 1]
    other = t.shortest * values[-1] + run_of(winograd, products_of(t), gpu)
    return t.shortest + (run**-8 + other**-8) ** (-1 / 8)


def roofline(t, gpu):
    bandwidth, peak, _, _ = GPUS[gpu]
    return t.shortest + numpy.maximum(2 * t.b * t.m * t.n * t.k / peak, (t.read + t.written) / bandwidth)


def fitted(tables):
    """The coefficients for the samples of several GPUs."""
    samples = {gpu: table.sample(SAMPLES, random_state=0) for gpu, table in tables.items()}
    has_winograd = any("tiles" in table for table in tables.values())
    initial = numpy.concatenate([INITIAL, WINOGRAD]) if has_winograd else INITIAL

    def errors(x):
        each = [numpy.log(wave_model(x, table, gpu) / table.seconds) for gpu, table in samples.items()]
        return numpy.concatenate([*each, 0.5 * (x - initial)])

    return least_squares(errors, initial, loss="soft_l1", f_scale=0.2, max_nfev=400).x


def error(predicted, table):
    return 100 * numpy.mean(numpy.abs(predicted / table.seconds - 1))


def short(device):
    return device.split()[-1].split("-")[0] if device.startswith("Tesla") else "A100 40GB" if "40GB" in device else "A100 80GB"


def tables_of(folder, family):
    """The table of each GPU above the launch floor."""
    every = read(folder, family)
    every["shortest"] = every.groupby("gpu").seconds.transform("min")
    return dict(list(every[every.seconds >= FLOOR].groupby("gpu")))


def print_bfloat16(paths, coefficients):
    tables = {}
    for path in paths:
        tables[path.stem], GPUS[path.stem] = read_profile(path)
    if coefficients:
        print(f"bfloat16: {', '.join(f'{value:.3g}' for value in numpy.exp(fitted(tables)))}")
        return
    print("| | " + " | ".join(tables) + " |\n|---" + "|---:" * len(tables) + "|")
    cells = []
    for gpu, table in tables.items():
        x = fitted({other: rows for other, rows in tables.items() if other != gpu})
        cells.append(f"{error(wave_model(x, table, gpu), table):.1f} ({error(roofline(table, gpu), table):.1f})")
    print("| products in bfloat16 | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--bfloat16", type=pathlib.Path, nargs="+", metavar="PROFILE")
    parser.add_argument("--coefficients", action="store_true")
    options = parser.parse_args()
    if options.bfloat16:
        print_bfloat16(options.bfloat16, options.coefficients)
        return
    tables = {family: tables_of(options.folder, family) for family in FAMILIES}
    if options.coefficients:
        for family in FAMILIES:
            print(f"{family}: {', '.join(f'{value:.3g}' for value in numpy.exp(fitted(tables[family])))}")
        return
    print("| | " + " | ".join(map(short, GPUS)) + " | mean |\n|---" + "|---:" * (len(GPUS) + 1) + "|")
    for family, name in FAMILIES.items():
        cells = {}
        for gpu, table in tables[family].items():
            x = fitted({other: rows for other, rows in tables[family].items() if other != gpu})
            cells[gpu] = (error(wave_model(x, table, gpu), table), error(roofline(table, gpu), table))
        cells["mean"] = tuple(numpy.mean(list(cells.values()), axis=0))
        print(f"| {name} | " + " | ".join("{:.1f} ({:.1f})".format(*cells[gpu]) if gpu in cells else "" for gpu in [*GPUS, "mean"]) + " |")


if __name__ == "__main__":
    main()
