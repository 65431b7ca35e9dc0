"""Looks for what the float class of a rule does not allow: the table of docs/rules.md, Floating point."""

import math
import random
import zlib

import numpy

from exact import INTEGERS, Unsure
from floats import POLICIES, TYPES, Floats
from operators import IllTyped
from sampling import adjust, cases, numbers

SEVERAL = 200    # times the error of the source that the error of the target may be
NOISES = 6       # evaluations with noise that estimate an error
SURE_NOISES = 80
EXACT_POLICIES = 4
WIDTHS = ("float32", "float16")
ORDINARY = ("ordinary", "whole", "moderate", "offset", "small", "steps", "magnitudes", "magnitudes")
EXTREME = ("special", "special", "no number", "no number", "no number", "large", "large", "zeros")
INFINITE = ("0 and no number", "infinities meet")
ZERO = ("cancelled", "both zeros", "open zero", "chose zero", "underflow")


def special(width, subnormal):
    f = numpy.finfo(TYPES[width])
    usual = (0.0, -0.0, 1, -1, 6, -3, numpy.inf, -numpy.inf, numpy.nan, f.max, -f.max, f.tiny, -f.tiny)
    return [float(v) for v in usual + ((f.smallest_subnormal,) if subnormal else ())]


def drawer(r, strategy, width, subnormal):
    """A function that draws a floating number."""
    if strategy == "whole":
        return lambda: float(r.randint(-4, 4))
    if strategy == "offset":  # far from 0 beside how much they differ
        return lambda: (3000 if width == "float32" else 100) + r.random()
    if strategy == "small":
        return lambda: r.choice((-1, 1)) * 10 ** r.uniform(-3, 0)
    if strategy == "magnitudes":  # numbers far larger than others of the same tensor
        low, high = (-6, 10) if width == "float32" else (-3, 4)
        return lambda: r.choice((-1, 1)) * 10 ** r.uniform(low, high)
    if strategy == "no number":
        return lambda: numpy.nan
    if strategy == "steps":  # near where rounding to integers jumps
        near = 1e-9 if width == "float32" else 1e-4
        return lambda: r.choice((0, 1, 2, 0.5)) * r.choice((-1, 1)) + r.choice((0, -near, near))
    if strategy == "large":
        return lambda: r.choice((-1, 1)) * r.choice((1, 3, 8, 11, 20, 60, 88, 95, 150) if width == "float32" else (1, 3, 8, 11, 12, 20))
    if strategy == "moderate":
        return lambda: r.choice((-1, 1)) * r.uniform(4, 10)
    if strategy == "zeros":
        return lambda: r.choice((0.0, -0.0, 1.0, -1.0))
    if strategy == "special":
        pool = special(width, subnormal)
        return lambda: r.choice(pool)
    return lambda: r.choice((-1, 1)) * r.uniform(0.1, 4)


def guarded(case, name, draw):
    """What is drawn, where the guards on values let it be. A number is not NaN where it is not negative."""
    kinds = {g.kind for g in case.rule.guards if g.value == name}

    def checked():
        x = draw()
        if kinds & {"positive", "nonnegative", "nonzero", "finite"}:
            x = 1.0 if x != x else x
        if "finite" in kinds and abs(x) == numpy.inf:
            x = 2.0
        if kinds & {"positive", "nonnegative"}:
            x = abs(x) if x < 0 else x  # -0 is not negative
        return 2.0 if x == 0 and kinds & {"positive", "nonzero"} else x
    return checked


def values_of(case, seed, strategy, width, subnormal):
    """Arrays for the variables, and their types. In tensors one element is extreme, in the vectors of pointwise rules each may be."""
    r = random.Random(f"{seed} {strategy} {width}")
    values, types = {}, {}
    floating = [n for n, (_, t) in case.shapes.items() if t not in INTEGERS and t != "bool"]
    target = r.choice(floating) if floating else ""
    for name, (shape, data_type) in case.shapes.items():
        declared = case.rule.declarations.get(name)
        fixed = any(g.kind == "equal" and g.value == name for g in case.rule.guards)
        if data_type in INTEGERS or data_type == "bool" or fixed:
            draw = adjust(case, name, numbers(r, data_type, "whole", False), r)
            types[name] = data_type if data_type in INTEGERS or data_type == "bool" else width
            shape = () if fixed and case.pointwise else shape  # a number that the rule writes
            values[name] = numpy.array([draw() for _ in range(int(numpy.prod(shape)))], dtype=object).reshape(shape)
            continue
        types[name] = declared.data_type if declared is not None and declared.data_type else width
        usual = guarded(case, name, drawer(r, strategy if strategy in ORDINARY else "ordinary", width, subnormal))
        extreme = guarded(case, name, drawer(r, strategy, width, subnormal))
        flat = [usual() for _ in range(int(numpy.prod(shape)))]
        if strategy in EXTREME and case.pointwise:
            flat = [extreme() for _ in flat]
        elif strategy in ("large", "zeros"):
            flat = [extreme() for _ in flat]
        elif strategy in EXTREME and name == target and flat:
            flat[r.randrange(len(flat))] = extreme()
        values[name] = numpy.array(flat, dtype=float).reshape(shape)
    return values, types


