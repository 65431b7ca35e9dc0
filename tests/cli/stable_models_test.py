"""A second run changes no model of xflow-bench-models: stable_models_test.py PROGRAM BENCH_MODELS [unittest arguments].

The models are small ones, prices are those of a device that nobody measures, and no gate is run, so that the results are the same on every
machine.
"""

import json
import pathlib
import subprocess
import sys

import program
from program import ROOFLINE, ProgramTest

BENCH_MODELS = ""


class Models(ProgramTest):
    def optimize(self, source, output, *arguments):
        options = ["--device", "profile:npu.xprof", "--budget", "300states", "--no-gate", "--report", f"{output}.json"]
        self.succeed("optimize", source, output, *options, *arguments)
        return json.loads((self.folder / f"{output}.json").read_text())

    def test_do_not_change_in_a_second_run(self):
        (self.folder / "npu.xprof").write_text(ROOFLINE)
        subprocess.run([BENCH_MODELS, self.folder / "models", "--scale", "16"], check=True, stdout=subprocess.DEVNULL)
        names = sorted(path.stem for path in (self.folder / "models").iterdir())
        self.assertGreaterEqual(len(names), 14)
        changed = 0
        for name in names:
            with self.subTest(name):
                report = self.optimize(f"models/{name}.onnx", "out.onnx")
                changed += report["improved"]
                # A second run has a growth of its own, which the first has used up.
                grown = report["constant_bytes"]["after"] > report["constant_bytes"]["before"]
                second = self.optimize("out.onnx", "again.onnx", *(["--max-growth", "0"] if grown else []))
                self.assertFalse(second["improved"])
                self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        self.assertGreaterEqual(changed, 5)


if __name__ == "__main__":
    BENCH_MODELS = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
