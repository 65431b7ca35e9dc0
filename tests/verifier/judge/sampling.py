"""Finds sizes, attributes and numbers at which the source of a rule is well typed and its guards hold."""

import math
import random
from fractions import Fraction

import numpy

from evaluation import Scope, Side, Unknown, is_pointwise, spread
from exact import INTEGERS
from operators import ATTRIBUTES, FLOATING, POINTWISE, IllTyped, Tensor
from shapes import Shapes

RELATIONS = ("=", "!=", ">=", ">", "<=", "<")
SIZES = ((1,), (1, 2), (1, 2, 2, 3), (2, 3), (1, 2, 3, 4, 5, 6))
REALS = [Fraction(v) for v in ("0", "1", "-1", "1/2", "2", "1/10", "3", "6", "-1/2")]
LEAST_RANK = {"conv": 3, "conv_transpose": 3, "max_pool": 3, "average_pool": 3, "depth_to_space": 4, "space_to_depth": 4, "trilu": 2}
MOST_ELEMENTS = 600
POINTS = 32


class Choices:
    """Random decisions by name. A decision keeps its seed, so that one can be taken again and the others stay."""

    def __init__(self, seed):
        self.random, self.seeds, self.asked = random.Random(seed), {}, []

    def of(self, key):
        self.asked.append(key)
        return random.Random(self.seeds.setdefault(key, self.random.getrandbits(40)))

    def vary(self, asked):
        """The same, but one to three of the decisions that were asked for are taken again."""
        result = Choices(self.random.getrandbits(40))
        result.seeds = dict(self.seeds)
        for key in self.random.sample(asked, min(len(asked), self.random.choice((1, 1, 2, 3)))):
            result.seeds.pop(key, None)
        return result


class Pins:
    """What is given: values of names and of elements of lists, lengths, numbers of operands, shapes, dimensions such as x.0, types."""

    def __init__(self):
        self.names, self.elements, self.lengths, self.counts, self.shapes, self.ones, self.types = {}, {}, {}, {}, {}, {}, {}

    def applied(self, name, value):
        value = self.names.get(name, value)
        if isinstance(value, list):
            return [self.elements.get((name, k), v) for k, v in enumerate(value)]
        return value

    def shaped(self, name, shape):
        if name in self.lengths:
            shape = (shape + [1] * 8)[:self.lengths[name]]
        return [self.elements.get((name, k), n) for k, n in enumerate(shape)]


