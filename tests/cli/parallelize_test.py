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
from parts import Parts, session
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


def flattened_rows():
    """Softmax needs all of the first dimension. The second one can be divided, but for the product of flattened rows."""
    nodes = [helper.make_node("MatMul", ["x", "a"], ["p"]), helper.make_node("Softmax", ["p"], ["s"], axis=0),
             helper.make_node("Reshape", ["s", "flat"], ["f"]), helper.make_node("Gemm", ["f", "b", "c"], ["g"], name="product"),
             helper.make_node("Reshape", ["g", "rows"], ["r"]), helper.make_node("Softmax", ["r"], ["y"], axis=0)]
    shapes = [numpy_helper.from_array(numpy.array(shape, numpy.int64), name) for name, shape in [("flat", [32, 20]), ("rows", [4, 8, 10])]]
    return model_of(nodes, [float_info("x", [4, 8, 30])], [float_info("y", [4, 8, 10])],
                    [weights("a", 30, 20), weights("b", 20, 10), numpy_helper.from_array(numpy.ones(10, numpy.float32), "c"), *shapes])


class ParallelizeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("model.onnx", two_products())
        self.write("four.json", cluster(4))

    def parallelize(self, *arguments, model="model.onnx", of="four.json", status=0, steps=300):
        """The text and the JSON of a run, which must follow its schema."""
        run = self.run_program("parallelize", model, "--cluster", of, "--steps", str(steps), "--out", "plan.json", *arguments)
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
        self.assertEqual(["single", "data parallel", "data 2 x tensor 2", "data 1 x tensor 4", "axis 1 parallel",
                          "axis 1 / 2 x tensor 2", "one weird trick", "heft", "m-etf", "m-topo", "random"],
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

    def test_rewrites_let_a_dimension_be_split(self):
        """A transfer takes a second, so the best plan of the model as it is has none."""
        self.write("rows.onnx", flattened_rows())
        self.write("slow.json", cluster(4, latency=1.0))
        text, plan = self.parallelize("rewritten.onnx", "--rewrite", "--parts", "parts", model="rows.onnx", of="slow.json")
        rules = {entry["rule"]: entry["count"] for entry in plan["rewrites"]["rules"]}
        self.assertEqual(1, rules["unflattened-rows-of-product"])
        self.assertEqual(1, rules["unflattened-rows-of-sum"])
        self.assertIn("axis 1 parallel", plan["start"])
        single = plan["starts"][0]["step_seconds"]
        self.assertAlmostEqual(single / 4, plan["step_seconds"], delta=1e-3 * single)
        self.assertGreater(plan["rewrites"]["step_without_seconds"], 1.1 * plan["step_seconds"])
        self.assertRegex(text, r"rewrites    step without them 0\.\d{4} ms, \d\.\d{3} times as long; \d+ graphs planned\n")
        self.assertIn("            1 x unflattened-rows-of-product\n", text)
        self.assertEqual(0, self.run_program("check-plan", "rewritten.onnx").returncode)
        self.succeed("run", "parts", "--check-against", "rows.onnx")
        self.succeed("check", "rows.onnx", "rewritten.onnx")

    def test_rewrites_are_the_same_in_every_run(self):
        self.write("rows.onnx", flattened_rows())
        first, second = (self.parallelize("--rewrite", model="rows.onnx") for _ in range(2))
        self.assertEqual(first, second)

    def test_a_model_that_no_rewrite_helps_stays(self):
        text, plan = self.parallelize("plan.onnx", "--rewrite")
        self.assertEqual(([], plan["step_seconds"]), (plan["rewrites"]["rules"], plan["rewrites"]["step_without_seconds"]))
        self.assertRegex(text, r"rewrites    none makes the step shorter; \d+ graphs? planned\n")
        model = onnx.load(self.folder / "plan.onnx")
        for node in model.graph.node:
            del node.device_configurations[:]
        self.assertEqual(onnx.load(self.folder / "model.onnx").graph, model.graph)

    def test_a_pipeline_has_no_rewrites(self):
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--objective", "throughput", "--rewrite")
        self.assertEqual((64, "xflow: rewrites are searched for latency and training-step (see 'xflow parallelize --help')\n"),
                         (run.returncode, run.stderr))

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

    def test_the_configuration_is_simulated_as_the_plan(self):
        """Links take time. Plans divide samples, terms of sums and columns, over some of the devices or all."""
        self.write("slow.json", cluster(4, latency=1e-6))
        for of, seed in [("four.json", 1), ("slow.json", 1), ("slow.json", 2)]:
            with self.subTest(of, seed=seed):
                _, plan = self.parallelize("plan.onnx", "--seed", seed, of=of)
                self.succeed("simulate", "plan.onnx", "--cluster", of, "--out", "step.json")
                step = json.loads((self.folder / "step.json").read_text())
                self.assertEqual(plan["step_seconds"], step["step_seconds"])
                self.assertEqual(plan["links"], step["links"])
                self.assertEqual("configuration 'test' of the model", step["policy"])

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

    def test_a_configuration_has_the_parts_of_the_plan(self):
        _, plan = self.parallelize("plan.onnx", "--parts", "parts")
        self.assertTrue(any(len(node["devices"]) > 1 for node in plan["nodes"]))
        self.succeed("split", "plan.onnx", "--out", "configured")
        manifests = []
        for folder, origin in [("parts", "xflow parallelize"), ("configured", "configuration 'test' of the model")]:
            manifests.append(json.loads((self.folder / folder / "manifest.json").read_text()))
            self.assertEqual(origin, manifests[-1]["plan"])
        same = ["devices", "parts", "inputs", "outputs"]
        self.assertEqual([manifests[0][key] for key in same], [manifests[1][key] for key in same])
        for part in manifests[0]["parts"]:
            self.assertEqual((self.folder / "parts" / part["file"]).read_bytes(), (self.folder / "configured" / part["file"]).read_bytes())
        self.succeed("run", "configured", "--check-against", "model.onnx")

    def test_a_bias_is_added_once_to_a_sum_of_terms(self):
        bias = numpy_helper.from_array(numpy.full(3, 7, numpy.float32), "b")
        gemm = model_of([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], [float_info("x", [1, 64])], [float_info("y", [1, 3])],
                        [weights("w", 3, 64), bias])
        kernel = numpy_helper.from_array(numpy.ones((3, 64, 1, 1), numpy.float32), "w")
        conv = model_of([helper.make_node("Conv", ["x", "w", "b"], ["y"])], [float_info("x", [1, 64, 1, 1])],
                        [float_info("y", [1, 3, 1, 1])], [kernel, bias])
        for name, model in [("gemm.onnx", gemm), ("conv.onnx", conv)]:
            with self.subTest(name):
                self.write(name, model)
                _, plan = self.parallelize("--parts", f"{name}.parts", model=name)
                self.assertEqual([("sum", 4)], [(split["axis"], split["parts"]) for split in plan["nodes"][0]["splits"]])
                run = self.run_program("run", f"{name}.parts", "--check-against", name)
                self.assertEqual((0, ""), (run.returncode, run.stderr), run.stdout)

    def agrees(self, name, expected, inputs, of="four.json"):
        """The parts of a plan with these splits of the first node compute what the model does, in xflow and in ONNX Runtime."""
        shutil.rmtree(self.folder / "parts", ignore_errors=True)
        _, plan = self.parallelize("--parts", "parts", model=name, of=of)
        self.assertEqual(expected, [(split["axis"], split["parts"]) for split in plan["nodes"][0]["splits"]])
        run = self.run_program("run", "parts", "--check-against", name)
        self.assertEqual((0, ""), (run.returncode, run.stderr), run.stdout)
        (whole,) = session(self.folder / name).run(None, inputs)
        (found,) = Parts(self.folder / "parts").run(inputs).values()
        numpy.testing.assert_allclose(whole, found, rtol=1e-5, atol=1e-6)

    def configuration_agrees(self, name, expected, of="four.json"):
        """As a configuration a plan has these splits of the first node, no fault, and the simulated step of the plan."""
        _, plan = self.parallelize("configured.onnx", model=name, of=of)
        self.assertEqual(expected, [(split["axis"], split["parts"]) for split in plan["nodes"][0]["splits"]])
        self.succeed("check-plan", "configured.onnx")
        self.succeed("simulate", "configured.onnx", "--cluster", of, "--out", "step.json")
        self.assertEqual(plan["step_seconds"], json.loads((self.folder / "step.json").read_text())["step_seconds"])

    def test_reductions_to_one_element_are_divided(self):
        for operator, axis in [("ReduceMean", "sum"), ("ReduceSum", "sum"), ("ReduceMax", "maximum"), ("ReduceMin", "minimum"),
                               ("GlobalAveragePool", "sum"), ("GlobalMaxPool", "maximum")]:
            with self.subTest(operator):
                is_pool = operator.startswith("Global")
                shape, result = ([1, 1, 4000], [1, 1, 1]) if is_pool else ([4000], [1])
                self.write("reduced.onnx", model_of([helper.make_node(operator, ["x"], ["y"])], [float_info("x", shape)], [float_info("y", result)]))
                x = numpy.random.default_rng(1).normal(size=shape).astype(numpy.float32)
                self.agrees("reduced.onnx", [(axis, 4)], {"x": x})
                self.configuration_agrees("reduced.onnx", [(axis, 4)])
                text = self.succeed("parallelize", "reduced.onnx", "--cluster", "four.json", "--steps", "300")
                self.assertIn(f"{axis} / 4", text)

    def test_a_mean_is_divided_into_parts_that_are_not_equal(self):
        """Parts of 1, 2, 1 and 2 terms count as much as they have of the six terms, and a bias is added once."""
        self.write("six.onnx", model_of([helper.make_node("ReduceMean", ["x"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])],
                                        [float_info("x", [6])], [float_info("y", [1])], [numpy_helper.from_array(numpy.ones(1, numpy.float32), "b")]))
        self.agrees("six.onnx", [("sum", 4)], {"x": numpy.array([1, 20, 300, 4000, 50000, 600000], numpy.float32)})

    def test_concatenations_are_divided_along_their_axis(self):
        """Parts of 64 columns, of operands of 100, 56 and 100: each has other operands, or several."""
        shapes = {"x": [1, 100], "w": [1, 56], "z": [1, 100]}
        w = numpy.random.default_rng(1).normal(size=shapes["w"]).astype(numpy.float32)
        self.write("joined.onnx", model_of([helper.make_node("Concat", ["x", "w", "z"], ["y"], axis=1, name="join")],
                                           [float_info(name, shapes[name]) for name in "xz"], [float_info("y", [1, 256])],
                                           [numpy_helper.from_array(w, "w")]))
        self.write("moving.json", json.dumps({"name": "moving", "devices": [
            {**device(f"d{k}"), "roofline": {"launch": 0, "operations": 1e9, "bandwidth": 1e9}} for k in range(4)],
            "inside": {"latency": 0, "bandwidth": 1e30}}))
        inputs = {name: numpy.random.default_rng(2).normal(size=shapes[name]).astype(numpy.float32) for name in "xz"}
        self.agrees("joined.onnx", [(1, 4)], inputs, of="moving.json")
        # A configuration would say which equal shard of each operand a device has.
        self.configuration_agrees("joined.onnx", [], of="moving.json")

    def test_rows_of_a_table_are_divided(self):
        """Indices count from the begin and from the end; a device has a quarter of the rows."""
        table = numpy_helper.from_array(numpy.random.default_rng(1).normal(size=(1000, 3)).astype(numpy.float32), "table")
        for element, dtype in [(onnx.TensorProto.INT64, numpy.int64), (onnx.TensorProto.INT32, numpy.int32)]:
            with self.subTest(dtype):
                x = helper.make_tensor_value_info("i", element, [1, 7])
                self.write("rows.onnx", model_of([helper.make_node("Gather", ["table", "i"], ["y"], axis=0)], [x], [float_info("y", [1, 7, 3])], [table]))
                self.write("small.json", cluster(4, memory=3500))
                indices = numpy.array([[0, 249, 250, 999, -1, -1000, -501]], dtype)
                self.agrees("rows.onnx", [("sum", 4)], {"i": indices}, of="small.json")
                self.configuration_agrees("rows.onnx", [("sum", 4)], of="small.json")

    def test_parts_have_operators_of_the_model_s_opset(self):
        """Before opset 10 there is no Mod, which rows of a table need, and before opset 12 no Max of integers."""
        table = numpy_helper.from_array(numpy.ones((1000, 3), numpy.float32), "table")
        gather = [helper.make_node("Gather", ["table", "i"], ["y"], axis=0)]
        index = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1, 7])
        largest = [helper.make_node("ReduceMax", ["x"], ["y"], axes=[0], keepdims=0)]
        integers = [helper.make_tensor_value_info(name, onnx.TensorProto.INT32, shape) for name, shape in (("x", [4000]), ("y", []))]
        self.write("small.json", cluster(4, memory=3500))
        for opset, nodes, inputs, outputs, constants, of, has_parts in [
                (9, gather, [index], [float_info("y", [1, 7, 3])], [table], "small.json", False),
                (10, gather, [index], [float_info("y", [1, 7, 3])], [table], "small.json", True),
                (11, largest, integers[:1], integers[1:], [], "four.json", False),
                (12, largest, integers[:1], integers[1:], [], "four.json", True)]:
            with self.subTest(f"{nodes[0].op_type} {opset}"):
                shutil.rmtree(self.folder / "parts", ignore_errors=True)
                self.write("old.onnx", model_of(nodes, inputs, outputs, constants, opset=opset))
                # Without parts to write, both are divided.
                for options, is_divided in [([], True), (["--parts", "parts"], has_parts)]:
                    run = self.run_program("parallelize", "old.onnx", "--cluster", of, "--steps", "300", "--out", "plan.json", *options)
                    # One device has no memory for the table.
                    self.assertEqual((0 if is_divided or of == "four.json" else 1, ""), (run.returncode, run.stderr))
                    splits = json.loads((self.folder / "plan.json").read_text())["nodes"][0]["splits"]
                    self.assertEqual(is_divided, any(split["axis"] in ("sum", "maximum") for split in splits))
                run = self.run_program("run", "parts", "--check-against", "old.onnx")
                self.assertEqual((0, ""), (run.returncode, run.stderr))

    def test_outputs_that_no_node_computes(self):
        """An input, its copy, and a constant."""
        model = two_products()
        model.graph.node.append(helper.make_node("Identity", ["x"], ["copy"]))
        model.graph.output.extend([float_info("x", [8, 100]), float_info("copy", [8, 100]), float_info("a", [100, 200])])
        self.write("outputs.onnx", model)
        self.parallelize("--parts", "parts", model="outputs.onnx")
        run = self.run_program("run", "parts", "--check-against", "outputs.onnx")
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertIn("equal: 4 outputs on 1 set of inputs", run.stdout)
        x = numpy.random.default_rng(1).normal(size=(8, 100)).astype(numpy.float32)
        found = Parts(self.folder / "parts").run({"x": x})
        for name, expected in [("x", x), ("copy", x), ("a", numpy.ones((100, 200), numpy.float32))]:
            numpy.testing.assert_array_equal(found[name], expected)

    def test_a_folder_with_files_is_not_filled(self):
        (self.folder / "full").mkdir()
        self.write("full/a.txt", "a")
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--steps", "1", "--parts", "full")
        self.assertEqual((3, "xflow: full: the folder is not empty; choose another one or remove its files\n"), (run.returncode, run.stderr))

    def test_a_policy_places_a_pipeline(self):
        """The result is never below the bound, and the search after the policy finds what a search finds."""
        policy = pathlib.Path(__file__).resolve().parents[2] / "policies/max-load.npz"
        text, plan = self.parallelize("--objective", "throughput", "--policy", policy)
        self.assertIn("between two samples, found by 'policy'", text)
        self.assertGreaterEqual(plan["pipeline"]["load_seconds"], 8 * 2 * 100 * 200 / 1e9 * (1 - 1e-9))
        _, plan = self.parallelize("--objective", "throughput", "--policy", policy, "--then", "local-search")
        self.assertAlmostEqual(8 * 2 * 100 * 200 / 1e9, plan["pipeline"]["load_seconds"], delta=1e-9)
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--policy", policy)
        self.assertEqual((64, f"xflow: {policy}: the policy was trained for the objective max-load, not for step (see 'xflow parallelize --help')\n"),
                         (run.returncode, run.stderr))
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--objective", "throughput", "--policy", "four.json")
        self.assertEqual(2, run.returncode)
        self.assertIn("four.json: the file is no policy: ", run.stderr)

    def test_a_policy_shortens_a_step(self):
        policy = pathlib.Path(__file__).resolve().parents[2] / "policies/step.npz"
        for more in [[], ["--then", "local-search"], ["--method", "placeto"]]:
            text, plan = self.parallelize("--policy", policy, *more)
            self.assertEqual("placeto", plan["method"])
            self.assertLessEqual(plan["step_seconds"], min(start["step_seconds"] for start in plan["starts"]) * (1 + 1e-9))
            self.assertIn(" proposals for ", text)
        for arguments, message in [(["--method", "placeto"], "the method 'placeto' needs a policy"),
                                   (["--method", "go"], "the method 'go' needs a policy"),
                                   (["--method", "local", "--policy", policy], "the method 'local' does not go with a policy"),
                                   (["--policy", policy, "--rewrite"], "the method 'placeto' does not go with rewrites"),
                                   (["--policy", policy, "--reward", "measured"], "measured steps are for the methods local and colocrl")]:
            run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", *arguments)
            self.assertEqual((64, f"xflow: {message} (see 'xflow parallelize --help')\n"), (run.returncode, run.stderr))

    def test_a_policy_of_go_places_whole_nodes(self):
        self.succeed("train-policy", "--method", "go", "--graphs", "generator:layers", "--steps", "0", "--out", "go.npz", "--quiet")
        for more in [[], ["--then", "local-search"], ["--method", "go", "--objective", "training-step"]]:
            text, plan = self.parallelize("--policy", "go.npz", *more)
            self.assertEqual("go", plan["method"])
            self.assertLessEqual(plan["step_seconds"], min(start["step_seconds"] for start in plan["starts"]) * (1 + 1e-9))
            self.assertIn(" proposals for ", text)
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--method", "placeto", "--policy", "go.npz")
        self.assertEqual((2, "xflow: go.npz: the policy is of the method go, not placeto\n"), (run.returncode, run.stderr))

    def test_whole_nodes_are_placed(self):
        """Two chains of two products that a sum joins: a device each."""
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="first"), helper.make_node("MatMul", ["p", "b"], ["q"], name="second"),
                 helper.make_node("MatMul", ["x", "a2"], ["r"], name="third"), helper.make_node("MatMul", ["r", "b2"], ["s"], name="fourth"),
                 helper.make_node("Add", ["q", "s"], ["y"])]
        all_weights = [weights("a", 100, 200), weights("a2", 100, 200), weights("b", 200, 50), weights("b2", 200, 50)]
        self.write("chains.onnx", model_of(nodes, [float_info("x", [8, 100])], [float_info("y", [8, 50])], all_weights))
        for objective in ["latency", "training-step"]:
            for method in ["local", "colocrl"]:
                text, plan = self.parallelize("--method", method, "--objective", objective, model="chains.onnx")
                self.assertEqual((method, "steps", 300, 0, None),
                                 (plan["method"], plan["search"]["stop"], plan["search"]["proposals"], plan["placement"]["measured_plans"],
                                  plan["measured_seconds"]))
                self.assertEqual(["single", "heft", "m-etf", "m-topo"], [start["name"] for start in plan["starts"]])
                self.assertLess(plan["step_seconds"], 0.52 * plan["starts"][0]["step_seconds"])
                self.assertTrue(all(node["splits"] == [] and len(node["devices"]) == 1 for node in plan["nodes"]))
                self.assertRegex(text, r"search      300 proposals for \d groups of nodes, \d+ up to the best, seed 1, ended by: steps\n")
                self.assertEqual((text, plan), self.parallelize("--method", method, "--objective", objective, model="chains.onnx"))
        text, plan = self.parallelize("plan.onnx", "--method", "colocrl", "--parts", "parts", model="chains.onnx")
        self.assertEqual(0, self.run_program("check-plan", "plan.onnx").returncode)
        self.succeed("run", "parts", "--check-against", "chains.onnx")

    def test_a_method_says_what_it_found(self):
        """Of one product after the other, nothing is shorter than one device."""
        self.write("slow.json", cluster(4, latency=1.0))
        text, plan = self.parallelize("--method", "colocrl", of="slow.json")
        self.assertEqual(("single", 0), (plan["start"], plan["placement"]["best_after"]))
        self.assertIn("step        0.4816 ms, found from the plan 'single'\n", text)
        self.write("two.onnx", model_of(
            [helper.make_node("MatMul", ["x", "a"], ["y"]), helper.make_node("MatMul", ["x", "b"], ["z"])], [float_info("x", [8, 100])],
            [float_info("y", [8, 200]), float_info("z", [8, 200])], [weights("a", 100, 200), weights("b", 100, 200)]))
        text, plan = self.parallelize("--method", "local", model="two.onnx")
        self.assertAlmostEqual(8 * 2 * 100 * 200 / 1e9, plan["step_seconds"], delta=1e-9)

    def test_threads_do_not_change_the_plan(self):
        one, two = [self.parallelize("--method", "colocrl", "--threads", threads)[1] for threads in ["1", "2"]]
        self.assertEqual(one, two)
        run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", "--threads", "0")
        self.assertEqual((64, "xflow: --threads: Value 0 not in range 1 to 1024 (see 'xflow parallelize --help')\n"), (run.returncode, run.stderr))

    def test_methods_for_whole_nodes_have_their_limits(self):
        for arguments, message in [
                (["--method", "local", "--objective", "throughput"], "the method 'local' does not go with the objective throughput"),
                (["--method", "colocrl", "--rewrite"], "the method 'colocrl' does not go with rewrites"),
                (["--reward", "measured"], "measured steps are for the methods local and colocrl"),
                (["--method", "colocrl", "--reward", "measured", "--objective", "training-step"],
                 "measured steps are for the objective latency: plans are run forward"),
                (["--method", "colocrl", "--reward", "measured"],
                 "four.json: measured steps need a cluster of CPUs of this machine, such as cpu-2")]:
            run = self.run_program("parallelize", "model.onnx", "--cluster", "four.json", *arguments)
            self.assertEqual((64, f"xflow: {message} (see 'xflow parallelize --help')\n"), (run.returncode, run.stderr))

    def test_measured_steps_are_those_of_parts_that_run(self):
        here = {"kind": "cpu", "host": 0, "memory": 1e9, "cpu": {"threads": 1}}
        self.write("here.json", json.dumps({"name": "here", "devices": [{"name": name, **here} for name in ["a", "b"]],
                                            "inside": {"latency": 1e-6, "bandwidth": 1e9}}))
        for method in ["local", "colocrl"]:
            text, plan = self.parallelize("--method", method, "--reward", "measured", of="here.json", steps=4)
            self.assertGreater(plan["measured_seconds"], 0)
            self.assertGreaterEqual(plan["placement"]["measured_plans"], 1)
            self.assertLessEqual(plan["placement"]["measured_plans"], 8)
            self.assertRegex(text, r"measured    \d+\.\d{4} ms, the median of its steps on this machine; \d plans? (was|were) run\n")

    def test_a_pipeline_has_a_bound(self):
        """Two products of 0.32 and 0.16 ms: one device each, with the function beside the second."""
        text, plan = self.parallelize("--objective", "throughput")
        self.assertAlmostEqual(8 * 2 * 100 * 200 / 1e9, plan["pipeline"]["load_seconds"], delta=1e-9)
        self.assertEqual(("optimal", 0), (plan["search"]["stop"], round(plan["pipeline"]["gap"], 9)))
        self.assertRegex(text, r"load        0\.3200 ms between two samples, found by '[a-z]+'; at least 0\.3200 ms \(gap 0\.0 %\)\n")
        devices = {node["node"]: node["devices"] for node in plan["nodes"]}
        self.assertNotEqual(devices["first"], devices["second"])

    def test_micro_batches_of_a_training_step(self):
        nodes = [helper.make_node("MatMul", [f"x{layer}" if layer else "x", f"w{layer}"], ["y" if layer == 3 else f"x{layer + 1}"])
                 for layer in range(4)]
        self.write("chain.onnx", model_of(nodes, [float_info("x", [256, 256])], [float_info("y", [256, 256])],
                                          [weights(f"w{layer}", 256, 256) for layer in range(4)]))
        # Gradients of the weights, 262,144 bytes each, take much longer over the link than the activations between two layers.
        link = {"latency": 0, "bandwidth": 1e7}
        self.write("slow.json", json.dumps({"name": "slow", "devices": [{**device("a"), "host": 0}, {**device("b"), "host": 1}],
                                                 "inside": link, "across": link}))
        options = ["--objective", "training-step"]
        text, plan = self.parallelize("plan.onnx", *options, "--parts", "parts", model="chain.onnx", of="slow.json", steps=0)
        starts = {start["name"]: start["step_seconds"] for start in plan["starts"]}
        self.assertEqual(["pipeline 2, 2 batches", "pipeline 2, 4 batches", "pipeline 2, 8 batches"],
                         [name for name in starts if name.startswith("pipeline")])
        # More batches leave the stages idle for less of the step.
        self.assertLess(starts["pipeline 2, 8 batches"], 0.9 * starts["pipeline 2, 2 batches"])
        self.assertLess(starts["pipeline 2, 8 batches"], 0.95 * min(starts["data parallel"], starts["data 1 x tensor 2"]))
        self.assertEqual("pipeline 2, 8 batches", plan["start"])
        self.assertEqual(0, plan["untried_starts"])
        self.assertNotIn("not tried", text)
        batches = {"axis": 0, "parts": 8, "stride": 0}
        self.assertEqual([([batches], ["a"])] * 2 + [([batches], ["b"])] * 2, [(node["splits"], node["devices"]) for node in plan["nodes"]])
        self.assertIn("     2 MatMul                  axis 0 in 8 batches                     a\n", text)
        # What is written has all batches of a device as one.
        self.assertEqual(0, self.run_program("check-plan", "plan.onnx").returncode)
        run = self.run_program("run", "parts", "--check-against", "chain.onnx")
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        # A third of a microsecond is over before the first pipeline.
        text, hasty = self.parallelize("hasty.onnx", *options, "--budget", "0.0003ms", model="chain.onnx", of="slow.json", steps=0)
        self.assertEqual(3, hasty["untried_starts"])
        self.assertIn("\n            3 more pipelines were not tried: half of the time limit was over\n", text)
        # The search goes on from there: batches also hide the transfers of other splits.
        _, found = self.parallelize(*options, model="chain.onnx", of="slow.json")
        self.assertLess(found["step_seconds"], 0.95 * plan["step_seconds"])

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
