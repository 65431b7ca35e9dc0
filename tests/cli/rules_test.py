"""Tests of `xflow rules list, stats, derive, minimize`: rules_test.py PROGRAM [unittest arguments]."""

import json
import re

import program
from program import ProgramTest

HEAD = """\
  with
    x: [B.., M, K], a: [K, N], b: [N, P]
  source
"""
LEFT = "# Towards the left.\n#   x (a b) = (x a) b\nrule left\n" + HEAD + "    y = matmul(x, matmul(a, b))\n  target\n    y = matmul(matmul(x, a), b)\n"
RIGHT = "rule right\n" + HEAD + "    y = matmul(matmul(x, a), b)\n  target\n    y = matmul(x, matmul(a, b))\n"
MATRICES = """\
# Without a batch.
rule matrices
  with
    x: [M, K], a: [K, N], b: [N, P]
  source
    y = matmul(matmul(x, a), b)
  target
    y = matmul(x, matmul(a, b))
"""
SCALES = """\
# (x s) t = x (s t)
rule scales
  source
    y = x * s * t
  target
    y = x * (s * t)
"""
SCALES_OF_SCALES = """\
# ((x s) t) u = x ((s t) u)
rule scales-of-scales
  source
    y = x * s * t * u
  target
    y = x * (s * t * u)
"""
FIVE_SCALES = """\
rule five-scales
  source
    y = x * s * t * u * v * w
  target
    y = x * (s * (t * (u * (v * w))))
"""
SPLIT = """\
rule parts
  with
    x: [A, C], z: [B, C]
  source
    y1 = relu(x)
    y2 = relu(z)
  target
    y1, y2 = split(relu(concat(x, z, axis: 0)), axis: 0, sizes: [A, B])
"""
DISTRIBUTE = """\
rule distribute
  with
    x: [M, K], a: [K, N], b: [K, P]
  source
    y = matmul(x, concat(a, b, axis: 1))
  target
    y = concat(matmul(x, a), matmul(x, b), axis: 1)
"""
UNDO = """\
rule undo
  with
    x: [M, K], z: [M, N]
  source
    y1, y2 = split(concat(x, z, axis: 1), axis: 1, sizes: [K, N])
  target
    y1 = x
    y2 = z
"""
MERGE = """\
rule merge
  with
    x: [M, K], a: [K, N], b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y1, y2 = split(matmul(x, concat(a, b, axis: 1)), axis: 1, sizes: [N, P])
"""
INTEGERS = """\
rule integers
  with
    i: int64[N]
  source
    y = i + i
  target
    y = i + i
"""
LISTS = """\
rule lists
  with
    xs..: [N]
  source
    y = relu(concat(xs.., axis: 0))
  target
    y = relu(concat(xs.., axis: 0))
"""


class Rules(ProgramTest):
    def negative(self, *arguments):
        run = self.run_program("rules", *arguments)
        self.assertEqual((1, ""), (run.returncode, run.stderr))
        return run.stdout


class List(Rules):
    def test_gives_a_line_to_each_rule(self):
        self.write("a.rules", "\n".join([LEFT, MATRICES, SPLIT]))
        lines = [re.sub(r"  +", "  ", line) for line in self.succeed("rules", "list", "a.rules").splitlines()]
        expected = [
            "  left  rounding  a.rules  x (a b) = (x a) b",
            "  matrices  rounding  a.rules  Without a batch.",
            "  parts  exact  a.rules  y1 := relu(x); y2 := relu(z) = y1, y2 := split(relu(concat(x, z, axis: 0)), axis: 0, sizes: [A, B])",
        ]
        self.assertEqual(expected, lines)
        self.assertEqual(lines[1:2], [re.sub(r"  +", "  ", self.succeed("rules", "list", "matrices", "a.rules").rstrip("\n"))])

    def test_lists_the_shipped_rules(self):
        lines = self.succeed("rules", "list").splitlines()
        self.assertGreater(len(lines), 100)
        self.assertTrue(any(line.startswith("  merge-matmuls-sharing-lhs ") and "x a ++ x b = x (a ++ b)" in line for line in lines))

    def test_writes_json(self):
        self.write("a.rules", LEFT)
        (rule,) = json.loads(self.succeed("rules", "list", "a.rules", "--json"))["rules"]
        self.assertEqual(["rule", "equation", "comment", "numbers", "number_effects", "file", "place", "hash"], list(rule))
        self.assertEqual(("left", "x (a b) = (x a) b", "rounding", "a.rules:3:6"), (rule["rule"], rule["equation"], rule["numbers"], rule["place"]))


