"""Tests of `xflow check`: check_test.py PROGRAM [unittest arguments]."""

import os
import pathlib
import subprocess

import numpy
import onnx
import program
from onnx import TensorProto, helper, numpy_helper
from program import ProgramTest, float_info, model_of, relu


def chain(*steps, shape=("n", 3)):
    """x through unary and binary operators: "Neg", ("Add", 2.0)."""
    nodes, weights, value = [], [], "x"
    for k, step in enumerate(steps):
        name, *constants = step if isinstance(step, tuple) else (step,)
        operands = [value]
        for c in constants:
            weights.append(numpy_helper.from_array(numpy.float32(c), f"c{k}"))
            operands.append(f"c{k}")
        value = "y" if k + 1 == len(steps) else f"t{k}"
        nodes.append(helper.make_node(name, operands, [value]))
    return model_of(nodes, [float_info("x", shape)], [float_info("y", shape)], weights)


def tensor_info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


class CheckTest(ProgramTest):
    def check(self, a, b, *arguments):
        """The status and the lines of standard output; nothing may be said on standard error."""
        self.write("a.onnx", a)
        self.write("b.onnx", b)
        run = self.run_program("check", "a.onnx", "b.onnx", *arguments)
        self.assertEqual("", run.stderr)
        return run.returncode, run.stdout.splitlines()

    def equal(self, a, b, *arguments):
        status, lines = self.check(a, b, *arguments)
        self.assertEqual(0, status, lines)
        self.assertRegex(lines[-1], r"\Aequal: \d+ outputs? on \d+ sets? of inputs\Z")
        return lines

    def different(self, a, b, *arguments):
        """The line that says why."""
        status, lines = self.check(a, b, *arguments)
        self.assertEqual(1, status, lines)
        self.assertTrue(lines[-1].startswith("different: "), lines)
        return lines[-1][len("different: ") :]


class TimeLimit(CheckTest):
    """What was not compared is not equal."""

    def slow(self):
        """A product of 2^36 multiplications."""
        nodes = [
            helper.make_node("ConstantOfShape", ["shape"], ["a"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])),
            helper.make_node("MatMul", ["a", "a"], ["b"]),
            helper.make_node("ReduceSum", ["b"], ["c"], keepdims=0),
            helper.make_node("Mul", ["x", "c"], ["y"]),
        ]
        shape = numpy_helper.from_array(numpy.array([4096, 4096], numpy.int64), "shape")
        return model_of(nodes, [float_info("x", [4])], [float_info("y", [4])], [shape])

    def test_that_is_over_is_an_error(self):
        self.write("a.onnx", self.slow())
        over = "not decided: the time limit of 2 s was reached after 0 of 1 sets of inputs; set --time-limit to a longer time"
        self.fail_with(3, over, "check", "a.onnx", "a.onnx", "--time-limit", "2s")

    def test_that_is_over_before_the_models_are_read(self):
        self.write("a.onnx", chain("Relu"))
        over = "not decided: the time limit of 0 s was reached before the models were read; set --time-limit to a longer time"
        self.fail_with(3, over, "check", "a.onnx", "a.onnx", "--time-limit", "0s")

    def test_of_another_form_is_refused(self):
        self.write("a.onnx", chain("Relu"))
        message = "time limit 'soon' is not of the form 300s, 500ms or 5m"
        self.fail_with(64, message, "check", "a.onnx", "a.onnx", "--time-limit", "soon")


