"""Every command of README.md and docs/building.md runs as it is written there: readme_test.py Commands|Runner BUILD DEPS [unittest arguments].

The commands run in order in a clone of the repository that shares the dependencies DEPS and, as build/release, the build
folder BUILD with the tests. Models and rules have the names that the README uses. A command of the program runs as it is;
every other command has an entry in COMMANDS, which says how it is run or what is checked in its place. Runner has the
commands of ONNX Runtime's runner, which need the Python package index: skipped with the reason where there is no network, or
where the index does not answer.
"""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import shutil
import subprocess
import sys
import tempfile
import unittest

import bare_root

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD, DEPS = None, None
XFLOW = "build/release/xflow "
PAGES = ["README.md", "docs/building.md"]
# The commands take seconds. An index that does not answer would hold pip for hours.
LIMIT = 1500
OF_PIP = {"PIP_DEFAULT_TIMEOUT": "30", "PIP_RETRIES": "2"}


def commands(text):
    """The lines of the indented blocks, with continued lines joined and without comments."""
    blocks = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    lines = re.sub(r" *\\\n *", " ", blocks).splitlines()
    return [re.sub(r"\s+# .*$", "", line).strip() for line in lines]


def is_of_runner(command):
    return ".venv" in command or command == "scripts/wheel"


class Stopped(Exception):
    """A command was stopped at the limit; says what ran. `waits_for_index`: pip was running."""

    def __init__(self, command, limit, running, said):
        super().__init__(f"{command}\nstill runs after {limit} s\n{running}{said}")
        self.waits_for_index = re.search(r"-m pip .*\b(install|download)\b", f"{command}\n{running}") is not None


