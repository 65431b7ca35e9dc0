"""The operators that compute an element from many: products, windows, reductions. See operators.py."""

import itertools
import math

import numpy

from operators import OPERATORS, IllTyped, Tensor, broadcast, operator, require, require_class


@operator("matmul")
def matmul(d, x, a):
    require_class(x[0], "numeric")
    require(x[0].type == x[1].type and min(x[0].rank, x[1].rank) >= 1, "operands of one type and at least 1 dimension")
    left, right = x[0].values, x[1].values
    left = left.reshape((1,) + left.shape) if left.ndim == 1 else left
    right = right.reshape(right.shape + (1,)) if right.ndim == 1 else right
    require(left.shape[-1] == right.shape[-2], "equal inner dimensions")
    broadcast(left.shape[:-2], right.shape[:-2])
    result = d.sum(d.weighted(left[..., :, :, None], right[..., None, :, :]), -2)
    if x[0].rank == 1:
        result = result[..., 0, :]
    return [Tensor(result[..., 0] if x[1].rank == 1 else result, x[0].type)]


def window_sizes(x, kernel, a, ceil_mode=0):
    """How many windows each spatial dimension has."""
    count = x.rank - 2
    require(3 <= x.rank <= 5, "3 to 5 dimensions")
    require(len(kernel) == len(a["strides"]) == len(a["dilations"]) == count and len(a["pads"]) == 2 * count, "an element for each dimension")
    require(min(kernel) >= 1 and min(a["strides"]) >= 1 and min(a["dilations"]) >= 1 and min(a["pads"]) >= 0, "a window")
    sizes = []
    for k in range(count):
        padded = x.shape[k + 2] + a["pads"][k] + a["pads"][k + count]
        slack = padded - a["dilations"][k] * (kernel[k] - 1) - 1
        require(slack >= 0, "a padded input that covers the window")
        size = slack // a["strides"][k] + 1
        if ceil_mode:  # no window starts behind the input and the begin of its padding
            size = -(-slack // a["strides"][k]) + 1
            if (size - 1) * a["strides"][k] >= x.shape[k + 2] + a["pads"][k]:
                size -= 1
        sizes.append(size)
    return sizes


def windows(values, kernel, a, sizes, fill):
    """For each place in the kernel: the place, and the elements that all windows have there, `fill` outside of the input."""
    count = values.ndim - 2
    widths = [(0, 0), (0, 0)]
    for k in range(count):
        reach = (sizes[k] - 1) * a["strides"][k] + a["dilations"][k] * (kernel[k] - 1) + 1
        widths.append((a["pads"][k], max(0, reach - a["pads"][k] - values.shape[k + 2])))
    padded = numpy.pad(values, widths, constant_values=fill)
    for place in itertools.product(*(range(k) for k in kernel)):
        index = tuple(slice(p * dil, p * dil + (n - 1) * stride + 1, stride)
                      for p, dil, n, stride in zip(place, a["dilations"], sizes, a["strides"]))
        yield place, padded[(slice(None), slice(None)) + index]


@operator("conv", strides=("strides", 1), dilations=("dilations", 1), pads=("pads", 0), groups=("groups", 1))
def conv(d, x, a):
    require_class(x[0], "floating")
    require(x[0].type == x[1].type and x[0].rank == x[1].rank, "operands of one type and rank")
    groups, w = a["groups"], x[1].values
    require(x[0].rank >= 3 and groups >= 1 and x[0].shape[1] == groups * w.shape[1] and w.shape[0] % groups == 0, "groups")
    kernel = list(w.shape[2:])
    sizes = window_sizes(x[0], kernel, a)
    n, inner, outer = x[0].shape[0], w.shape[1], w.shape[0] // groups
    terms = []
    for place, part in windows(x[0].values, kernel, a, sizes, d.number(0, x[0].type)):
        part = part.reshape([n, groups, 1, inner] + sizes)
        weight = w[(slice(None), slice(None)) + place].reshape([1, groups, outer, inner] + [1] * len(kernel))
        terms.append(d.weighted(part, weight))
    total = d.sum(numpy.concatenate(terms, axis=3), 3)
    if any(a["pads"]):
        d.padded(total)
    return [Tensor(total.reshape([n, groups * outer] + sizes), x[0].type)]


@operator("conv_transpose", strides=("strides", 1), dilations=("dilations", 1), pads=("pads", 0), output_padding=("output_padding", 0),
          groups=("groups", 1))
def conv_transpose(d, x, a):
    require_class(x[0], "floating")
    require(x[0].type == x[1].type and x[0].rank == x[1].rank and 3 <= x[0].rank <= 5, "operands of one type and rank")
    groups, w, count = a["groups"], x[1].values, x[0].rank - 2
    require(groups >= 1 and x[0].shape[1] == w.shape[0] and w.shape[0] % groups == 0, "groups")
    require(min(a["strides"] + a["dilations"]) >= 1 and min(a["pads"] + a["output_padding"]) >= 0, "a window")
    require(len(a["strides"]) == len(a["dilations"]) == len(a["output_padding"]) == count and len(a["pads"]) == 2 * count, "lists")
    n, inner, outer = x[0].shape[0], w.shape[0] // groups, w.shape[1]
    kernel, spatial = w.shape[2:], x[0].shape[2:]
    full = [(spatial[k] - 1) * a["strides"][k] + a["dilations"][k] * (kernel[k] - 1) + 1 + a["output_padding"][k] for k in range(count)]
    sizes = [full[k] - a["pads"][k] - a["pads"][k + count] for k in range(count)]
    require(min(sizes) >= 0, "pads that leave a size")
    values = x[0].values.reshape([n, groups, 1, inner] + list(spatial))
    zero = d.number(0, x[0].type)
    total = numpy.full([n, groups, outer] + full, zero, dtype=w.dtype)
    for place in itertools.product(*(range(k) for k in kernel)):
        weight = w[(slice(None), slice(None)) + place].reshape(groups, inner, outer).transpose(0, 2, 1)
        part = d.sum(d.weighted(values, weight.reshape([1, groups, outer, inner] + [1] * count)), 3)
        index = tuple(slice(p * dil, p * dil + (m - 1) * stride + 1, stride)
                      for p, dil, m, stride in zip(place, a["dilations"], spatial, a["strides"]))
        index = (slice(None), slice(None), slice(None)) + index
        total[index] = d.add(total[index], part)
    d.padded(total)
    kept = tuple(slice(a["pads"][k], a["pads"][k] + sizes[k]) for k in range(count))
    return [Tensor(total.reshape([n, groups * outer] + full)[(slice(None), slice(None)) + kept], x[0].type)]


def inside(x, kernel, a, sizes, around):
    """Of each place in the kernel, which windows have it inside of the input, or of the input and `around` it (begin, end)."""
    ones = numpy.ones((1, 1) + x.shape[2:], dtype=bool)
    count = x.rank - 2
    if around:
        ones = numpy.pad(ones, [(0, 0), (0, 0)] + [(a["pads"][k], a["pads"][k + count]) for k in range(count)], constant_values=True)
        a = dict(a, pads=[0] * (2 * count))
    return [part for _, part in windows(ones, kernel, a, sizes, False)]


@operator("max_pool", strides=("strides", 1), dilations=("dilations", 1), pads=("pads", 0), kernel="kernel", ceil_mode=("flag", 0))
def max_pool(d, x, a):
    require_class(x[0], "numeric")
    sizes = window_sizes(x[0], a["kernel"], a, a["ceil_mode"])
    zero = d.number(0, x[0].type)
    parts = [part for _, part in windows(x[0].values, a["kernel"], a, sizes, zero)]
    known = inside(x[0], a["kernel"], a, sizes, False)
    result, found = parts[0], numpy.broadcast_to(known[0], parts[0].shape)
    for part, here in zip(parts[1:], known[1:]):
        here = numpy.broadcast_to(here, part.shape)
        both = d.window_maximum(numpy.where(found, result, part), part)
        result = numpy.where(here, both, result)
        found = found | here
    return [Tensor(d.known(result, found), x[0].type)]


@operator("average_pool", strides=("strides", 1), dilations=("dilations", 1), pads=("pads", 0), kernel="kernel", ceil_mode=("flag", 0),
          count_include_pad=("flag", 0))
def average_pool(d, x, a):
    require_class(x[0], "floating")
    sizes = window_sizes(x[0], a["kernel"], a, a["ceil_mode"])
    parts = [part for _, part in windows(x[0].values, a["kernel"], a, sizes, d.number(0, x[0].type))]
    total = d.sum(numpy.stack(parts), 0)
    if any(a["pads"]):
        d.padded(total)
    counted = sum(part.astype(numpy.int64) for part in inside(x[0], a["kernel"], a, sizes, a["count_include_pad"]))
    counted = counted.astype(d.dtype_of(x[0].type))
    return [Tensor(d.div(total, counted), x[0].type)]


def reduction(name, kind, function):
    @operator(name, axes="axes", keep_dims=("flag", 1))
    def apply(d, x, a):
        require_class(x[0], kind)
        kept = [k for k in range(x[0].rank) if k not in a["axes"]]
        shape = [1 if k in a["axes"] else x[0].shape[k] for k in range(x[0].rank)]
        flat = x[0].values.transpose(sorted(a["axes"]) + kept).reshape([-1] + [x[0].shape[k] for k in kept])
        count = math.prod(x[0].shape[k] for k in a["axes"])
        result = function(d, flat.reshape([count] + [x[0].shape[k] for k in kept]), x[0].type)
        return [Tensor(result.reshape(shape) if a["keep_dims"] else result, x[0].type)]
    return apply


def mean(d, flat, data_type):
    function = d.div if data_type in ("float16", "bfloat16", "float32", "float64") else d.integer_div
    return function(d.sum(flat, 0), d.number(len(flat), data_type))


def maximum(d, flat, data_type):
    if len(flat) == 0:
        raise IllTyped("an element")
    return d.largest(flat, 0)


def minimum(d, flat, data_type):
    if data_type == "bool":
        return d.logical_not(maximum(d, d.logical_not(flat), data_type))
    return d.neg(maximum(d, d.neg(flat), data_type))


reduction("reduce_sum", "numeric", lambda d, flat, t: d.sum(flat, 0))
reduction("reduce_mean", "numeric", mean)
reduction("reduce_max", "numeric_or_boolean", maximum)
reduction("reduce_min", "numeric_or_boolean", minimum)
reduction("reduce_l2", "floating", lambda d, flat, t: d.sqrt(d.sum(d.mul(flat, flat), 0)))


@operator("softmax", axis=("axis", -1))
def softmax(d, x, a):
    require_class(x[0], "floating")
    return [Tensor(d.softmax(x[0].values, a["axis"]), x[0].type)]


@operator("log_softmax", axis=("axis", -1))
def log_softmax(d, x, a):
    require_class(x[0], "floating")
    return [Tensor(d.log_softmax(x[0].values, a["axis"]), x[0].type)]


@operator("cumsum", axis="axis", exclusive=("flag", 0), reverse=("flag", 0))
def cumsum(d, x, a):
    require_class(x[0], "numeric")
    values = numpy.moveaxis(x[0].values, a["axis"], 0)
    values = values[::-1] if a["reverse"] else values
    total = numpy.full(values.shape[1:], d.number(0, x[0].type), dtype=values.dtype)
    rows = []
    for k, row in enumerate(values):
        before, total = total, row if k == 0 else d.add(total, row)
        rows.append(before if a["exclusive"] else total)
    result = numpy.stack(rows) if rows else values
    return [Tensor(numpy.moveaxis(result[::-1] if a["reverse"] else result, 0, a["axis"]), x[0].type)]


__all__ = ["OPERATORS"]
