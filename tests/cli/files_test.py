"""Tests of the files that the program reads and writes: files_test.py PROGRAM [unittest arguments]."""

import os
import resource
import subprocess

import numpy
import onnx
import onnxruntime
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of, network


def weights(seed, *shape):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


def products(first=0):
    """Two products with weights of 64 x 64, which become one."""
    initializers = [numpy_helper.from_array(weights(first + k, 64, 64), f"w{k}") for k in range(2)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["h"]), helper.make_node("MatMul", ["h", "w1"], ["y"])]
    return model_of(nodes, [float_info("x", [256, 64])], [float_info("y", [256, 64])], initializers)


def relu_of_weights(seed=0):
    """Nothing to make cheaper: the sum of an input and of weights, and its Relu."""
    nodes = [helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    return model_of(nodes, [float_info("x", [64, 64])], [float_info("y", [64, 64])], [numpy_helper.from_array(weights(seed, 64, 64), "w")])


def scaled_network(factor):
    """A network whose batch normalisations become part of its weights, which so are new."""
    model = network()
    for tensor in model.graph.initializer:
        if tensor.name.startswith("kernel"):
            tensor.CopyFrom(numpy_helper.from_array(factor * numpy_helper.to_array(tensor), tensor.name))
    return model


class FilesTest(ProgramTest):
    def save(self, name, model, data="w.bin"):
        """A model with all its weights in another file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path, save_as_external_data=True, location=data, size_threshold=0)
        return name

    def same(self, model, name):
        """A model with external data holds the tensors of another, in any order."""
        def tensors(of):
            return {t.name: numpy_helper.to_array(t).tobytes() for t in of.graph.initializer}

        self.assertEqual(tensors(model), tensors(onnx.load(self.folder / name)))

    def peak(self, *arguments):
        """Bytes of the largest resident set."""
        run = subprocess.Popen([program.PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, run.returncode)
        return usage.ru_maxrss * 1024

    def names(self, folder="."):
        return sorted(path.name for path in (self.folder / folder).iterdir() if path.name != "cache")


class ExternalData(FilesTest):
    HINT = "; --allow-external admits files in other folders"

    def refused(self, name, message):
        text = f"{name}: an initializer of graph 'g': tensor 'w0' lies in the file {message}"
        self.fail_with(2, text, "optimize", name, "out.onnx")
        self.fail_with(2, text, "show", name)
        self.fail_with(2, text, "check", name, name)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_by_a_link_is_refused(self):
        self.save("m.onnx", products())
        (self.folder / "w.bin").rename(self.folder / "real.bin")
        (self.folder / "w.bin").symlink_to("real.bin")
        self.refused("m.onnx", f"'./w.bin': is a symbolic link, expected a regular file{self.HINT}")

    def test_in_a_fifo_is_refused_at_once(self):
        self.save("m.onnx", products())
        (self.folder / "w.bin").unlink()
        os.mkfifo(self.folder / "w.bin")
        self.refused("m.onnx", "'./w.bin': is a FIFO, expected a regular file")

    def test_in_allowed_folders_is_read(self):
        self.save("blobs/m.onnx", products())
        (self.folder / "blobs" / "w.bin").rename(self.folder / "blobs" / "0123")
        (self.folder / "snapshot").mkdir()
        (self.folder / "snapshot" / "m.onnx").symlink_to("../blobs/m.onnx")
        (self.folder / "snapshot" / "w.bin").symlink_to("../blobs/0123")
        name = "snapshot/m.onnx"
        self.refused(name, f"'snapshot/w.bin': is a symbolic link, expected a regular file{self.HINT}")
        (self.folder / "empty").mkdir()
        text = (
            f"{name}: an initializer of graph 'g': tensor 'w0' lies in the file 'snapshot/w.bin': leads to "
            f"'{self.folder.resolve()}/blobs/0123', which is in no folder of --allow-external"
        )
        self.fail_with(2, text, "show", name, "--allow-external", "empty")
        allow = ["--allow-external", "empty", "--allow-external", "blobs"]
        self.assertIn("external   w.bin\n", self.succeed("show", name, *allow))
        self.optimize(name, *allow)
        self.succeed("check", name, "out.onnx", *allow)
        self.succeed("check", "out.onnx", "out.onnx")

    def test_in_no_folder_that_is_missing(self):
        self.save("m.onnx", products())
        self.fail_with(2, "none: cannot admit external data from this folder: No such file or directory", "show", "m.onnx", "--allow-external", "none")


    def test_stays_where_it_is_beside_the_output(self):
        model = products()
        model.graph.initializer.append(numpy_helper.from_array(weights(9, 1000), "unused"))
        self.save("m.onnx", model)
        before = (self.folder / "w.bin").stat()
        self.assertRegex(self.optimize("m.onnx"), r"(?m)^result ")
        after = (self.folder / "w.bin").stat()
        self.assertEqual((before.st_ino, before.st_mtime_ns, before.st_nlink), (after.st_ino, after.st_mtime_ns, 1))
        self.succeed("check", "m.onnx", "out.onnx")

    def test_is_copied_to_the_folder_of_the_output(self):
        self.save("in/m.onnx", relu_of_weights())
        (self.folder / "out").mkdir()
        text = self.succeed("simplify", "in/m.onnx", "out/m.onnx")
        self.assertIn("the original model", text)
        self.assertEqual(["m.onnx", "w.bin"], self.names("out"))
        self.assertEqual((self.folder / "in/m.onnx").read_bytes(), (self.folder / "out/m.onnx").read_bytes())
        onnx.checker.check_model(str(self.folder / "out/m.onnx"))

    def test_goes_to_one_file_on_request(self):
        model = relu_of_weights()
        small = numpy_helper.from_array(weights(5, 4), "small")
        typed = helper.make_tensor("typed", onnx.TensorProto.FLOAT, [512], weights(6, 512))
        constant = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(weights(7, 64), "v"))
        large = helper.make_node("Constant", [], ["l"], value=numpy_helper.from_array(weights(8, 512), "v"))
        model.graph.initializer.extend([small, typed])
        model.graph.node.insert(0, constant)
        model.graph.node.insert(0, large)
        for k, name in enumerate(["small", "typed", "k", "l"]):
            model.graph.node.append(helper.make_node("Neg", [name], [f"n{k}"]))
            model.graph.output.append(float_info(f"n{k}", None))
        self.write("m.onnx", model)
        text = self.succeed("optimize", "m.onnx", "out.onnx", "--no-gate", "--budget", "1states", "--save-as-external-data", "all.bin", "--costs", "")
        self.assertRegex(text, r"(?m)^result ")
        self.assertEqual(["all.bin", "m.onnx", "out.onnx"], self.names())
        bare = onnx.load(self.folder / "out.onnx", load_external_data=False)
        outside = [t.name for t in bare.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
        self.assertIn("w", outside)
        self.assertIn("typed", outside)
        self.assertNotIn("small", outside)
        self.same(model, "out.onnx")
        self.succeed("check", "m.onnx", "out.onnx")
        session = onnxruntime.InferenceSession(str(self.folder / "out.onnx"), providers=["CPUExecutionProvider"])
        x = weights(3, 64, 64)
        expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        for one, other in zip(expected, session.run(None, {"x": x})):
            numpy.testing.assert_array_equal(one, other)

    def test_goes_to_one_file_again(self):
        arguments = ["out.onnx", "--save-as-external-data", "all.bin"]
        self.write("a.onnx", relu_of_weights(1))
        self.write("b.onnx", relu_of_weights(2))
        self.succeed("simplify", "a.onnx", *arguments)
        first = (self.folder / "all.bin").stat().st_ino
        self.succeed("simplify", "a.onnx", *arguments)
        self.assertEqual(first, (self.folder / "all.bin").stat().st_ino, "the same content is the same file")
        self.succeed("simplify", "b.onnx", *arguments)
        self.assertEqual(["a.onnx", "all.bin", "b.onnx", "out.onnx"], self.names())
        self.same(relu_of_weights(2), "out.onnx")
        self.succeed("simplify", "out.onnx", *arguments)
        self.same(relu_of_weights(2), "out.onnx")
        text = "out.onnx: cannot write external data to 'all.bin': a file with that name exists already"
        (self.folder / "copy.onnx").write_bytes((self.folder / "out.onnx").read_bytes())
        self.fail_with(3, text, "simplify", "a.onnx", *arguments)
        self.same(relu_of_weights(2), "out.onnx")
        self.same(relu_of_weights(2), "copy.onnx")
        (self.folder / "mine.bin").write_bytes(b"mine")
        self.fail_with(3, text.replace("all.bin", "mine.bin"), "simplify", "a.onnx", "out.onnx", "--save-as-external-data", "mine.bin")

    def test_has_a_name_that_can_be_used(self):
        self.write("m.onnx", relu_of_weights())
        wrong = "expected the name of a file, relative to the folder of the model and without '..'"
        for name, why in [("../w", wrong), ("/w", wrong), ("sub/", wrong), ("out.onnx", "it is the path of the output model"), ("m.onnx", "it is the path of the input model")]:
            self.fail_with(64, f"cannot write external data to '{name}': {why}", "simplify", "m.onnx", "out.onnx", "--save-as-external-data", name)
        run = self.run_program("simplify", "m.onnx", "-", "--save-as-external-data", "w")
        self.assertEqual((64, "xflow: cannot write external data to 'w': the model does not go to a file (see 'xflow simplify --help')\n"), (run.returncode, run.stderr))

    def test_of_the_former_result_goes(self):
        """Weights that are new lie in a file named after the model and their content."""
        for seed in [1, 2]:
            self.save(f"m{seed}.onnx", scaled_network(seed), f"w{seed}.bin")
        sources = ["m1.onnx", "m2.onnx", "out.onnx", "w1.bin", "w2.bin"]
        data = []
        for seed in [1, 2, 2]:
            self.assertRegex(self.optimize(f"m{seed}.onnx", "--shape", "x:1,3,32,32"), r"(?m)^result +a cheaper model$")
            new = [name for name in self.names() if name not in sources]
            self.assertEqual(1, len(new), new)
            self.assertRegex(new[0], r"^out\.onnx\.[0-9a-f]{16}\.data$")
            self.succeed("check", f"m{seed}.onnx", "out.onnx")
            data.append(new[0])
        self.assertNotEqual(data[0], data[1])
        self.assertEqual(data[1], data[2])
        (self.folder / "copy").write_bytes((self.folder / "out.onnx").read_bytes())
        self.optimize("m1.onnx", "--shape", "x:1,3,32,32")
        self.succeed("check", "m2.onnx", "./copy")

    def test_takes_no_memory_that_is_not_computed_with(self):
        """Weights of 2 GiB, of a sparse file: the program's largest resident set stays far below them."""
        size = 1 << 31
        tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[size // 4], data_location=onnx.TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="w.bin")
        nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Gather", ["w", "i"], ["g"])]
        model = model_of(nodes, [float_info("x", [4]), helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1])], [float_info("y", [4]), float_info("g", [1])], [tensor])
        self.write("m.onnx", model)
        with open(self.folder / "w.bin", "wb") as file:
            file.truncate(size)
        (self.folder / "out").mkdir()
        small = self.peak("simplify", self.write("small.onnx", relu_of_weights()), "small-out.onnx")
        for arguments in [["out.onnx"], ["out/out.onnx"], ["out/all.onnx", "--save-as-external-data", "all.bin"]]:
            peak = self.peak("simplify", "m.onnx", *arguments)
            self.assertLess(peak - small, 256 << 20, arguments)
            self.assertEqual(size, sum(t.dims[0] * 4 for t in onnx.load(self.folder / arguments[0], load_external_data=False).graph.initializer))
        self.assertEqual(size, (self.folder / "out/all.bin").stat().st_size)


