"""The operators between numbers and the integers that stand for them (ONNX QuantizeLinear, DequantizeLinear). See operators.py."""

import numpy

from exact import INTEGERS
from operators import FLOATING, Tensor, operator, require, require_class

QUANTISED = ("int8", "uint8", "int16", "uint16")


def along(x, p, a):
    """The element of the scale or zero point p for each element of x: of the whole tensor, of an axis, or of blocks along it."""
    if p.rank <= 1 and p.values.size == 1:
        return p.values.reshape(())
    axis = a["axis"]
    require(0 <= axis < x.rank, "an axis of x")
    if a["block"] == 0:
        require(p.shape == (x.shape[axis],), "an element for each position of the axis")
        return p.values.reshape((-1,) + (1,) * (x.rank - axis - 1))
    require(a["block"] >= 1, "blocks of at least 1")
    wanted = list(x.shape)
    wanted[axis] = -(-x.shape[axis] // a["block"])
    require(list(p.shape) == wanted, "an element for each block")
    return numpy.repeat(p.values, a["block"], axis=axis).take(range(x.shape[axis]), axis=axis)


@operator("quantize_linear", to="type", axis=("integer", 0), block=("integer", 0))
def quantize_linear(d, x, a):
    to = a["to"]
    require_class(x[0], "floating")
    require(x[0].type == x[1].type and to in QUANTISED, "a scale of the type of x, and a type of 8 or 16 bits")
    result = d.round(d.div(x[0].values, along(x[0], x[1], a)))
    if len(x) > 2:
        require(x[2].type == to, "a zero point of the type of the result")
        result = d.add(result, along(x[0], Tensor(d.cast(x[2].values, to, x[0].type), x[0].type), a))
    low, end = INTEGERS[to]
    return [Tensor(d.cast(d.clip(result, low, end - 1, x[0].type), x[0].type, to), to)]


@operator("dequantize_linear", axis=("integer", 0), block=("integer", 0))
def dequantize_linear(d, x, a):
    require(x[0].type in QUANTISED + ("int32",) and x[1].type in FLOATING, "integers and a floating scale")
    result = d.cast(x[0].values, x[0].type, "int32")
    if len(x) > 2:
        require(x[2].type == x[0].type, "a zero point of the type of x")
        result = d.sub(result, along(x[0], Tensor(d.cast(x[2].values, x[2].type, "int32"), "int32"), a))
    return [Tensor(d.mul(d.cast(result, "int32", x[1].type), along(x[0], x[1], a)), x[1].type)]
