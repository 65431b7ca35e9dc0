"""Tests of `xflow devices`: devices_test.py PROGRAM [FAKE_DRIVER] [unittest arguments]. FAKE_DRIVER is tests/devices/cuda/fake_driver.cpp."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
FAKE_DRIVER = ""
# A model of one Relu.
RELU = bytes.fromhex(
    "08083a3b0a0c0a0178120179220452656c751201675a130a0178120e0a0c08011208"
    "0a0208020a02080362130a0179120e0a0c080112080a0208020a02080342040a00100d"
)
CPU = r"\Acpu        \S.*, oneDNN \d+\.\d+\.\d+.*\n"


class Devices(unittest.TestCase):
    def list(self, **environment):
        run = subprocess.run([PROGRAM, "devices"], capture_output=True, text=True, check=False, env={**os.environ, **environment})
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        return run.stdout

    def test_begin_with_this_cpu(self):
        self.assertRegex(self.list(), CPU)

    def test_compute_what_the_reference_does(self):
        run = subprocess.run([PROGRAM, "devices", "--check", "cpu"], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertRegex(run.stdout, r"\Acpu        4 graphs agree with the reference in \d+ values\n\Z")
        run = subprocess.run([PROGRAM, "devices", "--check", "abacus"], capture_output=True, text=True, check=False)
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertEqual("xflow: no device 'abacus'; there are: cpu, cuda:N, profile:FILE, runner\n", run.stderr)

    def test_say_that_there_are_no_gpus(self):
        lines = self.list().splitlines()
        if not any(line.startswith("cuda:") for line in lines):
            self.assertEqual(2, len(lines))
            self.assertRegex(
                lines[1],
                r"\Acuda       cannot be used: (there is no CUDA driver: libcuda\.so\.1 was not found"
                r"|the CUDA driver (sees no device|is too old: .*|cannot be used: .*)"
                r"|this xflow was built without cuda: libxflow_cuda\.so was not found)\Z",
            )


class Gpus(unittest.TestCase):
    """With a driver that says what the test wants."""

    def setUp(self):
        if not FAKE_DRIVER:
            self.skipTest("built without cuda")

    def gpus(self, answers, folder=None):
        folders = ":".join(str(f) for f in [folder, pathlib.Path(FAKE_DRIVER).parent] if f)
        run = subprocess.run(
            [PROGRAM, "devices"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XFLOW_CUDA_FOLDERS": folders, "XFLOW_FAKE_CUDA": answers},
        )
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertRegex(run.stdout, CPU)
        return run.stdout.splitlines()[1:]

    def test_are_listed_with_their_libraries(self):
        text = (
            r"Fake GPU {}, compute capability 9\.0, 80\.0 GiB, driver for CUDA 13\.0, cuDNN 9\.\d+\.\d+, cuBLAS 13\.\d+\.\d+, NVRTC 13\.\d+"
        )
        lines = self.gpus("13000 0 2 9")
        self.assertEqual(2, len(lines))
        for number, line in enumerate(lines):
            self.assertRegex(line, rf"\Acuda:{number}     {text.format(number)}\Z")

    def test_may_be_too_old(self):
        (line,) = self.gpus("13010 0 1 7")
        self.assertRegex(line, r"\Acuda:0     cannot be used: compute capability 8\.0 is needed: Fake GPU 0, compute capability 7\.0, .*CUDA 13\.1,")

    def test_that_are_not_there_say_why(self):
        for answers, why in [
            ("12020 0 1 9", "the CUDA driver is too old: it is for CUDA 12.2, CUDA 13.0 is needed"),
            ("13000 100 0 9", "the CUDA driver sees no device"),
            ("13000 0 0 9", "the CUDA driver sees no device"),
            ("13000 802 1 9", "the CUDA driver cannot be used: system not yet initialized (802)"),
            ("13000 999 1 9", "the CUDA driver cannot be used: unknown error (999)"),
        ]:
            with self.subTest(answers):
                self.assertEqual([f"cuda       cannot be used: {why}"], self.gpus(answers))

    def test_that_cannot_be_used_say_why_when_a_model_is_optimised(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "m.onnx")
            model.write_bytes(RELU)
            for device, answers, why in [
                ("cuda:0", "12020 0 1 9", "the CUDA driver is too old: it is for CUDA 12.2, CUDA 13.0 is needed"),
                ("cuda", "13000 100 0 9", "the CUDA driver sees no device"),
                ("cuda:0", "13000 0 1 9", "libcuda.so.1 has no function cuDevicePrimaryCtxRetain"),
            ]:
                with self.subTest(why):
                    run = subprocess.run(
                        [PROGRAM, "optimize", model, pathlib.Path(folder, "out.onnx"), "--device", device],
                        capture_output=True,
                        text=True,
                        check=False,
                        env={**os.environ, "XFLOW_CUDA_FOLDERS": str(pathlib.Path(FAKE_DRIVER).parent), "XFLOW_FAKE_CUDA": answers},
                    )
                    self.assertEqual(3, run.returncode)
                    self.assertIn(f"device '{device}' cannot be used: {why}", run.stderr)
                    self.assertFalse(pathlib.Path(folder, "out.onnx").exists())

    def test_that_do_not_pass_their_check_are_no_default(self):
        with tempfile.TemporaryDirectory() as folder:
            model, output = pathlib.Path(folder, "m.onnx"), pathlib.Path(folder, "out.onnx")
            model.write_bytes(RELU)
            run = subprocess.run(
                [PROGRAM, "optimize", model, output, "--no-gate", "--costs", ""],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "XFLOW_CUDA_FOLDERS": str(pathlib.Path(FAKE_DRIVER).parent), "XFLOW_FAKE_CUDA": "13000 0 1 9"},
            )
            self.assertEqual(0, run.returncode, run.stderr)
            self.assertEqual(
                "xflow: warning: cuda:0 is not used, because its check failed: it ended with exit status 3: "
                "xflow: device 'cuda:0' cannot be used: libcuda.so.1 has no function cuDevicePrimaryCtxRetain; "
                "--device cuda:0 uses it anyway, --device cpu skips the check\n",
                run.stderr,
            )
            self.assertIn("device      cpu: ", run.stdout)
            self.assertEqual(RELU, output.read_bytes())

    def test_need_a_driver_that_can_be_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "libcuda.so.1").write_text("nothing that could be loaded")
            (line,) = self.gpus("13000 0 1 9", folder)
            self.assertTrue(line.startswith("cuda:0"), "the next folder has one")
            (pathlib.Path(folder) / "libcudnn.so.9").symlink_to(pathlib.Path(FAKE_DRIVER).resolve())
            self.assertEqual(["cuda       cannot be used: libcudnn.so.9 has no function cudnnGetVersion"], self.gpus("13000 0 1 9", folder))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if len(sys.argv) > 1 and sys.argv[1].endswith(".so.1"):
        FAKE_DRIVER = sys.argv.pop(1)
    unittest.main()
