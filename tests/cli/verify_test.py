"""Tests of `xflow verify`: verify_test.py PROGRAM [unittest arguments]."""

import json
import re

import program
from program import ProgramTest

TIME = re.compile(r" +[0-9]+\.[0-9] ms")

PRODUCTS = """\
# x a + x b = x (a + b)
rule sum-of-products
  with
    x: [M, K], a: [K, N], b: [L, N]
  source
    y = matmul(x, a) + matmul(x, b)
  target
    y = matmul(x, a + b)
  where const(a) and K = L
"""

SLICE = """\
# A part of the first operand.
rule slice-of-the-first-part
  with
    x: [A], z: [B]
  source
    y = slice(concat(x, z, axis: 0), starts: [a], sizes: [b], steps: 1)
  target
    y = slice(x, starts: [a], sizes: [b], steps: 1)
  where A >= a + b
"""

DIFFERENCE = """\
# Wrong: a sign.
rule difference-as-sum
  source
    y = x - z
  target
    y = x + z
"""

TWICE = """\
# Wrong: no shape fits both sides.
rule too-long
  with
    x: [N]
  source
    y = relu(x)
  target
    y = relu(concat(x, x, axis: 0))
"""

VACUOUS = """\
# Guards that contradict each other.
rule never
  with
    x: [N]
  source
    y = relu(x)
  target
    y = neg(x)
  where N > 2 and N < 2
"""

PYTHAGORAS = """\
# True, but nothing is known of the sum.
rule square-of-sine
  source
    y = sin(x) * sin(x)
  target
    y = 1 - cos(x) * cos(x)
"""


# What somebody writes who has read the first page of docs/rules.md only: a head, a body, and what the answer says behind the place.
HEAD = "rule r\n  with\n    "
MISTAKES = [
    (HEAD + "x: [M, K]\n  source\n    y = matmull(x, x)\n  target\n    y = x\n", "5:9: unknown operator 'matmull'; similar: matmul"),
    (HEAD + "x: [M, K]\n  source\n    y = sum(x)\n  target\n    y = x\n", "5:9: unknown operator 'sum'; similar: cumsum, reduce_sum, sub"),
    ("rule r\n  source\n    y = x @ a\n", "3:11: unexpected '@'; a product of matrices is written matmul(x, a)"),
    ("rule r\n  source\n    y = x ** 2\n", "3:12: expected an operator, a variable or a number, found '*'; a power is written x * x or pow(x, 2)"),
    ("rule r\n  source\n    y = x ^ 2\n", "3:11: expected the end of the line, found '^'; a power is written x * x or pow(x, 2)"),
    (
        HEAD + "x: [N, M]\n  source\n    y = -x\n  target\n    y = x\n  where N == M\n",
        "8:12: expected a number, a name or a list, found '='; a guard is written N = M",
    ),
    (
        HEAD + "x: [N, M]\n  source\n    y = -x\n  target\n    y = x\n  where N = 1 or M = 1\n",
        "8:15: expected the end of the line, found 'or'; guards are joined by 'and', an alternative is a rule of its own",
    ),
    (
        "rule r\n  source\n    y = abs(x)\n  target\n    y = x\n  where x >= 0\n",
        "6:9: 'x' is a tensor, which is not allowed here; use dim(x, 0) or rank(x) for a number, and nonnegative(x), positive(x) or nonzero(x) for a guard on its elements",
    ),
    (HEAD + "x: [N]\n  source\n    y = -x\n  target\n    y = x / N\n", "7:13: 'N' is a dimension, not a tensor"),
    (HEAD + "x: float[N]\n  source\n    y = -x\n", "3:8: expected a type such as [M, K] or float32[M, K], found 'float'"),
    ("rule my first rule\n  source\n    y = -x\n", "1:9: expected the end of the name, which is one word such as 'my-rule', found 'first'"),
    ("rule r\n  where N = 1\n", "2:3: expected 'with' or 'source'; write guards after the target, found 'where'"),
    ("// mine\nrule r\n", "1:1: expected 'rule' or a comment, which begins with '#', found '/'"),
]

