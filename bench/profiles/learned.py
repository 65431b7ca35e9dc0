"""What a general learner predicts of kernel times of GPUs: how much of them the sizes of a kernel tell. A table in Markdown.

    learned.py FOLDER

FOLDER is that of XFLOW_TEST_GPU. Needs numpy, pandas, scikit-learn and scipy. Gradient boosting (800 trees, absolute errors of the
logarithm) learns the ratio of a time to that of the model of fit_waves.py, fitted to the same kernels, from the sizes, their products and
their remainders by the sizes of tiles. It learns from four fifths of the shapes of a GPU and predicts the last fifth, the same as
evaluate.py. Errors are means of |predicted / measured - 1| above the launch floor, in percent.
"""

import argparse
import pathlib

import evaluate
import fit_waves
import numpy
import pandas
from sklearn.ensemble import HistGradientBoostingRegressor


def features(table, rows, modelled):
    sizes = ["B", "Input_Size", "Input_Channel", "Output_Channel"] if "Input_Size" in rows else ["B", "M", "N", "K"]
    columns = {name: numpy.log(rows[name]) for name in sizes}
    columns |= {name: numpy.log(table[name]) for name in ["m", "n", "k", "read", "written"]} | {"modelled": numpy.log(modelled)}
    columns["arithmetic"] = numpy.log(table.b * table.m * table.n * table.k)
    for name in sizes:
        columns |= {f"{name}%{tile}": rows[name] % tile for tile in [2, 4, 8, 32]}
        columns |= {f"{name}^{tile}": numpy.ceil(rows[name] / tile) * tile / rows[name] for tile in [4, 32, 64, 128]}
    return pandas.DataFrame(columns)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    print("| | " + " | ".join(map(evaluate.short, evaluate.DEVICES)) + " | mean |\n|---" + "|---:" * (len(evaluate.DEVICES) + 1) + "|")
    for family, name in fit_waves.FAMILIES.items():
        rows = pandas.read_csv(folder / f"{family}.csv.xz")
        held = pandas.read_csv(folder / f"{family}.csv.xz", sep="\0", header=0, quoting=3).iloc[:, 0].map(evaluate.is_held_out)
        cells = {}
        for gpu, table in fit_waves.tables_of(folder, family).items():
            here = held[table.index]
            known, other = table[~here], table[here]
            x = fit_waves.fitted({gpu: known})
            learner = HistGradientBoostingRegressor(loss="absolute_error", max_iter=800, learning_rate=0.05, random_state=0)
            modelled = {id(part): fit_waves.wave_model(x, part, gpu) for part in [known, other]}
            learner.fit(features(known, rows.loc[known.index], modelled[id(known)]), numpy.log(known.seconds / modelled[id(known)]))
            ratio = numpy.exp(learner.predict(features(other, rows.loc[other.index], modelled[id(other)])))
            cells[gpu] = fit_waves.error(ratio * modelled[id(other)], other)
        cells["mean"] = numpy.mean(list(cells.values()))
        print(f"| {name} | " + " | ".join(f"{cells[gpu]:.1f}" if gpu in cells else "" for gpu in [*evaluate.DEVICES, "mean"]) + " |")


if __name__ == "__main__":
    main()
