"""Profiles of published tables of kernel times: profile_tables_test.py PROGRAM [unittest arguments]."""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import program
from json_schema import faults
from program import ProgramTest, float_info, help_of, model_of

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "profile-comparison.schema.json").read_text())
PRICES = json.loads((DOCS / "profile-prices.schema.json").read_text())
HEAD = "device,latency_ms,kernel,B,M,N,K\n"
COLUMNS = [100 * k for k in range(1, 9)]


def milliseconds(columns, jump=0):
    """The time of a product of 128 rows and 256 inner terms: 0.1 ms, 100 ns for each column, and `jump` with more than 400 columns."""
    return 0.1 + 0.0001 * columns + (jump if columns > 400 else 0)


def products(device, columns=COLUMNS, factor=1, jump=0):
    return "".join(f'{device},{factor * milliseconds(n, jump):.6g},"gemm<float, 4>",1,128,{n},256\n' for n in columns)


class Tables(ProgramTest):
    def test_are_converted_and_serve_a_search(self):
        self.write("linear.csv", HEAD + products("Tesla V100-PCIE-32GB") + products("Tesla P4") + "Tesla V100-PCIE-32GB,0.05,k,1,4,4,4\n"
                   + "Tesla V100-PCIE-32GB,0.1,k,1,4,8,4\nTesla V100-PCIE-32GB,0.2,k,1,4,8,4\n")
        said = self.succeed("profile", "convert", "--format", "neusight", "linear.csv", "--device", "V100", "--out", "v100.xprof")
        self.assertEqual("v100.xprof: 10 kernels of Tesla V100-PCIE-32GB, 1 at the launch floor, 1 contradicted\n", said)
        shown = self.succeed("profile", "show", "v100.xprof")
        self.assertIn("\nkernels     10 with times, 0 refused\n            1 at the launch floor, which models leave out\n"
                      "            1 whose measurements contradict each other, which are modelled\n", shown)
        self.assertIn("\nsource      NeuSight (https://github.com/sitar-lab/NeuSight, tables as of commit 6945927): linear.csv\n"
                      "licence     MIT, Copyright 2025 Georgia Institute of Technology and Microsoft Corporation\n"
                      "roofline    50 us to launch, 900 GB/s, float32 1.403e+04 Gop/s, 80 multiprocessors, 6 MB of cache\n", shown)
        # Two products share an operand: 100 and 200 columns with a bias each, which merge to one with 300.
        random = numpy.random.default_rng(0)
        tensors = [numpy_helper.from_array(random.normal(0, 0.1, shape).astype(numpy.float32), name)
                   for name, shape in [("w", (256, 100)), ("b", (100,)), ("v", (256, 200)), ("c", (200,))]]
        nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"]), helper.make_node("Gemm", ["x", "v", "c"], ["z"])]
        self.write("m.onnx", model_of(nodes, [float_info("x", (128, 256))], [float_info("y", (128, 100)), float_info("z", (128, 200))], tensors))
        self.succeed("optimize", "m.onnx", "out.onnx", "--device", "profile:v100.xprof", "--budget", "200states", "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertGreater(report["kernels"]["recorded"], 1)
        before = 1e6 * (milliseconds(100) + milliseconds(200))
        self.assertAlmostEqual(before, report["predicted_nanoseconds"]["before"], delta=1)
        self.assertTrue(report["device"].startswith("profile of gpu: Tesla V100-PCIE-32GB"), report["device"])

    def test_price_a_model_as_if_it_ran_in_another_type(self):
        line = "kernel plain plain plain {} 0 1 0 1 matmul(bfloat16[128,256], const bfloat16[256,{n}]) -> bfloat16[128,{n}]\n"
        self.write("h100.xprof", "xflow profile 1\ndevice gpu\nmodel H100\nlibrary vLLM\nthreads 1\nroofline launch 2000\nroofline bandwidth 3.35e12\n"
                   "roofline peak bfloat16 9.89e14\n" + line.format(5000, n=100) + line.format(6000, n=200) + line.format(7000, n=300))
        random = numpy.random.default_rng(0)
        tensors = [numpy_helper.from_array(random.normal(0, 0.1, shape).astype(numpy.float32), name) for name, shape in [("w", (256, 100)), ("v", (256, 200))]]
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("MatMul", ["x", "v"], ["z"])]
        self.write("m.onnx", model_of(nodes, [float_info("x", (128, 256))], [float_info("y", (128, 100)), float_info("z", (128, 200))], tensors))
        optimize = ("optimize", "m.onnx", "out.onnx", "--budget", "200states", "--report", "report.json", "--device", "profile:h100.xprof")
        self.succeed(*optimize, "--as", "bf16")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("profile of gpu: H100, 1 thread, vLLM, float32 priced as bfloat16", report["device"])
        self.assertAlmostEqual(11000, report["predicted_nanoseconds"]["before"], delta=1)
        # Products in fp8 have results in bfloat16, as other kernels have.
        narrow = line.replace("matmul(bfloat16", "matmul(float8e4m3fn").replace("const bfloat16", "const float8e4m3fn")
        self.write("fp8.xprof", (self.folder / "h100.xprof").read_text() + "roofline peak float8e4m3fn 1.9e15\n" + narrow.format(3000, n=100) + narrow.format(3500, n=200))
        self.succeed(*optimize[:-1], "profile:fp8.xprof", "--as", "fp8")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("profile of gpu: H100, 1 thread, vLLM, float32 priced as float8e4m3fn in products, as bfloat16 elsewhere", report["device"])
        self.assertAlmostEqual(6500, report["predicted_nanoseconds"]["before"], delta=1)
        self.succeed(*optimize, "--as", "bf16")
        # The model keeps its types.
        types = {tensor.data_type for tensor in onnx.load(self.folder / "out.onnx").graph.initializer}
        self.assertEqual({TensorProto.FLOAT, TensorProto.INT64}, types)  # of a product of both, and of a split
        usage = help_of("optimize")
        self.fail_with(64, "expected bf16, fp16 or fp8 as the type of times, found 'bf17'" + usage, *optimize, "--as", "bf17")
        self.fail_with(64, "times as bf16 need a profile as the device, not 'cpu'" + usage, "optimize", "m.onnx", "out.onnx", "--as", "bf16")

    def test_that_are_malformed_are_unreadable_with_the_line(self):
        def fails(code, message, text=None, name="bmm.csv", *arguments):
            if text is not None:
                self.write(name, text)
            self.fail_with(code, message, "profile", "convert", name, "--out", "a.xprof", *arguments)
            self.assertFalse((self.folder / "a.xprof").exists())

        fails(2, "bmm.csv:1: expected 'latency_ms' as column 2, found 'latency_us'", HEAD.replace("_ms", "_us") + products("GPU"))
        fails(2, "bmm.csv:10: expected a time in milliseconds, more than 0, found '-1'", HEAD + products("GPU") + "GPU,-1,k,1,2,3,4\n")
        fails(2, "bmm.csv:10: expected a time in milliseconds, more than 0, found '0'", HEAD + products("GPU") + "GPU,0,k,1,2,3,4\n")
        fails(2, "bmm.csv:10: expected 7 fields, found 5", HEAD + products("GPU") + "GPU,1,k,1,2\n")
        fails(2, "bmm.csv:9: the last line does not end: the table is truncated", (HEAD + products("GPU"))[:-1])
        fails(2, "bmm.csv:2: expected a time in milliseconds, found '110', but Tesla P4 takes about 0.06 ms for this kernel",
              HEAD + products("Tesla P4", factor=1000))
        fails(3, "other.csv: expected the name of an operator as the name of the table (add, bmm, conv, gelu, linear, ln, mul, relu, softmax), "
              "found 'other'", HEAD, "other.csv")
        fails(2, "relu.csv: cannot open: No such file or directory", None, "relu.csv")
        both = HEAD + products("GPU") + products("Tesla P4")
        usage = help_of("profile", "convert")
        fails(64, "no device is chosen: expected one of 'GPU', 'Tesla P4'" + usage, both)
        fails(64, "the tables have no device 'H100': expected one of 'GPU', 'Tesla P4'" + usage, both, "bmm.csv", "--device", "H100")

    def test_are_compared_with_a_profile(self):
        known = [n for n in COLUMNS if n != 600]
        self.write("bmm.csv", HEAD + products("Tesla P4", known, jump=0.5))
        self.succeed("profile", "convert", "bmm.csv", "--out", "p4.xprof")
        self.write("bmm.csv", HEAD + products("Tesla P4", factor=1.25, jump=0.5) + products("GPU", jump=0.5))
        said = self.succeed("profile", "compare", "p4.xprof", "--against", "bmm.csv")
        self.assertRegex(said, r"\Aprofile     Tesla P4\nmeasured    Tesla P4\n\n"
                               r"class +times +kernels +median +mean +roofline +interval\n"
                               r"matmul float32 +recorded +7 +20\.0 % +20\.0 % +\d+\.\d % +0\.0 %\n"
                               r"all +recorded +7 +20\.0 % +20\.0 % +\d+\.\d % +0\.0 %\n"
                               r"all +modelled +1 |"
                               r"matmul float32 +modelled +1 ")
        # All pairs of 100 to 800 columns whose sum is at most 800, without and with 600.
        self.assertIn("\none product of matrices or two: pairs whose columns add up to those of a third\nrecorded    11 pairs, ", said)
        self.assertRegex(said, r"\nrecorded    11 pairs, \d+ differ by more than 5 %, one is quicker in \d+\n"
                               r"            right in (\d+) of \1, 100\.0 %; where it is sure in (\d+) of \2, 100\.0 %; the roofline in \d+ of \1, \d+\.\d %\nmodelled    5 pairs, ")
        text = self.succeed("profile", "compare", "p4.xprof", "--against", "bmm.csv", "--device", "GPU", "--json")
        result = json.loads(text)
        self.assertEqual([], faults(result, SCHEMA))
        self.assertEqual(("Tesla P4", "GPU", 0), (result["profile"], result["measured"], result["errors"][0]["mean"]))
        self.assertEqual([(False, 11), (True, 5)], [(row["modelled"], row["pairs"]) for row in result["merges"]])
        self.assertNotEqual([], faults({**result, "errors": 1}, SCHEMA))
        self.succeed("profile", "convert", "bmm.csv", "--device", "GPU", "--out", "gpu.xprof")
        self.assertEqual(text, self.succeed("profile", "compare", "p4.xprof", "--against", "gpu.xprof", "--json"))

    def test_are_compared_alone_or_as_one_profile(self):
        self.write("bmm.csv", HEAD + products("Tesla P4"))
        self.succeed("profile", "convert", "bmm.csv", "--out", "p4.xprof")
        usage = help_of("profile", "compare")
        self.fail_with(64, "p4.xprof: --device is for tables, and a profile has one device" + usage,
                       "profile", "compare", "p4.xprof", "--against", "p4.xprof", "--device", "T4")
        self.fail_with(64, "p4.xprof: expected one profile, or tables without a profile" + usage,
                       "profile", "compare", "p4.xprof", "--against", "bmm.csv", "p4.xprof")
        self.fail_with(64, "the tables have no device 'T4': expected one of 'Tesla P4'" + usage,
                       "profile", "compare", "p4.xprof", "--against", "bmm.csv", "--device", "T4")
        self.write("softmax.csv", "device,latency_ms,kernel,B,H\nTesla P4,0.5,k,6,8\n")
        self.write("none.xprof", "xflow profile 1\ndevice gpu\nmodel Tesla P4\nlibrary none\nthreads 1\n")
        self.fail_with(64, "no measured kernel has a time in the profile" + usage,
                       "profile", "compare", "none.xprof", "--against", "softmax.csv")

    def test_price_single_kernels(self):
        kernel = "matmul(float32[128,256], const float32[256,{n}]) -> float32[128,{n}]"
        line = "kernel plain plain plain {} 0 1 0 1 " + kernel + "\n"
        text = ("xflow profile 1\ndevice gpu\nmodel A\nlibrary none\nthreads 1\nroofline launch 1000\nroofline bandwidth 1e12\n"
                "roofline peak float32 1e13\n" + "".join(line.format(10 * n, n=n) for n in COLUMNS))
        self.write("a.xprof", text + "refused plain " + kernel.format(n=900) + "\tcannot run it\n")
        known, unknown = kernel.format(n=300), kernel.format(n=350)
        said = self.succeed("profile", "price", "a.xprof", known, unknown)
        head, rows = said.split("\n\n")
        self.assertEqual("profile     A", head)
        time = r" +[\d.]+ us" * 4
        self.assertRegex(rows, rf"\A +time +at least +at most +roofline  times     kernel\n{time}  recorded  (.*)\n{time}  modelled  (.*)\n\Z")
        self.assertEqual([known, unknown], [row.split("  ")[-1] for row in rows.splitlines()[1:]])
        result = json.loads(self.succeed("profile", "price", "a.xprof", known, unknown, "--json"))
        self.assertEqual([], faults(result, PRICES))
        self.assertNotEqual([], faults({**result, "kernels": 1}, PRICES))
        first, second = result["kernels"]
        self.assertEqual((known, 3000, False), (first["kernel"], first["nanoseconds"], first["modelled"]))
        self.assertEqual((unknown, True), (second["kernel"], second["modelled"]))
        for row in (first, second):
            least, most = row["interval"]
            self.assertTrue(least <= row["nanoseconds"] <= most, row)
            self.assertGreater(row["roofline"], 1000)
        self.assertLess(first["interval"][1] - first["interval"][0], second["interval"][1] - second["interval"][0])
        self.fail_with(3, kernel.format(n=900) + ": cannot run it", "profile", "price", "a.xprof", kernel.format(n=900))
        self.fail_with(2, "kernel 'matmul(': expected an element type at byte 7, found the end", "profile", "price", "a.xprof", "matmul(")
        self.write("bare.xprof", "xflow profile 1\ndevice gpu\nmodel A\nlibrary none\nthreads 1\n" + "".join(line.format(10 * n, n=n) for n in COLUMNS))
        self.assertIsNone(json.loads(self.succeed("profile", "price", "bare.xprof", known, "--json"))["kernels"][0]["roofline"])
        self.assertRegex(self.succeed("profile", "price", "bare.xprof", known), r"us +-  recorded")

    def test_draw_merges(self):
        self.write("a.xprof", "xflow profile 1\ndevice gpu\nmodel A & B\nlibrary none\nthreads 1\nroofline launch 1000\nroofline bandwidth 1e12\n"
                   "roofline peak bfloat16 1e15\n"
                   "kernel plain plain plain 9000 0 1 0 1 matmul(bfloat16[1,1024], const bfloat16[1024,1024]) -> bfloat16[1,1024]\n"
                   "kernel plain plain plain 12000 0 1 0 1 matmul(bfloat16[1,1024], const bfloat16[1024,2048]) -> bfloat16[1,2048]\n")
        script = DOCS.parent / "bench/profiles/merge_figure.py"
        run = subprocess.run([sys.executable, script, program.PROGRAM, "a.xprof", "merges.svg"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        rows = run.stdout.splitlines()
        self.assertEqual(2 + 15, len(rows))
        self.assertRegex(rows[14], r"\A\| BERT-large \| key, value \| 1 \| 18\.0 \| 12\.0 \| 0\.67 \| 0\.\d\d to 0\.\d\d \| 0 of 3 \|\Z")
        # The product of three times the columns is not in the profile.
        self.assertRegex(rows[11], r"\A\| BERT-large \| query, key, value \| 1 \| 27\.0 \|.*\| 1 of 4 \|\Z")
        drawn = xml.etree.ElementTree.parse(self.folder / "merges.svg").getroot()
        marks = [mark.get("fill") for mark in drawn.iter("{http://www.w3.org/2000/svg}circle")][3:]
        self.assertEqual(15, len(marks))
        self.assertEqual(["none", "#0b5fa5"], [marks[9], marks[12]])


if __name__ == "__main__":
    program.main()