# The name of a rule, its text, and what its line says.
ANSWERS = [
    (
        HEAD + "x: [M, K], a: [K, N]\n  source\n    y = matmul(x, a)\n  target\n    y = matmul(a, x)\n",
        "r refuted TIME rounding K = 1, M = 2, N = 1, the source has a type, but the target has it only where M = N "
        "(7:9 matmul of the target expects the inner dimensions to be equal)",
    ),
    (
        HEAD + "x: [M, K], a: [K, N], s: [M]\n  source\n    y = matmul(x, a) * s\n  target\n    y = matmul(x * s, a)\n",
        "r refuted TIME rounding K = 1, M = 2, N = 2, the source has a type, but the target has it only where N = K "
        "(7:18 mul of the target expects dimensions that are equal, or 1)",
    ),
    (
        HEAD + "x: [A], z: [B]\n  source\n    y1, y2 = split(concat(x, z, axis: 0), axis: 0, sizes: [n, m])\n  target\n    y1 = x\n    y2 = z\n",
        "r refuted TIME exact A = 1, B = 2, n = 2, m = 1, the source has a type, but the target has it only where m = B "
        "(dimension 0 of output y1 is n in the source, -B + n + m in the target)",
    ),
    (
        "rule r\n  source\n    y = matmul(x, a) * s\n  target\n    y = matmul(x, a * s)\n",
        "r ill-typed TIME rounding rule r: output y: source float32[s.0], target float32[] (for a: 1 dimension, s: 1 dimension, "
        "x: 1 dimension); other ranks are left out by a type under 'with' or a guard such as rank(x) = 2",
    ),
]


