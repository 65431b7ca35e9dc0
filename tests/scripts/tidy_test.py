"""Tests of scripts/tidy on a repository of its own: tidy_test.py BUILD, a build folder from which it takes the place of clang-tidy."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEFECT = "inline int {name}(int x = 0) {{\n  if (x > 0) {{\n    return 1;\n  }} else {{\n    return 1;\n  }}\n}}\n"


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name, "cache")
        self.clone(pathlib.Path(folder.name, "clone"))

    def clone(self, root):
        """Goes on in a repository of this folder."""
        self.root, self.build, self.entries = root, root / "build", []
        (self.root / "src/module").mkdir(parents=True)
        self.build.mkdir()
        shutil.copy(REPOSITORY / ".clang-tidy", self.root)
        (self.build / "CMakeCache.txt").write_text(DEPS)
        self.header("shared.h", "inline int shared() { return 1; }\n")

    def header(self, name, text):
        (self.root / "src/module" / name).write_text(f"#pragma once\n{text}")

    def source(self, name, text):
        path = self.root / "src/module" / name
        path.write_text(text)
        command = f"/usr/bin/ccache c++ -I{self.root} -Wall -std=gnu++20 -o {name}.o -c {path}"
        entry = {"directory": str(self.build), "file": str(path), "command": command}
        self.entries = [other for other in self.entries if other["file"] != entry["file"]] + [entry]

    def tidy(self):
        """(exit status, places of findings, last line)"""
        (self.build / "compile_commands.json").write_text(json.dumps(self.entries))
        command = [REPOSITORY / "scripts/tidy", self.build, "--root", self.root]
        result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CCACHE_DIR": str(self.cache)})
        self.assertEqual("", result.stderr)
        found = re.findall(r"^\S*/(\w+\.\w+):\d+:\d+: error: .*\[([\w-]+)", result.stdout, re.MULTILINE)
        return result.returncode, sorted(found), result.stdout.splitlines()[-1]

    def test_finds_defects_in_sources_and_headers(self):
        self.header("worse.h", DEFECT.format(name="worse"))
        self.source("a.cpp", '#include "src/module/shared.h"\n' + DEFECT.format(name="a"))
        self.source("b.cpp", '#include "src/module/worse.h"\n' + DEFECT.format(name="b"))
        status, found, last = self.tidy()
        self.assertEqual((1, [(file, "bugprone-branch-clone") for file in ("a.cpp", "b.cpp", "worse.h")]), (status, found))
        self.assertEqual("2 sources, 2 looked at in 1 units, 3 findings", last)

    def test_looks_at_sources_that_the_build_compiles_together(self):
        self.source("a.cpp", DEFECT.format(name="a"))
        self.source("b.cpp", "int b() { return 2; }\n")
        unit = self.build / "unity_0_cxx.cxx"
        unit.write_text("".join(f'/* NOLINTNEXTLINE */\n#include "{entry["file"]}"\n' for entry in self.entries))
        self.entries = [{**self.entries[0], "file": str(unit), "command": f"c++ -I{self.root} -std=gnu++20 -o u.o -c {unit}"}]
        self.assertEqual((1, [("a.cpp", "bugprone-branch-clone")], "2 sources, 2 looked at in 1 units, 1 findings"), self.tidy())

    def test_looks_again_at_what_changed_alone(self):
        self.source("a.cpp", '#include "src/module/shared.h"\nint a() { return shared(); }\n')
        self.source("b.cpp", "int b() { return 2; }\n")
        self.assertEqual((0, [], "2 sources, 2 looked at in 1 units, 0 findings"), self.tidy())
        self.assertEqual((0, [], "2 sources, 0 looked at in 0 units, 0 findings"), self.tidy())
        self.header("shared.h", DEFECT.format(name="shared"))
        status, found, last = self.tidy()
        self.assertEqual((1, ["shared.h"]), (status, [file for file, _ in found]))
        self.assertEqual("2 sources, 1 looked at in 1 units, 1 findings", last)
        self.assertEqual(1, self.tidy()[0], "what was not clean is looked at again")

    def test_clones_share_what_is_clean(self):
        for folder, looked_at in [("one", 1), ("other", 0)]:
            self.clone(self.cache.parent / folder)
            self.source("a.cpp", '#include "src/module/shared.h"\nint a() { return shared(); }\n')
            self.assertEqual((0, [], f"1 sources, {looked_at} looked at in {looked_at} units, 0 findings"), self.tidy())
        with (self.root / ".clang-tidy").open("a") as options:
            options.write("# another\n")
        self.assertEqual((0, [], "1 sources, 1 looked at in 1 units, 0 findings"), self.tidy())

    def test_what_was_not_asked_for_in_a_month_is_forgotten(self):
        self.source("a.cpp", "int a() { return 1; }\n")
        for days, looked_at in [(0, 1), (29, 0), (29, 0), (31, 1)]:
            for file in self.cache.glob("xflow-tidy/*"):
                os.utime(file, (time.time() - days * 24 * 3600,) * 2)
            self.assertEqual((0, [], f"1 sources, {looked_at} looked at in {looked_at} units, 0 findings"), self.tidy())

    def test_sources_with_a_name_in_common_are_different_units(self):
        for name in "ab":
            self.source(f"{name}.cpp", f"namespace {{\nint helper() {{ return 1; }}\n}}  // namespace\nint {name}() {{ return helper(); }}\n")
        self.assertEqual((0, [], "2 sources, 2 looked at in 2 units, 0 findings"), self.tidy())

    def test_sources_that_do_not_compile_together_are_looked_at_alone(self):
        # The second declaration is not in column 0, so that nothing but the compiler sees the clash.
        self.source("a.cpp", "namespace {\nint helper() { return 1; }\n}  // namespace\nint a() { return helper(); }\n")
        self.source("b.cpp", "namespace {\n  int helper() { return 1; }\n}  // namespace\nint b() { return helper(); }\n" + DEFECT.format(name="c"))
        self.source("d.cpp", DEFECT.format(name="d"))
        status, found, last = self.tidy()
        self.assertEqual((1, ["b.cpp", "d.cpp"]), (status, [file for file, _ in found]))
        self.assertEqual("3 sources, 3 looked at in 1 units, 2 findings", last)

    def module_source(self, text):
        """A source of the Python module."""
        (self.root / "python/src").mkdir(parents=True)
        (self.root / "python/src/m.cpp").write_text(text)

    def test_looks_at_the_python_module(self):
        deps = pathlib.Path(DEPS.strip().split("=")[1])
        if not list(deps.glob("wheel-*/lib/python3*/site-packages/nanobind/include/nanobind/nanobind.h")):
            self.skipTest("the headers of nanobind are not there: scripts/deps wheel")
        self.source("a.cpp", "int a() { return 1; }\n")
        self.module_source("#include <nanobind/nanobind.h>\n" + DEFECT.format(name="m") + "int count(const nanobind::object& o) { return o.is_none() ? m() : 1; }\n")
        self.assertEqual((1, [("m.cpp", "bugprone-branch-clone")], "2 sources, 2 looked at in 2 units, 1 findings"), self.tidy())

    def test_leaves_out_the_python_module_without_its_headers_and_says_so(self):
        self.source("a.cpp", "int a() { return 1; }\n")
        self.module_source(DEFECT.format(name="m"))
        folder = self.cache.parent / "deps"
        folder.mkdir()
        (folder / "lint").symlink_to(pathlib.Path(DEPS.strip().split("=")[1], "lint"))
        (self.build / "CMakeCache.txt").write_text(f"XFLOW_DEPS_DIR:PATH={folder}\n")
        (self.build / "compile_commands.json").write_text(json.dumps(self.entries))
        command = [REPOSITORY / "scripts/tidy", self.build, "--root", self.root]
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CCACHE_DIR": str(self.cache)})
        self.assertEqual((0, "python/src is left out: scripts/deps wheel fetches the headers of nanobind\n"
                             "1 sources, 1 looked at in 1 units, 0 findings\n"), (run.returncode, run.stdout))

    def test_fails_for_a_source_that_does_not_compile(self):
        self.source("a.cpp", "int a() { return nothing; }\n")
        self.assertEqual((1, [("a.cpp", "clang-diagnostic-error")]), self.tidy()[:2])


if __name__ == "__main__":
    cache = (pathlib.Path(sys.argv.pop(1)) / "CMakeCache.txt").read_text()
    DEPS = re.search(r"^XFLOW_DEPS_DIR:PATH=.*$", cache, re.MULTILINE)[0] + "\n"
    unittest.main()
