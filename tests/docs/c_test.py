"""The snippets of docs/c.md are one program that compiles as C17 and runs: c_test.py COMPILER LIBRARY, COMPILER with its options."""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import onnx

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def erf_model():
    """y = Erf(x) + Erf(x) for x: float32[2, 3], in three nodes of which two are enough."""
    nodes = [onnx.helper.make_node("Erf", ["x"], ["a"]), onnx.helper.make_node("Erf", ["x"], ["b"]),
             onnx.helper.make_node("Add", ["a", "b"], ["y"])]
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = onnx.helper.make_graph(nodes, "g", [x], [y])
    return onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString()


def snippets(page):
    """The indented blocks of a page, split at empty lines."""
    parts = re.split(r"\n(?:[ \t]*\n)+", page)
    return [re.sub(r"^    ", "", part, flags=re.MULTILINE) for part in parts if part.startswith("    ")]


def program(page):
    """All snippets in their order: includes and functions in front, the others in main."""
    includes, functions, body = [], [], []
    for snippet in snippets(page):
        (includes if snippet.startswith("#") else functions if snippet.startswith("static ") else body).append(snippet)
    main = "\n".join(["int main(void) {", *body, "return 0;", "}"])
    return "\n".join([*includes, *functions, main, ""])


class Page(unittest.TestCase):
    def test_is_a_program(self):
        page = (REPOSITORY / "docs/c.md").read_text()
        self.assertGreater(len(snippets(page)), 8)
        library = LIBRARY.resolve().parent
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "page.c"
            source.write_text(program(page))
            (pathlib.Path(folder) / "model.onnx").write_bytes(erf_model())
            command = [*shlex.split(COMPILER), f"-I{REPOSITORY / 'include'}", source, "-o", f"{folder}/page", f"-L{library}", "-lxflow",
                       f"-Wl,-rpath,{library}"]
            compiled = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(0, compiled.returncode, compiled.stderr)
            run = subprocess.run([f"{folder}/page"], cwd=folder, capture_output=True, text=True)
            self.assertEqual((0, ""), (run.returncode, run.stderr))
            self.assertIn(len(onnx.load(f"{folder}/faster.onnx").graph.node), (2, 3))  # the gate decides
        for line in ("unreadable: ", "threads must be from 1 to 1024, found 0", "checking ", "a page of ", "equal", "proved",
                     "double: proved", "cpu: "):
            self.assertRegex(run.stdout, f"(?m)^{re.escape(line)}")


if __name__ == "__main__":
    COMPILER, LIBRARY = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
