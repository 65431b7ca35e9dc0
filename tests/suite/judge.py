"""What the judges of many models share: the process that optimises them, and what must be true of each result."""

import ctypes
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import select
import signal
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

# A device that nobody has: kernels take what their operations and bytes say. Times are the same on every machine, and so are results.
PROFILE = """xflow profile 1
device suite
model roofline
library none
threads 1
roofline launch 1000
roofline bandwidth 2e+10
""" + "".join(
    f"roofline peak {name} 5e+10\n"
    for name in "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
)
FIRST_WITH_DEFAULTS = 4  # IR versions
FIRST_WITH_FUNCTIONS = 8
FIRST_WITH_NODE_METADATA = 10


class Driver:
    """A process of optimize_many; it is started again after a crash, and after a task that took too long."""

    def __init__(self, program, *arguments):
        self.command = [str(program), *map(str, arguments)]
        self.process = None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
            self.errors.close()

    def ask(self, task, seconds):
        """The answer; {"error": ...} for a task that fails, and {"crash": ...} for one that ends the process or takes longer."""
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.close()
            return {"crash": f"no answer in {seconds:.0f} s"}
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return {"crash": f"{how}{': ' + said[-1] if said else ''}"}


def work_on(items, handle, workers):
    """handle(item) for each item, in so many processes; yields (item, result), where a result that is an Exception says how the process
    ended. An item is what `handle` gets, and is known to all processes from the start."""
    context = multiprocessing.get_context("fork")

    def serve(pipe, first):
        for k in range(first, len(items), workers):
            pipe.send((k, handle(items[k])))
        pipe.close()

    def start(first):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(theirs, first), daemon=True)
        process.start()
        theirs.close()
        return ours, process

    running = {}
    for worker in range(min(workers, len(items))):
        pipe, process = start(worker)
        running[pipe] = (process, worker)
    while running:
        for pipe in multiprocessing.connection.wait(list(running)):
            process, at = running[pipe]
            try:
                k, result = pipe.recv()
                running[pipe] = (process, k + workers)
                yield items[k], result
            except EOFError:
                process.join()
                del running[pipe]
                if at < len(items):  # it ended before all was done: by this item
                    yield items[at], RuntimeError(f"the judge ended with exit code {process.exitcode}")
                    if at + workers < len(items):
                        pipe, process = start(at + workers)
                        running[pipe] = (process, at + workers)


def session(model):
    """`model`: a path or bytes. It runs as it is, without ONNX Runtime's own optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")  # cases of opsets that are being written are run as well
USUAL = {f"tensor({name})" for name in "float double float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string".split()}


def run(session, feeds):
    """The outputs for these inputs. Types that ONNX Runtime's own arrays lack (bfloat16, float8, int4, ...) are those of ml_dtypes."""
    feeds = {value.name: feeds[value.name] for value in session.get_inputs() if value.name in feeds}
    kinds = [value.type for value in [*session.get_inputs(), *session.get_outputs()]]
    if all(kind in USUAL or not kind.startswith("tensor(") for kind in kinds):
        return session.run(None, feeds)
    names = [value.name for value in session.get_outputs()]
    return [from_runtime(value) for value in session.run_with_ort_values(names, {name: to_runtime(x) for name, x in feeds.items()})]


def to_runtime(array):
    tensor = numpy_helper.from_array(numpy.asarray(array))
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
    ctypes.memmove(value.data_ptr(), tensor.raw_data, len(tensor.raw_data))
    return value


def from_runtime(value):
    size = value.tensor_size_in_bytes()
    content = ctypes.string_at(value.data_ptr(), size) if size else b""
    return numpy_helper.to_array(onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=content))


def checked(model, full=True):
    """Why onnx's checker refuses a model (a path or a message); empty if it does not."""
    try:
        onnx.checker.check_model(model, full_check=full)
        return ""
    except Exception as error:  # the checker raises several kinds
        return (str(error).strip().splitlines() or [type(error).__name__])[0]


def decorate(model):
    """Gives a model, in place, what an optimiser must not lose: metadata, texts, and a local function that nobody calls."""
    for key, value in [("author", "somebody"), ("licence", "Apache-2.0")]:
        model.metadata_props.add(key=key, value=value)
    model.doc_string = model.doc_string or "A case of ONNX's backend tests."
    graph = model.graph
    graph.doc_string = graph.doc_string or "The graph of the case."
    for k, node in enumerate(graph.node):
        node.doc_string = node.doc_string or f"Node {k}."
        if model.ir_version >= FIRST_WITH_NODE_METADATA:
            node.metadata_props.add(key="position", value=str(k))
    for value in [*graph.input, *graph.output]:
        value.doc_string = value.doc_string or f"The value '{value.name}'."
    if model.ir_version >= FIRST_WITH_FUNCTIONS:
        versions = [opset for opset in model.opset_import if opset.domain == ""]
        if versions:
            node = helper.make_node("Identity", ["a"], ["b"])
            function = helper.make_function("decoration", "Unused", ["a"], ["b"], [node], versions)
            function.doc_string = "Nobody calls it."
            model.functions.append(function)
            model.opset_import.append(helper.make_opsetid("decoration", 1))
    return model


