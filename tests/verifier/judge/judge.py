#!/usr/bin/env python3
"""Judges what `xflow verify` says of rules, by evaluating both sides of each on numbers.

    judge.py --xflow build/release/xflow --rules substitutions tests/verifier/proved
    judge.py --xflow build/release/xflow --write-mutants build/release/tests/verifier/judge/write_mutants --mutants 2000
    judge.py --xflow build/release/xflow --write-mutants build/release/tests/verifier/judge/write_mutants --per-class 300

The judge reads the text of rules itself, and shares no code with src/. README.md says what it looks for. Exit status 1 if a rule is
judged wrongly and is not in the file of --known, or is in that file and is judged rightly."""

import argparse
import collections
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import counterexamples
import float_class
import verdicts
from rule_text import read_guards, read_rules

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Of a family of rules: no sizes are found for many parts.
MEMBERS = 2
PARENTS = ("substitutions", "tests/verifier/proved")
SEED = 1
UNDECIDED_PERMILLE = 25
PROMISES = ("exact", "rounding")  # classes that promise something of floats
CLASSES = (*PROMISES, "special")
KINDS = {"proved": "wrongly proved", "refuted": "wrongly refuted", "ill-typed": "wrongly ill-typed", "guards": "wrong guards",
         "numbers": "wrong float class"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xflow", required=True, help="the program")
    parser.add_argument("--rules", nargs="*", default=[], help="files of rules, or folders of them")
    parser.add_argument("--mutants", type=int, default=0, help="how many mutants are judged")
    parser.add_argument("--per-class", type=int, default=0, metavar="N",
                        help="decide mutants and variants until N of each float class are proved, and judge these")
    parser.add_argument("--slice", type=int, default=300, help="how many of them are decided at a time")
    parser.add_argument("--most", type=int, default=16000, help="how many of them are decided at most")
    parser.add_argument("--write-mutants", help="the program that writes mutants and variants")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=20, help="seconds that a verdict may take")
    parser.add_argument("--infer", type=int, default=0, help="of how many refuted rules the guards that are inferred are judged")
    parser.add_argument("--cases", type=int, default=6, help="sizes and attributes at which a rule is evaluated")
    parser.add_argument("--known", help="rules that are known to be judged wrongly: a line for each, 'KIND NAME'")
    parser.add_argument("--renew-known", action="store_true", help="write this file again")
    return parser.parse_args()


def texts(options):
    """The files that are judged: (title, text)."""
    for place in options.rules:
        path = ROOT / place
        for file in sorted(path.glob("*.rules")) if path.is_dir() else [path]:
            yield place, file.read_text()
    if options.mutants:
        yield f"{options.mutants} mutants", written(options, options.mutants)


