"""Tests of `mpirun xflow generate`: generate_mpi_test.py PROGRAM [MPIRUN [unittest arguments]]. Without MPIRUN of a build without MPI."""

import unittest

import mpi
import program
from mpi import QUIET, ROOT, MpiTest
from program import ProgramTest

JOB = "--ops add,matmul,relu --max-ops 2".split()
FILES = ["generated.json", "generated.proofs", "generated.rules"]


@unittest.skipUnless(mpi.IS_BUILT_WITH_MPI, "built without MPI")
class WithMpi(MpiTest):
    def mpirun(self, processes, *arguments):
        return super().mpirun(processes, "generate", *arguments)

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
        error = (
            "xflow: mpirun started 4 processes, but each finds only 1; "
            "use the mpirun of the MPI that xflow was built with\n"
        )
        for rank, expected in [("0", (3, "", error)), ("1", (0, "", ""))]:
            of_another = {"PMI_SIZE": "4", "PMI_RANK": rank, "OMPI_MCA_plm": "isolated", **ROOT, **QUIET}
            run = self.run_program("generate", *JOB, "--out", "out", **of_another)
            self.assertEqual(expected, (run.returncode, run.stdout, run.stderr))


@unittest.skipIf(mpi.IS_BUILT_WITH_MPI, "built with MPI")
class WithoutMpi(ProgramTest):
    def test_refuses_to_do_the_same_in_every_process(self):
        error = (
            "xflow: mpirun started 4 processes, but xflow was built without MPI; "
            "start one process, or install libopenmpi-dev and rebuild xflow\n"
        )
        for name in ["OMPI_COMM_WORLD", "PMI"]:
            for rank, expected in [("0", (3, "", error)), ("3", (0, "", ""))]:
                run = self.run_program("generate", *JOB, "--out", "out", **{f"{name}_SIZE": "4", f"{name}_RANK": rank})
                self.assertEqual(expected, (run.returncode, run.stdout, run.stderr))
        self.assertEqual([], list(self.folder.iterdir()))


if __name__ == "__main__":
    mpi.main()
