"""The reference of the public interface: it is made without a warning, and has the comments of the headers."""

import html
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("reference", str(REPOSITORY / "scripts/reference"))
REFERENCE = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", LOADER))
LOADER.exec_module(REFERENCE)

FILTERED = [
    ("// Opens a file.\n#pragma once\n", "/// Opens a file.\n/// \\file\n"),
    ("// A size in\n// bytes.\nint size;\n", "/// A size in\n/// bytes.\nint size;\n"),
    ("  int size;  // in bytes\n", "  int size;  ///< in bytes\n"),
    ("  a,  // one\n      // more\n  b,\n", "  a,  ///< one\n      ///< more\n  b,\n"),
    ("int f() { return 1; }  // one\n", "int f() { return 1; }  ///< one\n"),
    ('int f(T = "//");  // two slashes\n', 'int f(T = "//");  ///< two slashes\n'),
    ("}  // namespace xflow\n", "}  // namespace xflow\n"),
    ("// Apart.\n\nint x;\n", "// Apart.\n\nint x;\n"),
    ("// NOLINTBEGIN(a): b\nint x;  // NOLINT\n", "///\nint x;  // NOLINT\n"),
    ("// See <xflow/a.h> @ 5 % \\n, xflow_*_free.\nint x;\n", "/// See \\<xflow/a.h\\> \\@ 5 \\% \\\\n, xflow_\\*_free.\nint x;\n"),
    ("// `a < b` is kept\nint x;\n", "/// `a < b` is kept\nint x;\n"),
    ("//   f(a < b);\nint x;\n", "///     f(a < b);\nint x;\n"),
    ("// - a < b\n//   and more\nint x;\n", "/// - a \\< b\n///   and more\nint x;\n"),
]


def words(text):
    """Words and numbers in their order: what layout, links and escapes leave."""
    return " ".join(re.findall(r"\w+", text))


def comments(header):
    """The comments that document what follows them, without examples, and those behind members."""
    for row in header.splitlines():
        match = REFERENCE.BEHIND.match(row)
        if match and not REFERENCE.WHOLE.match(row) and match[1] != "}":
            yield match[3]
    for block in re.findall(r"((?:^ *//(?: .*)?\n)+)(?=[^\n])", header, re.MULTILINE):
        rows = [re.sub(r"^ *// ?", "", row) for row in block.splitlines()]
        yield from "\n".join("" if row.startswith("   ") or REFERENCE.DIRECTIVE.match(row) else row for row in rows).split("\n\n")


class Filter(unittest.TestCase):
    def test_makes_documentation_of_comments(self):
        for text, expected in FILTERED:
            self.assertEqual(expected, REFERENCE.filtered(text))

    def test_keeps_the_numbers_of_lines(self):
        for header in (REPOSITORY / "include/xflow").glob("*.h"):
            text = header.read_text()
            self.assertEqual(text.count("\n"), REFERENCE.filtered(text).count("\n"), header)


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_of_all = cls.make(REPOSITORY, cls.folder / "all")

    @staticmethod
    def make(root, folder):
        return subprocess.run([root / "scripts/reference", folder], capture_output=True, text=True)

    def test_is_made_without_a_warning(self):
        run = self.run_of_all
        self.assertEqual((0, f"{self.folder}/all/index.html\n", ""), (run.returncode, run.stdout, run.stderr))

    def test_has_the_comments_of_the_headers(self):
        pages = " ".join(page.read_text() for page in sorted((self.folder / "all").glob("*.html")) if "_source" not in page.name)
        text = words(html.unescape(re.sub(r"<[^>]*>", "", pages)))
        count = 0
        for header in (REPOSITORY / "include/xflow").glob("*.h"):
            for comment in comments(header.read_text()):
                count += 1
                self.assertIn(words(comment), text, header.name)
        self.assertGreater(count, 1000)

    def test_ends_with_an_error_if_a_function_has_no_comment(self):
        copy = self.folder / "copy"
        for part in ("include", "docs", "scripts"):
            shutil.copytree(REPOSITORY / part, copy / part)
        header = copy / "include/xflow/time.h"
        header.write_text(header.read_text().replace("\n}  // namespace xflow", "\nXFLOW_API int undocumented();\n\n}  // namespace xflow"))
        run = self.make(copy, self.folder / "of_copy")
        self.assertNotEqual(0, run.returncode)
        self.assertIn("Member undocumented() (function) of namespace xflow is not documented.", run.stderr)


if __name__ == "__main__":
    unittest.main()
