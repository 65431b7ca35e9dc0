"""A second run changes no model of xflow-bench-models and none of XFLOW_TEST_MODELS: stable_models_test.py PROGRAM BENCH_MODELS
[unittest arguments].

Prices are those of a device that nobody measures, and no gate is run, so that the results are the same on every machine.
"""

import json
import os
import pathlib
import subprocess
import sys

import program
from program import ROOFLINE, ProgramTest

BENCH_MODELS = ""


class Models(ProgramTest):
    def optimize(self, source, output, budget, *arguments):
        options = ["--device", "profile:npu.xprof", "--budget", budget, "--no-gate", "--report", f"{output}.json"]
        run = self.run_program("optimize", source, output, *options, *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads((self.folder / f"{output}.json").read_text())

    def assert_stable(self, paths, budget):
        """How many models the first run changes."""
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        changed = 0
        for path in paths:
            with self.subTest(path.stem):
                report = self.optimize(path, "out.onnx", budget)
                changed += report["improved"]
                # A second run has a growth of its own, which the first has used up.
                grown = report["constant_bytes"]["after"] > report["constant_bytes"]["before"]
                second = self.optimize("out.onnx", "again.onnx", budget, *(["--max-growth", "0"] if grown else []))
                self.assertFalse(second["improved"])
                self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        return changed

    def test_do_not_change_in_a_second_run(self):
        subprocess.run([BENCH_MODELS, self.folder / "models", "--scale", "16"], check=True, stdout=subprocess.DEVNULL)
        paths = sorted((self.folder / "models").iterdir())
        self.assertGreaterEqual(len(paths), 14)
        self.assertGreaterEqual(self.assert_stable(paths, "300states"), 5)

    def test_of_exporters_do_not_change_in_a_second_run(self):
        if not os.environ.get("XFLOW_TEST_MODELS"):
            self.skipTest("XFLOW_TEST_MODELS is not set")
        paths = sorted(pathlib.Path(os.environ["XFLOW_TEST_MODELS"]).resolve().glob("*.onnx"))
        self.assertGreaterEqual(self.assert_stable(paths, "150states"), 5)


if __name__ == "__main__":
    BENCH_MODELS = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
