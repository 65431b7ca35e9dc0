"""Runs that are bounded or interrupted: limits_test.py PROGRAM TEST_RUNNER [unittest arguments].

Nothing here depends on how fast the machine is: a runner that never answers is what is waited for.
"""

import json
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import program
from program import ProgramTest, transposes

RUNNER = ""
HOUR = "3600s"


def is_running(number):
    """Zombies do not run any more."""
    try:
        state = pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


class LimitsTest(ProgramTest):
    def start(self, *arguments):
        process = subprocess.Popen(
            [program.PROGRAM, "optimize", *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stderr.close()

    def wait_for(self, condition):
        while not condition():
            time.sleep(0.01)

    def silent_runner(self):
        """A runner that never answers: it writes its number and those of what it starts to a file."""
        script = "sleep 100000 & echo $$ $! > numbers.new; mv numbers.new numbers; wait"
        return ["--runner", script]

    def numbers(self):
        path = self.folder / "numbers"
        self.wait_for(path.exists)
        return [int(word) for word in path.read_text().split()]

    def hanging_runner(self):
        """A runner that answers until it is asked to run a kernel, and then tells that in a file."""
        return ["--runner", shlex.join([RUNNER, "--hang", "Relu", "--log", "log"])]


class Limits(LimitsTest):
    def test_no_time_gives_the_original_and_says_why(self):
        self.write("m.onnx", transposes())
        text = self.optimize("m.onnx", "--time-limit", "0s", "--report", "report.json")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("time limit", report["search"]["stop_reason"])
        self.assertEqual("nothing cheaper was found before the search had to end (time limit)", report["reason"])
        self.assertIn(report["reason"], text)

    def test_no_memory_gives_the_original_and_says_why(self):
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", "--memory", "1MiB", "--report", "report.json")
        self.assertEqual((self.folder / "m.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("memory limit", report["search"]["stop_reason"])
        self.assertEqual("nothing cheaper was found before the search had to end (memory limit)", report["reason"])

    def test_refuses_other_words(self):
        self.write("m.onnx", transposes())
        for option, word, said in [
            ("--time-limit", "soon", "time limit 'soon' is not of the form 300s, 500ms or 5m"),
            ("--memory", "much", "memory 'much' is not of the form 4GiB or 500MiB"),
        ]:
            result = self.run_program("optimize", "m.onnx", "out.onnx", option, word)
            self.assertEqual((64, f"xflow: {said}\n"), (result.returncode, result.stderr))

    def test_a_silent_runner_has_the_time_of_the_kernel_budget(self):
        self.write("m.onnx", transposes())
        process = self.start("m.onnx", "out.onnx", "--kernel-budget", "1s", *self.silent_runner())
        _, errors = process.communicate()
        self.assertIn("it did not answer within 1 s", errors)
        self.assertEqual(3, process.returncode)
        for number in self.numbers():
            self.wait_for(lambda: not is_running(number))

    def test_a_runner_does_not_outlive_the_program(self):
        self.write("m.onnx", transposes())
        for end in [signal.SIGKILL, signal.SIGTERM]:
            (self.folder / "numbers").unlink(missing_ok=True)
            process = self.start("m.onnx", "out.onnx", "--kernel-budget", HOUR, "--time-limit", HOUR, *self.silent_runner())
            numbers = self.numbers()
            self.assertEqual(2, len(numbers))
            while process.poll() is None:  # a second SIGTERM ends it at once
                process.send_signal(end)
                time.sleep(0.05)
            for number in numbers:
                self.wait_for(lambda: not is_running(number))
            self.assertFalse((self.folder / "out.onnx").exists())


class Interruption(LimitsTest):
    def begin(self):
        """A search that waits for a kernel."""
        self.write("m.onnx", transposes())
        process = self.start(
            "m.onnx", "out.onnx", "--report", "report.json", "--no-gate", "--kernel-budget", HOUR, "--time-limit", HOUR, "--costs", "",
            "--device", "runner", *self.hanging_runner()
        )  # fmt: skip
        log = self.folder / "log"
        self.wait_for(lambda: log.exists() and '"run"' in log.read_text())
        return process

    def test_once_ends_the_search_and_writes_what_there_is(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(0, process.returncode, errors)
        self.assertIn("xflow: interrupted: the best result so far is checked and written; again: nothing is written\n", errors)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual("interrupted", report["search"]["stop_reason"])
        self.assertTrue((self.folder / "out.onnx").exists())

    def test_twice_ends_at_once_and_writes_nothing(self):
        self.write("m.onnx", transposes())
        process = self.start("m.onnx", "out.onnx", "--kernel-budget", HOUR, "--time-limit", HOUR, *self.silent_runner())
        numbers = self.numbers()
        process.send_signal(signal.SIGINT)
        line = process.stderr.readline() + process.stderr.readline()
        self.assertIn("interrupted", line)
        process.send_signal(signal.SIGINT)
        process.wait()
        self.assertEqual(130, process.returncode)
        self.assertFalse((self.folder / "out.onnx").exists())
        for number in numbers:
            self.wait_for(lambda: not is_running(number))


if __name__ == "__main__":
    RUNNER = str(pathlib.Path(sys.argv.pop(2)).resolve())
    program.main()
