"""Tests of `xflow generate`: generate_test.py PROGRAM [unittest arguments]."""

import json
import pathlib
import resource
import signal
import subprocess
import time

import program
from program import ProgramTest

SMALL = ("--ops", "add,concat,matmul,relu", "--max-ops", "2")


def results(folder):
    """The files that a job leaves, by name."""
    folder = pathlib.Path(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and "work" not in p.parts[-2:-1]}


class GenerateTest(ProgramTest):
    def generate(self, out, *arguments):
        run = self.run_program("generate", *arguments, "--out", out)
        self.assertEqual("", run.stderr)
        self.assertEqual(0, run.returncode)
        return results(pathlib.Path(self.folder) / out)

    def error(self, *arguments):
        """The one line on standard error, and the status."""
        run = self.run_program("generate", *arguments)
        self.assertEqual("", run.stdout)
        self.assertEqual(1, len(run.stderr.splitlines()), run.stderr)
        return run.stderr.strip(), run.returncode


class Rules(GenerateTest):
    def test_are_found_proved_and_few(self):
        run = self.run_program("generate", *SMALL, "--out", "out")
        self.assertRegex(run.stdout, r"\A\d+ graphs, \d+ candidates, \d+ rules, 0 not proved: out/generated.rules\n\Z")
        files = results(pathlib.Path(self.folder) / "out")
        names = ["equations/generated.proofs", "equations/generated.rules", "generated.json", "generated.proofs", "generated.rules"]
        self.assertEqual(names, sorted(files))
        report = json.loads(files["generated.json"])
        self.assertEqual([1, 9, 155], report["signatures"][0]["of_one_output"])
        self.assertEqual(report["candidates"], report["derived"] + report["kept"])
        signature = report["signatures"][0]
        left_out = ["follow_from_smaller", "accidents", "ignore_an_input", "read_different_inputs", "pairs_without_gain", "candidates"]
        self.assertEqual(signature["pairs"], sum(signature[k] for k in left_out))
        self.assertEqual({"proved": report["rules"]}, report["verdicts"])
        seconds = (pathlib.Path(self.folder) / "out/work/seconds").read_text()
        self.assertRegex(seconds, r"\Aenumerated \d+\.\d\d\ngrouped \d+\.\d\d\nderived \d+\.\d\d\nproved \d+\.\d\d\n\Z")
        text = files["generated.rules"].decode()
        self.assertIn("# relu(relu(x)) = relu(x)\n", text)
        self.assertIn("matmul", text)
        for rules in ("out", "out/equations"):
            self.assertRegex(self.run_program("rules", "check", rules).stdout, r"\A(\d+) of \1 proofs accepted\n\Z")

    def test_fold_parameters(self):
        files = self.generate("out", "--ops", "add,channels,conv,mul,reshape", "--max-ops", "3", "--jobs", "2")
        text = files["generated.rules"].decode()
        report = json.loads(files["generated.json"])
        # A scale after a convolution goes into the kernel.
        self.assertIn("""
# x * conv(z, u) = conv(z, (u * reshape(x)))
rule conv-of-mul-and-reshape-2-back
  with
    x: [1^L, M, 1^S]
    z: [K, N, S..]
    u: [M, P, W..]
  source
    y = mul(x, conv(z, u, strides: s, pads: p, dilations: d, groups: g))
  target
    y = conv(z, mul(u, reshape(x, shape: [M, 1, 1^W])), strides: s, pads: p, dilations: d, groups: g)
  where
    1 >= rank(L)
""", text)
        # A shift before one goes after it, for kernels of one pixel and without pads.
        self.assertIn("""
  source
    y = conv(add(x, z), u, strides: s, pads: 0, dilations: d, groups: 1)
  target
    y = add(conv(x, u, strides: s, pads: 0, dilations: d, groups: 1), conv(reshape(z, shape: [1, M, 1^S]), u, strides: s, pads: 0, dilations: d, groups: 1))
  where
    1 >= rank(L)
""", text)
        # What pays for constants alone asks for these.
        self.assertIn("""
# x + (z + u) = u + (x + z)
rule add-of-add-folded
  source
    y = add(x, add(z, u))
  target
    y = add(u, add(x, z))
  where
    const(x) and
    const(z)
""", text)
        self.assertEqual(report["shortcuts"], text.count("\nrule shortcut-"))
        self.assertGreater(report["shortcuts"], 5)
        self.assertIn("""
# (x * z) * (u * v) = (x * u) * (z * v)
rule shortcut-4-mul-of-mul-and-mul-folded
  source
    y = mul(mul(x, z), mul(u, v))
  target
    y = mul(mul(x, u), mul(z, v))
  where
    const(z) and
    const(v)
""", text)
        self.assertEqual([], report["unproved"])

    def test_do_not_depend_on_threads_or_memory(self):
        one = self.generate("one", *SMALL)
        self.assertEqual(one, self.generate("two", *SMALL, "--jobs", "2"))
        # With so little memory the graphs are grouped in several ranges.
        self.assertEqual(one, self.generate("three", "--ops", "add,concat,matmul,relu", "--max-ops", "2", "--memory", "1MB"))

    def test_are_the_same_after_kills(self):
        arguments = ("--ops", "add,concat,matmul,relu,split,transpose", "--max-ops", "3")
        whole = self.generate("whole", *arguments)
        for moment in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6):
            job = subprocess.Popen([program.PROGRAM, "generate", *arguments, "--out", "parts"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            time.sleep(moment)
            job.send_signal(signal.SIGKILL)
            job.wait()
        self.assertEqual(whole, self.generate("parts", *arguments))


class Errors(GenerateTest):
    def test_name_unknown_operators(self):
        self.assertEqual(("xflow: unknown operator 'matmull'; similar: matmul (see 'xflow generate --help')", 64), self.error("--ops", "matmull", "--out", "out"))

    def test_name_unknown_presets(self):
        self.assertEqual(("xflow: unknown preset 'gan'; there are cnn, transformer, rnn and all (see 'xflow generate --help')", 64), self.error("--preset", "gan", "--out", "out"))

    def test_ask_for_operators(self):
        text, status = self.error("--out", "out")
        self.assertTrue(text.startswith("xflow: no operators are given; name some with --ops or --preset: abs, add, "), text)
        self.assertEqual(64, status)

    def test_go_on_with_the_job_that_is_there(self):
        found = self.generate("out", *SMALL, "--inputs", "2", "--no-pairs", "--seed", "7", "--memory", "500MB")
        (pathlib.Path(self.folder) / "out/generated.rules").unlink()
        self.assertEqual(found, self.generate("out"))
        self.assertEqual(found, self.generate("out", "--max-ops", "2"))
        message = "xflow: out/work: the folder holds a job with other options; choose another folder or remove this one (see 'xflow generate --help')"
        self.assertEqual((message, 64), self.error("--max-ops", "3", "--out", "out"))
        (pathlib.Path(self.folder) / "out/work/job").write_text("{")
        text, status = self.error("--out", "out")
        self.assertRegex(text, r"\Axflow: out/work: not a file of a generator job: .+")
        self.assertEqual(2, status)

    def test_refuse_graphs_without_operators(self):
        self.assertEqual(("xflow: --max-ops must be at least 1, found 0 (see 'xflow generate --help')", 64),
                         self.error("--ops", "relu", "--max-ops", "0", "--out", "out"))

    def test_refuse_graphs_that_do_not_fit(self):
        text, status = self.error("--preset", "cnn", "--max-ops", "6", "--out", "out")
        self.assertRegex(text, r"\Axflow: graphs of 6 operators over \d+ operators with attributes and \d+ inputs and constants take \d+ bits, "
                               r"more than the 64 of a record; take fewer operators or inputs\Z")
        self.assertEqual(3, status)

    def test_name_a_folder_that_cannot_be_made(self):
        self.assertEqual(("xflow: /dev/null/out/work: cannot make the folder: Not a directory", 3),
                         self.error("--ops", "relu", "--out", "/dev/null/out"))

    def test_refuse_another_job_in_the_folder(self):
        self.generate("out", "--ops", "relu", "--max-ops", "1")
        self.assertEqual(("xflow: out/work: the folder holds a job with other options; choose another folder or remove this one (see 'xflow generate --help')", 64),
                         self.error("--ops", "relu", "--max-ops", "2", "--out", "out"))

    def test_name_a_file_that_cannot_be_written(self):
        def few_bytes():
            resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

        run = subprocess.run([program.PROGRAM, "generate", *SMALL, "--out", "out"], cwd=self.folder, capture_output=True, text=True,
                             preexec_fn=few_bytes, check=False)
        self.assertRegex(run.stderr, r"\Axflow: out/work/[a-z]+[-0-9]*: cannot write: File too large\n\Z")
        self.assertEqual(3, run.returncode)
        # What is written later starts from what is whole.
        self.assertEqual(self.generate("other", *SMALL), self.generate("out", *SMALL))

    def test_name_memory_that_is_none(self):
        self.assertEqual(("xflow: memory 'much' is not of the form 500MB or 4GiB, at least 1MB (see 'xflow generate --help')", 64),
                         self.error("--ops", "relu", "--memory", "much", "--out", "out"))


if __name__ == "__main__":
    program.main()
