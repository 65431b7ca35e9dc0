"""Builds the wheel, installs it into an environment of its own and runs the tests of the package there.

package_test.py REPOSITORY BUILD DEPS [ARGUMENT OF PYTEST...]: BUILD is the build folder of the library; the wheel and the environment are in
its folder wheel/. The environment sees the packages of DEPS/testenv.
"""

import os
import pathlib
import subprocess
import sys

REPOSITORY, BUILD, DEPS = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
TESTS = ["optimize_test.py", "device_test.py", "rules_test.py", "progress_test.py", "typing_test.py", "examples_test.py", "wheel_test.py"]


def succeed(*command, **environment):
    run = subprocess.run([str(part) for part in command], cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {run.stdout}{run.stderr}")
    return run.stdout


def main():
    folder = BUILD / "wheel"
    wheel = succeed("scripts/wheel", "--sdist", "--build", BUILD, "--out", folder / "dist", XFLOW_DEPS_DIR=str(DEPS)).splitlines()
    wheel, sdist = (next(line for line in wheel if line.endswith(suffix)) for suffix in (".whl", ".tar.gz"))
    python = folder / "environment/bin/python"
    succeed("/usr/bin/python3", "-m", "venv", "--clear", folder / "environment")
    site = pathlib.Path(succeed(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    others = succeed(DEPS / "testenv/bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (site / "testenv.pth").write_text(f"{others}\n")
    succeed(python, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index", wheel)
    environment = {**os.environ, "XFLOW_WHEEL": wheel, "XFLOW_SDIST": sdist, "XFLOW_DEPS": str(DEPS), "PYTHONDONTWRITEBYTECODE": "1"}
    named = any(argument.endswith(".py") for argument in sys.argv[4:])
    tests = [REPOSITORY / "tests/python" / name for name in TESTS]
    command = [python, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *sys.argv[4:], *([] if named else tests)]
    return subprocess.run([str(part) for part in command], cwd=REPOSITORY, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
