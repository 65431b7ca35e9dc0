"""The README's first command builds and optimises a model on a Debian 12 with nothing installed: bare_root_test.py REPOSITORY WORK.

WORK keeps the archive of the root for the next run. Skipped with the reason where no such root can be made.
"""

import json
import pathlib
import sys
import time
import unittest

import bare_root

REPOSITORY, WORK, ROOT = "", "", None
FIRST_COMMAND = "./scripts/quickstart"


def first_command():
    """The first command of the README, as it is written there."""
    lines = (pathlib.Path(REPOSITORY) / "README.md").read_text().splitlines()
    return next(line.strip() for line in lines if line.startswith("    "))


class Sources(unittest.TestCase):
    """Which package sources of a machine are taken."""

    def of(self, **files):
        with bare_root.tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "sources.list.d").mkdir()
            for name, text in files.items():
                name = name.replace("__", ".")
                place = pathlib.Path(folder) / ("" if name == "sources.list" else "sources.list.d")
                (place / name).write_text(text)
            return bare_root.debian_sources(pathlib.Path(folder))

    def test_takes_the_suites_of_debian_12_alone(self):
        suites = "bookworm bookworm-updates trixie"
        text = f"Types: deb deb-src\n# a comment\nURIs: http://mirror/debian\nSuites: {suites}\nComponents: main contrib\n"
        other = "Types: deb\nURIs: https://elsewhere/x\nSuites: nodistro\nComponents: main\n"
        expected = "Types: deb\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-by: /a.gpg\n\n"
        self.assertEqual((expected, ["/a.gpg"]), self.of(debian__sources=f"{text}Signed-By: /a.gpg\n\n{other}"))

    def test_reads_sources_of_one_line(self):
        text = "# deb http://old bookworm main\ndeb [arch=amd64 signed-by=/a.gpg] http://mirror/debian bookworm main contrib # all\n"
        expected = "Types: deb\nURIs: http://mirror/debian\nSuites: bookworm\nComponents: main\nSigned-by: /a.gpg\n\n"
        self.assertEqual((expected, ["/a.gpg"]), self.of(sources__list=text))

    def test_needs_a_source_that_is_enabled(self):
        text = "Enabled: no\nTypes: deb\nURIs: http://mirror\nSuites: bookworm\nComponents: main\n"
        with self.assertRaisesRegex(bare_root.Unavailable, r"/etc/apt has no source of Debian 12 \(bookworm\)"):
            self.of(debian__sources=text, node__list="deb http://elsewhere nodistro main\n")


class FirstCommand(unittest.TestCase):
    def run_in_root(self, *command):
        run = ROOT.run(command, folder="/xflow", CCACHE_STATSLOG="/ccache.log")
        self.assertEqual(0, run.returncode, f"{run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def test_needs_nothing_but_the_clone(self):
        self.assertEqual(FIRST_COMMAND, first_command())
        for package in ("g++", "python3", "git", "openmpi-bin", "libgtest-dev"):
            self.assertNotEqual(0, ROOT.run(["dpkg-query", "-W", package]).returncode, f"{package} is installed")
        begin = time.monotonic()
        run = ROOT.run(["sh", "-c", FIRST_COMMAND], folder="/xflow", CCACHE_STATSLOG="/ccache.log")
        if run.returncode != 0 and bare_root.reason_of(run):
            self.skipTest(f"no network: {bare_root.reason_of(run)}")
        text = run.stdout + run.stderr
        print(f"{FIRST_COMMAND}: {time.monotonic() - begin:.0f} s\n{text}")
        print(self.run_in_root("ccache", "--show-log-stats"))
        self.assertEqual(0, run.returncode)

        names = dict(line.split(": ", 1) for line in run.stdout.splitlines() if line.startswith(("report: ", "model: ")))
        report = json.loads((ROOT.folder / names["report"].strip().lstrip("/")).read_text())
        self.assertTrue(report["end_to_end"]["run"], "no model was run")
        self.assertGreater((ROOT.folder / names["model"].strip().lstrip("/")).stat().st_size, 100_000)
        # What is optional is absent.
        for package in ("openmpi-bin", "libopenmpi-dev", "coinor-libcbc-dev", "libgtest-dev", "clang"):
            self.assertNotEqual(0, ROOT.run(["dpkg-query", "-W", package]).returncode, f"{package} is installed")
        self.assertNotRegex(self.run_in_root("ldd", "build/release/xflow"), "libmpi|libcuda|not found")

        # A second time nothing is installed or built.
        program = ROOT.folder / "xflow/build/release/xflow"
        built = program.stat().st_mtime_ns
        text = self.run_in_root("sh", "-c", FIRST_COMMAND)
        self.assertNotRegex(text, "Installing|Building|Preparing|Unpacking|Fetching")
        self.assertEqual(built, program.stat().st_mtime_ns, "built the program again")


def main():
    global ROOT
    bare_root.end_in_order()
    # Sources first: they need no root.
    runner = unittest.TextTestRunner(verbosity=2)
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    if not runner.run(load(Sources)).wasSuccessful():
        return 1
    try:
        with bare_root.BareRoot(WORK) as ROOT:
            bare_root.clone(REPOSITORY, ROOT.folder / "xflow")
            if bare_root.compiler_cache():
                ROOT.bind(bare_root.compiler_cache(), "/root/.cache/ccache")
            result = runner.run(load(FirstCommand))
            for _, reason in result.skipped:
                print(f"skipped: {reason}")
            return 0 if result.wasSuccessful() else 1
    except bare_root.Unavailable as reason:
        print(f"skipped: {reason}")
        return 0


if __name__ == "__main__":
    REPOSITORY, WORK = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    sys.exit(main())