class Sampled(CheckTest):
    """Models whose values take more than a check may. Their outputs are compared at chosen elements, which are computed exactly."""

    def product(self, last="Tanh", large=(128, 128, 128, 1)):
        """128^4 elements in each value but the first."""
        nodes = [
            helper.make_node("Relu", ["x"], ["a"]),
            helper.make_node("Mul", ["a", "y"], ["b"]),
            helper.make_node("Mul", ["b", "b"], ["c"]),
            helper.make_node(last, ["c"], ["o"]),
        ]
        return model_of(nodes, [float_info("x", large), float_info("y", [1, 1, 1, 128])], [float_info("o", [*large[:3], 128])])

    def test_are_equal_to_themselves(self):
        self.write("a.onnx", self.product())
        process = subprocess.Popen([program.PROGRAM, "check", "a.onnx", "a.onnx"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        lines = process.stdout.read().splitlines()
        process.stdout.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode, lines)
        self.assertRegex(lines[-2], r"\Aoutput   o: float32\[128,128,128,128\]  error \S+  bound \S+  checked \d+ of 268435456 values  agrees\Z")
        self.assertGreater(int(lines[-2].split("checked ")[1].split()[0]), 1 << 20)
        self.assertLess(used.ru_maxrss, 1 << 20)  # kB

    def test_differ_where_they_do(self):
        why = self.different(self.product(), self.product("Sigmoid"))
        self.assertRegex(why, r"\Aoutput 'o' is .* of the elements that were checked, \[\d+,\d+,\d+,\d+\] of all for x: ")

    def test_is_the_same_in_every_run(self):
        self.assertEqual(*(self.check(self.product(), self.product()) for _ in range(2)))

    def test_smaller_models_are_compared_as_a_whole(self):
        lines = self.equal(self.product(large=(64, 32, 32, 1)), self.product(large=(64, 32, 32, 1)))
        self.assertNotIn("checked", lines[-2])


class Equal(CheckTest):
    def test_is_a_model_to_itself_at_several_sizes(self):
        lines = self.equal(chain("Relu"), chain("Relu"))
        self.assertEqual(
            [
                "inputs   x: float32[1,3], seed 1",
                "inputs   x: float32[2,3], seed 2",
                "inputs   x: float32[3,3], seed 3",
                "output   y: float32[1,3]  error 0  bound 9.2e-06  agrees",
                "equal: 1 output on 3 sets of inputs",
            ],
            [line if "bound" not in line else "output   y: float32[1,3]  error 0  bound 9.2e-06  agrees" for line in lines],
        )

    def test_is_what_differs_by_less_than_the_float_error_of_the_original(self):
        # In float, adding 1000 loses digits that the original loses as well.
        self.equal(chain(("Add", 1000), ("Sub", 1000)), chain("Identity"))
        why = self.different(chain("Identity"), chain(("Add", 1000), ("Sub", 1000)))
        self.assertRegex(why, r"\Aoutput 'y' is \S+ instead of \S+ at \[\d,\d\] \(error \S+, allowed \S+\) for x: float32\[\d,3\], seed \d\Z")

    def test_is_not_a_number_where_the_original_is_none(self):
        self.equal(chain("Log"), chain("Log"))
        self.assertRegex(self.different(chain("Log"), chain("Abs", "Log")), r"\Aoutput 'y' is -\S+ instead of -?nan at \[")

    def test_sizes_are_those_that_are_given(self):
        lines = self.equal(chain("Relu"), chain("Relu"), "--shape", "x:5,3", "--seed", "7", "--runs", "2")
        self.assertEqual(["inputs   x: float32[5,3], seed 7", "inputs   x: float32[5,3], seed 8"], lines[:2])

    def test_skips_sizes_that_the_original_refuses(self):
        nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
        weight = numpy_helper.from_array(numpy.ones(128, numpy.float32), "w")
        model = model_of(nodes, [float_info("x", ["n", "m"])], [float_info("y", None)], [weight])
        lines = self.equal(model, model)
        why = "add: expected dimensions that broadcast, found 64 and 128"
        self.assertEqual("inputs   x: float32[1,128], seed 1", lines[0])
        self.assertEqual(f"skipped  a.onnx: {why} (with x: float32[2,64], seed 2)", lines[1])
        self.equal(model, model, "--shape", "x:2,1")
        message = f"a.onnx: {why} (with x: float32[2,64], seed 1); give other sizes with --shape"
        self.fail_with(3, message, "check", "a.onnx", "a.onnx", "--shape", "x:2,64")
        numpy.savez(self.folder / "x.npz", x=numpy.zeros((2, 64), numpy.float32))
        self.fail_with(2, f"x.npz: {why}", "check", "a.onnx", "a.onnx", "--inputs", "x.npz")

    def test_takes_long_inputs_where_short_ones_do_not_fit(self):
        kernel = numpy_helper.from_array(numpy.ones((1, 1, 400), numpy.float32), "k")
        nodes = [helper.make_node("Conv", ["x", "k"], ["y"], strides=[320])]
        model = model_of(nodes, [float_info("x", ["n", 1, "samples"])], [float_info("y", None)], [kernel])
        lines = self.equal(model, model)
        self.assertEqual("inputs   x: float32[1,1,1024], seed 4", lines[0])
        self.assertEqual(3, sum(line.startswith("skipped ") for line in lines))

    def test_keeps_the_defaults_of_inputs(self):
        nodes = [helper.make_node("Sqrt", ["v"], ["s"]), helper.make_node("Mul", ["x", "s"], ["y"])]
        default = numpy_helper.from_array(numpy.full(3, 4, numpy.float32), "v")
        model = model_of(nodes, [float_info("x", [3]), float_info("v", [3])], [float_info("y", [3])], [default])
        plain = chain(("Mul", 2), shape=[3])
        self.equal(model, plain)
        numpy.savez(self.folder / "inputs.npz", x=numpy.ones(3, numpy.float32), v=numpy.full(3, 9, numpy.float32))
        self.assertIn("output 'y' is 2 instead of 3 at [0]", self.different(model, plain, "--inputs", "inputs.npz"))

    def test_takes_the_sizes_of_defaults(self):
        """A default of 5 elements and an input of as many."""
        default = numpy_helper.from_array(numpy.full(5, 4, numpy.float32), "v")
        nodes = [helper.make_node("Mul", ["x", "v"], ["y"])]
        model = model_of(nodes, [float_info("x", ["n"]), float_info("v", ["n"])], [float_info("y", ["n"])], [default])
        self.assertEqual("inputs   x: float32[5], seed 1", self.equal(model, model)[0])


class Different(CheckTest):
    def test_are_other_values(self):
        why = self.different(chain(("Mul", 2)), chain(("Mul", 2.001)))
        self.assertTrue(why.startswith("output 'y' is "), why)

    def test_is_said_of_the_worst_output(self):
        def model(a, b):
            nodes = [helper.make_node("Mul", ["x", "a"], ["y"]), helper.make_node("Mul", ["x", "b"], ["z"])]
            weights = [numpy_helper.from_array(numpy.float32(v), n) for n, v in [("a", a), ("b", b)]]
            return model_of(nodes, [float_info("x", [4])], [float_info("y", [4]), float_info("z", [4])], weights)

        status, lines = self.check(model(1, 1), model(1.001, 2))
        self.assertEqual(1, status)
        self.assertEqual(["differs", "differs"], [line.split()[-1] for line in lines if line.startswith("output ")])
        self.assertTrue(lines[-1].startswith("different: output 'z' is "), lines)

    def test_are_integers_that_are_not_the_same(self):
        def model(c):
            weight = numpy_helper.from_array(numpy.int64(c), "c")
            info = [tensor_info(name, TensorProto.INT64, [4]) for name in "xy"]
            return model_of([helper.make_node("Add", ["x", "c"], ["y"])], info[:1], info[1:], [weight])

        self.equal(model(2**53 + 1), model(2**53 + 1))
        why = self.different(model(2**53 + 1), model(2**53))
        self.assertRegex(why, r"\Aoutput 'y' is 900719925474099[23] instead of 900719925474099[34] at \[0\] ")

    def test_are_booleans_that_are_not_the_same(self):
        def model(operator):
            outputs = [tensor_info("y", TensorProto.BOOL, [4])]
            weight = numpy_helper.from_array(numpy.float32(0), "c")
            return model_of([helper.make_node(operator, ["x", "c"], ["y"])], [float_info("x", [4])], outputs, [weight])

        self.equal(model("Less"), model("Less"))
        self.assertRegex(self.different(model("Less"), model("Greater")), r"\Aoutput 'y' is (true|false) instead of (true|false) at \[0\] ")

    def test_are_other_names_orders_and_types(self):
        def model(inputs, outputs):
            nodes = [helper.make_node("Identity", [inputs[0][0]], [name]) for name, _, _ in outputs]
            return model_of(nodes, [tensor_info(*i) for i in inputs], [tensor_info(*o) for o in outputs])

        x, z = ("x", TensorProto.FLOAT, [2]), ("z", TensorProto.FLOAT, [2])
        y, w = ("y", TensorProto.FLOAT, [2]), ("w", TensorProto.FLOAT, [2])
        cases = [
            (model([x], [y]), model([z], [y]), "input 0 is 'x' in A and 'z' in B"),
            (model([x], [y]), model([x, z], [y]), "A has 1 input, B has 2"),
            (model([x, z], [y]), model([x], [y]), "A has 2 inputs, B has 1"),
            (model([x], [y, w]), model([x], [w, y]), "output 0 is 'y' in A and 'w' in B"),
            (model([x], [y, w]), model([x], [y]), "A has 2 outputs, B has 1"),
            (
                model([x], [y]),
                model([("x", TensorProto.DOUBLE, [2])], [("y", TensorProto.DOUBLE, [2])]),
                "input 'x' is float32[2] in A and float64[2] in B",
            ),
            (
                model([x], [y]),
                model([("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])]),
                "input 'x' is float32[2] in A and float32[3] in B",
            ),
        ]
        for a, b, why in cases:
            self.assertEqual(why, self.different(a, b))

    def test_is_a_model_that_takes_fewer_sizes(self):
        why = self.different(chain("Relu"), chain("Relu", shape=[1, 3]))
        self.assertEqual(
            "B does not run where A does: input 'x' is float32[1,3], not float32[2,3] (for x: float32[2,3], seed 2)", why
        )
        self.equal(chain("Relu"), chain("Relu", shape=[1, 3]), "--shape", "x:1,3")

    def test_is_another_shape_of_an_output(self):
        reshape = [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])]
        model = model_of(reshape, [float_info("x", [2, 3])], [float_info("y", None)])
        same = model_of([helper.make_node("Identity", ["x"], ["y"])], [float_info("x", [2, 3])], [float_info("y", None)])
        self.assertTrue(self.different(same, model).startswith("output 'y' is shape [3,2] instead of [2,3] for "))


class Inputs(CheckTest):
    def setUp(self):
        super().setUp()
        self.x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)

    def same(self, *arguments):
        return self.equal(chain("Relu"), chain("Relu"), "--inputs", *arguments)

    def refused(self, message, *arguments, status=2):
        self.write("a.onnx", chain("Relu"))
        self.fail_with(status, message, "check", "a.onnx", "a.onnx", "--inputs", *arguments)

    def test_come_from_archives(self):
        numpy.savez(self.folder / "plain.npz", x=self.x)
        self.assertEqual("inputs   plain.npz", self.same("plain.npz")[0])
        numpy.savez_compressed(self.folder / "two.npz", in__x=self.x, in2__x=self.x[:1], out__y=self.x, out2__y=self.x[:1])
        self.assertEqual(["inputs   two.npz, set 1", "inputs   two.npz, set 2"], self.same("two.npz")[:2])

    def test_of_archives_keep_their_order_of_elements(self):
        weight = numpy_helper.from_array(numpy.float32([1, 10, 100]), "w")
        nodes = [helper.make_node("Mul", ["x", "w"], ["y"])]
        a = model_of(nodes, [float_info("x", [2, 3])], [float_info("y", [2, 3])], [weight])
        b = chain("Identity", shape=[2, 3])
        for name, x in [("c.npz", self.x), ("f.npz", numpy.asfortranarray(self.x))]:
            numpy.savez(self.folder / name, x=x)
            self.assertIn("output 'y' is 5 instead of 500 at [1,2]", self.different(a, b, "--inputs", name))

    def test_come_from_tensor_files(self):
        data = self.folder / "data"
        data.mkdir()
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(self.x, "another name").SerializeToString())
        (data / "output_0.pb").write_bytes(numpy_helper.from_array(self.x, "y").SerializeToString())
        (self.folder / "mine.pb").write_bytes(numpy_helper.from_array(self.x, "x").SerializeToString())
        self.assertEqual("inputs   data", self.same("data")[0])
        self.assertEqual("inputs   mine.pb", self.same("mine.pb")[0])
        self.assertEqual("inputs   data/input_0.pb", self.same("data/input_0.pb")[0])
        self.assertEqual(["inputs   data", "inputs   mine.pb"], self.same("data", "mine.pb")[:2])

    def test_come_from_the_data_of_onnx_itself(self):
        case = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node" / "test_gemm_default_no_bias"
        lines = self.succeed("check", case / "model.onnx", case / "model.onnx", "--inputs", case).splitlines()
        self.assertEqual(f"inputs   {case}/test_data_set_0", lines[0])

    def test_that_are_missing_are_unreadable(self):
        self.refused("missing.npz: cannot open: No such file or directory", "missing.npz")
        self.refused("missing.pb: cannot open: No such file or directory", "missing.pb")

    def test_of_another_kind_are_refused(self):
        self.write("x.txt", "1 2 3")
        self.refused("x.txt: inputs are .npz files, .pb files, or folders of .pb files", "x.txt", status=64)
        (self.folder / "none").mkdir()
        self.refused("none: no .pb files in the folder", "none")

    def test_that_do_not_fit_are_refused(self):
        numpy.savez(self.folder / "double.npz", x=self.x.astype(numpy.float64))
        self.refused("double.npz: input 'x' is float32[n,3], not float64[2,3]", "double.npz")
        numpy.savez(self.folder / "wide.npz", x=numpy.zeros((2, 4), numpy.float32))
        self.refused("wide.npz: input 'x' is float32[n,3], not float32[2,4]", "wide.npz")
        numpy.savez(self.folder / "other.npz", x=self.x, labels=self.x)
        self.refused("other.npz: array 'labels' matches no input of the model", "other.npz")
        numpy.savez(self.folder / "empty.npz", out__y=self.x)
        self.refused("empty.npz: no array matches an input of the model", "empty.npz")

    def test_for_every_input_are_needed(self):
        nodes = [helper.make_node("Add", ["x", "z"], ["y"])]
        model = model_of(nodes, [float_info("x", [2, 3]), float_info("z", [2, 3])], [float_info("y", [2, 3])])
        self.write("m.onnx", model)
        numpy.savez(self.folder / "x.npz", x=self.x)
        self.fail_with(2, "x.npz: no values for input 'z'", "check", "m.onnx", "m.onnx", "--inputs", "x.npz")

    def test_are_given_or_drawn(self):
        self.write("a.onnx", chain("Relu"))
        self.fail_with(
            64, "--inputs excludes --shape (see 'xflow check --help')", "check", "a.onnx", "a.onnx", "--inputs", "x.npz", "--shape", "x:1,3"
        )

    def test_of_unknown_rank_cannot_be_drawn(self):
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [float_info("x", None)], [float_info("y", None)])
        self.write("m.onnx", model)
        run = self.run_program("check", "m.onnx", "m.onnx")
        self.assertEqual(3, run.returncode, run.stdout)
        self.assertEqual(1, len(run.stderr.splitlines()))


