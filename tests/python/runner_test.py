"""Tests of python/xflow_onnx/runner_ort.py, spoken to in its protocol: runner_test.py."""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"


def model(nodes, inputs, outputs, opset=13):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()


def square():
    """y = x x and z = x + x, for x of any size."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xyz"]
    return model([helper.make_node("Mul", ["x", "x"], ["y"]), helper.make_node("Add", ["x", "x"], ["z"])], info[:1], info[1:])


class Conversation:
    """With a runner in a process of its own."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "xflow_onnx.runner_ort", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=str(PYTHON)),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()

    def ask_all(self, payload=b"", **request):
        text = json.dumps(request).encode()
        self.process.stdin.write(struct.pack("<4sIQ", b"xfl1", len(text), len(payload)) + text + payload)
        self.process.stdin.flush()
        magic, text_size, payload_size = struct.unpack("<4sIQ", self.process.stdout.read(16))
        assert magic == b"xfl1"
        return json.loads(self.process.stdout.read(text_size)), self.process.stdout.read(payload_size)

    def ask(self, payload=b"", **request):
        return self.ask_all(payload, **request)[0]

    def hello(self, threads=1, clock="cpu"):
        return self.ask(do="hello", protocol=1, threads=threads, clock=clock)


def floats(name, values):
    return {"name": name, "type": "float32", "dims": [len(values)]}, struct.pack(f"<{len(values)}f", *values)


class Times(unittest.TestCase):
    def test_are_means_of_processor_time_and_medians_of_wall_time(self):
        sys.path.insert(0, str(PYTHON))
        from xflow_onnx import runner_ort

        reads = iter([0, 10, 20, 500, 510, 520])
        self.assertEqual([10], runner_ort.times_of(lambda: None, 5, [lambda: next(reads)]), "one of five runs was interrupted")
        wall, processor = iter([0, 10, 20, 500]), iter([0, 7, 15, 22])
        clocks = [lambda: next(wall), lambda: next(processor)]
        self.assertEqual([10, 7], runner_ort.times_of(lambda: None, 3, clocks))
        runs = []
        times = runner_ort.times_of(lambda: runs.append(1), 7, [runner_ort.time.process_time_ns])
        self.assertEqual((7, 1), (len(runs), len(times)))