class Binder:
    """Gives values to what the source leaves open, and types to its variables."""

    def __init__(self, rule, choices, scope, pins=None):
        self.rule, self.choices, self.scope, self.pins = rule, choices, scope, pins or Pins()
        self.guards = [g for g in rule.guards if g.kind in RELATIONS]
        self.pointwise = is_pointwise(rule)
        self.many = rule.variables()
        self.sizes = choices.of("sizes").choice(SIZES)
        kinds = {choices.of("floating type").choice(("float32", "float32", "float32", "float16", "float64"))}
        self.floating = kinds.pop() if "cast" in rule.operators() else "float32"
        self.floating = next(iter(self.pins.types.values()), self.floating)
        self.shapes, self.beside = {}, []
        self.kinds = {}
        for _, term in rule.source:
            self.kinds.update(attribute_names(term))

    # --- Declared types

    def declare(self):
        for declaration in self.rule.declarations.values():
            for e in declaration.dims:
                self.dimensions(e)
        ones = {}
        for declaration in self.rule.declarations.values():
            for k, e in enumerate(declaration.dims):
                if e.kind == "optional" and e.arguments[0].kind == "name":
                    one = self.is_one(declaration, k)
                    ones.setdefault(e.arguments[0].name, []).append(one)
        plain = {n for d in self.rule.declarations.values() for e in d.dims if e.kind != "optional" for n in e.names()}
        for name, flags in ones.items():
            if all(flags) and name not in plain:
                self.scope.names[name] = 1

    def is_one(self, declaration, k):
        given = self.pins.ones.get((declaration.variable, k))
        return self.choices.of(f"optional {declaration.variable} {k}").random() < 0.4 if given is None else given

    def dimensions(self, e):
        if e.kind in ("sequence", "ones"):
            if e.name not in self.scope.names:
                chosen = self.choices.of("length of " + e.name)
                length = self.pins.lengths.get(e.name, chosen.choice((0, 1, 1, 2, 2, 3, 4)))
                self.bind(e.name, lambda r: [r.choice(self.sizes) for _ in range(length)])
        elif e.kind == "name":
            if e.name not in self.scope.names:
                self.bind(e.name, lambda r: r.choice(self.sizes))
        else:
            skipped = 1 if e.kind == "call" and e.name in ("dim", "rank", "dims", "outer", "elements", "type", "count", "dims_at") else 0
            for argument in e.arguments[skipped:]:
                self.dimensions(argument)

    def bind(self, name, draw):
        """A value that is given, that an equation among the guards gives, or one that contradicts no guard, if a few draws find one."""
        self.drawn_value(name, draw)
        self.scope.names[name] = self.pins.applied(name, self.scope.names[name])

    def drawn_value(self, name, draw):
        for guard in self.guards:
            if guard.kind != "=":
                continue
            for own, other in (guard.arguments, guard.arguments[::-1]):
                if own.kind in ("name", "sequence") and own.name == name:
                    if self.follows(name, other):
                        return
        chosen = self.choices.of("value of " + name)
        about = [g for g in self.guards if any(name in e.names() for e in g.arguments)]
        for _ in range(12 if about else 1):
            self.scope.names[name] = draw(chosen)
            if all(self.fits(g) for g in about):
                return
        for guard in about:
            if (self.bounded(name, guard, chosen) or self.halved(name, guard)) and all(self.fits(g) for g in about):
                return

    def bounded(self, name, guard, r):
        """True if an inequality among the guards gave a bound that `name` was set to, or near it."""
        for own, other, up in ((*guard.arguments, guard.kind in (">=", ">")), (*guard.arguments[::-1], guard.kind in ("<=", "<"))):
            if own.kind == "name" and own.name == name and up:
                try:
                    self.scope.names[name] = spread(lambda v: v + r.choice((0, 0, 1)) + (guard.kind in "<>"), self.scope.value(other))
                    return True
                except (Unknown, IllTyped):
                    pass
        return False

    def halved(self, name, guard):
        """True if the guard gave the begins or the ends of the list `name`, and they were set."""
        for own, other in (guard.arguments, guard.arguments[::-1]):
            if own.kind == "call" and own.name in ("begins", "ends") and own.arguments[0].name == name and guard.kind == "=":
                try:
                    old, half = self.scope.names[name], self.scope.value(other)
                    half = half if isinstance(half, list) else [half] * (len(old) // 2)
                    self.scope.names[name] = half + old[len(half):] if own.name == "begins" else old[:len(half)] + half
                    return True
                except (Unknown, IllTyped):
                    pass
        return False

    def follows(self, name, e):
        """True if `name` is what e says; binds an axis that e speaks of and that an operator behind will have."""
        for _ in range(3):
            try:
                self.scope.names[name] = self.scope.value(e)
                return True
            except Unknown as unknown:
                if str(unknown) == name or self.kinds.get(str(unknown)) != "axis":
                    return False
                rank = max(len(self.beside), 1)
                self.scope.names[str(unknown)] = self.choices.of("value of " + str(unknown)).randrange(rank)
            except IllTyped:
                return False
        return False

    def fits(self, guard):
        try:
            return self.scope.holds(guard)
        except Unknown:
            return True

    def declared_shape(self, declaration):
        shape = []
        for k, e in enumerate(declaration.dims):
            if e.kind == "optional":
                shape.append(1 if self.is_one(declaration, k) else self.scope.integer(e.arguments[0]))
                continue
            value = self.scope.value(e)
            shape += value if isinstance(value, list) else [value]
        if any(not isinstance(n, int) or n < 1 for n in shape):
            raise IllTyped("dimensions of at least 1")
        return shape

    # --- Variables

    def lacks(self, term):
        known = self.scope.lists if term.kind == "list" else self.scope.tensors
        return term.kind in ("variable", "list") and term.name not in known

    def data_type(self, name):
        declaration = self.rule.declarations.get(name)
        if declaration is not None and declaration.data_type:
            return declaration.data_type
        if name in self.pins.types:
            return self.pins.types[name]
        for _, term in self.rule.source:
            if asked := asked_type(term, name):
                return asked
        return self.floating

    def guarded(self, name, kind):
        return next((g for g in self.rule.guards if g.value == name and g.kind == kind), None)

    def variable(self, name, role):
        self.scope.tensors[name] = self.made(name, name, role)

    def list(self, name, role):
        count = self.pins.counts.get(name, self.choices.of("count of " + name).choice((1, 1, 2, 2, 3, 4)))
        self.scope.lists[name] = []
        for k in range(count):
            self.scope.lists[name].append(self.made(name, f"{name}{k}", role))

    def made(self, name, own, role):
        if own in self.pins.shapes:
            shape = list(self.pins.shapes[own])
        elif self.pointwise:
            shape = [POINTS]
        elif self.guarded(name, "scalar"):
            shape = []
        elif name in self.rule.declarations:
            shape = self.declared_shape(self.rule.declarations[name])
        else:
            shape = self.pins.shaped(own, self.proposed(own, role))
        if math.prod(shape) > MOST_ELEMENTS or len(shape) > 8:
            raise IllTyped("a tensor of a size that can be looked at")
        self.shapes[own] = (tuple(shape), self.data_type(name))
        return Tensor(numpy.zeros(shape, dtype=bool), self.data_type(name))

    def proposed(self, own, role):
        """A shape that the operator may take beside what is known of its other operands."""
        term, k, built = role
        chosen = self.choices.of("shape of " + own)
        beside = [t for j, values in enumerate(built) if values is not None and j != k for t in values] + self.scope.lists.get(own[:-1], [])
        if not beside:
            least = LEAST_RANK.get(term.name, 0)
            rank = chosen.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)) if least == 0 else min(5, least + chosen.choice((0, 0, 1, 1, 2)))
            rank = 4 if term.name in ("depth_to_space", "space_to_depth") else rank
            return [chosen.choice(self.sizes) for _ in range(rank)]
        shape = list(beside[0].shape)
        if k < 0:  # an attribute speaks of it
            axis = self.known_axis(term, len(shape))
            if axis is not None and shape[axis] > 1:
                shape[axis] = chosen.randint(1, shape[axis] - 1)
            return shape
        if term.name == "matmul":
            return self.factor(chosen, shape, k)
        if term.name in ("conv", "conv_transpose") and len(shape) >= 3:
            own_kernel = [chosen.choice((1, 1, 2, 3)) for _ in shape[2:]]
            divisor = chosen.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
            return [divisor * chosen.choice((1, 2)), shape[1] // divisor] + own_kernel
        if term.name == "gather":
            return [chosen.choice(self.sizes) for _ in range(chosen.choice((0, 1, 1, 2)))]
        if term.name in ("concat", "gather_elements"):
            axis = self.known_axis(term, len(shape))
            if shape:
                shape[chosen.randrange(len(shape)) if axis is None else axis] = chosen.choice(self.sizes)
            return shape
        if term.name in POINTWISE:
            return broadcast_shape(chosen, shape, self.sizes)
        return shape

    def known_axis(self, term, rank):
        for key, e in term.attributes:
            if key == "axis":
                try:
                    axis = self.scope.integer(e)
                    return axis % rank if rank and -rank <= axis < rank else None
                except (Unknown, IllTyped):
                    return None
        return None

    def factor(self, chosen, shape, k):
        if not shape:
            return [1]
        rows = chosen.choice(self.sizes)
        outer = [n if chosen.random() < 0.7 else 1 for n in shape[:-2]]
        outer = chosen.choice((outer, outer, [], outer + [1], [2] + shape[:-2])) if len(shape) >= 2 else []
        if chosen.random() < 0.1:
            return [shape[-1] if k == 1 or len(shape) == 1 else shape[-2]]
        return outer + ([shape[-1], rows] if k == 1 else [rows, shape[-2] if len(shape) > 1 else shape[-1]])

    # --- Attributes

    def attribute(self, e, operator, kind, operands):
        """Binds what the attribute leaves open."""
        shape = self.beside = list(operands[0].shape) if operands else []
        if e.kind == "name" and e.name not in self.scope.names:
            self.bind(e.name, lambda r: self.drawn(r, kind, shape, None))
        if e.kind == "list":
            open_names = [a for a in e.arguments if a.kind == "name" and a.name not in self.scope.names]
            if kind == "integers" and open_names and len(open_names) == len(e.arguments) and operator == "split":
                self.parts(open_names, shape)
            for place, argument in enumerate(e.arguments):
                if argument.kind == "name" and argument.name not in self.scope.names:
                    self.bind(argument.name, lambda r, place=place: self.drawn(r, kind, shape, place))

    def parts(self, names, shape):
        """Sizes of a split."""
        chosen = self.choices.of("parts " + " ".join(n.name for n in names))
        total = chosen.choice([n for n in shape if n >= len(names)] or [len(names)])
        cuts = sorted(chosen.sample(range(1, total), len(names) - 1)) if total > len(names) - 1 else []
        for name, low, high in zip(names, [0] + cuts, cuts + [total]):
            self.bind(name.name, lambda r, size=high - low: size)

    def value(self, e, term, kind, operands):
        """The value of an attribute, which may speak of variables that were not read yet."""
        while True:
            try:
                value = self.scope.value(e)
                break
            except Unknown as unknown:
                name = str(unknown)
                if name in self.scope.tensors or name in self.scope.lists or name not in self.many:
                    raise
                (self.list if self.many[name] else self.variable)(name, (term, -1, [operands]))
        self.check(e, kind, value)
        return value

    @staticmethod
    def check(e, kind, value):
        """A step that is no plain number is at least 1."""
        if kind != "steps":
            return
        elements = e.arguments if e.kind == "list" else [e] * len(value) if isinstance(value, list) else [e]
        values = value if isinstance(value, list) else [value]
        if len(elements) == len(values) and any(v < 1 and not x.is_number() for v, x in zip(values, elements)):
            raise IllTyped("steps of at least 1")

    def drawn(self, r, kind, shape, place):
        rank, spatial = len(shape), max(len(shape) - 2, 0)
        one = {"strides": lambda k: r.choice((1, 1, 2, 3)), "dilations": lambda k: r.choice((1, 1, 2, 3)),
               "kernel": lambda k: r.choice((1, 2, 2, 3)), "pads": lambda k: r.choice((0, 0, 1, 2)), "output_padding": lambda k: r.choice((0, 1)),
               "starts": lambda k: r.randrange(shape[k]), "slice_sizes": lambda k: r.randint(1, shape[k]), "steps": lambda k: r.choice((1, 1, 2, 3)),
               "repeats": lambda k: r.choice((1, 2, 3)), "pad_sizes": lambda k: r.choice((0, 0, 1, 2)), "shape": lambda k: r.choice(self.sizes),
               "wider": lambda k: r.choice(self.sizes), "integers": lambda k: r.choice(self.sizes), "axes": lambda k: r.randrange(max(rank, 1))}
        length = {"strides": spatial, "dilations": spatial, "kernel": spatial, "output_padding": spatial, "pads": 2 * spatial}
        if kind in one and place is not None:
            if kind in ("starts", "slice_sizes") and place >= rank:
                raise IllTyped("as many elements as dimensions")
            return one[kind](place)
        if kind == "axes":
            return [k for k in range(rank) if r.random() < 0.5]
        if kind == "shape":
            return factorised(r, math.prod(shape))
        if kind == "wider":
            return [r.choice(self.sizes) for _ in range(r.choice((0, 0, 1)))] + [n if n > 1 else r.choice(self.sizes) for n in shape]
        if kind == "integers":
            return factor_sum(r, r.choice(shape or [1]))
        if kind == "perm":
            return r.sample(range(rank), rank)
        if kind in one:
            return [one[kind](k) for k in range(length.get(kind, rank))]
        channels = [g for g in (1, 2, 3, 4) if len(shape) < 2 or shape[1] % g == 0]
        blocks = [b for b in (1, 2, 3) if len(shape) < 4 or shape[1] % (b * b) == 0 or shape[2] % b == shape[3] % b == 0]
        single = {"axis": lambda: r.randrange(max(rank, 1)), "flag": lambda: r.randrange(2), "integer": lambda: r.randint(-2, 4),
                  "block": lambda: r.choice(blocks), "diagonal": lambda: r.randint(-2, 2), "groups": lambda: r.choice(channels),
                  "size": lambda: r.randint(1, 4), "batch": lambda: r.randrange(2), "real": lambda: r.choice(REALS)}
        if kind not in single:
            raise IllTyped(kind)
        return single[kind]()


def attribute_names(term):
    """Names that attributes bind, with the kind of the attribute."""
    found = {}
    for operand in term.operands:
        found.update(attribute_names(operand))
    for key, e in term.attributes:
        if e.kind == "name" and key in ATTRIBUTES.get(term.name, {}):
            found[e.name] = ATTRIBUTES[term.name][key][0]
    return found


def asked_type(term, name):
    """The type that an operator asks of the variable."""
    from evaluation import BOOLEAN_OPERANDS, INTEGER_OPERANDS
    for k, operand in enumerate(term.operands):
        if operand.kind in ("variable", "list") and operand.name == name:
            if k in BOOLEAN_OPERANDS.get(term.name, ()):
                return "bool"
            if INTEGER_OPERANDS.get(term.name) == k:
                return "int64"
        if found := asked_type(operand, name):
            return found
    return None


def broadcast_shape(r, shape, sizes):
    kind = r.random()
    if kind < 0.55:
        return shape
    shape = [n if n > 1 and r.random() < 0.6 else r.choice(sizes) if n == 1 and r.random() < 0.5 else 1 for n in shape]
    return shape[r.randint(0, len(shape)):] if kind < 0.85 else [r.choice(sizes)] + shape


def factorised(r, total):
    result = []
    for _ in range(r.choice((0, 1, 1, 2, 2, 3))):
        f = r.choice([k for k in range(1, total + 1) if total % k == 0])
        result.append(f)
        total //= f
    result.insert(r.randint(0, len(result)), total)
    return result


def factor_sum(r, total):
    parts = []
    while total > 0:
        parts.append(r.randint(1, total))
        total -= parts[-1]
    return parts


class Case:
    """Names and shapes at which the source is typed and the guards hold."""

    def __init__(self, rule, binder, scope):
        self.rule, self.names, self.shapes = rule, scope.names, binder.shapes
        self.counts = {name: len(tensors) for name, tensors in scope.lists.items()}
        self.pointwise, self.floating = binder.pointwise, binder.floating
        self.types = {o: (scope.tensors[o].shape, scope.tensors[o].type) for o in rule.outputs()}
        self.ranges = {}
        for guard in rule.guards:
            if guard.kind == "in_range":
                self.ranges[guard.value] = [scope.integer(e) for e in guard.arguments]

    def scope(self, values):
        """`values`: an array for each name of self.shapes."""
        scope = Scope()
        scope.names = dict(self.names)
        for name, (_, data_type) in self.shapes.items():
            scope.tensors[name] = Tensor(values[name], data_type)
        for name, count in self.counts.items():
            scope.lists[name] = [scope.tensors[f"{name}{k}"] for k in range(count)]
        return scope

    def sides(self, domain, values):
        """The outputs of the source, and a function that evaluates those of the target."""
        scope = self.scope(values)
        Side(domain, scope).run(self.rule.source)
        outputs = {o: scope.tensors[o] for o in self.rule.outputs()}

        def target():
            for o in outputs:
                scope.tensors.pop(o, None)
            Side(domain, scope).run(self.rule.target, {o: t.type for o, t in outputs.items()})
            return {o: scope.tensors[o] for o in outputs}

        return outputs, target

    def both(self, domains, values):
        """The outputs of both sides, each evaluated in its domain."""
        scope = self.scope(values)
        Side(domains[0], scope).run(self.rule.source)
        source = {o: scope.tensors[o] for o in self.rule.outputs()}
        for o in source:
            scope.tensors.pop(o)
        Side(domains[1], scope).run(self.rule.target, {o: t.type for o, t in source.items()})
        return source, {o: scope.tensors[o] for o in source}

    def source(self, domain, values):
        """The outputs of the source alone."""
        scope = self.scope(values)
        Side(domain, scope).run(self.rule.source)
        return {o: scope.tensors[o] for o in self.rule.outputs()}

    def __str__(self):
        parts = [f"{n} = {v}" for n, v in sorted(self.names.items())]
        return ", ".join(parts + [f"{n}: {t}{list(s)}" for n, (s, t) in self.shapes.items()])


def case_of(rule, choices, pins=None):
    """(case, progress): a case, or None and how far the source was typed."""
    scope, progress = Scope(), [0]
    try:
        binder = Binder(rule, choices, scope, pins)
        binder.declare()

        def after(name, operands, results):
            progress[0] += 1
            if any(t.values.size == 0 for t in results):
                raise IllTyped("no empty tensor")
            if any(t.values.size > 20 * MOST_ELEMENTS for t in results):
                raise IllTyped("a tensor of a size that can be looked at")

        Side(Shapes(), scope, binder, after).run(rule.source)
        for guard in binder.guards:
            if not scope.holds(guard):
                raise IllTyped("a guard")
            progress[0] += 1
        case = Case(rule, binder, scope)
        if any(low >= end for low, end in case.ranges.values()):
            raise IllTyped("a range with an element")
        return case, progress[0]
    except (IllTyped, Unknown, ValueError, MemoryError):
        return None, progress[0]


class Latest:
    """The cases of the latest rule, which is searched for a difference and for what its float class does not allow."""
    rule, asked, attempts, found = None, None, 0, []


def cases(rule, seed, wanted, attempts, pins=None):
    """Up to `wanted` cases. The same are given again, to whom asks for them with no more attempts."""
    if pins is not None:
        return [case for _, case in searched(rule, seed, wanted, attempts, pins)]
    if Latest.rule is not rule or Latest.asked != (seed, wanted) or Latest.attempts < attempts:
        Latest.rule, Latest.asked, Latest.attempts = rule, (seed, wanted), attempts
        Latest.found = searched(rule, seed, wanted, attempts)
    return [case for at, case in Latest.found if at < attempts]


def searched(rule, seed, wanted, attempts, pins=None):
    """(number of the attempt, case). A search keeps what types more of the source, and begins again now and then."""
    found, best, best_progress, stale = [], None, -1, 0
    fresh = random.Random(f"{rule.name} {seed}")
    for attempt in range(attempts):
        choices = Choices(fresh.getrandbits(40)) if best is None else best.vary(best.asked)
        case, progress = case_of(rule, choices, pins)
        if case is not None:
            found.append((attempt, case))
            best, best_progress, stale = None, -1, 0
            if len(found) == wanted:
                break
            continue
        stale += 1
        if progress >= best_progress:
            stale = 0 if progress > best_progress else stale
            best, best_progress = choices, progress
        if stale > 40:
            best, best_progress, stale = None, -1, 0
    return found


def numbers(r, data_type, strategy, casts):
    """A function that draws an element."""
    if data_type == "bool":
        return lambda: r.randrange(2)
    if data_type in INTEGERS:
        low, end = INTEGERS[data_type]
        pool = {"positive": [1, 2, 3], "bits": [0, 1], "indices": [0, 0, 1, 1, 2, -1], "far": [0, 1, 300, 2**24, 2**24 + 1, -129, 2049, 40000, 2**31 + 3]}
        some = [v for v in pool.get(strategy, [-7, -3, -2, -1, 0, 1, 2, 3, 5]) if low <= v < end]
        return lambda: r.choice(some)
    assert data_type in FLOATING
    pool = {"positive": [Fraction(1, 2), 1, 2, 3, Fraction(5, 4), 4], "bits": [0, 1], "indices": [-2, -1, 1, 2],
            "whole": [-3, -2, -1, 0, 1, 2, 3], "edges": [-6, -3, -1, Fraction(-1, 2), 0, Fraction(1, 2), 1, 3, 6, Fraction(5, 2), Fraction(-5, 2)]}
    if strategy == "far" and casts:
        far = {"float16": [2048, 1000, Fraction(1, 1024), -7], "bfloat16": [256, -7]}.get(data_type, [2049, 70000, 2**24 - 1, Fraction(1, 2**20), -300, 3])
        return lambda: r.choice(far)
    if strategy in pool:
        return lambda: r.choice(pool[strategy])
    return lambda: Fraction(r.randint(-31, 31), 8)


STRATEGIES = ("whole", "eighths", "positive", "bits", "edges", "indices")


def values_of(case, seed, strategy):
    r = random.Random(f"{seed} {strategy}")
    casts = "cast" in case.rule.operators()
    result = {}
    for name, (shape, data_type) in case.shapes.items():
        draw = numbers(r, data_type, strategy, casts)
        adjusted = adjust(case, name, draw, r)
        array = numpy.empty(shape, dtype=object)
        flat = [adjusted() for _ in range(array.size)]
        array[...] = numpy.array(flat + [None], dtype=object)[:-1].reshape(shape)
        result[name] = array
    return result


def adjust(case, name, draw, r):
    """What is drawn, where the guards on values let it be."""
    kinds = {g.kind: g for g in case.rule.guards if g.value == name}
    if "equal" in kinds:
        number = kinds["equal"].arguments[0]
        value = number.arguments[0].number if number.kind == "negate" else number.number
        return lambda: int(value) if isinstance(value, Fraction) and value.denominator == 1 else value
    if name in case.ranges:
        low, end = case.ranges[name]
        return lambda: r.randrange(low, max(end, low + 1))
    if "positive" in kinds:
        return lambda: abs(draw()) or 1
    if "nonnegative" in kinds:
        return lambda: abs(draw())
    if "nonzero" in kinds:
        return lambda: draw() or 2
    return draw
