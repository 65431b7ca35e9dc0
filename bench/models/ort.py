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
    """The median of `ratios`, an array with a row for each round, and the 95 % interval of its bootstrap distribution: of rounds, and of turns in
    them."""
    rounds, turns = ratios.shape
    random = numpy.random.default_rng(0)
    chosen = ratios[random.integers(rounds, size=(2000, rounds, 1)), random.integers(turns, size=(2000, rounds, turns))]
    medians = numpy.median(chosen.reshape(2000, -1), axis=1)
    return Ratio(float(numpy.median(ratios)), *(float(q) for q in numpy.quantile(medians, [0.025, 0.975])))


def ratios(paths, inputs, threads=1, rounds=6, turns=6, seconds_a_turn=0.02):
    """(nanoseconds of processor time of one run of the first path, a Ratio for each path; the first one's is the noise of the method).

    A round makes a session of every variant, and two of the first path, in an order of its own: two sessions of one model differ by up to 10 %
    in a process, for as long as they live. Each turn of a round times every session once, in an order that changes from turn to turn. A ratio is
    that to the mean of the two sessions of the first path, and the first path's that of one of them to the other."""
    random = numpy.random.default_rng(1)
    paths = [paths[0], *paths]
    times = numpy.empty((rounds, turns, len(paths)))
    repeats = None
    for number in range(rounds):
        variants = [None] * len(paths)
        for k in random.permutation(len(paths)):
            variants[k] = session(paths[k], threads)
            variants[k].run(None, inputs)
        if repeats is None:
            once = min(processor_time(variants[0], inputs, 1) for _ in range(3))
            repeats = max(1, round(seconds_a_turn * 1e9 / max(once, 1)))
        for turn in range(turns):
            for k in random.permutation(len(paths)):
                times[number, turn, k] = processor_time(variants[k], inputs, repeats)
    first = times[:, :, :2].mean(axis=2)
    return float(numpy.median(first)), [interval(times[:, :, 1] / times[:, :, 0]),
                                        *(interval(times[:, :, k] / first) for k in range(2, len(paths)))]
