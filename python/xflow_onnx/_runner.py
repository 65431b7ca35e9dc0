"""The runner for ONNX Runtime, as the shell command that the library starts."""

import importlib.util
import pathlib
import shlex
import sys

ONNX_RUNTIME = "onnxruntime"


def has_onnx_runtime() -> bool:
    """Whether ONNX Runtime and numpy can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("numpy", ONNX_RUNTIME))


def command_of(runner: str) -> str:
    """The shell command of a runner: that of ONNX Runtime for "onnxruntime", otherwise `runner` as it is."""
    if runner != ONNX_RUNTIME:
        return runner
    return shlex.join([sys.executable, str(pathlib.Path(__file__).with_name("runner_ort.py"))])
