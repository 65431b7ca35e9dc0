"""The examples in examples/python run and say what they should; so do the snippets of docs/python.md."""

import pathlib
import re
import subprocess
import sys

import models
import onnx
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples/python"


def run(name, *arguments, folder=None):
    command = [sys.executable, EXAMPLES / name, *arguments]
    made = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture
def model(tmp_path):
    onnx.save(models.transposes(256, 512), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_every_example_is_tested():
    tested = set(re.findall(r'run\("(\w+\.py)"', pathlib.Path(__file__).read_text()))
    assert tested == {path.name for path in EXAMPLES.glob("*.py")}


def test_quick_start(model, tmp_path):
    assert "onnxruntime" in run("quick_start.py", model, tmp_path / "out.onnx")
    # Which graph is the fastest one in ONNX Runtime, which cancels the transposes itself, is for the gate to say.
    assert models.operators((tmp_path / "out.onnx").read_bytes()).count("Relu") == 1
    assert (tmp_path / "out.html").read_text().startswith("<!")


def test_own_device(model, tmp_path):
    line = run("own_device.py", model, tmp_path / "out.onnx")
    before, after = map(float, re.fullmatch(r"(\S+) us -> (\S+) us, .+\n", line).groups())
    assert after < before and models.operators((tmp_path / "out.onnx").read_bytes()) == ["Relu"]


def test_prove_rules():
    first, second = run("prove_rules.py").splitlines()
    assert first.split()[:2] == ["twice-a-relu", "proved"]
    assert second.split()[:2] == ["relu-of-a-sum", "refuted"] and "=" in second


def test_snippets_of_the_page_run_in_order(model):
    """Each indented block that begins with Python is run after those before it, in a folder with model.onnx."""
    page = (REPOSITORY / "docs/python.md").read_text()
    blocks = [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)]
    code = [block for block in blocks if not block.lstrip().startswith(("scripts/", "tar ", "python3 ", "xflow "))]
    assert len(code) >= 5
    made = subprocess.run([sys.executable, "-c", "\n".join(code)], cwd=model.parent, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
