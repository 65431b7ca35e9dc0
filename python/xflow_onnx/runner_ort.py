"""Runs models in ONNX Runtime for `xflow optimize --runner 'python3 -m xflow_onnx.runner_ort'`.

    runner_ort.py [--provider NAME[:KEY=VALUE,...]]... [--level all|extended|basic|none] [--option KEY=VALUE]...

--provider names an execution provider (CPUExecutionProvider), again for each in the order of preference, with its options; --level is the level of
ONNX Runtime's own graph optimisations (all); --option is an entry of its session configuration. They should be those with which the model
will be served. Threads of the CPU sleep while they wait, unless --option session.intra_op.allow_spinning=1 says otherwise. The protocol on
standard input and output is docs/runner.md of xflow.
"""

import argparse
import ctypes
import gc
import json
import os
import statistics
import struct
import sys
import time

try:
    import numpy
    import onnxruntime
except ModuleNotFoundError as error:
    sys.exit(f"xflow_onnx.runner_ort needs ONNX Runtime, and {error.name} is not installed: {sys.executable} -m pip install onnxruntime")

PROTOCOL = 1
HEADER = struct.Struct("<4sIQ")
MAGIC = b"xfl1"

# The names of element types in the protocol. Types that numpy lacks travel as integers of their width, which ONNX Runtime takes with a number.
TYPES = {
    "float32": (1, numpy.float32),
    "uint8": (2, numpy.uint8),
    "int8": (3, numpy.int8),
    "uint16": (4, numpy.uint16),
    "int16": (5, numpy.int16),
    "int32": (6, numpy.int32),
    "int64": (7, numpy.int64),
    "bool": (9, numpy.bool_),
    "float16": (10, numpy.float16),
    "float64": (11, numpy.float64),
    "uint32": (12, numpy.uint32),
    "uint64": (13, numpy.uint64),
    "bfloat16": (16, numpy.uint16),
}
NAMES = {f"tensor({name})": name for name in TYPES}
NAMES.update({"tensor(float)": "float32", "tensor(double)": "float64", "tensor(string)": "string"})
LEVELS = {
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
SPINNING = "session.intra_op.allow_spinning"


class Refused(Exception):
    """A request that cannot be carried out; the runner goes on."""


def make_session(model, threads=1, providers=("CPUExecutionProvider",), level="all", entries=()):
    """A session as it is deployed, of the bytes or the path of a model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for key, value in entries:
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(model, options, providers=list(providers))


def times_of(run, repeats, clocks):
    """Nanoseconds of one run, of `repeats` in a row, by each of the clocks: the mean of the runs where there is the processor's clock alone;
    beside one that goes on while others have the processor the medians. Python's collector of garbage waits meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    each_run = clocks != [time.process_time_ns]
    try:
        times = [[clock() for clock in clocks]]
        for k in range(repeats):
            run()
            if each_run or k + 1 == repeats:
                times.append([clock() for clock in clocks])
        if not each_run:
            return [(times[1][0] - times[0][0]) / repeats]
        return [statistics.median(after[k] - before[k] for before, after in zip(times, times[1:])) for k in range(len(clocks))]
    finally:
        if collects:
            gc.enable()


def parse_provider(text):
    """NAME or (NAME, {KEY: VALUE})."""
    name, _, options = text.partition(":")
    pairs = [pair.partition("=")[::2] for pair in options.split(",") if pair]
    return (name, dict(pairs)) if pairs else name


def tensors_of(descriptions, payload):
    """{name: OrtValue, or array of strings} of what a message says."""
    result, at = {}, 0
    for tensor in descriptions:
        dims = tensor["dims"]
        if tensor["type"] == "string":
            result[tensor["name"]] = numpy.array(tensor["strings"], dtype=object).reshape(dims)
            continue
        if tensor["type"] not in TYPES:
            raise Refused(f"input '{tensor['name']}' has type {tensor['type']}, which this runner does not know")
        number, dtype = TYPES[tensor["type"]]
        count = int(numpy.prod(dims, dtype=numpy.int64))
        array = numpy.frombuffer(payload, dtype, count, at).reshape(dims).copy()
        at += array.nbytes
        if tensor["type"] == "bfloat16":
            result[tensor["name"]] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)
        else:
            result[tensor["name"]] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return result


