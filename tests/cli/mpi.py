"""What tests of xflow over MPI share: SCRIPT PROGRAM [MPIRUN [unittest arguments]]. Without MPIRUN they test a build without MPI."""

import os
import subprocess
import sys

import program
from program import ProgramTest

# Of processes on this machine alone, as many as are asked for, with no word of its own; root may be who runs the tests.
OPTIONS = "--quiet --oversubscribe --mca btl self,vader --mca btl_vader_single_copy_mechanism none --mca pml ob1 --mca plm isolated".split()
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Without /sys hwloc, which MPI asks for the machine's topology, reports that on the standard error of every process.
QUIET = {"HWLOC_HIDE_ERRORS": "2"}
IS_BUILT_WITH_MPI = len(sys.argv) > 2
MPIRUN = ""


def environment(**variables):
    return {**os.environ, **QUIET, **ROOT, **variables}


class MpiTest(ProgramTest):
    def command(self, processes, *arguments):
        return [str(word) for word in [MPIRUN, *OPTIONS, "-n", processes, program.PROGRAM, *arguments]]

    def environment(self):
        return environment(XDG_CACHE_HOME=str(self.folder / "cache"))

    def mpirun(self, processes, *arguments):
        """The exit code, the text and the errors of all processes."""
        run = subprocess.run(self.command(processes, *arguments), cwd=self.folder, env=self.environment(), capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=300)
        return run.returncode, run.stdout, run.stderr


def main():
    global MPIRUN
    if IS_BUILT_WITH_MPI:
        MPIRUN = sys.argv.pop(2)
        program.main()
    try:
        program.main()
    except SystemExit as end:
        if not end.code:  # what fails is not skipped
            print("skipped: built without MPI")
        raise
