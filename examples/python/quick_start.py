"""Makes a model faster: quick_start.py MODEL.onnx OUT.onnx."""

import pathlib
import sys

import xflow_onnx


def main() -> None:
    source, target = map(pathlib.Path, sys.argv[1:])
    model, report = xflow_onnx.optimize(source.read_bytes(), budget="2s")
    target.write_bytes(model)
    print(report)
    target.with_suffix(".html").write_text(report.to_html())


if __name__ == "__main__":
    main()
