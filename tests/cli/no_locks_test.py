"""A file system without flock: no_locks_test.py PROGRAM LIBRARY [unittest arguments]. LIBRARY makes every flock fail."""

import os
import pathlib
import subprocess
import sys

import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of

LIBRARY = ""


class NoLocks(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in ["in", "out"]:
            (self.folder / name).mkdir()
        weight = numpy_helper.from_array(numpy.ones((64, 64), numpy.float32), "w")
        nodes = [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("MatMul", ["i", "w"], ["y"])]
        model = model_of(nodes, [float_info("x", [4, 64])], [float_info("y", [4, 64])], [weight])
        onnx.save(model, self.folder / "in/m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)

    def simplify(self):
        environment = os.environ | {"LD_PRELOAD": LIBRARY}
        command = [program.PROGRAM, "simplify", "in/m.onnx", "out/m.onnx"]
        run = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        return sorted(os.listdir(self.folder / "out"))

    def test_files_are_written_and_nothing_is_left(self):
        for _ in range(2):
            self.assertEqual(["m.onnx", "w.bin"], self.simplify())
            onnx.checker.check_model(str(self.folder / "out/m.onnx"))

    def test_what_may_belong_to_a_run_that_lives_stays(self):
        """Nothing tells a killed run from one that lives, so nothing is removed; with locks it is."""
        for name in [".m.onnx.xflow-1-0.tmp", ".m.onnx.xflow-1-1.run"]:
            (self.folder / "out" / name).write_bytes(b"")
        self.assertEqual([".m.onnx.xflow-1-0.tmp", ".m.onnx.xflow-1-1.run", "m.onnx", "w.bin"], self.simplify())
        self.succeed("simplify", "in/m.onnx", "out/m.onnx")
        self.assertEqual(["m.onnx", "w.bin"], sorted(os.listdir(self.folder / "out")))


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
