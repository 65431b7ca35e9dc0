"""Tests of what the program writes to a terminal: terminal_test.py PROGRAM [unittest arguments]. Skipped where no terminal can be opened."""

import os
import pty
import subprocess

import program
from program import ProgramTest, network


class Terminal(ProgramTest):
    def run_in_terminal(self, *arguments):
        """What the program writes to a terminal that is its standard error."""
        ours, theirs = pty.openpty()
        run = subprocess.Popen([program.PROGRAM, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 1000)
            except OSError:  # nobody has the other end open any more
                part = b""
            if not part:
                break
            text += part
        os.close(ours)
        self.assertEqual(0, run.wait())
        return text.decode()

    def test_reports_progress_to_a_terminal_only(self):
        self.write("m.onnx", network())
        arguments = ["optimize", "m.onnx", "out.onnx", "--budget", "200states", "--costs", "", "--shape", "x:1,3,32,32", "--measure-budget", "200ms"]
        text = self.run_in_terminal(*arguments)
        self.assertRegex(text, r"\A(\r\x1b\[K[a-z]+ \d+ s, \d+ s left, \d+ graphs \(\d+/s\), [^\r]* -> [^\r]*)+\r\x1b\[K\Z")
        self.assertEqual("", self.run_program(*arguments).stderr)
        self.assertEqual("", self.run_in_terminal(*arguments, "--quiet"))

    def test_says_how_good_a_plan_is_so_far(self):
        self.write("m.onnx", network())
        arguments = ["parallelize", "m.onnx", "--cluster", "slow-16", "--steps", "600", "--shape", "x:4,3,32,32"]
        text = self.run_in_terminal(*arguments)
        self.assertRegex(text, r"\A(\r\x1b\[K\d+ proposals, best step \d+\.\d{4} ms)+\r\x1b\[K\Z")
        self.assertIn("512 proposals, ", text)
        self.assertEqual("", self.run_program(*arguments).stderr)
        quiet = self.run_program(*arguments, "--quiet")
        self.assertEqual((0, "", ""), (quiet.returncode, quiet.stdout, quiet.stderr))

    def test_says_how_many_rules_are_decided(self):
        self.write("two.rules", "rule a\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n"
                   "rule b\n  source\n    y = -(-x)\n  target\n    y = x\n")
        text = self.run_in_terminal("verify", "two.rules")
        self.assertEqual("\r\x1b[K1 of 2 rules decided\r\x1b[K2 of 2 rules decided\r\x1b[K", text)
        self.assertEqual("", self.run_in_terminal("verify", "two.rules", "--quiet"))

    def test_says_how_far_the_proof_of_two_models_is(self):
        self.write("m.onnx", network())
        text = self.run_in_terminal("verify", "m.onnx", "m.onnx")
        self.assertRegex(text, r"\A(\r\x1b\[Kattempt 1, \d+ of \d+ operations compared, \d+ s, \d+ s left)+\r\x1b\[K\Z")
        self.assertEqual("", self.run_in_terminal("verify", "m.onnx", "m.onnx", "--quiet"))


def why_no_terminal():
    """Why no terminal can be opened here (a root without /dev/pts has none), or None."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        return error
    return None


if __name__ == "__main__":
    reason = why_no_terminal()
    if reason:
        print(f"skipped: no terminal can be opened: {reason}")
    else:
        program.main()
