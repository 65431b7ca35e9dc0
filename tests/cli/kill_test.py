"""Kills the program at random moments while it writes: kill_test.py PROGRAM [unittest arguments].

A model with external data is written again and again over the result of another one. At each moment the output is the old or the new
model, whole, and the next run that ends leaves nothing behind. XFLOW_TEST_KILLS sets the number of kills of each case.
"""

import os
import random
import signal
import subprocess
import time

import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of

KILLS = int(os.environ.get("XFLOW_TEST_KILLS", "70"))
SHAPE = (1024, 2048)  # 8 MiB


def model(seed):
    weight = numpy_helper.from_array(numpy.random.default_rng(seed).normal(size=SHAPE).astype(numpy.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    return model_of(nodes, [float_info("x", SHAPE)], [float_info("y", SHAPE)], [weight])


class Kills(ProgramTest):
    def setUp(self):
        super().setUp()
        self.models = [model(seed) for seed in range(2)]
        self.weights = [m.graph.initializer[0].raw_data for m in self.models]
        for k, m in enumerate(self.models):
            (self.folder / f"in{k}").mkdir()
            copy = onnx.ModelProto()
            copy.CopyFrom(m)
            onnx.save(copy, self.folder / f"in{k}" / "m.onnx", save_as_external_data=True, location="w.bin")
        self.out = self.folder / "out"
        self.out.mkdir()

    def start(self, k, arguments):
        command = [program.PROGRAM, arguments[0], f"in{k}/m.onnx", "out/m.onnx", *arguments[1:]]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self, k, arguments):
        begin = time.monotonic()
        run = self.start(k, arguments)
        _, errors = run.communicate()
        self.assertEqual((0, b""), (run.returncode, errors))
        return time.monotonic() - begin

    def present(self):
        """Which of the models the output is; fails if it is neither, whole. Nothing where there is none yet."""
        if not (self.out / "m.onnx").exists():
            return None
        onnx.checker.check_model(str(self.out / "m.onnx"))
        tensor = onnx.load(self.out / "m.onnx").graph.initializer[0]
        self.assertIn(tensor.raw_data, self.weights)
        return self.weights.index(tensor.raw_data)

    def leave_old_or_new(self, arguments, clean):
        """`clean`: what may be beside the model after a run that ended."""
        choose = random.Random(1)
        longest = max([self.finish(k, arguments) for k in [0, 1, 0, 1]][2:])  # the first runs measure costs
        old, interrupted, changed = self.present(), 0, 0
        for kill in range(KILLS):
            new = 1 - old if choose.random() < 0.8 else old
            run = self.start(new, arguments)
            time.sleep(choose.uniform(0, longest))
            run.send_signal(signal.SIGKILL)
            run.communicate()
            now = self.present()
            self.assertIn(now, [old, new], f"kill {kill}")
            interrupted += run.returncode != 0
            changed += now != old
            old = now
            if kill % 20 == 19:
                self.finish(old, arguments)
                for name in os.listdir(self.out):
                    self.assertRegex(name, clean, f"kill {kill}")
        print(f"{KILLS} kills: {interrupted} before the end, {changed} of all runs had written the new model")
        self.assertGreater(interrupted, 0)

    def test_of_copies_leave_the_old_or_the_new_model(self):
        self.leave_old_or_new(["simplify"], r"^(m\.onnx|w\.bin|m\.onnx\.[0-9a-f]{16}\.data)$")

    def test_of_one_file_leave_the_old_or_the_new_model(self):
        self.leave_old_or_new(["simplify", "--save-as-external-data", "all.bin"], r"^(m\.onnx|all\.bin)$")

    def test_of_optimizations_leave_the_old_or_the_new_model(self):
        (self.out / "w.bin").write_bytes(b"another file of that name")
        arguments = ["optimize", "--no-gate", "--budget", "1states", "--costs", str(self.folder / "costs.db")]
        self.leave_old_or_new(arguments, r"^(m\.onnx|w\.bin|m\.onnx\.[0-9a-f]{16}\.data)$")
        self.finish(0, arguments)
        self.assertEqual(3, len(os.listdir(self.out)), "one file of data, beside the file that was there")


if __name__ == "__main__":
    program.main()
