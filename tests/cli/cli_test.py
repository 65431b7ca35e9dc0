"""Tests of the program's command line: cli_test.py PROGRAM [unittest arguments]."""

import itertools
import json
import pathlib
import re
import resource
import subprocess

import numpy
import onnx
import program
from onnx import TensorProto, helper
from program import ROOFLINE, ProgramTest, float_info, model_of, network, relu, transposes


class Help(ProgramTest):
    def commands(self, kind):
        """(name, text) of each line of the list of subcommands."""
        listed = pathlib.Path(__file__).resolve().parents[2] / "src/cli/commands.def"
        lines = re.findall(rf'^{kind}\((\w+), +"(.*)"\)$', listed.read_text(), re.MULTILINE)
        return [(name.replace("_", "-"), text) for name, text in lines]

    def test_lists_every_subcommand_in_order_with_what_it_does(self):
        for kind, group in [("XFLOW_COMMAND", []), ("XFLOW_RULES_COMMAND", ["rules"])]:
            listed = self.succeed(*group, "--help").split("Subcommands:\n")[1].split("\n\n")[0]
            found = re.findall(r"^  ([\w-]+) +(.*)$", listed, re.MULTILINE)
            self.assertGreater(len(found), 5)
            self.assertEqual(found, self.commands(kind))

    def test_of_every_subcommand_has_examples(self):
        names = [[name] for name, _ in self.commands("XFLOW_COMMAND") if name != "rules"]
        names += [["rules", name] for name, _ in self.commands("XFLOW_RULES_COMMAND")]
        for name in names:
            self.assertIn(f"Examples:\n  xflow {' '.join(name)}", self.succeed(*name, "--help"))

    def test_of_every_subcommand_has_100_columns(self):
        names = [[name] for name, _ in self.commands("XFLOW_COMMAND")]
        names += [["rules", name] for name, _ in self.commands("XFLOW_RULES_COMMAND")]
        for name in [[], *names]:
            long = [line for line in self.succeed(*name, "--help").splitlines() if len(line) > 100]
            self.assertEqual([], long, name)

    def test_of_every_subcommand_has_a_line_for_each_option(self):
        names = [[name] for name, _ in self.commands("XFLOW_COMMAND")]
        names += [["rules", name] for name, _ in self.commands("XFLOW_RULES_COMMAND")]
        names += [["profile", name] for name in ["record", "show", "check", "merge", "export", "import", "prune"]]
        for name in names:
            more = [line for line in self.succeed(*name, "--help").splitlines() if line.startswith(20 * " ")]
            self.assertEqual([], more, name)

    def test_of_subcommands_with_many_options_has_groups(self):
        for name, groups in [
            ("simplify", ["Input", "Clean-ups", "Output"]),
            ("check", ["Input", "Comparison", "Output"]),
            ("verify", ["Decisions", "One rule", "Two models"]),
            ("generate", ["Graphs", "Output", "Resources"]),
        ]:
            text = self.succeed(name, "--help").split("Options:\n")[1].split("\nExamples:")[0]
            found = dict(re.findall(r"^([A-Z][\w -]+):\n((?:  .*\n)+)", text, re.MULTILINE))
            self.assertEqual(groups, list(found), name)
            listed = [line for lines in found.values() for line in lines.splitlines()]
            self.assertEqual(len(listed), len(set(line.split()[0] for line in listed)), name)

    def test_of_optimize_has_a_line_for_each_option_in_groups(self):
        text = self.succeed("optimize", "--help").split("Options:\n")[1].split("\nWithout --device")[0]
        groups = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", text, re.MULTILINE))
        self.assertEqual(["Input", "Search", "Device", "Validation", "Output"], list(groups))
        for group, lines in groups.items():
            for line in lines.splitlines():
                self.assertRegex(line, r"^  --[a-z0-9-]+( [A-Z]+(=\S+)?( \.\.\.)?)? +\S", group)

    def test_says_the_exit_codes(self):
        self.assertIn("Exit codes: 0 done, 1 negative answer", self.succeed("--help"))


