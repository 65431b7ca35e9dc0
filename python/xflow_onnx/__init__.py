"""Makes ONNX models cheaper without changing what they compute.

    model, report = xflow_onnx.optimize(open("model.onnx", "rb").read())
    print(report)
"""

import typing

if typing.TYPE_CHECKING:
    from ._api import __version__, check, devices, generate, optimize, verify, verify_models
    from ._core import (
        CancellationToken,
        CheckProgress,
        CheckReport,
        DeviceDescription,
        FusedOperation,
        GenerateProgress,
        GenerateSummary,
        Kernel,
        KernelTensor,
        ModelPart,
        ModelProof,
        OptimizeProgress,
        Report,
        RoundedConstant,
        RuleDecision,
        RuleInfo,
        Rules,
        Tensor,
        VerifiedOutput,
    )
    from ._device import Device
    from ._error import Error, ErrorCode
    from ._progress import ProgressLine

__all__ = [
    "CancellationToken",
    "CheckProgress",
    "CheckReport",
    "Device",
    "DeviceDescription",
    "Error",
    "ErrorCode",
    "FusedOperation",
    "GenerateProgress",
    "GenerateSummary",
    "Kernel",
    "KernelTensor",
    "ModelPart",
    "ModelProof",
    "OptimizeProgress",
    "ProgressLine",
    "Report",
    "RoundedConstant",
    "RuleDecision",
    "RuleInfo",
    "Rules",
    "Tensor",
    "VerifiedOutput",
    "__version__",
    "check",
    "devices",
    "generate",
    "optimize",
    "verify",
    "verify_models",
]

# Where a name is, if it is not in _core. Names are looked up when they are first used: a process that only runs models
# for the library (runner_ort.py) does not load it.
_PLACES = {
    **dict.fromkeys(("__version__", "check", "devices", "generate", "optimize", "verify", "verify_models"), "_api"),
    **dict.fromkeys(("Error", "ErrorCode"), "_error"),
    "Device": "_device",
    "ProgressLine": "_progress",
}


def __getattr__(name: str) -> typing.Any:
    if name not in __all__:
        raise AttributeError(f"module 'xflow_onnx' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f".{_PLACES.get(name, '_core')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
