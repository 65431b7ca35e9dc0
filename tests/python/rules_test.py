"""Rules, verify, check, generate, devices, the runner and the command."""

import os
import shlex
import subprocess
import sys
import pathlib

import models
import onnx
import pytest
import xflow_onnx
from onnx import TensorProto, helper
from xflow_onnx import _api, _command, _runner

RIGHT = "# x + 0 = x\nrule right\n  source\n    y = x + 0\n  target\n    y = x\n"
WRONG = "rule wrong\n  source\n    y = x + 0\n  target\n    y = x + 1\n"


def test_rules_are_listed_and_written(tmp_path):
    shipped = xflow_onnx.Rules.shipped()
    assert len(shipped) > 100 and "add-zero" in [rule.name for rule in shipped]
    rules = xflow_onnx.Rules.parse(RIGHT + WRONG, "my.rules")
    assert [rule.name for rule in rules] == ["right", "wrong"] and rules[-1].name == "wrong"
    assert rules[0].equation == "x + 0 = x" and rules[1].place == "my.rules:7:6" and len(rules[0].hash) == 32
    assert rules[0].float_class in ("exact", "rounding", "special")
    assert "right" in rules.describe(0)
    with pytest.raises(IndexError):
        rules[2]
    rules.write(str(tmp_path / "my.rules"))
    assert xflow_onnx.Rules.read([str(tmp_path / "my.rules")]).text() == rules.text()


def test_rules_are_decided():
    right, wrong = xflow_onnx.verify(RIGHT + WRONG)
    assert (right.rule, right.verdict, right.proved, right.counterexample) == ("right", "proved", True, None)
    assert (wrong.verdict, wrong.proved) == ("refuted", False) and "x" in wrong.counterexample
    with pytest.raises(xflow_onnx.Error) as caught:
        xflow_onnx.verify("rule")
    assert caught.value.code == "syntax" and caught.value.where.startswith("<text>:1:")
    token = xflow_onnx.CancellationToken()
    token.finish()
    assert [decision.verdict for decision in xflow_onnx.verify(RIGHT, cancel=token)] == ["timeout"]


def test_two_models_are_proved_equal_or_refuted(tmp_path):
    a = models.transposes()
    b = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", a.graph.input, a.graph.output),
                          ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(b, tmp_path / "b.onnx")
    proof = xflow_onnx.verify_models(a, tmp_path / "b.onnx")
    assert proof.proved and proof.verdict == "proved" and not proof.up_to_rounding and proof.difference == ""
    assert [(output.name, output.verdict) for output in proof.outputs] == [("y", "proved")]
    assert str(proof) == "  proved   output 'y'\nproved\n"
    b.graph.node[0].op_type = "Neg"
    proof = xflow_onnx.verify_models(a.SerializeToString(), b)
    assert not proof.proved and proof.verdict == "refuted" and proof.difference.startswith("output 'y' is ")
    with pytest.raises(xflow_onnx.Error) as raised:
        xflow_onnx.verify_models(a, b, time_limit=0)
    assert raised.value.code == xflow_onnx.ErrorCode.invalid_argument


def test_models_of_any_kinds_are_compared(tmp_path):
    a = models.transposes()
    b = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", a.graph.input, a.graph.output),
                          ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(b, tmp_path / "b.onnx")
    seen = []
    report = xflow_onnx.check(a, tmp_path / "b.onnx", progress=seen.append)
    assert report and report.equal and report.difference == "" and [one.name for one in report.outputs] == ["y"]
    assert seen and seen[0].message
    b.graph.node[0].op_type = "Neg"
    report = xflow_onnx.check(a.SerializeToString(), b)
    assert not report and report.difference and not report.outputs[0].agrees
    assert report.outputs[0].reason in str(report)


def test_rules_are_generated(tmp_path):
    seen = []
    summary = xflow_onnx.generate(tmp_path / "found", operators=["relu"], max_operators=2, progress=seen.append)
    assert summary.graphs > 0 and (tmp_path / "found/generated.rules").is_file() and seen
    with pytest.raises(xflow_onnx.Error) as caught:
        xflow_onnx.generate(tmp_path / "none", operators=["dance"])
    assert caught.value.code == "invalid_argument"


def test_devices_begin_with_this_cpu():
    first, *_ = xflow_onnx.devices()
    assert first.name == "cpu" and first.usable and "oneDNN" in first.text


def test_onnx_runtime_needs_no_shell_string_and_is_the_default():
    command = shlex.split(_runner.command_of("onnxruntime"))
    assert command[0] == sys.executable and command[1].endswith("runner_ort.py") and os.path.isfile(command[1])
    assert _runner.command_of("my runner --fast") == "my runner --fast"
    _, report = xflow_onnx.optimize(models.transposes(), budget="20states")
    assert "onnxruntime" in report.device + report.to_dict()["end_to_end"]["device"]
    _, report = xflow_onnx.optimize(models.transposes(), runner="", budget="20states")
    assert "onnxruntime" not in report.device


def test_the_default_is_xflow_itself_without_onnx_runtime(monkeypatch):
    monkeypatch.setattr(_runner.importlib.util, "find_spec", lambda name: None)
    assert _api._runner_command(None, None) == ""
    assert _api._runner_command("onnxruntime", None) == _runner.command_of("onnxruntime")


def test_a_named_device_has_no_runner_by_default():
    assert _api._runner_command(None, "cpu") == ""


def test_the_command_names_the_runner():
    runner = _runner.command_of("onnxruntime")
    arguments = _command.arguments_of
    assert arguments(["optimize", "a", "b"], True) == ["optimize", "a", "b", "--runner", runner]
    assert arguments(["optimize", "a", "b"], False) == ["optimize", "a", "b"]
    assert arguments(["check", "a", "b"], True) == ["check", "a", "b"]
    assert arguments(["optimize", "a", "b", "--device", "cpu"], True) == ["optimize", "a", "b", "--device", "cpu"]
    assert arguments(["check", "a", "b", "--runner", "onnxruntime"], True) == ["check", "a", "b", "--runner", runner]
    assert arguments(["optimize", "--runner=onnxruntime"], False) == ["optimize", f"--runner={runner}"]
    assert arguments([], True) == []


def test_the_command_runs(tmp_path):
    onnx.save(models.transposes(), tmp_path / "a.onnx")
    program = pathlib.Path(sys.executable).with_name("xflow")
    run = subprocess.run([program, "optimize", tmp_path / "a.onnx", tmp_path / "b.onnx", "--budget", "20states", "--report",
                          tmp_path / "r.json"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    report = xflow_onnx.Report.from_json((tmp_path / "r.json").read_text())
    assert "onnxruntime" in report.to_dict()["end_to_end"]["device"]
    assert subprocess.run([program, "devices"], capture_output=True, text=True).stdout.startswith("cpu ")
    assert subprocess.run([program, "dance"], capture_output=True).returncode == 64


def test_names_are_those_that_are_listed():
    for name in xflow_onnx.__all__:
        assert getattr(xflow_onnx, name) is getattr(xflow_onnx, name) and name in dir(xflow_onnx)
    with pytest.raises(AttributeError, match="^module 'xflow_onnx' has no attribute 'dance'$"):
        xflow_onnx.dance


def test_a_runner_does_not_load_the_library():
    script = "import sys, xflow_onnx.runner_ort; print('xflow_onnx._core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"
