"""Tests of `mpirun xflow generate`: generate_mpi_test.py PROGRAM [MPIRUN [unittest arguments]]. Without MPIRUN of a build without MPI."""

import os
import subprocess
import sys
import unittest

import program
from program import ProgramTest

MPIRUN = ""
# Of processes on this machine alone, as many as are asked for, with no word of its own; root may be who runs the tests.
OPTIONS = "--quiet --oversubscribe --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca pml ob1 --mca plm isolated".split()
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Without /sys hwloc, which MPI asks for the machine's topology, reports that on the standard error of every process.
QUIET = {"HWLOC_HIDE_ERRORS": "2"}
JOB = "--ops add,matmul,relu --max-ops 2".split()
FILES = ["generated.json", "generated.proofs", "generated.rules"]


class Generate(ProgramTest):
    def run_with(self, environment, *command):
        run = subprocess.run(
            [*map(str, command)],
            cwd=self.folder,
            env={**os.environ, **QUIET, **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )
        return run.returncode, run.stdout, run.stderr


@unittest.skipUnless(sys.argv[2:], "built without MPI")
class WithMpi(Generate):
    def mpirun(self, processes, *arguments):
        return self.run_with(ROOT, MPIRUN, *OPTIONS, "-n", processes, program.PROGRAM, "generate", *arguments)

    def files(self, folder):
        return {name: (self.folder / folder / name).read_bytes() for name in FILES}

    def test_any_number_of_processes_writes_the_same(self):
        self.succeed("generate", *JOB, "--out", "alone")
        for processes in [1, 2, 3]:
            out = f"{processes}-processes"
            status, output, errors = self.mpirun(processes, *JOB, "--out", out)
            self.assertEqual((0, ""), (status, errors))
            self.assertRegex(output, rf"\A\d+ graphs, .*: {out}/generated.rules\n\Z")
            self.assertEqual(self.files("alone"), self.files(out))

    def test_others_go_on_with_a_job_of_one(self):
        self.succeed("generate", *JOB, "--out", "out")
        expected = self.files("out")
        for path in [*(self.folder / "out/work").glob("graphs-0-1*"), *(self.folder / "out/work").glob("candidates-*")]:
            path.unlink()
        self.assertEqual(0, self.mpirun(3, "--out", "out")[0])
        self.assertEqual(expected, self.files("out"))

    def test_an_error_of_the_first_is_one_line(self):
        self.write("file", "")
        error = "xflow: file/out/work: cannot make the folder: Not a directory\n"
        self.assertEqual((3, "", error), self.mpirun(3, *JOB, "--out", "file/out"))
        threads = "xflow: --jobs 2 is for one process, but mpirun started several; omit it and start more processes (see 'xflow generate --help')\n"
        self.assertEqual((64, "", threads), self.mpirun(3, *JOB, "--out", "out", "--jobs", 2))
        memory = ["--memory", "much"]
        alone = self.run_program("generate", *JOB, "--out", "out", *memory)
        self.assertEqual((64, "", alone.stderr), self.mpirun(3, *JOB, "--out", "out", *memory))
        self.assertFalse((self.folder / "out").exists())

    def test_an_error_of_another_is_one_line(self):
        # These know of another job than the first.
        others = [":", "-n", 2, program.PROGRAM, "generate", *JOB, "--out", "out", "--seed", 2]
        status, output, error = self.mpirun(1, *JOB, "--out", "out", *others)
        self.assertEqual((64, ""), (status, output))
        self.assertEqual("xflow: out/work: the folder holds a job with other options; choose another folder or remove this one (see 'xflow generate --help')\n", error)

    def test_refuses_the_mpirun_of_another_mpi(self):
        command = [program.PROGRAM, "generate", *JOB, "--out", "out"]
        error = (
            "xflow: mpirun started 4 processes, but each finds only 1; "
            "use the mpirun of the MPI that xflow was built with\n"
        )
        of_another = {"PMI_SIZE": "4", "OMPI_MCA_plm": "isolated", **ROOT}
        self.assertEqual((3, "", error), self.run_with({"PMI_RANK": "0", **of_another}, *command))
        self.assertEqual((0, "", ""), self.run_with({"PMI_RANK": "1", **of_another}, *command))


@unittest.skipIf(sys.argv[2:], "built with MPI")
class WithoutMpi(Generate):
    def test_refuses_to_do_the_same_in_every_process(self):
        error = (
            "xflow: mpirun started 4 processes, but xflow was built without MPI; "
            "start one process, or install libopenmpi-dev and rebuild xflow\n"
        )
        command = [program.PROGRAM, "generate", *JOB, "--out", "out"]
        for name in ["OMPI_COMM_WORLD", "PMI"]:
            self.assertEqual((3, "", error), self.run_with({f"{name}_SIZE": "4", f"{name}_RANK": "0"}, *command))
            self.assertEqual((0, "", ""), self.run_with({f"{name}_SIZE": "4", f"{name}_RANK": "3"}, *command))
        self.assertEqual([], list(self.folder.iterdir()))


if __name__ == "__main__":
    if sys.argv[2:]:
        MPIRUN = sys.argv.pop(2)
        program.main()
    try:
        program.main()
    except SystemExit as end:
        if not end.code:  # what fails is not skipped
            print("skipped: built without MPI")
        raise
