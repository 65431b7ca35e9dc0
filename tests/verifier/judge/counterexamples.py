"""Evaluates the counterexamples that `xflow verify --json` prints."""

import math
import re
from fractions import Fraction

import numpy

from exact import INTEGERS, Exact, Unsure, is_number, stopped
from operators import IllTyped
from rule_text import TYPES
from sampling import Pins, cases
from verdicts import NotApplied, differs, typed_difference

ATTEMPTS = 3000


def number(text):
    value = Fraction(text) if re.fullmatch(r"-?[0-9]+(/[0-9]+)?", text) else float(text)
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def tensor(text, shape):
    """An array of the numbers of a nested list; "true" and "false" are 1 and 0."""
    found = [{"true": 1, "false": 0}.get(t) if t in ("true", "false") else number(t) for t in re.findall(r"[^\[\], ]+", text)]
    array = numpy.empty(len(found), dtype=object)
    array[:] = found
    return array.reshape(shape)


def chosen(rule, choice):
    """What a choice says: "B: 0 dimensions, a = 1"."""
    pins = Pins()
    for part in re.split(r", (?![^\[]*\])", choice):
        if match := re.fullmatch(r"(\w+): ([0-9]+) (dimension|element)s?", part):
            pins.lengths[match.group(1)] = int(match.group(2))
        elif match := re.fullmatch(rf"(\w+): ({'|'.join(TYPES)})", part):
            pins.types[match.group(1)] = match.group(2)
        elif match := re.fullmatch(r"(\w+): ([0-9]+) operands?", part):
            pins.counts[match.group(1)] = int(match.group(2))
        elif match := re.fullmatch(r"(\w+) = (-?[0-9]+)", part):
            pins.names[match.group(1)] = int(match.group(2))
        elif match := re.fullmatch(r"(\w+) = \[(.*)\]", part):
            pins.names[match.group(1)] = [int(t) for t in match.group(2).split(",") if t.strip()]
        elif match := re.fullmatch(r"(.+)\? of (\w+) is (.+)", part):
            places = [k for k, e in enumerate(rule.declarations[match.group(2)].dims) if e.kind == "optional"]
            for k in places:  # one place in most types; others stay open
                if len(places) == 1:
                    pins.ones[(match.group(2), k)] = match.group(3) == "1"
        elif part:
            raise ValueError(f"a choice that is not known: {part}")
    return pins


def pins_of(rule, counterexample):
    pins = chosen(rule, counterexample["choice"])
    for name, value in counterexample["integers"].items():
        if match := re.fullmatch(r"(\w+)(?:\[([0-9]+)\]|\.([0-9]+))", name):
            pins.elements[(match.group(1), int(match.group(2) or match.group(3)))] = value
            continue
        pins.names[name] = number(value) if isinstance(value, str) else value
        if match := re.fullmatch(r"([A-Za-z_]\w*?)([0-9]+)", name):  # element of a sequence, unless it is a name of its own
            if match.group(1) in pins.lengths:
                pins.elements[(match.group(1), int(match.group(2)))] = value
    for t in counterexample["tensors"]:
        if "shape" in t:
            pins.shapes[t["name"]] = t["shape"]
    return pins


def replay(rule, counterexample, seed):
    """Why the counterexample is none, or "". What it leaves open is looked for, so that the source is typed and the guards hold."""
    pins = pins_of(rule, counterexample)
    given = {t["name"]: t["value"] for t in counterexample["tensors"]}
    reason = "no sizes of this kind type the source with its guards"
    for case in cases(rule, seed, 6, ATTEMPTS, pins):
        try:
            if typed_difference(case):
                return ""
        except NotApplied:
            continue
        if not given:
            reason = f"both sides are typed and their shapes are the same: {case}"
            continue
        missing = set(case.shapes) - set(given)
        values = {name: tensor(given[name], case.shapes[name][0]) for name in case.shapes if name in given}
        values.update({name: numpy.zeros(case.shapes[name][0], dtype=object) for name in missing})
        reason = differing(case, values, counterexample)
        if not reason:
            return ""
    return reason


def differing(case, values, counterexample):
    """Why the sides do not differ where the counterexample says so, or ""."""
    for name, array in values.items():
        low, end = INTEGERS.get(case.shapes[name][1], (-math.inf, math.inf))
        if any(x != math.floor(x) or not low <= x < end for x in array.flat) and low > -math.inf:
            return f"an entry of {name} is no {case.shapes[name][1]}"
    for guard in case.rule.guards:
        if reason := guard_fails(case, guard, values):
            return reason
    try:
        stopped[0] = False
        source, target = case.sides(Exact, values)
        if stopped[0]:
            return "the source does not run"
        name, index = counterexample["output"], tuple(counterexample["index"])
        a = source[name].values[index]
        if not is_number(a):
            return "the source is not defined there"
        made = target()
        if stopped[0]:
            return ""
    except (IllTyped, ValueError):
        return ""
    except Unsure:
        return "approximate numbers do not tell"
    b = made[name].values[index]
    return "" if differs(a, b, 0) else f"output {name} at {list(index)}: {a} in the source, {b} in the target"


def guard_fails(case, guard, values):
    bounds = {"nonzero": lambda x: x != 0, "positive": lambda x: x > 0, "nonnegative": lambda x: x >= 0}
    if guard.kind == "in_range":
        low, end = case.ranges[guard.value]
        bounds["in_range"] = lambda x: low <= x < end
    if guard.kind in bounds and guard.value in values and not all(bounds[guard.kind](x) for x in values[guard.value].flat):
        return f"guard {guard.kind}({guard.value}) does not hold"
    return ""
