"""The stubs of the package pass mypy --strict, and so do the examples."""

import pathlib
import subprocess
import sys

import xflow_onnx

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(xflow_onnx.__file__).parent


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


def test_the_package_and_its_stub_pass():
    assert (PACKAGE / "py.typed").is_file()
    run = mypy("--exclude", "runner_ort", "-p", "xflow_onnx")
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_examples_pass():
    run = mypy(*sorted((REPOSITORY / "examples/python").glob("*.py")))
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_wrong_use_is_found(tmp_path):
    (tmp_path / "wrong.py").write_text(
        "import xflow_onnx\n\nmodel, report = xflow_onnx.optimize(b'', budget='1s')\nmodel.decode()\nreveal_type(model)\n"
        "reveal_type(report.improved)\nreport.improve\nxflow_onnx.optimize(1)\n"
    )
    run = mypy(tmp_path / "wrong.py")
    found = [line.split("wrong.py:")[1] for line in run.stdout.splitlines() if "wrong.py:" in line]
    assert 'Revealed type is "bytes"' in found[0] and 'Revealed type is "bool"' in found[1]
    assert '"Report" has no attribute "improve"' in found[2]
    assert found[3].startswith("8: error: ")
