"""Looks for sizes, attributes and numbers at which the two sides of a rule differ."""

import zlib
from dataclasses import dataclass

import numpy

from exact import CLOSE, Exact, Unsure, are_numbers, is_number, stopped
from evaluation import Unknown
from operators import IllTyped, Tensor, Unsupported
from sampling import STRATEGIES, cases, values_of
from shapes import Shapes


@dataclass
class Found:
    """A difference, and what was looked at."""
    difference: str = ""
    cases: int = 0      # sizes and attributes at which the source is typed
    compared: int = 0   # samples of numbers at which the source has values


def text_of(array):
    return str(array.tolist()).replace("Fraction", "")


class NotApplied(Exception):
    """The rule matches, and the target has other types than the source, so that it is not applied."""


def typed_difference(case):
    """Says how the target is not typed as the source is, at the sizes of the case."""
    flat = {name: numpy.zeros(shape, dtype=bool) for name, (shape, _) in case.shapes.items()}
    source, target = case.sides(Shapes(), flat)
    try:
        made = target()
    except (IllTyped, ValueError) as error:
        if case.floating != "float32":  # a rule is applied where the types of the target come out alone
            raise NotApplied from error
        return f"the target is ill-typed: {error}"
    except Unknown as error:
        return f"the target is ill-typed: {error} is not known"
    for name, t in source.items():
        if made[name].type != t.type and case.floating != "float32":
            raise NotApplied
        if made[name].shape != t.shape or made[name].type != t.type:
            return f"output {name}: {t.type}{list(t.shape)} in the source, {made[name].type}{list(made[name].shape)} in the target"
    return ""


def largest(values):
    return max((abs(x) for x in values.flat if isinstance(x, float) and is_number(x)), default=0)


def differs(a, b, scale):
    if not is_number(b):
        return True
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) > CLOSE * max(1, scale, abs(a), abs(b))
    return a != b


def difference_at(case, values):
    """(a difference or "", True if an element of the source has a value)."""
    try:
        stopped[0] = False
        source, target = case.sides(Exact, values)
        if stopped[0]:
            return "", False
        known = {name: are_numbers(t.values) for name, t in source.items()}
        if not any(k.any() for k in known.values()):
            return "", False
        made = target()
    except (Unsure, OverflowError):
        return "", False
    if stopped[0]:
        return "the target does not run: an index is out of range, or an integer is divided by 0", True
    for name, t in source.items():
        scale = max(largest(t.values), largest(made[name].values))
        if scale > 1e6:
            return "", False
        for index in numpy.ndindex(t.values.shape):
            if known[name][index] and differs(t.values[index], made[name].values[index], scale):
                return f"output {name} at {list(index)}: source {t.values[index]}, target {made[name].values[index]}", True
    return "", True


def search(rule, seed, wanted=10, attempts=1500, strategies=STRATEGIES, pins=None):
    """Looks for a difference; deterministic in the rule's text and the seed."""
    found = Found()
    seed = f"{seed} {zlib.crc32(rule.text.encode())}"
    for number, case in enumerate(cases(rule, seed, wanted, attempts, pins)):
        try:
            difference = typed_difference(case)
        except NotApplied:
            continue
        found.cases += 1
        if difference:
            found.difference = f"{case}: {difference}"
            return found
        far = 6 if "cast" in rule.operators() else 0
        for again, strategy in enumerate(strategies + ("far",) * far):
            values = values_of(case, f"{seed} {number} {again}", strategy)
            difference, defined = difference_at(case, values)
            found.compared += defined
            if difference:
                shown = "; ".join(f"{n} = {text_of(v)}" for n, v in values.items())
                found.difference = f"{case}; {shown}: {difference}"
                return found
    return found


__all__ = ["Found", "Tensor", "Unsupported", "search", "difference_at", "typed_difference"]
