"""Floating point arithmetic as runtimes do it: a domain of numpy arrays of a floating type, or of doubles with the noise of that type.

Where ONNX leaves a result open, or runtimes differ, a policy decides it: POLICIES. A domain notes what docs/rules.md makes exceptions
of (notes): that a sum or product came near the largest number, that infinities met, that 0 met what is not finite, that terms cancelled."""

import math

import numpy

from exact import INTEGERS, Unsure

POLICIES = {
    "maximum": ("first", "second", "plus", "minus", "by place"),  # of zeros of both signs
    "nan": ("keep", "ignore"),             # of reduce_max and max_pool
    "sign": ("nan", "zero"),               # of NaN
    "order": ("forward", "backward"),      # of sums over axes
    "start": ("first", "zero"),            # of sums over axes
}
NEAR = 4096
TYPES = {"float16": numpy.float16, "float32": numpy.float32, "float64": numpy.float64, "bool": numpy.bool_}
erf_of = numpy.frompyfunc(math.erf, 1, 1)


class Floats:
    """`width`: the floating type. `noise`: None, or a random generator: then arithmetic is of doubles, and each result has a relative error
    as large as the rounding of the type. `jumps`: results of comparisons and roundings to integers, recorded, or replayed with `replay`."""

    def __init__(self, width, policies, points=0, noise=None, jumps=None, replay=False, exact=False):
        self.width, self.policies, self.points = width, policies, points
        self.noise, self.exact = noise, exact
        self.jumps, self.replay, self.next_jump = jumps if jumps is not None else [], replay, 0
        self.notes = {}
        self.takes_notes = noise is None and not exact  # of those runs alone notes are read
        self.largest_number = float(numpy.finfo(TYPES[width]).max)
        self.unit = float(numpy.finfo(TYPES[width]).eps) / 2
        self.dtype = self.dtype_of(width)

    def dtype_of(self, data_type):
        if data_type in INTEGERS:
            return numpy.dtype(data_type)
        return numpy.dtype(numpy.float64 if (self.noise is not None or self.exact) and data_type != "bool" else TYPES[data_type])

    def number(self, value, data_type):
        if data_type in INTEGERS or data_type == "bool":
            return self.dtype_of(data_type).type(int(value))
        return self.dtype_of(data_type).type(TYPES[data_type](float(value)))

    def note(self, name, where):
        if not self.takes_notes:
            return
        where = numpy.asarray(where)
        if self.points:
            self.notes[name] = self.notes.get(name, numpy.zeros(self.points, dtype=bool)) | where
        else:
            self.notes[name] = self.notes.get(name, False) or bool(where.any())

    def noted(self, *names):
        result = numpy.zeros(self.points or (), dtype=bool)
        for name in names:
            result = result | self.notes.get(name, False)
        return result

    def rounded(self, result):
        if self.noise is None or result.dtype.kind != "f":
            return result
        return result * (1 + self.unit * (2 * self.noise.integers(0, 2, result.shape) - 1))

    def jump(self, result):
        """Not continuous: what was seen in the arithmetic of the type."""
        if self.replay:
            result = self.jumps[self.next_jump].astype(result.dtype)
            self.next_jump += 1
            return result
        self.jumps.append(result)
        return result

    # --- Arithmetic

    def terms(self, a, b, result):
        """Notes of a sum."""
        if not self.takes_notes or result.dtype.kind != "f":
            return
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        self.note("near the largest", finite & ~(numpy.abs(result) < self.largest_number / NEAR))
        self.note("infinities meet", numpy.isnan(result) & ~numpy.isnan(a) & ~numpy.isnan(b))
        self.note("cancelled", (result == 0) & finite & (a != 0))
        written = self.points and (numpy.ndim(a) == 0 or numpy.ndim(b) == 0)  # x + 0 is not x
        self.note("both zeros", (a == 0) & (b == 0) & (numpy.signbit(a) != numpy.signbit(b)) & (not written))

    def add(self, a, b):
        result = numpy.add(a, b)
        self.terms(a, b, result)
        return self.rounded(result)

    def sub(self, a, b):
        return self.add(a, numpy.negative(b)) if numpy.asarray(a).dtype.kind == "f" else numpy.subtract(a, b)

    def mul(self, a, b):
        result = numpy.multiply(a, b)
        if self.takes_notes and result.dtype.kind == "f":
            finite = numpy.isfinite(a) & numpy.isfinite(b)
            self.note("near the largest", finite & ~(numpy.abs(result) < self.largest_number / NEAR))
            # A factor moves into a sum, of which the 0 of a window in padding alone has no term.
            no_number = (lambda v: ~numpy.isfinite(v)) if self.noted("open zero").any() else numpy.isinf
            self.note("0 and no number", ((a == 0) & no_number(b)) | ((b == 0) & no_number(a)))
            self.note("underflow", (result == 0) & (a != 0) & (b != 0))
        return self.rounded(result)

    def weighted(self, a, b):
        """A term of a product of matrices or a convolution: zeros of a padded kernel spread NaN, too."""
        if self.takes_notes and numpy.result_type(a, b).kind == "f":
            self.note("0 and no number", ((a == 0) & numpy.isnan(b)) | ((b == 0) & numpy.isnan(a)))
        return self.mul(a, b)

    def neg(self, a):
        return numpy.negative(a)

    def div(self, a, b):
        result = numpy.divide(a, b)
        self.note("underflow", (result == 0) & (a != 0) & numpy.isfinite(b))
        return self.rounded(result)

    def integer_div(self, a, b):
        if numpy.any(numpy.asarray(b) == 0):
            raise Unsure
        return (numpy.sign(a) * numpy.sign(b) * (numpy.abs(a) // numpy.abs(b))).astype(numpy.asarray(a).dtype)

    def modulo(self, a, b):
        if numpy.any(numpy.asarray(b) == 0):
            raise Unsure
        return self.jump(numpy.mod(a, b))

    def remainder(self, a, b):
        if numpy.any(numpy.asarray(b) == 0):
            raise Unsure
        return self.jump(numpy.fmod(a, b))

    def pow(self, a, b):
        return self.rounded(numpy.power(a, numpy.asarray(b).astype(numpy.asarray(a).dtype)))

    # --- Choices

    def maximum(self, a, b):
        result = numpy.maximum(a, b)
        if result.dtype.kind != "f":
            return result
        return self.chosen_zero(a, b, result)

    def minimum(self, a, b):
        result = numpy.minimum(a, b)
        if result.dtype.kind != "f":
            return result
        return self.chosen_zero(a, b, result)

    def chosen_zero(self, a, b, result):
        zeros = (a == 0) & (b == 0) & (numpy.signbit(a) != numpy.signbit(b))
        self.note("chose zero", result == 0)
        if not zeros.any():
            return result
        policy = self.policies["maximum"]
        first = numpy.arange(result.size).reshape(result.shape) % 2 == 0 if policy == "by place" else policy == "first"
        zero = {"plus": 0.0, "minus": -0.0}.get(policy, numpy.where(first, a, b))
        return numpy.where(zeros, numpy.asarray(zero).astype(result.dtype), result)

    def relu(self, a):
        result = numpy.where(a < 0, numpy.zeros_like(a), a)
        if result.dtype.kind == "f":
            self.note("chose zero", result == 0)
        return result

    def clip(self, x, low, high, data_type):
        result = x
        for bound, beyond in ((low, numpy.less), (high, numpy.greater)):
            limit = self.number(bound, data_type) if abs(bound) != math.inf or data_type not in INTEGERS else None
            if limit is None:
                continue
            result = numpy.where(beyond(result, limit), limit, result)
        if result.dtype.kind == "f":
            self.note("chose zero", result == 0)
        return result

    def choose(self, condition, a, b):
        return numpy.where(condition, a, b)

    def negative(self, a):
        return a < 0

    def window_maximum(self, a, b):
        result = numpy.maximum(a, b) if self.policies["nan"] == "keep" else numpy.fmax(a, b)
        if result.dtype.kind == "f":
            self.note("open NaN", numpy.isnan(a) | numpy.isnan(b))
            return self.chosen_zero(a, b, result)
        return result

    def abs(self, a):
        return numpy.abs(a)

    def sign(self, a):
        result = numpy.sign(a)
        if result.dtype.kind == "f":
            self.note("open NaN", numpy.isnan(a))
            self.note("chose zero", result == 0)
            if self.policies["sign"] == "zero":
                result = numpy.where(numpy.isnan(a), numpy.zeros_like(a), result)
        return self.jump(result)

    # --- Functions

    def unary(self, function, a):
        return self.rounded(function(a))

    def sqrt(self, a):
        return self.unary(numpy.sqrt, a)

    def exp(self, a):
        result = numpy.exp(a)
        if self.noise is not None or self.exact:
            result = numpy.where(result > self.largest_number, math.inf, result)
        return self.rounded(result)

    def log(self, a):
        return self.unary(numpy.log, a)

    def sin(self, a):
        return self.unary(numpy.sin, a)

    def cos(self, a):
        return self.unary(numpy.cos, a)

    def tanh(self, a):
        return self.unary(numpy.tanh, a)

    def erf(self, a):
        return self.rounded(numpy.asarray(erf_of(numpy.asarray(a, dtype=numpy.float64))).astype(numpy.asarray(a).dtype))

    def sigmoid(self, a):
        one = numpy.ones_like(a)
        return self.rounded(one / (one + numpy.exp(-a)))

    def softplus(self, a):
        return self.rounded(numpy.maximum(a, numpy.zeros_like(a)) + numpy.log1p(numpy.exp(-numpy.abs(a))))

    # --- Jumps

    def floor(self, a):
        return self.jump(numpy.floor(a))

    def ceil(self, a):
        return self.jump(numpy.ceil(a))

    def round(self, a):
        return self.jump(numpy.rint(a))

    def less(self, a, b):
        return self.jump(numpy.less(a, b))

    def less_equal(self, a, b):
        return self.jump(numpy.less_equal(a, b))

    def equal(self, a, b):
        return self.jump(numpy.equal(a, b))

    def is_nan(self, a):
        return self.jump(numpy.isnan(a))

    def logical_and(self, a, b):
        return numpy.logical_and(a, b)

    def logical_or(self, a, b):
        return numpy.logical_or(a, b)

    def logical_xor(self, a, b):
        return numpy.logical_xor(a, b)

    def logical_not(self, a):
        return numpy.logical_not(a)

    def cast(self, values, of, to):
        if of == to:
            return values
        result = values.astype(self.dtype_of(to))
        return self.jump(result) if of not in INTEGERS and of != "bool" else result

    # --- Many elements

    def sum(self, values, axis):
        parts = numpy.moveaxis(values, axis, 0)
        if self.policies["order"] == "backward":
            parts = parts[::-1]
        if len(parts) == 0:
            return numpy.zeros(parts.shape[1:], dtype=values.dtype)
        total = parts[0] if self.policies["start"] == "first" else numpy.zeros_like(parts[0]) + parts[0]
        for part in parts[1:]:
            total = self.add(total, part)
        if total.dtype.kind == "f" and self.policies["start"] == "zero":
            self.note("open zero", total == 0)  # a sum over axes begins with 0
        return total

    def largest(self, values, axis):
        parts = numpy.moveaxis(values, axis, 0)
        total = parts[0]
        for part in parts[1:]:
            total = self.window_maximum(total, part)
        return total

    def shifted(self, x, axis):
        result = x - numpy.max(x, axis=axis, keepdims=True)
        self.note("infinities meet", numpy.isnan(result) & ~numpy.isnan(x))
        return self.rounded(result)

    def padded(self, result):
        """Sums in which zeros of a padding are terms."""
        self.note("open zero", result == 0)

    def softmax(self, x, axis):
        e = numpy.exp(self.shifted(x, axis))
        return self.rounded(e / numpy.sum(e, axis=axis, keepdims=True))

    def log_softmax(self, x, axis):
        shifted = self.shifted(x, axis)
        return self.rounded(shifted - self.rounded(numpy.log(numpy.sum(numpy.exp(shifted), axis=axis, keepdims=True))))

    def known(self, values, places):
        if not numpy.all(places):
            raise Unsure
        return values

    inside = known

    def whole(self, values):
        return values.astype(numpy.int64), numpy.ones(values.shape, dtype=bool)
