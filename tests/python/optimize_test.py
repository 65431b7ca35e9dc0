"""xflow_onnx.optimize: kinds of models, options, reports and errors."""

import html
import json
import pathlib
import re
import subprocess
import sys

import models
import numpy
import onnx
import onnx_ir
import pytest
import xflow_onnx
from xflow_onnx import _api


class Prices:
    """A device that prices a kernel by its bytes, and runs no models."""

    name = "prices of the test"

    def __init__(self):
        self.kernels = []

    def measure(self, kernel):
        self.kernels.append(kernel.text)
        return 100.0 + sum(4.0 * float(numpy.prod(tensor.shape)) for tensor in [*kernel.operands, *kernel.results])


def optimize(model, **options):
    return xflow_onnx.optimize(model, **{"device": Prices(), "budget": "100states", **options})


def test_bytes_give_bytes():
    model, report = optimize(models.transposes().SerializeToString())
    assert isinstance(model, bytes)
    assert models.operators(model) == ["Relu"]
    assert report.improved and report.reason == ""
    assert (report.nodes_before, report.nodes_after) == (3, 1)
    assert report.predicted_after < report.predicted_before
    assert report.states > 0 and report.time > 0
    assert "prices of the test" in report.device


def test_a_proto_gives_a_proto():
    given = models.transposes()
    model, _ = optimize(given)
    assert isinstance(model, onnx.ModelProto)
    assert models.operators(model) == ["Relu"]
    assert models.operators(given) == ["Transpose", "Transpose", "Relu"]


def test_a_model_of_onnx_ir_gives_one():
    model, _ = optimize(onnx_ir.from_proto(models.transposes()))
    assert isinstance(model, onnx_ir.Model)
    assert [node.op_type for node in model.graph] == ["Relu"]


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_a_path_gives_a_path_of_its_kind(tmp_path, kind):
    source = tmp_path / "net.onnx"
    onnx.save(models.transposes(), source)
    before = source.read_bytes()
    model, report = optimize(kind(source))
    assert model == kind(tmp_path / "net.optimized.onnx") and isinstance(model, kind)
    assert report.improved and models.operators(pathlib.Path(model).read_bytes()) == ["Relu"]
    named, _ = optimize(kind(source), output=tmp_path / "named.onnx")
    assert named == kind(tmp_path / "named.onnx") and pathlib.Path(named).read_bytes() == pathlib.Path(model).read_bytes()
    assert source.read_bytes() == before


def test_other_kinds_are_refused():
    with pytest.raises(TypeError, match=r"^a model is bytes, a path, an onnx.ModelProto or an onnx_ir.Model, not int$"):
        optimize(7)
    with pytest.raises(xflow_onnx.Error, match=r"^output is for models that are given by their path$"):
        optimize(models.transposes(), output="x.onnx")


