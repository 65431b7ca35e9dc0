"""Optimises every case of ONNX's backend suite that ONNX Runtime passes, and says what is wrong with each result.

    backend_suite.py DRIVER WORK [--device DEVICE] [--states N] [--workers N] [--plain] [--time-limit SECONDS] [NAME...]

DRIVER is the program optimize_many, WORK a folder for the models, NAME a case; without any all are judged. Models are decorated with
metadata, texts and a local function, unless --plain. A result passes if onnx's checker takes it, it computes what the case expects (within
the tolerances of the suite), nothing is lost, it is at most 1 % larger, optimising it again changes nothing, and optimising the original
again gives the same bytes. Times of kernels are those of a device that is made up (--device cpu measures), so every machine judges the same
results. Cases of known_failures.txt must fail; exits with 1 if another one fails or one of these does not.

    backend_suite.py DRIVER WORK --table --peers ENVIRONMENT

prints a table in Markdown of xflow and its peers (peer.py): how many cases pass, and how many fail for which reason. ENVIRONMENT is that of
`scripts/deps peers`.
"""

import argparse
import glob
import json
import pathlib
import sys
import time

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import judge

KINDS = ["node", "simple", "pytorch-converted", "pytorch-operator", "light"]
MOST_GROWTH = 1.01
KNOWN = pathlib.Path(__file__).with_name("known_failures.txt")


class Case:
    """A model of the suite with its sets of inputs and of what they give."""

    def __init__(self, name, path):
        self.name = name
        self.path = path
        self.rtol, self.atol = 1e-3, 1e-7
        settings = path.with_name("data.json")
        if settings.exists():
            tolerances = json.loads(settings.read_text())
            self.rtol, self.atol = tolerances.get("rtol", self.rtol), tolerances.get("atol", self.atol)

    def sets(self, model):
        """[({input: value}, [value])]."""
        weights = {tensor.name for tensor in model.graph.initializer}
        if self.path.parent.name == "light":
            feeds = {v.name: Runner.generate_dummy_data(v) for v in model.graph.input if v.name not in weights}
            outputs = self.path.with_suffix("")
            return [(feeds, [stored(f"{outputs}_output_{k}.pb", v.type) for k, v in enumerate(model.graph.output)])]
        found = []
        for folder in sorted(self.path.parent.glob("test_data_set_*")):
            count = len(glob.glob(f"{folder}/input_*.pb"))
            feeds = {v.name: stored(folder / f"input_{k}.pb", v.type) for k, v in enumerate(model.graph.input) if k < count}
            count = len(glob.glob(f"{folder}/output_*.pb"))
            found.append((feeds, [stored(folder / f"output_{k}.pb", v.type) for k, v in enumerate(model.graph.output) if k < count]))
        return found


def stored(path, kind):
    """The value in a file; `kind` is the declared type. Raises for those that onnx cannot read."""
    content = pathlib.Path(path).read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def cases(data):
    found = []
    for kind in KINDS:
        paths = sorted((data / kind).glob("*.onnx" if kind == "light" else "*/model.onnx"))
        found += [Case(p.stem if kind == "light" else p.parent.name, p) for p in paths]
    return found


def differs(model, case, sets):
    """Why a model (a path or bytes) does not give what the case expects; empty if it does."""
    try:
        session = judge.session(model)
        for feeds, expected in sets:
            found = judge.run(session, feeds)
            for k, (x, y) in enumerate(zip(expected, found, strict=False)):
                if reason := judge.same_values(x, y, case.rtol, case.atol):
                    return f"output {k}: {reason}"
        return ""
    except Exception as error:  # every fault of a model is an exception of ONNX Runtime
        return judge.first_line(error)


class Judge:
    def __init__(self, options, command):
        self.options = options
        self.driver = judge.Driver(*command)

    def optimize(self, source, output):
        return self.driver.ask({"task": "optimize", "in": str(source), "out": str(output)}, self.options.time_limit)

    def judge(self, case):
        """None for a case that ONNX Runtime does not pass; otherwise its problems, the kind of each first, and the slowest answer."""
        folder = self.options.work / case.name
        folder.mkdir(parents=True, exist_ok=True)
        model = onnx.load(case.path)
        try:
            sets = case.sets(model)
        except Exception:  # types that numpy does not have
            return None
        if not sets or differs(str(case.path), case, sets):
            return None
        if not self.options.plain and not refused(judge.decorate(model), case.path):
            source = judge.write(folder / "in.onnx", model)
        else:
            source = judge.write(folder / "in.onnx", case.path.read_bytes())
            model = onnx.load(source)
        return self.judge_result(case, sets, model, source)

    def judge_result(self, case, sets, model, source):
        out, again, second = (source.with_name(name) for name in ["out.onnx", "again.onnx", "second.onnx"])
        answers = [self.optimize(source, out)]
        problem = failure(answers[0])
        if problem:
            return [problem], answers
        before, after = source.read_bytes(), out.read_bytes()
        problems = []
        answers.append(self.optimize(source, again))
        if problem := failure(answers[-1]):
            problems.append(f"repeated {problem}")
        elif again.read_bytes() != after:
            problems.append("determinism: other bytes the second time")
        if after == before:
            return problems, answers
        answers.append(self.optimize(out, second))
        if problem := failure(answers[-1]):
            problems.append(f"stability: {problem}")
        elif second.read_bytes() != after:
            problems.append(f"stability: changes again by {', '.join(answers[-1]['rules']) or 'nothing that is named'}")
        result = onnx.load(out)
        if len(after) > MOST_GROWTH * len(before):
            problems.append(f"size: {len(before)} bytes became {len(after)}")
        if (reason := refused(result, case.path)) and not refused(model, case.path):
            problems.append(f"validity: {reason}")
        problems += judge.lost(model, result)
        if reason := differs(str(out), case, sets):
            problems.append(f"results: {reason}")
        return problems, answers