class Outputs(FilesTest):
    def each(self, message, *arguments, status=3):
        """Both subcommands refuse before they look at the model's nodes."""
        self.fail_with(status, message, "optimize", *arguments, "--budget", "1m")
        self.fail_with(status, message, "simplify", *arguments)

    def test_that_cannot_be_written_are_refused_before_the_work(self):
        self.write("m.onnx", relu_of_weights())
        self.write("old.onnx", "old")
        (self.folder / "old.onnx").chmod(0o444)
        (self.folder / "dangling.onnx").symlink_to("none.onnx")
        (self.folder / "folder.onnx").mkdir()
        for name, why in [
            ("old.onnx", "the file is read-only"),
            ("dangling.onnx", "is a symbolic link to 'none.onnx', which does not exist"),
            ("folder.onnx", "Is a directory"),
            ("none/out.onnx", "No such file or directory"),
        ]:
            self.each(f"{name}: cannot write: {why}", "m.onnx", name)
            self.each(f"{name}: cannot write: {why}", "m.onnx", "out.onnx", "--report", name)

    def test_by_a_link_replace_what_it_leads_to(self):
        self.write("m.onnx", relu_of_weights())
        (self.folder / "sub").mkdir()
        self.write("sub/real.onnx", "old")
        (self.folder / "out.onnx").symlink_to("sub/real.onnx")
        self.succeed("simplify", "m.onnx", "out.onnx")
        self.assertEqual("sub/real.onnx", os.readlink(self.folder / "out.onnx"))
        self.same(relu_of_weights(), "sub/real.onnx")
        self.assertEqual(["real.onnx"], self.names("sub"))

    def test_are_not_external_data_of_the_input(self):
        self.save("m.onnx", relu_of_weights())
        (self.folder / "link.onnx").symlink_to("w.bin")
        for name in ["w.bin", "./w.bin", "link.onnx"]:
            self.each(f"{name}: is external data of the model that is read", "m.onnx", name, status=64)

    def test_are_not_overwritten_by_the_report(self):
        self.save("m.onnx", relu_of_weights())
        (self.folder / "link.json").symlink_to("m.onnx")
        (self.folder / "here").symlink_to(".")
        for report, what in [
            ("m.onnx", "the model that is read"),
            ("link.json", "the model that is read"),
            ("./here/m.onnx", "the model that is read"),
            ("out.onnx", "the model that is written"),
            ("here/out.onnx", "the model that is written"),
            ("w.bin", "external data of the model that is read"),
        ]:
            self.each(f"{report}: the report would overwrite {what}", "m.onnx", "out.onnx", "--report", report, status=64)
        self.each("all.bin: the report would overwrite the external data that is written", "m.onnx", "out.onnx", "--save-as-external-data", "all.bin", "--report", "all.bin", status=64)
        self.each("/dev/stdout: the report would overwrite the model that is written", "m.onnx", "-", "--report", "/dev/stdout", status=64)


