"""Optimises random models (random_models.py) and says what is wrong with each result.

    random_suite.py DRIVER WORK [--seed N] [--count N] [--first N] [--device DEVICE] [--states N] [--workers N] [--time-limit SECONDS]

DRIVER is the program optimize_many, WORK a folder. A model that onnx's checker or ONNX Runtime refuses is drawn again. A result passes if the
checker takes it, nothing is lost, ONNX Runtime computes the same, and so does xflow's own evaluation where it can run the model. A model that
fails stays in WORK/failed with its inputs; the command that repeats it is printed. Exits with 1 if one fails.
"""

import argparse
import collections
import pathlib
import shutil
import sys
import time

import numpy
import onnx

import judge
from random_models import random_model

MOST_DRAWS = 20
NOT_EXECUTED = "could not be executed"  # of a rewrite that was taken back because nothing could be compared
TOLERANCE = 1e-3  # of the largest magnitude of an output


class Refused(Exception):
    pass


def difference(before, after):
    """Why `after` is not `before`; empty if it is."""
    before, after = numpy.asarray(before), numpy.asarray(after)
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{after.dtype}{list(after.shape)} instead of {before.dtype}{list(before.shape)}"
    if not numpy.issubdtype(before.dtype, numpy.floating):
        return "" if numpy.array_equal(before, after) else "other integers or booleans"
    finite = numpy.isfinite(before)
    if not numpy.array_equal(before[~finite], after[~finite], equal_nan=True) or not numpy.isfinite(after[finite]).all():
        return "other infinities or not-a-numbers"
    if not finite.any():
        return ""
    magnitude = float(numpy.abs(before[finite]).max())
    error = float(numpy.abs(before[finite].astype(numpy.float64) - after[finite]).max())
    allowed = TOLERANCE * magnitude
    return f"error {error:.3g}, allowed {allowed:.3g}" if error > allowed else ""


class Judge:
    def __init__(self, options):
        self.options = options
        self.driver = judge.Driver(options.driver, "--states", options.states, "--device", options.device)

    def draw(self, number, folder):
        """A model that can be run, as a file with its inputs and outputs."""
        for draw in range(MOST_DRAWS):
            try:
                model, feeds, external = random_model([self.options.seed, number, draw])
                path = folder / "in.onnx"
                if external:
                    data = {"save_as_external_data": True, "location": "in.data", "size_threshold": 64}
                    onnx.save(model, path, **data)
                else:
                    judge.write(path, model)
                if reason := judge.checked(str(path)):
                    raise Refused(reason)
                expected = judge.run(judge.session(str(path)), feeds)
                return draw, path, feeds, expected
            except Exception as error:  # whatever ONNX Runtime has against a model
                last = error
                (folder / "in.data").unlink(missing_ok=True)
        raise Refused(f"no model in {MOST_DRAWS} draws: {judge.first_line(last)}")

    def judge(self, number):
        """Problems, how often it was drawn again, and what became of it."""
        folder = self.options.work / "models" / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        draws, path, feeds, expected = self.draw(number, folder)
        numpy.savez(folder / "inputs.npz", **{f"in__{name}": value for name, value in feeds.items()})
        out = folder / "out.onnx"
        shapes = {name: list(value.shape) for name, value in feeds.items() if value.size > 0 and value.ndim > 0}
        # The size of a default is not looked at.
        weights = {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}
        named = [value.name for value in onnx.load(path).graph.input if value.name in weights]
        shapes |= {name: list(weights[name].dims) for name in named if weights[name].dims and 0 not in weights[name].dims}
        answer = self.driver.ask({"task": "optimize", "in": str(path), "out": str(out), "shapes": shapes}, self.options.time_limit)
        problems, kind = [], "kept"
        if "crash" in answer or "error" in answer:
            problems.append(f"crash: {answer['crash']}" if "crash" in answer else f"error: {answer['error']}")
        else:
            problems += [f"withdrawn: {text}" for text in answer["withdrawn"] if NOT_EXECUTED not in text]
            if out.read_bytes() != path.read_bytes():
                kind = "changed"
                problems += self.problems_of(path, out, feeds, expected)
                checked = self.check(path, out, folder)
                kind = "changed and evaluated" if checked == "" else kind
                problems += [f"evaluation: {checked}"] if checked else []
        if problems:
            failed = self.options.work / "failed" / str(number)
            shutil.rmtree(failed, ignore_errors=True)
            shutil.copytree(folder, failed)
        shutil.rmtree(folder)
        return problems, draws, kind, answer.get("seconds", 0)

    def problems_of(self, path, out, feeds, expected):
        before, after = onnx.load(path), onnx.load(out)
        if reason := judge.checked(str(out)):
            yield f"validity: {reason}"
        yield from judge.lost(before, after)
        try:
            found = judge.run(judge.session(str(out)), feeds)
        except Exception as error:
            yield f"results: {judge.first_line(error)}"
            return
        for value, *pair in zip(before.graph.output, expected, found):
            if reason := difference(*pair):
                yield f"results: output '{value.name}': {reason}"

    def check(self, path, out, folder):
        """What xflow's own evaluation says: empty if it is the same, None where it cannot run the models."""
        answer = self.driver.ask(
            {"task": "check", "a": str(path), "b": str(out), "inputs": [str(folder / "inputs.npz")]}, self.options.time_limit
        )
        if "crash" in answer:
            return f"crash: {answer['crash']}"
        return None if "error" in answer else answer["difference"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driver")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--device")
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=120)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.work / "failed", ignore_errors=True)
    if options.device is None:
        options.device = f"profile:{judge.write(options.work / 'suite.xprof', judge.PROFILE.encode())}"
    start = time.monotonic()
    judges = {}

    def handle(number):
        if not judges:
            judges[0] = Judge(options)  # each process has its own
        try:
            return judges[0].judge(number)
        except Refused as error:
            return [f"generator: {error}"], MOST_DRAWS, "refused", 0

    failed = redrawn = 0
    kinds = collections.Counter()
    slowest = (0, 0)
    for number, result in judge.work_on(range(options.first, options.first + options.count), handle, options.workers):
        problems, draws, kind, seconds = ([f"crash: {result}"], 0, "lost", 0) if isinstance(result, Exception) else result
        redrawn += draws
        kinds[kind] += 1
        slowest = max(slowest, (seconds, number))
        failed += bool(problems)
        for problem in problems:
            print(f"FAILED  model {number}: {problem}", flush=True)
        if problems:
            print(f"        repeat with: {sys.executable} {sys.argv[0]} {options.driver} {options.work} --seed {options.seed} --first {number} "
                  f"--count 1 --states {options.states}", flush=True)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"slowest: model {slowest[1]}, {slowest[0]:.1f} s")
    print(f"{options.count - failed} of {options.count} models pass, {redrawn} drawn again; {counts}; {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
