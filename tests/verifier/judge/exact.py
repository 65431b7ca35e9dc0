"""Numbers of mathematics: arrays of int and Fraction, of float where a value is known approximately, of NaN where there is none.

A question whose answer hangs on the error of an approximation raises Unsure, and the sample is dropped."""

import math
from fractions import Fraction

import numpy

NAN = float("nan")
CLOSE = 1e-6
LARGEST_EXPONENT = 64
INTEGERS = {"int8": (-2**7, 2**7), "int16": (-2**15, 2**15), "int32": (-2**31, 2**31), "int64": (-2**63, 2**63),
            "uint8": (0, 2**8), "uint16": (0, 2**16), "uint32": (0, 2**32), "uint64": (0, 2**64)}
PRECISION = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
LARGEST = {"bfloat16": (2**8 - 1) * 2**120, "float16": 65504, "float32": (2**24 - 1) * 2**104, "float64": (2**53 - 1) * 2**971}


# True after an evaluation that ends a run: an index out of range, an integer divided by 0.
stopped = [False]


def is_number(x):
    """NaN stands for no value; -inf is a neutral element of maxima, and no value either."""
    return x == x and x not in (math.inf, -math.inf)


class Unsure(Exception):
    """The sample does not tell."""


def simple(x):
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def total(function):
    """`function` on arrays; undefined where an operand is."""
    def scalar(*operands):
        for x in operands:
            if x != x:
                return NAN
        return function(*operands)

    count = function.__code__.co_argcount
    lifted = numpy.frompyfunc(scalar, count, 1)
    return lambda *arrays: as_array(lifted(*arrays))


def as_array(x):
    if isinstance(x, numpy.ndarray):
        return x
    result = numpy.empty((), dtype=object)
    result[()] = x
    return result


def are_numbers(values):
    return as_array(numpy.frompyfunc(is_number, 1, 1)(values)).astype(bool)


def is_close(a, b):
    return (isinstance(a, float) or isinstance(b, float)) and abs(a - b) <= CLOSE * max(1, abs(a), abs(b))


def apart(a, b):
    if is_close(a, b):
        raise Unsure
    return a, b


def quotient(a, b):
    if b == 0 and not isinstance(b, float):
        return NAN
    if isinstance(b, float) and abs(b) < CLOSE:
        raise Unsure
    return simple(Fraction(a) / Fraction(b)) if not isinstance(a, float) and not isinstance(b, float) else float(a) / float(b)


def product(a, b):
    """0 times an approximation is 0."""
    return 0 if any(x == 0 and not isinstance(x, float) for x in (a, b)) else a * b


def stop():
    stopped[0] = True
    return NAN


def integer_quotient(a, b):
    return stop() if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def modulo(a, b):
    """The sign is that of the divisor."""
    if b == 0:
        return stop()
    if isinstance(a, float) or isinstance(b, float):
        raise Unsure
    return simple(a - b * math.floor(Fraction(a) / Fraction(b)))


def remainder(a, b):
    """The sign is that of the dividend."""
    if b == 0:
        return stop()
    if isinstance(a, float) or isinstance(b, float):
        raise Unsure
    return simple(a - b * math.trunc(Fraction(a) / Fraction(b)))


def power(a, b):
    if isinstance(b, float) and abs(b - round(b)) < CLOSE:
        raise Unsure
    if b == math.floor(b):
        if a == 0 and b < 0 and not isinstance(a, float):
            return NAN
        if isinstance(a, float) and abs(a) < CLOSE or abs(b) > LARGEST_EXPONENT:
            raise Unsure
        return simple(Fraction(a) ** int(b)) if not isinstance(a, float) else a ** int(b)
    if isinstance(a, float) and abs(a) < CLOSE:
        raise Unsure
    if a < 0:
        return NAN
    if a == 0:
        return 0 if b > 0 else NAN
    return square_root(a) if b == Fraction(1, 2) else float(a) ** float(b)