def written(options, count, *kind):
    command = [options.write_mutants, *kind, str(count), str(options.seed), *(str(ROOT / folder) for folder in PARENTS)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def interleaved(text, float_class_name):
    """The rules of a class, each kind of change in its turn."""
    kinds = {}
    for rule in text.split("\n\n"):
        head = rule.partition("\n")[0]
        if head.endswith(f": {float_class_name}"):
            kinds.setdefault(head, []).append(rule)
    return [rule for turn in itertools.zip_longest(*kinds.values()) for rule in turn if rule]


class Slices:
    """Mutants and variants by turns, as many of each class that is asked for."""

    def __init__(self, options):
        texts_of_kinds = written(options, options.most), written(options, 2 * options.most, "--variants")
        self.size, self.left = options.slice, options.most
        self.rules = {}
        for c in CLASSES:
            both = itertools.zip_longest(*(interleaved(text, c) for text in texts_of_kinds))
            self.rules[c] = [rule for pair in both for rule in pair if rule]

    def take(self, classes):
        """A text; empty at the end."""
        taken = []
        for c in classes:
            count = min(self.size // len(classes), self.left - len(taken))
            taken += self.rules[c][:count]
            self.rules[c] = self.rules[c][count:]
        self.left -= len(taken)
        return "\n\n".join(taken)


def decided(options, text):
    """What `xflow verify` says of each rule, by name."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "judged.rules"
        file.write_text(text)
        command = [options.xflow, "verify", "--json", "--no-records", "--jobs", str(options.jobs), "--timeout", f"{options.timeout}s", file]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if not run.stdout:
            raise SystemExit(f"judge: {run.stderr}")
    return {r["rule"]: r for r in json.loads(run.stdout)["rules"]}


def guarded(rule, guards):
    """The rule with these guards instead of those of its own that are not about single elements."""
    kept = [g for g in rule.guards if g.kind in ("equal", "const", "varies", "scalar", "uses", "finite")]
    return type(rule)(rule.name, rule.declarations, rule.source, rule.target, kept + read_guards(guards), rule.text)


def class_of(said):
    """The float class that xflow computes: one that the rule claims says nothing of infinities and NaN."""
    return "special" if "claimed by the rule" in said["number_effects"] else said["numbers"]


def judge(rule, said, seed, wanted):
    """([(kind, evidence)]: what is wrong; how much was looked at; how many samples held extreme floats)."""
    wrong, verdict = [], said["verdict"]
    if verdict == "proved":
        found = verdicts.search(rule, seed, wanted)
        if found.difference:
            wrong.append(("proved", found.difference))
        elif sorted(said["needed_guards"]) != sorted(said["guards"]):
            needed = verdicts.search(guarded(rule, said["needed_guards"]), seed, wanted)
            if needed.difference:
                wrong.append(("guards", f"where {' and '.join(said['needed_guards'])}: {needed.difference}"))
        difference, floats = float_class.search(rule, class_of(said), seed)
        if difference:
            wrong.append(("numbers", f"{said['numbers']} ({', '.join(said['number_effects'])}): {difference}"))
        return wrong, found.compared, floats
    if verdict == "refuted":
        reason = counterexamples.replay(rule, said["counterexample"], seed)
        if reason:
            wrong.append(("refuted", f"{said['counterexample']['text']}\n{reason}"))
        return wrong, 1, 0
    if verdict == "ill-typed":
        choice = said["choice"] or "".join(re.findall(r"\(for ([^()]*)\)", said["open"])[:1])  # no instance: the message tells it
        found = verdicts.search(rule, seed, wanted, 400, pins=counterexamples.chosen(rule, choice))
        if found.cases and not found.difference:
            wrong.append(("ill-typed", f"{said['open']}\nboth sides are typed at {found.cases} choices of sizes"))
        return wrong, 1, 0
    if said["missing_guards"]:
        found = verdicts.search(guarded(rule, said["guards"] + said["missing_guards"]), seed, wanted)
        if found.difference:
            wrong.append(("guards", f"where {' and '.join(said['missing_guards'])}: {found.difference}"))
    return wrong, 1, 0


def judged(task):
    rule, said, seed, wanted = task
    warnings.simplefilter("ignore")
    return rule, said, *judge(rule, said, seed, wanted)


def inferred(task):
    """Of a refuted rule: (the rule, a difference under the guards under which it is said to be proved or "", True if there are some)."""
    rule, options, wanted = task
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "judged.rules"
        file.write_text(rule.text)
        command = [options.xflow, "verify", "--infer-guards", "--timeout", f"{options.timeout}s", rule.name, file]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    at = text.find(f"\nrule {rule.name}\n")
    if at < 0:
        return rule, "", False
    guarded_rule = read_rules(text[at + 1:])[0]
    return rule, verdicts.search(guarded_rule, options.seed, wanted).difference, True


def judged_of_class(task):
    """As judged; at last whether numbers show that the rule has not the next stricter class."""
    rule, said, wrong, compared, floats = judged(task)
    difference, more = float_class.stricter(rule, class_of(said), task[2])
    return rule, said, wrong, compared, floats + more, difference != ""


class PerClass:
    """So many rules of each float class are proved and judged."""

    def __init__(self, options, report):
        self.options, self.report = options, report
        self.verdicts, self.judged, self.shown = collections.Counter(), collections.Counter(), collections.Counter()
        self.without_floats, self.wrong = 0, 0

    def full(self, float_class_name):
        return self.judged[float_class_name] >= self.options.per_class

    def run(self, pool):
        slices = Slices(self.options)
        while text := slices.take([c for c in CLASSES if not self.full(c)]):
            said = decided(self.options, text + "\n")
            rules = read_rules(text)
            self.verdicts.update(s["verdict"] for s in said.values())
            self.report.late(r for r in rules if said[r.name]["microseconds"] > self.options.timeout * 1.1e6)
            proved = [r for r in rules if said[r.name]["verdict"] == "proved" and not self.full(said[r.name]["numbers"])]
            for result in pool.map(judged_of_class, [(r, said[r.name], self.options.seed, self.options.cases) for r in proved], chunksize=4):
                self.add(*result)
            print(self.text(), flush=True)
        if not all(self.full(c) for c in CLASSES):
            self.report.failed = True
            print(f"too few rules of a class among {sum(self.verdicts.values())}")

    def add(self, rule, said, wrong, compared, floats, shown):
        self.wrong += len(wrong)
        self.report.add_wrong(rule, wrong)
        if compared == 0 or floats == 0:
            self.without_floats += 1
            return
        self.judged[said["numbers"]] += 1
        self.shown[said["numbers"]] += shown

    def text(self):
        counts = ", ".join(f"{n} {v}" for v, n in sorted(self.verdicts.items()))
        classes = ", ".join(f"{self.judged[c]} {c}" + (f" ({self.shown[c]} shown not to be {float_class.STRICTER[c]})" if c != "exact" else "")
                            for c in CLASSES)
        return (f"{sum(self.verdicts.values())} mutants and variants: {counts}; of the proved ones run on extreme floats: {classes}; "
                f"{self.without_floats} without floats; {self.wrong} wrong")


def known_wrong(options):
    if not options.known:
        return set()
    lines = pathlib.Path(options.known).read_text().splitlines()
    return {tuple(line.split()) for line in lines if line and not line.startswith("#")}


class Report:
    def __init__(self, options):
        self.options, self.known, self.seen, self.failed = options, known_wrong(options), set(), False

    def add(self, title, results):
        counts, looked_at, undecided, late = collections.Counter(), 0, [], []
        classes, on_floats = collections.Counter(), collections.Counter()
        for rule, said, wrong, compared, floats in results:
            verdict = said["verdict"]
            counts[verdict] += 1
            if verdict == "proved":
                classes[said["numbers"]] += 1
                on_floats[said["numbers"]] += floats > 0
            looked_at += compared > 0
            if verdict in ("unknown", "timeout"):
                undecided.append(rule)
            if said["microseconds"] > self.options.timeout * 1.1e6:
                late.append(rule)
            counts.update(KINDS[kind] for kind, _ in wrong)
            self.add_wrong(rule, wrong)
            if compared == 0:
                print(f"not looked at, for want of sizes and numbers: {rule.name}")
        total = sum(counts[v] for v in ("proved", "refuted", "ill-typed", "unknown", "timeout"))
        print(f"{title}: {total} rules, {looked_at} looked at: " + ", ".join(f"{counts[v]} {v}" for v in ("proved", "refuted", "ill-typed")) +
              f", {len(undecided)} undecided, {len(late)} over the time limit; " +
              ", ".join(f"{counts[text]} {text}" for text in KINDS.values()))
        print("proved: " + ", ".join(f"{classes[c]} {c} ({on_floats[c]} run on extreme floats)" for c in PROMISES) +
              f", {classes['special']} special")
        if len(undecided) * 1000 > UNDECIDED_PERMILLE * total or late:
            self.failed = True
            print("undecided: " + ", ".join(r.name for r in undecided) + "\nover the time limit: " + ", ".join(r.name for r in late))
        if looked_at * 100 < 98 * total:
            self.failed = True
            print("too few rules were looked at")

    def add_wrong(self, rule, wrong):
        for kind, evidence in wrong:
            self.seen.add((kind, rule.name))
            if (kind, rule.name) not in self.known:
                self.failed = True
                print(f"{KINDS[kind]}: {rule.text}\n{evidence}\n")

    def late(self, rules):
        for rule in rules:
            self.failed = True
            print(f"over the time limit: {rule.name}")

    def add_inferred(self, results):
        found = sum(proved for _, _, proved in results)
        wrong = [(rule, difference) for rule, difference, _ in results if difference]
        for rule, difference in wrong:
            self.failed = True
            print(f"wrong inferred guards: {rule.text}\n{difference}\n")
        print(f"guards of {len(results)} refuted rules: {found} inferred, {len(wrong)} wrong")

    def finish(self, names):
        """Rules that are known to be judged wrongly are so; each that is not is no longer to be listed."""
        gone = sorted((kind, name) for kind, name in self.known - self.seen if name in names)
        for kind, name in gone:
            print(f"no longer {KINDS[kind]}, take it out of {self.options.known}: {kind} {name}")
        if self.options.renew_known:
            path = pathlib.Path(self.options.known)
            head = [line for line in path.read_text().splitlines() if line.startswith("#")]
            kept = {k for k in self.known if k[1] not in names} | self.seen
            path.write_text("\n".join(head + sorted(" ".join(k) for k in kept)) + "\n")
            return 0
        if self.known:
            print(f"{len(self.seen & self.known)} are known to be wrong ({self.options.known})")
        return 1 if self.failed or gone else 0


def main():
    options = arguments()
    report, groups = Report(options), {}
    for title, text in texts(options):
        said = decided(options, text)
        groups.setdefault(title, []).extend((r, said[r.name], options.seed, options.cases) for r in read_rules(text, MEMBERS))
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for title, tasks in groups.items():
            report.add(title, list(pool.map(judged, tasks, chunksize=8)))
            refuted = [task[0] for task in tasks if task[1]["verdict"] == "refuted"][:options.infer]
            if refuted:
                report.add_inferred(list(pool.map(inferred, [(rule, options, options.cases) for rule in refuted])))
        if options.per_class:
            PerClass(options, report).run(pool)
    return report.finish({task[0].name for tasks in groups.values() for task in tasks})


if __name__ == "__main__":
    sys.exit(main())