def lost(before, after):
    """What a result lacks or says differently: lines, the first word of which is the kind."""
    def serialized(values):
        return [value.SerializeToString() for value in values]

    def without_body(function):
        result = onnx.FunctionProto()
        result.CopyFrom(function)
        if function.domain != "decoration":  # nobody calls that one
            result.ClearField("node")
        return result.SerializeToString(deterministic=True)

    def inputs(model):
        # Before IR version 4 an initializer had to be an input.
        weights = {tensor.name for tensor in model.graph.initializer} if model.ir_version < FIRST_WITH_DEFAULTS else set()
        return [value for value in model.graph.input if value.name not in weights]

    for what, old, new in [("inputs", inputs(before), inputs(after)), ("outputs", before.graph.output, after.graph.output)]:
        if [(v.name, v.type) for v in old] != [(v.name, v.type) for v in new]:
            yield f"interface: other {what}"
        elif serialized(old) != serialized(new):
            yield f"texts: other texts of the {what}"
    defaults = {value.name for value in inputs(before)} & {tensor.name for tensor in before.graph.initializer}
    kept = {tensor.name: tensor for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        if tensor.name in defaults and kept.get(tensor.name) != tensor:
            yield f"interface: another default of '{tensor.name}'"
    if before.ir_version != after.ir_version:
        yield "versions: another IR version"
    if serialized(before.opset_import) != serialized(after.opset_import):
        yield "versions: other operator sets"
    for field in ["producer_name", "producer_version", "domain", "model_version"]:
        if getattr(before, field) != getattr(after, field):
            yield f"metadata: another {field}"
    for field in ["metadata_props", "training_info"]:
        if serialized(getattr(before, field)) != serialized(getattr(after, field)):
            yield f"metadata: other {field}"
    # Their bodies are graphs that are optimised, too; what they compute is compared with the model.
    if [without_body(f) for f in before.functions] != [without_body(f) for f in after.functions]:
        yield "functions: other functions"
    if before.graph.name != after.graph.name:
        yield "metadata: another name of the graph"
    if before.doc_string != after.doc_string or before.graph.doc_string != after.graph.doc_string:
        yield "texts: another text of the model or the graph"
    if serialized(before.graph.metadata_props) != serialized(after.graph.metadata_props):
        yield "metadata: other metadata of the graph"
    types = {value.name: value.SerializeToString() for value in after.graph.value_info}
    values = {name for node in after.graph.node for name in node.output}
    for value in before.graph.value_info:
        if value.name in values and types.get(value.name) != value.SerializeToString():
            yield f"metadata: another type of '{value.name}'"
    # A node that does the same under the same names is the same node.
    def key(node):
        return node.op_type, node.domain, node.name, tuple(node.input), tuple(node.output), tuple(serialized(node.attribute))

    nodes = {key(node): node for node in before.graph.node}
    for node in after.graph.node:
        former = nodes.get(key(node))
        if former is not None and former.SerializeToString() != node.SerializeToString():
            yield f"texts: node '{node.name}' ({node.op_type}) has others"


def same_values(expected, found, rtol, atol):
    """Why `found` is not `expected` (arrays, sequences, None); empty if it is."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(expected) != len(found):
            return "another sequence"
        return next((reason for pair in zip(expected, found) if (reason := same_values(*pair, rtol, atol))), "")
    if isinstance(expected, dict):
        if not isinstance(found, dict) or list(expected) != list(found):
            return "other keys"
        return next((reason for k in expected if (reason := same_values(expected[k], found[k], rtol, atol))), "")
    if not isinstance(expected, (numpy.ndarray, numpy.generic)):
        return "" if expected == found else f"{found!r} instead of {expected!r}"
    if not isinstance(found, (numpy.ndarray, numpy.generic)):
        return f"{type(found).__name__} instead of an array"
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if expected.dtype != object and expected.dtype.isbuiltin != 1:  # of ml_dtypes
        expected, found = expected.astype(numpy.float32), found.astype(numpy.float32)
    if not numpy.issubdtype(expected.dtype, numpy.number):
        return "" if numpy.array_equal(expected, found) else "other elements"
    if numpy.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    with numpy.errstate(all="ignore"):
        return f"error {numpy.nanmax(numpy.abs(found - expected)):.3g}"


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def write(path, content):
    path = pathlib.Path(path)
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return path


def repository():
    return pathlib.Path(__file__).resolve().parents[2]


def processors():
    return len(os.sched_getaffinity(0))