def square_root(x):
    if isinstance(x, float):
        if abs(x) < CLOSE:
            raise Unsure
        return math.sqrt(x) if x > 0 else NAN
    if x < 0:
        return NAN
    f = Fraction(x)
    top, bottom = math.isqrt(f.numerator), math.isqrt(f.denominator)
    return simple(Fraction(top, bottom)) if top * top == f.numerator and bottom * bottom == f.denominator else math.sqrt(x)


def exponential(x):
    if abs(x) > 40:
        raise Unsure
    return 1 if x == 0 else math.exp(x)


def logarithm(x):
    if isinstance(x, float) and abs(x) < CLOSE:
        raise Unsure
    return NAN if x <= 0 else 0 if x == 1 else math.log(x)


def steady(x):
    """Far from where rounding to an integer jumps."""
    if isinstance(x, float) and abs(2 * x - round(2 * x)) < CLOSE:
        raise Unsure
    return x


def rounded_to(x, data_type):
    """To the nearest number of a floating type, ties to even."""
    if isinstance(x, float):
        raise Unsure
    if x == 0:
        return 0
    f = Fraction(x)
    exponent = abs(f.numerator).bit_length() - f.denominator.bit_length()
    if abs(f) < Fraction(2) ** exponent:
        exponent -= 1
    smallest = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}[data_type]
    unit = Fraction(2) ** max(exponent - PRECISION[data_type] + 1, smallest)
    result = round(f / unit) * unit
    return NAN if abs(result) > LARGEST[data_type] else simple(result)


def cast_one(x, of, to):
    """ONNX's Cast."""
    if to == "bool":
        apart(x, 0)
        return int(x != 0)
    if to in INTEGERS:
        low, end = INTEGERS[to]
        if of in INTEGERS or of == "bool":
            return (int(x) - low) % (end - low) + low
        whole = math.trunc(steady(x))
        return whole if low <= whole < end else NAN
    if of == "bool" or (of in PRECISION and PRECISION[of] <= PRECISION[to] and of != "bfloat16"):
        return x
    return x if of == to else rounded_to(x, to)


def sigmoid_of(x):
    return Fraction(1, 2) if x == 0 else quotient(1, 1 + exponential(-x))


def odd(function):
    return lambda x: 0 if x == 0 else function(x)


