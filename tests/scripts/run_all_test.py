"""Tests of bench/gpu/run_all: run_all_test.py BUILD_FOLDER [unittest arguments]. Its way is gone on this CPU; on a GPU it is the same."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ""
NO_DEVICE = "no CUDA device: nothing was measured"


class RunAll(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")

    def run_all(self, *arguments, **environment):
        return subprocess.run(
            [str(ROOT / "bench/gpu/run_all"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XFLOW_BUILD": BUILD, **environment},
        )

    def test_says_that_there_is_no_device(self):
        run = self.run_all(str(self.out), XFLOW_BENCH_DEVICE="cuda:31")
        self.assertEqual((3, ""), (run.returncode, run.stderr))
        self.assertEqual(NO_DEVICE, run.stdout.splitlines()[-1])
        self.assertEqual(["devices.txt"], [path.name for path in self.out.iterdir()])
        self.assertRegex((self.out / "devices.txt").read_text(), r"\Acpu  ")

    def test_measures_a_model(self):
        profile = self.out.parent / "line.xprof"
        head = "xflow profile 1\ndevice cpu\nmodel a line\nlibrary none\nthreads 1\nclock none\n"
        profile.write_text(head + "roofline launch 1000\nroofline bandwidth 1e10\nroofline peak float32 1e11\n")
        run = self.run_all(str(self.out), "nasrnn", XFLOW_BENCH_DEVICE="cpu", XFLOW_BENCH_SCALE="32", XFLOW_BENCH_BUDGET="1",
                           XFLOW_BENCH_PROFILE=str(profile))
        self.assertEqual((0, ""), (run.returncode, run.stderr), run.stdout)
        names = {str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file()} - {"machine.txt"}
        small = {"small.txt", "small/nasrnn.json", "small/table.md", "small/costs.db"}
        measured = {"devices.txt", "check.txt", "first.xprof", "model.txt", "cuda.xprof", "models/nasrnn.json", "models/table.md", "models/costs.db"}
        self.assertEqual(small | measured, names)
        self.assertTrue(json.loads((self.out / "small/nasrnn.json").read_text())["compared"])
        measurement = json.loads((self.out / "models/nasrnn.json").read_text())
        self.assertEqual("cpu", measurement["device"]["name"])
        self.assertRegex(measurement["device"]["library"], "oneDNN")
        self.assertEqual(31, len(measurement["original"]["samples"]))
        self.assertGreater(min(measurement["original"]["samples"]), 0)
        middle = sorted(measurement["original"]["samples"])[15]
        self.assertAlmostEqual(measurement["predicted"] / middle - 1, measurement["error"])
        self.assertEqual(0, measurement["profiling"]["kernels"])  # they are in first.xprof
        self.assertEqual({"kernels", "seconds", "cannot_run", "refusals"}, set(measurement["profiling"]))
        self.assertIn("end_to_end", measurement["report"])
        self.assertEqual(measurement["report"]["improved"], "turns" in measurement)
        if "turns" in measurement:
            ratios = sorted(after / before for before, after in zip(measurement["turns"]["original"], measurement["turns"]["result"]))
            self.assertEqual(31, len(ratios))
            self.assertAlmostEqual(ratios[15], measurement["turns"]["ratio"]["median"])
        table = (self.out / "models/table.md").read_text()
        self.assertIn("| model | predicted, us | run, us | error, % |", table)
        self.assertRegex(table, r"\n\| nasrnn \| [\d.]+ \| [\d.]+ \| -?[\d.]+ \|")
        self.assertRegex(table, r"\n1 of 1 models run\. Median error of the prediction [\d.]+ %\.")
        self.assertTrue((self.out / "cuda.xprof").read_text().startswith("xflow profile"))
        first, last = (self.kernels_of(name) for name in ("first.xprof", "cuda.xprof"))
        self.assertLess(first, last)
        model = (self.out / "model.txt").read_text()
        before, _, after = model.partition("Fitted to the kernels of the models as they are\n\n")
        self.assertTrue(before.startswith(f"The roofline of the device is not known.\n\n{profile}\n\nprofile "), model)
        self.assertRegex(before, r"(?m)^all +modelled +\d+ ")
        count = {how: int(kernels) for how, kernels in re.findall(r"(?m)^all +(recorded|modelled) +(\d+) ", after)}
        self.assertEqual({"recorded", "modelled"}, set(count), model)
        self.assertLessEqual(count["recorded"], len(first))
        self.assertLessEqual(count["modelled"], len(last - first))

    def kernels_of(self, name):
        """The layouts and texts of the kernels of a profile."""
        lines = [line.split(" ", 9) for line in (self.out / name).read_text().splitlines() if line.startswith("kernel ")]
        return {(fields[1], fields[9]) for fields in lines}

    def test_goes_on_after_a_model_that_cannot_be_measured(self):
        self.out.mkdir()
        (self.out / "bad.onnx").write_bytes(b"no model")
        run = subprocess.run(
            [f"{BUILD}/bench/xflow-bench-gpu", "--device", "cpu", "--out", str(self.out), str(self.out / "bad.onnx")],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(1, run.returncode)
        self.assertRegex(run.stdout, r"\| bad \| \| \| \| \| \| .*bad\.onnx")
        self.assertIn("Nothing was run.", run.stdout)
        self.assertRegex(json.loads((self.out / "bad.json").read_text())["failure"], re.escape("bad.onnx"))

    def test_says_what_is_wrong_with_how_it_was_called(self):
        for arguments in [], ["--help"]:
            run = self.run_all(*arguments)
            self.assertEqual((64, "usage: run_all OUTDIR [MODEL...]\n"), (run.returncode, run.stderr))
        run = self.run_all(str(self.out), XFLOW_BUILD="/nowhere")
        self.assertEqual(64, run.returncode)
        self.assertIn("there is no program xflow: build it", run.stderr)
        run = self.run_all(str(self.out), "abacus", XFLOW_BENCH_DEVICE="cpu")
        self.assertEqual(64, run.returncode)
        self.assertIn("no model 'abacus'", run.stderr)


if __name__ == "__main__":
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
