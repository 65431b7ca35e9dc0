"""Another optimiser behind the protocol of optimize_many: peer.py NAME, where NAME is onnxoptimizer, onnxslim, onnxsim or onnxruntime.

Run it with a Python that has the package: that of `scripts/deps peers`, and for onnxruntime that of the tests. As users call each: without
options; onnxoptimizer with its default passes, ONNX Runtime with its basic level.
"""

import contextlib
import json
import os
import sys

import onnx


def onnxoptimizer(source, output):
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(source)), output)


def onnxslim(source, output):
    import onnxslim

    onnxslim.slim(source, output)


def onnxsim(source, output):
    import onnxsim

    model, same = onnxsim.simplify(onnx.load(source))
    if not same:
        raise RuntimeError("onnxsim's own check fails")
    onnx.save(model, output)


def onnxruntime(source, output):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = output
    options.log_severity_level = 4
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def main():
    optimize = {f.__name__: f for f in [onnxoptimizer, onnxslim, onnxsim, onnxruntime]}[sys.argv[1]]
    os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the programs print is no answer
    for line in sys.stdin:
        task = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                optimize(task["in"], task["out"])
            answer = {"improved": True, "rules": []}
        except BaseException as error:  # SystemExit as well
            answer = {"error": (str(error).strip().splitlines() or [type(error).__name__])[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
