"""Devices that are written in Python."""

import typing
from collections.abc import Mapping, Sequence

from ._core import Kernel, Tensor
from ._error import Error, ErrorCode

NUMPY = {"float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "bool", "float16", "float64", "uint32", "uint64"}


class Device(typing.Protocol):
    """A device of the caller.

    It may have `name`, under which measured costs are stored (default: the name of the class); `can_fuse(kernel,
    next)`, whether a launch of a kernel can also execute the pointwise operation `next`; and `run(model, inputs,
    repeats)`, which runs a whole model `repeats` times in a row and returns (nanoseconds of one run, outputs).
    `model` is its bytes, or the path of a model with external data. `inputs` is {name: numpy array}, and outputs are
    a mapping likewise, in the order of the model. Types that numpy lacks are an xflow_onnx.Tensor.
    Without `run` results are accepted by predicted time.
    """

    def measure(self, kernel: Kernel) -> "float | None":
        """Nanoseconds of one launch; None if the device lacks the kernel."""


def run(device: typing.Any, model: "bytes | str", inputs: Sequence[Tensor], repeats: int) -> "tuple[float, list[Tensor]]":
    """Calls `device.run`, with arrays for tensors."""
    time, outputs = device.run(model, {tensor.name: to_array(tensor) for tensor in inputs}, repeats)
    if not isinstance(outputs, Mapping):
        raise Error(f"run of {type(device).__qualname__} must return (nanoseconds, {{name: array}})", ErrorCode.invalid_argument)
    return float(time), [to_tensor(name, value) for name, value in outputs.items()]


def to_array(tensor: Tensor) -> typing.Any:
    """A numpy array with the elements of a tensor, or the tensor if numpy lacks its type."""
    if tensor.data_type not in NUMPY:
        return tensor
    import numpy

    return numpy.frombuffer(tensor.data, numpy.dtype(tensor.data_type)).reshape(tensor.shape)


def to_tensor(name: str, value: typing.Any) -> Tensor:
    """The inverse of to_array, for an array-like value."""
    if isinstance(value, Tensor):
        return Tensor(name, value.data_type, list(value.shape), value.data)
    import numpy

    array = numpy.ascontiguousarray(value)
    return Tensor(name, array.dtype.name, list(numpy.shape(value)), array.tobytes())
