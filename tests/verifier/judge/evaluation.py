"""Evaluates a side of a rule in a domain. Names that have no value yet are bound by `choose`."""

import math
from fractions import Fraction

import numpy

import quantised  # noqa: F401, registers operators
import sums  # noqa: F401, registers operators
from operators import ATTRIBUTES, OPERATORS, POINTWISE, REQUIRED, IllTyped, Tensor, Unsupported
from rule_text import TYPES

GENERATORS = ("full", "zeros", "ones", "identity_matrix", "identity_kernel", "iota", "range")
INTEGER_OPERANDS = {"gather": 1, "gather_elements": 1, "gather_nd": 1, "one_hot": 0}
BOOLEAN_OPERANDS = {"and": (0, 1), "or": (0, 1), "xor": (0, 1), "not": (0,), "select": (0,)}
TENSOR_CALLS = ("dim", "rank", "dims", "outer", "elements", "type", "count", "dims_at")


class Unknown(Exception):
    """A name has no value yet."""


def whole(value):
    """An integer where the number is one."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


class Scope:
    """What names stand for: attributes and dimensions (an int, a list of ints, a number), tensors, lists of tensors."""

    def __init__(self):
        self.names, self.tensors, self.lists = {}, {}, {}

    # --- Expressions

    def value(self, e):
        return getattr(self, "of_" + {"+": "sum", "-": "sum", "*": "sum"}.get(e.kind, e.kind))(e)

    def integer(self, e):
        value = self.value(e)
        if not isinstance(value, int):
            raise IllTyped("an integer")
        return value

    def integers(self, e):
        value = self.value(e)
        if not isinstance(value, list):
            raise IllTyped("a list")
        return value

    def of_number(self, e):
        return whole(e.number)

    def of_name(self, e):
        if e.name not in self.names:
            raise Unknown(e.name)
        return self.names[e.name]

    of_sequence = of_name

    def of_ones(self, e):
        return [1] * len(self.of_name(e))

    def of_list(self, e):
        result = []
        for element in e.arguments:
            value = self.value(element)
            result += value if isinstance(value, list) else [value]
        return result

    def of_negate(self, e):
        return spread(lambda a: -a, self.value(e.arguments[0]))

    def of_sum(self, e):
        sign = e.kind
        return spread(lambda a, b: a + b if sign == "+" else a - b if sign == "-" else a * b, *(self.value(a) for a in e.arguments))

    def of_index(self, e):
        return at(self.integers(e.arguments[0]), self.integer(e.arguments[1]))

    def of_optional(self, e):
        raise IllTyped("a dimension that is there")

    def of_call(self, e):
        name, arguments = e.name, e.arguments
        if name in TENSOR_CALLS:
            return self.of_tensor(name, arguments)
        values = [self.value(a) for a in arguments]
        if name in ARITHMETIC:
            return spread(ARITHMETIC[name], *values)
        if name not in LISTS:
            raise Unsupported(name)
        return LISTS[name](*values)

    def of_tensor(self, name, arguments):
        of = arguments[0].name
        if name in ("count", "dims_at"):
            if of not in self.lists:
                raise Unknown(of)
            tensors = self.lists[of]
            return len(tensors) if name == "count" else [at(list(t.shape), self.integer(arguments[1])) for t in tensors]
        if name == "rank" and of in self.names:
            return len(self.names[of])
        if of not in self.tensors:
            raise Unknown(of)
        tensor = self.tensors[of]
        shape = [int(n) for n in tensor.shape]
        if name == "outer" and not shape:
            raise IllTyped("outer of a scalar")
        simple = {"rank": lambda: len(shape), "dims": lambda: shape, "outer": lambda: shape[:-1], "elements": lambda: math.prod(shape),
                  "type": lambda: tensor.type}
        return simple[name]() if name in simple else at(shape, self.integer(arguments[1]))

    # --- Guards

    def holds(self, guard):
        """True or False for a relation; a relation without a value does not hold."""
        try:
            a, b = (self.value(e) for e in guard.arguments)
        except IllTyped:
            return False
        if isinstance(a, str) or isinstance(b, str):
            return a == b and guard.kind == "="
        if isinstance(a, list) and isinstance(b, list) and len(a) != len(b):
            return False
        compare = {"=": lambda x, y: x == y, "!=": lambda x, y: x != y, ">=": lambda x, y: x >= y, ">": lambda x, y: x > y,
                   "<=": lambda x, y: x <= y, "<": lambda x, y: x < y}[guard.kind]
        result = spread(compare, a, b)
        return all(result) if isinstance(result, list) else result


def at(values, k):
    if not -len(values) <= k < len(values):
        raise IllTyped("an index of the list")
    return values[k]


def spread(function, *values):
    """On integers; element by element on lists."""
    if any(isinstance(v, (str, float, Fraction)) for v in values):
        raise IllTyped("integers")
    lengths = {len(v) for v in values if isinstance(v, list)}
    if not lengths:
        return function(*values)
    if len(lengths) > 1:
        raise IllTyped("lists of equal length")
    return [function(*row) for row in zip(*(v if isinstance(v, list) else [v] * next(iter(lengths)) for v in values))]


def divided(function):
    def checked(a, b):
        if b < 1:
            raise IllTyped("a divisor of at least 1")
        return function(a, b)
    return checked


def part(p, a, b):
    a, b = (a + len(p) if a < 0 else a), (b + len(p) if b < 0 else b)
    if not 0 <= a <= b <= len(p):
        raise IllTyped("a part of the list")
    return p[a:b]


def permutation(q):
    if not isinstance(q, list) or sorted(q) != list(range(len(q))):
        raise IllTyped("a permutation")
    return q


def permute(p, q):
    if len(permutation(q)) != len(p):
        raise IllTyped("a permutation as long as the list")
    return [p[k] for k in q]


def counted(a, n):
    if not 0 <= n <= 64:
        raise IllTyped("0 to 64 elements")
    return [a] * n


def interval(a, b):
    if not 0 <= b - a <= 64:
        raise IllTyped("0 to 64 elements")
    return list(range(a, b))


def place(p, k, extra=0):
    n = len(p) + extra
    if not -n <= k < n:
        raise IllTyped("an index of the list")
    return k + n if k < 0 else k


def remove(p, which):
    gone = {place(p, k) for k in (which if isinstance(which, list) else [which])}
    return [v for k, v in enumerate(p) if k not in gone]


ARITHMETIC = {"max": max, "min": min, "floor_div": divided(lambda a, b: a // b), "ceil_div": divided(lambda a, b: -(-a // b)),
              "mod": divided(lambda a, b: a % b)}
LISTS = {"length": len, "sum": sum, "product": math.prod, "repeat": counted, "range": interval, "slice": part,
         "begins": lambda p: p[:len(p) // 2], "ends": lambda p: p[len(p) // 2:], "permute": permute,
         "inverse": lambda q: [permutation(q).index(k) for k in range(len(q))],
         "replace": lambda p, i, a: p[:place(p, i)] + [a] + p[place(p, i) + 1:], "remove": remove,
         "insert": lambda p, i, a: p[:place(p, i, 1)] + [a] + p[place(p, i, 1):]}


def is_generated(term):
    return term.kind in ("literal", "absent") or (term.kind == "apply" and term.name in GENERATORS)


def expected_length(kind, operand):
    """How many elements a list has where one number stands for all."""
    if operand is None:
        return None
    spatial = max(operand.rank - 2, 0)
    return {"strides": spatial, "dilations": spatial, "kernel": spatial, "output_padding": spatial, "pads": 2 * spatial,
            "perm": operand.rank, "starts": operand.rank, "slice_sizes": operand.rank, "steps": operand.rank, "pad_sizes": operand.rank,
            "repeats": operand.rank}.get(kind)


class Side:
    """Evaluates terms. `binder` (or None) gives values to names of the source that have none: see sampling.Binder."""

    def __init__(self, domain, scope, binder=None, after=None):
        self.domain, self.scope, self.binder, self.after = domain, scope, binder, after

    def run(self, statements, types=None):
        """`types`: of the outputs that are known, where a target is evaluated; a number beside no operand has such a type."""
        types = types or {}
        usual = next(iter(types.values()), "float32")
        for outputs, term in statements:
            results = self.term(term, types.get(outputs[0], usual))
            if len(results) != len(outputs):
                raise IllTyped(f"{len(outputs)} outputs")
            self.scope.tensors.update(zip(outputs, results))

    def term(self, term, data_type, role=None):
        if term.kind == "literal":
            value = self.domain.number(whole(term.literal), data_type)
            return [Tensor(numpy.full((), value, dtype=self.domain.dtype_of(data_type)), data_type)]
        if term.kind == "variable":
            if term.name not in self.scope.tensors:
                if self.binder is None:
                    raise IllTyped(f"{term.name} is not known")
                self.binder.variable(term.name, role)
            return [self.scope.tensors[term.name]]
        if term.kind == "list":
            if term.name not in self.scope.lists:
                self.binder.list(term.name, role)
            return self.scope.lists[term.name]
        if term.kind == "absent":
            raise Unsupported("_")
        return self.application(term, data_type)

    def application(self, term, data_type):
        name = term.name
        if name not in OPERATORS:
            raise Unsupported(name)
        built = [None] * len(term.operands)
        # What is known comes first: it tells the shapes of variables, and the types of numbers.
        places = [k for k, o in enumerate(term.operands) if not is_generated(o)]
        for k in sorted(places, key=lambda k: self.binder is not None and self.binder.lacks(term.operands[k])):
            built[k] = self.term(term.operands[k], data_type, (term, k, built))
        for k in places:
            if k not in BOOLEAN_OPERANDS.get(name, ()):
                data_type = built[k][0].type
        for k, operand in enumerate(term.operands):
            if is_generated(operand):
                built[k] = self.term(operand, data_type)
        operands = [t for values in built for t in values]
        attributes = self.attributes(term, operands, data_type)
        results = OPERATORS[name](self.domain, operands, attributes)
        if self.after is not None:
            self.after(name, operands, results)
        return results

    def attributes(self, term, operands, data_type):
        expected, given = ATTRIBUTES[term.name], dict(term.attributes)
        first = operands[0] if operands else None
        result = {}
        if self.binder is not None:
            for key, (kind, _) in expected.items():
                if key in given and not (given[key].kind == "name" and kind in ("word", "type")):
                    self.binder.attribute(given[key], term.name, kind, operands)
        for key, (kind, default) in expected.items():
            if key in given:
                result[key] = self.attribute(term, key, kind, given[key], operands, data_type)
            elif default is REQUIRED:
                raise IllTyped(f"attribute {key}")
            else:
                result[key] = data_type if default is None else default
            length = expected_length(kind, first)
            if isinstance(result[key], list) and length is not None and len(result[key]) == 1 and kind in SPATIAL:
                result[key] = result[key] * length
            if isinstance(result[key], int) and length is not None:
                result[key] = [result[key]] * length
            self.check(kind, key, result, first)
        return result

    def attribute(self, term, key, kind, e, operands, data_type):
        if e.kind == "name" and kind in ("word", "type"):
            if kind == "type" and e.name not in self.scope.names:
                if e.name not in TYPES:
                    raise IllTyped("a type")
            return e.name
        if self.binder is None:
            return self.scope.value(e)
        return self.binder.value(e, term, kind, operands)

    def check(self, kind, key, result, first):
        value = result[key]
        if kind in ("axis", "axes"):
            axes = value if isinstance(value, list) else [value]
            if any(not isinstance(k, int) or not -first.rank <= k < first.rank for k in axes):
                raise IllTyped("an axis")
            axes = sorted(k % first.rank for k in axes)
            if len(set(axes)) != len(axes):
                raise IllTyped("different axes")
            result[key] = axes if kind == "axes" else axes[0]
            if kind == "axes" and not isinstance(value, list):
                raise IllTyped("a list of axes")
        elif kind == "flag":
            if value not in (0, 1):
                raise IllTyped("a flag of 0 or 1")
        elif kind in LIST_KINDS:
            if not isinstance(value, list) or any(not isinstance(v, int) for v in value):
                raise IllTyped("a list of integers")
        elif kind in INTEGER_KINDS:
            if not isinstance(value, int):
                raise IllTyped("an integer")
        elif kind == "real" and isinstance(value, list):
            raise IllTyped("a number")


SPATIAL = ("strides", "dilations", "kernel", "output_padding", "pads")
LIST_KINDS = SPATIAL + ("perm", "starts", "slice_sizes", "steps", "pad_sizes", "repeats", "shape", "wider", "integers")
INTEGER_KINDS = ("integer", "block", "diagonal", "groups", "size", "batch")


def is_pointwise(rule):
    """Proved on scalars and matched with any shapes: all variables have one shape here."""
    names = set()

    def walk(term):
        for _, e in term.attributes:
            names.update(e.names())
            calls(e)
        for o in term.operands:
            walk(o)

    def calls(e):
        if e.kind == "call":
            names.add("call")
        for argument in e.arguments:
            calls(argument)

    for _, term in rule.source + rule.target:
        walk(term)
    about_shapes = "call" in names - set(TYPES) or any(not g.value for g in rule.guards)
    return not rule.declarations and not about_shapes and rule.operators() <= POINTWISE and not any(rule.variables().values())