class Exact:
    """The functions of one number, of reals."""
    dtype = object
    add = staticmethod(lambda a, b: as_array(numpy.add(a, b)))
    sub = staticmethod(lambda a, b: as_array(numpy.subtract(a, b)))
    mul = staticmethod(total(lambda a, b: product(a, b)))
    weighted = mul
    neg = staticmethod(lambda a: as_array(numpy.negative(a)))
    div = staticmethod(total(lambda a, b: quotient(a, b)))
    integer_div = staticmethod(total(lambda a, b: integer_quotient(a, b)))
    modulo = staticmethod(total(lambda a, b: modulo(a, b)))
    remainder = staticmethod(total(lambda a, b: remainder(a, b)))
    pow = staticmethod(total(lambda a, b: power(a, b)))
    maximum = staticmethod(total(lambda a, b: a if a >= b else b))
    minimum = staticmethod(total(lambda a, b: a if a <= b else b))
    abs = staticmethod(total(lambda a: abs(a)))
    relu = staticmethod(total(lambda a: a if a > 0 else 0))
    sqrt = staticmethod(total(lambda a: square_root(a)))
    exp = staticmethod(total(lambda a: exponential(a)))
    log = staticmethod(total(lambda a: logarithm(a)))
    sin = staticmethod(total(lambda a: 0 if a == 0 else math.sin(a)))
    cos = staticmethod(total(lambda a: 1 if a == 0 else math.cos(a)))
    tanh = staticmethod(total(lambda a: 0 if a == 0 else math.tanh(a)))
    erf = staticmethod(total(lambda a: 0 if a == 0 else math.erf(a)))
    sigmoid = staticmethod(total(lambda a: sigmoid_of(a)))
    softplus = staticmethod(total(lambda a: logarithm(1 + exponential(a))))
    floor = staticmethod(total(lambda a: math.floor(steady(a))))
    ceil = staticmethod(total(lambda a: math.ceil(steady(a))))
    round = staticmethod(total(lambda a: round(steady(a))))
    sign = staticmethod(total(lambda a: (a > 0) - (apart(a, 0)[0] < 0)))
    less = staticmethod(total(lambda a, b: int(apart(a, b)[0] < b)))
    less_equal = staticmethod(total(lambda a, b: int(apart(a, b)[0] <= b)))
    equal = staticmethod(total(lambda a, b: int(apart(a, b)[0] == b)))
    is_nan = staticmethod(total(lambda a: 0))
    logical_and = staticmethod(total(lambda a, b: int(bool(a) and bool(b))))
    logical_or = staticmethod(total(lambda a, b: int(bool(a) or bool(b))))
    logical_xor = staticmethod(total(lambda a, b: int(bool(a) != bool(b))))
    logical_not = staticmethod(total(lambda a: int(not a)))

    @staticmethod
    def number(value, data_type):
        """A number that a rule or an attribute writes."""
        return value

    @staticmethod
    def choose(condition, a, b):
        condition, a, b = numpy.broadcast_arrays(condition, a, b)
        result = numpy.where(numpy.equal(condition, 1).astype(bool), a, b)
        result = as_array(result)
        unknown = numpy.not_equal(condition, condition).astype(bool)
        if unknown.any():
            result = result.copy()
            result[unknown] = NAN
        return result

    @classmethod
    def clip(cls, x, low, high, data_type):
        x = cls.maximum(x, low) if low != -math.inf else x
        return cls.minimum(x, high) if high != math.inf else x

    @classmethod
    def window_maximum(cls, a, b):
        return cls.maximum(a, b)

    @staticmethod
    def negative(a):
        return total(lambda x: int(x < 0))(a)

    @staticmethod
    def cast(values, of, to):
        return as_array(numpy.frompyfunc(lambda x: NAN if x != x else cast_one(x, of, to), 1, 1)(values))

    @staticmethod
    def sum(values, axis):
        return as_array(numpy.add.reduce(values, axis=axis)) if values.shape[axis] else numpy.zeros_like(values.sum(axis=axis))

    @classmethod
    def largest(cls, values, axis):
        parts = [values.take(k, axis=axis) for k in range(values.shape[axis])]
        result = as_array(parts[0])
        for part in parts[1:]:
            result = cls.maximum(result, part)
        return result

    @classmethod
    def softmax(cls, x, axis):
        e = cls.exp(x)
        return cls.div(e, numpy.expand_dims(cls.sum(e, axis), axis))

    @classmethod
    def log_softmax(cls, x, axis):
        return cls.sub(x, cls.log(numpy.expand_dims(cls.sum(cls.exp(x), axis), axis)))

    @staticmethod
    def padded(result):
        """Takes note of sums in which zeros of a padding are terms."""

    @classmethod
    def inside(cls, values, places):
        """The values that were read; an index out of range ends a run."""
        stopped[0] = stopped[0] or not numpy.all(places)
        return cls.known(values, places)

    @staticmethod
    def known(values, places):
        """The values, undefined elsewhere than at `places`."""
        values = as_array(values)
        places = numpy.broadcast_to(places, values.shape)
        if places.all():
            return values
        result = values.astype(object)
        result[~places] = NAN
        return result

    @staticmethod
    def dtype_of(data_type):
        return object

    @staticmethod
    def whole(values):
        """Indices as int64 and where they are defined."""
        known = numpy.equal(values, values).astype(bool)
        return numpy.where(known, values, 0).astype(numpy.int64), known