class Streams(FilesTest):
    def run_bytes(self, *arguments, data=b""):
        return subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, input=data, capture_output=True)

    def test_carry_the_model_alone(self):
        model = relu_of_weights()
        self.write("m.onnx", model)
        for command in [["simplify"], ["optimize", "--no-gate", "--budget", "1states", "--costs", ""]]:
            for output in ["-", "/dev/stdout"]:
                run = self.run_bytes(*command, "m.onnx", output)
                self.assertEqual(0, run.returncode, run.stderr)
                self.assertEqual(model.SerializeToString(), run.stdout)
                self.assertRegex(run.stderr.decode(), r"(?m)^result +the original model")
        with open(self.folder / "redirected.onnx", "wb") as file:
            run = subprocess.run([program.PROGRAM, "simplify", "m.onnx", "/dev/stdout"], cwd=self.folder, stdout=file, stderr=subprocess.PIPE)
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual(model.SerializeToString(), (self.folder / "redirected.onnx").read_bytes())
        self.assertEqual(["m.onnx", "redirected.onnx"], self.names())

    def test_carry_the_model_to_read(self):
        model = relu_of_weights()
        self.write("m.onnx", model)
        run = self.run_bytes("simplify", "-", "-", data=model.SerializeToString())
        self.assertEqual((0, model.SerializeToString()), (run.returncode, run.stdout), run.stderr)
        run = self.run_bytes("check", "-", "m.onnx", data=model.SerializeToString())
        self.assertEqual(0, run.returncode, run.stderr)
        run = self.run_bytes("show", "-", data=model.SerializeToString())
        self.assertEqual(self.succeed("show", "m.onnx"), run.stdout.decode())
        self.assertEqual(b"xflow: standard input: the file is empty, expected an ONNX model\n", self.run_bytes("show", "-").stderr)
        self.save("e.onnx", model)
        run = self.run_bytes("show", "-", data=(self.folder / "e.onnx").read_bytes())
        text = "xflow: standard input: an initializer of graph 'g': tensor 'w' lies in the file 'w.bin', and no folder was given with the model's bytes\n"
        self.assertEqual((2, text), (run.returncode, run.stderr.decode()))

    def test_that_are_full_are_an_error(self):
        self.write("m.onnx", relu_of_weights())
        for arguments in [["show", "m.onnx"], ["check", "m.onnx", "m.onnx"], ["--help"], ["version"], ["simplify", "m.onnx", "out.onnx"], ["simplify", "m.onnx", "-"]]:
            with open("/dev/full", "wb") as full:
                run = subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            text = "xflow: standard output: cannot write: No space left on device\n"
            self.assertEqual((3, text), (run.returncode, run.stderr), arguments)