def test_neither_onnx_nor_numpy_is_imported_for_bytes(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.save(models.transposes(), path)
    script = (
        "import sys, xflow_onnx\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "xflow_onnx.optimize(data, device='cpu', budget='10states', gate=False)\n"
        "print([name for name in ('onnx', 'onnx_ir', 'numpy', 'onnxruntime') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[]\n", "")


def test_the_report_is_text_json_a_page_and_a_frame():
    _, report = optimize(models.transposes())
    assert report.to_dict() == json.loads(report.to_json())
    assert report.to_dict()["improved"] is True
    assert "Transpose" in str(report)
    assert report.to_html().startswith("<!")
    frame = report._repr_html_()
    assert html.unescape(re.fullmatch(r"<iframe [^>]* srcdoc=\"([^\"]*)\"></iframe>", frame)[1]) == report.to_html()
    again = xflow_onnx.Report.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    with pytest.raises(xflow_onnx.Error) as caught:
        xflow_onnx.Report.from_json("{}")
    assert caught.value.code == xflow_onnx.ErrorCode.invalid_argument


def test_errors_have_a_code_a_message_and_a_place(tmp_path):
    with pytest.raises(xflow_onnx.Error) as caught:
        optimize(b"no model")
    assert caught.value.code is xflow_onnx.ErrorCode.unreadable
    assert caught.value.code == "unreadable"
    assert caught.value.message and "\n" not in str(caught.value)
    with pytest.raises(xflow_onnx.Error) as caught:
        optimize(tmp_path / "missing.onnx")
    assert caught.value.code == "unreadable" and "missing.onnx" in str(caught.value)
    with pytest.raises(xflow_onnx.Error) as caught:
        xflow_onnx.optimize(models.transposes(), device="npu", budget="1states")
    assert caught.value.code == "unsupported" and str(caught.value).startswith("no device 'npu'")


ROOFLINE = """xflow profile 1
device of the test
model roofline
library none
threads 1
roofline launch 1000
roofline bandwidth 2e+10
roofline peak float32 5e+10
"""


def test_kernels_in_float32_have_the_times_of_another_type(tmp_path):
    profile = tmp_path / "roofline.xprof"
    profile.write_text(ROOFLINE + "roofline peak bfloat16 5e+10\n")
    options = {"device": f"profile:{profile}", "gate": False}
    _, whole = optimize(models.transposes(), **options)
    _, half = optimize(models.transposes(), **options, priced_as="bf16")
    assert half.predicted_before < whole.predicted_before
    with pytest.raises(xflow_onnx.Error, match=r"^expected bf16, fp16 or fp8 as the type of times, found 'int8'$"):
        optimize(models.transposes(), **options, priced_as="int8")


def test_gains_must_be_sure(tmp_path):
    profile = tmp_path / "roofline.xprof"
    profile.write_text(ROOFLINE)
    device = f"profile:{profile}"
    model, report = optimize(models.transposes(), device=device, gate=False, confidence=0.9)
    (gain,) = report.to_dict()["gains"]
    assert models.operators(model) == ["Relu"] and 0.9 < gain["sureness"] <= 1
    with pytest.raises(xflow_onnx.Error, match=r"^confidence 0.5 is not above 0.5 and below 1$"):
        optimize(models.transposes(), confidence=0.5)


def test_rules_replace_the_built_in_ones_and_must_be_proved():
    wrong = xflow_onnx.Rules.parse("rule wrong\n  source\n    y = x + 0\n  target\n    y = x + 1\n")
    with pytest.raises(xflow_onnx.Error) as caught:
        optimize(models.transposes(), rules=wrong)
    assert caught.value.code == "not_proved"
    right = xflow_onnx.Rules.parse("rule right\n  source\n    y = x + 0\n  target\n    y = x\n")
    _, report = optimize(models.transposes(), rules=right)
    assert "right" not in [step["rule"] for step in report.to_dict()["steps"]]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(None, (None, None)), (2, (2.0, None)), (0.5, (0.5, None)), ("30s", (30.0, None)), ("500ms", (0.5, None)), ("2m", (120.0, None)),
     ("50states", (None, 50)), ("1s,50states", (1.0, 50))],
)
def test_budgets(budget, expected):
    assert _api._budget(budget) == expected


def test_a_budget_without_a_meaning_is_refused():
    with pytest.raises(xflow_onnx.Error, match=r"^budget '3 apples' is not of the form 30s, 500ms, 2m or 5000states$") as caught:
        optimize(models.transposes(), budget="3 apples")
    assert caught.value.code == "invalid_argument"


def test_fixed_shapes_are_those_of_the_result():
    dynamic = models.transposes()
    dynamic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    device = Prices()
    result, _ = optimize(dynamic, device=device, fixed_shapes={"x": [7, 32]})
    assert [dim.dim_value for dim in result.graph.input[0].type.tensor_type.shape.dim] == [7, 32]
    assert any("[7,32]" in kernel for kernel in device.kernels)
    with pytest.raises(xflow_onnx.Error, match=r"^sizes \[7,33\] of input 'x': the model declares size 32 of dimension 1$"):
        optimize(dynamic, device=Prices(), fixed_shapes={"x": [7, 33]})


def test_shapes_and_inputs_reach_the_library(tmp_path):
    dynamic = models.transposes()
    dynamic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    dynamic.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    device = Prices()
    optimize(dynamic, device=device, shapes={"x": [7, 32]})
    assert any("[7,32]" in kernel for kernel in device.kernels)
    device = Prices()
    optimize(dynamic, device=device, inputs={"x": numpy.zeros((5, 32), numpy.float32)})
    assert any("[5,32]" in kernel for kernel in device.kernels)
    with pytest.raises(xflow_onnx.Error) as caught:
        optimize(dynamic, shapes={"z": [1]})
    assert caught.value.code == "invalid_argument"
    numpy.savez(tmp_path / "x.npz", x=numpy.zeros((6, 32), numpy.float32))
    device = Prices()
    optimize(dynamic, device=device, inputs=tmp_path / "x.npz")
    assert any("[6,32]" in kernel for kernel in device.kernels)
