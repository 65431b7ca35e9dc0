"""Options that optimize and simplify share, and --quiet and --json: model_options_test.py PROGRAM [unittest arguments]."""

import json

import onnx
import program
from onnx import TensorProto, helper
from program import ROOFLINE, ProgramTest, float_info, model_of, network, relu, transposes


RULE = """rule relu-twice
  source
    y = relu(relu(x))
  target
    y = relu(x)
"""


def open_relu():
    model = relu(["batch", 3])
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    return model


class FixedInputs(ProgramTest):
    def fixed(self, command, model, *shapes):
        self.write("in.onnx", model)
        options = [word for shape in shapes for word in ("--overwrite-input-shape", shape)]
        if command == "optimize":
            self.write("npu.xprof", ROOFLINE)
            options += ["--device", "profile:npu.xprof", "--no-gate", "--budget", "200states"]
        self.succeed(command, "in.onnx", "out.onnx", *options)
        return onnx.load(self.folder / "out.onnx")

    def test_have_the_given_sizes_and_everything_else_stays(self):
        for command in ("simplify", "optimize"):
            model = open_relu()
            written = self.fixed(command, model, "x:2,3")
            dimension = model.graph.input[0].type.tensor_type.shape.dim[0]
            dimension.dim_value = 2
            self.assertEqual(model, written)
            self.assertEqual("DATA_BATCH", written.graph.input[0].type.tensor_type.shape.dim[0].denotation)

    def test_without_a_declared_shape_get_one(self):
        model = relu()
        model.graph.input[0].type.tensor_type.ClearField("shape")
        written = self.fixed("simplify", model, "x:2,3")
        self.assertEqual([2, 3], [dim.dim_value for dim in written.graph.input[0].type.tensor_type.shape.dim])

    def test_make_a_model_that_is_optimised_for_them(self):
        # With a known size of x the reshape to its own shape does nothing.
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
        model = model_of(nodes, [float_info("x", ["n", "m"])], [float_info("y", ["n", "m"])])
        self.assertEqual(["Relu"], [node.op_type for node in self.fixed("simplify", model, "x:4,5").graph.node])
        dynamic = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Expand", ["x", "s"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
        model = model_of(dynamic, [float_info("x", ["n", "m"])], [float_info("y", ["n", "m"])])
        self.assertNotIn("Shape", [node.op_type for node in self.fixed("optimize", model, "x:4,5").graph.node])

    def test_are_those_of_the_written_model_alone(self):
        self.write("in.onnx", network())
        self.succeed("simplify", "in.onnx", "out.onnx", "--overwrite-input-shape", "x:1,3,8,8")
        fields = [dim.dim_value for dim in onnx.load(self.folder / "out.onnx").graph.input[0].type.tensor_type.shape.dim]
        self.assertEqual([1, 3, 8, 8], fields)
        self.assertEqual(network(), onnx.load(self.folder / "in.onnx"))

    def test_come_back_when_a_trace_is_applied(self):
        self.write("in.onnx", transposes(["n", 4]))
        self.write("npu.xprof", ROOFLINE)
        fixed = ["--overwrite-input-shape", "x:8,4"]
        self.optimize("in.onnx", "--device", "profile:npu.xprof", "--report", "r.json", *fixed)
        self.succeed("replay", "r.json", "in.onnx", "again.onnx", *fixed)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        self.assertEqual(3, self.run_program("replay", "r.json", "in.onnx", "other.onnx").returncode)

    def test_that_do_not_fit_are_named(self):
        self.write("in.onnx", open_relu())
        given = lambda shape: ("simplify", "in.onnx", "out.onnx", "--overwrite-input-shape", shape)
        self.fail_with(64, "sizes [2,4] of input 'x': the model declares size 3 of dimension 1", *given("x:2,4"))
        self.fail_with(64, "sizes [2] of input 'x': the model declares more dimensions", *given("x:2"))
        self.fail_with(64, "sizes [2,3,4] of input 'x': the model declares 2 dimensions", *given("x:2,3,4"))
        self.fail_with(64, "sizes [2,3] of input 'z': the model has no such input", *given("z:2,3"))
        self.fail_with(64, "sizes [2,3] of input 'x': it is given several times", *given("x:2,3"), "--overwrite-input-shape", "x:2,3")
        sequence = model_of([helper.make_node("SequenceAt", ["s", "i"], ["y"])], [
            helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None),
            helper.make_tensor_value_info("i", TensorProto.INT64, [])], [float_info("y", None)])
        self.write("in.onnx", sequence)
        self.fail_with(64, "sizes [2] of input 's': it is no tensor", *given("s:2"))


class CheckN(ProgramTest):
    def test_compares_what_was_written(self):
        self.write("in.onnx", network())
        text = self.succeed("simplify", "in.onnx", "out.onnx", "--check-n", "2", "--overwrite-input-shape", "x:1,3,8,8")
        self.assertEqual(2, text.count("inputs   x: float32[1,3,8,8], seed "))
        self.assertTrue(text.endswith("equal: 1 output on 2 sets of inputs\n"), text)

    def test_says_on_standard_error_what_standard_output_is_not_for(self):
        self.write("in.onnx", relu())
        run = self.run_program("simplify", "in.onnx", "out.onnx", "--check-n", "1", "--json")
        self.assertEqual((0, False), (run.returncode, json.loads(run.stdout)["simplified"]))
        self.assertTrue(run.stderr.endswith("equal: 1 output on 1 set of inputs\n"), run.stderr)

    def test_needs_files(self):
        self.write("in.onnx", relu())
        self.fail_with(64, "--check-n needs files, not standard input or output", "simplify", "in.onnx", "-", "--check-n", "1")


