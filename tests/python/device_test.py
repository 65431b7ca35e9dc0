"""A device written in Python; progress, cancellation, Ctrl-C and Python's lock."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import models
import numpy
import onnx
import pytest
import xflow_onnx

BUDGET = "100states"


def bytes_of(kernel):
    return sum(4.0 * float(numpy.prod(tensor.shape)) for tensor in [*kernel.operands, *kernel.results])


class Accelerator:
    """Runs chains of transposes and relus: two microseconds for each, and a nanosecond for each byte."""

    name = "accelerator 1, simulated"

    def __init__(self):
        self.measured, self.runs = [], []

    def measure(self, kernel):
        self.measured.append(kernel)
        return 0.0 if kernel.name == "none" else 2000 + bytes_of(kernel)

    def run(self, model, inputs, repeats):
        operators = models.operators(model)
        self.runs.append((operators, repeats))
        value = inputs["x"]
        for operator in operators:
            value = value.T if operator == "Transpose" else numpy.maximum(value, 0)
        return len(operators) * (2000 + 2.0 * value.nbytes), {"y": value}


def test_a_device_prices_kernels_and_runs_models():
    device = Accelerator()
    model, report = xflow_onnx.optimize(models.transposes(), device=device, budget=BUDGET)
    assert models.operators(model) == ["Relu"] and report.improved
    assert report.to_dict()["end_to_end"]["run"] is True
    assert {tuple(operators) for operators, _ in device.runs} >= {("Relu",), ("Transpose", "Transpose", "Relu")}
    kernel = next(kernel for kernel in device.measured if kernel.name == "copy")
    assert kernel.variant == "transpose" and kernel.operands[0].shape == (48, 32) and kernel.operands[0].data_type == "float32"
    assert kernel.text in repr(kernel)


def test_a_result_that_the_device_computes_otherwise_is_not_written():
    class Wrong(Accelerator):
        def run(self, model, inputs, repeats):
            time_of_run, outputs = super().run(model, inputs, repeats)
            wrong = models.operators(model) == ["Relu"]
            return time_of_run, {name: value + 1 if wrong else value for name, value in outputs.items()}

    model, report = xflow_onnx.optimize(models.transposes(), device=Wrong(), budget=BUDGET)
    assert not report.improved and models.operators(model) == ["Transpose", "Transpose", "Relu"]


def test_a_kernel_without_a_price_is_avoided():
    class NoCopies(Accelerator):
        def measure(self, kernel):
            return None if kernel.name == "copy" else super().measure(kernel)

    _, report = xflow_onnx.optimize(models.transposes(), device=NoCopies(), budget=BUDGET)
    assert report.to_dict()["kernels"]["refused"] > 0


@pytest.mark.parametrize("method", ["measure", "run"])
def test_an_exception_of_a_device_ends_the_call_and_is_raised(method):
    class Broken(Accelerator):
        pass

    def broken(*_):
        raise ZeroDivisionError("of the device")

    setattr(Broken, method, broken)
    with pytest.raises(ZeroDivisionError, match="^of the device$"):
        xflow_onnx.optimize(models.transposes(), device=Broken(), budget=BUDGET)


def test_an_answer_of_another_form_is_refused():
    class Wrong(Accelerator):
        def run(self, model, inputs, repeats):
            return 1.0, [1]

    with pytest.raises(xflow_onnx.Error, match=r"^run of .*Wrong must return \(nanoseconds, \{name: array\}\)$"):
        xflow_onnx.optimize(models.transposes(), device=Wrong(), budget=BUDGET)


def test_progress_is_reported_and_its_exception_ends_the_call():
    seen = []
    xflow_onnx.optimize(models.transposes(), device=Slow(), budget="100states", progress=seen.append)
    assert seen and all(0 <= one.fraction <= 1 for one in seen)
    assert {one.phase for one in seen} <= {"measuring", "searching", "checking", "running"}
    assert str(seen[-1])

    def broken(_):
        raise LookupError("of the progress")

    with pytest.raises(LookupError, match="of the progress"):
        xflow_onnx.optimize(models.transposes(), device=Slow(), budget="100states", progress=broken)


class Slow(Accelerator):
    """Takes its time, so that calls are in progress for a while."""

    def __init__(self, seconds=0.3):
        super().__init__()
        self.seconds = seconds
        self.began = threading.Event()

    def measure(self, kernel):
        self.began.set()
        time.sleep(self.seconds)
        return super().measure(kernel)


def test_a_token_stops_or_finishes_a_call():
    stopped, finished = xflow_onnx.CancellationToken(), xflow_onnx.CancellationToken()
    stopped.stop()
    assert stopped.is_stopping and stopped.is_finishing
    with pytest.raises(xflow_onnx.Error, match="^cancelled$") as caught:
        xflow_onnx.optimize(models.transposes(), device=Accelerator(), budget=BUDGET, cancel=stopped)
    assert caught.value.code == "limit"
    finished.finish()
    assert finished.is_finishing and not finished.is_stopping
    model, report = xflow_onnx.optimize(models.transposes(), device=Accelerator(), budget=BUDGET, cancel=finished)
    assert models.operators(model) == ["Transpose", "Transpose", "Relu"] and not report.improved


def test_the_lock_is_free_while_the_library_works():
    """Another thread goes on while rules are decided, which calls nothing in Python."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # whoever has the lock keeps it, unless it gives it away
    order = []
    thread = threading.Thread(target=lambda: (time.sleep(0.01), order.append("thread")))

    try:
        thread.start()
        decisions = xflow_onnx.verify(xflow_onnx.Rules.read([RULES]))
        order.append("verified")
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert len(decisions) > 1
    assert order == ["thread", "verified"]


RULES = str(pathlib.Path(__file__).resolve().parents[2] / "substitutions/neutral.rules")

INTERRUPTED = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
import device_test, models, xflow_onnx
times = int(sys.argv[2])
device = device_test.Slow(0.2)

def interrupt():
    device.began.wait()
    for _ in range(times):
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    if times == 2:
        device.seconds = 3
    model, report = xflow_onnx.optimize(models.transposes(), device=device, budget="1000000states")
    print("returned", report.stop_reason, models.operators(model))
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


@pytest.mark.parametrize(("times", "expected"), [(1, "returned interrupted"), (2, "KeyboardInterrupt")])
def test_ctrl_c_gives_the_best_so_far_and_the_next_one_ends_the_call(times, expected):
    run = subprocess.run([sys.executable, "-c", INTERRUPTED, os.path.dirname(__file__), str(times)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(expected), run.stdout


def test_ctrl_c_ends_a_call_that_has_no_result_so_far():
    script = (
        "import os, signal, sys, threading, time, xflow_onnx\n"
        "rules = xflow_onnx.Rules.shipped()\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()\n"
        "try:\n"
        "    xflow_onnx.verify(rules)\n"
        "    print('verified')\n"
        "except KeyboardInterrupt:\n"
        "    print('KeyboardInterrupt')\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "KeyboardInterrupt\n"), run.stderr
