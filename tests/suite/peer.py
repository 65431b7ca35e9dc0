"""Another optimiser behind the protocol of optimize_many: peer.py NAME, where NAME is onnxoptimizer, onnxslim, onnxsim or onnxruntime.

Run it with a Python that has the package: that of `scripts/deps peers`, and for onnxruntime that of the tests. As users call each: without
options; onnxoptimizer with its default passes, ONNX Runtime with its basic level. onnxslim and onnxsim take each case in a process of its
own.
"""

import contextlib
import importlib
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


# These keep something from one model to the next: a case that passes alone may fail behind others.
STATEFUL = [onnxslim, onnxsim]


def answer_of(optimize, task):
    try:
        with contextlib.redirect_stdout(sys.stderr):
            optimize(task["in"], task["out"])
        return {"improved": True, "rules": []}
    except BaseException as error:  # SystemExit as well
        return {"error": (str(error).strip().splitlines() or [type(error).__name__])[0][:200]}


def alone(optimize, task):
    """The answer of a process of its own, in which the packages are loaded already."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w") as answers:
            json.dump(answer_of(optimize, task), answers)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text and status == 0 else {"crash": f"ended with status {status}"}


def main():
    optimize = {f.__name__: f for f in [onnxoptimizer, onnxslim, onnxsim, onnxruntime]}[sys.argv[1]]
    os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the programs print is no answer
    is_stateful = optimize in STATEFUL
    if is_stateful:
        importlib.import_module(sys.argv[1])
    for line in sys.stdin:
        task = json.loads(line)
        answer = alone(optimize, task) if is_stateful else answer_of(optimize, task)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
