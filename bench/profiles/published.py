"""Predicted times of TASO's models on a V100 beside those that its paper measured, as a table in Markdown.

    published.py PROGRAM MODELS TABLES [--states N]

PROGRAM is xflow, MODELS is xflow-bench-models, and TABLES the folder of NeuSight's tables, of which a profile of the V100 is made. The models
are those of xflow-bench-models at full size. `before` and `after` are predicted times of the original and of the result in milliseconds,
`gain` is their ratio, and the next columns are the same figures of Jia et al., TASO: Optimizing Deep Learning Computation with Automated
Generation of Graph Substitutions, SOSP 2019, for TensorFlow and for TASO on a V100 with a batch of 1. `sure` is the share of the predicted
gain of which the sign is right with a probability of 90 %.
"""

import argparse
import json
import lzma
import pathlib
import subprocess
import tempfile

# Milliseconds: TensorFlow, TASO.
PUBLISHED = {"resnet50": (2.5, 1.83), "nasnet_a": (11.1, 8.1), "resnext50": (19.8, 4.0), "nasrnn": (12.8, 4.2), "bert": (2.0, 1.2)}


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--states", type=int, default=1000, help="graphs that are costed for a model")
    options = parser.parse_args()
    print("| model | before | after | gain | sure | TensorFlow | TASO | gain |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        files = []
        for packed in sorted(options.tables.glob("*.csv.xz")):
            files.append(work / packed.name.removesuffix(".xz"))
            files[-1].write_bytes(lzma.decompress(packed.read_bytes()))
        run(options.program, "profile", "convert", "--format", "neusight", *files, "--device", "V100", "--out", work / "v100.xprof")
        for model, (tensorflow, taso) in PUBLISHED.items():
            run(options.models, work, model)
            source = work / f"{model}.onnx"
            run(options.program, "optimize", source, work / "result.onnx", "--device", f"profile:{work / 'v100.xprof'}", "--no-gate",
                "--budget", f"{options.states}states", "--report", work / "report.json")
            report = json.loads((work / "report.json").read_text())
            before, after = (report["predicted_nanoseconds"][key] / 1e6 for key in ("before", "after"))
            gains = [(gain["predicted_nanoseconds"]["before"] - gain["predicted_nanoseconds"]["after"], gain["sureness"]) for gain in report["gains"]]
            sure = sum(gain for gain, sureness in gains if sureness >= 0.9) / max(1e-9, sum(gain for gain, _ in gains))
            print(f"| {model} | {before:.2f} | {after:.2f} | {before / after:.2f} | {100 * sure:.0f} % | {tensorflow} | {taso} | {tensorflow / taso:.2f} |", flush=True)
            source.unlink()


if __name__ == "__main__":
    main()