class Stats(Rules):
    TEXT = """\
4 rules
file
     3  a.rules
     1  b.rules
floating point
     1  exact
     3  rounding
operations of the source
     3  2
     1  3
operator in the source
     2  matmul
     1  mul
     1  relu
the target has
     0  fewer operations
     3  as many operations
     1  more operations
"""

    def test_counts(self):
        self.write("a.rules", "\n".join([LEFT, MATRICES, SPLIT]))
        self.write("b.rules", SCALES_OF_SCALES)
        self.assertEqual(self.TEXT, self.succeed("rules", "stats", ".").replace("./", ""))
        derived = "the other rules, used both ways\n     1  derive it\n     3  do not derive it\n     0  cannot speak of it\n"
        self.assertEqual(self.TEXT + derived, self.succeed("rules", "stats", "a.rules", "b.rules", "--derive"))

    def test_writes_json(self):
        self.write("a.rules", "\n".join([SCALES, SCALES_OF_SCALES, INTEGERS]))
        counts = json.loads(self.succeed("rules", "stats", "a.rules", "--derive", "--json"))
        self.assertEqual(3, counts["rules"])
        self.assertEqual({"a.rules": 3}, counts["files"])
        self.assertEqual({"1": 1, "2": 1, "3": 1}, counts["source_operations"])
        self.assertEqual({"add": 1, "mul": 2}, counts["operators"])
        self.assertEqual({"derive it": 1, "do not derive it": 1, "cannot speak of it": 1}, counts["derived"])
        self.assertEqual(["rules", "files", "numbers", "source_operations", "operators", "direction", "derived"], list(counts))

    def test_counts_the_shipped_rules(self):
        self.assertRegex(self.succeed("rules", "stats"), r"\A\d\d+ rules\nfile\n +\d+  activation.rules\n")


class Derive(Rules):
    def test_shows_the_steps(self):
        self.write("a.rules", "\n".join([MATRICES, LEFT]))
        expected = """\
matrices: derived by left
  x: [7, 5], a: [5, 11], b: [11, 13]
    left: matmul(matmul(x, a), b) = matmul(x, matmul(a, b))
"""
        self.assertEqual(expected, self.succeed("rules", "derive", "matrices", "a.rules"))
        self.write("m.rules", MATRICES)
        self.write("l.rules", LEFT)
        self.assertEqual(expected, self.succeed("rules", "derive", "m.rules", "--by", "l.rules"))
        self.assertEqual(expected, self.succeed("rules", "derive", "m.rules", "--by", "left", "a.rules"))

    def test_shows_cases_with_the_same_steps_once(self):
        self.write("a.rules", "\n".join([LEFT, RIGHT]))
        expected = """\
left: derived in each of 7 cases by right
  B: 0 dimensions; x: [7, 5], a: [5, 11], b: [11, 13]
    right: matmul(x, matmul(a, b)) = matmul(matmul(x, a), b)
"""
        self.assertEqual(expected, self.succeed("rules", "derive", "left", "a.rules"))

    def test_takes_shipped_rules(self):
        text = self.succeed("rules", "derive", "associate-matmul-left")
        self.assertTrue(text.startswith("associate-matmul-left: derived in each of 7 cases by associate-matmul-right\n"), text)
        self.write("m.rules", MATRICES)
        for by in [[], ["--by", "associate-matmul-left"]]:
            text = self.succeed("rules", "derive", "m.rules", *by)
            self.assertTrue(text.startswith("matrices: derived by associate-matmul-"), text)

    def test_says_that_both_sides_are_one_graph(self):
        self.write("a.rules", "rule same\n  source\n    y = relu(x + z)\n  target\n    y = relu(z + x)\n")
        expected = "same: derived in each of 3 cases: both sides are one graph\n"
        self.assertEqual(expected, self.succeed("rules", "derive", "a.rules", "--by", "relu-twice"))

    def test_says_that_nothing_more_can_be_applied(self):
        self.write("a.rules", "\n".join([LEFT, MATRICES]))
        expected = "left: not derived: no more rules apply\n  B: 6 dimensions; x: [17, 19, 23, 29, 31, 37, 7, 5], a: [5, 11], b: [11, 13]\n"
        self.assertEqual(expected, self.negative("derive", "left", "a.rules"))

    def test_from_source_has_to_find_the_target(self):
        self.write("a.rules", "\n".join([DISTRIBUTE, UNDO, MERGE]))
        expected = """\
merge: derived by distribute, undo
  x: [7, 5], a: [5, 11], b: [5, 13]
    distribute: matmul(x, concat(a, b, axis: 1)) = concat(matmul(x, a), matmul(x, b), axis: 1)
    undo: matmul(x, a) = split(matmul(x, concat(a, b, axis: 1)), axis: 1, sizes: [11, 13]).0
    distribute: matmul(x, concat(a, b, axis: 1)) = concat(matmul(x, a), matmul(x, b), axis: 1)
    undo: matmul(x, b) = split(matmul(x, concat(a, b, axis: 1)), axis: 1, sizes: [11, 13]).1
"""
        self.assertEqual(expected, self.succeed("rules", "derive", "merge", "a.rules"))
        expected = "merge: not derived: no more rules apply\n  x: [7, 5], a: [5, 11], b: [5, 13]\n"
        self.assertEqual(expected, self.negative("derive", "merge", "a.rules", "--from-source"))
        self.write("b.rules", "\n".join([LEFT, MATRICES]))
        self.assertTrue(self.succeed("rules", "derive", "matrices", "b.rules", "--from-source").startswith("matrices: derived by left\n"))

    def test_says_which_bound_was_reached(self):
        self.write("a.rules", "\n".join([SCALES, FIVE_SCALES]))
        self.succeed("rules", "derive", "five-scales", "a.rules")
        place = "  x: [5, 7], s: [5, 7], t: [5, 7], u: [5, 7], v: [5, 7], w: [5, 7]\n"
        for bound, text in [(("--terms", "16"), "5 rounds and 16 terms"), (("--rounds", "1"), "1 round and 1500 terms")]:
            expected = f"five-scales: not derived: {text} were not enough\n" + place
            self.assertEqual(expected, self.negative("derive", "five-scales", "a.rules", *bound))

    def test_says_what_it_cannot_speak_of(self):
        self.write("a.rules", "\n".join([LISTS, INTEGERS]))
        message = "a.rules:1:6: rule lists: xs.. is a list of operands, which derivations do not support"
        self.fail_with(3, message, "rules", "derive", "lists", "a.rules")
        message = "a.rules:9:6: rule integers: i is a tensor of int64, but derivations support float32 only"
        self.fail_with(3, message, "rules", "derive", "integers", "a.rules")

    def test_asks_for_one_rule_and_others(self):
        self.fail_with(64, "no rule 'no-such-rule' is shipped", "rules", "derive", "no-such-rule")
        self.write("a.rules", "\n".join([LEFT, MATRICES]))
        self.fail_with(64, "no rule 'lef' in the files; similar: left", "rules", "derive", "lef", "a.rules")
        self.fail_with(64, "one rule is derived at a time, found 2; give its name", "rules", "derive", "a.rules")
        self.write("m.rules", MATRICES)
        self.fail_with(64, "cannot derive 'matrices': no other rules are given; give some with --by", "rules", "derive", "m.rules", "--by", "m.rules")
        self.fail_with(2, "none.rules: cannot open: No such file or directory", "rules", "derive", "m.rules", "--by", "none.rules")
        run = self.run_program("rules", "derive", "m.rules", "--rounds", "0")
        self.assertEqual((64, ""), (run.returncode, run.stdout))


