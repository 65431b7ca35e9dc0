"""The operators between numbers and the integers that stand for them, and of these integers (ONNX QuantizeLinear, DequantizeLinear,
DynamicQuantizeLinear, MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv). See operators.py."""

import numpy

from exact import INTEGERS
from operators import FLOATING, Tensor, operator, require, require_class
from sums import conv, matmul

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


BYTES = ("int8", "uint8")
CONVOLUTION = {"strides": ("strides", 1), "dilations": ("dilations", 1), "pads": ("pads", 0), "groups": ("groups", 1)}


def along_axis(p, size, rank, axis):
    """A parameter of the whole tensor, or of each of `size` positions of an axis."""
    if p.values.size == 1:
        require(p.rank <= 1, "a scalar or a list")
        return p.values.reshape(())
    require(p.shape == (size,), "an element for each position of the axis")
    return p.values.reshape((-1,) + (1,) * (rank - axis - 1))


def without_zero(d, q, zero, axis):
    """q minus its zero point in int32."""
    require(q.type in BYTES, "integers of 8 bits")
    values = d.cast(q.values, q.type, "int32")
    if zero is not None:
        require(zero.type == q.type, "a zero point of the type of the numbers")
        size = q.shape[axis] if axis < q.rank else 1
        values = d.sub(values, along_axis(Tensor(d.cast(zero.values, zero.type, "int32"), "int32"), size, q.rank, axis))
    return Tensor(values, "int32")


def rows(a):
    return max(a.rank - 2, 0)


def columns(b):
    return max(b.rank - 1, 1)


def quantised_sum(d, total, scale, y_scale, y_zero, bias=None):
    """The numbers that a sum of int32 stands for, in integers of the type of y_zero."""
    require(y_scale.values.size == 1 and y_zero.values.size == 1 and y_zero.type in BYTES, "one scale and zero point of the result")
    if bias is not None:
        total = d.add(total, bias)
    factor = d.div(scale, y_scale.values.reshape(()))
    result = d.round(d.mul(d.cast(total, "int32", "float32"), factor))
    result = d.add(result, d.cast(y_zero.values.reshape(()), y_zero.type, "float32"))
    low, end = INTEGERS[y_zero.type]
    return [Tensor(d.cast(d.clip(result, low, end - 1, "float32"), "float32", y_zero.type), y_zero.type)]


@operator("matmul_integer")
def matmul_integer(d, x, a):
    zeros = list(x[2:4]) + [None] * (4 - len(x))
    require(min(x[0].rank, x[1].rank) >= 1, "at least 1 dimension")
    return matmul(d, [without_zero(d, x[0], zeros[0], rows(x[0])), without_zero(d, x[1], zeros[1], columns(x[1]))], {})


@operator("qlinear_matmul")
def qlinear_matmul(d, x, a):
    require(all(x[k].type == "float32" for k in (1, 4, 6)) and min(x[0].rank, x[3].rank) >= 2, "scales of float32, and matrices")
    total = matmul(d, [without_zero(d, x[0], x[2], rows(x[0])), without_zero(d, x[3], x[5], columns(x[3]))], {})[0]
    scale = d.mul(along_axis(x[1], x[0].shape[-2], total.rank, total.rank - 2), along_axis(x[4], x[3].shape[-1], total.rank, total.rank - 1))
    return quantised_sum(d, total.values, scale, x[6], x[7])


def integer_convolution(d, x, w, a):
    result = conv(d, [Tensor(d.cast(t.values, "int32", "float32"), "float32") for t in (x, w)], a)[0]
    return d.cast(result.values, "float32", "int32")


@operator("conv_integer", **CONVOLUTION)
def conv_integer(d, x, a):
    zeros = list(x[2:4]) + [None] * (4 - len(x))
    require(zeros[0] is None or zeros[0].values.size == 1, "one zero point of x")
    return [Tensor(integer_convolution(d, without_zero(d, x[0], zeros[0], 1), without_zero(d, x[1], zeros[1], 0), a), "int32")]


@operator("qlinear_conv", **CONVOLUTION)
def qlinear_conv(d, x, a):
    require(all(x[k].type == "float32" for k in (1, 4, 6)) and x[1].values.size == x[2].values.size == 1, "one scale and zero point of x")
    total = integer_convolution(d, without_zero(d, x[0], x[2], 1), without_zero(d, x[3], x[5], 0), a)
    scale = d.mul(x[1].values.reshape(()), along_axis(x[4], x[3].shape[0], total.ndim, 1))
    bias = None
    if len(x) > 8:
        require(x[8].type == "int32" and x[8].shape == (x[3].shape[0],), "a bias of int32 for each channel")
        bias = x[8].values.reshape((-1,) + (1,) * (total.ndim - 2))
    return quantised_sum(d, total, scale, x[6], x[7], bias)


@operator("dynamic_quantize_linear")
def dynamic_quantize_linear(d, x, a):
    require(x[0].type == "float32", "float32")
    zero = d.number(0, "float32")
    flat = x[0].values.reshape((-1,))
    high = d.maximum(d.largest(flat, 0), zero)
    low = d.maximum(d.largest(d.neg(flat), 0), zero)  # -min(x, 0)
    spread = d.add(high, low)
    scale = d.div(d.choose(d.equal(spread, zero), d.number(1, "float32"), spread), d.number(255, "float32"))
    shift = d.clip(d.round(d.div(low, scale)), 0, 255, "float32")
    result = d.clip(d.add(d.round(d.div(x[0].values, scale)), shift), 0, 255, "float32")
    return [Tensor(d.cast(result, "float32", "uint8"), "uint8"), Tensor(scale, "float32"), Tensor(d.cast(shift, "float32", "uint8"), "uint8")]