def run_in_shell(command, folder, environment, limit):
    """Runs a line of the shell; ends all that it started if it takes longer than `limit` seconds."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, start_new_session=True, **pipes) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            there = ["ps", "-o", "pid,ppid,stat,wchan:24,args", "-s", str(process.pid)]
            running = subprocess.run(there, capture_output=True, text=True, check=False).stdout if shutil.which("ps") else ""
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            raise Stopped(command, limit, running, output + errors) from None
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = pathlib.Path(folder.name, "home")
        cls.home.mkdir()
        cls.root = pathlib.Path(folder.name, "xflow")
        bare_root.clone(REPOSITORY, cls.root)
        (cls.root / "build-deps").symlink_to(DEPS)
        (cls.root / "build").mkdir()
        (cls.root / "build/release").symlink_to(BUILD)
        # What the reader brings along.
        script = "import sys; sys.path.insert(0, 'tests/cli'); import onnx, program; onnx.save(program.network(), sys.argv[1])"
        subprocess.run([DEPS / "testenv/bin/python", "-c", script, cls.root / "MODEL.onnx"], cwd=REPOSITORY, check=True)
        (cls.root / "DIR").mkdir()
        shutil.copy(cls.root / "MODEL.onnx", cls.root / "DIR")
        node = {"cpuLatency": 2, "fpgaLatency": 1, "size": 1, "supportedOnFpga": True, "isBackwardNode": False}
        instance = {"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 9, "nodes": [{"id": k, **node} for k in range(3)],
                    "edges": [{"sourceId": 0, "destId": 1, "cost": 0.5}]}
        (cls.root / "INSTANCE.json").write_text(json.dumps(instance))
        (cls.root / "my-rules").mkdir()
        rules = (REPOSITORY / "substitutions/neutral.rules").read_text()
        (cls.root / "my.rules").write_text(rules)
        (cls.root / "my-rules/my.rules").write_text(rules)

    def run_in_shell(self, command, status=0, **environment):
        """Runs a line of the shell in the clone; its standard output."""
        try:
            run = run_in_shell(command, self.root, {**os.environ, **OF_PIP, "HOME": str(self.home), **environment}, LIMIT)
        except Stopped as stopped:
            if stopped.waits_for_index:
                self.skipTest(f"no network: {stopped}")
            self.fail(str(stopped))
        if run.returncode != status and bare_root.reason_of(run):
            self.skipTest(f"no network: {bare_root.reason_of(run)}")
        self.assertEqual(status, run.returncode, f"{command}\n{run.stdout}{run.stderr}")
        return run.stdout

    def test_runs(self):
        count = 0
        for command in commands("\n".join((REPOSITORY / page).read_text() for page in PAGES)):
            if is_of_runner(command) != (PART == "Runner"):
                continue
            count += 1
            print(f"$ {command}", flush=True)
            with self.subTest(command):
                if command in COMMANDS:
                    COMMANDS[command](self, command)
                elif command.startswith("apt-get install"):
                    self.packages(command)
                else:
                    self.assertTrue(command.startswith(XFLOW), "a command that this test does not know: add it to COMMANDS")
                    self.program(command)
        self.assertGreaterEqual(count, 3 if PART == "Runner" else 15)

    def program(self, command):
        output = self.run_in_shell(command)
        self.assertTrue(output, "it prints nothing")

    def as_it_is(self, command):
        self.run_in_shell(command)

    def install_runner(self, command):
        """In the versions that the other tests have, so that a new one on the index changes no result."""
        pinned = re.findall(r"^(\S+==\S+) ", (self.root / "scripts/requirements/testenv.txt").read_text(), re.MULTILINE)
        self.assertIn("onnxruntime", [line.split("==")[0] for line in pinned])
        constraints = self.root / "constraints.txt"
        constraints.write_text("".join(line + "\n" for line in pinned))
        self.run_in_shell(command, PIP_CONSTRAINT=str(constraints))
        installed = self.run_in_shell(".venv/bin/python3 -m pip freeze").splitlines()
        self.assertEqual([], [line for line in installed if "==" in line and not line.startswith("xflow") and line not in pinned])

    def quickstart(self, command):
        self.assertRegex(self.run_in_shell(command), r"(?m)^model: +\S+/out/quickstart/optimized\.onnx$")

    @contextlib.contextmanager
    def own_release_folder(self):
        """In place of the shared build folder."""
        (self.root / "build/release").rename(self.root / "build/shared")
        try:
            yield self.root / "build/release"
        finally:
            shutil.rmtree(self.root / "build/release", ignore_errors=True)
            (self.root / "build/shared").rename(self.root / "build/release")

    def script_of_tests(self, command):
        # The tests run this one. Programs in the path take the place of the configuration, the build and the tests; what
        # scripts/test does before, between and after them is real.
        places, called = self.root / "stand-ins", self.root / "called"
        places.mkdir()
        (places / "cmake").write_text(f'#!/bin/sh\necho "cmake $*" >>{called}\n')
        junit = "echo '<testsuite><testcase name=\"A.B\" status=\"run\"/></testsuite>' >\"$2\""
        options = f'while [ $# -gt 0 ]; do if [ "$1" = --output-junit ]; then {junit}; fi; shift; done'
        (places / "ctest").write_text(f'#!/bin/sh\necho "ctest $*" >>{called}\n{options}\n')
        for place in places.iterdir():
            place.chmod(0o755)
        with self.own_release_folder() as build:
            build.mkdir()
            output = self.run_in_shell(command, PATH=f"{places}:{os.environ['PATH']}")
        self.assertEqual("1 passed, 0 failed, 0 skipped", output.splitlines()[-1])
        steps = [" ".join(line.split()[:3]) for line in called.read_text().splitlines()]
        self.assertEqual(["cmake --preset release", f"cmake --build {build}", f"ctest --test-dir {build}"], steps)

    def packages(self, command):
        lists = re.findall(r"^(?:build|test)_packages=\(([^)]*)\)", (self.root / "scripts/deps").read_text(), re.MULTILINE)
        options = "apt-get install -y --no-install-recommends".split()
        words = command.split()
        self.assertEqual(options, words[: len(options)])
        self.assertIn(sorted(words[len(options) :]), [sorted(packages.split()) for packages in lists])
        self.run_in_shell(command.replace("install", "install --simulate", 1))

    def build(self, command):
        # The whole build is the one that runs this test. Here its plan must be complete, and a part of it is made.
        self.run_in_shell(f"{command} -- -n")
        self.run_in_shell(f"{command} --target xflow_pch")

    def list_tests(self, command):
        found = re.search(r"^Total Tests: (\d+)$", self.run_in_shell(f"{command} -N"), re.MULTILINE)
        self.assertGreater(int(found[1]), 30)

    def release(self, command):
        configure, build = command.split(" && ")
        with self.own_release_folder():
            self.run_in_shell(configure)
            self.build(build)

    def install(self, command):
        prefix = self.root / "somewhere"
        self.run_in_shell(command.replace("/somewhere", shlex.quote(str(prefix))))
        self.assertIn("xflow", self.run_in_shell(f"{shlex.quote(str(prefix / 'bin/xflow'))} version"))


# Commands that are not of the program, as the pages have them.
COMMANDS = {
    "./scripts/quickstart": Readme.quickstart,
    "./scripts/test": Readme.script_of_tests,
    "scripts/deps": Readme.as_it_is,
    "cmake --preset dev": Readme.as_it_is,
    "cmake --build --preset dev": Readme.build,
    "ctest --test-dir build/dev": Readme.list_tests,
    "cmake --preset release && cmake --build --preset release": Readme.release,
    "cmake --install build/release --prefix /somewhere": Readme.install,
    "python3 -m venv .venv": Readme.as_it_is,
    "scripts/wheel": Readme.as_it_is,
    ".venv/bin/python3 -m pip install --find-links dist 'xflow-onnx[onnxruntime]'": Readme.install_runner,
}


class Limits(unittest.TestCase):
    def test_end_what_a_command_started(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(Stopped) as raised:
            run_in_shell("echo begun; sleep 600 & wait", folder, os.environ, 2)
        self.assertRegex(str(raised.exception), r"(?s)^echo begun; sleep 600 & wait\nstill runs after 2 s\n.*begun\n$")
        self.assertFalse(raised.exception.waits_for_index)

    def test_know_a_wait_for_the_index(self):
        pip = "build-deps/tools/bin/python -m pip --retries 5 download -d work -r scripts/requirements/z3.txt"
        self.assertTrue(Stopped("scripts/wheel", 2, f"PID ARGS\n7 {pip}\n", "").waits_for_index)
        self.assertTrue(Stopped(".venv/bin/python3 -m pip install --find-links dist 'xflow-onnx[onnxruntime]'", 2, "", "").waits_for_index)
        self.assertFalse(Stopped("scripts/wheel", 2, "PID ARGS\n7 ninja\n", "").waits_for_index)

    def test_say_what_a_command_returned(self):
        with tempfile.TemporaryDirectory() as folder:
            run = run_in_shell("echo out; echo err >&2; exit 3", folder, os.environ, 60)
        self.assertEqual((3, "out\n", "err\n"), (run.returncode, run.stdout, run.stderr))


class Blocks(unittest.TestCase):
    def test_are_read_as_the_shell_reads_them(self):
        text = "# T\n\n    a b   # why\n\ntext `c`\n\n    d \\\n      e\n    h\n"
        self.assertEqual(["a b", "d e", "h"], commands(text))


if __name__ == "__main__":
    PART = sys.argv[1]
    BUILD, DEPS = (pathlib.Path(path).resolve() for path in sys.argv[2:4])
    program = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False)
    for _, reason in program.result.skipped:
        print(f"skipped: {reason}")
    sys.exit(not program.result.wasSuccessful())
