"""`xflow parallelize`: plans, their schema, pictures, and messages."""

import json
import pathlib
import shutil
import xml.etree.ElementTree as xml

import numpy
import onnx
import program
from json_schema import faults
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "parallelize-result.schema.json").read_text())


def device(name, memory=1e9):
    # Kernels take the time of their arithmetic.
    return {"name": name, "kind": "test", "host": 0, "memory": memory, "roofline": {"launch": 0, "operations": 1e9, "bandwidth": 1e30}}


def cluster(count, memory=1e9, latency=0.0):
    return json.dumps({"name": "test", "devices": [device(f"d{k}", memory) for k in range(count)],
                       "inside": {"latency": latency, "bandwidth": 1e30}})


def weights(name, rows, columns):
    return numpy_helper.from_array(numpy.ones((rows, columns), numpy.float32), name)


def two_products(rows=8):
    nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="first"),
             helper.make_node("Relu", ["p"], ["q"]),
             helper.make_node("MatMul", ["q", "b"], ["y"], name="second")]
    return model_of(nodes, [float_info("x", [rows, 100])], [float_info("y", [rows, 50])], [weights("a", 100, 200), weights("b", 200, 50)])


class ParallelizeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("model.onnx", two_products())
        self.write("four.json", cluster(4))

    def parallelize(self, *arguments, model="model.onnx", of="four.json", status=0):
        """The text and the JSON of a run, which must follow its schema."""
        run = self.run_program("parallelize", model, "--cluster", of, "--steps", "300", "--out", "plan.json", *arguments)
        self.assertEqual((status, ""), (run.returncode, run.stderr))
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual([], faults(plan, SCHEMA))
        return run.stdout, plan

    def test_four_devices_take_a_quarter_where_transfers_are_free(self):
        text, plan = self.parallelize()
        single = 8 * (2 * 100 * 200 + 200 + 2 * 200 * 50) / 1e9
        self.assertAlmostEqual(single, plan["starts"][0]["step_seconds"], delta=1e-9)
        self.assertAlmostEqual(single / 4, plan["step_seconds"], delta=1e-9)
        # The work of one device, over four.
        self.assertAlmostEqual(single / 4, plan["bound_seconds"], delta=1e-9)
        self.assertIn("bound       0.1204 ms: no plan has a shorter step (gap 0.0 %)\n", text)
        self.assertEqual(["single", "data parallel", "data 2 x tensor 2", "data 1 x tensor 4", "one weird trick",
                          "heft", "m-etf", "m-topo"],
                         [start["name"] for start in plan["starts"]])
        self.assertEqual(["first", 1, "second"], [node["node"] for node in plan["nodes"]])
        self.assertEqual(plan["claims"]["decided"], plan["claims"]["proved"])
        self.assertEqual(("optimal", 0), (plan["search"]["stop"], plan["search"]["proposals"]))
        self.assertTrue(text.startswith("cluster     test, 4 devices\nobjective   latency\nstep        0.1204 ms, found from the plan 'data parallel'\n"), text)
        self.assertIn("claims on splits are proved; splits of the others are not used", text)

    def test_slow_links_are_not_used(self):
        """Copies of the first product feed the columns of the second one. Only these can be divided without a transfer."""
        self.write("one.onnx", two_products(rows=1))
        self.write("slow.json", cluster(4, latency=1.0))
        _, plan = self.parallelize(model="one.onnx", of="slow.json")
        self.assertEqual(([], "steps", 300), (plan["links"], plan["search"]["stop"], plan["search"]["proposals"]))
        columns = 13  # of 50, in the largest of four parts
        self.assertAlmostEqual((2 * 100 * 200 + 200 + 2 * 200 * columns) / 1e9, plan["step_seconds"], delta=1e-9)

    def test_the_same_seed_gives_the_same_plan(self):
        _, first = self.parallelize("--seed", "5", "--objective", "training-step")
        _, second = self.parallelize("--seed", "5", "--objective", "training-step")
        self.assertEqual(first, second)
        self.assertEqual("training-step", first["objective"])

    def test_a_cluster_without_the_memory_is_refused_with_the_bytes(self):
        self.write("small.json", cluster(2, memory=50e3))
        text, plan = self.parallelize(of="small.json", status=1)
        self.assertFalse(plan["fits_memory"])
        self.assertRegex(text, r"device 'd[01]' lacks [0-9]+ bytes: it has 50000 and needs [0-9]+, [0-9]+ of them for constants")

    def test_the_plan_as_a_configuration_of_onnx(self):
        _, plan = self.parallelize("plan.onnx")
        check = self.run_program("check-plan", "plan.onnx")
        self.assertEqual((0, ""), (check.returncode, check.stderr))
        model = onnx.load(self.folder / "plan.onnx")
        onnx.checker.check_model(model)
        self.assertEqual(11, model.ir_version)
        self.assertEqual(("test", ["d0", "d1", "d2", "d3"]), (model.configuration[0].name, list(model.configuration[0].device)))
        # Four rows of data, and all of the weights on each device.
        specs = {spec.tensor_name: spec for spec in model.graph.node[0].device_configurations[0].sharding_spec}
        self.assertEqual({"x", "a", "p"}, set(specs))
        for tensor in ["x", "p"]:
            (dim,) = specs[tensor].sharded_dim
            self.assertEqual((0, 8, 4, [0, 1, 2, 3]),
                             (dim.axis, dim.simple_sharding[0].dim_value, dim.simple_sharding[0].num_shards, list(specs[tensor].device)))
        self.assertEqual(([], [-1], [0, 1, 2, 3]), (list(specs["a"].sharded_dim), list(specs["a"].device),
                                                    list(specs["a"].index_to_device_group_map[0].value)))
        # Nothing else changes.
        for node in model.graph.node:
            del node.device_configurations[:]
        original = onnx.load(self.folder / "model.onnx")
        self.assertEqual(original.graph, model.graph)

    def test_a_plan_for_onnx_has_equal_parts(self):
        """Seven has no equal parts for four devices, nor for two."""
        product = helper.make_node("MatMul", ["x", "a"], ["y"])
        self.write("seven.onnx", model_of([product], [float_info("x", [7, 7])], [float_info("y", [7, 7])], [weights("a", 7, 7)]))
        _, plan = self.parallelize(model="seven.onnx")
        self.assertEqual(4, len(plan["nodes"][0]["devices"]))
        _, plan = self.parallelize("plan.onnx", model="seven.onnx")
        self.assertEqual([], [split for split in plan["nodes"][0]["splits"] if split["axis"] != "copies"])
        self.assertEqual(0, self.run_program("check-plan", "plan.onnx").returncode)

    def test_the_parts_of_a_plan_compute_what_the_model_does(self):
        for arguments in [[], ["--objective", "training-step"], ["--objective", "throughput"]]:
            with self.subTest(arguments):
                shutil.rmtree(self.folder / "parts", ignore_errors=True)
                _, plan = self.parallelize("--parts", "parts", *arguments)
                manifest = json.loads((self.folder / "parts/manifest.json").read_text())
                self.assertEqual([], faults(manifest, json.loads((DOCS / "parts.schema.json").read_text())))
                used = {name for node in plan["nodes"] for name in node["devices"]}
                self.assertEqual(sorted(used), [one["name"] for one in manifest["devices"]])
                for part in manifest["parts"]:
                    onnx.checker.check_model(onnx.load(self.folder / "parts" / part["file"]), full_check=True)
                run = self.run_program("run", "parts", "--check-against", "model.onnx")
                self.assertEqual((0, ""), (run.returncode, run.stderr))
                self.assertIn("equal: 1 output on 1 set of inputs", run.stdout)

    def test_a_folder_with_files_is_not_filled(self):
        (self.folder / "full").mkdir()
        self.write("full/a.txt", "a")
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--steps", "1", "--parts", "full")
        self.assertEqual((3, "xflow: full: the folder is not empty; choose another one or remove its files\n"), (run.returncode, run.stderr))

    def test_a_pipeline_has_a_bound(self):
        """Two products of 0.32 and 0.16 ms: one device each, with the function beside the second."""
        text, plan = self.parallelize("--objective", "throughput")
        self.assertAlmostEqual(8 * 2 * 100 * 200 / 1e9, plan["pipeline"]["load_seconds"], delta=1e-9)
        self.assertEqual(("optimal", 0), (plan["search"]["stop"], round(plan["pipeline"]["gap"], 9)))
        self.assertRegex(text, r"load        0\.3200 ms between two samples, found by '[a-z]+'; at least 0\.3200 ms \(gap 0\.0 %\)\n")
        devices = {node["node"]: node["devices"] for node in plan["nodes"]}
        self.assertNotEqual(devices["first"], devices["second"])

    def test_a_pipeline_needs_devices_that_are_alike(self):
        self.write("two.json", json.dumps({"name": "two", "devices": [device("a"), device("b", memory=1e8)],
                                           "inside": {"latency": 0, "bandwidth": 1e30}}))
        run = self.run_program("parallelize", "model.onnx", "--cluster", "two.json", "--objective", "throughput")
        self.assertEqual((3, "xflow: the throughput of a pipeline needs devices that are alike; 'a' and 'b' are not\n"), (run.returncode, run.stderr))

    def test_the_first_devices_of_a_cluster(self):
        _, plan = self.parallelize("--devices", "2")
        self.assertEqual(["d0", "d1"], [one["name"] for one in plan["devices"]])

    def test_the_first_devices_of_hosts_in_any_order(self):
        """The first device is on the last host, whose port both devices need."""
        devices = [{**device(f"d{k}"), "host": host} for k, host in enumerate([2, 0, 1])]
        rates = {"latency": 0.0, "bandwidth": 1e30}
        self.write("hosts.json", json.dumps({"name": "hosts", "devices": devices, "inside": rates, "across": rates}))
        _, plan = self.parallelize("--devices", "2", of="hosts.json")
        self.assertEqual(2, len(plan["devices"]))
        self.assertEqual({"d0", "d1"}, {name for node in plan["nodes"] for name in node["devices"]})

    def test_one_device_has_nothing_to_search(self):
        self.write("one.json", cluster(1))
        text, plan = self.parallelize(of="one.json")
        self.assertEqual(("optimal", 0), (plan["search"]["stop"], plan["search"]["proposals"]))
        self.assertIn("cluster     test, 1 device\n", text)

    def test_pictures(self):
        self.parallelize("--timeline", "step.svg", "--trace", "trace.json")
        self.assertTrue(xml.parse(self.folder / "step.svg").getroot().tag.endswith("svg"))
        names = {event["name"] for event in json.loads((self.folder / "trace.json").read_text())["traceEvents"]}
        self.assertTrue({"first", "Relu 1", "second"} <= names, names)

    def test_messages(self):
        for status, arguments, message in [
            (2, ["--cluster", "none"], "xflow: none: neither a file nor a cluster that is built in (dgx-h100, flexflow-k80, slow-16)\n"),
            (64, ["--cluster", "four.json", "--devices", "5"], "xflow: 5 devices of a cluster of 4\n"),
            (64, ["--cluster", "four.json", "--budget", "soon"], "xflow: budget 'soon' is not of the form 300s, 500ms or 5m\n"),
            (64, ["--cluster", "four.json", "--out", "model.onnx"], "xflow: model.onnx: the result would overwrite a file that is read\n"),
            (64, ["--cluster", "four.json", "--out", "a.json", "--trace", "a.json"], "xflow: a.json: two results have the same file\n"),
            (64, ["--cluster", "four.json", "--shape", "z:1"], "xflow: no input 'z'; the inputs are 'x'\n"),
        ]:
            with self.subTest(arguments):
                run = self.run_program("parallelize", "model.onnx", *arguments)
                self.assertEqual(status, run.returncode)
                self.assertEqual(message.replace("\n", " (see 'xflow parallelize --help')\n") if status == 64 else message, run.stderr)


if __name__ == "__main__":
    program.main()
