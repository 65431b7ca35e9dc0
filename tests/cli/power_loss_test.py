"""A loss of power: power_loss_test.py PROGRAM LIBRARY [unittest arguments]. LIBRARY lists what reaches the disk, and when.

A disk may keep what was not flushed, or not: contents of a file until fsync of the file, names until fsync of the folder that has them.
So OUT is the old or the new result, whole, at every moment if the contents of every file are flushed before it gets its name, and the names
of all data and of the folders made for it before the model gets its own.
"""

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


class PowerLoss(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in ["in/a/b", "out"]:
            (self.folder / name).mkdir(parents=True)
        weight = numpy_helper.from_array(numpy.ones((64, 64), numpy.float32), "w")
        nodes = [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("MatMul", ["i", "w"], ["y"])]
        model = model_of(nodes, [float_info("x", [4, 64])], [float_info("y", [4, 64])], [weight])
        onnx.save(model, self.folder / "in/m.onnx", save_as_external_data=True, location="a/b/w.bin", size_threshold=0)

    def events(self, *arguments):
        """(kind, paths...) in the order in which they happened, all paths absolute."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        environment = os.environ | {"LD_PRELOAD": LIBRARY, "XFLOW_DISK_LOG": str(log)}
        run = subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        absolute = lambda path: os.path.realpath(self.folder / path)
        return [(kind, *map(absolute, paths)) for kind, *paths in (line.split("\t") for line in log.read_text().splitlines())]

    def assert_survives(self, events, model):
        """Every name that matters is flushed before the model replaces OUT, and what it names before it is named."""
        path = lambda name: os.path.realpath(self.folder / name)
        renames = [(k, event[1], event[2]) for k, event in enumerate(events) if event[0] == "rename"]
        shipped = next(k for k, _, to in renames if to == path(model))
        self.assertEqual(renames[-1][0], shipped, "the model is written last")
        for k, source, to in renames:
            self.assertIn(("flush", source), events[:k], f"the contents of {to} are not flushed before it is named")
            end = len(events) if k == shipped else shipped
            self.assertIn(("flush", os.path.dirname(to)), events[k:end], f"the name of {to} is not flushed")
        for k, event in enumerate(events):
            if event[0] == "folder":
                self.assertIn(("flush", os.path.dirname(event[1])), events[k:shipped], f"the name of {event[1]} is not flushed")
        return renames

    def test_data_in_new_folders(self):
        events = self.events("simplify", "in/m.onnx", "out/m.onnx")
        self.assertEqual(2, len(self.assert_survives(events, "out/m.onnx")))
        self.assertEqual(2, sum(event[0] == "folder" for event in events))

    def test_a_result_that_replaces_one(self):
        for _ in range(2):
            events = self.events("simplify", "in/m.onnx", "out/m.onnx", "--save-as-external-data", "w.data")
            self.assert_survives(events, "out/m.onnx")

    def test_a_result_behind_a_link(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/real.onnx").write_bytes(b"")
        (self.folder / "out/m.onnx").symlink_to("../other/real.onnx")
        self.assert_survives(self.events("simplify", "in/m.onnx", "out/m.onnx"), "other/real.onnx")


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
