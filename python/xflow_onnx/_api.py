"""The functions of the package."""

import os
import pathlib
import re
import typing
from collections.abc import Callable, Sequence

from . import _core, _models
from ._core import (
    CancellationToken,
    CheckProgress,
    CheckReport,
    DeviceDescription,
    GenerateProgress,
    GenerateSummary,
    ModelProof,
    OptimizeProgress,
    Report,
    RuleDecision,
    Rules,
)
from ._device import Device
from ._error import Error, ErrorCode
from ._models import AnyModel, Inputs, Shapes
from ._runner import ONNX_RUNTIME, command_of, has_onnx_runtime

if typing.TYPE_CHECKING:
    import onnx
    import onnx_ir

__version__: str = _core.version

# What optimize takes and returns.
Model = typing.TypeVar("Model", bytes, str, pathlib.Path, "onnx.ModelProto", "onnx_ir.Model")
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def _budget(budget: "float | str | None") -> "tuple[float | None, int | None]":
    """(seconds, states) of a budget."""
    seconds, states = None, None
    for part in [] if budget is None else str(budget).split(","):
        match = re.fullmatch(r"(\d+)states|(\d+(?:\.\d*)?)(ms|s|m|)", part.strip())
        if match is None:
            raise Error(f"budget '{part}' is not of the form 30s, 500ms, 2m or 5000states", ErrorCode.invalid_argument)
        if match[1]:
            states = int(match[1])
        else:
            seconds = float(match[2]) * UNITS[match[3] or "s"]
    return seconds, states


def _runner_command(runner: "str | None", device: "str | Device | None") -> str:
    """The shell command of a runner; empty for none."""
    if runner is None:
        runner = ONNX_RUNTIME if device is None and has_onnx_runtime() else ""
    return command_of(runner)


def optimize(
    model: Model,
    *,
    device: "str | Device | None" = None,
    runner: "str | None" = None,
    shapes: "Shapes | None" = None,
    fixed_shapes: "Shapes | None" = None,
    inputs: "Inputs | None" = None,
    budget: "float | str | None" = None,
    progress: "Callable[[OptimizeProgress], object] | None" = None,
    cancel: "CancellationToken | None" = None,
    output: "str | os.PathLike[str] | None" = None,
    rules: "Rules | None" = None,
    numerics: "typing.Literal['exact', 'rounding', 'any']" = "rounding",
    confidence: "float | None" = None,
    priced_as: "typing.Literal['bf16', 'fp16', 'fp8'] | None" = None,
    threads: int = 1,
    gate: bool = True,
    time_limit: "float | None" = None,
    cost_database: "str | os.PathLike[str] | None" = None,
) -> "tuple[Model, Report]":
    """The optimised model, of the kind it was given, and the report. Without an improvement it is the original.

    model: bytes, a path (str or pathlib.Path), an onnx.ModelProto or an onnx_ir.Model. Of a path, the result is
        written to `output` (default: NAME.optimized.onnx beside it), and the path of the result is returned.
    device: "cpu", "cuda:N", "profile:FILE", or a Device written in Python.
    runner: what runs models: "onnxruntime", the shell command of a runner (docs/runner.md), or "" for the kernels of
        xflow. Default: "onnxruntime" where it is installed and no device is named.
    shapes: sizes of dynamic inputs, {"x": [1, 3, 48, 192]}; a list of shapes for several.
    fixed_shapes: sizes that the result declares for dynamic inputs, {"x": [1, 3, 48, 192]}; it takes no others.
    inputs: {name: array} or files of inputs (.npz, .pb) for checks and runs of whole models. Default: seeded values.
    budget: of the search: seconds, "30s", "500ms", "2m", "5000states". Default: 30 s.
    progress: called a few times per second; an exception in it ends the call.
    rules: rules that replace the built-in ones; each is proved before.
    numerics: how rewrites may change floating point results.
    confidence: above 0.5 and below 1; leaves out rewrites of parts whose gain is positive with a smaller probability.
    priced_as: with a profile, the type whose times kernels in float32 have. Default: their own.
    threads: threads of one kernel. gate: whether the result must be measured to be faster. time_limit: seconds of
        the whole call. cost_database: file of measured costs.

    Python's lock is released meanwhile. A Ctrl-C returns the best result so far, as cancel.finish() does; a second
    one raises KeyboardInterrupt.

    Errors (Error.code): unreadable, not_proved, invalid_argument, unsupported, io, and limit after cancel.stop().
    """
    options = _core.OptimizeOptions()
    options.set_runner(_runner_command(runner, device))
    if isinstance(device, str):
        options.set_device(device)
    options.set_shapes(_models.shapes_of(shapes))
    options.set_fixed_shapes(_models.shapes_of(fixed_shapes))
    options.set_budget(*_budget(budget))
    options.set_threads(threads)
    options.set_numerics(numerics)
    options.set_confidence(confidence)
    options.set_priced_as(priced_as or "")
    options.set_gate(gate)
    if rules is not None:
        options.set_rules(rules)
    if time_limit is not None:
        options.set_time_limit(time_limit)
    if cost_database is not None:
        options.set_cost_database(os.fspath(cost_database))
    options.set_cancel(cancel or CancellationToken())
    own = None if isinstance(device, str) else device
    with _models.input_files(inputs) as files:
        options.set_inputs(files)
        source = _models.path_of(model)
        if source is not None:
            target = os.fspath(_models.default_output(source) if output is None else output)
            report = _core.optimize_file(source, target, options, own, progress)
            return _models.path_like(target, model), report
        if output is not None:
            raise Error("output is for models that are given by their path", ErrorCode.invalid_argument)
        data, report = _core.optimize(_models.to_bytes(model), options, own, progress)
    return _models.from_bytes(data, model), report