class Run:
    """One evaluation of both sides, or of the source alone where there is one domain."""

    def __init__(self, case, values, types, domains, noisy=False):
        shapes, case.shapes = case.shapes, {n: (s, types[n]) for n, (s, _) in case.shapes.items()}
        try:
            arrays = {n: numpy.asarray(v).astype(TYPES.get(types[n], types[n])).astype(domains[0].dtype_of(types[n])) for n, v in values.items()}
            if noisy:  # the variables are results of an operator, too
                arrays = {n: domains[0].rounded(v) for n, v in arrays.items()}
            with numpy.errstate(all="ignore"):
                self.source, self.target = case.both(domains, arrays) if len(domains) > 1 else (case.source(domains[0], arrays), None)
        finally:
            case.shapes = shapes


def points_of(case, values):
    return max(v.size for v in values.values()) if case.pointwise else 0


def policies(r, first):
    return {key: choices[0] if first else r.choice(choices) for key, choices in POLICIES.items()}


def same_bits(a, b):
    if a.dtype.kind != "f":
        return a == b
    return (numpy.isnan(a) & numpy.isnan(b)) | ((a == b) & (numpy.signbit(a) == numpy.signbit(b)))


def shown(case, values, name, index, a, b, what):
    texts = "; ".join(f"{n} = {v.tolist()}" for n, v in values.items())
    if case.pointwise:
        at = {n: v[index] if v.shape else v[()] for n, v in values.items()}
        texts = "; ".join(f"{n} = {v!r}" for n, v in at.items())
    return f"{case}; {texts}: {what}: output {name} at {list(index)}: source {a!r}, target {b!r}"


def first(mask):
    return tuple(int(k) for k in numpy.argwhere(mask)[0])


def exact_difference(case, values, types, width, r, extreme):
    for number in range(EXACT_POLICIES):
        chosen = policies(r, number == 0)
        points = points_of(case, values)
        domains = [Floats(width, chosen, points), Floats(width, chosen, points)]
        run = Run(case, values, types, domains)
        for name, t in run.source.items():
            a, b = t.values, run.target[name].values
            equal = same_bits(a, b)
            if not equal.all():
                index = first(~equal)
                return shown(case, values, name, index, a[index], b[index], f"other bits in {width}")
    return ""


def rounding_difference(case, values, types, width, r, extreme):
    chosen = dict(policies(r, True), start="zero")
    points = points_of(case, values)
    domains = [Floats(width, chosen, points), Floats(width, chosen, points)]
    run = Run(case, values, types, domains)
    noted = [domains[0].noted(n) | domains[1].noted(n) for n in ("near the largest", "open NaN")]
    free = noted[0] | noted[1]
    met = domains[0].noted(*INFINITE) | domains[1].noted(*INFINITE)
    zero = domains[0].noted(*ZERO) | domains[1].noted(*ZERO)
    floating = [v for n, v in values.items() if types[n] in TYPES and types[n] != "bool"]
    finite = numpy.ones((), dtype=bool)
    for v in floating:
        own = numpy.isfinite(numpy.asarray(v, dtype=float))
        finite = finite & (own if case.pointwise and v.shape else own.all())
    # What double precision gives tells an overflow from a number that is infinite.
    wide = Run(case, values, types, [Floats(width, chosen, points, exact=True)]).source
    for name, t in run.source.items():
        a, b = t.values, run.target[name].values
        if a.dtype.kind != "f":
            wrong = (a != b) & ~free & ~met
            what = f"another value in {width}"
            if wrong.any():
                index = first(wrong)
                return shown(case, values, name, index, a[index], b[index], what)
            continue
        free_here, met_here = numpy.broadcast_to(free, a.shape), numpy.broadcast_to(met, a.shape)
        with numpy.errstate(all="ignore"):
            overflow = numpy.isinf(a) & numpy.isfinite(wide[name].values)
        checks = [
            ("finite numbers give no finite number", numpy.isfinite(a) & ~numpy.isfinite(b) & numpy.broadcast_to(finite, a.shape) & ~free_here),
            ("NaN changes", (numpy.isnan(a) != numpy.isnan(b)) & ~met_here & ~free_here),
            ("an infinity changes", (numpy.isinf(a) | numpy.isinf(b)) & (a != b) & ~numpy.isnan(a) & ~numpy.isnan(b) & ~overflow & ~met_here &
             ~free_here),
            ("the sign of 0 changes", (a == 0) & (b == 0) & (numpy.signbit(a) != numpy.signbit(b)) & ~numpy.broadcast_to(zero, a.shape)),
        ]
        for what, wrong in checks:
            if wrong.any():
                index = first(wrong)
                return shown(case, values, name, index, a[index], b[index], f"{what} in {width}")
    return "" if extreme else error_difference(case, values, types, width, chosen, run, domains, free)


