"""An optional component is used where it works: optional_test.py Z3|ONEDNN|MPI|CUDA|CBC REPOSITORY DEPS [unittest arguments].

The tree is configured where the component is absent, present, and half there. An overlay over /usr, in a mount namespace
of its own, hides files; where none can be made the test is skipped with the reason. CUDA, which few machines have, is
represented by small headers.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

COMPONENT, REPOSITORY, DEPS = "", None, None
COMPONENTS = ["Z3", "ONEDNN", "MPI", "CUDA", "CBC"]
LABELS = {"ONEDNN": "oneDNN", "CBC": "Cbc"}
NAMESPACE = ["unshare", "--mount", "sh", "-ec"]
OVERLAY = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work"
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$1/upper,workdir=$1/work" /usr
shift
"""
# Where the packages of Debian and the toolkits of vendors put headers, libraries, and programs that tell of them.
HEADERS = {
    "Z3": "/usr/include/z3* /usr/local/include/z3*",
    "ONEDNN": "/usr/include/oneapi /usr/include/dnnl* /usr/local/include/oneapi",
    "MPI": "/usr/lib/*/openmpi/include /usr/lib/*/mpich/include /usr/include/*/mpi* /usr/include/openmpi* /usr/include/mpi.h",
    "CUDA": "/usr/local/cuda* /usr/local/include/cu* /usr/include/cud* /usr/include/*/cud* /usr/bin/nvcc /usr/lib/cuda",
    "CBC": "/usr/include/coin /usr/local/include/coin",
}
LIBRARIES = {
    "Z3": "/usr/lib/*/libz3.* /usr/lib/libz3.* /usr/local/lib/libz3.*",
    "ONEDNN": "/usr/lib/*/libdnnl.* /usr/local/lib/libdnnl.*",
    "MPI": "/usr/lib/*/libmpi* /usr/lib/*/openmpi/lib /usr/lib/*/mpich/lib",
    "CUDA": "",
    "CBC": "/usr/lib/*/libCbc.* /usr/local/lib/libCbc.*",
}
PROGRAMS = {"Z3": "", "ONEDNN": "", "MPI": "/usr/bin/mpi*", "CUDA": "", "CBC": ""}
# What a test program of CUDA needs.
STAND_INS = {
    "cuda.h": "#define CUDA_VERSION 13000\ntypedef int CUdevice;\n",
    "cublasLt.h": "typedef struct cublasLtContext* cublasLtHandle_t;\n",
    "nvrtc.h": "typedef struct _nvrtcProgram* nvrtcProgram;\n",
    "cudnn.h": '#include "cudnn_version.h"\ntypedef struct cudnnContext* cudnnHandle_t;\n',
    "cudnn_version.h": "#define CUDNN_MAJOR 9\n",
}
ADVICE = {
    "Z3": "run scripts/deps",
    "ONEDNN": "install libdnnl-dev 2.6, or set CMAKE_PREFIX_PATH",
    "MPI": "install libopenmpi-dev, or set MPI_C_COMPILER",
    "CUDA": "install CUDA 13, or set CUDA_INCLUDE_DIR",
    "CBC": "install coinor-libcbc-dev, or set CMAKE_PREFIX_PATH",
}


