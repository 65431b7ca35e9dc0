"""`xflow place`: results, their schema, determinism, and messages."""

import json
import pathlib
import unittest

import program
from json_schema import faults
from program import ProgramTest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def schema_of(name):
    return json.loads((DOCS / f"parallel-{name}.schema.json").read_text())


def schema_of_step():
    return json.loads((DOCS / "placed-step.schema.json").read_text())


def node(number, time, **more):
    return {"id": number, "cpuLatency": 10 * time, "fpgaLatency": time, "size": 1, "supportedOnFpga": True, "isBackwardNode": False, **more}


def edge(source, reader, cost=0.5):
    return {"sourceId": source, "destId": reader, "cost": cost}


# A chain of six nodes: two accelerators share it in the middle, for a load of 3 + 0.5.
CHAIN = {
    "maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 10,
    "nodes": [node(number, 1) for number in range(6)],
    "edges": [edge(number, number + 1) for number in range(5)],
}


class PlaceTest(ProgramTest):
    def place(self, instance, *arguments):
        """The text and the JSON of a run. The instance and the result must follow their schemas."""
        self.assertEqual([], faults(instance, schema_of("instance")))
        self.write("in.json", json.dumps(instance))
        text = self.succeed("place", "in.json", "--json", "out.json", *arguments)
        result = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([], faults(result, schema_of("result")))
        placed = sorted(number for device in result["fpgas"] + result["cpus"] for number in device["nodes"])
        self.assertEqual(sorted(one["id"] for one in instance["nodes"]), placed)
        return text, result

    def test_splits_a_chain_in_the_middle(self):
        text, result = self.place(CHAIN, "--steps", "20000")
        self.assertEqual(3.5, result["value"])
        self.assertEqual(3.5, result["contiguous"])
        self.assertEqual("steps", result["stop"])
        self.assertIn("value       3.5000 ms\n", text)
        self.assertIn("contiguous  3.5000 ms at best\n", text)
        self.assertIn("accelerator 1          3.5000 ms        30.0 %       3\n", text)
        self.assertIn("CPU 1                  0.0000 ms                     0\n", text)

    def test_latency_of_a_chain_is_that_of_one_accelerator(self):
        text, result = self.place(CHAIN, "--objective", "latency", "--budget", "1000s")
        self.assertEqual((6, 6, "longest path", "optimal"), (result["value"], result["bound"], result["bound_by"], result["stop"]))
        self.assertIn("bound       6.0000 ms by longest path, gap 0.00 %\n", text)
        self.assertIn("stop        optimal after ", text)

    def test_every_method_can_be_named(self):
        for objective, methods in (("max-load", ["auto", "orders", "ideals", "local"]), ("latency", ["auto", "greedy", "list", "local"])):
            for method in methods:
                _, result = self.place(CHAIN, "--objective", objective, "--method", method, "--steps", "3000", "--budget", "1000s")
                self.assertLessEqual(result["bound"], result["value"])
        _, result = self.place(CHAIN, "--method", "ideals", "--budget", "1000s")
        self.assertEqual((3.5, "finished"), (result["contiguous"], result["stop"]))

    def test_milp_proves_the_optimum_or_names_what_it_needs(self):
        self.write("in.json", json.dumps(CHAIN))
        run = self.run_program("place", "in.json", "--method", "milp", "--steps", "20000000")
        if run.returncode != 0:
            self.assertEqual(3, run.returncode, run.stderr)
            self.assertRegex(run.stderr, r"the method milp needs COIN-OR Cbc: .*libxflow_cbc\.so")
            return
        _, result = self.place(CHAIN, "--method", "milp", "--steps", "20000000")
        self.assertEqual(3.5, result["value"])
        self.assertIn(result["stop"], ("optimal", "finished"))
        self.assertLessEqual(result["bound"], 3.5)
        self.assertGreater(result["bound"], 3.5 * (1 - 1e-5))

    def test_result_is_a_split(self):
        _, result = self.place(CHAIN, "--steps", "2000", "--budget", "1000s")
        text = self.succeed("place", "in.json", "--split", "out.json", "--json", "evaluated.json")
        evaluated = json.loads((self.folder / "evaluated.json").read_text())
        self.assertEqual([], faults(evaluated, schema_of("result")))
        self.assertEqual((result["value"], "split", True), (evaluated["value"], evaluated["method"], evaluated["fits_memory"]))
        self.assertIn("method      split\n", text)
        self.assertNotIn("stop", text)

    def test_split_that_exceeds_the_memory_is_evaluated(self):
        self.write("in.json", json.dumps({**CHAIN, "maxSizePerFPGA": 4}))
        self.write("split.json", json.dumps({"fpgas": [{"nodes": [0, 1, 2, 3, 4, 5]}], "cpus": []}))
        run = self.run_program("place", "in.json", "--split", "split.json", "--json", "-")
        self.assertEqual((6, False), (json.loads(run.stdout)["value"], json.loads(run.stdout)["fits_memory"]))
        self.assertTrue(run.stderr.startswith("objective   max-load\n"), run.stderr)
        text = self.succeed("place", "in.json", "--split", "split.json")
        self.assertTrue(text.endswith("\nan accelerator has more than its memory\n"), text)

    def test_same_steps_and_seed_give_the_same_bytes(self):
        for objective in ("max-load", "latency"):
            written = []
            for _ in range(2):
                self.place(CHAIN, "--objective", objective, "--steps", "5000", "--seed", "3", "--budget", "1000s")
                written.append((self.folder / "out.json").read_bytes())
            self.assertEqual(*written)

    def test_zero_times_have_a_value_of_zero(self):
        instance = {**CHAIN, "nodes": [node(number, 0) for number in range(6)]}
        _, result = self.place(instance)
        self.assertEqual((0, 0, 0, "optimal"), (result["value"], result["bound"], result["gap"], result["stop"]))

    def test_schema_refuses_what_it_should(self):
        schema = schema_of("instance")
        for change in ({"nodes": []}, {"maxFPGAs": 1.5}, {"maxCPUs": -1}, {"edges": [edge(0, 1, -1)]}, {"nodes": [node(0, 1, supportedOnFpga=2)]},
                       {"nodes": [{"id": 0}]}, {"maxSizePerFPGA": None}):
            self.assertNotEqual([], faults({**CHAIN, **change}, schema), change)
        self.assertNotEqual([], faults({}, schema_of("result")))

    def test_messages(self):
        self.write("in.json", json.dumps(CHAIN))
        self.write("bad.json", json.dumps({"edges": [edge(0, 9)], **{key: value for key, value in CHAIN.items() if key != "edges"}}, indent=1))
        self.write("split.json", json.dumps({"fpgas": [{"nodes": [0, 2]}, {"nodes": [1, 3]}], "cpus": [{"nodes": [4, 5]}]}))
        self.fail_with(2, "bad.json:5: edge 0 -> 9: there is no node 9", "place", "bad.json")
        self.fail_with(2, "no.json: cannot open: No such file or directory", "place", "no.json")
        self.fail_with(64, "budget '3' is not of the form 300s, 500ms or 5m", "place", "in.json", "--budget", "3")
        self.fail_with(64, "in.json: the result would overwrite a file that is read", "place", "in.json", "--json", "in.json")
        self.fail_with(64, "the objective latency has no method 'milp'", "place", "in.json", "--objective", "latency", "--method", "milp")
        self.fail_with(64, "the objective latency has no method 'ideals'", "place", "in.json", "--objective", "latency", "--method", "ideals")
        parts = json.dumps({"fpgas": [{"nodes": [0, 3]}, {"nodes": [1, 2]}], "cpus": [{"nodes": [4, 5]}]})
        self.write("parts.json", parts)
        forked = {**CHAIN, "edges": [edge(0, 1), edge(2, 3)]}
        self.write("forked.json", json.dumps(forked))
        self.fail_with(3, "parts.json: parts of the split wait for each other, so that it has no latency", "place", "forked.json",
                       "--objective", "latency", "--split", "parts.json")
        crowded = {**CHAIN, "maxCPUs": 0, "maxSizePerFPGA": 2}
        self.write("crowded.json", json.dumps(crowded))
        self.fail_with(3, "crowded.json: no placement within the memory of the accelerators was found", "place", "crowded.json")
        text = self.run_program("place", "in.json", "--split", "split.json", "--seed", "3")
        self.assertEqual(64, text.returncode)
        self.assertIn("--split excludes --seed", text.stderr)