class Minimize(Rules):
    def test_keeps_what_derives_the_others(self):
        (self.folder / "set").mkdir()
        self.write("set/a.rules", "\n".join([SCALES_OF_SCALES, SCALES, MATRICES]))
        self.write("set/b.rules", "\n".join([LEFT, RIGHT, LISTS]))
        expected = """\
  scales-of-scales: derived by scales
  matrices: derived by left
  right: derived by left
  kept: set/b.rules:19:6: rule lists: xs.. is a list of operands, which derivations do not support
3 of 6 rules derive the others
"""
        self.assertEqual(expected, self.succeed("rules", "minimize", "set", "--out", "fewer.rules"))
        lines = self.succeed("rules", "list", "fewer.rules").splitlines()
        self.assertEqual(["scales", "left", "lists"], [line.split()[0] for line in lines])
        self.assertEqual("  kept: fewer.rules", self.succeed("rules", "minimize", "fewer.rules")[:19])

    def test_refuses_what_it_cannot_read_or_write(self):
        (self.folder / "set").mkdir()
        self.fail_with(2, "set: no file *.rules in this folder", "rules", "minimize", "set")
        self.fail_with(2, "none: cannot open: No such file or directory", "rules", "minimize", "none")
        self.write("set/a.rules", "# nothing\n")
        self.fail_with(2, "set: no rules in the files", "rules", "minimize", "set")
        self.write("set/a.rules", LEFT)
        run = self.run_program("rules", "minimize", "set", "--out", "no/folder/a.rules")
        self.assertEqual((3, ""), (run.returncode, run.stdout))
        self.assertRegex(run.stderr, r"\Axflow: no/folder/a.rules: .*No such file or directory\n\Z")


class Errors(Rules):
    def test_are_one_line_with_the_place(self):
        self.write("a.rules", "rule r\n  source\n    y = rleu(x)\n  target\n    y = x\n")
        for command in ["list", "stats", "derive", "minimize"]:
            self.fail_with(2, "a.rules:3:9: unknown operator 'rleu'; similar: relu", "rules", command, "a.rules")
        for command in ["list", "stats", "derive"]:
            self.fail_with(2, "none.rules: cannot open: No such file or directory", "rules", command, "none.rules")
            self.fail_with(64, "no rule 'none' is shipped", "rules", command, "none")


if __name__ == "__main__":
    program.main()
