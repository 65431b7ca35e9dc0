"""`xflow train-policy` and `xflow place --policy`: files, determinism, and messages."""

import json
import unittest

import numpy
import program
from place_test import CHAIN, node, schema_of, schema_of_step
from json_schema import faults
from program import ProgramTest


class TrainPolicyTest(ProgramTest):
    def train(self, name, *arguments):
        return self.succeed("train-policy", "--out", name, "--quiet", *arguments)

    def test_a_trained_policy_places_an_instance(self):
        self.write("in.json", json.dumps(CHAIN))
        text = self.train("policy.npz", "--graphs", "in.json", "--steps", "3")
        self.assertRegex(text, r"\Asteps       3\nstop        finished\nseed        1\n"
                               r"validation  \d\.\d{4} of the first placement's value, geometric mean over \d graphs\n\Z")
        text = self.succeed("place", "in.json", "--policy", "policy.npz", "--json", "out.json")
        result = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([], faults(result, schema_of("result")))
        self.assertEqual(("policy", 3.5), (result["method"], result["value"]))
        self.assertIn("method      policy\n", text)
        placed = sorted(number for device in result["fpgas"] + result["cpus"] for number in device["nodes"])
        self.assertEqual(list(range(6)), placed)

    def test_a_search_begins_with_what_the_policy_finds(self):
        # A first placement of intervals is not the best one here: the long node is in the middle.
        lengths = [1, 7, 1, 1, 6, 1, 5, 2]
        instance = {**CHAIN, "nodes": [node(number, length) for number, length in enumerate(lengths)],
                    "edges": [{"sourceId": number, "destId": number + 1, "cost": 0.01} for number in range(7)]}
        self.write("in.json", json.dumps(instance))
        self.train("policy.npz", "--graphs", "in.json", "--steps", "0")
        values = []
        for arguments in ([], ["--then", "local-search"]):
            self.succeed("place", "in.json", "--policy", "policy.npz", *arguments, "--steps", "20000", "--json", "out.json")
            values.append(json.loads((self.folder / "out.json").read_text()))
        self.assertLessEqual(values[1]["value"], values[0]["value"])
        self.assertLess(values[0]["steps"], 20000)
        self.assertGreater(values[1]["steps"], values[0]["steps"])

    def test_same_options_give_the_same_bytes_with_and_without_interruption(self):
        arguments = ["--graphs", "generator:inception", "--objective", "latency", "--seed", "3"]
        self.train("a.npz", *arguments, "--steps", "3")
        self.train("b.npz", *arguments, "--steps", "1")
        self.assertNotEqual((self.folder / "a.npz").read_bytes(), (self.folder / "b.npz").read_bytes())
        self.train("b.npz", *arguments, "--steps", "3", "--resume")
        self.assertEqual((self.folder / "a.npz").read_bytes(), (self.folder / "b.npz").read_bytes())

    def test_a_folder_of_instances_is_trained_on(self):
        (self.folder / "graphs").mkdir()
        for number in range(3):
            self.write(f"graphs/{number}.json", json.dumps({**CHAIN, "nodes": [node(k, 1 + number) for k in range(6)]}))
        self.assertIn("over 3 graphs", self.train("policy.npz", "--graphs", "graphs", "--steps", "2"))

    def test_messages(self):
        self.write("in.json", json.dumps(CHAIN))
        self.write("text.npz", "no archive")
        self.train("policy.npz", "--graphs", "in.json", "--steps", "0")
        self.fail_with(64, "there is no family of graphs 'trees'; the families are cells, transformers, layers, recurrent, inception, large",
                       "train-policy", "--graphs", "generator:trees", "--out", "new.npz")
        self.fail_with(64, "in.json: the policy would overwrite a file that is read", "train-policy", "--graphs", "in.json", "--out", "in.json")
        (self.folder / "empty").mkdir()
        self.fail_with(2, "empty: the folder has no .json files", "train-policy", "--graphs", "empty", "--out", "new.npz")
        free = {**CHAIN, "nodes": [node(number, 0) for number in range(6)], "edges": [{**edge, "cost": 0} for edge in CHAIN["edges"]]}
        self.write("free.json", json.dumps(free))
        self.fail_with(2, "free.json: no node and no edge takes time, so that there is nothing to learn", "train-policy", "--graphs",
                       "free.json", "--out", "new.npz")
        missing = json.dumps({**CHAIN, "nodes": [{key: value for key, value in node(0, 1).items() if key != "cpuLatency"}]})
        self.write("missing.json", missing)
        self.fail_with(2, "missing.json:1: node 0: has no 'cpuLatency'", "train-policy", "--graphs", "missing.json", "--out", "new.npz")
        self.fail_with(64, "policy.npz: the policy was trained for the objective max-load, not for latency", "train-policy", "--graphs", "in.json",
                       "--out", "policy.npz", "--resume", "--objective", "latency")
        self.fail_with(64, "policy.npz: the policy was trained for the objective max-load, not for latency", "place", "in.json", "--policy",
                       "policy.npz", "--objective", "latency")
        self.fail_with(64, "the method 'orders' does not go with a policy", "place", "in.json", "--policy", "policy.npz", "--method", "orders")
        backward = {**CHAIN, "nodes": [*CHAIN["nodes"][:5], {**node(5, 1), "isBackwardNode": True}]}
        self.write("backward.json", json.dumps(backward))
        self.fail_with(3, "backward.json: node 5 is a backward node: the latency is that of inference", "train-policy", "--graphs",
                       "backward.json", "--objective", "latency", "--out", "new.npz")
        crowded = {**CHAIN, "maxCPUs": 0, "maxSizePerFPGA": 2}
        self.write("crowded.json", json.dumps(crowded))
        self.fail_with(3, "crowded.json: a policy needs a first placement within the memory of the accelerators, and none was found", "place",
                       "crowded.json", "--policy", "policy.npz")
        wide = {**CHAIN, "nodes": [node(number, 1) for number in range(4001)], "edges": [], "maxSizePerFPGA": 10000}
        self.write("wide.json", json.dumps(wide))
        self.fail_with(3, "wide.json: a policy places at most 4000 groups, and there are 4001", "place", "wide.json", "--policy", "policy.npz")
        run = self.run_program("place", "in.json", "--policy", "text.npz")
        self.assertEqual(2, run.returncode)
        self.assertRegex(run.stderr, r"text\.npz: the file is no policy: ")

    def test_go_plans_steps(self):
        arguments = ["--method", "go", "--graphs", "generator:recurrent"]
        self.assertRegex(self.train("go.npz", *arguments, "--steps", "9"), r"\Asteps       9\nstop        finished\n")
        self.train("parts.npz", *arguments, "--steps", "2")
        self.train("parts.npz", *arguments, "--steps", "9", "--resume")
        self.assertEqual((self.folder / "go.npz").read_bytes(), (self.folder / "parts.npz").read_bytes())
        self.write("in.json", json.dumps(CHAIN))
        plans = []
        for then in ([], ["--then", "local-search"]):
            text = self.succeed("place", "in.json", "--objective", "step", "--cluster", "flexflow-k80", "--policy", "go.npz", *then,
                                "--steps", "400", "--json", "out.json")
            self.assertIn("method      policy: go.npz\n", text)
            plans.append(json.loads((self.folder / "out.json").read_text()))
            self.assertEqual([], faults(plans[-1], schema_of_step()))
        self.assertEqual("policy", plans[0]["method"])

    def test_a_training_that_diverges_keeps_the_best_weights(self):
        self.write("in.json", json.dumps(CHAIN))
        for method, graphs, objective in (("placeto", "generator:layers", "max-load"), ("go", "generator:recurrent", "step")):
            arguments = ["--method", method, "--graphs", graphs]
            self.train("policy.npz", *arguments, "--steps", "2")
            before = dict(numpy.load(self.folder / "policy.npz"))
            huge = {name: numpy.full_like(values, 1e38) if name.startswith("last/") else values for name, values in before.items()}
            numpy.savez(self.folder / "policy.npz", **huge)
            text = self.train("policy.npz", *arguments, "--steps", "40", "--resume")
            self.assertRegex(text, r"\Asteps       \d\nstop        diverged\n")
            after = numpy.load(self.folder / "policy.npz")
            weights = [name.removeprefix("last/") for name in before if name.startswith("last/")]
            self.assertGreater(len(weights), 10)
            for name in weights:
                numpy.testing.assert_array_equal(before[name], after[name])
            self.succeed("place", "in.json", "--objective", objective, "--policy", "policy.npz", "--steps", "50")

    def test_policies_of_another_method_are_refused(self):
        self.write("in.json", json.dumps(CHAIN))
        self.train("placeto.npz", "--graphs", "in.json", "--steps", "0")
        self.train("go.npz", "--method", "go", "--graphs", "in.json", "--steps", "0")
        step = ["place", "in.json", "--objective", "step", "--policy"]
        self.fail_with(2, "placeto.npz: the policy is of the method placeto, not go", *step, "placeto.npz")
        self.fail_with(2, "go.npz: the policy is of the method go, not placeto", "place", "in.json", "--policy", "go.npz")
        self.fail_with(2, "placeto.npz: the policy is of the method placeto, not go", "train-policy", "--method", "go", "--graphs", "in.json",
                       "--out", "placeto.npz", "--resume")
        self.fail_with(64, "the method go has the objective step alone, not latency", "train-policy", "--method", "go", "--objective",
                       "latency", "--graphs", "in.json", "--out", "new.npz")
        self.fail_with(64, "the method 'heft' does not go with a policy", *step, "go.npz", "--method", "heft")
        with numpy.load(self.folder / "go.npz") as file:
            arrays = dict(file)
        numpy.savez(self.folder / "other.npz", **{**arrays, "policy": numpy.array([1, 1, 80, 12])})
        self.fail_with(2, "other.npz: the policy is for 80 features of nodes and 12 of devices, and there are 79 and 12", *step, "other.npz")
        numpy.savez(self.folder / "other.npz", **{**arrays, "graphs": numpy.array([-1, 2, 0])})
        self.fail_with(2, "other.npz: array 'graphs' of the policy has numbers that are out of range", *step, "other.npz")
        del arrays["fused"]
        numpy.savez(self.folder / "other.npz", **arrays)
        self.fail_with(2, "other.npz: the policy has no array 'fused'", *step, "other.npz")

    def test_policies_of_other_features_are_refused(self):
        self.write("in.json", json.dumps(CHAIN))
        self.train("policy.npz", "--graphs", "in.json", "--steps", "0")
        with numpy.load(self.folder / "policy.npz") as file:
            arrays = dict(file)
        for header, message in (([2, 0, 0, 11, 13], "the policy has format 2, and this version of xflow reads 1"),
                                ([1, 7, 0, 11, 13], "the policy is of an unknown method 7"),
                                ([1, 0, 5, 11, 13], "the policy is for an unknown objective 5"),
                                ([1, 0, 0, 12, 13], "the policy is for 12 features of groups and 13 of devices, and there are 11 and 13")):
            numpy.savez(self.folder / "other.npz", **{**arrays, "policy": numpy.array(header)})
            self.fail_with(2, f"other.npz: {message}", "place", "in.json", "--policy", "other.npz")
        numpy.savez(self.folder / "other.npz", x=numpy.zeros(3))
        self.fail_with(2, "other.npz: the file is no policy", "place", "in.json", "--policy", "other.npz")
        del arrays["moment/score_out"]
        numpy.savez(self.folder / "other.npz", **arrays)
        self.fail_with(2, "other.npz: the policy has no array 'moment/score_out'", "place", "in.json", "--policy", "other.npz")


if __name__ == "__main__":
    program.main()