def error_difference(case, values, types, width, chosen, run, domains, free):
    """Errors of the target that are far larger than the source's own."""
    if not all(numpy.isfinite(numpy.asarray(v, dtype=float)).all() for n, v in values.items() if types[n] in TYPES):
        return ""
    jumps = domains[0].jumps

    def source(**how):
        d = Floats(width, chosen, domains[0].points, jumps=jumps, replay=True, **how)
        return Run(case, values, types, [d], "noise" in how).source

    truth = source(exact=True)
    spread = {n: numpy.zeros(t.values.shape) for n, t in truth.items()}
    found = ""
    for noises in (range(NOISES), range(NOISES, SURE_NOISES)):  # few evaluations may miss how large an error can be
        for k in noises:
            for n, t in source(noise=numpy.random.default_rng(k)).items():
                if t.values.dtype.kind == "f":
                    with numpy.errstate(all="ignore"):
                        spread[n] = numpy.fmax(spread[n], numpy.abs(t.values - truth[n].values))
        found = too_large(case, values, width, run, truth, spread, free)
        if not found:
            return ""
    return found


def too_large(case, values, width, run, truth, spread, free):
    limits = numpy.finfo(TYPES[width])
    for name, t in truth.items():
        if t.values.dtype.kind != "f":
            continue
        exact, b, a = t.values, run.target[name].values.astype(float), run.source[name].values.astype(float)
        allowed = SEVERAL * (spread[name] + float(limits.eps) / 2 * numpy.abs(exact)) + 4 * float(limits.tiny)
        with numpy.errstate(all="ignore"):
            wrong = numpy.isfinite(exact) & numpy.isfinite(a) & numpy.isfinite(b) & (numpy.abs(b - exact) > allowed)
        wrong = wrong & ~numpy.broadcast_to(free, exact.shape)
        if wrong.any():
            index = first(wrong)
            return shown(case, values, name, index, a[index], b[index], f"a large error in {width}, {exact[index]} with no rounding")
    return ""


STRICTER = {"special": "rounding", "rounding": "exact"}


def stricter(rule, float_class, seed):
    """What shows that the rule has not the next stricter class; and how many samples with extreme numbers were looked at."""
    return search(rule, STRICTER[float_class], seed) if float_class in STRICTER else ("", 0)


def larger(found, wanted):
    """Of the cases the first, and the others with the most elements: in one element nothing can be mistaken for another."""
    different = list({str(case): case for case in found}.values())
    rest = sorted(different[1:], key=lambda case: -sum(math.prod(shape) for shape, _ in case.shapes.values()))
    return rest[:wanted - 1] + different[:1]


def search(rule, float_class, seed, wanted=2, attempts=400):
    """What the class does not allow; "" where nothing is found. The second value counts samples with extreme numbers."""
    if float_class == "special":
        return "", 0
    seed = f"{seed} {zlib.crc32(rule.text.encode())}"
    check, compared = exact_difference if float_class == "exact" else rounding_difference, 0
    for number, case in enumerate(larger(cases(rule, seed, 3 * wanted, attempts), wanted)):
        if not any(t in TYPES and t != "bool" for _, t in (*case.shapes.values(), *case.types.values())):
            return "", compared
        for width in WIDTHS:
            for again, strategy in enumerate(ORDINARY + EXTREME):
                r = random.Random(f"{seed} {number} {again} {width}")
                values, types = values_of(case, r.random(), strategy, width, float_class == "exact")
                try:
                    found = check(case, values, types, width, r, strategy in EXTREME)
                except (Unsure, IllTyped):  # a target that is of this type in no model
                    continue
                compared += strategy in EXTREME
                if found:
                    return found, compared
    return "", compared