class WrongCommandLines(ProgramTest):
    def test_end_with_64_and_one_line(self):
        self.write("m.onnx", relu())
        hint = "(see 'xflow optimize --help')"
        optimize = ["optimize", "m.onnx", "out.onnx"]
        self.fail_with(64, "A subcommand is required (see 'xflow --help')")
        self.fail_with(64, "no command 'frobnicate' (see 'xflow --help')", "frobnicate")
        self.fail_with(64, f"IN is required {hint}", "optimize")
        self.fail_with(64, f"The following argument was not expected: --fast {hint}", *optimize, "--fast")
        self.fail_with(64, f"--threads: Value 0 not in range 1 to 1024 {hint}", *optimize, "--threads", "0")
        self.fail_with(64, f"--search-threads: Value 0 not in range 1 to 1024 {hint}", *optimize, "--search-threads", "0")
        caches = "--caches: hot not in {auto,warm,4MiB,16MiB,64MiB}"
        self.fail_with(64, f"{caches} {hint}", *optimize, "--caches", "hot")
        form = "is not of the form NAME:1,3,48,192"
        for shape in ["x", ":1", "x:1,", "x:1,a", "x:0,3", "x:-1"]:
            self.fail_with(64, f"shape '{shape}' {form}", *optimize, "--shape", shape)
            self.fail_with(64, f"shape '{shape}' {form}", "check", "m.onnx", "m.onnx", "--shape", shape)
        self.fail_with(64, "no input 'z'; the inputs are 'x'", *optimize, "--shape", "z:1,2")
        self.fail_with(64, "shape [1] of input 'x' has 1 dimensions, the model's has 2", *optimize, "--shape", "x:1")
        self.fail_with(64, "dimension 0 of input 'x' is 2 in the model, 4 was given", *optimize, "--shape", "x:4,3")
        for budget in ["", "30", "s", "30h", "-3s", "1e", "30s,x", "99999999999999999999states"]:
            part = budget.split(",")[-1]
            self.fail_with(64, f"budget '{part}' is not of the form 30s, 500ms, 2m or 5000states", *optimize, "--budget", budget)
        simplify = ["simplify", "m.onnx", "out.onnx"]
        for growth in ["much", "nan", "inf", "-1", "5%%", "5%,", "64kib", "5%,64KiB,much"]:
            for command in [optimize, simplify]:
                self.fail_with(64, f"growth '{growth}' is not of the form 5%, 0.05, 64KiB or 5%,64KiB", *command, f"--max-growth={growth}")
        for seed in ["abc", "1.5", "-1", "7x", "18446744073709551616", "99999999999999999999999"]:
            for command in [["check", "m.onnx", "m.onnx"], ["generate", "--preset", "transformer", "--out", "rules"]]:
                message = f"--seed: '{seed}' is not a whole number from 0 to 18446744073709551615 (see 'xflow {command[0]} --help')"
                self.fail_with(64, message, *command, f"--seed={seed}")
        self.fail_with(64, "there is no rule 'no-such-rule' to skip", *optimize, "--skip", "no-such-rule")
        self.fail_with(64, "no shipped rule 'no-such-rule'", "show", "no-such-rule")


class ReportsAsJson(ProgramTest):
    """Terminals obey some characters, and names of a model are in reports."""

    UNSAFE = "".join(map(chr, [0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069]))

    def test_escape_characters_that_terminals_obey(self):
        name = f"x{self.UNSAFE}\u00e4"
        nodes = [helper.make_node("Relu", [name], ["a"]), helper.make_node("Foo", ["a"], ["y"], domain=f"com.{name}")]
        model = model_of(nodes, [float_info(name, [2, 3])], [float_info("y", [2, 3])])
        model.opset_import.append(helper.make_opsetid(f"com.{name}", 1))
        self.write("m.onnx", model)
        for command in ["optimize", "simplify"]:
            more = ["--budget", "10states", "--no-gate"] if command == "optimize" else []
            for report in ["report.json", "/dev/stdout"]:
                with self.subTest(command, report=report):
                    text = self.succeed(command, "m.onnx", "out.onnx", "--report", report, *more)
                    if report != "/dev/stdout":
                        text = (self.folder / report).read_text()
                    self.assertEqual("", "".join(c for c in self.UNSAFE if c in text))
                    json_text = text[text.index("{\n") : text.rindex("}") + 1]
                    self.assertIn(name, "".join(strings_of(json.loads(json_text))))
                    self.assertIn("\u00e4", json_text)


