"""Draws random valid ONNX models: random_model(seed) gives one with its inputs.

A model is made of steps, each of which adds a few nodes that read values which are there already. Sizes of all values are known while it is
drawn, but what the model declares of them is a choice: a number, the name of a size, a name that says nothing (unk__7), or nothing.

What a step computes from `exact` values has the same bits however it is computed; only these go where rounding could change a decision (an
order, a quantised number, a size). Numbers stay small, so that results are finite.
"""

import dataclasses

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, HALF, INT64, INT32, BOOL = (
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL,
)
INT8, UINT8 = TensorProto.INT8, TensorProto.UINT8
OPSETS = [13, 15, 17, 18, 21]
FUNCTIONS = "random.functions"
MOST_ELEMENTS = 4096
STEPS = []


class Redraw(Exception):
    """There is nothing that the step could read."""


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    shape: tuple  # of numbers; None where only running the model tells
    kind: int = FLOAT
    exact: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def count(self):
        return int(numpy.prod([1 if d is None else d for d in self.shape], dtype=numpy.int64))

    @property
    def known(self):
        return None not in self.shape


def step(weight):
    def register(function):
        STEPS.append((function, weight))
        return function

    return register


class Model:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.opset = int(self.choose(OPSETS))
        self.nodes, self.weights, self.inputs, self.feeds, self.infos, self.functions = [], [], [], {}, [], {}
        self.values, self.serial, self.names = [], 0, {}
        self.external = self.chance(0.05)

    # --- Choices --------------------------------------------------------------------------------------------------------------------

    def choose(self, things):
        return things[int(self.random.integers(len(things)))]

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def integer(self, low, high):
        """Both included."""
        return int(self.random.integers(low, high + 1))

    def pick(self, kind=FLOAT, rank=None, known=True, exact=False, least=1, where=None):
        """A value that is there; late ones are likelier."""
        fitting = [v for v in self.values if v.kind == kind and (rank is None or v.rank == rank) and v.rank >= least
                   and (v.known or not known) and (v.exact or not exact) and (where is None or where(v))]
        if not fitting:
            raise Redraw
        return fitting[max(self.integer(0, len(fitting) - 1), self.integer(0, len(fitting) - 1))]

    # --- Parts ----------------------------------------------------------------------------------------------------------------------

    def name(self, hint):
        self.serial += 1
        return f"{hint}_{self.serial}"

    def node(self, op, inputs, shapes, kind=None, exact=False, domain="", **attributes):
        """Adds a node; its output as a value, or its outputs where `kind` is a list."""
        several = isinstance(kind, list)
        kinds = kind if several else [kind or FLOAT]
        names = [self.name(op.lower()) for _ in kinds]
        reads = [v.name if isinstance(v, Value) else v for v in inputs]
        title = names[0] if self.chance(0.8) else ""
        self.nodes.append(helper.make_node(op, reads, names, name=title, domain=domain, **attributes))
        outputs = [Value(n, tuple(s), k, exact) for n, s, k in zip(names, shapes if several else [shapes], kinds)]
        for value in outputs:
            if value.count > MOST_ELEMENTS:
                raise Redraw
            if self.chance(0.3):
                self.declare(value)
        self.values += outputs
        return outputs if several else outputs[0]

    def weight(self, array, kind=None):
        """A constant: an initializer, or the output of a Constant."""
        array = numpy.asarray(array)
        name = self.name("w")
        value = Value(name, array.shape, kind or helper.np_dtype_to_tensor_dtype(array.dtype), True)
        tensor = numpy_helper.from_array(array, name)
        if self.chance(0.15):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.weights.append(tensor)
        return value

    def normal(self, shape, scale=0.5):
        return self.weight(self.random.normal(0, scale, shape).astype(numpy.float32))

    def integers(self, numbers):
        return self.weight(numpy.array(numbers, numpy.int64))

    def dims_of(self, shape, numbers):
        """What is declared of a shape: sizes as numbers with that probability, else by a name or not at all."""
        dims = []
        for size in shape:
            if size is not None and self.chance(numbers):
                dims.append(size)
            elif size is not None and self.chance(0.5):
                dims.append(self.names.setdefault(size, f"{self.choose(['N', 'length', 'd'])}{len(self.names)}"))
            else:
                dims.append(f"unk__{self.integer(0, 999)}_{self.serial}" if self.chance(0.6) else None)
        return dims

    def declare(self, value):
        self.infos.append(helper.make_tensor_value_info(value.name, value.kind, self.dims_of(value.shape, 0.6)))

    def input(self, shape, kind=FLOAT):
        name = self.name("x")
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        if kind == BOOL:
            array = numpy.asarray(self.random.random(shape) < 0.5)
        elif kind in (INT64, INT32):
            array = self.random.integers(-4, 5, shape).astype(dtype)
        else:
            array = self.random.normal(0, 1, shape).astype(dtype)
        value = Value(name, tuple(shape), kind, True)
        # An open size is never taken to be 0 (docs/onnx.md).
        numbers = 1 if 0 in shape else self.choose([0, 0.5, 1, 1])
        self.inputs.append(helper.make_tensor_value_info(name, kind, self.dims_of(shape, numbers)))
        self.feeds[name] = array
        self.values.append(value)
        if self.chance(0.05):  # a default, which the caller gives again or not
            self.weights.append(numpy_helper.from_array(array, name))
            if self.chance(0.5):
                del self.feeds[name]
        return value

    # --- The whole ------------------------------------------------------------------------------------------------------------------

    def draw(self):
        for _ in range(self.integer(1, 3)):
            rank = self.choose([1, 2, 2, 3, 3, 4, 4])
            shape = [self.choose([1, 2, 3, 4, 5, 8]) for _ in range(rank)]
            if rank == 4:
                shape[2:] = [self.choose([4, 6, 8])] * 2
            if self.chance(0.03):
                shape[self.integer(0, rank - 1)] = 0
            self.input(shape)
        if self.chance(0.3):
            self.input([self.integer(1, 4)], INT64)
        steps, weights = zip(*STEPS)
        probabilities = numpy.array(weights, float) / sum(weights)
        count, tries = self.integer(3, 14), 0
        while count > 0 and tries < 200:
            tries += 1
            kept = len(self.nodes), len(self.weights), len(self.values), len(self.infos)
            try:
                steps[int(self.random.choice(len(steps), p=probabilities))](self)
                count -= 1
            except Redraw:
                for things, length in zip([self.nodes, self.weights, self.values, self.infos], kept):
                    del things[length:]
        return self.finish()

    def finish(self):
        read = {name for node in self.nodes for name in node.input}
        ends = [v for v in self.values if v.name not in read] or self.values[-1:]
        outputs = [v for v in ends if self.chance(0.9)] or ends[-1:]  # what is left over is dead
        outputs += [v for v in self.values if v not in outputs and self.chance(0.05)]  # also inputs, and what others read
        if self.chance(0.05):  # one value under two names
            value = self.choose(outputs)
            outputs.append(self.node("Identity", [value], value.shape, value.kind))
        if self.weights and self.chance(0.05):
            tensor = self.choose(self.weights)
            if tensor.name not in {v.name for v in outputs}:
                outputs.append(Value(tensor.name, tuple(tensor.dims), tensor.data_type))
        shown = {v.name for v in outputs}
        infos = [info for info in self.infos if info.name not in shown]
        graph = helper.make_graph(
            self.nodes, "random", self.inputs,
            [helper.make_tensor_value_info(v.name, v.kind, self.dims_of(v.shape, 0.5)) for v in outputs],
            initializer=self.weights, value_info=infos, doc_string="Drawn at random.",
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if self.functions:
            opsets.append(helper.make_opsetid(FUNCTIONS, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(self.functions.values()))
        helper.set_model_props(model, {"author": "nobody"})
        return model


def broadcast_of(model, shape):
    """A shape that broadcasts to this one."""
    small = [1 if model.chance(0.3) else size for size in shape]
    return small[model.integer(0, len(small)):] if model.chance(0.3) else small


def other_axis(model, value):
    return model.integer(0, value.rank - 1)


# --- Elementwise ----------------------------------------------------------------------------------------------------------------------


@step(6)
def unary(m):
    x = m.pick(known=False)
    op = m.choose(["Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Erf", "Identity", "LeakyRelu", "Softplus", "Elu", "HardSigmoid", "Dropout"])
    m.node(op, [x], x.shape, exact=x.exact and op in ("Relu", "Neg", "Abs", "Identity", "Dropout"))


@step(2)
def square_root(m):
    x = m.pick(known=False)
    one = m.weight(numpy.float32(m.choose([0.5, 1, 2])))
    m.node(m.choose(["Sqrt", "Log", "Reciprocal"]), [m.node("Add", [m.node("Abs", [x], x.shape), one], x.shape)], x.shape)


@step(5)
def with_constant(m):
    x = m.pick(known=False)
    op = m.choose(["Add", "Mul", "Sub", "Div", "Max", "Min", "Add", "Mul"])
    shape = broadcast_of(m, x.shape) if x.known else []
    c = m.normal(shape) if op != "Div" else m.weight((m.random.uniform(0.5, 2, shape) * m.choose([1, -1])).astype(numpy.float32))
    if m.chance(0.1):
        c = m.weight(numpy.full(shape, m.choose([0, 1, -1]), numpy.float32)) if op != "Div" else m.weight(numpy.float32(1))
    pair = [x, c] if op == "Div" or m.chance(0.7) else [c, x]
    m.node(op, pair, x.shape, exact=x.exact and op in ("Max", "Min"))


@step(5)
def binary(m):
    x = m.pick()
    fits = lambda v: v.known and broadcasts(v.shape, x.shape)
    y = m.pick(where=fits, least=0)
    op = m.choose(["Add", "Mul", "Sub", "Max", "Min"])
    shape = numpy.broadcast_shapes(x.shape, y.shape)
    m.node(op, [x, y] if m.chance(0.5) else [y, x], shape, exact=x.exact and y.exact and op in ("Max", "Min"))


def broadcasts(a, b):
    try:
        numpy.broadcast_shapes(a, b)
        return True
    except ValueError:
        return False


@step(2)
def clip(m):
    x = m.pick(known=False)
    low, high = m.weight(numpy.float32(m.choose([-1, 0]))), m.weight(numpy.float32(m.choose([1, 3, 6])))
    m.node("Clip", [x, low, high], x.shape, exact=x.exact)


@step(2)
def hard_swish(m):
    x = m.pick()
    three, zero, six = (m.weight(numpy.float32(c)) for c in [3, 0, 6])
    y = m.node("Clip", [m.node("Add", [x, three], x.shape), zero, six], x.shape)
    m.node("Div", [m.node("Mul", [x, y], x.shape), six], x.shape)


@step(2)
def casts(m):
    x = m.pick(exact=True)
    y = m.node("Cast", [x], x.shape, DOUBLE, exact=True, to=DOUBLE)
    if m.chance(0.5):
        y = m.node(m.choose(["Neg", "Abs"]), [y], x.shape, DOUBLE, exact=True)
    m.node("Cast", [y], x.shape, exact=True, to=FLOAT)


@step(2)
def choice(m):
    x = m.pick(exact=True)
    zero = m.weight(numpy.float32(0))
    mask = m.node(m.choose(["Greater", "Less"]), [x, zero], x.shape, BOOL, exact=True)
    y = m.pick(where=lambda v: v.shape == x.shape)
    m.node("Where", [mask, y, m.choose([zero, x, y])], x.shape)


@step(1)
def half(m):
    x = m.pick(exact=True)
    y = m.node("Cast", [x], x.shape, HALF, exact=True, to=HALF)
    m.node("Cast", [m.node("Relu", [y], x.shape, HALF, exact=True)], x.shape, exact=True, to=FLOAT)


# --- Products -------------------------------------------------------------------------------------------------------------------------


@step(4)
def product(m):
    x = m.pick(least=2)
    size = m.choose([1, 2, 4, 8])
    y = m.node("MatMul", [x, m.normal([x.shape[-1], size])], [*x.shape[:-1], size])
    if m.chance(0.5):
        m.node("Add", [y, m.normal([size])], y.shape)


@step(4)
def products_of_one_operand(m):
    x = m.pick(least=2)
    size = m.choose([2, 4, 8])
    made = [m.node("MatMul", [x, m.normal([x.shape[-1], size])], [*x.shape[:-1], size]) for _ in range(m.integer(2, 3))]
    if m.chance(0.3):
        m.node("Concat", made, [*x.shape[:-1], size * len(made)], axis=-1)
    elif m.chance(0.5):
        m.node("Add", made[:2], made[0].shape)


@step(2)
def product_of_products(m):
    x = m.pick(rank=2)
    a, b = m.choose([2, 4, 8]), m.choose([1, 2, 4])
    y = m.node("MatMul", [m.normal([x.shape[1], a]), m.normal([a, b])], [x.shape[1], b])
    m.node("MatMul", [x, y], [x.shape[0], b])


@step(2)
def gemm(m):
    x = m.pick(rank=2)
    size, flip = m.choose([1, 3, 8]), m.chance(0.5)
    w = m.normal([size, x.shape[1]] if flip else [x.shape[1], size])
    more = [m.normal(m.choose([[size], [1], [1, size], []]))] if m.chance(0.7) else []
    m.node("Gemm", [x, w, *more], [x.shape[0], size], transB=int(flip), alpha=m.choose([1.0, 0.5]), beta=m.choose([1.0, 2.0]))


@step(2)
def product_with_itself(m):
    x = m.pick(least=2)
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    y = m.node("Transpose", [x], [x.shape[k] for k in order], exact=x.exact, perm=order)
    first, second = (x, y) if m.chance(0.5) else (y, x)
    m.node("MatMul", [first, second], [*x.shape[:-2], first.shape[-2], second.shape[-1]])


@step(5)
def convolution(m):
    x = m.pick(rank=4, where=lambda v: v.shape[1] > 0 and min(v.shape[2:]) >= 3)
    for _ in range(m.integer(1, 2)):
        channels, size = m.choose([2, 4, 8]), m.choose([1, 3])
        depthwise = m.chance(0.2)
        if depthwise:
            channels = x.shape[1]
        kernel = m.normal([channels, 1 if depthwise else x.shape[1], size, size])
        bias = [m.normal([channels])] if m.chance(0.5) else []
        pad = size // 2
        y = m.node("Conv", [x, kernel, *bias], [x.shape[0], channels, *x.shape[2:]], pads=[pad] * 4, group=channels if depthwise else 1)
        if m.chance(0.5):
            scale, shift, mean = m.normal([channels]), m.normal([channels]), m.normal([channels])
            spread = m.weight(m.random.uniform(0.5, 1.5, channels).astype(numpy.float32))
            y = m.node("BatchNormalization", [y, scale, shift, mean, spread], y.shape)
        if m.chance(0.5):
            m.node("Relu", [y], y.shape)


@step(2)
def pool(m):
    x = m.pick(rank=4, where=lambda v: v.shape[1] > 0 and min(v.shape[2:]) >= 4)
    op = m.choose(["MaxPool", "AveragePool", "GlobalAveragePool"])
    if op == "GlobalAveragePool":
        m.node(op, [x], [*x.shape[:2], 1, 1])
    else:
        m.node(op, [x], [*x.shape[:2], *(s // 2 for s in x.shape[2:])], exact=x.exact and op == "MaxPool", kernel_shape=[2, 2], strides=[2, 2])


@step(2)
def normalization(m):
    x = m.pick(where=lambda v: v.shape[-1] > 0)
    if m.opset >= 17 and m.chance(0.5):
        m.node("LayerNormalization", [x, m.normal(x.shape[-1:]), m.normal(x.shape[-1:])], x.shape, axis=-1)
    else:
        m.node(m.choose(["Softmax", "LogSoftmax"]), [x], x.shape, axis=other_axis(m, x) if 0 not in x.shape else -1)


@step(1)
def einsum(m):
    x = m.pick(rank=3)
    m.node("Einsum", [x, m.normal([x.shape[2], 3])], [x.shape[0], x.shape[1], 3], equation="abc,cd->abd")


# --- Movement -------------------------------------------------------------------------------------------------------------------------


@step(4)
def transposes(m):
    x = m.pick(least=2)
    order = [int(k) for k in m.random.permutation(x.rank)]
    y = m.node("Transpose", [x], [x.shape[k] for k in order], exact=x.exact, perm=order)
    if m.chance(0.6):
        if m.chance(0.5):
            y = m.node(m.choose(["Relu", "Tanh", "Abs"]), [y], y.shape)
        back = [order.index(k) for k in range(x.rank)] if m.chance(0.7) else [int(k) for k in m.random.permutation(x.rank)]
        m.node("Transpose", [y], [y.shape[k] for k in back], exact=y.exact, perm=back)


@step(4)
def reshapes(m):
    x = m.pick(where=lambda v: v.count > 0)
    y = x
    for _ in range(m.integer(1, 2)):
        shape = m.choose([[x.count], [1, x.count], [x.count, 1], [*x.shape], [*x.shape, 1], [1, *x.shape]])
        target = list(shape)
        if m.chance(0.4):
            target[m.integer(0, len(target) - 1)] = -1
        y = m.node("Reshape", [y, m.integers(target)], shape, exact=x.exact)


@step(3)
def reshape_by_computed_shape(m):
    x = m.pick(least=2, where=lambda v: v.count > 0)
    shape = m.node("Shape", [x], [x.rank], INT64, exact=True)
    axis = other_axis(m, x)
    one = m.node("Gather", [shape, m.integers([axis])], [1], INT64, exact=True, axis=0)
    target = m.node("Concat", [one, m.integers([-1])], [2], INT64, exact=True, axis=0)
    m.node("Reshape", [x, target], [x.shape[axis], x.count // x.shape[axis]], exact=x.exact)


@step(2)
def sizes(m):
    x = m.pick()
    shape = m.node("Shape", [x], [x.rank], INT64, exact=True)
    scaled = m.node(m.choose(["Add", "Mul"]), [shape, m.integers([2])], [x.rank], INT64, exact=True)
    m.node("Cast", [scaled], [x.rank], exact=True, to=FLOAT)


@step(2)
def expand(m):
    x = m.pick(where=lambda v: v.rank <= 3)
    shape = m.node("Shape", [x], [x.rank], INT64, exact=True)
    target = m.node("Concat", [m.integers([2]), shape], [x.rank + 1], INT64, exact=True, axis=0)
    m.node("Expand", [x, target], [2, *x.shape], exact=x.exact)


@step(3)
def concatenation(m):
    x = m.pick()
    axis = other_axis(m, x)
    alike = lambda v: v.rank == x.rank and all(a == b for k, (a, b) in enumerate(zip(v.shape, x.shape)) if k != axis)
    parts = [x, *(m.pick(where=alike) for _ in range(m.integer(1, 2)))]
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    m.node("Concat", parts, shape, exact=all(p.exact for p in parts), axis=axis - (x.rank if m.chance(0.3) else 0))


@step(3)
def split(m):
    x = m.pick(where=lambda v: max(v.shape) >= 2)
    axis = max(range(x.rank), key=lambda k: x.shape[k])
    first = m.integer(1, x.shape[axis] - 1)
    shapes = [[*x.shape[:axis], n, *x.shape[axis + 1:]] for n in [first, x.shape[axis] - first]]
    parts = m.node("Split", [x, m.integers([first, x.shape[axis] - first])], shapes, [FLOAT, FLOAT], exact=x.exact, axis=axis)
    if m.chance(0.5):
        if m.chance(0.5):
            parts = [m.node("Relu", [p], p.shape, exact=x.exact) for p in parts]
        m.node("Concat", parts if m.chance(0.7) else parts[::-1], x.shape, exact=x.exact, axis=axis)


@step(3)
def window(m):
    x = m.pick(where=lambda v: max(v.shape) >= 2)
    axis = max(range(x.rank), key=lambda k: x.shape[k])
    start = m.integer(0, x.shape[axis] - 1)
    end = m.integer(start if m.chance(0.05) else start + 1, x.shape[axis])  # rarely empty
    shape = [*x.shape[:axis], end - start, *x.shape[axis + 1:]]
    m.node("Slice", [x, m.integers([start]), m.integers([end]), m.integers([axis])], shape, exact=x.exact)


@step(2)
def pad(m):
    x = m.pick()
    pads = [m.integer(0, 2) for _ in range(2 * x.rank)]
    shape = [size + pads[k] + pads[k + x.rank] for k, size in enumerate(x.shape)]
    m.node("Pad", [x, m.integers(pads), m.weight(numpy.float32(m.choose([0, 1])))], shape, exact=x.exact)


@step(2)
def gather(m):
    x = m.pick(where=lambda v: v.shape[0] > 0)
    count = m.integer(1, 3)
    m.node("Gather", [x, m.integers([m.integer(0, x.shape[0] - 1) for _ in range(count)])], [count, *x.shape[1:]], exact=x.exact, axis=0)


@step(2)
def squeezes(m):
    x = m.pick(where=lambda v: v.rank <= 3)
    axis = m.integer(0, x.rank)
    shape = [*x.shape[:axis], 1, *x.shape[axis:]]
    y = m.node("Unsqueeze", [x, m.integers([axis])], shape, exact=x.exact)
    if m.chance(0.5):
        m.node("Squeeze", [m.node("Relu", [y], shape, exact=x.exact), m.integers([axis])], x.shape, exact=x.exact)


@step(3)
def reduction(m):
    x = m.pick(where=lambda v: 0 not in v.shape)
    axis, keep = other_axis(m, x), m.chance(0.5)
    op = m.choose(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"])
    by_input = op == "ReduceSum" or m.opset >= 18
    shape = [1 if k == axis else s for k, s in enumerate(x.shape) if keep or k != axis]
    more, attributes = ([m.integers([axis])], {}) if by_input else ([], {"axes": [axis]})
    m.node(op, [x, *more], shape, exact=x.exact and op in ("ReduceMax", "ReduceMin"), keepdims=int(keep), **attributes)


# --- What we do not know, and what only running tells ----------------------------------------------------------------------------------


@step(3)
def cubic_resize(m):
    x = m.pick(rank=4, where=lambda v: 0 not in v.shape)
    scales = m.weight(numpy.array([1, 1, 2, 2], numpy.float32))
    m.node("Resize", [x, "", scales], [*x.shape[:2], x.shape[2] * 2, x.shape[3] * 2], mode="cubic")


@step(2)
def top(m):
    x = m.pick(exact=True, where=lambda v: v.shape[-1] >= 2)
    count = m.integer(1, x.shape[-1])
    shape = [*x.shape[:-1], count]
    m.node("TopK", [x, m.integers([count])], [shape, shape], [FLOAT, INT64], exact=True, axis=-1)


@step(2)
def nonzero(m):
    x = m.pick(exact=True, where=lambda v: v.count > 0)
    y = m.node("NonZero", [m.node("Relu", [x], x.shape, exact=True)], [x.rank, None], INT64, exact=True)
    m.node("Tanh", [m.node("Cast", [y], y.shape, exact=True, to=FLOAT)], y.shape)


@step(2)
def unique(m):
    x = m.pick(exact=True, where=lambda v: v.count > 0)
    m.node("Unique", [x], [[None]], [FLOAT], exact=True)


@step(2)
def quantization(m):
    x = m.pick(exact=True)
    kind, dtype = m.choose([(INT8, numpy.int8), (UINT8, numpy.uint8)])
    scale, zero = m.weight(numpy.float32(m.choose([0.05, 0.1]))), m.weight(dtype(m.choose([0, 3])))
    y = m.node("QuantizeLinear", [x, scale, zero], x.shape, kind, exact=True)
    m.node("DequantizeLinear", [y, scale, zero], x.shape)


@step(3)
def function_call(m):
    x = m.pick(known=False)
    name = m.choose(["Twice", "Shifted"])
    if name not in m.functions:
        constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(numpy.float32(0.5), "c"))
        body = {
            "Twice": [helper.make_node("Add", ["a", "a"], ["b"])],
            "Shifted": [constant, helper.make_node("Add", ["a", "c"], ["t"]), helper.make_node("Relu", ["t"], ["b"])],
        }[name]
        m.functions[name] = helper.make_function(FUNCTIONS, name, ["a"], ["b"], body, [helper.make_opsetid("", m.opset)])
    m.node(name, [x], x.shape, domain=FUNCTIONS)


def body_value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


@step(2)
def condition(m):
    x = m.pick()
    y = m.pick(where=lambda v: v.shape == x.shape)
    flag = m.input([], BOOL) if m.chance(0.5) else m.weight(numpy.array(m.chance(0.5)))
    branches = []
    for op in [m.choose(["Add", "Mul"]), m.choose(["Sub", "Max"])]:
        inner, outer = m.name("inner"), m.name("outer")
        nodes = [helper.make_node(op, [x.name, y.name], [inner]), helper.make_node("Tanh", [inner], [outer])]
        branches.append(helper.make_graph(nodes, m.name("branch"), [], [body_value(outer, None)]))
    m.node("If", [flag], x.shape, then_branch=branches[0], else_branch=branches[1])


@step(2)
def loop(m):
    x, captured = m.pick(), m.pick(where=lambda v: v.count <= 64)
    if not broadcasts(captured.shape, x.shape) or numpy.broadcast_shapes(captured.shape, x.shape) != x.shape:
        captured = m.normal([])
    i, go, state, kept, out, shown = (m.name(n) for n in ["i", "go", "state", "kept", "out", "shown"])
    nodes = [
        helper.make_node("Identity", [go], [kept]),
        helper.make_node("Add", [state, captured.name], [out]),
        helper.make_node("Tanh", [out], [shown]),
    ]
    ends = [body_value(kept, [], BOOL), body_value(out, None), body_value(shown, None)]
    body = helper.make_graph(nodes, m.name("body"), [body_value(i, [], INT64), body_value(go, [], BOOL), body_value(state, None)], ends)
    count = m.integer(1, 3)
    m.node("Loop", [m.weight(numpy.int64(count)), "", x], [x.shape, [count, *x.shape]], [FLOAT, FLOAT], body=body)


@step(2)
def scan(m):
    x = m.pick(least=2, where=lambda v: v.count > 0)
    state, row, total, shown = (m.name(n) for n in ["state", "row", "total", "shown"])
    nodes = [helper.make_node("Add", [state, row], [total]), helper.make_node("Tanh", [total], [shown])]
    inner = list(x.shape[1:])
    body = helper.make_graph(nodes, m.name("body"), [body_value(state, inner), body_value(row, inner)],
                             [body_value(total, inner), body_value(shown, inner)])
    start = m.weight(numpy.zeros(inner, numpy.float32))
    m.node("Scan", [start, x], [inner, x.shape], [FLOAT, FLOAT], num_scan_inputs=1, body=body)


# --- What an optimiser looks for -------------------------------------------------------------------------------------------------------


@step(3)
def again(m):
    """A node once more."""
    fitting = [n for n in m.nodes if len(n.output) == 1 and n.op_type not in ("Constant", "If")]
    if not fitting:
        raise Redraw
    node = m.choose(fitting)
    former = next((v for v in m.values if v.name == node.output[0]), None)
    if former is None:
        raise Redraw
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.output[0] = copy.name = m.name("again")
    m.nodes.append(copy)
    m.values.append(dataclasses.replace(former, name=copy.output[0]))


@step(2)
def constants(m):
    """Arithmetic of constants, and a weight that is generated."""
    x = m.pick()
    size = x.shape[-1]
    if m.chance(0.5):
        fill = numpy_helper.from_array(numpy.array([0.25], numpy.float32), "fill")
        c = m.node("ConstantOfShape", [m.integers([size])], [size], value=fill)
    else:
        c = m.normal([size])
    c = m.node(m.choose(["Add", "Mul"]), [c, m.normal([])], [size])
    m.node("Mul", [x, c], x.shape)


@step(1)
def whole_numbers(m):
    x = m.pick(INT64, rank=1)
    m.node(m.choose(["Add", "Mul", "Sub"]), [x, m.integers([m.integer(-2, 2)])], x.shape, INT64, exact=True)


def random_model(seed):
    """The model of this seed, its inputs, and whether its weights belong into a file of their own."""
    drawn = Model(seed)
    model = drawn.draw()
    return model, drawn.feeds, drawn.external