class Runner(unittest.TestCase):
    def test_says_what_it_is(self):
        with Conversation("--level", "basic", "--option", "session.set_denormal_as_zero=1") as runner:
            hello = runner.hello()
        self.assertEqual(1, hello["protocol"])
        self.assertEqual(("onnxruntime", onnxruntime.__version__, "cpu"), (hello["name"], hello["version"], hello["clock"]))
        self.assertRegex(hello["device"], r"\ACPUExecutionProvider, .+, optimisations basic, session.set_denormal_as_zero=1\Z")

    def test_reads_the_wall_clock_where_several_threads_work(self):
        with Conversation() as runner:
            self.assertEqual("wall", runner.hello(2, "wall")["clock"])
            runner.ask(square(), do="load", model=0)
            tensor, data = floats("x", range(1000))
            runner.ask(data, do="inputs", inputs=0, tensors=[tensor])
            times = runner.ask(do="run", model=0, inputs=0, repeats=20)
            self.assertEqual({"nanoseconds", "processor_nanoseconds"}, set(times))
            self.assertGreater(times["processor_nanoseconds"], 0)

    def test_lets_waiting_threads_sleep_by_default(self):
        sys.path.insert(0, str(PYTHON))
        from xflow_onnx import runner_ort

        spins = ("session.intra_op.allow_spinning", "1")
        for threads, options, waiting, value in [(1, [], "", "0"), (2, [], ", waiting threads sleep", "0"), (2, [spins], ", " + "=".join(spins), "1")]:
            runner = runner_ort.Runner(argparse.Namespace(provider=["CPUExecutionProvider"], level="all", option=options))
            hello = runner.hello({"protocol": 1, "threads": threads, "clock": "wall"}, b"")
            self.assertRegex(hello["device"], "optimisations all" + waiting + r"\Z")
            runner.load({"model": 0}, square())
            session_options = runner.sessions[0].get_session_options()
            self.assertEqual(value, session_options.get_session_config_entry(spins[0]))

    def test_gives_times_and_outputs_of_models(self):
        with Conversation() as runner:
            runner.hello()
            self.assertEqual({}, runner.ask(square(), do="load", model=4))
            tensor, data = floats("x", [1, 2, 3])
            self.assertEqual({}, runner.ask(data, do="inputs", inputs=2, tensors=[tensor]))
            answer, data = runner.ask_all(do="outputs", model=4, inputs=2)
            self.assertEqual(
                [{"name": "y", "type": "float32", "dims": [3]}, {"name": "z", "type": "float32", "dims": [3]}], answer["outputs"]
            )
            self.assertEqual((1, 4, 9, 2, 4, 6), struct.unpack("<6f", data))
            times = runner.ask(do="run", model=4, inputs=2, repeats=20)
            self.assertEqual({"nanoseconds"}, set(times), "by the processor's clock, which no other is beside")
            self.assertGreater(times["nanoseconds"], 0)
            # At another size.
            tensor, data = floats("x", [5])
            runner.ask(data, do="inputs", inputs=0, tensors=[tensor])
            self.assertEqual((25, 10), struct.unpack("<2f", runner.ask_all(do="outputs", model=4, inputs=0)[1]))

    def test_passes_every_element_type_on(self):
        names = ["float16", "float32", "float64", "uint8", "int8", "uint16", "int16", "int32", "int64", "uint32", "uint64", "bool"]
        with Conversation() as runner:
            runner.hello()
            for name in names:
                array = numpy.array([[0, 1, 1], [1, 0, 1]], {"bool": numpy.bool_}.get(name, name))
                number = helper.np_dtype_to_tensor_dtype(array.dtype)
                info = [helper.make_tensor_value_info(value, number, [2, 3]) for value in "xy"]
                identity = model([helper.make_node("Identity", ["x"], ["y"])], info[:1], info[1:])
                with self.subTest(name):
                    self.assertEqual({}, runner.ask(identity, do="load", model=0))
                    tensor = {"name": "x", "type": name, "dims": [2, 3]}
                    self.assertEqual({}, runner.ask(array.tobytes(), do="inputs", inputs=0, tensors=[tensor]))
                    answer, data = runner.ask_all(do="outputs", model=0, inputs=0)
                    self.assertEqual({"outputs": [dict(tensor, name="y")]}, answer)
                    self.assertEqual(array.tobytes(), data)

    def test_passes_half_precision_on_that_numpy_lacks(self):
        info = [helper.make_tensor_value_info(value, TensorProto.BFLOAT16, [2]) for value in "xy"]
        tensor, data = {"name": "x", "type": "bfloat16", "dims": [2]}, bytes([0x80, 0x3F, 0, 0x40])
        with Conversation() as runner:
            runner.hello()
            runner.ask(model([helper.make_node("Identity", ["x"], ["y"])], info[:1], info[1:], 16), do="load", model=0)
            runner.ask(data, do="inputs", inputs=0, tensors=[tensor])
            self.assertEqual(({"outputs": [dict(tensor, name="y")]}, data), runner.ask_all(do="outputs", model=0, inputs=0))

    def test_passes_strings_on(self):
        info = [helper.make_tensor_value_info(value, TensorProto.STRING, [2]) for value in "xy"]
        with Conversation() as runner:
            runner.hello()
            runner.ask(model([helper.make_node("Identity", ["x"], ["y"])], info[:1], info[1:]), do="load", model=0)
            tensor = {"name": "x", "type": "string", "dims": [2], "strings": ["a", "\u00e4"]}
            runner.ask(do="inputs", inputs=0, tensors=[tensor])
            self.assertEqual([dict(tensor, name="y")], runner.ask(do="outputs", model=0, inputs=0)["outputs"])

    def test_reads_models_with_external_data_from_their_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "m.onnx")
            proto = onnx.load_from_string(square())
            proto.graph.node[1].input[1] = "w"
            weights = onnx.numpy_helper.from_array(numpy.array([1000], numpy.float32), "w")
            proto.graph.initializer.append(weights)
            onnx.save(proto, path, save_as_external_data=True, size_threshold=0)
            with Conversation() as runner:
                runner.hello()
                self.assertEqual({}, runner.ask(do="load", model=0, path=str(path)))
                tensor, data = floats("x", [2])
                runner.ask(data, do="inputs", inputs=0, tensors=[tensor])
                self.assertEqual((4, 1002), struct.unpack("<2f", runner.ask_all(do="outputs", model=0, inputs=0)[1]))

    def test_goes_on_after_what_it_cannot_do(self):
        with Conversation() as runner:
            runner.hello()
            self.assertRegex(runner.ask(b"no model", do="load", model=0)["error"], "(?i)protobuf")
            self.assertEqual({"error": "no model 0 is loaded"}, runner.ask(do="run", model=0, inputs=0, repeats=1))
            self.assertEqual({"error": "this runner does not know 'dance'"}, runner.ask(do="dance"))
            self.assertEqual({}, runner.ask(square(), do="load", model=0))
            self.assertRegex(runner.ask(do="run", model=0, inputs=0, repeats=1)["error"], "x")
            self.assertEqual({}, runner.ask(do="unload", model=0))
            self.assertEqual({"error": "no model 0 is loaded"}, runner.ask(do="outputs", model=0, inputs=0))

    def test_refuses_another_protocol_and_unknown_providers(self):
        with Conversation() as runner:
            answer = runner.ask(do="hello", protocol=2, threads=1, clock="cpu")
            self.assertEqual({"error": "this runner speaks version 1 of the protocol, not 2"}, answer)
        with Conversation("--provider", "AbacusExecutionProvider") as runner:
            self.assertRegex(runner.hello()["error"], r"\Athis ONNX Runtime has no AbacusExecutionProvider; it has .*CPUExecutionProvider")

    def test_ends_with_its_input(self):
        with Conversation() as runner:
            runner.hello()
            runner.process.stdin.close()
            self.assertEqual(0, runner.process.wait())


if __name__ == "__main__":
    unittest.main()
