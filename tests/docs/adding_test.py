"""Applies the examples of docs/dev/adding.md to a copy of the repository, builds it and runs the page's commands.

adding_test.py REPOSITORY WORK DEPS: the copy is WORK/tree and stays, so that another run builds what has changed.
DEPS has the libraries (scripts/deps).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

REPOSITORY, TREE, DEPS = pathlib.Path(), pathlib.Path(), pathlib.Path()
PAGE = "docs/dev/adding.md"
FILE = re.compile(r"\bFile\s+`([^`]+)`:$")
# Rules that no example touches: their records would be replayed twice, by programs that were compiled quickly.
LEFT_OUT = re.compile(r"substitutions/(?!neutral\.)\w+\.(rules|proofs)$")
LINE = re.compile(r"\bLine\s+in\s+`([^`]+)`,\s+after\s+(?:the\s+row\s+of\s+)?`([^`]+)`:$")


def blocks(page):
    """(paragraph before it, text) of each indented block."""
    found, before = [], ""
    for part in re.findall(r"(?:^    .*\n+)+|(?:^(?!    ).+\n)+", page, re.MULTILINE):
        if part.startswith("    "):
            found.append((before, re.sub(r"^    ", "", part, flags=re.MULTILINE).strip("\n") + "\n"))
        else:
            before = " ".join(part.split())
    return found


def examples(page):
    """What the page adds: {path: text} of files, [(path, after, line)], and the commands in order."""
    files, lines, commands = {}, [], []
    for paragraph, text in blocks(page):
        if match := FILE.search(paragraph):
            files[match[1]] = text
        elif match := LINE.search(paragraph):
            lines.append((match[1], match[2], text))
        else:
            commands += text.splitlines()
    return files, lines, commands


def with_line(text, after, line):
    """`text` with `line` behind the entry that begins with `after`, or behind all of the row of that name."""
    entry = re.escape(after) if "(" in after else rf"XFLOW_\w+\({re.escape(after)},"
    match = re.search(rf"^{entry}.*\n(?: .*\n)*", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"no line begins with {after}")
    return text[: match.end()] + line + text[match.end() :]


def run(*command, folder=None, **environment):
    made = subprocess.run([str(part) for part in command], cwd=folder or TREE, env={**os.environ, **environment}, capture_output=True,
                          text=True)
    return made.returncode, made.stdout + made.stderr


def write(path, text):
    """Leaves a file alone that is so already: what is built of it stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


