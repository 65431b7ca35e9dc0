"""The policies of policies/: each has its command, the quickest of which gives the same file, and places graphs."""

import json
import pathlib
import re
import shlex
import unittest

import program
from place_test import CHAIN
from program import ProgramTest

POLICIES = pathlib.Path(__file__).resolve().parents[2] / "policies"
MOST_BYTES = 5_000_000


def commands():
    """The arguments of the command of each policy."""
    found = {}
    for line in re.findall(r"^    xflow (train-policy .*)$", (POLICIES / "README.md").read_text(), re.MULTILINE):
        words = shlex.split(line)
        found[pathlib.Path(words[words.index("--out") + 1]).name] = words
    return found


def option(words, name, default):
    return words[words.index(name) + 1] if name in words else default


class ShippedPoliciesTest(ProgramTest):
    def test_have_their_command_and_are_small(self):
        self.assertEqual(sorted(path.name for path in POLICIES.glob("*.npz")), sorted(commands()))
        for name in commands():
            self.assertLess((POLICIES / name).stat().st_size, MOST_BYTES)

    def test_quickest_training_gives_the_same_file(self):
        name, words = "max-load.npz", commands()["max-load.npz"]
        self.assertEqual(min(int(option(one, "--steps", "200")) for one in commands().values()), int(option(words, "--steps", "200")))
        self.succeed(*[self.folder / "made.npz" if word.endswith(name) else word for word in words], "--quiet")
        self.assertEqual((POLICIES / name).read_bytes(), (self.folder / "made.npz").read_bytes())

    def placed(self, objective, policy):
        """The text without the name of the policy, and the JSON."""
        text = self.succeed("place", "in.json", "--objective", objective, "--policy", policy, "--json", "out.json", "--steps", "2000")
        return text.replace(f": {policy}", ""), {**json.loads((self.folder / "out.json").read_text()), "policy": ""}

    def test_are_in_the_program(self):
        self.write("in.json", json.dumps(CHAIN))
        for name, objective in (("max-load", "max-load"), ("latency", "latency"), ("go", "step")):
            self.assertEqual(self.placed(objective, POLICIES / f"{name}.npz"), self.placed(objective, f"shipped:{name}"))
        self.fail_with(64, "there is no shipped policy 'best'; there are go, latency, max-load, step", "place", "in.json", "--policy", "shipped:best")
        self.fail_with(64, "shipped:go: the name of a shipped policy is no file to write", "train-policy", "--graphs", "generator:cells", "--out",
                       "shipped:go")
        # A file of this name has a path.
        self.write("shipped:go", "no archive")
        self.assertIn("the file is no policy", self.run_program("place", "in.json", "--policy", "./shipped:go").stderr)

    def test_place_an_instance(self):
        self.write("in.json", json.dumps(CHAIN))
        for name, words in commands().items():
            objective = "step" if option(words, "--method", "placeto") == "go" else option(words, "--objective", "max-load")
            if objective == "step" and name != "go.npz":
                continue  # tests/cli/parallelize_test.py
            self.succeed("place", "in.json", "--objective", objective, "--policy", POLICIES / name, "--json", "out.json", "--steps", "2000")
            self.assertLessEqual(json.loads((self.folder / "out.json").read_text())["value"], 6)


if __name__ == "__main__":
    program.main()
