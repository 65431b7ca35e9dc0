"""Tests of bench/peers/tables.py, and that the documentation has what it writes: peers_test.py [unittest arguments]."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["README.md", "docs/benchmarks.md", "docs/images/peers-1.svg", "docs/images/peers-2.svg", "bench/results/peers.json"]


def tool(**fields):
    return {"seconds": 1.5, "peak": 5e7, "nodes": 8, "bytes": 900, "check": "equal: 1 output", "equal": True, "verdict": "proved, 1 of 1 part proved",
            "proved": True, "kept": False, "ratio": {"1": [0.5, 0.4, 0.6], "2": [0.8, 0.7, 0.9]}} | fields


def figures(name):
    tools = {
        "onnxsim": {"error": "it crashed"},
        "OnnxSlim": tool(equal=False, proved=False, verdict="refuted: output 'y' differs"),
        "onnxoptimizer": tool(equal=None, check="cannot execute"),
        "ORT basic": tool(ratio={"1": [2.0, 1.9, 2.1], "2": [2.0, 1.9, 2.1]}),
        "xflow simplify": tool(),
        "xflow": tool(kept=True, ratio={"1": [1.07, 1.0, 1.1], "2": [1.07, 1.0, 1.1]}),
    }
    return {"model": name, "nodes": 10, "bytes": 1000, "tools": tools, "milliseconds": {"1": 2.5, "2": 1.5},
            "same": {"1": [1.0, 0.99, 1.01], "2": [1.0, 0.9, 1.1]}}


class Tables(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def write(self, *arguments):
        subprocess.run([sys.executable, ROOT / "bench/peers/tables.py", "--root", self.root, *arguments], check=True)

    def test_the_documentation_has_them(self):
        self.write()
        for name in FILES:
            self.assertEqual((ROOT / name).read_text(), (self.root / name).read_text(), name)

    def test_are_those_of_the_figures(self):
        work = self.root / "work"
        for k in range(12):
            (work / f"m{k:02}").mkdir(parents=True)
            (work / f"m{k:02}/figures.json").write_text(json.dumps(figures(f"model_{k:02}")))
        self.write(work, "--note", "A machine.")
        readme = (self.root / "README.md").read_text()
        self.assertIn("| model_00 | 2.50 | fails | 0.500 **differs** | 0.500 | 2.000 | 0.500 | kept |\n", readme)
        self.assertIn("| model_09 |", readme)
        self.assertNotIn("| model_10 |", readme)
        self.assertIn("| geometric mean of 12 models | |  | 0.500 | 0.500 | 2.000 | 0.500 | 1.000 |\n", readme)
        page = (self.root / "docs/benchmarks.md").read_text()
        for line in ("A machine.\n", "| onnxsim | 0 | 0 | 0 | 0 | 0.0 |\n", "| OnnxSlim | 12 | 0 | 12 | 0 | 1.5 |\n", "| onnxoptimizer | 12 | 0 | 0 | 12 | 1.5 |\n",
                     "| model_11 | 1.50 | 1.000 [0.900, 1.100] | fails | 0.800 [0.700, 0.900] |", "| | onnxsim | fails | | | | | |\n",
                     "| | OnnxSlim | 8 | 900 | 1.5 | 50 | differs | refuted |\n", "| | onnxoptimizer | 8 | 900 | 1.5 | 50 | not run | proved |\n"):
            self.assertIn(line, page)
        picture = xml.etree.ElementTree.parse(self.root / "docs/images/peers-1.svg").getroot()
        marks = [one for one in picture.iter() if one.tag.endswith("circle") and len(one)]
        self.assertEqual(12 * 5, len(marks))  # onnxsim wrote no model

    def test_keep_everything_else_of_a_page(self):
        before = (self.root / "README.md").read_text()
        (self.root / "work/one").mkdir(parents=True)
        (self.root / "work/one/figures.json").write_text(json.dumps(figures("one")))
        self.write(self.root / "work")
        after = (self.root / "README.md").read_text()
        outside = lambda text: (text[:text.index("<!-- peers -->")], text[text.index("<!-- /peers -->"):])
        self.assertEqual(outside(before), outside(after))
        self.write(self.root / "work")
        self.assertEqual(after, (self.root / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
