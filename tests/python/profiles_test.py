"""Tests of python/xflow_onnx/profiles.py on a small package: profiles_test.py PROGRAM [unittest arguments]."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import onnx
import pyarrow
import pyarrow.parquet
from onnx import helper

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
ATTENTION_TABLE = f"{MODULE}/systems/data/h100_sxm/encoder_attention/vllm/0.24.0/encoder_attention_perf.parquet"
ATTENTION = {"kernel_source": "fa3", "attn_dtype": "bfloat16", "batch_size": 2, "num_heads": 3, "isl": 40, "head_dim": 64, "latency": 0.25}
COLLECTIVE_TABLE = f"{MODULE}/systems/data/h100_sxm/comm/nccl/2.29.2/nccl_perf.parquet"
COLLECTIVE = {"device": "NVIDIA H100 80GB HBM3", "op_name": "all_reduce", "nccl_dtype": "half", "num_gpus": 2, "message_size": 256, "latency": 0.01}
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

    def test_attention_becomes_kernels_of_the_profile(self):
        self.table([ATTENTION, {**ATTENTION, "head_dim": 72, "latency": 0.5}, {**ATTENTION, "attn_dtype": "fp8"}], ATTENTION_TABLE)
        said = self.succeed(*self.get())
        self.assertEqual(
            "h100-bf16.xprof: 3 products in bfloat16 of h100_sxm, 1 at the launch floor; 2 kernels of attention, 1 at the launch floor\n", said
        )
        lines = (self.folder / "h100-bf16.xprof").read_text().splitlines()
        self.assertIn("library VLLM 0.24.0, torch.nn.functional.linear and fa3, bfloat16", lines)
        self.assertIn(f"source aiconfigurator-core 0.12.0: {TABLE}, {ATTENTION_TABLE}", lines)
        self.assertIn(
            "at_floor plain plain plain 250000 0 1 0 1 attention(bfloat16[2,3,40,64], bfloat16[2,40,3,64], bfloat16[2,3,40,64]) -> "
            "bfloat16[2,3,40,64] perm=[0,2,3,1] scale=0.125",
            lines,
        )
        self.assertTrue(any(line.startswith("kernel ") and line.endswith("bfloat16[2,3,40,72] perm=[0,2,3,1] scale=0.117851") for line in lines))
        shown = subprocess.run([PROGRAM, "profile", "show", "h100-bf16.xprof"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertIn("attention bfloat16", shown.stdout)
        self.table([{**ATTENTION, "isl": 0}], ATTENTION_TABLE)
        self.assertEqual(
            f"xflow_onnx.profiles: {ATTENTION_TABLE}: row 1: expected batch_size, num_heads, isl and head_dim of at least 1, found 2, 3, 0, 64\n",
            self.refused(*self.get()),
        )

    def test_products_in_fp8_are_beside_those_in_bfloat16(self):
        peaks = "gpu:\n  mem_bw: 3350000000000\n  bfloat16_tc_flops: 989000000000000\n"
        self.put(f"{MODULE}/systems/h100_sxm.yaml", peaks + "  fp8_tc_flops: 1978000000000000 # 1978TFLOPS\n")
        self.table([*ROWS, {**ROW, "gemm_dtype": "fp8", "kernel_source": "cutlass", "m": 4096, "n": 256, "latency": 0.3}])
        listed = self.succeed("list", "--tables", "package")
        self.assertEqual(["h100-bf16", "h100-fp8"], [line.split()[0] for line in listed.splitlines()])
        said = self.succeed("get", "h100-fp8", "--tables", "package")
        self.assertEqual(
            "h100-fp8.xprof: 3 products in bfloat16 of h100_sxm, 1 at the launch floor; 2 in fp8, 1 at the launch floor\n", said
        )
        lines = (self.folder / "h100-fp8.xprof").read_text().splitlines()
        self.assertIn("library VLLM 0.24.0, torch.nn.functional.linear and torch.nn.functional.linear, bfloat16 and float8e4m3fn", lines)
        self.assertIn("roofline peak float8e4m3fn 1978000000000000", lines)
        self.assertIn(
            "kernel plain plain plain 300000 0 1 0 1 matmul(float8e4m3fn[4096,32], const float8e4m3fn[32,256]) -> bfloat16[4096,256]", lines
        )
        shown = subprocess.run([PROGRAM, "profile", "show", "h100-fp8.xprof"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertRegex(shown.stdout, r"(?m)^matmul bfloat16 +3 ")
        self.assertRegex(shown.stdout, r"(?m)^matmul bfloat16 of float8e4m3fn +2 ")
        # What is not in the table has the peak of fp8.
        kernel = "matmul({0}[8192,8192], const {0}[8192,8192]) -> bfloat16[8192,8192]"
        prices = {}
        for kind in ("bfloat16", "float8e4m3fn"):
            run = [PROGRAM, "profile", "price", "h100-fp8.xprof", kernel.format(kind), "--json"]
            priced = subprocess.run(run, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((0, ""), (priced.returncode, priced.stderr))
            (prices[kind],) = json.loads(priced.stdout)["kernels"]
        self.assertAlmostEqual(0.5, prices["float8e4m3fn"]["roofline"] / prices["bfloat16"]["roofline"], delta=0.02)

    def test_gpus_without_fp8_have_no_such_profile(self):
        self.assertEqual(
            "xflow_onnx.profiles: no profile 'h100-fp8'; there are: h100-bf16\n", self.refused("get", "h100-fp8", "--tables", "package")
        )

    def collectives(self, latency, bandwidth, **changed):
        """Collectives that take what links with these figures take, in the tables of 8 GPUs."""
        rows = []
        for gpus in (2, 8):
            for elements in (256, 1 << 16, 1 << 20, 1 << 28):
                size = 2 * elements
                ring = 2 * (gpus - 1) * latency + 2 * (gpus - 1) / gpus * size / bandwidth
                trees = 2 * (gpus.bit_length() - 1) * latency + 2 * size / bandwidth
                once = latency + size / gpus / bandwidth
                for name, seconds in (
                    ("all_reduce", min(ring, trees)),
                    ("all_gather", (gpus - 1) * once),
                    ("reduce_scatter", (gpus - 1) * once),
                    ("alltoall", once),
                ):
                    rows.append({**COLLECTIVE, "op_name": name, "num_gpus": gpus, "message_size": elements, "latency": 1e3 * seconds, **changed})
        self.table(rows, COLLECTIVE_TABLE)

    def test_collectives_become_the_links_of_a_cluster(self):
        self.put(f"{MODULE}/systems/h100_sxm.yaml", "gpu:\n  mem_bw: 3350000000000\n  mem_capacity: 80000000000\n  bfloat16_tc_flops: 989000000000000\n")
        self.collectives(7e-6, 3e11)
        said = self.succeed("cluster", "h100", "--gpus", "4", "--tables", "package", "--out", "new")
        cluster = json.loads((self.folder / "new" / "h100.json").read_text())
        self.assertEqual(4, len(cluster["devices"]))
        roofline = {"launch": 2.5e-06, "operations": 989e12, "bandwidth": 3.35e12}
        self.assertEqual({"name": "gpu0", "kind": "NVIDIA H100 80GB HBM3", "memory": 80e9, "roofline": roofline}, cluster["devices"][0])
        self.assertAlmostEqual(1, cluster["inside"]["latency"] / 7e-6, delta=0.02)
        self.assertAlmostEqual(1, cluster["inside"]["bandwidth"] / 3e11, delta=0.02)
        self.assertRegex(
            said,
            r"^new/h100.json: 4 of NVIDIA H100 80GB HBM3, links of [67][.0-9]* us and (29|30)[.0-9]* GB/s; "
            r"mean errors: all_reduce [01] %, all_gather [01] %, reduce_scatter [01] %, alltoall [01] %\n$",
        )
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 8]) for name in "xy"]
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.folder / "relu.onnx")
        run = subprocess.run([PROGRAM, "simulate", "relu.onnx", "--cluster", "new/h100.json"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertIn("3 of 4 devices have no nodes", run.stdout)

    def test_clusters(self):
        command = ("cluster", "h100", "--tables", "package")
        self.assertEqual("xflow_onnx.profiles: no cluster 'h100'; there are: none\n", self.refused(*command))
        self.collectives(7e-6, 3e11)
        self.assertEqual("xflow_onnx.profiles: expected 2 to 8 GPUs, found 1\n", self.refused(*command, "--gpus", "1"))
        self.assertEqual(
            f"xflow_onnx.profiles: {MODULE}/systems/h100_sxm.yaml: expected a line '  mem_capacity: NUMBER'\n", self.refused(*command)
        )
        self.collectives(7e-6, 3e11, nccl_dtype="int8")
        self.assertEqual(f"xflow_onnx.profiles: {COLLECTIVE_TABLE}: all_reduce: no row is in half\n", self.refused(*command))

    def test_reading_starts_no_threads(self):
        program = (
            "import os, pathlib, pyarrow.parquet\n"
            "from xflow_onnx import profiles\n"
            "before = os.listdir('/proc/self/task')\n"
            f"rows = profiles.rows_of(profiles.Tables(pathlib.Path('package')), '{TABLE}', profiles.COLUMNS)\n"
            "print(len(rows), os.listdir('/proc/self/task') == before)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.fspath(PYTHON)}
        run = subprocess.run([sys.executable, "-c", program], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual((f"{len(ROWS)} True\n", ""), (run.stdout, run.stderr))

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