def copy_with(files, lines):
    """Makes TREE the sources of REPOSITORY with the additions."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, check=True,
                            capture_output=True).stdout.decode().split("\0")
    listed = [name for name in listed if not LEFT_OUT.match(name)]
    texts = {name: (REPOSITORY / name).read_bytes() for name in listed if name and (REPOSITORY / name).is_file()}
    for path, text in files.items():
        if path in texts:
            raise ValueError(f"{path} is there already")
        texts[path] = text.encode()
    for path, after, line in lines:
        texts[path] = with_line(texts[path].decode(), after, line).encode()
    for name, text in texts.items():
        write(TREE / name, text)
        (TREE / name).chmod((REPOSITORY / name).stat().st_mode if name in listed else 0o644)
    for old in [path for path in TREE.rglob("*") if path.is_file() and "build" not in path.relative_to(TREE).parts[:1]]:
        if str(old.relative_to(TREE)) not in texts:
            old.unlink()


def model_of(name, nodes, inputs, weights=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), TREE / name)


def write_models():
    """Those that the commands of the page name."""
    node = helper.make_node
    random = numpy.random.default_rng(1)
    weight = lambda name, *dims: numpy_helper.from_array(random.standard_normal(dims).astype(numpy.float32), name)
    model_of("tan.onnx", [node("Tan", ["x"], ["y"])], [4, 8])
    model_of("quotient.onnx", [node("Sin", ["x"], ["s"]), node("Cos", ["x"], ["c"]), node("Div", ["s", "c"], ["y"])], [4, 8])
    factor = numpy_helper.from_array(numpy.array(1.702, numpy.float32), "factor")
    model_of("quick_gelu.onnx", [
        node("MatMul", ["x", "a"], ["p"]), node("Mul", ["factor", "p"], ["f"]), node("Sigmoid", ["f"], ["s"]), node("Mul", ["s", "p"], ["q"]),
        node("MatMul", ["q", "b"], ["r"]), node("QuickGelu", ["r"], ["y"], domain="com.microsoft")
    ], [4, 16], [weight("a", 16, 24), weight("b", 24, 40), factor])


class Page(unittest.TestCase):
    def test_is_read_as_it_is_written(self):
        text = "Text.\n\nNew. File\n`a/b.cpp`:\n\n    int a;\n\n    int b;\n\nLine in `c.def`, after `X(A)`:\n\n    X(B)\n\nTry:\n\n    run it\n"
        self.assertEqual(examples(text), ({"a/b.cpp": "int a;\n\nint b;\n"}, [("c.def", "X(A)", "X(B)\n")], ["run it"]))
        self.assertEqual(with_line("X(A)\nX(C)\n", "X(A)", "X(B)\n"), "X(A)\nX(B)\nX(C)\n")
        self.assertEqual(with_line("XFLOW_R(a, 1,\n        2)\nX(C)\n", "a", "new\n"), "XFLOW_R(a, 1,\n        2)\nnew\nX(C)\n")
        with self.assertRaisesRegex(ValueError, "no line begins with X\\(D\\)"):
            with_line("X(A)\n", "X(D)", "X(B)\n")


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files, lines, cls.commands = examples((REPOSITORY / PAGE).read_text())
        assert len(files) == 5 and len(lines) == 4, f"{len(files)} files and {len(lines)} lines are found in the page"
        copy_with(files, lines)
        # What no example touches is not built, and the rest is compiled quickly: clang takes half of the time of g++ here.
        compiler = {"CXX": "clang++"} if shutil.which("clang++") else {}
        cls.succeed("scripts/configure", "release", "OFF", XFLOW_DEPS_DIR=str(DEPS), **compiler)
        cls.succeed("cmake", "build/release", "-DXFLOW_CUDA=OFF", "-DXFLOW_MPI=OFF", "-DXFLOW_CBC=OFF", "-DXFLOW_TOGETHER=ALL", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG")
        cls.succeed("ninja", "-C", "build/release", "xflow_prove")
        cls.outputs = {}
        cls.once("build/release/xflow_prove substitutions")
        cls.succeed("ninja", "-C", "build/release", "xflow")
        write_models()

    @classmethod
    def succeed(cls, *command, **environment):
        code, text = run(*command, **environment)
        assert code == 0, f"{' '.join(map(str, command))}: {text[-4000:]}"
        return text

    @classmethod
    def once(cls, begin):
        """The output of the command of the page that begins so."""
        if begin not in cls.outputs:
            [command] = [line for line in cls.commands if line.startswith(begin)]
            cls.outputs[begin] = cls.succeed(*command.split())
        return cls.outputs[begin]

    def test_of_an_operator_is_lifted_and_evaluated(self):
        self.assertIn("equal: 1 output", self.once("build/release/xflow check tan.onnx"))

    def test_of_a_rule_is_proved(self):
        self.assertRegex(self.once("build/release/xflow verify"), r"(?m)^ *tan-from-sine-and-cosine +proved")
        self.assertIn("tan-from-sine-and-cosine", (TREE / "substitutions/trigonometry.proofs").read_text())
        self.assertIn("y = div(sin(x), cos(x))", self.succeed("build/release/xflow", "show", "tan-from-sine-and-cosine"))

    def test_of_an_activation_is_one_kernel(self):
        self.once("build/release/xflow profile record")
        profile = (TREE / "quick_gelu.xprof").read_text()
        for size in (24, 40):
            self.assertRegex(profile, rf"-> float32\[4,{size}\] \| quick_gelu\n")

    def test_of_a_subcommand_runs_and_is_listed(self):
        self.assertRegex(self.once("build/release/xflow usable"), "oneDNN")
        self.assertRegex(self.succeed("build/release/xflow", "--help"), r"\n  usable +Say whether a device can be used: exit code 0 or 1\n")
        self.assertEqual((3, "xflow: no device 'npu'\n"), run("build/release/xflow", "usable", "npu"))

    def test_of_a_device_measures_and_is_listed(self):
        self.assertIn("640 ns -> 256 ns (0.400 of the original)", self.once("build/release/xflow optimize"))
        self.assertEqual(["Tan"], [node.op_type for node in onnx.load(TREE / "tangent.onnx").graph.node])
        self.assertRegex(self.succeed("build/release/xflow", "devices"), r"\ntraffic +a byte in a nanosecond\n")
        code, text = run("build/release/xflow", "optimize", "quotient.onnx", "out.onnx", "--device", "traffic:1")
        self.assertEqual((3, "xflow: no device 'traffic:1'; there are: cpu, cuda:N, profile:FILE, runner, traffic\n"), (code, text))

    def test_commands_are_all_run(self):
        begins = ["build/release/xflow check", "build/release/xflow verify", "build/release/xflow profile", "build/release/xflow_prove",
                  "build/release/xflow usable", "build/release/xflow optimize"]
        for command in self.commands:
            self.assertEqual(1, sum(command.startswith(begin) for begin in begins), command)


if __name__ == "__main__":
    if subprocess.run(["git", "rev-parse"], cwd=sys.argv[1], capture_output=True).returncode != 0:
        print("skipped: the sources are no git checkout, which tells what belongs to them")
        sys.exit(0)
    REPOSITORY, WORK, DEPS = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
    TREE = WORK / "tree"
    TREE.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
