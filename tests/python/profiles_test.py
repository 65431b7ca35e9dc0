"""Tests of python/xflow_onnx/profiles.py on a small package: profiles_test.py PROGRAM [unittest arguments]."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import pyarrow
import pyarrow.parquet

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
PROGRAM = os.path.abspath(sys.argv.pop(1))
MODULE = "aiconfigurator_core"
TABLE = f"{MODULE}/systems/data/h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"
ROW = {
    "framework": "VLLM",
    "version": "0.24.0",
    "device": "NVIDIA H100 80GB HBM3",
    "op_name": "gemm",
    "kernel_source": "torch.nn.functional.linear",
    "gemm_dtype": "bfloat16",
    "m": 8,
    "n": 64,
    "k": 32,
    "latency": 0.0025,
}
ROWS = [
    ROW,
    {**ROW, "m": 4096, "n": 128, "latency": 0.5},
    {**ROW, "m": 4096, "n": 128, "latency": 0.52},
    {**ROW, "m": 4096, "n": 256, "latency": 0.5},
    {**ROW, "m": 4096, "n": 256, "latency": 0.75},
    {**ROW, "gemm_dtype": "fp8", "n": 4096, "latency": 0.1},
]
PROFILE = """xflow profile 1
device gpu
model NVIDIA H100 80GB HBM3
library VLLM 0.24.0, torch.nn.functional.linear, bfloat16
threads 1
clock latency of aiconfigurator's collector
source aiconfigurator-core 0.12.0: aiconfigurator_core/systems/data/h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet
licence Apache-2.0, Copyright 2025-2026 NVIDIA CORPORATION & AFFILIATES
roofline launch 2500
roofline bandwidth 3350000000000
roofline peak bfloat16 989000000000000
roofline multiprocessors 132
roofline cache 50000000
at_floor plain plain plain 2500 0 1 0 1 matmul(bfloat16[8,32], const bfloat16[32,64]) -> bfloat16[8,64]
contradicted plain plain plain 625000 125000 2 0 1 matmul(bfloat16[4096,32], const bfloat16[32,256]) -> bfloat16[4096,256]
kernel plain plain plain 510000 10000 2 0 1 matmul(bfloat16[4096,32], const bfloat16[32,128]) -> bfloat16[4096,128]
"""


class Profiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.package = self.folder / "package"
        self.put(f"{MODULE}-0.12.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: aiconfigurator-core\nVersion: 0.12.0\n")
        self.put(f"{MODULE}/systems/h100_sxm.yaml", "gpu:\n  mem_bw: 3350000000000 # 3350GB/s\n  bfloat16_tc_flops: 989000000000000 # 989TFLOPS\n")
        self.table(ROWS)

    def put(self, name, text):
        path = self.package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def table(self, rows, name=TABLE):
        (self.package / name).parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), self.package / name)

    def run_module(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": os.fspath(PYTHON), "PYTHONNOUSERSITE": "1"}
        return subprocess.run([sys.executable, "-m", "xflow_onnx.profiles", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)

    def succeed(self, *arguments):
        run = self.run_module(*arguments)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        return run.stdout

    def refused(self, *arguments):
        run = self.run_module(*arguments)
        self.assertEqual((2, ""), (run.returncode, run.stdout))
        return run.stderr

    def get(self):
        return ("get", "h100-bf16", "--tables", "package")

    def test_products_become_a_profile(self):
        said = self.succeed(*self.get(), "--out", "new")
        self.assertEqual("new/h100-bf16.xprof: 3 products in bfloat16 of h100_sxm, 1 at the launch floor\n", said)
        self.assertEqual(PROFILE, (self.folder / "new" / "h100-bf16.xprof").read_text())
        self.assertEqual(["h100-bf16.xprof"], os.listdir(self.folder / "new"))
        shown = subprocess.run([PROGRAM, "profile", "show", "new/h100-bf16.xprof"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertIn("NVIDIA H100 80GB HBM3", shown.stdout)
        self.assertIn("132 multiprocessors, 50 MB of cache", shown.stdout)

    def test_a_wheel_and_its_folder_give_the_same(self):
        wheel = self.folder / "aiconfigurator_core-0.12.0-cp311-abi3-any.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            for path in self.package.rglob("*"):
                if path.is_file():
                    packed.write(path, path.relative_to(self.package))
        self.succeed("get", "h100-bf16", "--tables", wheel.name)
        self.assertEqual(PROFILE, (self.folder / "h100-bf16.xprof").read_text())
        # A wheel that is there is not fetched.
        (self.folder / "h100-bf16.xprof").unlink()
        self.succeed("get", "h100-bf16", "--download")
        self.assertEqual(PROFILE, (self.folder / "h100-bf16.xprof").read_text())

    def test_the_newest_table_of_each_gpu_is_listed(self):
        self.table(ROWS, TABLE.replace("0.24.0", "0.9.1"))
        self.table(ROWS, TABLE.replace("h100_sxm", "rtx_pro_6000_server").replace("0.24.0", "0.9.0"))
        self.assertEqual(
            "h100-bf16                h100_sxm                 vllm 0.24.0\nrtx-pro-6000-bf16        rtx_pro_6000_server      vllm 0.9.0\n",
            self.succeed("list", "--tables", "package"),
        )

    def test_packages(self):
        self.assertEqual(
            "xflow_onnx.profiles: aiconfigurator-core is not installed: name its wheel or folder by --tables, or let get fetch it by --download\n",
            self.refused("list"),
        )
        self.assertEqual(
            "xflow_onnx.profiles: no profile 'h200-bf16'; there are: h100-bf16\n", self.refused("get", "h200-bf16", "--tables", "package")
        )
        self.put("a.whl", "no archive")
        self.assertEqual(
            "xflow_onnx.profiles: package/a.whl: neither a folder nor a wheel: File is not a zip file\n",
            self.refused("list", "--tables", "package/a.whl"),
        )
        self.assertEqual(
            "xflow_onnx.profiles: none.whl: neither a folder nor a wheel: [Errno 2] No such file or directory: 'none.whl'\n",
            self.refused("list", "--tables", "none.whl"),
        )
        metadata = self.package / f"{MODULE}-0.12.0.dist-info" / "METADATA"
        metadata.write_text("Name: aiconfigurator-core\nVersion: 0.13.0\n")
        self.assertEqual(
            "xflow_onnx.profiles: package: expected the version 0.12.0 of aiconfigurator-core, found 0.13.0\n", self.refused(*self.get())
        )
        metadata.unlink()
        self.assertEqual(
            "xflow_onnx.profiles: package: expected the package aiconfigurator-core 0.12.0, found no aiconfigurator_core-*.dist-info\n",
            self.refused(*self.get()),
        )

    def test_tables(self):
        def of(**changed):
            self.table([ROW, {**ROW, **changed}])
            return self.refused(*self.get())

        begin = f"xflow_onnx.profiles: {TABLE}: "
        self.assertEqual(begin + "row 2: expected a latency in milliseconds, more than 0, found 0.0\n", of(latency=0.0))
        self.assertEqual(begin + "row 2: expected a latency in milliseconds, more than 0, found -1.5\n", of(latency=-1.5))
        self.assertEqual(begin + "row 2: expected a latency in milliseconds, more than 0, found 2500000.0\n", of(latency=2.5e6))
        self.assertEqual(begin + "row 2: expected m, n and k of at least 1, found 8, 0, 32\n", of(n=0))
        self.table([{**ROW, "gemm_dtype": "fp8"}])
        self.assertEqual(begin + "no row is in bfloat16\n", self.refused(*self.get()))
        self.table([{("microseconds" if key == "latency" else key): value for key, value in ROW.items()}])
        self.assertEqual(
            begin + "expected a column 'latency', found framework, version, device, op_name, kernel_source, gemm_dtype, m, n, k, microseconds\n",
            self.refused(*self.get()),
        )
        self.table(ROWS)
        self.put(TABLE, (self.package / TABLE).read_bytes()[:-9])
        self.assertRegex(self.refused(*self.get()), f"^{begin}not a whole table: .*\n$")
        self.assertFalse((self.folder / "h100-bf16.xprof").exists())

    def test_figures_of_the_gpu(self):
        self.put(f"{MODULE}/systems/h100_sxm.yaml", "gpu:\n  mem_bw: 3350000000000\n")
        self.assertEqual(
            f"xflow_onnx.profiles: {MODULE}/systems/h100_sxm.yaml: expected a line '  bfloat16_tc_flops: NUMBER'\n", self.refused(*self.get())
        )


if __name__ == "__main__":
    unittest.main()
