"""A device that is written in Python: own_device.py MODEL.onnx OUT.onnx.

It is an accelerator that is simulated: a launch takes two microseconds, and a byte to move a nanosecond. It has no `run`, so results are
accepted by predicted time.
"""

import math
import pathlib
import sys

import xflow_onnx

SIZES = {"float32": 4, "float16": 2, "int64": 8, "int32": 4, "float64": 8}


def bytes_of(tensor: xflow_onnx.KernelTensor) -> int:
    return math.prod(tensor.shape) * SIZES.get(tensor.data_type, 1)


class Accelerator:
    name = "accelerator 1, simulated"

    def measure(self, kernel: xflow_onnx.Kernel) -> float | None:
        if kernel.name == "none":
            return 0.0
        if kernel.name == "einsum":
            return None  # this device has no such kernel
        return 2000.0 + sum(map(bytes_of, [*kernel.operands, *kernel.results]))


def main() -> None:
    source, target = map(pathlib.Path, sys.argv[1:])
    model, report = xflow_onnx.optimize(source.read_bytes(), device=Accelerator(), budget="1000states")
    target.write_bytes(model)
    print(f"{report.predicted_before / 1000:.1f} us -> {report.predicted_after / 1000:.1f} us, {report.stop_reason}")


if __name__ == "__main__":
    main()
