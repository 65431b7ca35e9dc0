"""`xflow simulate`: times, tables, results and their schemas, pictures, and messages."""

import json
import pathlib
import subprocess
import unittest
import xml.etree.ElementTree as xml

import numpy
import onnx
import onnxruntime
import program
from json_schema import faults
from onnx import TensorProto, helper, numpy_helper
from plans import annotate, configure, spec
from program import ROOFLINE, ProgramTest, float_info, model_of

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
SIZE = 8
TENSOR = 4 * SIZE * SIZE  # bytes


def schema_of(name):
    return json.loads((DOCS / f"{name}.schema.json").read_text())


def device(name, host=0, memory=1e6, **source):
    # Each kernel takes a millisecond, whatever it computes.
    return {"name": name, "kind": "clock", "host": host, "memory": memory,
            **(source or {"roofline": {"launch": 1e-3, "operations": 1e30, "bandwidth": 1e30}})}


# Two devices on one host and one on another. A transfer of a tensor takes 1 ms, or 2 ms to the other host.
CLUSTER = {"name": "three", "devices": [device("a"), device("b"), device("c", host=1)],
           "inside": {"latency": 1e-3, "bandwidth": 1e30}, "across": {"latency": 2e-3, "bandwidth": 1e30}}


def chain(first="first"):
    """A product and three functions, one node without a name, and the identity of a constant, which is no task."""
    weight = numpy_helper.from_array(numpy.ones((SIZE, SIZE), numpy.float32), "w")
    nodes = [
        helper.make_node("Identity", ["w"], ["v"], name="copy"),
        helper.make_node("MatMul", ["x", "v"], ["p"], name=first),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("Exp", ["q"], ["r"], name="exp"),
        helper.make_node("Tanh", ["r"], ["y"], name="last"),
    ]
    return model_of(nodes, [float_info("x", ["rows", SIZE])], [float_info("y", ["rows", SIZE])], [weight])


def plan_of(*devices, **fields):
    """For the nodes of the chain that run."""
    nodes = [{"node": node, "device": one} for node, one in zip(["first", 2, "exp", "last"], devices)]
    return {"version": 1, "nodes": nodes, **fields}


class SimulateTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("chain.onnx", chain())
        self.write("three.json", json.dumps(CLUSTER))

    def simulate(self, model, *arguments, cluster="three.json", status=0):
        """The text and the JSON of a run, which must follow its schema and hold a plan."""
        run = self.run_program("simulate", model, "--cluster", cluster, "--out", "out.json", *arguments)
        self.assertEqual((status, ""), (run.returncode, run.stderr))
        result = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([], faults(result, schema_of("simulate-result")))
        self.assertNotEqual("plan" in result, "divided_nodes" in result)
        self.assertEqual([], faults(result.get("plan", {"version": 1, "nodes": []}), schema_of("plan")))
        return run.stdout, result

    def planned(self, plan, *arguments, **more):
        self.assertEqual([], faults(plan, schema_of("plan")))
        self.write("plan.json", json.dumps(plan))
        return self.simulate("chain.onnx", "--plan", "plan.json", "--shape", f"x:{SIZE},{SIZE}", *arguments, **more)

    def test_all_nodes_on_the_first_device(self):
        text, result = self.simulate("chain.onnx", "--shape", f"x:{SIZE},{SIZE}")
        self.assertAlmostEqual(4e-3, result["step_seconds"])
        self.assertEqual(("single", True, 1, []), (result["policy"], result["fits_memory"], result["without_kernel"], result["links"]))
        self.assertEqual([4, 0, 0], [one["nodes"] for one in result["devices"]])
        first = result["devices"][0]
        self.assertAlmostEqual(1, first["busy_share"])
        # The weight stays; a node's operand and result are there at one time.
        self.assertEqual((TENSOR, TENSOR + 2 * TENSOR), (first["constant_bytes"], first["peak_bytes"]))
        self.assertEqual([{"node": node, "device": "a"} for node in ["first", 2, "exp", "last"]], result["plan"]["nodes"])
        self.assertIn("step        4.0000 ms\nnodes       4 that run, 1 without a kernel\n", text)
        self.assertIn("2 of 3 devices have no nodes\n", text)
        self.assertNotIn("assumed", text)

    def test_a_plan_over_three_devices(self):
        text, result = self.planned(plan_of("a", "b", "c", "c"))
        # 1 + transfer of 1 + 1 + transfer of 2 + 2.
        self.assertAlmostEqual(7e-3, result["step_seconds"])
        self.assertEqual([("a", "b", 1, TENSOR), ("b", "c", 1, TENSOR)],
                         [(link["from"], link["to"], link["transfers"], link["bytes"]) for link in result["links"]])
        self.assertEqual([0], [port["host"] for port in result["ports"]])
        self.assertAlmostEqual(2 / 7, result["ports"][0]["busy_share"])
        self.assertAlmostEqual(2 / 7, result["devices"][2]["busy_share"])
        self.assertRegex(text, r"b -> c +1 +256 B +2\.0000 ms +28\.6 %\n")
        self.assertRegex(text, r"port of host 0 +2\.0000 ms +28\.6 %\n")
        self.assertRegex(text, r"c +clock +2 +2\.0000 ms +28\.6 % +0 B +512 B +1000\.0 kB\n")

    def test_the_plan_of_a_result_is_a_plan(self):
        _, result = self.simulate("chain.onnx", "--policy", "round-robin", "--shape", f"x:{SIZE},{SIZE}")
        self.assertEqual(["a", "b", "c", "a"], [node["device"] for node in result["plan"]["nodes"]])
        _, again = self.planned(result["plan"])
        self.assertEqual(result["step_seconds"], again["step_seconds"])
        self.assertEqual(result["plan"], again["plan"])

    def test_policies_and_defaults(self):
        _, result = self.simulate("chain.onnx", "--policy", "chain", "--shape", f"x:{SIZE},{SIZE}")
        self.assertEqual(["a", "b", "b", "c"], [node["device"] for node in result["plan"]["nodes"]])
        _, result = self.planned({"version": 1, "default": "b", "nodes": [{"node": 1, "device": "c"}]})
        self.assertEqual(["c", "b", "b", "b"], [node["device"] for node in result["plan"]["nodes"]])

    def test_memory_that_a_device_lacks(self):
        crowded = {**CLUSTER, "devices": [device("a", memory=700), device("b")]}
        self.write("crowded.json", json.dumps(crowded))
        text, result = self.planned(plan_of("a", "a", "b", "b"), cluster="crowded.json", status=1)
        self.assertTrue(text.endswith("\n\ndevice 'a' lacks 68 bytes: it has 700 and needs 768, 256 of them for constants\n"), text)
        self.assertEqual((False, [68, 0]), (result["fits_memory"], [one["missing_bytes"] for one in result["devices"]]))

    def test_open_sizes_are_assumed_and_said(self):
        text, result = self.simulate("chain.onnx")
        self.assertEqual(["x: [1, 8]"], result["assumed_sizes"])
        self.assertIn("assumed     x: [1, 8]\n", text)

    def test_opaque_nodes_are_estimated_and_named(self):
        nodes = [helper.make_node("Foo", ["x"], ["z"], name="foo", domain="com.custom"), helper.make_node("Relu", ["z"], ["y"], name="relu")]
        model = model_of(nodes, [float_info("x", [1000])], [float_info("y", [1000])])
        model.graph.value_info.append(float_info("z", [1000]))
        model.opset_import.append(helper.make_opsetid("com.custom", 1))
        self.write("opaque.onnx", model)
        slow = device("a", roofline={"launch": 1e-3, "operations": 1e30, "bandwidth": 1e6})
        self.write("slow.json", json.dumps({**CLUSTER, "devices": [slow]}))
        text, result = self.simulate("opaque.onnx", cluster="slow.json")
        self.assertEqual([{"node": "node 'foo' (Foo)", "reason": "no operator for com.custom.Foo"}], result["estimated"])
        self.assertTrue(text.endswith("\nestimated by the bytes moved:\n  node 'foo' (Foo): no operator for com.custom.Foo\n"), text)
        # Both nodes read and write 1000 floats.
        self.assertAlmostEqual(2 * (1e-3 + 8000 / 1e6), result["step_seconds"])

    def test_nodes_that_share_kernels(self):
        # The product inside the Gemm is that of the MatMul, and the second Relu is the first.
        weights = [numpy_helper.from_array(numpy.ones(shape, numpy.float32), name) for name, shape in [("w", (SIZE, SIZE)), ("c", (SIZE,))]]
        nodes = [
            helper.make_node("Gemm", ["x", "w", "c"], ["g"], name="gemm"),
            helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
            helper.make_node("Relu", ["m"], ["r"], name="relu"),
            helper.make_node("Relu", ["m"], ["s"], name="other"),
            helper.make_node("Sum", ["g", "r", "s"], ["y"], name="sum"),
        ]
        self.write("shared.onnx", model_of(nodes, [float_info("x", [SIZE, SIZE])], [float_info("y", [SIZE, SIZE])], weights))
        _, result = self.simulate("shared.onnx", "--policy", "round-robin")
        self.assertEqual([("gemm", "a"), ("relu", "b"), ("sum", "c")], [(node["node"], node["device"]) for node in result["plan"]["nodes"]])
        self.assertEqual(2, result["without_kernel"])
        # The Gemm and the sum are two kernels each; the two outputs of the Gemm go to one reader each.
        self.assertEqual([2, 1, 2], [round(1e3 * one["busy_seconds"]) for one in result["devices"]])
        self.assertEqual({("a", "b"): 1, ("a", "c"): 1, ("b", "c"): 1}, {(link["from"], link["to"]): link["transfers"] for link in result["links"]})
        self.assertEqual(TENSOR + 4 * SIZE, result["devices"][0]["constant_bytes"])

    def test_a_tensor_is_sent_once_to_a_device_and_kept_if_it_is_a_result(self):
        nodes = [helper.make_node("Split", ["x"], ["s", "t"], name="split", axis=0, num_outputs=2),
                 helper.make_node("Exp", ["s"], ["e"], name="exp"), helper.make_node("Tanh", ["s"], ["y"], name="tanh")]
        outputs = [float_info(name, [SIZE // 2, SIZE]) for name in ["t", "e", "y"]]
        self.write("split.onnx", model_of(nodes, [float_info("x", [SIZE, SIZE])], outputs, opset=18))
        self.write("plan.json", json.dumps({"version": 1, "default": "b", "nodes": [{"node": "split", "device": "a"}]}))
        _, result = self.simulate("split.onnx", "--plan", "plan.json")
        self.assertEqual([("a", "b", 1, TENSOR / 2)],
                         [(link["from"], link["to"], link["transfers"], link["bytes"]) for link in result["links"]])
        self.assertEqual([TENSOR, 1.5 * TENSOR, 0], [one["peak_bytes"] for one in result["devices"]])

    def test_bodies_are_whole_and_what_they_capture_is_read(self):
        then = helper.make_graph([helper.make_node("Exp", ["r"], ["then"])], "t", [], [float_info("then", [SIZE, SIZE])])
        other = helper.make_graph([helper.make_node("Tanh", ["r"], ["else"])], "e", [], [float_info("else", [SIZE, SIZE])])
        nodes = [helper.make_node("Relu", ["x"], ["r"], name="relu"),
                 helper.make_node("If", ["condition"], ["y"], name="if", then_branch=then, else_branch=other)]
        condition = helper.make_tensor_value_info("condition", TensorProto.BOOL, [])
        self.write("if.onnx", model_of(nodes, [float_info("x", [SIZE, SIZE]), condition], [float_info("y", [SIZE, SIZE])]))
        _, result = self.simulate("if.onnx", "--policy", "round-robin")
        self.assertEqual(["node 'if' (If)"], [one["node"] for one in result["estimated"]])
        self.assertEqual([("a", "b", TENSOR)], [(link["from"], link["to"], link["bytes"]) for link in result["links"]])
        self.assertAlmostEqual(3e-3, result["step_seconds"])

    def test_kernels_that_a_device_refuses_are_estimated(self):
        integers = [helper.make_tensor_value_info(name, TensorProto.INT64, [SIZE]) for name in ["x", "y"]]
        self.write("integers.onnx", model_of([helper.make_node("Neg", ["x"], ["y"], name="neg")], integers[:1], integers[1:]))
        self.write("npu.xprof", ROOFLINE)
        self.write("npu.json", json.dumps({**CLUSTER, "devices": [device("npu", profile="npu.xprof")]}))
        _, result = self.simulate("integers.onnx", cluster="npu.json")
        self.assertEqual("node 'neg' (Neg)", result["estimated"][0]["node"])
        self.assertIn("the profile has no line 'roofline peak int64'", result["estimated"][0]["reason"])
        # A launch, and the bytes of eight numbers read and written.
        self.assertAlmostEqual(5e-6 + 2 * 8 * SIZE / 4e11, result["step_seconds"])

    def test_times_of_profiles_and_of_this_machine(self):
        (self.folder / "clusters").mkdir()
        self.write("clusters/npu.xprof", ROOFLINE)
        mixed = {**CLUSTER, "devices": [device("npu", profile="npu.xprof"), device("cpu", cpu={"threads": 1})]}
        self.write("clusters/mixed.json", json.dumps(mixed))
        _, result = self.simulate("chain.onnx", cluster="clusters/mixed.json")
        self.assertAlmostEqual(4 * 5e-6, result["step_seconds"], delta=1e-8)
        _, result = self.simulate("chain.onnx", "--policy", "round-robin", "--costs", "costs.db", cluster="clusters/mixed.json")
        self.assertEqual([2, 2], [one["nodes"] for one in result["devices"]])
        self.assertTrue(all(one["busy_seconds"] > 0 for one in result["devices"]))
        self.assertTrue((self.folder / "costs.db").exists())

    def test_presets_and_equal_bytes_in_each_run(self):
        written = []
        for _ in range(2):
            _, result = self.simulate("chain.onnx", "--policy", "chain", "--timeline", "t.svg", "--trace", "t.json", cluster="slow-16")
            written.append([(self.folder / name).read_bytes() for name in ["out.json", "t.svg", "t.json"]])
        self.assertEqual(*written)
        self.assertEqual(16, len(result["devices"]))

    def test_trace_has_a_slice_for_each_task(self):
        _, result = self.planned(plan_of("a", "b", "c", "a"), "--trace", "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual(["Relu 2", "exp", "first", "last", "p", "q", "r"], sorted(one["name"] for one in slices))
        self.assertAlmostEqual(1e6 * result["step_seconds"], max(one["ts"] + one["dur"] for one in slices))
        rows = {}
        for one in slices:
            rows.setdefault((one["pid"], one["tid"]), []).append((one["ts"], one["ts"] + one["dur"]))
        named = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual({"a", "b", "c", "a -> b", "port of host 0", "port of host 1"}, set(named.values()))
        self.assertEqual(set(named), set(rows))
        for spans in rows.values():
            spans.sort()
            for (_, end), (start, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, start + 1e-6)

    def test_timeline_has_a_rectangle_for_each_task(self):
        self.write("chain.onnx", chain('<script>"&'))
        self.simulate("chain.onnx", "--policy", "round-robin", "--shape", f"x:{SIZE},{SIZE}", "--timeline", "t.svg")
        text = (self.folder / "t.svg").read_text()
        root = xml.fromstring(text)
        self.assertEqual(SVG + "svg", root.tag)
        self.assertEqual([], root.findall(f".//{SVG}script"))
        self.assertIn("prefers-color-scheme:dark", text)
        titles = [rect.find(SVG + "title").text for rect in root.findall(f"{SVG}rect") if rect.get("class") != "back"]
        self.assertEqual(4 + 3, len(titles))
        self.assertIn('<script>"&, 0.0000 to 1.0000 ms', titles)
        rows = [label.find(SVG + "title").text for label in root.findall(f"{SVG}text") if label.find(SVG + "title") is not None]
        self.assertEqual(["a", "b", "c", "a -> b", "port of host 0", "port of host 1"], rows)
        right = max(float(rect.get("x")) + float(rect.get("width")) for rect in root.findall(f"{SVG}rect") if rect.get("class") != "back")
        self.assertAlmostEqual(1170, right, delta=0.02)

    def test_results_on_standard_output(self):
        run = self.run_program("simulate", "chain.onnx", "--cluster", "three.json", "--out", "-")
        self.assertEqual(0, run.returncode)
        self.assertEqual("three", json.loads(run.stdout)["cluster"])
        self.assertTrue(run.stderr.startswith("cluster     three, 3 devices\n"), run.stderr)

    def refuse_plan(self, line, message, plan, status=2):
        self.write("plan.json", json.dumps(plan, indent=1))
        self.fail_with(status, f"plan.json:{line}: {message}" if line else f"plan.json: {message}", "simulate", "chain.onnx", "--cluster", "three.json", "--plan", "plan.json")

    def test_messages_about_plans(self):
        def one(**fields):
            return {"version": 1, "nodes": [{"node": "exp", "device": "a"}, fields]}

        self.refuse_plan(1, "expected a plan, which is an object", [])
        self.refuse_plan(1, "the plan: has no 'version'", {"nodes": []})
        self.refuse_plan(2, "the plan: 'version' is 2; this xflow reads 1", {"version": 2, "nodes": []})
        self.refuse_plan(4, "the plan: unknown field 'device'", {"version": 1, "nodes": [], "device": "a"})
        self.refuse_plan(3, "the plan: 'nodes' is not an array", {"version": 1, "nodes": {}})
        self.refuse_plan(4, "the plan: the cluster 'three' has no device 'd'", {"version": 1, "nodes": [], "default": "d"})
        self.refuse_plan(4, "nodes[0]: expected an object", {"version": 1, "nodes": ["exp"]})
        self.refuse_plan(8, "nodes[1]: has no 'node'", one(device="a"))
        self.refuse_plan(8, "nodes[1]: has no 'device'", one(node="last"))
        self.refuse_plan(11, "nodes[1]: unknown field 'stage'", one(node="last", device="a", stage=1))
        self.refuse_plan(9, "nodes[1]: the model has no node 'end'", one(node="end", device="a"))
        self.refuse_plan(9, "nodes[1]: there is no node 5: the model has 5", one(node=5, device="a"))
        self.refuse_plan(9, "nodes[1]: 'node' is neither a name nor a number", one(node=1.5, device="a"))
        self.refuse_plan(10, "nodes[1]: the cluster 'three' has no device 'd'", one(node="last", device="d"))
        self.refuse_plan(9, "nodes[1]: node 3 has a device already", one(node=3, device="b"))
        self.refuse_plan(None, "node 'first' (MatMul) has no device, and the plan has no 'default'", {"version": 1, "nodes": []}, status=3)
        for plan in ({"nodes": []}, {"version": 2, "nodes": []}, one(node="last"), one(node=-1, device="a"), one(node="last", device=1)):
            self.assertNotEqual([], faults(plan, schema_of("plan")), plan)

    def test_names_that_several_nodes_have(self):
        self.write("chain.onnx", chain("exp"))
        self.refuse_plan(5, "nodes[0]: 2 nodes have the name 'exp'; give their numbers, as 1", {"version": 1, "nodes": [{"node": "exp", "device": "a"}]})
        _, result = self.simulate("chain.onnx")
        self.assertEqual([1, 2, 3, "last"], [node["node"] for node in result["plan"]["nodes"]])

    def test_messages(self):
        at = ["simulate", "chain.onnx", "--cluster"]
        self.fail_with(2, "dgx: neither a file nor a cluster that is built in (dgx-h100, flexflow-k80, slow-16)", *at, "dgx")
        self.fail_with(2, "no.json: cannot open: No such file or directory", *at, "no.json")
        self.fail_with(2, "chain.onnx:1: not JSON; expected a cluster", *at, "chain.onnx")
        self.fail_with(2, "no.json: cannot open: No such file or directory", *at, "slow-16", "--plan", "no.json")
        self.fail_with(2, "no.onnx: cannot open: No such file or directory", "simulate", "no.onnx", "--cluster", "slow-16")
        self.fail_with(64, "three.json: the result would overwrite a file that is read", *at, "three.json", "--out", "three.json")
        self.fail_with(64, "chain.onnx: the result would overwrite a file that is read", *at, "slow-16", "--trace", "chain.onnx")
        self.fail_with(64, "a: two results have the same file", *at, "slow-16", "--out", "a", "--trace", "a")
        self.fail_with(64, "shape 'x' is not of the form NAME:1,3,48,192", *at, "slow-16", "--shape", "x")
        self.write("lost.json", json.dumps({**CLUSTER, "devices": [device("a", profile="no.xprof")]}))
        self.fail_with(3, "no.xprof: cannot read the profile", *at, "lost.json")
        self.write("plan.json", json.dumps(plan_of("a", "a", "a", "a")))
        run = self.run_program(*at, "three.json", "--plan", "plan.json", "--policy", "chain")
        self.assertEqual(64, run.returncode)
        self.assertIn("--plan excludes --policy", run.stderr)

    # The plan as a model.

    def plan_model(self, *arguments, model="chain.onnx", **more):
        self.simulate(model, "--out-model", "plan.onnx", *arguments, **more)
        self.assertEqual("no faults", self.succeed("check-plan", "plan.onnx").splitlines()[-1])
        written = onnx.load(self.folder / "plan.onnx")
        onnx.checker.check_model(written, full_check=True)
        return written

    def test_a_plan_as_a_model(self):
        written = self.plan_model("--policy", "chain")
        self.assertEqual([("three", 3, ["a", "b", "c"])], [(one.name, one.num_devices, list(one.device)) for one in written.configuration])
        entries = [node.device_configurations[0] if node.device_configurations else None for node in written.graph.node]
        self.assertIsNone(entries[0])  # the identity of a constant is no task
        self.assertEqual(["three"] * 4, [one.configuration_id for one in entries[1:]])
        self.assertEqual([0, 1, 1, 2], [one.pipeline_stage for one in entries[1:]])
        specs = [[(one.tensor_name, list(one.device)) for one in entry.sharding_spec] for entry in entries[1:]]
        self.assertEqual([[("x", [0]), ("v", [0]), ("p", [0])], [("p", [1]), ("q", [1])], [("q", [1]), ("r", [1])], [("r", [2]), ("y", [2])]],
                         specs)
        self.assertFalse(any(one.sharded_dim or one.index_to_device_group_map for entry in entries[1:] for one in entry.sharding_spec))

    def test_the_configuration_of_a_model_is_its_plan(self):
        _, expected = self.simulate("chain.onnx", "--policy", "chain", "--out-model", "plan.onnx")
        text, result = self.simulate("plan.onnx")
        self.assertEqual({**expected, "policy": "configuration 'three' of the model"}, result)
        self.assertIn("\nplan        configuration 'three' of the model\n", text)
        # A policy and a plan are taken before it.
        _, result = self.simulate("plan.onnx", "--policy", "single")
        self.assertEqual(("single", ["a"] * 4), (result["policy"], [node["device"] for node in result["plan"]["nodes"]]))
        _, result = self.planned(plan_of("c", "c", "c", "c"))
        self.assertEqual(["c"] * 4, [node["device"] for node in result["plan"]["nodes"]])

    def test_the_configuration_on_another_cluster(self):
        self.simulate("chain.onnx", "--policy", "chain", "--out-model", "plan.onnx")
        # Devices have the same names in another order, then other names.
        moved = {**CLUSTER, "name": "moved", "devices": [device("c"), device("b"), device("a"), device("d")]}
        self.write("moved.json", json.dumps(moved))
        _, result = self.simulate("plan.onnx", cluster="moved.json")
        self.assertEqual(["a", "b", "b", "c"], [node["device"] for node in result["plan"]["nodes"]])
        self.write("others.json", json.dumps({**moved, "devices": [device(name) for name in "xyzw"]}))
        _, result = self.simulate("plan.onnx", cluster="others.json")
        self.assertEqual(["x", "y", "y", "z"], [node["device"] for node in result["plan"]["nodes"]])
        self.write("two.json", json.dumps({**moved, "devices": [device("p"), device("q")]}))
        self.fail_with(3, "plan.onnx: configuration 'three' has 3 devices, and the cluster 'moved' has 2", "simulate", "plan.onnx",
                       "--cluster", "two.json")

    def refuse_configuration(self, message, model):
        self.write("plan.onnx", model)
        self.fail_with(3, f"plan.onnx: {message}", "simulate", "plan.onnx", "--cluster", "three.json")

    def test_messages_about_configurations(self):
        model = chain()
        configure(model, "one", 3, ())
        configure(model, "two", 3, ())
        self.refuse_configuration("the model has the configurations 'one', 'two', and none has the name of the cluster, 'three'", model)
        model = chain()
        configure(model, "three", 3, ())
        first, *others = model.graph.node[1:]
        for node in others:
            annotate(node, spec(node.output[0], [0]), configuration="three")
        self.refuse_configuration("node 'first' (MatMul) has no device in configuration 'three'", model)
        annotate(first, spec("p", [9]), configuration="three")
        self.refuse_configuration("node 'first' (MatMul), configuration 'three', tensor 'p': device 9 does not exist: "
                                  "the configuration has 3 devices (ShardingSpecProto.device)", model)

    def divided(self, *specs):
        model = chain()
        configure(model, "three", 3, ())
        for node in model.graph.node[1:]:
            own = specs if node.name == "first" else [spec(node.output[0], [0])]
            annotate(node, *own, configuration="three")
        return model

    def test_a_configuration_that_divides_nodes(self):
        both = {-1: [0, 1]}
        rows = [spec("x", [0, 1], [(0, 2)]), spec("v", [-1], groups=both), spec("p", [0, 1], [(0, 2)])]
        self.write("plan.onnx", self.divided(*rows))
        text, result = self.simulate("plan.onnx", "--shape", f"x:{SIZE},{SIZE}")
        # Both devices work for 1 ms; half of the product is sent in 1 ms, and the halves are joined in 1 ms; three
        # functions follow.
        self.assertAlmostEqual(6e-3, result["step_seconds"])
        self.assertEqual([("b", "a", 1, TENSOR / 2)], [(link["from"], link["to"], link["transfers"], link["bytes"]) for link in result["links"]])
        self.assertEqual({"running": 4, "on_several_devices": 1}, result["divided_nodes"])
        self.assertIn("\nnodes       4 that run, 1 of them on several devices, 1 without a kernel\n", text)
        run = self.run_program("simulate", "plan.onnx", "--cluster", "three.json", "--shape", f"x:{SIZE},{SIZE}", "--out-model", "again.onnx")
        self.assertEqual((64, "xflow: plan.onnx: the plan divides nodes; it is that of the model, which has it already"),
                         (run.returncode, run.stderr.splitlines()[0].split(" (see ")[0]))
        self.assertFalse((self.folder / "again.onnx").exists())

    def test_divisions_that_are_no_plan(self):
        both, all_three = {-1: [0, 1]}, {-1: [0, 1, 2]}
        place = "node 'first' (MatMul), configuration 'three': "
        self.refuse_configuration(place + "its result has no sharding spec", self.divided(spec("x", [-1], groups=both)))
        self.refuse_configuration(place + "a device that has terms of its sum does not have the sum", self.divided(
            spec("x", [0, 1], [(1, 2)]), spec("v", [0, 1], [(0, 2)]), spec("p", [0])))
        self.refuse_configuration(place + "a device that has its sum has none of its terms", self.divided(
            spec("x", [0, 1], [(1, 2)]), spec("v", [0, 1], [(0, 2)]), spec("p", [-1], groups=all_three)))
        self.refuse_configuration(place + "the devices of its shards have no strides", self.divided(
            spec("p", [-1, 2], [(1, 2)], groups=both)))
        self.refuse_configuration(place + "tensor 'p': size 1 of axis 0 is not divisible into 2 even shards", self.divided(
            spec("p", [0, 1], [(0, 2)])))

    def test_a_plan_as_a_model_keeps_everything_else(self):
        written = self.plan_model("--policy", "chain")
        self.assertEqual(11, written.ir_version)
        for node in written.graph.node:
            del node.device_configurations[:]
        del written.configuration[:]
        written.ir_version = chain().ir_version
        self.assertEqual(chain().SerializeToString(), written.SerializeToString())

    def test_a_plan_as_a_model_runs_in_onnx_runtime(self):
        self.plan_model("--policy", "chain")
        x = numpy.linspace(-1, 1, SIZE * SIZE, dtype=numpy.float32).reshape(SIZE, SIZE)
        results = [onnxruntime.InferenceSession(str(self.folder / name), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
                   for name in ["chain.onnx", "plan.onnx"]]
        numpy.testing.assert_array_equal(*results)

    def test_a_plan_as_a_model_has_no_stages_if_devices_wait_for_each_other(self):
        self.write("plan.json", json.dumps(plan_of("a", "b", "a", "c")))
        written = self.plan_model("--plan", "plan.json")
        self.assertFalse(any(one.HasField("pipeline_stage") for node in written.graph.node for one in node.device_configurations))

    def test_a_plan_as_a_model_replaces_an_earlier_one(self):
        self.plan_model("--policy", "chain")
        (self.folder / "plan.onnx").rename(self.folder / "first.onnx")
        written = self.plan_model("--policy", "single", model="first.onnx")
        self.assertEqual(["three"], [one.name for one in written.configuration])
        self.assertEqual({("y", 0), ("r", 0)}, {(one.tensor_name, one.device[0])
                                               for one in written.graph.node[-1].device_configurations[0].sharding_spec})
        self.assertEqual([1], [len(node.device_configurations) for node in written.graph.node[-1:]])

    def test_a_plan_as_a_model_refers_to_external_data(self):
        model = chain()
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.ones((SIZE, SIZE), numpy.float32), "w"))
        onnx.save(model, self.folder / "outside.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        weights = (self.folder / "weights.bin").read_bytes()
        written = self.plan_model(model="outside.onnx")
        self.assertTrue(numpy.array_equal(numpy_helper.to_array(written.graph.initializer[0]), numpy.ones((SIZE, SIZE))))
        self.assertEqual(weights, (self.folder / "weights.bin").read_bytes())

    def test_a_plan_as_a_model_on_standard_output(self):
        self.write("single.json", json.dumps(CLUSTER))
        run = subprocess.run([program.PROGRAM, "simulate", "chain.onnx", "--cluster", "single.json", "--out-model", "-"], cwd=self.folder,
                             capture_output=True)
        self.assertEqual((0, "three"), (run.returncode, onnx.load_from_string(run.stdout).configuration[0].name))
        self.assertIn(b"step        4.0000 ms", run.stderr)

    def test_a_plan_as_a_model_is_refused(self):
        old = chain()
        old.ir_version = 3
        old.graph.input.append(float_info("w", [SIZE, SIZE]))
        self.write("old.onnx", old)
        run = self.run_program("simulate", "old.onnx", "--cluster", "three.json", "--out-model", "plan.onnx")
        self.assertEqual((3, "xflow: old.onnx: the model has IR version 3, where initializers that are inputs are constants; "
                             "convert it to IR version 4 or later first\n"), (run.returncode, run.stderr))
        self.assertFalse((self.folder / "plan.onnx").exists())
        at = ["simulate", "chain.onnx", "--cluster", "three.json"]
        self.fail_with(64, "chain.onnx: the result would overwrite a file that is read", *at, "--out-model", "chain.onnx")
        self.fail_with(64, "x: two results have the same file", *at, "--out", "x", "--out-model", "x")
        self.fail_with(64, "--out-model reads the model again, so it cannot be standard input", "simulate", "-", "--cluster", "three.json",
                       "--out-model", "plan.onnx")


if __name__ == "__main__":
    program.main()
