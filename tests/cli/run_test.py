"""Tests of `xflow run`: run_test.py PROGRAM [MPIRUN [unittest arguments]]. Without MPIRUN of a build without MPI."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import time
import unittest

import mpi
import numpy
import onnx
from check_runner_test import RUNNER
from mpi import QUIET, ROOT, MpiTest
from onnx import TensorProto, helper, numpy_helper
from parts import cpu_cluster, plan_of, session
from program import float_info, model_of
from split_test import SIZE, diamond, weight



def failing(what):
    """A runner that ends or sleeps in its seventh part."""
    script = shlex.quote(str(pathlib.Path(__file__).parent / "failing_runner.py"))
    return RUNNER.replace("-m xflow_onnx.runner_ort", f"{script} 7 {what}")


# The longest time from the end of a process to the end of all, in seconds.
MOST_SECONDS = 10


class Run(MpiTest):
    def setUp(self):
        super().setUp()
        self.write("pair.json", json.dumps(cpu_cluster()))
        self.write("diamond.onnx", diamond())
        self.split("diamond.onnx", "round-robin", "parts")

    def split(self, model, policy, folder, *arguments):
        count = len(onnx.load(self.folder / model).graph.node)
        self.write("plan.json", json.dumps(plan_of(count, policy)))
        self.succeed("split", model, "--plan", "plan.json", "--cluster", "pair.json", "--out", folder, *arguments)

    def inputs(self, name="x.npz", **arrays):
        numpy.savez(self.folder / name, **arrays)
        return name

    def x(self, rows=3):
        return numpy.random.default_rng(3).normal(size=(rows, SIZE)).astype(numpy.float32)

    def agree(self, model, archive, **inputs):
        whole = session(self.folder / model)
        expected = dict(zip((value.name for value in whole.get_outputs()), whole.run(None, inputs)))
        found = numpy.load(self.folder / archive)
        self.assertEqual(list(expected), found.files)
        for name, value in expected.items():
            self.assertEqual((value.dtype, value.shape), (found[name].dtype, found[name].shape))
            numpy.testing.assert_allclose(value, found[name], rtol=1e-4, atol=1e-5)


class OneProcess(Run):
    def test_runs_all_parts(self):
        self.inputs(x=self.x())
        text = self.succeed("run", "parts", "--inputs", "x.npz", "--out", "y.npz", "--check-against", "diamond.onnx", "--repeat", 3)
        self.agree("diamond.onnx", "y.npz", x=self.x())
        self.assertRegex(text, r"\Amodel       parts\nprocesses   1, which runs all parts\ninputs      x.npz\n"
                               r"step        \d+\.\d{4} ms, median of 3; the fastest \d+\.\d{4} ms\n\n"
                               r"part  device            nodes  kernels       predicted          median\n"
                               r"   0  cpu0                  2        2 +\d\.\d{4} ms +\d\.\d{4} ms\n"
                               r"   1  cpu1                  2        1 .*\n   2  cpu0                  1        1 .*\n"
                               r"\noutput      y: float32\[3,8\]\n")
        self.assertTrue(text.endswith("equal: 1 output on 1 set of inputs\n"), text)

    def test_runs_a_whole_model(self):
        self.inputs(x=self.x(5))
        text = self.succeed("run", "diamond.onnx", "--inputs", "x.npz", "--out", "y.npz")
        self.agree("diamond.onnx", "y.npz", x=self.x(5))
        self.assertIn("\n   0  cpu                   5 ", text)

    def test_sizes_pass_from_part_to_part(self):
        for rows in [1, 4]:
            self.succeed("run", "parts", "--shape", f"x:{rows},{SIZE}", "--out", f"{rows}.npz", "--check-against", "diamond.onnx")
            self.assertEqual((rows, SIZE), numpy.load(self.folder / f"{rows}.npz")["y"].shape)

    def test_seeds_decide_inputs(self):
        outputs = []
        for seed in [1, 1, 2]:
            text = self.succeed("run", "parts", "--seed", seed, "--out", "y.npz")
            outputs.append(numpy.load(self.folder / "y.npz")["y"])
        self.assertIn("inputs      x: float32[1,8], seed 2\n", text)
        numpy.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)
        self.assertGreater(numpy.abs(outputs[0] - outputs[2]).max(), 1e-3)

    def test_a_trace_has_each_part(self):
        self.succeed("run", "parts", "--trace", "step.json", "--repeat", 2)
        events = json.loads((self.folder / "step.json").read_text())["traceEvents"]
        names = [event["args"]["name"] for event in events if event["ph"] == "M"]
        self.assertEqual(["measured devices", "measured links and ports", "cpu0", "cpu1"], names)
        tasks = [event for event in events if event["ph"] == "X"]
        self.assertEqual({f"part {k}" for k in range(3)}, {event["name"] for event in tasks})
        # Each part begins after those that it needs.
        ends = {event["name"]: event["ts"] + event["dur"] for event in tasks}
        starts = {event["name"]: event["ts"] for event in tasks}
        for part, needed in [(1, 0), (2, 1)]:
            self.assertLessEqual(ends[f"part {needed}"], starts[f"part {part}"] + 1e-3)

    def test_defaults_of_inputs(self):
        model = diamond()
        model.graph.input.append(float_info("w", [SIZE, SIZE]))
        self.write("default.onnx", model)
        self.split("default.onnx", "chain", "default")
        self.inputs(x=self.x())
        self.succeed("run", "default", "--inputs", "x.npz", "--out", "y.npz")
        self.agree("default.onnx", "y.npz", x=self.x())
        self.inputs(x=self.x(), w=self.x(SIZE))
        self.succeed("run", "default", "--inputs", "x.npz", "--out", "y.npz")
        self.agree("default.onnx", "y.npz", x=self.x(), w=self.x(SIZE))

    def test_weights_that_another_part_computes(self):
        """A convolution whose weights are no constants."""
        nodes = [helper.make_node("Tanh", ["k"], ["t"]), helper.make_node("Conv", ["x", "t"], ["y"], pads=[1, 1, 1, 1])]
        shapes = {"x": [1, 16, 9, 9], "k": [16, 16, 3, 3]}
        self.write("conv.onnx", model_of(nodes, [float_info(*item) for item in shapes.items()], [float_info("y", [1, 16, 9, 9])]))
        self.split("conv.onnx", "round-robin", "conv")
        text = self.succeed("run", "conv", "--check-against", "conv.onnx")
        self.assertTrue(text.endswith("equal: 1 output on 1 set of inputs\n"), text)

    def test_outputs_that_differ(self):
        model = diamond()
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * numpy_helper.to_array(model.graph.initializer[0]), "w"))
        self.write("other.onnx", model)
        run = self.run_program("run", "parts", "--check-against", "other.onnx")
        self.assertEqual((1, ""), (run.returncode, run.stderr))
        self.assertRegex(run.stdout, r"\ndifferent: output 'y' is \S+ instead of \S+ at \[0,\d\] \(error .*\)\n\Z")

    def test_a_simulated_step_beside_the_measured_one(self):
        text = self.succeed("run", "parts", "--cluster", "pair.json")
        self.assertRegex(text, r"\nsimulated   \d+\.\d{4} ms, \d+\.\d\d of the measured step\n")
        self.write("other.json", json.dumps({**cpu_cluster(), "devices": [{"name": "a", "kind": "core", "memory": 1, "cpu": {}}]}))
        self.fail_with(2, "other.json: the cluster has no device 'cpu0'", "run", "parts", "--cluster", "other.json")

    def test_messages_on_inputs(self):
        self.inputs("other.npz", z=self.x())
        self.fail_with(2, "other.npz: array 'z' matches no input of the model", "run", "parts", "--inputs", "other.npz")
        self.inputs("wide.npz", x=numpy.zeros((3, 5), numpy.float32))
        self.fail_with(2, "parts/part-0.onnx: sizes [3,5] of input 'x': the model declares size 8 of dimension 1", "run", "parts", "--inputs", "wide.npz")
        self.inputs("double.npz", x=numpy.zeros((3, SIZE)))
        self.fail_with(2, "parts/part-0.onnx: input 'x': an input is float32[3,8], float64[3,8] was given", "run", "parts", "--inputs", "double.npz")
        self.fail_with(64, "shape '3' is not of the form NAME:1,3,48,192", "run", "parts", "--shape", "3")
        model = diamond()
        model.graph.input.append(float_info("z", [1, SIZE]))
        model.graph.node[1].CopyFrom(helper.make_node("Add", ["p", "z"], ["q"], name="relu"))
        self.write("two.onnx", model)
        self.split("two.onnx", "chain", "two")
        self.inputs(x=self.x())
        self.fail_with(2, "x.npz: no values for input 'z'", "run", "two", "--inputs", "x.npz")
        self.fail_with(64, "y.npz: two results have the same file", "run", "parts", "--out", "y.npz", "--trace", "y.npz")
        self.fail_with(64, "x.npz: the result would overwrite a file that is read", "run", "parts", "--inputs", "x.npz", "--out", "x.npz")

    def test_messages_on_parts(self):
        self.fail_with(2, "none: cannot open: No such file or directory", "run", "none")
        (self.folder / "empty").mkdir()
        self.fail_with(2, "empty/manifest.json: cannot open: No such file or directory", "run", "empty")
        path = self.folder / "parts/manifest.json"
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, "version": 2}))
        self.fail_with(2, "parts/manifest.json:1: the manifest: 'version' is 2; this xflow reads 1", "run", "parts")
        path.write_text(json.dumps(manifest))
        (self.folder / "parts/part-2.onnx").unlink()
        self.fail_with(2, "parts/part-2.onnx: cannot open: No such file or directory", "run", "parts")

    def test_nodes_that_this_cpu_cannot_run(self):
        nodes = [helper.make_node("Relu", ["x"], ["z"]), helper.make_node("Foo", ["z"], ["y"], domain="own", name="foo")]
        model = model_of(nodes, [float_info("x", [2])], [float_info("y", [2])])
        model.opset_import.append(helper.make_opsetid("own", 1))
        self.write("own.onnx", model)
        self.write("plan.json", json.dumps(plan_of(2, "chain")))
        self.succeed("split", "own.onnx", "--plan", "plan.json", "--cluster", "pair.json", "--out", "own")
        self.fail_with(3, "own/part-1.onnx: cannot run node 'foo' (Foo): no operator for own.Foo; if a shape is not known, split the model with "
                          "--shape", "run", "own")

    def test_a_runner_runs_the_parts(self):
        self.inputs(x=self.x())
        text = self.succeed("run", "parts", "--runner", RUNNER, "--inputs", "x.npz", "--out", "y.npz", "--check-against", "diamond.onnx",
                            "--repeat", 3, "--cluster", "pair.json")
        self.agree("diamond.onnx", "y.npz", x=self.x())
        self.assertRegex(text, r"\Amodel       parts\nrunner      onnxruntime \S+, CPUExecutionProvider, .*\nprocesses   1, which runs all parts\n")
        self.assertRegex(text, r"\n   0  cpu0                  2        1 +\d\.\d{4} ms +\d\.\d{4} ms\n")
        self.assertRegex(text, r"\nsimulated   \d+\.\d{4} ms, ")
        self.assertTrue(text.endswith("equal: 1 output on 1 set of inputs\n"), text)

    def test_defaults_of_inputs_in_a_runner(self):
        model = diamond()
        model.graph.input.append(float_info("w", [SIZE, SIZE]))
        self.write("default.onnx", model)
        self.split("default.onnx", "chain", "default")
        self.inputs(x=self.x())
        self.succeed("run", "default", "--runner", RUNNER, "--inputs", "x.npz", "--out", "y.npz")
        self.agree("default.onnx", "y.npz", x=self.x())
        # ONNX Runtime's runner would run with the default.
        self.inputs(x=self.x(), w=self.x(SIZE))
        self.fail_with(3, "default/part-0.onnx: input 'w' has a default, which a runner may keep; give no values for it, or run without a runner",
                       "run", "default", "--runner", RUNNER, "--inputs", "x.npz")

    def test_nodes_that_a_runner_runs(self):
        """An If, which the CPU executor does not have."""
        body = {name: helper.make_graph([helper.make_node(function, ["z"], [name])], name, [], [float_info(name, [4])])
                for name, function in [("yes", "Exp"), ("no", "Neg")]}
        nodes = [helper.make_node("Relu", ["x"], ["z"]), helper.make_node("If", ["c"], ["y"], then_branch=body["yes"], else_branch=body["no"])]
        condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
        self.write("choice.onnx", model_of(nodes, [float_info("x", [4]), condition], [float_info("y", [4])]))
        self.split("choice.onnx", "round-robin", "choice")
        for c in [True, False]:
            inputs = {"x": numpy.arange(4, dtype=numpy.float32), "c": numpy.array(c)}
            self.inputs(**inputs)
            self.succeed("run", "choice", "--runner", RUNNER, "--inputs", "x.npz", "--out", "y.npz")
            self.agree("choice.onnx", "y.npz", **inputs)

    def test_messages_of_runners(self):
        run = self.run_program("run", "parts", "--runner", "exit 3")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: .*the runner: .*\n\Z")
        self.inputs("wide.npz", x=numpy.zeros((3, SIZE)))
        self.fail_with(2, "parts/part-0.onnx: input 'x': an input is float32[3,8], float64[3,8] was given", "run", "parts", "--runner", RUNNER,
                       "--inputs", "wide.npz")
        run = self.run_program("run", "parts", "--runner", RUNNER, "--costs", "costs.db")
        self.assertEqual(64, run.returncode)
        self.assertIn("--costs excludes --runner", run.stderr)

    def test_a_runner_that_ends(self):
        run = self.run_program("run", "parts", "--runner", failing("end"), "--repeat", 9)
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: parts/part-0.onnx: the runner: .*\n\Z")

    def test_links_need_processes(self):
        self.fail_with(64, "links are measured between processes; start two or more: mpirun -n 2 xflow devices --measure cpu-2.json",
                       "devices", "--measure", "cpu-2.json")

    def test_a_cluster_that_was_not_measured(self):
        text = "cpu-2: not measured on this machine; measure it with: mpirun -n 2 xflow devices --measure cpu-2"
        self.fail_with(2, text, "run", "parts", "--cluster", "cpu-2")
        self.fail_with(2, text, "simulate", "diamond.onnx", "--cluster", "cpu-2")
        self.fail_with(2, text, "parallelize", "diamond.onnx", "--cluster", "cpu-2")
        self.fail_with(2, text, "split", "diamond.onnx", "--plan", "plan.json", "--cluster", "cpu-2", "--out", "other")
        self.fail_with(2, text.replace("2", "12"), "run", "parts", "--cluster", "cpu-12")
        homeless = self.run_program("run", "parts", "--cluster", "cpu-2", **{"HOME": "", "XDG_CACHE_HOME": ""})
        self.assertEqual((3, "xflow: cpu-2: there is no folder for what was measured: set HOME or XDG_CACHE_HOME\n"),
                         (homeless.returncode, homeless.stderr))
        # Of one process there are no links.
        self.fail_with(2, "cpu-1: neither a file nor a cluster that is built in (dgx-h100, flexflow-k80, slow-16)", "run", "parts",
                       "--cluster", "cpu-1")


@unittest.skipUnless(mpi.IS_BUILT_WITH_MPI, "built without MPI")
class WithMpi(Run):
    def test_a_process_for_each_device(self):
        self.inputs(x=self.x())
        status, text, errors = self.mpirun(2, "run", "parts", "--inputs", "x.npz", "--out", "y.npz", "--trace", "step.json", "--repeat", 5,
                                           "--check-against", "diamond.onnx", "--cluster", "pair.json")
        self.assertEqual((0, ""), (status, errors))
        self.agree("diamond.onnx", "y.npz", x=self.x())
        self.assertRegex(text, r"\nprocesses   2, one for each device\n")
        tensor = 4 * 3 * SIZE
        self.assertRegex(text, rf"\nlink +transfers +bytes +sum of medians\n"
                               rf"cpu0 -> cpu1 +2 +{2 * tensor} B +\d+\.\d{{4}} ms\ncpu1 -> cpu0 +1 +{tensor} B +\d+\.\d{{4}} ms\n")
        self.assertTrue(text.endswith("equal: 1 output on 1 set of inputs\n"), text)
        events = json.loads((self.folder / "step.json").read_text())["traceEvents"]
        transfers = [event for event in events if event.get("cat") == "transfer"]
        self.assertEqual(["p", "r", "s"], sorted(event["name"] for event in transfers))
        self.assertTrue(all(event["dur"] > 0 for event in transfers))

    def test_tensors_are_sent_once_and_outputs_come_from_all(self):
        """A tensor with two readers on another device, in two stages, and outputs of both devices."""
        nodes = [
            helper.make_node("Tanh", ["x"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Exp", ["b"], ["c"]),
            helper.make_node("Add", ["a", "c"], ["d"]),
            helper.make_node("Neg", ["a"], ["e"]),
        ]
        outputs = [float_info(name, [4, SIZE]) for name in ["d", "e", "x", "b"]]
        self.write("shared.onnx", model_of(nodes, [float_info("x", [4, SIZE])], outputs))
        devices = ["cpu0", "cpu1", "cpu0", "cpu1", "cpu1"]
        self.write("plan.json", json.dumps({"version": 1, "nodes": [{"node": k, "device": one} for k, one in enumerate(devices)]}))
        self.succeed("split", "shared.onnx", "--plan", "plan.json", "--cluster", "pair.json", "--out", "shared")
        self.inputs(x=self.x(4))
        status, text, errors = self.mpirun(2, "run", "shared", "--inputs", "x.npz", "--out", "y.npz", "--repeat", 20)
        self.assertEqual((0, ""), (status, errors))
        self.agree("shared.onnx", "y.npz", x=self.x(4))
        # a and c; b.
        self.assertRegex(text, r"\ncpu0 -> cpu1 +2 .*\ncpu1 -> cpu0 +1 ")

    def test_the_number_of_processes(self):
        text = ("xflow: parts: the parts are for 2 devices (cpu0, cpu1), but there are 3 processes; start 2, or one without mpirun "
                "(see 'xflow run --help')\n")
        self.assertEqual((64, "", text), self.mpirun(3, "run", "parts"))
        self.assertEqual(0, self.mpirun(1, "run", "parts")[0])

    def test_a_wrong_command_line_is_one_line(self):
        alone = self.run_program("run", "parts", "--repeat", 0)
        self.assertEqual((64, "", 1), (alone.returncode, alone.stdout, alone.stderr.count("\n")))
        self.assertEqual((64, "", alone.stderr), self.mpirun(2, "run", "parts", "--repeat", 0))

    def test_an_error_of_one_process_is_one_line(self):
        (self.folder / "parts/part-1.onnx").write_bytes(b"\x08")
        alone = self.run_program("run", "parts")
        self.assertEqual((2, ""), (alone.returncode, alone.stdout))
        self.assertEqual((2, "", alone.stderr), self.mpirun(2, "run", "parts"))

    def end_one(self, number, with_signal):
        """Sends a signal to a process of a long run. Returns the exit code and the messages of all."""
        run = subprocess.Popen(self.command(2, "run", "parts", "--repeat", 1000000), cwd=self.folder, env=self.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            children = self.children_that_run(run.pid)
            begin = time.monotonic()
            os.kill(children[number], with_signal)
            errors = run.communicate(timeout=60)[1]
            self.assertLess(time.monotonic() - begin, MOST_SECONDS)
        finally:
            run.kill()
        return run.returncode, errors

    def children_that_run(self, mpirun):
        """The processes in the order of their numbers, when they have run for a while."""
        for _ in range(600):
            time.sleep(0.1)
            children = []
            for path in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                    variables = dict(one.split("=", 1) for one in (path / "environ").read_text().split("\0") if "=" in one)
                    ticks = sum(map(int, (path / "stat").read_text().rpartition(")")[2].split()[11:13]))
                except (OSError, ValueError):
                    continue
                if parent == mpirun and "OMPI_COMM_WORLD_RANK" in variables:
                    children.append((int(variables["OMPI_COMM_WORLD_RANK"]), int(path.name), ticks / os.sysconf("SC_CLK_TCK")))
            # Reading, timing and building take less than a second of processor time.
            if len(children) == 2 and all(seconds > 2 for *_, seconds in children):
                return [process for _, process, _ in sorted(children)]
        self.fail("the processes did not run")

    WORK = r"(, which was (computing part \d|waiting for inputs of part \d|waiting for others),|)"

    def test_a_process_that_is_killed_ends_all(self):
        status, errors = self.end_one(1, signal.SIGKILL)
        self.assertNotEqual(0, status)
        self.assertRegex(errors, rf"\Axflow: process 1 \(device 'cpu1'\){self.WORK} has ended\n\Z")

    def test_a_process_that_hangs_ends_all(self):
        status, errors = self.end_one(0, signal.SIGSTOP)
        self.assertNotEqual(0, status)
        self.assertRegex(errors, rf"\Axflow: process 0 \(device 'cpu0'\){self.WORK} has not answered for 6 s\n\Z")

    def test_measured_links_are_a_cluster(self):
        status, text, errors = self.mpirun(2, "devices", "--measure", "cpu-2.json")
        self.assertEqual((0, ""), (status, errors))
        self.assertRegex(text, r"\Acluster cpu-2: 2 processes, .+\n\ninside: \d+\.\d\d us \+ bytes / \d+\.\d{3} GB/s\n +bytes +measured +fitted\n")
        cluster = json.loads((self.folder / "cpu-2.json").read_text())
        self.assertEqual(["cpu0", "cpu1"], [device["name"] for device in cluster["devices"]])
        self.assertEqual([{"threads": 1}] * 2, [device["cpu"] for device in cluster["devices"]])
        self.succeed("simulate", "diamond.onnx", "--cluster", "cpu-2.json", "--plan", "plan.json", "--shape", f"x:3,{SIZE}")

    def test_a_runner_in_each_process(self):
        self.inputs(x=self.x())
        status, text, errors = self.mpirun(2, "run", "parts", "--runner", RUNNER, "--inputs", "x.npz", "--out", "y.npz", "--repeat", 5,
                                           "--check-against", "diamond.onnx")
        self.assertEqual((0, ""), (status, errors))
        self.agree("diamond.onnx", "y.npz", x=self.x())
        self.assertRegex(text, r"\nrunner      onnxruntime .*\nprocesses   2, one for each device\n")
        self.assertTrue(text.endswith("equal: 1 output on 1 set of inputs\n"), text)

    def test_a_runner_that_fails_ends_all_processes(self):
        for what in ["end", "sleep"]:
            with self.subTest(what):
                status, text, errors = self.mpirun(2, "run", "parts", "--runner", failing(what), "--repeat", 9)
                self.assertEqual((True, ""), (status != 0, text))
                self.assertRegex(errors, rf"\Axflow: process [01] \(device 'cpu[01]'\){self.WORK} ended: parts/part-\d.onnx: the runner: .*\n")

    def test_a_cluster_is_measured_once_and_has_a_name(self):
        status, text, errors = self.mpirun(2, "devices", "--measure", "cpu-2")
        self.assertEqual((0, ""), (status, errors))
        self.assertTrue(text.startswith("cluster cpu-2: 2 processes, "), text)
        (file,) = (self.folder / "cache/xflow").glob("cpu-2.*.json")
        self.assertEqual(["cpu0", "cpu1"], [device["name"] for device in json.loads(file.read_text())["devices"]])
        self.assertTrue(self.succeed("simulate", "diamond.onnx", "--cluster", "cpu-2", "--plan", "plan.json").startswith(
            "cluster     cpu-2, 2 devices\n"))
        self.assertEqual(0, self.mpirun(2, "run", "parts", "--cluster", "cpu-2")[0])
        self.assertEqual((64, "", "xflow: cpu-3: has 3 processes, and mpirun started 2 (see 'xflow devices --help')\n"),
                         self.mpirun(2, "devices", "--measure", "cpu-3"))

    def test_refuses_the_mpirun_of_another_mpi(self):
        error = "xflow: mpirun started 4 processes, but each finds only 1; use the mpirun of the MPI that xflow was built with\n"
        for rank, expected in [("0", (3, "", error)), ("1", (0, "", ""))]:
            variables = {"PMI_SIZE": "4", "PMI_RANK": rank, "OMPI_MCA_plm": "isolated", **ROOT, **QUIET}
            run = self.run_program("run", "parts", **variables)
            self.assertEqual(expected, (run.returncode, run.stdout, run.stderr))


@unittest.skipIf(mpi.IS_BUILT_WITH_MPI, "built with MPI")
class WithoutMpi(Run):
    def test_refuses_to_run_all_parts_in_every_process(self):
        error = ("xflow: mpirun started 2 processes, but xflow was built without MPI; start one process, or install libopenmpi-dev and "
                 "rebuild xflow\n")
        for rank, expected in [("0", (3, "", error)), ("1", (0, "", ""))]:
            run = self.run_program("run", "parts", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK=rank)
            self.assertEqual(expected, (run.returncode, run.stdout, run.stderr))


if __name__ == "__main__":
    mpi.main()
