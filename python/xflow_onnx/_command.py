"""The command `xflow`: the program of the package, which measures in ONNX Runtime where that is installed."""

import os
import pathlib
import sys

from ._runner import ONNX_RUNTIME, command_of, has_onnx_runtime

PROGRAM = pathlib.Path(__file__).with_name("bin") / "xflow"


def arguments_of(arguments: "list[str]", has_runtime: bool) -> "list[str]":
    """The arguments of the program: `--runner onnxruntime` becomes a shell command, and is the default of
    `optimize` without --runner and --device where ONNX Runtime is installed. `--runner ''` is xflow's own kernels."""
    result = list(arguments)
    for k, argument in enumerate(result):
        if argument == f"--runner={ONNX_RUNTIME}":
            result[k] = f"--runner={command_of(ONNX_RUNTIME)}"
        elif argument == ONNX_RUNTIME and k > 0 and result[k - 1] == "--runner":
            result[k] = command_of(ONNX_RUNTIME)
    named = any(argument.split("=")[0] in ("--runner", "--device") for argument in arguments)
    if arguments[:1] == ["optimize"] and not named and has_runtime:
        result += ["--runner", command_of(ONNX_RUNTIME)]
    return result


def main() -> None:
    """Runs the program in place of this process."""
    arguments = arguments_of(sys.argv[1:], has_onnx_runtime())
    sys.stdout.flush()
    os.execv(PROGRAM, ["xflow", *arguments])