class Verify(ProgramTest):
    def verify(self, status, *arguments):
        run = self.run_program("verify", *arguments)
        self.assertEqual((status, ""), (run.returncode, run.stderr))
        return TIME.sub(" TIME", run.stdout)

    def line(self, status, text):
        """The line of a rule without name and time, and the summary; lines to replay are left out."""
        self.write("a.rules", text)
        lines = [line for line in self.verify(status, "a.rules").splitlines() if not line.startswith("    replay: ")]
        self.assertEqual(2, len(lines))
        return re.sub(r" +", " ", lines[0]).strip(), lines[1]

    def test_says_under_which_guards_a_rule_is_proved(self):
        expected = "slice-of-the-first-part proved TIME exact where A >= a + b"
        self.assertEqual((expected, "1 of 1 rules proved"), self.line(0, SLICE))

    def test_leaves_out_guards_that_are_not_needed(self):
        expected = "sum-of-products proved TIME rounding"
        self.assertEqual((expected, "1 of 1 rules proved"), self.line(0, PRODUCTS))

    def test_shows_a_counterexample(self):
        expected = "difference-as-sum refuted TIME rounding x = 0 z = 1, output y at []: -1 != 1"
        self.assertEqual((expected, "0 of 1 rules proved, 1 refuted"), self.line(1, DIFFERENCE))

    def test_says_what_clashes(self):
        expected = "too-long refuted TIME exact N = 1, the source has a type, but no sizes make both sides well typed: dimension 0 of output y is N in the source, 2*N in the target (N = 0)"
        self.assertEqual((expected, "0 of 1 rules proved, 1 refuted"), self.line(1, TWICE))

    def test_says_what_to_write_instead(self):
        for text, expected in MISTAKES:
            self.write("a.rules", text)
            self.fail_with(2, "a.rules:" + expected, "verify", "a.rules")

    def test_says_what_a_type_lacks(self):
        for text, expected in ANSWERS:
            self.assertEqual(expected, self.line(1, text)[0])

    def test_calls_contradictory_guards_vacuous(self):
        expected = "never ill-typed TIME rounding vacuous: no shapes satisfy the guards and the typing of the source"
        self.assertEqual((expected, "0 of 1 rules proved, 1 ill-typed"), self.line(1, VACUOUS))

    def test_says_what_stayed_open(self):
        expected = "square-of-sine unknown TIME special output y: sin(x[])^2 - 1 + cos(x[])^2 = 0"
        self.assertEqual((expected, "0 of 1 rules proved, 1 unknown"), self.line(1, PYTHAGORAS))

    def test_says_which_guard_on_values_is_missing(self):
        def rule(source, target, guards=""):
            return f"rule r\n  source\n    y = {source}\n  target\n    y = {target}\n{guards}"

        for text, expected in [
            (
                rule("pow(x, s) * pow(z, s)", "pow(x * z, s)"),
                "output y: power(x[], s[]) * power(z[], s[]) - power(x[] * z[], s[]) = 0; it is proved where positive(x)",
            ),
            (
                rule("pow(x, s) * pow(z, s) * pow(w, s)", "pow(x * z * w, s)", "  where positive(w)\n"),
                "output y: power(x[], s[]) * power(z[], s[]) * power(w[], s[]) - power(w[], s[]) * power(x[] * z[], s[]) = 0; "
                "it is proved where positive(x)",
            ),
            (
                rule("pow(x, s) * pow(z, s) * pow(w, s)", "pow(x * z * w, s)"),
                "output y: power(x[], s[]) * power(z[], s[]) * power(w[], s[]) - power(x[] * z[] * w[], s[]) = 0; "
                "it is proved where positive(x) and positive(z)",
            ),
        ]:
            line, summary = self.line(1, text)
            self.assertEqual((f"r unknown TIME special {expected}", "0 of 1 rules proved, 1 unknown"), (line, summary))
        self.write("a.rules", rule("pow(x, s) * pow(z, s)", "pow(x * z, s)"))
        (found,) = json.loads(self.run_program("verify", "a.rules", "--json").stdout)["rules"]
        self.assertEqual(([], ["positive(x)"]), (found["needed_guards"], found["missing_guards"]))
        self.write("b.rules", rule("pow(x, s) * pow(z, s)", "pow(x * z, s)", "  where positive(x)\n"))
        self.assertIn("1 of 1 rules proved", self.verify(0, "b.rules"))

    def test_says_what_is_assumed_because_the_source_asks_for_it(self):
        self.write(
            "a.rules",
            "rule logarithms\n  with\n    x: [N], z: [N]\n  source\n    y = log(x) + log(z)\n  target\n    y = log(x * z)\n\n"
            "rule indices\n  with\n    x: [N, D], i: int64[K]\n  source\n    y = gather(x, i)\n"
            "  target\n    y = matmul(one_hot(i, axis: 1, depth: N), x)\n",
        )
        title = "  assumed because the source asks for it\n"
        text = self.run_program("verify", "--explain", "logarithms", "a.rules").stdout
        self.assertIn(
            title + "    x[i] is positive, where y[i] has a value\n    z[i] is positive, where y[i] has a value\n", text
        )
        text = self.run_program("verify", "--explain", "indices", "a.rules").stdout
        self.assertIn(title + "    i[j] is an index of N elements for j < K\n", text)
        self.assertIn("source  [i[j] >= 0] x[i[j], k] + [i[j] <= -1] x[N + i[j], k]\n", text)
        text = self.run_program("show", "a.rules").stdout
        self.assertIn("    x[i] is positive, where y[i] has a value (the source asks for it)\n", text)
        self.assertIn("    i[j] is an index of N elements for j < K (the source asks for it)\n", text)

    def test_looks_at_small_ranks_where_there_are_too_many(self):
        text = "\n\nrule r\n  source\n    y = matmul(a, b) + matmul(a, c)\n  target\n    y = matmul(a, b + c)\n"
        where = "the target has it only where c.1 = c.0 (7:21 add of the target expects dimensions that are equal, or 1)"
        example = "for a: 1 dimension, b: 1 dimension, c: 2 dimensions"
        line, summary = self.line(1, text)
        self.assertEqual(f"r refuted TIME rounding a.0 = 2, b.0 = 2, c.0 = 2, c.1 = 1, {example}, the source has a type, but {where}", line)
        self.assertEqual("0 of 1 rules proved, 1 refuted", summary)
        replayed = self.verify(1, "--replay", f"{example}; c.0 = 1, c.1 = 2", "a.rules")
        open_size = "c.0 - c.1 = 0 (7:21 add of the target expects dimensions that are equal, or 1)"
        self.assertEqual(f"r: the source has a type, but the target has it only where {open_size}\n", replayed)
        text = "rule r\n  source\n    y = matmul(a, b) + matmul(a, c)\n  target\n    y = matmul(a, c) + matmul(a, b)\n"
        line, _ = self.line(1, text)
        limit = "rule r: more than 20000 choices are open; bound ranks by a guard such as rank(x) <= 4"
        self.assertEqual(f"r timeout TIME rounding {limit}; with ranks of at most 3 it is proved", line)

    def test_stops_when_the_time_is_up(self):
        self.write("a.rules", PYTHAGORAS)
        line = self.verify(1, "a.rules", "--timeout", "0.001ms").splitlines()[0]
        self.assertEqual("square-of-sine timeout TIME special the time limit was reached", re.sub(r" +", " ", line).strip())
        for text in ["5", "s", "-1s", "0s", "5h"]:
            self.fail_with(64, f"timeout '{text}' is not of the form 5s, 500ms or 2m", "verify", "a.rules", f"--timeout={text}")

    def test_replays_records_unless_disabled(self):
        self.write("a.rules", SLICE)
        self.write("a.proofs", "xflow proofs 1\nz3 5\n\nrule slice\n  nonsense\n")
        run = self.run_program("verify", "a.rules")
        self.assertEqual(2, run.returncode)
        self.assertRegex(run.stderr, r"\Axflow: a.proofs:5: ")
        self.assertIn("1 of 1 rules proved", self.verify(0, "a.rules", "--no-records"))
        shipped = self.verify(0, "merge-matmuls-sharing-lhs")
        self.assertEqual(shipped, self.verify(0, "merge-matmuls-sharing-lhs", "--no-records"))

    def test_counts_all_verdicts(self):
        self.write("all.rules", "\n".join([PRODUCTS, SLICE, DIFFERENCE, TWICE, VACUOUS, PYTHAGORAS]))
        summary = self.verify(1, "all.rules", "--jobs", "2").splitlines()[-1]
        self.assertEqual("2 of 6 rules proved, 2 refuted, 1 unknown, 1 ill-typed", summary)

    def test_takes_names_of_rules(self):
        self.write("all.rules", "\n".join([PRODUCTS, SLICE, DIFFERENCE]))
        self.assertRegex(self.verify(0, "slice-of-the-first-part", "all.rules"), r"\A  slice-of-the-first-part .*\n1 of 1 rules proved\n\Z")
        self.assertRegex(self.verify(0, "merge-matmuls-sharing-lhs"), r"\A  merge-matmuls-sharing-lhs .*\n1 of 1 rules proved\n\Z")
        self.fail_with(64, "no rule 'slice' in the files; similar: slice-of-the-first-part", "verify", "slice", "all.rules")
        self.fail_with(64, "no rule 'no-such-rule' is shipped", "verify", "no-such-rule")

    def test_replays_what_it_prints(self):
        self.write("a.rules", DIFFERENCE)
        output = self.verify(1, "a.rules")
        text = re.search(r"^    replay: (.*)$", output, re.M).group(1)
        expected = "difference-as-sum: output y at []: source -1, target 1\n"
        self.assertEqual(expected, self.verify(1, "--replay", text, "a.rules"))
        self.write("counterexample.txt", text + "\n")
        self.assertEqual(expected, self.verify(1, "--replay", "counterexample.txt", "difference-as-sum", "a.rules"))
        self.assertEqual("difference-as-sum: both sides are equal\n", self.verify(0, "--replay", "x = 5; z = 0", "a.rules"))
        self.fail_with(64, "counterexample: no value for z", "verify", "--replay", "x = 5", "a.rules")

    def test_asks_for_one_rule(self):
        self.write("all.rules", "\n".join([PRODUCTS, SLICE]))
        for option in [["--explain"], ["--infer-guards"], ["--replay", "x = 1"]]:
            self.fail_with(64, f"{option[0]} takes one rule, found 2; give its name", "verify", *option, "all.rules")

    def test_infers_guards(self):
        self.write("a.rules", SLICE)
        text = self.verify(0, "--infer-guards", "a.rules")
        self.assertRegex(text, r"\Aslice-of-the-first-part: proved where\n  A >= a \+ b\n    without it: ")
        self.assertIn("\n  where\n    A >= a + b\n", text)
        self.write("b.rules", DIFFERENCE)
        expected = "difference-as-sum: no guards of the vocabulary exclude all sizes on which the sides differ\n"
        self.assertEqual(expected, self.verify(1, "--infer-guards", "b.rules"))

    def test_explains(self):
        self.write("a.rules", DIFFERENCE)
        text = self.verify(1, "--explain", "a.rules")
        self.assertTrue(text.startswith("difference-as-sum: refuted\n"), text)
        self.assertIn("\n    source  x[] - z[]\n    target  x[] + z[]\n", text)

    def test_writes_json_with_all_of_it(self):
        self.write("all.rules", "\n".join([SLICE, DIFFERENCE, PYTHAGORAS]))
        run = self.run_program("verify", "all.rules", "--json")
        self.assertEqual((1, ""), (run.returncode, run.stderr))
        found = json.loads(run.stdout)
        self.assertEqual(["rules", "summary"], list(found))
        self.assertEqual("1 of 3 rules proved, 1 refuted, 1 unknown", found["summary"])
        slice_rule, difference, sine = found["rules"]
        keys = "rule place hash verdict microseconds instances numbers number_effects guards needed_guards missing_guards choice open counterexample"
        for rule in found["rules"]:
            self.assertEqual(keys.split(), list(rule))
        self.assertEqual("proved", slice_rule["verdict"])
        self.assertEqual(["A >= a + b"], slice_rule["needed_guards"])
        self.assertIsNone(slice_rule["counterexample"])
        self.assertEqual("all.rules:12:6", difference["place"])
        expected = {
            "text": "x = 0; z = 1; output y at []: -1 != 1",
            "choice": "",
            "integers": {},
            "tensors": [{"name": "x", "shape": [], "value": "0"}, {"name": "z", "shape": [], "value": "1"}],
            "output": "y",
            "index": [],
            "source": "-1",
            "target": "1",
        }
        self.assertEqual(expected, difference["counterexample"])
        self.assertEqual("output y: sin(x[])^2 - 1 + cos(x[])^2 = 0", sine["open"])
        again = json.loads(self.run_program("verify", "all.rules", "--json", "--jobs", "3").stdout)
        for rule in found["rules"] + again["rules"]:
            del rule["microseconds"]
        self.assertEqual(found, again)


if __name__ == "__main__":
    program.main()