# A chain whose first five nodes may be fused, beside two nodes without edges.
STEP = {
    **CHAIN,
    "nodes": [*CHAIN["nodes"], node(10, 4), node(11, 4)],
    "fusions": [{"nodeId": number, "intoId": number + 1, "saved": 0.25} for number in range(5)],
}


class PlaceStepTest(ProgramTest):
    def plan(self, instance, *arguments):
        """The text and the JSON of a run. The instance and the plan must follow their schemas."""
        self.assertEqual([], faults(instance, schema_of("instance")))
        self.write("in.json", json.dumps(instance))
        text = self.succeed("place", "in.json", "--objective", "step", "--json", "out.json", *arguments)
        plan = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([], faults(plan, schema_of_step()))
        placed = sorted(number for device in plan["devices"] for number in device["nodes"])
        self.assertEqual(sorted(one["id"] for one in instance["nodes"]), placed)
        return text, plan

    def test_a_plan_that_meets_its_bound_ends_the_search(self):
        for method in ([], ["--method", "local"], ["--method", "intervals"]):
            text, plan = self.plan(STEP, "--budget", "1000s", *method)
            self.assertEqual(("optimal", 4.75, 4.75, 0), (plan["stop"], plan["value"], plan["bound"], plan["gap"]))
            self.assertEqual([{"nodeId": number, "intoId": number + 1} for number in range(5)], plan["fusions"])
            chain = next(device["nodes"] for device in plan["devices"] if 0 in device["nodes"])
            self.assertEqual(list(range(6)), chain)
        self.assertIn("cluster     dgx-h100\n", text)
        self.assertIn("value       4.7500 ms\nbound       4.7500 ms, gap 0.00 %\nfused       5 of 5 nodes that could be\n", text)
        self.assertRegex(text, r"stop        optimal after \d+ plans, seed 1\n")

    def test_nodes_stay_apart_if_asked_for(self):
        text, plan = self.plan(STEP, "--no-fusions", "--budget", "1000s")
        self.assertEqual((6, []), (plan["value"], plan["fusions"]))
        self.assertIn("fused       0 of 5 nodes that could be\n", text)

    def test_heft_needs_no_search(self):
        text, plan = self.plan({**STEP, "edges": [*STEP["edges"], edge(10, 11, 0.001)], "fusions": []}, "--method", "heft")
        self.assertEqual("heft", plan["method"])
        self.assertLess(plan["steps"], 4)
        self.assertNotIn("fused", text)

    def test_the_same_steps_and_seed_give_the_same_plan(self):
        # A tree of more nodes than devices, whose transfers take as long as its nodes.
        many = {**CHAIN, "nodes": [node(number, 1 + number % 5) for number in range(63)],
                "edges": [edge(number // 2, number, 2) for number in range(2, 63)]}
        plans = [self.plan(many, "--steps", "500", "--seed", seed)[1] for seed in ("1", "1", "2")]
        self.assertEqual(plans[0], plans[1])
        self.assertEqual("steps", plans[0]["stop"])
        self.assertNotEqual(plans[0]["devices"], plans[2]["devices"])
        self.assertLessEqual(self.plan(many, "--steps", "2000")[1]["value"], plans[0]["value"])

    def test_auto_has_the_shipped_policy_for_large_graphs(self):
        def tree(nodes):
            return {**CHAIN, "nodes": [node(number, 1 + number % 5) for number in range(nodes)],
                    "edges": [edge(number // 2, number, 2) for number in range(2, nodes)]}

        text, plan = self.plan(tree(10000), "--steps", "40")
        self.assertEqual(("policy", "shipped:go", "steps"), (plan["method"], plan["policy"], plan["stop"]))
        self.assertIn("method      policy: shipped:go\n", text)
        for instance, arguments in ((tree(9999), ["--steps", "40"]), (tree(10000), ["--budget", "900ms", "--steps", "40"]),
                                    (tree(10000), ["--method", "local", "--steps", "40"])):
            text, plan = self.plan(instance, *arguments)
            self.assertEqual("local", plan["method"])
            self.assertNotIn("policy", plan)
            self.assertIn("method      local\n", text)

    def test_memory_that_lacks_is_said(self):
        big = {**CHAIN, "nodes": [{**one, "size": 5e11} for one in CHAIN["nodes"]], "maxSizePerFPGA": 1e12}
        text, plan = self.plan(big, "--steps", "50")
        self.assertEqual(6 * (5e11 - 8e10), plan["missing"])
        self.assertIn("\ndevices lack 2520000000000 bytes of memory\n", text)

    def test_messages(self):
        self.write("in.json", json.dumps(STEP))
        step = ["place", "in.json", "--objective", "step"]
        self.fail_with(64, "the objective step has no method 'orders'", *step, "--method", "orders")
        self.fail_with(64, "the objective max-load has no method 'heft'", "place", "in.json", "--method", "heft")
        self.fail_with(64, "--split is for the objectives max-load and latency", *step, "--split", "in.json")
        self.fail_with(64, "--cluster is for the objective step", "place", "in.json", "--cluster", "dgx-h100")
        self.fail_with(64, "--no-fusions is for the objective step", "place", "in.json", "--no-fusions")
        coloured = {**CHAIN, "nodes": [{**one, "colorClass": one["id"] // 2} for one in CHAIN["nodes"]]}
        self.write("coloured.json", json.dumps(coloured))
        self.fail_with(3, "coloured.json: nodes 0 and 1 have one colour class: a planned step places nodes one by one", "place",
                       "coloured.json", "--objective", "step")


if __name__ == "__main__":
    program.main()
