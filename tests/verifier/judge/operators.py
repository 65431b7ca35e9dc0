"""What each operator of the rule language computes: written from the documentation of ONNX's operators, on arrays.

An operator is a function of a domain (exact.Exact, floats.Floats), its operands and its attributes; it gives its outputs or raises
IllTyped. OPERATORS maps names to these functions, ATTRIBUTES to the kinds and defaults of their attributes."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy

from exact import INTEGERS

# The index nearest to a position u.
ROUNDINGS = {"floor": math.floor, "ceil": math.ceil, "round_prefer_floor": lambda u: math.ceil(u - Fraction(1, 2)),
             "round_prefer_ceil": lambda u: math.floor(u + Fraction(1, 2))}
FLOATING = ("float16", "bfloat16", "float32", "float64")
REQUIRED = object()


class IllTyped(Exception):
    """Operands or attributes that the operator does not take."""


class Unsupported(Exception):
    """An operator that this judge does not know."""


@dataclass
class Tensor:
    values: numpy.ndarray
    type: str

    @property
    def shape(self):
        return self.values.shape

    @property
    def rank(self):
        return self.values.ndim


OPERATORS, ATTRIBUTES, POINTWISE = {}, {}, set()


def operator(name, pointwise=False, **attributes):
    """Registers an operator; an attribute is given as its kind, or as (kind, default)."""
    def register(function):
        OPERATORS[name] = function
        ATTRIBUTES[name] = {k: v if isinstance(v, tuple) else (v, REQUIRED) for k, v in attributes.items()}
        if pointwise:
            POINTWISE.add(name)
        return function
    return register


def require(holds, what):
    if not holds:
        raise IllTyped(what)


def require_class(x, kind):
    numeric = x.type in FLOATING or x.type in INTEGERS
    holds = {"floating": x.type in FLOATING, "numeric": numeric, "integer": x.type in INTEGERS, "boolean": x.type == "bool",
             "any": True, "numeric_or_boolean": numeric or x.type == "bool"}[kind]
    require(holds, f"a {kind} operand, not {x.type}")


def broadcast(*shapes):
    try:
        return numpy.broadcast_shapes(*shapes)
    except ValueError as error:
        raise IllTyped("shapes that broadcast") from error


def elementwise(name, kind, function, result=None, **attributes):
    """`function` of the domain, the arrays and the attributes, element by element."""
    @operator(name, pointwise=True, **attributes)
    def apply(d, x, a):
        for operand in x:
            require_class(operand, kind)
            require(operand.type == x[0].type, "operands of one type")
        broadcast(*(o.shape for o in x))
        return [Tensor(function(d, *(o.values for o in x), **a), result or x[0].type)]
    return apply


elementwise("add", "numeric", lambda d, a, b: d.add(a, b))
elementwise("sub", "numeric", lambda d, a, b: d.sub(a, b))
elementwise("mul", "numeric", lambda d, a, b: d.mul(a, b))
elementwise("neg", "numeric", lambda d, a: d.neg(a))
elementwise("abs", "numeric", lambda d, a: d.abs(a))
elementwise("relu", "numeric", lambda d, a: d.relu(a))
elementwise("sign", "numeric", lambda d, a: d.sign(a))
elementwise("maximum", "numeric", lambda d, a, b: d.maximum(a, b))
elementwise("minimum", "numeric", lambda d, a, b: d.minimum(a, b))
for unary in ("sqrt", "exp", "log", "sin", "cos", "tanh", "erf", "sigmoid", "softplus", "floor", "ceil", "round"):
    elementwise(unary, "floating", lambda d, a, unary=unary: getattr(d, unary)(a))
elementwise("identity", "any", lambda d, a: a)
elementwise("dropout", "floating", lambda d, a: a)
elementwise("is_nan", "floating", lambda d, a: d.is_nan(a), "bool")
elementwise("less", "numeric", lambda d, a, b: d.less(a, b), "bool")
elementwise("greater", "numeric", lambda d, a, b: d.less(b, a), "bool")
elementwise("less_equal", "numeric", lambda d, a, b: d.less_equal(a, b), "bool")
elementwise("greater_equal", "numeric", lambda d, a, b: d.less_equal(b, a), "bool")
elementwise("equal", "numeric_or_boolean", lambda d, a, b: d.equal(a, b), "bool")
elementwise("and", "boolean", lambda d, a, b: d.logical_and(a, b))
elementwise("or", "boolean", lambda d, a, b: d.logical_or(a, b))
elementwise("xor", "boolean", lambda d, a, b: d.logical_xor(a, b))
elementwise("not", "boolean", lambda d, a: d.logical_not(a))


@operator("reciprocal", pointwise=True)
def reciprocal(d, x, a):
    require_class(x[0], "floating")
    return [Tensor(d.div(d.number(1, x[0].type), x[0].values), x[0].type)]


@operator("div", pointwise=True)
def div(d, x, a):
    require_class(x[0], "numeric")
    require(x[0].type == x[1].type, "operands of one type")
    broadcast(x[0].shape, x[1].shape)
    function = d.integer_div if x[0].type in INTEGERS else d.div
    return [Tensor(function(x[0].values, x[1].values), x[0].type)]


@operator("mod", pointwise=True, fmod=("flag", 0))
def mod(d, x, a):
    require_class(x[0], "numeric")
    require(x[0].type == x[1].type, "operands of one type")
    broadcast(x[0].shape, x[1].shape)
    return [Tensor((d.remainder if a["fmod"] else d.modulo)(x[0].values, x[1].values), x[0].type)]


@operator("pow", pointwise=True)
def power(d, x, a):
    for operand in x:
        require_class(operand, "numeric")
    broadcast(x[0].shape, x[1].shape)
    result = d.pow(x[0].values, x[1].values)
    return [Tensor(d.cast(result, "float64", x[0].type) if x[0].type in INTEGERS else result, x[0].type)]


def piecewise(name, below, **attributes):
    """x where it is not negative, else below(domain, x, ...)."""
    @operator(name, pointwise=True, **attributes)
    def apply(d, x, a):
        require_class(x[0], "floating" if attributes else "numeric")
        broadcast(*(o.shape for o in x))
        numbers = [d.number(v, x[0].type) for v in a.values()] + [o.values for o in x[1:]]
        v = x[0].values
        result = d.choose(d.negative(v), below(d, v, *numbers), v)
        require(len(x) == 1 or result.shape == v.shape, "a slope that broadcasts to x")
        return [Tensor(result, x[0].type)]


piecewise("leaky_relu", lambda d, v, alpha: d.mul(alpha, v), alpha=("real", Fraction(1, 100)))
piecewise("elu", lambda d, v, alpha: d.mul(alpha, d.sub(d.exp(d.minimum(v, d.number(0, "float32"))), d.number(1, "float32"))),
          alpha=("real", Fraction(1)))
piecewise("prelu", lambda d, v, slope: d.mul(slope, v))


@operator("clip", pointwise=True, min=("real", -math.inf), max=("real", math.inf))
def clip(d, x, a):
    require_class(x[0], "numeric")
    return [Tensor(d.clip(x[0].values, a["min"], a["max"], x[0].type), x[0].type)]


@operator("hard_sigmoid", pointwise=True, alpha=("real", Fraction(1, 5)), beta=("real", Fraction(1, 2)))
def hard_sigmoid(d, x, a):
    require_class(x[0], "floating")
    line = d.add(d.mul(d.number(a["alpha"], x[0].type), x[0].values), d.number(a["beta"], x[0].type))
    return [Tensor(d.clip(line, 0, 1, x[0].type), x[0].type)]


@operator("select", pointwise=True)
def select(d, x, a):
    require_class(x[0], "boolean")
    require(x[1].type == x[2].type, "operands of one type")
    broadcast(*(o.shape for o in x))
    return [Tensor(d.choose(x[0].values, x[1].values, x[2].values), x[1].type)]


@operator("cast", pointwise=True, to="type")
def cast(d, x, a):
    require_class(x[0], "numeric_or_boolean")
    return [Tensor(d.cast(x[0].values, x[0].type, a["to"]), a["to"])]


# --- Movement


@operator("concat", axis="axis")
def concat(d, x, a):
    for o in x:
        require(o.type == x[0].type and o.rank == x[0].rank, "operands of one type and rank")
        same = [k for k in range(o.rank) if k != a["axis"]]
        require(all(o.shape[k] == x[0].shape[k] for k in same), "equal dimensions beside the axis")
    return [Tensor(numpy.concatenate([o.values for o in x], axis=a["axis"]), x[0].type)]


@operator("split", axis="axis", sizes="integers")
def split(d, x, a):
    require(a["sizes"] and all(s >= 0 for s in a["sizes"]), "sizes of at least 0")
    require(sum(a["sizes"]) == x[0].shape[a["axis"]], "sizes that sum up to the dimension")
    ends = list(itertools.accumulate(a["sizes"]))[:-1]
    return [Tensor(part, x[0].type) for part in numpy.split(x[0].values, ends, axis=a["axis"])]


@operator("transpose", perm="perm")
def transpose(d, x, a):
    require(sorted(a["perm"]) == list(range(x[0].rank)), "a permutation")
    return [Tensor(x[0].values.transpose(a["perm"]), x[0].type)]


@operator("reshape", shape="shape")
def reshape(d, x, a):
    require(all(s >= 0 for s in a["shape"]) and math.prod(a["shape"]) == x[0].values.size, "as many elements as before")
    return [Tensor(x[0].values.reshape(a["shape"]), x[0].type)]


@operator("expand", shape="wider")
def expand(d, x, a):
    require(all(s >= 0 for s in a["shape"]) and broadcast(x[0].shape, tuple(a["shape"])) == tuple(a["shape"]), "a shape to broadcast to")
    return [Tensor(numpy.broadcast_to(x[0].values, a["shape"]), x[0].type)]


@operator("tile", repeats="repeats")
def tile(d, x, a):
    require(len(a["repeats"]) == x[0].rank and all(r >= 0 for r in a["repeats"]), "a repeat for each dimension")
    return [Tensor(numpy.tile(x[0].values, a["repeats"]), x[0].type)]


@operator("resize", numerators="repeats", denominators="repeats", mode=("word", "nearest"), coordinates=("word", "asymmetric"),
          rounding=("word", "floor"))
def resize(d, x, a):
    require(len(a["numerators"]) == len(a["denominators"]) == x[0].rank, "a scale for each dimension")
    require(all(p >= 1 for p in a["numerators"] + a["denominators"]), "positive scales")
    require(a["mode"] in ("nearest", "linear") and a["rounding"] in ROUNDINGS, "a known mode and rounding")
    if a["mode"] != "nearest" or a["coordinates"] not in ("asymmetric", "half_pixel"):
        raise Unsupported("resize in a mode other than nearest, or with other coordinates")
    result = x[0].values
    for k, (p, q) in enumerate(zip(a["numerators"], a["denominators"])):
        half = Fraction(1, 2) if a["coordinates"] == "half_pixel" else 0
        places = [ROUNDINGS[a["rounding"]]((i + half) * Fraction(q, p) - half) for i in range(x[0].shape[k] * p // q)]
        result = numpy.take(result, [min(max(at, 0), x[0].shape[k] - 1) for at in places], axis=k)
    return [Tensor(result, x[0].type)]


@operator("slice", starts="starts", sizes="slice_sizes", steps="steps")
def slice_of(d, x, a):
    parts = [a["starts"], a["sizes"], a["steps"]]
    require(all(len(p) == x[0].rank for p in parts), "an element for each dimension")
    index = []
    for start, size, step, dim in zip(*parts, x[0].shape):
        require(step != 0 and size >= 0, "steps other than 0 and sizes of at least 0")
        last = start + step * (size - 1)
        require(size == 0 or (0 <= start < dim and 0 <= last < dim), "a slice inside of the tensor")
        index.append(numpy.arange(size) * step + start)
    return [Tensor(x[0].values[numpy.ix_(*index)] if index else x[0].values, x[0].type)]


@operator("pad", begins="pad_sizes", ends="pad_sizes", mode=("word", "constant"), value=("real", 0))
def pad(d, x, a):
    require(len(a["begins"]) == len(a["ends"]) == x[0].rank and all(p >= 0 for p in a["begins"] + a["ends"]), "pads of at least 0")
    widths = list(zip(a["begins"], a["ends"]))
    if a["mode"] == "constant":
        result = numpy.full([b + n + e for n, (b, e) in zip(x[0].shape, widths)], d.number(a["value"], x[0].type), dtype=x[0].values.dtype)
        result[tuple(slice(b, b + n) for n, (b, _) in zip(x[0].shape, widths))] = x[0].values
        return [Tensor(result, x[0].type)]
    require(a["mode"] in ("edge", "reflect", "wrap"), "a known mode")
    if a["mode"] == "reflect":
        require(all(max(w) < n for n, w in zip(x[0].shape, widths)), "fewer reflected elements than there are")
    return [Tensor(numpy.pad(x[0].values, widths, mode=a["mode"]), x[0].type)]


@operator("depth_to_space", block="block", order=("word", "depth_first"))
def depth_to_space(d, x, a):
    b = a["block"]
    require(x[0].rank == 4 and b >= 1 and x[0].shape[1] % (b * b) == 0, "channels that block * block divides")
    require(a["order"] in ("depth_first", "column_first"), "a known order")
    n, c, h, w = x[0].shape
    c //= b * b
    if a["order"] == "depth_first":
        result = x[0].values.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        result = x[0].values.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return [Tensor(result.reshape(n, c, h * b, w * b), x[0].type)]


@operator("space_to_depth", block="block")
def space_to_depth(d, x, a):
    b = a["block"]
    require(x[0].rank == 4 and b >= 1 and x[0].shape[2] % b == 0 and x[0].shape[3] % b == 0, "a size that the block divides")
    n, c, h, w = x[0].shape
    result = x[0].values.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return [Tensor(result.reshape(n, c * b * b, h // b, w // b), x[0].type)]


@operator("trilu", diagonal=("diagonal", 0), upper=("flag", 1))
def trilu(d, x, a):
    require_class(x[0], "numeric_or_boolean")
    require(x[0].rank >= 2, "at least 2 dimensions")
    rows, columns = numpy.indices(x[0].shape[-2:])
    kept = columns - rows >= a["diagonal"] if a["upper"] else columns - rows <= a["diagonal"]
    zero = numpy.full(x[0].shape, d.number(0, x[0].type), dtype=x[0].values.dtype)
    return [Tensor(numpy.where(kept, x[0].values, zero), x[0].type)]


def picked(d, x, positions, dim, axis_values):
    """axis_values at positions, which may count from the end; nothing is known where they are out of range."""
    index, known = d.whole(positions)
    known = known & (index >= -dim) & (index < dim)
    return numpy.where(known, index % max(dim, 1), 0), known


@operator("gather", axis=("axis", 0))
def gather(d, x, a):
    require_class(x[1], "integer")
    axis, dim = a["axis"], x[0].shape[a["axis"]]
    index, known = picked(d, x, x[1].values, dim, None)
    if dim == 0:
        raise IllTyped("a dimension to gather from")
    result = numpy.take(x[0].values, index, axis=axis)
    around = known.reshape((1,) * axis + known.shape + (1,) * (x[0].rank - axis - 1))
    return [Tensor(d.inside(result, around), x[0].type)]


@operator("gather_elements", axis=("axis", 0))
def gather_elements(d, x, a):
    require_class(x[1], "integer")
    axis = a["axis"]
    require(x[0].rank == x[1].rank, "operands of one rank")
    require(all(x[0].shape[k] >= x[1].shape[k] for k in range(x[0].rank) if k != axis), "dimensions that do not exceed those of x")
    index, known = picked(d, x, x[1].values, x[0].shape[axis], None)
    place = list(numpy.indices(x[1].shape))
    place[axis] = index
    return [Tensor(d.inside(x[0].values[tuple(place)], known), x[0].type)]


@operator("gather_nd", batch=("batch", 0))
def gather_nd(d, x, a):
    require_class(x[1], "integer")
    batch, shape, indices = a["batch"], x[0].shape, x[1].shape
    require(0 <= batch < len(indices) and 1 <= indices[-1] <= len(shape) - batch, "indices that name dimensions of x")
    require(shape[:batch] == indices[:batch], "equal batch dimensions")
    place = [p.reshape(indices[:-1]) for p in numpy.indices(indices[:-1])[:batch]]
    known = numpy.ones(indices[:-1], dtype=bool)
    for k in range(indices[-1]):
        index, inside = picked(d, x, x[1].values[..., k], shape[batch + k], None)
        known = known & inside
        place.append(index)
    result = x[0].values[tuple(place)]
    return [Tensor(d.inside(result, known.reshape(known.shape + (1,) * (result.ndim - known.ndim))), x[0].type)]


# --- Constants


def constant(d, shape, value, data_type):
    require(all(s >= 0 for s in shape), "dimensions of at least 0")
    return Tensor(numpy.full(tuple(shape), d.number(value, data_type), dtype=d.dtype_of(data_type)), data_type)


def whole_numbers(d, values, data_type):
    return Tensor(numpy.array(values).astype(object if d.dtype is object else d.dtype_of(data_type)), data_type)


@operator("full", value="real", shape="shape", data_type=("type", None))
def full(d, x, a):
    return [constant(d, a["shape"], a["value"], a["data_type"])]


@operator("zeros", shape="shape", data_type=("type", None))
def zeros(d, x, a):
    return [constant(d, a["shape"], 0, a["data_type"])]


@operator("ones", shape="shape", data_type=("type", None))
def ones(d, x, a):
    return [constant(d, a["shape"], 1, a["data_type"])]


@operator("identity_matrix", size="size", data_type=("type", None))
def identity_matrix(d, x, a):
    require(a["size"] >= 0, "a size of at least 0")
    return [whole_numbers(d, numpy.eye(a["size"], dtype=numpy.int64), a["data_type"])]


@operator("identity_kernel", channels="size", kernel="kernel", groups=("groups", 1), data_type=("type", None))
def identity_kernel(d, x, a):
    groups, channels = a["groups"], a["channels"]
    require(groups >= 1 and channels % groups == 0 and all(k >= 1 for k in a["kernel"]), "groups that divide the channels")
    inner = channels // groups
    result = numpy.zeros([channels, inner] + a["kernel"], dtype=numpy.int64)
    for c in range(channels):
        result[(c, c % inner) + tuple((k - 1) // 2 for k in a["kernel"])] = 1
    return [whole_numbers(d, result, a["data_type"])]


@operator("iota", shape="shape", axis=("integer", 0), data_type=("type", "int64"))
def iota(d, x, a):
    require(0 <= a["axis"] < len(a["shape"]) and all(s >= 0 for s in a["shape"]), "an axis of the shape")
    return [whole_numbers(d, numpy.indices(a["shape"])[a["axis"]], a["data_type"])]


@operator("range", start=("integer", 0), step=("integer", 1), size="size", data_type=("type", None))
def range_of(d, x, a):
    require(a["size"] >= 0, "a size of at least 0")
    return [whole_numbers(d, numpy.arange(a["size"]) * a["step"] + a["start"], a["data_type"])]


@operator("shape", start="integer", end="integer")
def shape_of(d, x, a):
    require(0 <= a["start"] <= a["end"] <= x[0].rank, "a range of dimensions")
    return [whole_numbers(d, numpy.array(x[0].shape[a["start"]:a["end"]], dtype=numpy.int64), "int64")]


@operator("size")
def size_of(d, x, a):
    return [whole_numbers(d, numpy.array(x[0].values.size), "int64")]


@operator("one_hot", axis="integer", depth="size", on=("real", 1), off=("real", 0), data_type=("type", "float32"))
def one_hot(d, x, a):
    require_class(x[0], "integer")
    require(0 <= a["axis"] <= x[0].rank and a["depth"] >= 0, "an axis and a depth")
    index, known = d.whole(x[0].values)
    depth, axis = a["depth"], a["axis"]
    index = numpy.expand_dims(numpy.where(index < 0, index + depth, index), axis)
    place = numpy.arange(depth).reshape((1,) * axis + (depth,) + (1,) * (x[0].rank - axis))
    on, off = (constant(d, (), a[key], a["data_type"]).values for key in ("on", "off"))
    result = numpy.where(index == place, on, off)
    return [Tensor(d.known(result, numpy.expand_dims(known, axis)), a["data_type"])]