class Terminals(FilesTest):
    NAME = "n\x1b[31m\r\n\x07\u202e\u009bname"
    SHOWN = "n\\x1b[31m\\x0d\\n\\x07\\u202e\\u009bname"

    def clean(self, data):
        text = data.decode()  # strictly
        for c in text:
            self.assertTrue(c == "\n" or c.isprintable(), repr(text))

    def test_see_no_control_characters_of_a_model(self):
        """In names of everything, also after bytes that are not UTF-8 took the place of a letter of them."""
        name = self.NAME
        nodes = [
            helper.make_node("Relu", [name + "x"], [name + "a"], name=name),
            helper.make_node(name + "Op", [name + "a"], [name + "b"], name=name + "custom", domain=name + "domain"),
            helper.make_node("MatMul", [name + "b", name + "w"], [name + "y"], name=name + "product"),
        ]
        weight = numpy_helper.from_array(weights(1, 4, 4), name + "w")
        model = model_of(nodes, [float_info(name + "x", [name + "rows", 4])], [float_info(name + "y", [name + "rows", 4])], [weight])
        model.graph.name = name + "graph"
        model.producer_name = name + "producer"
        model.opset_import.append(helper.make_opsetid(name + "domain", 1))
        helper.set_model_props(model, {name + "key": name + "value"})
        good = model.SerializeToString()
        bad = good.replace(b"name", b"na\xffe")
        missing = good.replace((name + "a").encode(), (name + "c").encode(), 1)
        seen = b""
        for data in [good, bad, missing, good[:-40]]:
            self.write("m.onnx", data)
            for arguments in [
                ["show", "m.onnx"],
                ["check", "m.onnx", "m.onnx"],
                ["simplify", "m.onnx", "out.onnx"],
                ["optimize", "m.onnx", "out.onnx", "--budget", "10states", "--costs", "", "--no-gate", "--report", "r.json"],
                ["optimize", "m.onnx", "out.onnx", "--shape", "z\x1b:1,2"],
                ["show", "m\x1b.onnx"],
                ["\x1b"],
                ["show", "--\x1b"],
            ]:
                run = subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True)
                self.clean(run.stdout)
                self.clean(run.stderr)
                seen += run.stdout + run.stderr
        self.assertIn(self.SHOWN.encode(), seen)
        self.assertIn(b"na\\xffe", seen)