class Prove(ProgramTest):
    def test_says_whether_what_was_written_is_proved(self):
        self.write("in.onnx", network())
        text = self.succeed("simplify", "in.onnx", "out.onnx", "--prove")
        self.assertRegex(text, r"\n  proved   output 'y'\n(.*\n)*proved.*\n\Z")
        self.assertEqual(self.succeed("verify", "in.onnx", "out.onnx"), text[-len(self.succeed("verify", "in.onnx", "out.onnx")):])

    def test_leaves_standard_output_alone_on_request(self):
        self.write("in.onnx", relu())
        self.write("npu.xprof", ROOFLINE)
        run = self.run_program("optimize", "in.onnx", "out.onnx", "--device", "profile:npu.xprof", "--no-gate", "--prove", "--quiet")
        self.assertEqual((0, ""), (run.returncode, run.stdout))
        self.assertTrue(run.stderr.endswith("proved\n"), run.stderr)

    def test_needs_files_that_are_the_same_model(self):
        self.write("in.onnx", relu())
        self.fail_with(64, "--prove needs files, not standard input or output", "simplify", "-", "out.onnx", "--prove")
        self.fail_with(64, "--prove excludes --overwrite-input-shape, which makes another model", "simplify", "in.onnx", "out.onnx", "--prove",
                       "--overwrite-input-shape", "x:2,3")


class Inspect(ProgramTest):
    def test_says_what_show_says_and_writes_nothing(self):
        self.write("in.onnx", network())
        shown = self.succeed("show", "in.onnx")
        for command in ("simplify", "optimize"):
            self.assertEqual(shown, self.succeed(command, "in.onnx", "--inspect"))
        self.assertEqual(["in.onnx"], [path.name for path in self.folder.iterdir()])

    def test_alone_needs_no_second_file(self):
        self.write("in.onnx", relu())
        self.fail_with(64, "OUT is required", "simplify", "in.onnx")
        self.fail_with(64, "OUT is required", "optimize", "in.onnx")


class Printing(ProgramTest):
    def test_can_be_json(self):
        self.write("in.onnx", network())
        self.write("npu.xprof", ROOFLINE)
        text = self.optimize("in.onnx", "--device", "profile:npu.xprof", "--json", "--report", "r.json")
        self.assertEqual((self.folder / "r.json").read_text(), text)
        command = json.loads(text)["command"]
        self.assertEqual("xflow optimize in.onnx out.onnx --budget 200states --no-gate --device profile:npu.xprof --json --report r.json", command)
        checked = json.loads(self.succeed("check", "in.onnx", "out.onnx", "--shape", "x:1,3,8,8", "--json"))
        self.assertEqual((True, "", [], 1), (checked["equal"], checked["difference"], checked["skipped"], len(checked["runs"])))
        self.assertEqual(("y", True, ""), tuple(checked["outputs"][0][name] for name in ("name", "agrees", "reason")))
        replayed = json.loads(self.succeed("replay", "r.json", "in.onnx", "again.onnx", "--json"))
        self.assertTrue(replayed["replayed"])
        self.assertTrue(json.loads(self.succeed("simplify", "in.onnx", "small.onnx", "--json"))["simplified"])

    def test_can_be_left_out(self):
        self.write("in.onnx", network())
        self.write("npu.xprof", ROOFLINE)
        self.write("one.rules", RULE)
        for command in (("optimize", "in.onnx", "out.onnx", "--device", "profile:npu.xprof", "--no-gate", "--budget", "100states"),
                        ("simplify", "in.onnx", "small.onnx"), ("check", "in.onnx", "small.onnx", "--shape", "x:1,3,8,8"),
                        ("verify", "one.rules"), ("verify", "in.onnx", "small.onnx"),
                        ("generate", "--ops", "add,relu", "--max-ops", "1", "--out", "found")):
            self.assertEqual("", self.succeed(*command, "--quiet"), command)
        self.write("wrong.rules", RULE.replace("relu(relu(x))", "relu(relu(-x))"))
        run = self.run_program("verify", "wrong.rules", "--quiet")
        self.assertEqual((1, "", ""), (run.returncode, run.stdout, run.stderr))

    def test_is_one_or_the_other(self):
        self.write("in.onnx", relu())
        for command in (("optimize", "in.onnx", "out.onnx"), ("simplify", "in.onnx", "out.onnx"), ("check", "in.onnx", "in.onnx"),
                        ("verify", "in.onnx", "in.onnx")):
            run = self.run_program(*command, "--quiet", "--json")
            self.assertEqual((64, ""), (run.returncode, run.stdout))
            self.assertIn("excludes --", run.stderr)


class Commands(ProgramTest):
    def test_of_reports_are_words_of_a_shell(self):
        self.write("it's a model.onnx", relu())
        self.write("npu.xprof", ROOFLINE)
        text = self.succeed("optimize", "it's a model.onnx", "o.onnx", "--device", "profile:npu.xprof", "--no-gate", "--costs", "", "--json")
        self.assertEqual(r"xflow optimize 'it'\''s a model.onnx' o.onnx --device profile:npu.xprof --no-gate --costs '' --json",
                         json.loads(text)["command"])


if __name__ == "__main__":
    program.main()