def check(
    a: AnyModel,
    b: AnyModel,
    *,
    shapes: "Shapes | None" = None,
    inputs: "Inputs | None" = None,
    runner: str = "",
    seed: int = 1,
    runs: int = 1,
    time_limit: float = 300,
    progress: "Callable[[CheckProgress], object] | None" = None,
    cancel: "CancellationToken | None" = None,
) -> CheckReport:
    """Compares what two models compute, of any kinds: `if not xflow_onnx.check(a, b): ...`.

    They run on seeded inputs, or on `inputs`. runner: as for optimize; "" evaluates them in xflow. time_limit: seconds.

    Errors (Error.code): unreadable, io, unsupported, invalid_argument, and limit where they are not compared in time.
    """
    with _models.as_file(a) as first, _models.as_file(b) as second, _models.input_files(inputs) as files:
        choices = _models.shapes_of(shapes)
        token = cancel or CancellationToken()
        return _core.check_files(first, second, choices, files, command_of(runner), seed, runs, time_limit, token, progress)


def verify(
    rules: "Rules | str", *, max_time: "float | None" = None, jobs: int = 1, cancel: "CancellationToken | None" = None
) -> "list[RuleDecision]":
    """Decides rules, or those of a text, for all shapes that their guards admit; in the order of the rules.

    max_time: seconds for each rule; the verdict at the limit is "timeout". jobs: number of rules decided at a time.

    Errors (Error.code): syntax, ill_typed, invalid_argument, and limit after cancel.stop().
    """
    checked = Rules.parse(rules) if isinstance(rules, str) else rules
    return _core.verify(checked, max_time, jobs, cancel or CancellationToken())


def verify_models(
    a: AnyModel,
    b: AnyModel,
    *,
    shapes: "Shapes | None" = None,
    seed: int = 1,
    time_limit: float = 60,
    cancel: "CancellationToken | None" = None,
) -> ModelProof:
    """Proves that two models of any kinds compute the same for all inputs and sizes, or refutes it by a run.

    shapes, seed: of the inputs of that run. time_limit: seconds; what is open by then has the verdict "timeout".

    Errors (Error.code): unreadable, io, invalid_argument, and limit after cancel.stop().
    """
    with _models.as_file(a) as first, _models.as_file(b) as second:
        return _core.verify_files(first, second, _models.shapes_of(shapes), seed, time_limit, cancel or CancellationToken())


def generate(
    out: "str | os.PathLike[str]",
    *,
    preset: str = "",
    operators: Sequence[str] = (),
    max_operators: int = 3,
    inputs: int = 0,
    pairs: bool = True,
    beside: "str | os.PathLike[str] | None" = None,
    name: str = "generated",
    jobs: int = 1,
    progress: "Callable[[GenerateProgress], object] | None" = None,
    cancel: "CancellationToken | None" = None,
) -> GenerateSummary:
    """Finds rules, proves them and writes them to the folder `out`. An interrupted job continues in the next call.

    preset: "cnn", "transformer", "rnn" or "all", together with `operators`. max_operators: operators in a graph.
    inputs: of a graph; 0 is one more than operators, at most 4. pairs: also rules with two outputs. beside: folder of
    existing rules. jobs: threads.

    Errors (Error.code): invalid_argument, io, and limit after cancel.finish() or cancel.stop().
    """
    existing = "" if beside is None else os.fspath(beside)
    token = cancel or CancellationToken()
    return _core.generate(
        os.fspath(out), preset, list(operators), max_operators, inputs, pairs, existing, name, jobs, token, progress
    )


def devices() -> "list[DeviceDescription]":
    """This CPU, then the GPUs; those that cannot be used have the reason."""
    return _core.devices()