class Runner:
    def __init__(self, options):
        self.options = options
        self.threads = 1
        self.clocks = [time.process_time_ns]
        self.entries = []
        self.sessions = {}
        self.inputs = {}

    def hello(self, request, payload):
        if request["protocol"] != PROTOCOL:
            raise Refused(f"this runner speaks version {PROTOCOL} of the protocol, not {request['protocol']}")
        self.threads = request["threads"]
        names = [p if isinstance(p, str) else p[0] for p in self.options.provider]
        missing = [name for name in names if name not in onnxruntime.get_available_providers()]
        if missing:
            raise Refused(f"this ONNX Runtime has no {missing[0]}; it has {', '.join(onnxruntime.get_available_providers())}")
        # What works elsewhere than in threads of this process is no CPU time of it.
        on_cpu = names == ["CPUExecutionProvider"]
        by_cpu = request["clock"] == "cpu" and on_cpu
        self.clocks = [time.process_time_ns] if by_cpu else [time.perf_counter_ns]
        if not by_cpu and on_cpu:
            self.clocks.append(time.process_time_ns)
        # Threads that wait in a loop count as working, and those of one model go on with it while another runs.
        sleep = on_cpu and SPINNING not in dict(self.options.option)
        self.entries = [(SPINNING, "0")] if sleep else []
        waiting = ["waiting threads sleep"] if sleep and self.threads > 1 else []
        return {
            "protocol": PROTOCOL,
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "device": ", ".join([*names, processor(), f"optimisations {self.options.level}", *waiting, *map("=".join, self.options.option)]),
            "clock": "cpu" if by_cpu else "wall",
        }

    def load(self, request, payload):
        options = self.options
        entries = [*self.entries, *options.option]
        try:
            session = make_session(request.get("path", payload), self.threads, options.provider, options.level, entries)
        except Exception as error:  # ONNX Runtime raises many kinds
            raise Refused(str(error)) from error
        self.sessions[request["model"]] = session
        return {}

    def unload(self, request, payload):
        self.sessions.pop(request["model"], None)
        return {}

    def set_inputs(self, request, payload):
        self.inputs[request["inputs"]] = tensors_of(request["tensors"], payload)
        return {}

    def prepared(self, request):
        """The session of a request, and a function that runs it once."""
        if request["model"] not in self.sessions:
            raise Refused(f"no model {request['model']} is loaded")
        session = self.sessions[request["model"]]
        inputs = self.inputs.get(request["inputs"], {})
        feed = {value.name: inputs[value.name] for value in session.get_inputs() if value.name in inputs}
        if all(isinstance(value, onnxruntime.OrtValue) for value in feed.values()):
            names = [output.name for output in session.get_outputs()]
            return session, lambda: session.run_with_ort_values(names, feed)
        # There are no OrtValues of strings.
        arrays = {name: value.numpy() if isinstance(value, onnxruntime.OrtValue) else value for name, value in feed.items()}
        return session, lambda: session.run(None, arrays)

    def run(self, request, payload):
        _, once = self.prepared(request)
        try:
            return dict(zip(["nanoseconds", "processor_nanoseconds"], times_of(once, request["repeats"], self.clocks)))
        except Exception as error:
            raise Refused(str(error)) from error

    def outputs(self, request, payload):
        session, once = self.prepared(request)
        try:
            values = once()
        except Exception as error:
            raise Refused(str(error)) from error
        descriptions, parts = [], []
        for output, value in zip(session.get_outputs(), values):
            name = NAMES.get(output.type)
            if name is None:
                raise Refused(f"output '{output.name}' has type {output.type}, which this runner does not know")
            is_value = isinstance(value, onnxruntime.OrtValue)
            description = {"name": output.name, "type": name, "dims": list(value.shape() if is_value else value.shape)}
            if name == "string":
                description["strings"] = [str(s) for s in (value.numpy() if is_value else value).ravel()]
            elif name == "bfloat16" and is_value:  # numpy has no such type
                parts.append(ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()))
            else:
                parts.append((value.numpy() if is_value else value).tobytes())
            descriptions.append(description)
        return {"outputs": descriptions}, b"".join(parts)


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(": ", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"


def read(stream, size):
    data = stream.read(size)
    if len(data) < size:
        sys.exit(0)  # whoever asked is gone
    return data


def serve(runner, requests, answers):
    actions = {
        "hello": runner.hello,
        "load": runner.load,
        "unload": runner.unload,
        "inputs": runner.set_inputs,
        "run": runner.run,
        "outputs": runner.outputs,
    }
    while True:
        magic, text_size, payload_size = HEADER.unpack(read(requests, HEADER.size))
        if magic != MAGIC:
            sys.exit("standard input is no request of xflow")
        request = json.loads(read(requests, text_size))
        payload = read(requests, payload_size)
        try:
            action = actions.get(request["do"])
            if action is None:
                raise Refused(f"this runner does not know '{request['do']}'")
            answer = action(request, payload)
        except Refused as refused:
            answer = {"error": str(refused)}
        answer, data = answer if isinstance(answer, tuple) else (answer, b"")
        text = json.dumps(answer).encode()
        answers.write(HEADER.pack(MAGIC, len(text), len(data)) + text + data)
        answers.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--provider", type=parse_provider, action="append")
    parser.add_argument("--level", choices=LEVELS, default="all")
    parser.add_argument("--option", type=lambda text: text.partition("=")[::2], action="append", default=[])
    options = parser.parse_args()
    options.provider = options.provider or ["CPUExecutionProvider"]
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(Runner(options), sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