class Optional(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "overlay").mkdir()
        self.build = self.folder / "build"
        # A prefix of dependencies in which Z3 and the headers of cuDNN's frontend can be left out.
        self.prefix = self.folder / "deps/prefix"
        (self.prefix / "z3").mkdir(parents=True)
        (self.prefix / "onnx").symlink_to(DEPS / "prefix/onnx")

    def configure(self, setting, headers, libraries, changes=""):
        """The run of CMake where headers and libraries of the component are there or not, and what it decided.

        `changes` are commands that change the machine before.
        """
        hidden = [HEADERS[COMPONENT]] * (not headers) + [LIBRARIES[COMPONENT]] * (not libraries)
        if not headers and not libraries:
            hidden.append(PROGRAMS[COMPONENT])
        if COMPONENT == "Z3":  # the system's, which is another version, is no matter here
            hidden = [HEADERS["Z3"], LIBRARIES["Z3"]]
            for name, there in [("include", headers), ("lib", libraries)]:
                subprocess.run(["rm", "-rf", self.prefix / "z3" / name], check=True)
                if there:
                    (self.prefix / "z3" / name).symlink_to(DEPS / "prefix/z3" / name)
        if COMPONENT == "CUDA":
            hidden = [HEADERS["CUDA"]]
            changes = self.cuda(headers, libraries) + changes
        others = [f"-DXFLOW_{name}=OFF" for name in COMPONENTS if name != COMPONENT]
        command = ["cmake", "--preset", "release", "-B", self.build, f"-DXFLOW_DEPS_DIR={self.prefix.parent}", "-DXFLOW_TESTS=OFF"]
        command += [f"-DXFLOW_{COMPONENT}={setting}", *others]
        script = f'{OVERLAY}rm -rf {" ".join(hidden)}\n{changes}\nexec "$@"'
        run = subprocess.run(
            [*NAMESPACE, script, "sh", self.folder / "overlay", *command],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        found = re.search(rf"^-- xflow: {LABELS.get(COMPONENT, COMPONENT)}: (.*)$", run.stdout, re.MULTILINE)
        return run, found[1] if found else None

    def cuda(self, headers, libraries):
        """Commands that install what stands in for CUDA."""
        include, library = "/usr/local/cuda/include", "/usr/local/cuda/lib64"
        script = ""
        frontend = self.prefix / "cudnn_frontend/include"
        frontend.mkdir(parents=True, exist_ok=True)
        for name in ("cudnn_frontend.h", "cudnn_frontend_version.h"):
            (frontend / name).write_text("#define CUDNN_FRONTEND_MAJOR_VERSION 1\n")
        if headers:
            script += f"mkdir -p {include}\n"
            script += "".join(f"printf %s {shlex.quote(text)} >{include}/{name}\n" for name, text in STAND_INS.items())
        if libraries:
            script += f"mkdir -p {library}\ntouch {library}/libcudart.so {library}/libcudnn.so\n"
        return script

    def used(self, setting, *where):
        run, decided = self.configure(setting, *where)
        self.assertEqual((0, "yes"), (run.returncode, decided), run.stdout + run.stderr)

    def missing(self, reason, headers, libraries, changes="", advice=None):
        """AUTO goes on without the component and says why; ON fails with the reason and what to do."""
        run, decided = self.configure("AUTO", headers, libraries, changes)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        self.assertRegex(decided, rf"\Ano \({reason}\)\Z")
        run, decided = self.configure("ON", headers, libraries, changes)
        self.assertNotEqual(0, run.returncode)
        self.assertIsNone(decided)
        message = " ".join(run.stderr.split())
        advice = advice or ADVICE[COMPONENT]
        self.assertRegex(message, rf"XFLOW_{COMPONENT} is ON, but {reason}: {advice}, or configure with -DXFLOW_{COMPONENT}=OFF")

    def test_absent(self):
        names = {"Z3": r"z3\+\+\.h", "ONEDNN": r"oneapi/dnnl/dnnl\.hpp", "MPI": r"mpi\.h", "CUDA": r"cuda\.h", "CBC": r"coin/CbcModel\.hpp"}
        self.missing(f"{names[COMPONENT]} was not found", False, False)

    def test_present(self):
        self.used("AUTO", True, True)
        self.used("ON", True, True)

    def test_switched_off(self):
        run, decided = self.configure("OFF", True, True)
        self.assertEqual((0, f"no (XFLOW_{COMPONENT} is OFF)"), (run.returncode, decided), run.stdout + run.stderr)

    def test_headers_without_a_library(self):
        if COMPONENT == "CUDA":  # its libraries are found while the program runs
            self.used("ON", True, False)
            return
        reasons = {
            "Z3": rf"z3\+\+\.h was found in {self.prefix}/z3, the library z3 was not",
            "ONEDNN": r"oneapi/dnnl/dnnl\.hpp was found, the library dnnl was not",
            "MPI": r"mpi\.h was found, and no library that a test program can be linked to",
            "CBC": r"coin/CbcModel\.hpp was found, the library Cbc was not",
        }
        self.missing(reasons[COMPONENT], True, False)
        self.compile_stand_in()

    def test_a_library_without_headers(self):
        reasons = {
            "Z3": rf"the library z3 was found in {self.prefix}/z3, z3\+\+\.h was not",
            "ONEDNN": r"oneapi/dnnl/dnnl\.hpp was not found",
            "MPI": r"mpi\.h was not found by /usr/bin/mpicc",
            "CUDA": r"cuda\.h was not found",
            "CBC": r"coin/CbcModel\.hpp was not found",
        }
        self.missing(reasons[COMPONENT], False, True)
        self.compile_stand_in()

    def compile_stand_in(self):
        """What is compiled in place of MPI needs none of it."""
        if COMPONENT != "MPI":
            return
        self.assertEqual(0, self.configure("AUTO", False, True)[0].returncode)
        script = f'{OVERLAY}rm -rf {HEADERS["MPI"]}\nexec "$@"'
        target = "CMakeFiles/xflow_mpi.dir/src/cli/processes/no_mpi/mpi_workers.cpp.o"
        # Its own command alone: ninja would first build all that the module depends on.
        commands = json.loads((self.build / "compile_commands.json").read_text())
        compile_it = next(entry["command"] for entry in commands if entry["file"].endswith("no_mpi/mpi_workers.cpp"))
        (self.build / target).parent.mkdir(parents=True, exist_ok=True)
        run = subprocess.run([*NAMESPACE, script, "sh", self.folder / "overlay", "sh", "-c", compile_it], cwd=self.build,
                             capture_output=True, text=True)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        self.assertTrue((self.build / target).exists())

    def test_what_does_not_compile(self):
        log = rf"{self.build}/optional/{COMPONENT}\.log"
        reason = rf"a test program does not compile \({log}\)"
        if COMPONENT == "Z3":
            library = self.prefix / "z3/lib"
            self.missing(reason, True, True, f"rm {library}\nmkdir {library}\necho nothing >{library}/libz3.so")
        elif COMPONENT == "ONEDNN":
            self.missing(reason, True, True, "for file in /usr/lib/*/libdnnl.so; do rm $file; echo nothing >$file; done")
        elif COMPONENT == "CBC":
            self.missing(reason, True, True, "for file in /usr/lib/*/libCbc.so; do rm $file; echo nothing >$file; done")
        elif COMPONENT == "MPI":
            reason = r"mpi\.h was found, and no library that a test program can be linked to"
            libraries = "/usr/lib/*/libmpi.so /usr/lib/*/openmpi/lib/libmpi.so"
            self.missing(reason, True, True, f"for file in {libraries}; do rm $file; echo nothing >$file; done")
        else:
            changes = "echo '#error incomplete' >/usr/local/cuda/include/cudnn.h"
            self.missing(reason, True, True, changes, "install all headers of CUDA 13 and cuDNN 9")

    def test_is_looked_for_again_where_it_was_installed_or_removed(self):
        for there in (False, True, False):
            run, decided = self.configure("AUTO", there, there)
            self.assertEqual(0, run.returncode, run.stdout + run.stderr)
            self.assertEqual("yes" if there else "no", decided.split()[0], decided)

    @unittest.skipUnless(sys.argv[1:2] == ["CUDA"], "of CUDA alone")
    def test_of_another_version(self):
        header = "/usr/local/cuda/include/cuda.h"
        changes = f"echo '#define CUDA_VERSION 12040' >{header}"
        self.missing(f"{header} is of CUDA 12, and 13 is needed", True, True, changes)
        header = "/usr/local/cuda/include/cudnn_version.h"
        changes = f"echo '#define CUDNN_MAJOR 8' >{header}"
        advice = "install cuDNN 9, or set CUDNN_INCLUDE_DIR"
        self.missing(f"{header} is of cuDNN 8, and 9 is needed", True, True, changes, advice)


def why_no_overlay():
    if os.getuid() != 0:
        return "that needs root"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([*NAMESPACE, OVERLAY, "sh", folder], capture_output=True, text=True)
        return run.stderr.strip() if run.returncode != 0 else None


if __name__ == "__main__":
    COMPONENT, REPOSITORY, DEPS = sys.argv[1], *(pathlib.Path(path).resolve() for path in sys.argv[2:4])
    reason = why_no_overlay()
    if reason:
        print(f"skipped: no overlay over /usr in a mount namespace here: {reason}")
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
