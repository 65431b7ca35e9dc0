"""How long variants of a model take in ONNX Runtime, as ratios: its own optimisations are on, and the variants take turns in one process."""

import dataclasses
import pathlib
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from xflow_onnx import runner_ort


@dataclasses.dataclass
class Ratio:
    """The time of a variant as a part of the first one's: the median over the turns, and the ends of its 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self):
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


def session(path, threads):
    # A thread that waits should not count as one that works.
    return runner_ort.make_session(str(path), threads, entries=[("session.intra_op.allow_spinning", "0")])


def processor_time(variant, inputs, repeats):
    return runner_ort.times_of(lambda: variant.run(None, inputs), repeats, [time.process_time_ns])[0]


def interval(ratios):
    """The median of `ratios` and the 95 % interval of its bootstrap distribution."""
    random = numpy.random.default_rng(0)
    medians = numpy.median(random.choice(ratios, (2000, len(ratios))), axis=1)
    return Ratio(float(numpy.median(ratios)), *(float(q) for q in numpy.quantile(medians, [0.025, 0.975])))


def ratios(paths, inputs, threads=1, turns=31, seconds_a_turn=0.02):
    """(nanoseconds of processor time of one run of the first path, a Ratio for each path; the first one's is the noise of the method).

    Each turn times every variant once, in an order that changes from turn to turn, and the first path a second time."""
    variants = [session(path, threads) for path in [paths[0], *paths]]
    for variant in variants:
        variant.run(None, inputs)
    once = min(processor_time(variants[0], inputs, 1) for _ in range(3))
    repeats = max(1, round(seconds_a_turn * 1e9 / max(once, 1)))
    times = numpy.empty((turns, len(variants)))
    random = numpy.random.default_rng(1)
    for turn in range(turns):
        for k in random.permutation(len(variants)):
            times[turn, k] = processor_time(variants[k], inputs, repeats)
    return float(numpy.median(times[:, 0])), [interval(times[:, k] / times[:, 0]) for k in range(1, len(variants))]