class Wording(FilesTest):
    def test_of_the_version(self):
        self.assertEqual(self.succeed("version"), self.succeed("--version"))
        self.assertRegex(self.succeed("--version"), r"^xflow \d+\.\d+\.\d+\n$")

    def test_of_rules_and_profiles_does_not_reach_the_terminal(self):
        name = "evil\x1b[2J.rules"
        self.write(name, "rule twice\n  source\n    y = neg(neg(x))\n  target\n    y = x\n")
        for command in [["rules", "list", name], ["verify", name], ["rules", "stats", name]]:
            run = self.run_program(*command)
            self.assertEqual(0, run.returncode, run.stderr)
            self.assertNotIn("\x1b", run.stdout + run.stderr)
        self.assertIn("evil\\x1b[2J.rules", self.run_program("rules", "list", name).stdout)

    def test_of_usage_errors_names_the_subcommand(self):
        self.fail_with(64, "IN is required (see 'xflow optimize --help')", "optimize")
        self.fail_with(64, "The following argument was not expected: --fast (see 'xflow show --help')", "show", "m.onnx", "--fast")
        self.fail_with(64, "A subcommand is required (see 'xflow rules --help')", "rules")
        self.fail_with(64, "A subcommand is required (see 'xflow --help')")

    def test_of_sizes_that_make_a_matrix_tiny(self):
        nodes = [helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])]
        infos = [float_info(name, ["n", "n"]) for name in "ab"]
        self.write("m.onnx", model_of(nodes, infos, [float_info("y", ["n", "n"])]))
        arguments = ["optimize", "m.onnx", "out.onnx", "--no-gate", "--budget", "1states", "--costs", ""]
        run = self.run_program(*arguments)
        text = "the assumed sizes make {} a matrix of 1 x 1, so its cost is not typical; give sizes with --shape"
        self.assertEqual((0, "".join(f"xflow: warning: {text.format(name)}\n" for name in "ab")), (run.returncode, run.stderr))
        self.succeed(*arguments, "--shape", "a:64,64")
        self.succeed(*arguments, "--shape", "a:1,1")

    def test_of_too_little_memory(self):
        limit = 64 << 20
        run = subprocess.run(
            [program.PROGRAM, "show", "-"],
            input=bytes(2 * limit),
            cwd=self.folder,
            capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )
        self.assertEqual((3, b"", b"xflow: out of memory\n"), (run.returncode, run.stdout, run.stderr))


if __name__ == "__main__":
    program.main()
