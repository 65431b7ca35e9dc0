"""Profiles of devices: profile_test.py PROGRAM TEST_RUNNER [unittest arguments]."""

import json
import pathlib
import re
import shlex
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

import program
from program import ProgramTest, float_info, model_of, network, transposes

RUNNER = ""
HEAD = "xflow profile 1\ndevice npu\nmodel NPU 7\nlibrary vendor 2.1\nthreads 1\n"
ROOFLINE = HEAD + "roofline launch 5000\nroofline bandwidth 4e+11\nroofline peak float32 1e+13\n"


class Profiles(ProgramTest):
    def record(self, *arguments, output="cpu.xprof"):
        (self.folder / "models").mkdir(exist_ok=True)
        self.write("models/network.onnx", network())
        self.write("models/transposes.onnx", transposes((8, 16)))
        return self.succeed("profile", "record", "--models", "models", "--states", "40", "--out", output, *arguments)

    def test_are_recorded_and_shown(self):
        said = self.record()
        text = (self.folder / "cpu.xprof").read_text()
        lines = text.splitlines()
        kernels = [line for line in lines if line.startswith(("kernel ", "refused "))]
        self.assertEqual(f"cpu.xprof: {len(kernels)} kernels\n", said)
        self.assertEqual(["xflow profile 1", "device cpu"], lines[:2])
        self.assertIn("threads 1", lines)
        self.assertTrue(any(" convolution(float32[1,3,128,128], const float32[16,3,3,3])" in line for line in kernels))
        self.assertTrue(any("copy:transpose(float32[8,16])" in line for line in kernels))
        shown = self.succeed("profile", "show", "cpu.xprof")
        self.assertRegex(shown, r"\Aprofile     cpu: .*, 1 thread, oneDNN .*, thread CPU time\n"
                                r"views       slice split, parts at multiples of 64 bytes\nkernels     \d+ with times, \d+ refused\n")
        self.assertRegex(shown, r"\nconvolution float32 +\d+ +[\d.]+ .s +[\d.]+ .s\n")

    def test_go_through_files_of_costs(self):
        self.record("--costs", "costs.db")
        profile = (self.folder / "cpu.xprof").read_bytes()
        self.succeed("profile", "export", "--costs", "costs.db", "--out", "exported.xprof")
        self.assertEqual(profile, (self.folder / "exported.xprof").read_bytes())
        count = profile.count(b"\nkernel ") + profile.count(b"\nrefused ")
        said = self.succeed("profile", "import", "cpu.xprof", "--costs", "other.db")
        self.assertEqual(f"other.db: {count} kernels of this device, {count} of them new\n", said)
        self.succeed("profile", "export", "--costs", "other.db", "--out", "again.xprof")
        self.assertEqual(profile, (self.folder / "again.xprof").read_bytes())

    def test_are_those_of_the_caches_that_most_kernels_were_timed_for(self):
        self.record("--costs", "costs.db", "--threads", "2", "--caches", "4MiB")
        recorded = (self.folder / "cpu.xprof").read_text()
        self.assertIn(", 4 MiB between launches\n", recorded)
        self.succeed("profile", "export", "--costs", "costs.db", "--threads", "2", "--out", "exported.xprof")
        self.assertEqual(recorded, (self.folder / "exported.xprof").read_text())

    def test_are_merged_and_pruned(self):
        one = "kernel plain plain plain 400 1 30 0.5 1 matmul(float32[1,2], float32[2,3]) -> float32[1,3]\n"
        other = one.replace(" 400 ", " 300 ").replace(" 0.5 ", " 0 ")
        more = "kernel plain plain plain 5 1 30 0 1 softmax(float32[2]) -> float32[2]\n"
        self.write("a.xprof", HEAD + one)
        self.write("b.xprof", HEAD + more + other)
        said = self.succeed("profile", "merge", "a.xprof", "b.xprof", "--out", "c.xprof")
        self.assertEqual("c.xprof: 2 kernels, 2 of them new or with less interference than in a.xprof\n", said)
        self.assertEqual(HEAD + other + more, (self.folder / "c.xprof").read_text())
        self.assertEqual("d.xprof: 0 kernels, 1 dropped\n", self.succeed("profile", "prune", "a.xprof", "--interference", "--out", "d.xprof"))
        self.succeed("profile", "prune", "c.xprof", "--only", "matmul(", "--out", "d.xprof")
        self.assertEqual(HEAD + other, (self.folder / "d.xprof").read_text())

    def test_are_checked_on_kernels_that_are_held_out(self):
        lines = "".join(
            f"kernel plain plain plain {300 + m * k * 8} 1 30 0 1 matmul(float32[{m},{k}], float32[{k},16]) -> float32[{m},16]\n"
            for m in [1, 4, 9, 20] for k in [8, 64, 100]
        )
        self.write("a.xprof", HEAD + lines)
        said = self.succeed("profile", "check", "a.xprof")
        self.assertRegex(said, r"\nclass +kernels +held out +median error +9 of 10\nmatmul float32 +12 +2 +x 1\.0\d +x 1\.0\d\nall ")

    def test_that_are_malformed_are_unreadable_with_the_line(self):
        self.write("a.xprof", HEAD + "kernel plain plain plain fast\n")
        message = "a.xprof:6: expected a median in nanoseconds, found 'fast'"
        self.write("m.onnx", transposes())
        for arguments in [["show", "a.xprof"], ["check", "a.xprof"], ["merge", "a.xprof", "a.xprof", "--out", "b"],
                          ["import", "a.xprof", "--costs", "c.db"], ["prune", "a.xprof", "--out", "b"]]:
            self.fail_with(2, message, "profile", *arguments)
        self.fail_with(3, "no.xprof: cannot read the profile", "profile", "show", "no.xprof")
        self.write("b.xprof", HEAD.replace("NPU 7", "NPU 8"))
        self.write("a.xprof", HEAD)
        self.fail_with(64, "b.xprof: the profiles are of different devices: model 'NPU 7' and 'NPU 8'",
                       "profile", "merge", "a.xprof", "b.xprof", "--out", "c.xprof")

    def report_of(self, source, *arguments, output="out.onnx"):
        text = self.succeed("optimize", source, output, "--budget", "200states", "--report", "report.json", *arguments)
        return text, json.loads((self.folder / "report.json").read_text())

    def test_stand_for_the_device(self):
        self.record()
        profile = self.folder / "cpu.xprof"
        self.write("m.onnx", network())
        text, report = self.report_of("m.onnx", "--device", "profile:cpu.xprof", "--costs", "costs.db")
        self.assertTrue(report["improved"])
        self.assertTrue(report["device"].startswith("profile of cpu: "))
        self.assertGreater(report["kernels"]["recorded"], 10)
        self.assertEqual((0, 0), (report["kernels"]["measured"], report["kernels"]["known"]))
        self.assertRegex(text, r"\nkernels     \d+ recorded in the profile, \d+ modelled\n")
        nothing = "nothing was run on the device: all times are predicted"
        self.assertIn(f"\nnot run     {nothing}\n", text)
        self.assertEqual((False, nothing), (report["end_to_end"]["run"], report["end_to_end"]["reason"]))
        self.assertFalse((self.folder / "costs.db").exists(), "what a model says is no measurement")
        self.succeed("check", "m.onnx", "out.onnx")
        # Nothing is measured, so the same bytes come out every time.
        self.report_of("m.onnx", "--device", "profile:cpu.xprof", output="again.onnx")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        # Without its convolutions they are modelled.
        lines = profile.read_text().splitlines(keepends=True)
        half = [line for k, line in enumerate(lines) if not line.startswith("kernel") or k % 2]
        self.write("half.xprof", "".join(half))
        _, less = self.report_of("m.onnx", "--device", "profile:half.xprof")
        self.assertGreater(less["kernels"]["modelled"], report["kernels"]["modelled"])

    def test_of_runners_stand_for_them(self):
        self.write("m.onnx", transposes())
        runner = shlex.join([RUNNER, "--each", "Transpose=5e6", "--each", "Relu=1e6"])
        self.succeed("profile", "record", "--runner", runner, "--models", "m.onnx", "--out", "there.xprof")
        self.assertIn("\ndevice runner\nmodel nothing\nlibrary test runner 1.2", (self.folder / "there.xprof").read_text())
        _, there = self.report_of("m.onnx", "--runner", runner, "--no-gate")
        _, report = self.report_of("m.onnx", "--device", "profile:there.xprof")
        self.assertEqual(there["predicted_nanoseconds"], report["predicted_nanoseconds"])
        self.assertEqual(0, report["kernels"]["modelled"])

    def test_of_a_roofline_alone_stand_for_the_device(self):
        self.write("npu.xprof", ROOFLINE)
        self.write("m.onnx", transposes())
        text, report = self.report_of("m.onnx", "--device", "profile:npu.xprof")
        self.assertTrue(report["improved"])
        self.assertIn("device      profile of npu: NPU 7, 1 thread, vendor 2.1\n", text)
        self.assertEqual(0, report["kernels"]["recorded"])
        # Two transposes and a relu of 512 KiB each: a launch, and a read and a write.
        each = 5000 + 2 * 256 * 512 * 4 / 4e11 * 1e9
        times = report["predicted_nanoseconds"]
        self.assertAlmostEqual(3 * each, times["before"], delta=1)
        self.assertAlmostEqual(each, times["after"], delta=1)
        # No kernel has to be measured, so there is a bound.
        self.assertIn("\ngap         0 %: all graphs that the rules reach were visited\n", text)
        self.assertEqual((0.0, 1, 0), tuple(report["search"]["gap"][key] for key in ["above", "parts", "open_parts"]))
        text, report = self.report_of("m.onnx", "--device", "profile:npu.xprof", "--gap", "off")
        self.assertIn("\ngap         no bound: none was looked for\n", text)
        self.assertIsNone(report["search"]["gap"]["above"])
        text, _ = self.report_of("m.onnx", "--device", "cpu", "--no-gate", "--costs", "costs.db")
        self.assertIn("\ngap         no bound: kernels would have to be measured for it (--gap on)\n", text)
        text, _ = self.report_of("m.onnx", "--device", "cpu", "--no-gate", "--costs", "costs.db", "--gap", "on")
        self.assertIn("\ngap         0 %: all graphs that the rules reach were visited\n", text)

    def write_sure_and_unsure(self, sure=True):
        """Two transposes after each other, if they are `sure`, and two products of one value."""
        random = numpy.random.default_rng(0)
        weights = [numpy_helper.from_array(random.normal(0, 0.1, (64, 64)).astype(numpy.float32), name) for name in "ab"]
        nodes = [helper.make_node("Transpose", ["z"], ["t"], perm=[1, 0]), helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0]),
                 helper.make_node("Relu", ["u"], ["v"]), helper.make_node("MatMul", ["x", "a"], ["p"]), helper.make_node("MatMul", ["x", "b"], ["q"])]
        outputs = [float_info("v", [32, 16]), float_info("p", [1, 64]), float_info("q", [1, 64])]
        inputs = [float_info("z", [32, 16]), float_info("x", [1, 64])]
        if not sure:
            nodes, outputs, inputs = nodes[3:], outputs[1:], inputs[1:]
        self.write("m.onnx", model_of(nodes, inputs, outputs, weights))
        self.write("npu.xprof", ROOFLINE + "views 4 slice split\n")

    def test_say_how_sure_gains_are(self):
        self.write_sure_and_unsure()
        text, report = self.report_of("m.onnx", "--device", "profile:npu.xprof", "--max-growth", "1MiB")
        sure, unsure = report["gains"]
        # A kernel less is a gain; whether one product is quicker than two, a roofline does not know.
        self.assertEqual(1, sure["sureness"])
        self.assertEqual(["transpose-of-transpose"], [report["steps"][step]["rule"] for step in sure["steps"]][:1])
        self.assertTrue(0.6 < unsure["sureness"] < 0.9, unsure)
        self.assertLess(unsure["low_nanoseconds"], 0)
        for gain in report["gains"]:
            times = gain["predicted_nanoseconds"]
            self.assertLess(gain["low_nanoseconds"], times["before"] - times["after"])
            self.assertGreater(gain["high_nanoseconds"], times["before"] - times["after"])
            self.assertEqual(gain["kernels"], gain["modelled"])
        whole = report["predicted_nanoseconds"]
        saved = sum(gain["predicted_nanoseconds"]["before"] - gain["predicted_nanoseconds"]["after"] for gain in report["gains"])
        self.assertAlmostEqual(whole["before"] - whole["after"], saved, delta=1)
        self.assertRegex(text, r"\npart +gain +with 90 % probability +sure  modelled\n"
                               r"transpose-of-transpose.* +[\d.]+ us +\S+ us to \S+ us +100\.0 %  \d of \d kernels?\n"
                               r".* +[\d.]+ us +-\S+ us to \S+ us +\d\d\.\d %  \d of \d kernels\n")

    def test_have_a_gain_for_each_part(self):
        node = helper.make_node
        nodes, last = [], "x"
        for k in range(3):
            for new in [f"{k}a", f"{k}b"]:
                nodes.append(node("Transpose", [last], [new], perm=[1, 0]))
                last = new
            nodes.append(node("Softmax", [last], [f"{k}c"]))
            last = f"{k}c"
        self.write("m.onnx", model_of(nodes, [float_info("x", [32, 16])], [float_info(last, [32, 16])]))
        self.write("npu.xprof", ROOFLINE)
        _, report = self.report_of("m.onnx", "--device", "profile:npu.xprof")
        self.assertEqual([(1, 2, 2)] * 3, [(gain["sureness"], gain["kernels"], gain["modelled"]) for gain in report["gains"]])
        self.assertEqual(set(range(len(report["steps"]))), {step for gain in report["gains"] for step in gain["steps"]})
        self.assertEqual(len(report["steps"]), sum(len(gain["steps"]) for gain in report["gains"]))

    def test_leave_out_gains_that_are_not_sure(self):
        self.write_sure_and_unsure()
        options = ["--device", "profile:npu.xprof", "--max-growth", "1MiB"]
        text, report = self.report_of("m.onnx", *options, "--confidence", "0.9")
        self.assertEqual([1], [gain["sureness"] for gain in report["gains"]])
        self.assertTrue(report["unsure"])
        for rewrite in report["unsure"]:
            self.assertLess(rewrite["sureness"], 0.9)
            self.assertGreater(rewrite["gain_nanoseconds"], 0)
        self.assertRegex(text, r"\nunsure      \S+ node .*: a gain of [\d.]+ us is positive with a probability of \d\d\.\d %\n")
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual(["MatMul", "MatMul", "Relu"], sorted(node.op_type for node in result.graph.node))
        _, report = self.report_of("m.onnx", *options, "--confidence", "0.55")
        self.assertEqual(2, len(report["gains"]))
        self.assertEqual([], report["unsure"])
        self.write_sure_and_unsure(sure=False)
        text, report = self.report_of("m.onnx", *options, "--confidence", "0.9")
        self.assertEqual("no gain was found that is positive with a probability of 90 %", report["reason"])
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        self.fail_with(64, "confidence 0.5 is not above 0.5 and below 1 (see 'xflow optimize --help')", "optimize", "m.onnx", "out.onnx", *options, "--confidence", "0.5")
        self.fail_with(64, "confidence 1 is not above 0.5 and below 1 (see 'xflow optimize --help')", "optimize", "m.onnx", "out.onnx", *options, "--confidence", "1")

    def test_serve_several_threads_of_a_search(self):
        self.write("npu.xprof", ROOFLINE)
        self.write("m.onnx", network())
        for budget in ["1states", "57states", "400states"]:
            arguments = ["--device", "profile:npu.xprof", "--budget", budget, "--report", "report.json"]
            results = []
            for threads in ["1", "2", "4"]:
                text = self.succeed("optimize", "m.onnx", "out.onnx", *arguments, "--search-threads", threads)
                text = re.sub(r"\ntime .*", "", text)
                report = json.loads((self.folder / "report.json").read_text())
                del report["seconds"], report["search"]["seconds"], report["check_seconds"], report["command"]
                for best in report["search"]["best"]:
                    del best["seconds"]
                results.append((text, report, (self.folder / "out.onnx").read_bytes()))
            self.assertIn("\ngap         ", results[0][0])
            self.assertEqual(results[0], results[1])
            self.assertEqual(results[0], results[2])

    def test_with_group_channels_merge_groups_until_they_fill_a_tile(self):
        weight = numpy.random.default_rng(0).normal(0, 0.1, (64, 4, 3, 3)).astype(numpy.float32)
        node = helper.make_node("Conv", ["x", "w"], ["y"], group=16, pads=[1, 1, 1, 1])
        image = [1, 64, 128, 128]
        self.write("m.onnx", model_of([node], [float_info("x", image)], [float_info("y", image)], [numpy_helper.from_array(weight, "w")]))
        options = ["--max-growth", "1000%"]
        self.write("npu.xprof", ROOFLINE)
        _, report = self.report_of("m.onnx", "--device", "profile:npu.xprof", *options)
        self.assertFalse(report["improved"])
        self.write("tiles.xprof", ROOFLINE + "roofline group_channels 16\n")
        _, report = self.report_of("m.onnx", "--device", "profile:tiles.xprof", *options)
        self.assertTrue(report["improved"])
        self.assertEqual(["convolution-with-half-the-groups"] * 2, [step["rule"] for step in report["steps"]])
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual([4], [attribute.i for attribute in result.graph.node[0].attribute if attribute.name == "group"])
        # 4 of 16 channels reach a 16th of the peak.
        operations = 2 * 64 * 128 * 128 * 9 * 4
        times = report["predicted_nanoseconds"]
        self.assertAlmostEqual(5000 + operations / 1e13 * 16 * 1e9, times["before"], delta=1)
        self.assertAlmostEqual(5000 + 4 * operations / 1e13 * 1e9, times["after"], delta=1)

    def test_that_cannot_be_read_stop_a_search(self):
        self.write("m.onnx", transposes())
        self.write("a.xprof", "xflow profile 2\n")
        self.fail_with(3, "no.xprof: cannot read the profile", "optimize", "m.onnx", "out.onnx", "--device", "profile:no.xprof")
        message = "a.xprof:1: the profile has version 2, this xflow supports up to 1: use a newer xflow"
        self.fail_with(2, message, "optimize", "m.onnx", "out.onnx", "--device", "profile:a.xprof")

    def test_are_of_devices_that_are_here(self):
        self.write("m.onnx", transposes())
        self.fail_with(3, "no device 'npu'; there are: cpu, cuda:N, profile:FILE, runner",
                       "profile", "record", "--device", "npu", "--models", "m.onnx", "--out", "b.xprof")
        self.fail_with(64, "cannot record a profile on device 'profile:a.xprof'; choose a local device or a runner",
                       "profile", "record", "--device", "profile:a.xprof", "--models", "m.onnx", "--out", "b.xprof")
        (self.folder / "empty").mkdir()
        self.fail_with(2, "empty: no .onnx files in the folder", "profile", "record", "--models", "empty", "--out", "b.xprof")


if __name__ == "__main__":
    RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
