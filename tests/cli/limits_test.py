"""Runs that are bounded or interrupted: limits_test.py PROGRAM TEST_RUNNER [unittest arguments].

Nothing here depends on how fast the machine is: a runner that never answers is what is waited for.
"""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import numpy
import onnx
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, float_info, model_of, transposes

RUNNER = ""
HOUR = "3600s"


def is_running(number):
    """Zombies do not run any more."""
    try:
        state = pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def encoder(layers=2, width=64, heads=4):
    """Blocks of attention and of two products, with layer normalisations and gelus spelled out, in float16."""
    half = TensorProto.FLOAT16
    random = numpy.random.default_rng(0)
    nodes, weights, infos = [], [], []

    def constant(name, value, kind=numpy.float16):
        weights.append(numpy_helper.from_array(numpy.asarray(value, kind), name))
        return name

    def op(kind, inputs, rank=3, **attributes):
        name = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        infos.append(helper.make_tensor_value_info(name, half, [f"unk__{len(nodes)}_{k}" for k in range(rank)]))
        return name

    def linear(value, name, inputs, outputs):
        weight = constant(f"{name}_w", random.normal(0, 0.05, (inputs, outputs)))
        return op("Add", [op("MatMul", [value, weight]), constant(f"{name}_b", random.normal(0, 0.05, outputs))])

    def norm(value, name):
        centred = op("Sub", [value, op("ReduceMean", [value], axes=[-1])])
        variance = op("ReduceMean", [op("Mul", [centred, centred])], axes=[-1])
        deviation = op("Sqrt", [op("Add", [variance, constant(f"{name}_e", 1e-5)])])
        scaled = op("Mul", [op("Div", [centred, deviation]), constant(f"{name}_g", random.uniform(0.5, 1.5, width))])
        return op("Add", [scaled, constant(f"{name}_h", random.normal(0, 0.05, width))])

    value = "x"
    for k in range(layers):
        split = constant(f"split{k}", [0, -1, heads, width // heads], numpy.int64)

        def head(name, perm):
            parts = op("Reshape", [linear(value, f"{name}{k}", width, width), split], rank=4)
            return op("Transpose", [parts], rank=4, perm=perm)

        q, r, v = head("q", [0, 2, 1, 3]), head("k", [0, 2, 3, 1]), head("v", [0, 2, 1, 3])
        scores = op("Div", [op("MatMul", [q, r], rank=4), constant(f"root{k}", 4)], rank=4)
        probabilities = op("Softmax", [op("Add", [scores, "mask"], rank=4)], rank=4, axis=-1)
        mixed = op("Transpose", [op("MatMul", [probabilities, v], rank=4)], rank=4, perm=[0, 2, 1, 3])
        joined = op("Reshape", [mixed, constant(f"join{k}", [0, -1, width], numpy.int64)])
        value = norm(op("Add", [linear(joined, f"out{k}", width, width), value]), f"first{k}")
        wide = linear(value, f"wide{k}", width, 4 * width)
        erf = op("Erf", [op("Div", [wide, constant(f"two{k}", 1.4142)])])
        gelu = op("Mul", [op("Mul", [wide, op("Add", [erf, constant(f"one{k}", 1)])]), constant(f"half{k}", 0.5)])
        value = norm(op("Add", [linear(gelu, f"back{k}", 4 * width, width), value]), f"second{k}")
    inputs = [
        helper.make_tensor_value_info("x", half, ["unk__1", "unk__2", width]),
        helper.make_tensor_value_info("mask", half, ["unk__3", 1, 1, "unk__4"]),
    ]
    output = helper.make_tensor_value_info(value, half, ["unk__5", "unk__6", width])
    model = model_of(nodes, inputs, [output], weights)
    model.graph.value_info.extend(info for info in infos if info.name != value)
    return model


class LimitsTest(ProgramTest):
    def start(self, *arguments):
        process = subprocess.Popen(
            [program.PROGRAM, "optimize", *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stderr.close()

    def wait_for(self, condition):
        while not condition():
            time.sleep(0.01)

    def silent_runner(self):
        """A runner that never answers: it writes its number and those of what it starts to a file."""
        script = "sleep 100000 & echo $$ $! > numbers.new; mv numbers.new numbers; wait"
        return ["--runner", script]

    def numbers(self):
        path = self.folder / "numbers"
        self.wait_for(path.exists)
        return [int(word) for word in path.read_text().split()]

    def hanging_runner(self):
        """A runner that answers until it is asked to run a kernel, and then tells that in a file."""
        return ["--runner", shlex.join([RUNNER, "--hang", "Relu", "--log", "log"])]


class Limits(LimitsTest):
    def test_no_time_gives_the_original_and_says_why(self):
        self.write("m.onnx", transposes())
        text = self.optimize("m.onnx", "--time-limit", "0s", "--report", "report.json")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("time limit", report["search"]["stop_reason"])
        self.assertEqual("nothing cheaper was found before the search stopped (time limit)", report["reason"])
        self.assertIn(report["reason"], text)

    def test_no_memory_gives_the_original_and_says_why(self):
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", "--memory", "1MiB", "--report", "report.json")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("memory limit", report["search"]["stop_reason"])
        self.assertEqual("nothing cheaper was found before the search stopped (memory limit)", report["reason"])

    def test_little_memory_for_the_search_is_no_error(self):
        self.write("m.onnx", transposes())
        for memory in ["1GiB", "1MiB", "0.001MiB"]:
            self.optimize("m.onnx", "--search-memory", memory, "--report", "report.json")
            report = json.loads((self.folder / "report.json").read_text())
            self.assertIn(report["search"]["stop_reason"], ["no state left within alpha of the best", "no state left in the memory of the search"])
            self.assertLess(report["predicted_nanoseconds"]["after"], report["predicted_nanoseconds"]["before"])

    def test_refuses_other_words(self):
        self.write("m.onnx", transposes())
        for option, word, said in [
            ("--time-limit", "soon", "time limit 'soon' is not of the form 300s, 500ms or 5m"),
            ("--memory", "much", "memory 'much' is not of the form 4GiB or 500MiB"),
            ("--search-memory", "much", "search memory 'much' is not of the form 1GiB or 200MiB"),
        ]:
            result = self.run_program("optimize", "m.onnx", "out.onnx", option, word)
            self.assertEqual((64, f"xflow: {said} (see 'xflow optimize --help')\n"), (result.returncode, result.stderr))

    def test_a_silent_runner_has_the_time_of_the_kernel_budget(self):
        self.write("m.onnx", transposes())
        process = self.start("m.onnx", "out.onnx", "--kernel-budget", "1s", *self.silent_runner())
        _, errors = process.communicate()
        self.assertIn("it did not answer within 1 s", errors)
        self.assertEqual(3, process.returncode)
        for number in self.numbers():
            self.wait_for(lambda: not is_running(number))

    def test_a_runner_that_does_not_start_within_the_time_limit_leaves_the_original(self):
        self.write("m.onnx", transposes())
        for arguments in [[], ["--no-gate"], ["--device", "cpu", "--costs", ""]]:
            with self.subTest(arguments):
                (self.folder / "numbers").unlink(missing_ok=True)
                process = self.start("m.onnx", "out.onnx", "--time-limit", "1s", "--report", "report.json", *self.silent_runner(), *arguments)
                _, errors = process.communicate()
                self.assertEqual(0, process.returncode, errors)
                report = json.loads((self.folder / "report.json").read_text())
                self.assertEqual("time limit", report["search"]["stop_reason"])
                self.assertRegex(report["reason"], r"^nothing cheaper was found before the search stopped \(time limit\): runner '.*': ")
                self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
                for number in self.numbers():
                    self.wait_for(lambda: not is_running(number))
                (self.folder / "out.onnx").unlink()

    def test_a_runner_does_not_outlive_the_program(self):
        self.write("m.onnx", transposes())
        for end in [signal.SIGKILL, signal.SIGTERM]:
            (self.folder / "numbers").unlink(missing_ok=True)
            process = self.start("m.onnx", "out.onnx", "--kernel-budget", HOUR, "--time-limit", HOUR, *self.silent_runner())
            numbers = self.numbers()
            self.assertEqual(2, len(numbers))
            while process.poll() is None:  # a second SIGTERM ends it at once
                process.send_signal(end)
                time.sleep(0.05)
            for number in numbers:
                self.wait_for(lambda: not is_running(number))
            self.assertFalse((self.folder / "out.onnx").exists())


class Hangs(LimitsTest):
    """Models that did not end, or took much memory. What is bounded is work: states, kernels and bytes."""

    MOST_STATES = 32 * 200  # of so many searches, each on the result of the one before

    def report_of(self, model, *arguments):
        self.write("m.onnx", model)
        self.optimize("m.onnx", "--report", "report.json", *arguments)
        return json.loads((self.folder / "report.json").read_text())

    def assert_cheaper(self, report):
        """A cheaper graph was found within the states. Whether it is written is measured, on whatever else runs here."""
        self.assertLess(report["predicted_nanoseconds"]["after"], report["predicted_nanoseconds"]["before"])
        self.assertLessEqual(report["search"]["states"], self.MOST_STATES)

    def test_thirty_doublings(self):
        """Sizes to 2^30 are known without tensors of that size; kernels beyond the memory are refused."""
        nodes = [helper.make_node("Concat", [f"v{k}", f"v{k}"], [f"v{k + 1}"], axis=0) for k in range(30)]
        model = model_of(nodes, [float_info("v0", [1])], [float_info("v30", [2**30])])
        report = self.report_of(model, "--memory", "256MiB")
        self.assertLessEqual(report["kernels"]["measured"], 300)
        self.assertRegex(report["kernels"]["failure"], "it needs [0-9]+ MiB, more than may be used")

    def test_of_a_runner(self):
        """It and the program may hold so much together. The bound is far from what either holds alone."""
        runner = shlex.join([RUNNER, "--each", "Transpose=1e6", "--hold", "!Transpose=700000000"])
        for limit, is_within in [("500MiB", False), ("2GiB", True)]:
            self.write("m.onnx", transposes())
            arguments = ["--memory", limit, "--runner", runner, "--device", "cpu", "--report", "report.json"]
            self.optimize("m.onnx", *arguments, gate=True)
            report = json.loads((self.folder / "report.json").read_text())
            self.assertEqual(is_within, report["improved"], report["reason"])
            if not is_within:
                reason = r"candidate: it holds \d+ MiB of memory, more than the \d+ MiB that are left"
                self.assertRegex(report["reason"], reason)

    def test_a_product_of_assumed_sizes(self):
        """128^4 elements where sizes are not known: 1 GiB for each tensor of a model of four nodes."""
        nodes = [
            helper.make_node("Relu", ["x"], ["a"]),
            helper.make_node("Mul", ["a", "y"], ["b"]),
            helper.make_node("Mul", ["b", "b"], ["c"]),
            helper.make_node("Tanh", ["c"], ["o"]),
        ]
        model = model_of(
            nodes,
            [float_info("x", [128, "n", "m", 1]), float_info("y", [1, 1, 1, "k"])],
            [float_info("o", [128, "n", "m", "k"])],
        )
        self.write("m.onnx", model)
        process = self.start("m.onnx", "out.onnx", "--budget", "200states", "--memory", "512MiB", "--costs", "", "--no-gate")
        process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode)
        self.assertLess(used.ru_maxrss, 512 << 10)  # kB

    def test_two_thousand_convolutions(self):
        nodes, weights, value = [], [], "x"
        random = numpy.random.default_rng(0)
        for k in range(2000):
            weights.append(numpy_helper.from_array(random.normal(0, 0.3, (4, 4, 1, 1)).astype(numpy.float32), f"w{k}"))
            nodes.append(helper.make_node("Conv", [value, f"w{k}"], [f"y{k}"]))
            value = f"y{k}"
        model = model_of(nodes, [float_info("x", [1, 4, 8, 8])], [float_info(value, [1, 4, 8, 8])], weights)
        self.assert_cheaper(self.report_of(model))

    def test_ten_thousand_nodes_of_which_none_is_rewritten(self):
        """Few graphs are costed, and equal kernels are timed once (bench/onnx/many_nodes.py)."""
        nodes = [helper.make_node(["Sin", "Cos"][k % 2], [f"v{k}"], [f"v{k + 1}"]) for k in range(10000)]
        model = model_of(nodes, [float_info("v0", [4])], [float_info("v10000", [4])])
        report = self.report_of(model, "--costs", "")
        self.assertFalse(report["improved"])
        self.assertEqual("no state left within alpha of the best", report["search"]["stop_reason"])
        self.assertLessEqual(report["search"]["states"], 10)
        self.assertLessEqual(report["kernels"]["measured"], 40)
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_names_in_the_place_of_sizes(self):
        """A half precision encoder as exporters write it, each value with names of its own for its sizes."""
        self.assert_cheaper(self.report_of(encoder()))


class Memory(LimitsTest):
    """Runs that would take much more than they may. The peak is what the system saw of the whole process."""

    def peak_of(self, model, limit, *arguments):
        """The report, and the MiB that were resident at most."""
        self.write("m.onnx", model)
        process = self.start("m.onnx", "out.onnx", "--memory", f"{limit}MiB", "--costs", "", "--report", "report.json", *arguments)
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode, errors)
        return json.loads((self.folder / "report.json").read_text()), used.ru_maxrss / 1024

    def large_tensors(self):
        """Transposes of 16 MiB each that cancel, of which the program keeps many where nothing bounds it."""
        nodes, value = [], "x"
        for k in range(6):
            for kind in ["Transpose", "Relu", "Transpose", "Sigmoid"]:
                attributes = {"perm": [0, 2, 1]} if kind == "Transpose" else {}
                nodes.append(helper.make_node(kind, [value], [f"{kind}{len(nodes)}"], **attributes))
                value = nodes[-1].output[0]
        return model_of(nodes, [float_info("x", [4, 1024, 1024])], [float_info(value, [4, 1024, 1024])])

    def test_of_a_search(self):
        nodes, weights, value = [], [], "x"
        random = numpy.random.default_rng(0)
        for k in range(30):
            for name in "ab":
                weights.append(numpy_helper.from_array(random.normal(0, 0.3, (16, 16)).astype(numpy.float32), f"{name}{k}"))
            nodes += [
                helper.make_node("MatMul", [value, f"a{k}"], [f"p{k}"]),
                helper.make_node("MatMul", [value, f"b{k}"], [f"q{k}"]),
                helper.make_node("Add", [f"p{k}", f"q{k}"], [f"y{k}"]),
                helper.make_node("Mul", [f"y{k}", f"p{k}"], [f"z{k}"]),
                helper.make_node("Add", [f"z{k}", value], [f"v{k}"]),
            ]
            value = f"v{k}"
        model = model_of(nodes, [float_info("x", [8, 16])], [float_info(value, [8, 16])], weights)
        report, peak = self.peak_of(model, 100, "--budget", "1000000000states", "--time-limit", "60m", "--no-gate")
        self.assertEqual("memory limit", report["search"]["stop_reason"])
        self.assertLessEqual(peak, 1.1 * 100)

    def test_of_checks(self):
        report, peak = self.peak_of(self.large_tensors(), 300, "--budget", "2000states", "--no-gate")
        self.assertTrue(report["improved"], report["reason"])
        self.assertLessEqual(peak, 1.1 * 300)

    def test_of_the_gate(self):
        """Both models fit, with the values that they are compared by."""
        report, peak = self.peak_of(self.large_tensors(), 440, "--budget", "2000states", "--measure-budget", "3s")
        self.assertTrue(report["end_to_end"]["run"], report["reason"])
        self.assertLessEqual(peak, 1.1 * 440)

    def test_of_a_gate_that_does_not_fit(self):
        """Nothing was measured: the original is written, with the reason."""
        report, peak = self.peak_of(self.large_tensors(), 280, "--budget", "2000states")
        self.assertFalse(report["improved"])
        self.assertRegex(report["reason"], r"it could not be run: (original: running it takes|its inputs and outputs take) .*more than")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        self.assertLessEqual(peak, 1.1 * 280)


class Stages(LimitsTest):
    """Models of which one stage takes longer than the run may."""

    def report_of(self, model, *arguments):
        self.write("m.onnx", model)
        self.optimize("m.onnx", "--costs", "", "--report", "report.json", *arguments)
        return json.loads((self.folder / "report.json").read_text())

    def assert_original(self, report):
        self.assertEqual("time limit", report["search"]["stop_reason"])
        self.assertEqual("nothing cheaper was found before the search stopped (time limit)", report["reason"])
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_reading_and_lifting(self):
        """The clock starts before the model is read: what is left is nothing, and no node is lifted."""
        kinds = ["Celu", "Relu"]  # a node whose shape is inferred, and one that is crossed
        nodes = [helper.make_node(kinds[k % 2], [f"v{k}"], [f"v{k + 1}"]) for k in range(50000)]
        report = self.report_of(model_of(nodes, [float_info("v0", [4])], [float_info("v50000", [4])]), "--time-limit", "10ms")
        self.assert_original(report)
        self.assertEqual([], report["opaque"])
        self.assertEqual(50000, report["nodes"]["before"])

    def test_one_launch_of_a_library(self):
        """A product of 7e10 multiplications, which no core of today computes in a tenth of a second, beside transposes that cancel."""
        nodes = [
            helper.make_node("MatMul", ["x", "x"], ["a"]),
            helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
            helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
            helper.make_node("Relu", ["c"], ["y"]),
        ]
        model = model_of(nodes, [float_info("x", [4096, 4096])], [float_info("y", [4096, 4096])])
        report = self.report_of(model, "--time-limit", "1s", "--memory", "4GiB")
        self.assertRegex(
            report["kernels"]["failure"],
            r"^cannot run matmul\(float32\[4096,4096\], float32\[4096,4096\]\) -> float32\[4096,4096\] here: "
            r"(timing it takes at least [0-9.]+ s, and [0-9.]+ s are left|timing was stopped)$",  # the latter if the machine is busy
        )

    def test_constants_that_are_folded(self):
        """A product of 2^36 multiplications, whose sum is one number."""
        nodes = [
            helper.make_node("ConstantOfShape", ["shape"], ["a"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])),
            helper.make_node("MatMul", ["a", "a"], ["b"]),
            helper.make_node("ReduceSum", ["b"], ["c"], keepdims=0),
            helper.make_node("Mul", ["x", "c"], ["o"]),
        ]
        shape = numpy_helper.from_array(numpy.array([4096, 4096], numpy.int64), "shape")
        model = model_of(nodes, [float_info("x", [4])], [float_info("o", [4])], [shape])
        for accept in ["faster", "smaller"]:
            report = self.report_of(model, "--time-limit", "1s", "--accept", accept)
            self.assertEqual("the clean-ups did not finish: the time limit of 1 s is over", report["smaller"]["reason"])
            self.assertFalse(report["smaller"]["written"])
            self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_proofs_of_rules(self):
        """A rule of the user whose proof looks at 20,000 choices of ranks; what is not decided is not applied."""
        rule = "rule r\n  source\n    y = matmul(a, b) + matmul(a, c)\n  target\n    y = matmul(a, c) + matmul(a, b)\n"
        (self.folder / "a.rules").write_text(rule)
        nothing = "nothing cheaper was found before the search stopped (time limit)"
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", "--costs", "", "--report", "report.json", "--rules", "a.rules", "--time-limit", "100ms")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(f"{nothing}: rule r was not decided in time", report["reason"])
        self.assertEqual("time limit", report["search"]["stop_reason"])
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_the_descents(self):
        """A chain of convolutions, each with a normalisation that can become part of it, and no limit but that of time."""
        random = numpy.random.default_rng(0)
        nodes, weights, value = [], [], "x"
        for k in range(2000):
            arrays = {"w": random.normal(0, 0.2, (4, 4, 3, 3))} | {p: random.uniform(0.9, 1.1, 4) for p in "sbmv"}
            weights += [numpy_helper.from_array(array.astype(numpy.float32), f"{name}{k}") for name, array in arrays.items()]
            nodes.append(helper.make_node("Conv", [value, f"w{k}"], [f"c{k}"], pads=[1, 1, 1, 1]))
            nodes.append(helper.make_node("BatchNormalization", [f"c{k}", *(f"{p}{k}" for p in "sbmv")], [f"y{k}"]))
            value = f"y{k}"
        model = model_of(nodes, [float_info("x", [1, 4, 8, 8])], [float_info(value, [1, 4, 8, 8])], weights)
        self.write("m.onnx", model)
        limits = ["--budget", "1000000000states", "--time-limit", "200ms"]
        self.succeed("optimize", "m.onnx", "out.onnx", "--no-gate", "--costs", "", "--report", "report.json", *limits)
        self.assertEqual("time limit", json.loads((self.folder / "report.json").read_text())["search"]["stop_reason"])


def heed_interruptions():
    """In a child: what runs the tests may ignore the signal, which a child inherits."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Interruption(LimitsTest):
    def begin(self):
        """A search that waits for a kernel."""
        self.write("m.onnx", transposes())
        process = self.start(
            "m.onnx", "out.onnx", "--report", "report.json", "--no-gate", "--kernel-budget", HOUR, "--time-limit", HOUR, "--costs", "",
            "--device", "runner", *self.hanging_runner()
        )  # fmt: skip
        log = self.folder / "log"
        self.wait_for(lambda: log.exists() and '"run"' in log.read_text())
        return process

    def test_once_ends_the_search_and_writes_what_there_is(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(0, process.returncode, errors)
        self.assertIn("xflow: interrupted: checking and writing the best result so far; interrupt again to stop at once and write nothing\n", errors)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("interrupted", report["search"]["stop_reason"])
        self.assertTrue((self.folder / "out.onnx").exists())

    def test_once_in_the_gate_ends_it_and_writes_the_original(self):
        """The runner hangs when it runs the original, and has an hour for that."""
        self.write("m.onnx", transposes())
        process = self.start(
            "m.onnx", "out.onnx", "--report", "report.json", "--device", "cpu", "--costs", "", "--budget", "100states",
            "--measure-budget", HOUR, "--time-limit", HOUR, *self.hanging_runner()
        )  # fmt: skip
        log = self.folder / "log"
        self.wait_for(lambda: log.exists() and '"run"' in log.read_text())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(0, process.returncode, errors)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("run from end to end, it was interrupted before it was measured to be faster", report["reason"])
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_once_before_a_runner_has_started_leaves_the_original(self):
        """The runner has two seconds from the interruption on, and would have an hour without it."""
        self.write("m.onnx", transposes())
        limits = ["--kernel-budget", HOUR, "--time-limit", HOUR, "--measure-budget", "2s", "--costs", ""]
        for arguments in [[], ["--no-gate"], ["--device", "cpu"]]:
            with self.subTest(arguments):
                (self.folder / "numbers").unlink(missing_ok=True)
                process = self.start("m.onnx", "out.onnx", "--report", "report.json", *limits, *self.silent_runner(), *arguments)
                numbers = self.numbers()
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate()
                self.assertEqual(0, process.returncode, errors)
                report = json.loads((self.folder / "report.json").read_text())
                self.assertEqual("interrupted", report["search"]["stop_reason"])
                nothing = r"nothing cheaper was found before the search stopped \(interrupted\)"
                self.assertRegex(report["reason"], f"^{nothing}: runner '.*': it did not answer within 2 s of an interruption$")
                self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
                for number in numbers:
                    self.wait_for(lambda: not is_running(number))
                (self.folder / "out.onnx").unlink()

    def slow_rules(self):
        """Rules that are proved one after the other, each in more than a second, together in some minutes."""
        rule = (
            "rule r{}\n  source\n    y = tanh(reshape(reshape(reshape(x, shape: s), shape: t), shape: s))\n"
            "  target\n    y = tanh(reshape(x, shape: s))\n  where rank(x) <= 4 and length(s) <= 4 and length(t) <= 5\n"
        )
        (self.folder / "a.rules").write_text("\n".join(rule.format(k) for k in range(200)))

    def interrupt(self, process):
        """Once the program handles signals, and has had time to begin its work."""
        status = pathlib.Path(f"/proc/{process.pid}/status")

        def is_handled():
            caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
            return int(caught.split()[1], 16) & 1 << (signal.SIGINT - 1)

        self.wait_for(is_handled)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(0, process.returncode, errors)

    def test_once_ends_the_proof_of_a_rule(self):
        self.write("m.onnx", transposes())
        self.slow_rules()
        process = self.start("m.onnx", "out.onnx", "--report", "report.json", "--rules", "a.rules", "--time-limit", HOUR, "--costs", "")
        self.interrupt(process)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("interrupted", report["search"]["stop_reason"])
        nothing = "nothing cheaper was found before the search stopped \\(interrupted\\)"
        self.assertRegex(report["reason"], f"^{nothing}: rule r[0-9]+ was not decided in time$")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_once_ends_the_proof_of_a_rule_for_clean_ups(self):
        self.write("m.onnx", transposes())
        self.slow_rules()
        process = subprocess.Popen(
            [program.PROGRAM, "simplify", "m.onnx", "out.onnx", "--report", "report.json", "--rules", "a.rules", "--time-limit", HOUR],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interruptions
        )  # fmt: skip
        self.addCleanup(self.end, process)
        self.interrupt(process)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(["it was cancelled", "it was cancelled"], [report["stopped"], report["reason"]])
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_ends_the_verification_of_a_rule(self):
        self.slow_rules()
        process = subprocess.Popen(
            [program.PROGRAM, "verify", "a.rules"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=heed_interruptions
        )  # fmt: skip
        self.addCleanup(self.end, process)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual(-signal.SIGINT, process.returncode)

    def test_twice_ends_at_once_and_writes_nothing(self):
        self.write("m.onnx", transposes())
        process = self.start("m.onnx", "out.onnx", "--kernel-budget", HOUR, "--time-limit", HOUR, *self.silent_runner())
        numbers = self.numbers()
        process.send_signal(signal.SIGINT)
        line = process.stderr.readline() + process.stderr.readline()
        self.assertIn("interrupted", line)
        process.send_signal(signal.SIGINT)
        process.wait()
        self.assertEqual(130, process.returncode)
        self.assertFalse((self.folder / "out.onnx").exists())
        for number in numbers:
            self.wait_for(lambda: not is_running(number))

    def test_a_kill_in_the_gate_leaves_the_old_result_and_nothing_after_the_next_run(self):
        """The candidates of a model with external data are files beside OUT; the runner hangs while they are there."""
        for name in ["in", "out"]:
            (self.folder / name).mkdir()
        model = transposes()
        weight = numpy.ones((512, 8), numpy.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
        model.graph.node.append(helper.make_node("MatMul", ["y", "w"], ["z"]))
        model.graph.output.append(float_info("z", [256, 8]))
        onnx.save(model, self.folder / "in/m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
        self.write("small.onnx", transposes())
        self.succeed("simplify", "small.onnx", "out/m.onnx")
        old = (self.folder / "out/m.onnx").read_bytes()
        process = self.start(
            "in/m.onnx", "out/m.onnx", "--device", "cpu", "--costs", "", "--budget", "100states",
            "--measure-budget", HOUR, "--time-limit", HOUR, *self.hanging_runner()
        )  # fmt: skip
        log = self.folder / "log"
        self.wait_for(lambda: log.exists() and '"run"' in log.read_text())
        process.kill()
        process.wait()
        left = sorted(os.listdir(self.folder / "out"))
        self.assertTrue(any(name.endswith(".candidate") for name in left), left)
        self.assertEqual(old, (self.folder / "out/m.onnx").read_bytes())
        self.succeed("simplify", "small.onnx", "out/m.onnx")
        self.assertEqual(["m.onnx"], os.listdir(self.folder / "out"))


if __name__ == "__main__":
    RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