def refused(model, path):
    """Names of files are relative to the model's folder, so the message is checked."""
    return judge.checked(model)


def failure(answer):
    if "crash" in answer:
        return f"crash: {answer['crash']}"
    return f"error: {answer['error']}" if "error" in answer else ""


def known_failures():
    lines = [line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


# What a problem begins with, and the title of its column. A crash or an error of a second run is one as well.
COLUMNS = {
    "crash": ["crash", "error", "repeated"], "invalid": ["validity"], "other results": ["results"], "interface": ["interface"],
    "metadata": ["metadata"], "functions": ["functions"], "texts": ["texts"], "versions": ["versions"], "size": ["size"],
    "changes again": ["stability"], "other bytes": ["determinism"],
}


def print_table(selected, options, command):
    script = str(pathlib.Path(__file__).with_name("peer.py"))
    python = {name: options.peers / "bin/python" for name in ["onnxoptimizer", "onnxslim", "onnxsim"]}
    commands = {"xflow": command, **{name: [python[name], script, name] for name in python}}
    commands["ONNX Runtime, basic"] = [sys.executable, script, "onnxruntime"]
    print(f"| | cases | pass | pass, texts aside | {' | '.join(COLUMNS)} |")
    print(f"|---|{'---:|' * (len(COLUMNS) + 3)}")
    for name, started in commands.items():
        found = [problems for _, problems, _ in judge_all(selected, options, started)]
        kinds = [{problem.split()[0].rstrip(":") for problem in problems} for problems in found]
        counts = [sum(any(kind in own for kind in column) for own in kinds) for column in COLUMNS.values()]
        passing = f"{sum(not own for own in kinds)} | {sum(own <= {'texts'} for own in kinds)}"
        print(f"| {name} | {len(found)} | {passing} | {' | '.join(map(str, counts))} |", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driver")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device")
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--time-limit", type=float, default=120)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--peers", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.device is None:
        options.device = f"profile:{judge.write(options.work / 'suite.xprof', judge.PROFILE.encode())}"
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    selected = [case for case in cases(data) if not options.names or case.name in options.names]
    command = [options.driver, "--states", options.states, "--device", options.device]
    if options.table:
        return print_table(selected, options, command)
    return compare_with_known(selected, options, command)


def judge_all(selected, options, command):
    """(case, problems, answers) of each case that ONNX Runtime passes."""
    judges = {}

    def handle(case):
        if not judges:
            judges[0] = Judge(options, command)  # each process has its own
        return judges[0].judge(case)

    for case, result in judge.work_on(selected, handle, options.workers):
        if result is not None:
            yield case, *(([f"crash: {result}"], []) if isinstance(result, Exception) else result)


def compare_with_known(selected, options, command):
    start = time.monotonic()
    known = known_failures()
    counted = changed = unexpected = 0
    slowest = []
    seen = set()
    for case, problems, answers in judge_all(selected, options, command):
        counted += 1
        seen.add(case.name)
        changed += bool(answers) and bool(answers[0].get("improved"))
        slowest.append((max([a.get("seconds", 0) for a in answers], default=0), case.name))
        listed = known.get(case.name)
        if listed is not None and any(p.startswith(listed) for p in problems):
            print(f"known   {case.name}: {problems[0]}")
            continue
        if listed is not None and not problems:
            problems = [f"is listed in {KNOWN.name} and passes: remove it there"]
        unexpected += bool(problems)
        for problem in problems:
            print(f"FAILED  {case.name}: {problem}", flush=True)
    if not options.names:
        for name in sorted(set(known) - seen):
            print(f"FAILED  {name} is listed in {KNOWN.name} and is no case that ONNX Runtime passes")
            unexpected += 1
    failed = unexpected + sum(name in seen for name in known)
    print(f"slowest: {', '.join(f'{name} {seconds:.1f} s' for seconds, name in sorted(slowest, reverse=True)[:5])}")
    print(f"{counted - failed} of {counted} cases pass, {changed} of them changed; {len(selected) - counted} more cases are none that ONNX "
          f"Runtime passes; {time.monotonic() - start:.0f} s")
    return 1 if unexpected or not counted else 0


if __name__ == "__main__":
    sys.exit(main())
