"""The wheel and the source distribution: what is in them, and that they work where nothing else is."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import models
import onnx
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
WHEEL, SDIST = pathlib.Path(os.environ["XFLOW_WHEEL"]), pathlib.Path(os.environ["XFLOW_SDIST"])
MOST_BYTES = 60_000_000


def names(prefix=""):
    with zipfile.ZipFile(WHEEL) as archive:
        return [name for name in archive.namelist() if name.startswith(prefix)]


def test_the_wheel_is_small_and_has_the_libraries_inside():
    assert WHEEL.stat().st_size < MOST_BYTES
    libraries = [name.split("/")[1].split("-")[0] for name in names("xflow_onnx.libs/lib")]
    assert {"libz3", "libdnnl", "libprotobuf"} <= set(libraries)
    assert not [name for name in libraries if name.startswith(("libmpi", "libcuda", "libCbc"))]
    assert len([name for name in names() if "libxflow.so" in name or "libxflow-" in name]) == 1
    assert {"xflow_onnx/py.typed", "xflow_onnx/_core.pyi", "xflow_onnx/bin/xflow", "xflow_onnx/runner_ort.py"} <= set(names())
    assert not [name for name in names() if name.endswith((".cpp", ".h"))]


def test_the_tag_is_of_the_interpreter_and_of_its_glibc():
    version, minor = sys.version_info[:2]
    python = "cp312-abi3" if minor >= 12 else f"cp{version}{minor}-cp{version}{minor}"
    assert f"-{python}-manylinux_2_" in WHEEL.name


def test_the_libraries_are_those_of_the_wheel():
    """Nothing but glibc, the C++ runtime and zlib comes from the system."""
    import xflow_onnx

    folder = pathlib.Path(xflow_onnx.__file__).parent
    for file in [folder / "bin/xflow", *folder.glob("*.so*")]:
        for line in subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout.splitlines():
            name, _, place = line.strip().partition(" => ")
            system = name.startswith(("linux-vdso", "/lib64/ld-linux", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libz.so", "libdl.so",
                                      "libpthread.so", "librt.so"))
            assert system or str(folder.parent) in place, f"{file.name}: {line}"


def test_the_source_distribution_has_what_a_build_needs():
    with tarfile.open(SDIST) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("pyproject.toml", "CMakeLists.txt", "python/CMakeLists.txt", "python/src/module.cpp", "include/xflow/version.h",
                   "cmake/Library.cmake", "src/api/optimize.cpp", "substitutions/neutral.rules", "substitutions/neutral.proofs",
                   "scripts/deps", "scripts/requirements/z3.txt", "LICENSE", "README.md", "bench/CMakeLists.txt"):
        assert needed in files, needed
    assert not [name for name in files if name.startswith(("tests/", "build", "docs/", "dist/"))]


def test_the_source_distribution_has_every_source():
    """What CMake finds by patterns would be missed without an error."""
    with tarfile.open(SDIST) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    for tree in ("src", "include", "cmake", "substitutions", "scripts", "python/src", "python/xflow_onnx"):
        paths = [path for path in (REPOSITORY / tree).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert paths
        for path in paths:
            assert path.relative_to(REPOSITORY).as_posix() in files


def test_the_source_distribution_is_configured_by_itself(tmp_path):
    """As its build does, in a clean folder; CMake fails if a source that it names is missing."""
    with tarfile.open(SDIST) as archive:
        archive.extractall(tmp_path)
    sources = tmp_path / SDIST.name.removesuffix(".tar.gz")
    options = tomllib.loads((sources / "pyproject.toml").read_text())["tool"]["scikit-build"]
    environment = {**os.environ, "XFLOW_DEPS_DIR": os.environ["XFLOW_DEPS"]}
    python = subprocess.run([sources / "scripts/deps", "wheel", "/usr/bin/python3"], env=environment, capture_output=True, text=True, check=True)
    python = pathlib.Path(python.stdout.splitlines()[-1]) / "bin/python"
    defines = [f"-D{name}={value}" for name, value in options["cmake"]["define"].items()]
    command = ["cmake", "-S", sources, "-B", tmp_path / "build", "-G", "Ninja", *defines, f"-DCMAKE_BUILD_TYPE={options['cmake']['build-type']}",
               f"-DPython_EXECUTABLE={python}", f"-DPYTHON_EXECUTABLE={python}"]
    configured = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    planned = subprocess.run(["ninja", "-C", tmp_path / "build", "-t", "commands", *options["build"]["targets"]], capture_output=True, text=True)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert "CMakeFiles/xflow_capi.dir/" in planned.stdout and "_core.pyi" in planned.stdout, planned.stdout


def test_wheels_of_one_build_folder_are_built_one_after_the_other(tmp_path):
    (tmp_path / "wheel").mkdir()
    with open(tmp_path / "wheel/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [REPOSITORY / "scripts/wheel", "--build", tmp_path, "--out", tmp_path / "dist"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as second:
            said = second.stderr.readline()
            os.killpg(second.pid, signal.SIGKILL)
    assert said == f"scripts/wheel: waiting for another one that uses {tmp_path}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["wheel"]


def test_a_bare_root_without_compilers_installs_it_and_runs_the_quick_start(tmp_path):
    onnx.save(models.transposes(256, 512), tmp_path / "model.onnx")
    work = WHEEL.parents[1] / "bare-root"
    run = subprocess.run(["/usr/bin/python3", REPOSITORY / "tests/python/bare_root_wheel.py", REPOSITORY, WHEEL, tmp_path / "model.onnx", work],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    if run.stdout.startswith("skipped: "):
        pytest.skip(run.stdout.removeprefix("skipped: ").strip())
    assert run.stdout.endswith("passed\n")
