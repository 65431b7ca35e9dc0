"""The judge of many models finds what is lost, and goes on after crashes: judge_test.py [unittest arguments]."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

import judge
from random_models import random_model
from random_suite import difference

# Answers each task, ends by a signal on the task "abort", and never answers "wait".
DRIVER = """
import json, os, signal, sys, time
for line in sys.stdin:
    task = json.loads(line)["task"]
    if task == "abort":
        print("about to end", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    if task == "wait":
        time.sleep(600)
    print(json.dumps({"task": task}), flush=True)
"""


def decorated():
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2]), helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", [info[0]], [info[1]])
    return judge.decorate(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)], producer_name="p"))


class Lost(unittest.TestCase):
    def lost(self, change):
        before, after = decorated(), decorated()
        change(after)
        return [line.split(":")[0] for line in judge.lost(before, after)]

    def test_finds_nothing_in_the_same_model(self):
        self.assertEqual([], self.lost(lambda model: None))
        self.assertEqual("", judge.checked(decorated()))

    def test_names_the_kind_of_what_is_lost(self):
        def size(model):
            model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 7

        changes = {
            "interface": [lambda m: m.graph.input.pop(), size],
            "versions": [lambda m: m.opset_import.pop(), lambda m: setattr(m, "ir_version", 9)],
            "metadata": [lambda m: m.metadata_props.pop(), lambda m: setattr(m, "producer_name", ""), lambda m: setattr(m.graph, "name", "h")],
            "functions": [lambda m: m.functions.pop()],
            "texts": [
                lambda m: setattr(m, "doc_string", ""), lambda m: setattr(m.graph, "doc_string", ""),
                lambda m: setattr(m.graph.node[0], "doc_string", ""), lambda m: m.graph.node[0].metadata_props.pop(),
                lambda m: setattr(m.graph.input[0], "doc_string", ""),
            ],
        }
        for kind, all_changes in changes.items():
            for k, change in enumerate(all_changes):
                with self.subTest(kind=kind, change=k):
                    self.assertEqual([kind], self.lost(change))


class Values(unittest.TestCase):
    def test_of_other_types_shapes_and_numbers_differ(self):
        x = numpy.array([1, 2, numpy.nan], numpy.float32)
        self.assertEqual("", judge.same_values(x, x.copy(), 1e-3, 1e-7))
        for other in [x.astype(numpy.float64), x[:2], x * 1.01, numpy.nan_to_num(x)]:
            self.assertNotEqual("", judge.same_values(x, other, 1e-3, 1e-7))
            self.assertNotEqual("", difference(x, other))
        self.assertEqual("", difference(x, x * numpy.float32(1.0001)))
        self.assertNotEqual("", judge.same_values([x], [x, x], 1e-3, 1e-7))
        self.assertNotEqual("", judge.same_values(x, None, 1e-3, 1e-7))


class Processes(unittest.TestCase):
    def test_a_crash_is_the_answer_of_one_task(self):
        with tempfile.TemporaryDirectory() as folder:
            script = judge.write(pathlib.Path(folder) / "driver.py", DRIVER.encode())
            driver = judge.Driver(sys.executable, script)
            self.assertEqual({"task": "a"}, driver.ask({"task": "a"}, 60))
            self.assertEqual({"crash": "SIGABRT: about to end"}, driver.ask({"task": "abort"}, 60))
            self.assertEqual({"task": "b"}, driver.ask({"task": "b"}, 60))
            self.assertEqual({"crash": "no answer in 1 s"}, driver.ask({"task": "wait"}, 1))
            self.assertEqual({"task": "c"}, driver.ask({"task": "c"}, 60))
            driver.close()

    def test_an_item_that_ends_a_worker_is_named_and_the_others_are_done(self):
        results = dict(judge.work_on(list(range(7)), lambda k: os._exit(3) if k == 2 else k * k, 2))
        self.assertIsInstance(results.pop(2), RuntimeError)
        self.assertEqual({k: k * k for k in range(7) if k != 2}, results)


class Generator(unittest.TestCase):
    def test_draws_the_same_model_from_the_same_seed(self):
        first, feeds, _ = random_model([5, 1])
        second, again, _ = random_model([5, 1])
        self.assertEqual(first.SerializeToString(deterministic=True), second.SerializeToString(deterministic=True))
        self.assertEqual(list(feeds), list(again))
        self.assertNotEqual(first, random_model([5, 2])[0])

    def test_draws_every_kind_of_node(self):
        drawn = set()
        for k in range(400):
            drawn.update(node.op_type for node in random_model([1, k, 0])[0].graph.node)
        wanted = {"Resize", "NonZero", "Unique", "TopK", "If", "Loop", "Scan", "QuantizeLinear", "Twice", "Shifted", "Conv", "Gemm", "Reshape"}
        self.assertEqual(set(), wanted - drawn)


if __name__ == "__main__":
    unittest.main()
