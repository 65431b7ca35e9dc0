"""The runner of ONNX Runtime, which does something else at the K-th request for outputs: failing_runner.py K (end | sleep)."""

import os
import sys
import time

from xflow_onnx import runner_ort


class FailingRunner(runner_ort.Runner):
    left = 0
    does_end = True

    def outputs(self, request, payload):
        FailingRunner.left -= 1
        if FailingRunner.left == 0:
            if FailingRunner.does_end:
                os._exit(4)
            time.sleep(1000)
        return super().outputs(request, payload)


if __name__ == "__main__":
    FailingRunner.left, FailingRunner.does_end = int(sys.argv[1]), sys.argv[2] == "end"
    del sys.argv[1:]
    runner_ort.Runner = FailingRunner
    runner_ort.main()
