"""In a Debian 12 with Python and without compilers the wheel is installed into a fresh virtual environment, and the quick start of Python runs.

bare_root_wheel.py REPOSITORY WHEEL MODEL WORK:
WORK keeps the archive of the root. Skipped with the reason where no such root can be made.
"""

import pathlib
import re
import shutil
import subprocess
import sys

REPOSITORY, WHEEL, MODEL, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
sys.path.insert(0, str(REPOSITORY / "tests/scripts"))
import bare_root


def must(run):
    if run.returncode != 0:
        if bare_root.reason_of(run):
            raise bare_root.Unavailable(f"no network: {bare_root.reason_of(run)}")
        sys.exit(f"{run.args}: {run.stdout}{run.stderr}")
    return run.stdout + run.stderr


def main():
    bare_root.end_in_order()
    try:
        with bare_root.BareRoot(WORK) as root:
            must(root.run(["apt-get", "update"]))
            must(root.run(["apt-get", "install", "-y", "--no-install-recommends", "python3-venv"], DEBIAN_FRONTEND="noninteractive"))
            for program in ("gcc", "g++", "cc", "cmake", "ninja"):
                assert root.run(["sh", "-c", f"command -v {program}"]).returncode != 0, f"the root has {program}"
            installed = must(root.run(["dpkg-query", "-W", "-f", "${Package} "])).split()
            for package in ("libdnnl2", "libprotobuf-lite32", "libfmt9", "libsqlite3-0-dev", "libgomp1"):
                assert package not in installed, f"the root has {package}"
            shutil.copy(WHEEL, root.folder / WHEEL.name)
            shutil.copy(MODEL, root.folder / "model.onnx")
            shutil.copy(REPOSITORY / "examples/python/quick_start.py", root.folder / "quick_start.py")
            must(root.run(["python3", "-m", "venv", "/env"]))
            must(root.run(["/env/bin/python3", "-m", "pip", "install", "--no-index", f"/{WHEEL.name}"]))
            print(must(root.run(["/env/bin/xflow", "devices"])))
            print(must(root.run(["/env/bin/python3", "/quick_start.py", "/model.onnx", "/out.onnx"])))
            assert (root.folder / "out.onnx").stat().st_size > 0 and (root.folder / "out.html").stat().st_size > 1000
            checked = must(root.run(["/env/bin/xflow", "check", "/model.onnx", "/out.onnx"]))
            assert re.search(r"equal: \d+ output", checked), checked
            verified = must(root.run(["/env/bin/python3", "-c", "import xflow_onnx as x; print(len(x.verify(x.Rules.parse("
                                      "'rule r\\n  source\\n    y = x + 0\\n  target\\n    y = x\\n'))))"]))
            assert verified == "1\n", verified
            print("passed")
    except bare_root.Unavailable as reason:
        print(f"skipped: {reason}")


if __name__ == "__main__":
    main()
