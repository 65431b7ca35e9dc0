"""Rewrites and splits together beside either order alone. Prints a table in Markdown.

    joint_table.py PROGRAM FOLDER [--steps 2000]

PROGRAM is xflow. The models are encoders of transformers as PyTorch's MultiheadAttention computes them with the samples in the second
dimension, and they are written to FOLDER. `splits alone` is the best plan of the model as it is. `splits, rewrites`: each part of that plan
is then optimised for its device; the step is at least that plan's step without the kernel time that the device with the largest savings
saves. `rewrites, splits`: the model is optimised for one device, and that result is planned. `together` is `xflow parallelize --rewrite`.
"""

import argparse
import json
import pathlib
import shutil
import subprocess

import numpy
import onnx
from onnx import helper, numpy_helper

# Operations per second, bytes per second (docs/parallel.md); launches take 5 us.
RATES = {"flexflow-k80": (4.37e12, 240e9), "slow-16": (2e12, 400e9), "dgx-h100": (494e12, 3.35e12)}
# Layers, samples, tokens, width, cluster, devices, objective.
ROWS = [
    (2, 16, 64, 512, "flexflow-k80", 4, "latency"),
    (2, 16, 64, 512, "flexflow-k80", 8, "latency"),
    (2, 16, 64, 512, "flexflow-k80", 16, "latency"),
    (2, 16, 64, 512, "slow-16", 8, "latency"),
    (2, 16, 64, 512, "slow-16", 16, "latency"),
    (2, 16, 64, 512, "flexflow-k80", 8, "training-step"),
    (4, 32, 128, 768, "flexflow-k80", 8, "latency"),
    (4, 32, 128, 768, "dgx-h100", 8, "latency"),
]


class Builder:
    def __init__(self):
        self.nodes = []
        self.constants = []
        self.random = numpy.random.default_rng(1)

    def weights(self, *shape):
        elements = (self.random.standard_normal(shape) * 0.02).astype(numpy.float32)
        self.constants.append(numpy_helper.from_array(elements, f"w{len(self.constants)}"))
        return self.constants[-1].name

    def shape(self, *sizes):
        self.constants.append(numpy_helper.from_array(numpy.array(sizes, numpy.int64), f"s{len(self.constants)}"))
        return self.constants[-1].name

    def apply(self, operator, *operands, **attributes):
        result = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [result], name=f"n{len(self.nodes)}", **attributes))
        return result

    def linear(self, x, rows, columns):
        return self.apply("Add", self.apply("MatMul", x, self.weights(rows, columns)), self.weights(columns))


def encoder(layers, samples, tokens, width):
    own = Builder()
    heads, inner = width // 64, 4 * width

    def normal(x):
        return own.apply("LayerNormalization", x, own.weights(width), own.weights(width), axis=-1)

    def head(x, perm):
        rows = own.apply("Reshape", own.linear(x, width, width), own.shape(tokens, samples * heads, 64))
        return own.apply("Transpose", rows, perm=perm)

    x = "x"
    for _ in range(layers):
        scores = own.apply("Softmax", own.apply("MatMul", head(x, [1, 0, 2]), head(x, [1, 2, 0])), axis=-1)
        context = own.apply("Transpose", own.apply("MatMul", scores, head(x, [1, 0, 2])), perm=[1, 0, 2])
        flat = own.apply("Reshape", context, own.shape(tokens * samples, width))
        product = own.apply("Gemm", flat, own.weights(width, width), own.weights(width))
        x = normal(own.apply("Add", x, own.apply("Reshape", product, own.shape(tokens, samples, width))))
        x = normal(own.apply("Add", x, own.linear(own.apply("Relu", own.linear(x, width, inner)), inner, width)))
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [tokens, samples, width]) for name in ("x", x)]
    graph = helper.make_graph(own.nodes, "encoder", info[:1], info[1:], own.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Bench:
    def __init__(self, arguments):
        self.program = arguments.program.resolve()
        self.folder = arguments.folder
        self.steps = arguments.steps

    def run(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, check=True, capture_output=True)

    def plan(self, model, cluster, devices, objective, *options):
        self.run("parallelize", model, "--cluster", cluster, "--devices", devices, "--objective", objective, "--steps", self.steps,
                 "--out", "plan.json", *options)
        return json.loads((self.folder / "plan.json").read_text())

    def optimise(self, model, result, cluster):
        """Predicted times in seconds before and after."""
        operations, bandwidth = RATES[cluster]
        (self.folder / "device.xprof").write_text(
            f"xflow profile 1\ndevice gpu\nmodel {cluster}\nlibrary roofline\nthreads 1\nclock wall clock\nroofline launch 5000\n"
            f"roofline bandwidth {bandwidth}\nroofline peak float32 {operations}\n")
        self.run("optimize", model, result, "--device", "profile:device.xprof", "--no-gate", "--budget", "2000states", "--report", "report.json")
        times = json.loads((self.folder / "report.json").read_text())["predicted_nanoseconds"]
        return times["before"] * 1e-9, times["after"] * 1e-9

    def saved_by_parts(self, cluster):
        """The most kernel time that rewrites of its parts save a device."""
        manifest = json.loads((self.folder / "parts/manifest.json").read_text())
        saved = {}
        for part in manifest["parts"]:
            before, after = self.optimise(pathlib.Path("parts") / part["file"], "part.onnx", cluster)
            saved[part["device"]] = saved.get(part["device"], 0) + before - after
        return max(saved.values())

    def row(self, layers, samples, tokens, width, cluster, devices, objective):
        where = (cluster, devices, objective)
        onnx.save(encoder(layers, samples, tokens, width), self.folder / "model.onnx")
        shutil.rmtree(self.folder / "parts", ignore_errors=True)
        alone = self.plan("model.onnx", *where, "--parts", "parts")["step_seconds"]
        saved = self.saved_by_parts(cluster)
        self.optimise("model.onnx", "optimised.onnx", cluster)
        first = self.plan("optimised.onnx", *where)["step_seconds"]
        joint = self.plan("model.onnx", *where, "--rewrite")
        together = joint["step_seconds"]
        # Gradients of rewritten kernels are saved as well.
        least = alone - saved * (3 if objective == "training-step" else 1)
        better = min(alone, least, first) / together
        rules = len(joint["rewrites"]["rules"])
        steps = " | ".join(f"{1e3 * own:.3f}" for own in (alone, least, first, together))
        print(f"| {layers} x {width}, {samples} x {tokens} | {cluster} | {devices} | {objective} | {steps} | {better:.2f} | {rules} "
              f"| {joint['rewrites']['graphs']} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| layers x width, samples x tokens | cluster | devices | objective | splits alone, ms | splits, rewrites: at least, ms "
          "| rewrites, splits, ms | together, ms | better of both orders / together | rules | graphs |\n|---|---|---|---|---|---|---|---|---|---|---|")
    bench = Bench(arguments)
    for row in ROWS:
        bench.row(*row)


if __name__ == "__main__":
    main()