def strings_of(value):
    """All strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, of_key in value.items():
            yield from strings_of([key, of_key])
    elif isinstance(value, list):
        for one in value:
            yield from strings_of(one)


class UnreadableModels(ProgramTest):
    def each(self, name, message):
        self.write("out.onnx", "what was there")
        self.write("m.onnx", relu())
        self.fail_with(2, f"{name}: {message}", "optimize", name, "out.onnx")
        self.fail_with(2, f"{name}: {message}", "optimize", name, "new.onnx")
        self.fail_with(2, f"{name}: {message}", "show", f"./{name}"[2:])
        self.fail_with(2, f"{name}: {message}", "check", name, "m.onnx")
        self.fail_with(2, f"{name}: {message}", "check", "m.onnx", name)

    def test_that_are_missing(self):
        self.each("missing.onnx", "cannot open: No such file or directory")

    def test_that_are_empty(self):
        self.each(self.write("empty.onnx", ""), "the file is empty, expected an ONNX model")

    def test_that_are_no_protobuf(self):
        self.each(
            self.write("text.onnx", "hello"), "not an ONNX model: at byte 2: the end of a group that was not opened"
        )

    def test_that_are_truncated(self):
        whole = transposes().SerializeToString()
        run = self.run_program("optimize", self.write("cut.onnx", whole[:60]), "out.onnx")
        self.assertEqual(2, run.returncode)
        self.assertRegex(run.stderr, r"\Axflow: cut\.onnx: the file is truncated: the graph at byte \d+ is a field of \d+ bytes where \d+ are left\n\Z")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_with_a_value_that_nobody_makes(self):
        model = model_of([helper.make_node("Relu", ["z"], ["y"], name="r")], [float_info("x", [2])], [float_info("y", [2])])
        run = self.run_program("optimize", self.write("m.onnx", model), "out.onnx")
        self.assertEqual(2, run.returncode)
        self.assertRegex(run.stderr, r"\Axflow: m\.onnx: [^\n]*'z'[^\n]*\n\Z")
        self.assertFalse((self.folder / "out.onnx").exists())


class Requests(ProgramTest):
    """Valid ones that cannot be carried out."""

    def test_for_an_unknown_device_end_with_3(self):
        self.write("m.onnx", relu())
        self.fail_with(3, "no device 'abacus'; there are: cpu, cuda:N, profile:FILE, runner", "optimize", "m.onnx", "out.onnx", "--device", "abacus")

    def test_to_write_where_nothing_can_be_written_end_with_3(self):
        self.write("m.onnx", relu())
        self.fail_with(
            3, "none/out.onnx: cannot write: No such file or directory", "optimize", "m.onnx", "none/out.onnx", "--budget", "1states"
        )

    def test_to_write_beyond_the_limit_of_file_sizes_end_with_3_and_leave_nothing(self):
        self.write("m.onnx", transposes())
        before = sorted(path.name for path in self.folder.iterdir())
        run = subprocess.run(
            [program.PROGRAM, "optimize", "m.onnx", "out.onnx", "--costs", ""],
            cwd=self.folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
            restore_signals=True,
        )
        self.assertEqual((3, "", "xflow: out.onnx: cannot write: File too large\n"), (run.returncode, run.stdout, run.stderr))
        self.assertEqual(before, sorted(path.name for path in self.folder.iterdir()))

    def test_to_execute_unknown_operators_of_bodies_end_with_3(self):
        branch = helper.make_graph([helper.make_node("RandomNormalLike", ["x"], ["r"], name="noise")], "b", [], [float_info("r", [2])])
        condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
        node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch)
        self.write("if.onnx", model_of([node], [condition, float_info("x", [2])], [float_info("y", [2])]))
        message = "if.onnx: node 'noise' (RandomNormalLike): cannot execute: no operator for RandomNormalLike (with c: bool[], x: float32[2], seed 1)"
        self.fail_with(3, f"{message}; --runner runs both models in a runtime", "check", "if.onnx", "if.onnx")


class RuleFiles(ProgramTest):
    def test_with_a_mistake_are_unreadable_with_line_and_column(self):
        self.write("m.onnx", relu())
        text = "# An operator that does not exist.\nrule a\n  source\n    y = frobnicate(x)\n  target\n    y = x\n"
        self.write("bad.rules", text)
        message = "bad.rules:4:9: unknown operator 'frobnicate'"
        self.fail_with(2, message, "optimize", "m.onnx", "out.onnx", "--rules", "bad.rules")
        self.fail_with(2, message, "verify", "bad.rules")
        self.fail_with(2, message, "show", "bad.rules")

    def test_that_are_missing_are_unreadable(self):
        self.write("m.onnx", relu())
        message = "missing.rules: cannot open: No such file or directory"
        self.fail_with(2, message, "optimize", "m.onnx", "out.onnx", "--rules", "missing.rules")
        self.fail_with(2, message, "verify", "missing.rules")
        self.fail_with(2, message, "show", "missing.rules")

    WRONG = "# Wrong.\nrule sum-is-difference\n  source\n    y = relu(x) + relu(z)\n  target\n    y = relu(x) - relu(z)\n"

    def test_with_a_refuted_rule_are_not_used(self):
        self.write("m.onnx", relu())
        self.write("wrong.rules", self.WRONG)
        run = self.run_program("optimize", "m.onnx", "out.onnx", "--rules", "wrong.rules")
        self.assertEqual((1, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: [^\n]*sum-is-difference[^\n]*\n\Z")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_with_a_refuted_rule_are_a_negative_answer_with_a_counterexample(self):
        self.write("wrong.rules", self.WRONG)
        run = self.run_program("verify", "wrong.rules")
        self.assertEqual((1, ""), (run.returncode, run.stderr))
        self.assertRegex(run.stdout, r"\A  sum-is-difference +refuted [^\n]*\n    replay: [^\n]*\n0 of 1 rules proved, 1 refuted\n\Z")

    def test_with_a_proved_rule_are_a_positive_answer(self):
        self.write("right.rules", "# x + z = z + x\nrule swap\n  source\n    y = relu(x) + z\n  target\n    y = z + relu(x)\n")
        self.assertRegex(self.succeed("verify", "right.rules"), r"\A  swap +proved [^\n]*\n1 of 1 rules proved\n\Z")

    RIGHT = "# x + z = z + x\nrule swap\n  source\n    y = relu(x) + z\n  target\n    y = z + relu(x)\n"

    def test_that_are_shipped_have_records_that_are_accepted(self):
        self.assertRegex(self.succeed("rules", "check", "--jobs", "2"), r"\A(\d\d+) of \1 proofs accepted\n\Z")

    def test_have_records_that_are_written_on_request(self):
        self.write("right.rules", self.RIGHT)
        self.fail_with(2, "right.proofs: cannot open: No such file or directory", "rules", "check", "right.rules")
        self.assertEqual("every rule is proved; the records are written\n", self.succeed("rules", "renew", "."))
        self.assertEqual("1 of 1 proofs accepted\n", self.succeed("rules", "check", "right.rules"))

    def test_that_are_wrong_get_no_record(self):
        self.write("wrong.rules", self.WRONG)
        run = self.run_program("rules", "renew", ".")
        self.assertEqual((1, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: \.: every rule must be proved, but [^\n]*rule sum-is-difference is refuted[^\n]*\n\Z")
        self.assertFalse((self.folder / "wrong.proofs").exists())

    def test_with_the_record_of_another_rule_are_decided_themselves(self):
        self.write("m.onnx", relu())
        self.write("a.rules", self.RIGHT)
        self.succeed("rules", "renew", ".")
        self.write("a.rules", self.WRONG.replace("sum-is-difference", "swap"))
        run = self.run_program("rules", "check", "a.rules")
        self.assertEqual(1, run.returncode)
        self.assertEqual("a.rules:2:6: rule swap: the record is stale: it is of another text of the rule\n0 of 1 proofs accepted\n", run.stdout)
        run = self.run_program("optimize", "m.onnx", "out.onnx", "--rules", "a.rules")
        self.assertEqual(1, run.returncode)
        self.assertFalse((self.folder / "out.onnx").exists())


class Optimizing(ProgramTest):
    def test_keeps_the_bytes_of_a_model_without_improvement(self):
        source = relu().SerializeToString() + b"\xc2\x3e\x03abc"  # an unknown field at the end
        self.write("m.onnx", source)
        self.assertIn("the original model", self.optimize("m.onnx"))
        self.assertEqual(source, (self.folder / "out.onnx").read_bytes())

    def test_writes_a_model_with_the_same_interface(self):
        source = transposes(["batch", 512])
        self.write("m.onnx", source)
        text = self.optimize("m.onnx", "--shape", "x:256,512")
        self.assertRegex(text, r"(?m)^result +a cheaper model$")
        result = onnx.load(self.folder / "out.onnx")
        onnx.checker.check_model(result, full_check=True)
        self.assertEqual(["Relu"], [node.op_type for node in result.graph.node])
        for field in ["ir_version", "opset_import", "metadata_props"]:
            self.assertEqual(getattr(source, field), getattr(result, field))
        self.assertEqual(source.graph.input, result.graph.input)
        self.assertEqual(source.graph.output, result.graph.output)

    def test_says_which_sizes_it_assumed(self):
        self.write("m.onnx", transposes(["batch", "n"]))
        self.assertRegex(self.optimize("m.onnx"), r"(?m)^sizes +x: \[1, 128\] assumed for costs and runs; give others with --shape$")
        self.assertNotIn("assumed", self.optimize("m.onnx", "--shape", "x:4,8"))

    def test_assumes_sizes_that_the_model_takes(self):
        kernel = onnx.numpy_helper.from_array(numpy.ones((1, 1, 400), numpy.float32), "k")
        nodes = [helper.make_node("Conv", ["x", "k"], ["c"], strides=[320])] + [helper.make_node("Relu", [a], [b]) for a, b in ["cd", "dy"]]
        self.write("m.onnx", model_of(nodes, [float_info("x", ["n", 1, "samples"])], [float_info("y", None)], [kernel]))
        self.assertRegex(
            self.optimize("m.onnx"),
            r"(?m)^sizes +x: \[1, 1, 512\] assumed for costs and runs, because the model does not accept 128 \(conv: expected .*\); give others with --shape$",
        )
        message = r"\Axflow: the model does not take x: \[1, 1, 100\]: conv: expected [^\n]*\n\Z"
        run = self.run_program("optimize", "m.onnx", "new.onnx", "--shape", "x:1,1,100")
        self.assertEqual(64, run.returncode)
        self.assertRegex(run.stderr, message)
        self.assertFalse((self.folder / "new.onnx").exists())

    def test_computes_no_constant_whose_size_is_not_known(self):
        nodes = [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("ConstantOfShape", ["s"], ["ones"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [1.5])),
            helper.make_node("Mul", ["x", "ones"], ["a"]),
            helper.make_node("Mul", ["a", "k"], ["b"]),
            helper.make_node("Mul", ["b", "k"], ["y"]),
        ]
        k = onnx.numpy_helper.from_array(numpy.arange(4, dtype=numpy.float32), "k")
        self.write("m.onnx", model_of(nodes, [float_info("x", ["n", 4])], [float_info("y", ["n", 4])], [k]))
        self.optimize("m.onnx")
        self.succeed("check", "m.onnx", "out.onnx")

    def test_says_at_which_sizes_rewritten_parts_were_run(self):
        self.write("m.onnx", transposes(["batch", "n"]))
        self.assertRegex(self.optimize("m.onnx"), r"(?m)^checked .*\n +at x: \[1, 128\]\n +at x: \[2, 64\]$")

    def test_says_where_a_rule_was_applied(self):
        self.write("m.onnx", network())
        self.optimize("m.onnx", "--shape", "x:1,3,32,32", "--report", "report.json")
        steps = json.loads((self.folder / "report.json").read_text())["steps"]
        self.assertRegex(steps[0]["where"], r"\Anode .* \([A-Za-z]+\)\Z")

    def test_folds_constants_of_half_precision(self):
        weight = onnx.numpy_helper.from_array(numpy.array([1.1, 1.3, 1.7], numpy.float16), "k")
        names = ["x", *(f"a{k}" for k in range(7)), "y"]  # more than one kernel
        nodes = [helper.make_node("Mul", [before, "k"], [after]) for before, after in itertools.pairwise(names)]
        infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT16, [64, 3]) for name in "xy"]
        self.write("m.onnx", model_of(nodes, infos[:1], infos[1:], [weight]))
        self.write("npu.xprof", ROOFLINE + "roofline peak float16 1e+13\n")
        self.assertRegex(self.optimize("m.onnx", "--device", "profile:npu.xprof"), r"(?m)^result +a cheaper model$")
        self.succeed("check", "m.onnx", "out.onnx")

    def test_skips_the_named_rules(self):
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", "--report", "report.json")
        steps = json.loads((self.folder / "report.json").read_text())["steps"]
        self.assertNotEqual([], steps)
        self.optimize("m.onnx", "--skip", steps[0]["rule"], "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertNotIn(steps[0]["rule"], [count["rule"] for count in report["rules"]])

    def test_replaces_a_file_that_is_there(self):
        self.write("m.onnx", transposes())
        self.write("out.onnx", "what was there")
        self.optimize("m.onnx")
        onnx.checker.check_model(str(self.folder / "out.onnx"))
        self.assertEqual(["cache", "m.onnx", "out.onnx"], sorted(p.name for p in self.folder.iterdir()))

    def test_can_write_over_its_input(self):
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", output="m.onnx")
        self.assertEqual(1, len(onnx.load(self.folder / "m.onnx").graph.node))

    def test_gives_the_same_bytes_again(self):
        self.write("m.onnx", network())
        outputs = []
        # The costs are measured in the first run and read in the others.
        for name in ["first.onnx", "a.onnx", "b.onnx"]:
            text = self.succeed("optimize", "m.onnx", name, "--shape", "x:1,3,16,16", "--budget", "2000states", "--costs", "costs.db", "--no-gate")
            self.assertRegex(text, r"(?m)^result +a cheaper model$")
            outputs.append((self.folder / name).read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[1], outputs[2])

    def test_writes_a_model_that_computes_the_same(self):
        source = network()
        self.write("m.onnx", source)
        self.optimize("m.onnx", "--shape", "x:1,3,32,32")
        result = onnx.load(self.folder / "out.onnx")
        self.assertNotIn("BatchNormalization", [node.op_type for node in result.graph.node])
        self.assertEqual(source.graph.input, result.graph.input)
        self.assertEqual(source.graph.output, result.graph.output)
        text = self.succeed("check", "m.onnx", "out.onnx")
        self.assertTrue(text.endswith("\nequal: 1 output on 3 sets of inputs\n"), text)

    def test_keeps_no_costs_on_request(self):
        self.write("m.onnx", relu())
        self.optimize("m.onnx", "--costs", "")
        self.assertEqual(["m.onnx", "out.onnx"], sorted(p.name for p in self.folder.iterdir()))

    def test_reports_to_json_what_it_did(self):
        self.write("m.onnx", transposes())
        self.optimize("m.onnx", "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(
            {
                "improved": bool,
                "replayed": bool,
                "reason": str,
                "device": str,
                "assumed_sizes": list,
                "refused_sizes": str,
                "assumed_inner_sizes": list,
                "contradictions": list,
                "predicted_nanoseconds": dict,
                "search": dict,
                "kernels": dict,
                "kernel_changes": list,
                "file_bytes": dict,
                "parameters": dict,
                "nodes": dict,
                "operators": list,
                "parts": list,
                "constant_bytes": dict,
                "opaque": list,
                "steps": list,
                "gains": list,
                "unsure": list,
                "rules": list,
                "regions": list,
                "check_seconds": float,
                "checked_sizes": list,
                "skipped_sizes": list,
                "end_to_end": dict,
                "withdrawn": list,
                "bodies": list,
                "smaller": dict,
                "trace": dict,
                "seconds": float,
                "command": str,
            },
            {name: type(value) for name, value in report.items()},
        )
        self.assertTrue(report["improved"])
        self.assertLess(report["predicted_nanoseconds"]["after"], report["predicted_nanoseconds"]["before"])
        self.assertEqual({"states", "expanded", "stop_reason", "seconds", "best", "gap"}, set(report["search"]))
        parts = report["search"]["seconds"] + report["kernels"]["seconds"] + report["check_seconds"] + report["end_to_end"]["seconds"]
        self.assertLess(parts, report["seconds"])
        self.assertGreater(report["search"]["seconds"], 0)
        self.assertGreater(report["check_seconds"], 0)
        text = self.optimize("m.onnx")
        self.assertRegex(text, r"(?m)^time        \d+\.\d s: search \d+\.\d s, kernels \d+\.\d s, checks \d+\.\d s$")
        self.assertEqual(
            {"measured", "known", "with_interference", "measured_again", "provisional", "seconds", "samples", "outliers", "recorded", "modelled"}
            | {"left_out", "refused", "failed", "failure", "device_bytes"},
            set(report["kernels"]),
        )
        self.assertGreater(report["kernels"]["measured"] + report["kernels"]["known"], 0)
        self.assertEqual({"before": 3, "after": 1, "kept": 1, "merged": 0}, {**report["nodes"], "kept": 1})
        self.assertEqual({"rule", "where", "gain_nanoseconds"}, set(report["steps"][0]))
        self.assertEqual({"rule", "matched", "improved", "applied", "numbers", "equation"}, set(report["rules"][0]))
        self.assertEqual(len(report["steps"]), sum(count["applied"] for count in report["rules"]))

    def test_says_that_a_report_cannot_be_written(self):
        self.write("m.onnx", relu())
        run = self.run_program("optimize", "m.onnx", "out.onnx", "--budget", "1states", "--report", "none/report.json")
        self.assertEqual((3, "xflow: none/report.json: cannot write: No such file or directory\n"), (run.returncode, run.stderr))
        self.assertFalse((self.folder / "out.onnx").exists(), "before the work")


class Numbers(ProgramTest):
    def applied(self, *arguments):
        """What the rules that were applied do to floating point."""
        self.write("m.onnx", network())
        self.optimize("m.onnx", "--report", "report.json", *arguments)
        report = json.loads((self.folder / "report.json").read_text())
        return {rule["numbers"].split(":")[0] for rule in report["rules"] if rule["applied"] > 0}

    def test_are_rounded_again_unless_they_must_be_exact(self):
        self.assertIn("rounding", self.applied())
        self.assertLessEqual(self.applied("--numbers", "exact"), {"exact", ""})

    def test_must_be_one_of_three(self):
        run = self.run_program("optimize", "m.onnx", "out.onnx", "--numbers", "precise")
        self.assertEqual(64, run.returncode)
        self.assertIn("--numbers: precise not in {exact,rounding,any}", run.stderr)
        self.write("m.onnx", relu())
        self.fail_with(64, "--numbers exact excludes --fast-math", "optimize", "m.onnx", "out.onnx", "--numbers", "exact", "--fast-math")


class Showing(ProgramTest):
    def test_a_model_lists_its_operators(self):
        text = self.succeed("show", self.write("m.onnx", transposes(["batch", 512])))
        self.assertRegex(text, r"(?m)^input +x: float32\[batch,512\]$")
        self.assertRegex(text, r"(?m)^ +2 Transpose$")
        self.assertRegex(text, r"(?m)^metadata +author = somebody$")

    def test_a_shipped_rule_says_its_equation(self):
        text = self.succeed("show", "hard-swish-from-clip")
        self.assertIn("# hard_swish(x) = x clip(x + 3, 0, 6) / 6", text)
        self.assertIn("rule hard-swish-from-clip\n", text)
        self.assertRegex(text, r"(?m)^  numbers: rounding: computes with ")

    def test_a_rule_says_what_its_proof_assumes(self):
        text = self.succeed("show", "merge-matmuls-sharing-lhs")
        self.assertIn("\n  assumed (for B: 0 dimensions; 7 choices in all)\n    x: float32[M, K]\n    a: float32[K, N]\n", text)
        text = self.succeed("show", "scale-of-convolution")
        self.assertRegex(text, r"(?m)^    g >= 1 \(typing of [0-9]+:[0-9]+ conv: groups to be at least 1\)$")
        self.assertIn("proved", text)


if __name__ == "__main__":
    program.main()