class Strings(CheckTest):
    def model(self, words, end="!"):
        nodes = [
            helper.make_node("Constant", [], ["end"], value_strings=[end]),
            helper.make_node("Gather", ["words", "i"], ["chosen"]),
            helper.make_node("Concat", ["chosen", "x", "end"], ["y"], axis=0),
        ]
        inputs = [tensor_info("i", TensorProto.INT64, [2]), tensor_info("x", TensorProto.STRING, ["n"])]
        weights = [helper.make_tensor("words", TensorProto.STRING, [len(words)], [word.encode() for word in words])]
        return model_of(nodes, inputs, [tensor_info("y", TensorProto.STRING, ["m"])], weights)

    def test_are_compared_exactly(self):
        same = self.model(["a", "b", "c"])
        self.equal(same, same)
        self.assertIn(" is ? instead of ! at [3]", self.different(same, self.model(["a", "b", "c"], end="?")))

    def test_may_be_the_default_of_an_input(self):
        model = self.model(["a", "b", "c"])
        model.graph.input.append(tensor_info("words", TensorProto.STRING, [3]))
        self.equal(model, model)

    def test_are_not_computed_with(self):
        nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT, name="parse")]
        model = model_of(nodes, [tensor_info("x", TensorProto.STRING, [2])], [float_info("y", [2])])
        self.write("m.onnx", model)
        self.fail_with(3, "m.onnx: cannot execute: Cast at parse; --runner runs both models in a runtime", "check", "m.onnx", "m.onnx")


class CannotExecute(CheckTest):
    def test_names_the_model_and_the_node(self):
        custom = helper.make_node("Frobnicate", ["x"], ["y"], domain="somebody", name="f")
        model = model_of([custom], [float_info("x", [2, 3])], [float_info("y", [2, 3])])
        model.opset_import.append(helper.make_opsetid("somebody", 1))
        self.write("a.onnx", relu())
        self.write("b.onnx", model)
        self.fail_with(3, "b.onnx: cannot execute: Frobnicate at f; --runner runs both models in a runtime", "check", "a.onnx", "b.onnx")
        self.fail_with(3, "b.onnx: cannot execute: Frobnicate at f; --runner runs both models in a runtime", "check", "b.onnx", "a.onnx")


if __name__ == "__main__":
    program.main()
