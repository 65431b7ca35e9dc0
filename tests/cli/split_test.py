"""`xflow split`: parts, manifests and their schema, and messages."""

import json
import pathlib
import unittest

import numpy
import onnx
from json_schema import faults
from onnx import TensorProto, helper, numpy_helper
from parts import Parts, cpu_cluster, plan_of, session
from program import ProgramTest, float_info, model_of

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/parts.schema.json").read_text())
SIZE = 8


def weight(name, *shape):
    return numpy_helper.from_array(numpy.random.default_rng(1).normal(size=shape).astype(numpy.float32), name)


def diamond(batch="rows"):
    """A product, two branches and their sum."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
        helper.make_node("Relu", ["p"], ["q"], name="relu"),
        helper.make_node("Tanh", ["p"], ["r"], name="tanh"),
        helper.make_node("Add", ["q", "r"], ["s"], name="sum"),
        helper.make_node("MatMul", ["s", "w"], ["y"], name="last"),
    ]
    model = model_of(nodes, [float_info("x", [batch, SIZE])], [float_info("y", [batch, SIZE])], [weight("w", SIZE, SIZE)],
                     producer_name="somebody", doc_string="a diamond")
    helper.set_model_props(model, {"author": "somebody"})
    return model


class SplitTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("pair.json", json.dumps(cpu_cluster()))
        self.write("diamond.onnx", diamond())

    def plan(self, devices, name="plan.json", **fields):
        """`devices` by number of the node."""
        nodes = [{"node": node, "device": device} for node, device in devices.items()]
        return self.write(name, json.dumps({"version": 1, "nodes": nodes, **fields}))

    def split(self, model, devices, *arguments, folder="parts", cluster="pair.json", **fields):
        plan = self.plan(devices, **fields)
        text = self.succeed("split", model, "--plan", plan, "--cluster", cluster, "--out", folder, *arguments)
        parts = Parts(self.folder / folder)
        self.assertEqual([], faults(parts.manifest, SCHEMA))
        return text, parts

    def parts_of(self, manifest):
        return [(part["device"], part["nodes"]) for part in manifest["parts"]]

    def agree(self, model, parts, **inputs):
        """The parts compute what the model computes, bit for bit."""
        whole = session(self.folder / model)
        expected = dict(zip((value.name for value in whole.get_outputs()), whole.run(None, inputs)))
        found = parts.run(inputs)
        self.assertEqual(list(expected), list(found))
        for name, value in expected.items():
            self.assertEqual(value.tobytes(), found[name].tobytes(), name)

    def x(self, rows=3):
        return numpy.random.default_rng(2).normal(size=(rows, SIZE)).astype(numpy.float32)

    def test_a_device_that_a_path_leaves_and_enters_has_two_parts(self):
        text, parts = self.split("diamond.onnx", {0: "cpu0", 1: "cpu1", 2: "cpu0", 3: "cpu0", 4: "cpu0"})
        # The sum waits for the Relu; Tanh does not.
        self.assertEqual([("cpu0", 2), ("cpu1", 1), ("cpu0", 2)], self.parts_of(parts.manifest))
        self.assertEqual([[{"name": "x"}], [{"name": "p", "part": 0}], [{"name": "q", "part": 1}, {"name": "r", "part": 0}]],
                         [part["inputs"] for part in parts.manifest["parts"]])
        self.assertEqual([["p", "r"], ["q"], ["y"]], [part["outputs"] for part in parts.manifest["parts"]])
        self.assertEqual([{"name": "cpu0", "parts": [0, 2]}, {"name": "cpu1", "parts": [1]}], parts.manifest["devices"])
        self.assertEqual(
            "3 parts on 2 devices of cluster cpu-2\n\n"
            "part  device            nodes   model inputs tensors received  file\n"
            "   0  cpu0                  2              1                0  part-0.onnx\n"
            "   1  cpu1                  1              0                1  part-1.onnx\n"
            "   2  cpu0                  2              0                2  part-2.onnx\n", text)
        self.agree("diamond.onnx", parts, x=self.x())

    def test_parts_keep_all_that_the_model_says(self):
        _, parts = self.split("diamond.onnx", {0: "cpu0", 1: "cpu1", 2: "cpu1", 3: "cpu1", 4: "cpu1"})
        model = diamond()
        for part in parts.manifest["parts"]:
            own = onnx.load(self.folder / "parts" / part["file"])
            for field in ["ir_version", "opset_import", "producer_name", "doc_string", "metadata_props"]:
                self.assertEqual(getattr(model, field), getattr(own, field))
            self.assertEqual([node.SerializeToString() for node in model.graph.node if node.name in [one.name for one in own.graph.node]],
                             [node.SerializeToString() for node in own.graph.node])
            # Both products read the weight.
            self.assertEqual(list(model.graph.initializer), list(own.graph.initializer))

    def test_devices_without_nodes_have_no_part(self):
        self.write("three.json", json.dumps(cpu_cluster(3)))
        _, parts = self.split("diamond.onnx", {0: "cpu2"}, default="cpu0", cluster="three.json")
        self.assertEqual(["cpu0", "cpu2"], [device["name"] for device in parts.manifest["devices"]])
        self.agree("diamond.onnx", parts, x=self.x())

    def test_nodes_without_a_device_follow_their_first_reader(self):
        _, parts = self.split("diamond.onnx", {1: "cpu1", 3: "cpu0"})
        # The product follows the Relu, tanh the sum, and the last product the sum that it reads.
        self.assertEqual([("cpu1", 2), ("cpu0", 3)], self.parts_of(parts.manifest))

    def test_captured_values_are_inputs(self):
        branch = helper.make_graph([helper.make_node("Add", ["p", "w"], ["t"])], "then", [], [float_info("t", [SIZE, SIZE])])
        other = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["e"])], "else", [], [float_info("e", [SIZE, SIZE])])
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["p"]),
            helper.make_node("ReduceSum", ["p"], ["sum"], keepdims=0),
            helper.make_node("Greater", ["sum", "zero"], ["is_positive"]),
            helper.make_node("If", ["is_positive"], ["y"], then_branch=branch, else_branch=other),
        ]
        zero = numpy_helper.from_array(numpy.float32(0), "zero")
        self.write("if.onnx", model_of(nodes, [float_info("x", [SIZE, SIZE])], [float_info("y", [SIZE, SIZE])], [weight("w", SIZE, SIZE), zero]))
        _, parts = self.split("if.onnx", {0: "cpu0", 1: "cpu0", 2: "cpu0", 3: "cpu1"})
        self.assertEqual([{"name": "is_positive", "part": 0}, {"name": "x"}, {"name": "p", "part": 0}], parts.manifest["parts"][1]["inputs"])
        for sign in [1, -1]:
            self.agree("if.onnx", parts, x=sign * numpy.abs(self.x(SIZE)))

    def test_constants_are_copied_and_known_sizes_are_initializers(self):
        nodes = [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("Shape", ["r"], ["shape"]),
            helper.make_node("Transpose", ["w"], ["wt"]),
            helper.make_node("MatMul", ["r", "wt"], ["p"]),
            helper.make_node("Reshape", ["p", "shape"], ["q"]),
            helper.make_node("MatMul", ["q", "wt"], ["y"]),
        ]
        self.write("sizes.onnx", model_of(nodes, [float_info("x", ["rows", SIZE])], [float_info("y", ["rows", SIZE])], [weight("w", SIZE, SIZE)]))
        devices = {0: "cpu0", 1: "cpu0", 2: "cpu0", 3: "cpu0", 4: "cpu1", 5: "cpu1"}
        _, parts = self.split("sizes.onnx", devices)
        # Open sizes are computed when the model runs.
        self.assertEqual([("cpu0", 4), ("cpu1", 3)], self.parts_of(parts.manifest))
        self.assertEqual(["p", "shape"], [one["name"] for one in parts.manifest["parts"][1]["inputs"]])
        self.assertEqual((0, 1), (parts.manifest["left_out"], parts.manifest["copied"]))
        self.agree("sizes.onnx", parts, x=self.x())
        text, parts = self.split("sizes.onnx", devices, "--shape", f"x:3,{SIZE}", folder="fixed")
        self.assertEqual(["p"], [one["name"] for one in parts.manifest["parts"][1]["inputs"]])
        self.assertEqual((1, 1), (parts.manifest["left_out"], parts.manifest["copied"]))
        self.assertTrue(text.endswith("\n\ncopied      1 node of constants that several parts read\n"
                                      "left out    1 node with results that are known before a run or not needed\n"), text)
        self.agree("sizes.onnx", parts, x=self.x())

    def test_defaults_of_inputs_stay_defaults(self):
        model = diamond()
        model.graph.input.append(float_info("w", [SIZE, SIZE]))
        self.write("default.onnx", model)
        _, parts = self.split("default.onnx", {0: "cpu0", 1: "cpu1", 2: "cpu1", 3: "cpu1", 4: "cpu1"})
        self.assertEqual([{"name": "x"}, {"name": "w", "has_default": True}], parts.manifest["parts"][0]["inputs"])
        self.agree("default.onnx", parts, x=self.x())
        self.agree("default.onnx", parts, x=self.x(), w=2 * self.x(SIZE))
        # Before IR version 4 every initializer is an input, and none can be given.
        model.ir_version = 3
        self.write("old.onnx", model)
        _, parts = self.split("old.onnx", {0: "cpu0"}, folder="old", default="cpu1")
        self.assertEqual([["x"], ["p"]], [[one["name"] for one in part["inputs"]] for part in parts.manifest["parts"]])

    def test_each_part_has_the_external_data_that_it_reads(self):
        size = 32
        nodes = [helper.make_node("MatMul", ["x", "v"], ["p"]), helper.make_node("MatMul", ["p", "w"], ["y"])]
        model = model_of(nodes, [float_info("x", [3, size])], [float_info("y", [3, size])], [weight("v", size, size), weight("w", size, size)])
        onnx.save(model, self.folder / "external.onnx", save_as_external_data=True, location="weights", size_threshold=0)
        _, parts = self.split("external.onnx", {0: "cpu0", 1: "cpu1"})
        self.assertEqual([4 * size * size] * 2, [(self.folder / f"parts/part-{k}.data").stat().st_size for k in range(2)])
        self.agree("external.onnx", parts, x=numpy.ones((3, size), numpy.float32))

    def test_functions_and_their_operator_sets_stay(self):
        body = [helper.make_node("Relu", ["a"], ["b"])]
        function = helper.make_function("own", "Positive", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
        nodes = [helper.make_node("Positive", ["x"], ["p"], domain="own"), helper.make_node("Positive", ["p"], ["y"], domain="own")]
        model = model_of(nodes, [float_info("x", [2])], [float_info("y", [2])])
        model.opset_import.append(helper.make_opsetid("own", 1))
        model.functions.append(function)
        model.graph.value_info.append(float_info("p", [2]))
        self.write("function.onnx", model)
        _, parts = self.split("function.onnx", {0: "cpu0", 1: "cpu1"})
        self.agree("function.onnx", parts, x=numpy.array([-1, 1], numpy.float32))

    def test_outputs_that_no_node_computes(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        outputs = [float_info(name, [SIZE]) for name in ["y", "x", "w"]]
        self.write("pass.onnx", model_of(nodes, [float_info("x", [SIZE])], outputs, [weight("w", SIZE)]))
        _, parts = self.split("pass.onnx", {0: "cpu1"})
        self.assertEqual([{"name": "y", "part": 0}, {"name": "x"}, {"name": "w", "part": 0}], parts.manifest["outputs"])
        self.assertEqual([["y", "w"]], [part["outputs"] for part in parts.manifest["parts"]])

    def test_random_values_are_drawn_once(self):
        nodes = [helper.make_node("RandomUniform", [], ["u"], shape=[SIZE]), helper.make_node("Add", ["x", "u"], ["p"]),
                 helper.make_node("Sub", ["p", "u"], ["y"])]
        self.write("random.onnx", model_of(nodes, [float_info("x", [SIZE])], [float_info("y", [SIZE])]))
        _, parts = self.split("random.onnx", {0: "cpu0", 1: "cpu0", 2: "cpu1"})
        self.assertEqual([("cpu0", 2), ("cpu1", 1)], self.parts_of(parts.manifest))
        self.assertEqual(["p", "u"], [one["name"] for one in parts.manifest["parts"][1]["inputs"]])

    def test_the_configuration_of_the_model_is_a_plan(self):
        devices = {0: "cpu0", 1: "cpu0", 2: "cpu1", 3: "cpu0", 4: "cpu1"}
        self.write("sized.onnx", diamond(batch=3))
        _, parts = self.split("sized.onnx", devices)
        self.succeed("simulate", "sized.onnx", "--plan", "plan.json", "--cluster", "pair.json", "--out-model", "plan.onnx")
        for arguments in [[], ["--cluster", "pair.json"]]:
            with self.subTest(arguments):
                folder = f"configured{len(arguments)}"
                self.succeed("split", "plan.onnx", "--out", folder, *arguments)
                configured = Parts(self.folder / folder)
                self.assertEqual([], faults(configured.manifest, SCHEMA))
                self.assertEqual("configuration 'cpu-2' of the model", configured.manifest["plan"])
                same = ["devices", "parts", "inputs", "outputs"]
                self.assertEqual([parts.manifest[key] for key in same], [configured.manifest[key] for key in same])
                self.agree("sized.onnx", configured, x=self.x())

    def test_devices_of_a_configuration_without_names_have_numbers(self):
        self.write("sized.onnx", diamond(batch=3))
        self.succeed("simulate", "sized.onnx", "--policy", "chain", "--cluster", "pair.json", "--out-model", "plan.onnx")
        plan = onnx.load(self.folder / "plan.onnx")
        for names, expected in [(["a", "b"], ["a", "b"]), (["a", "a"], ["device0", "device1"]), ([], ["device0", "device1"])]:
            with self.subTest(names):
                del plan.configuration[0].device[:]
                plan.configuration[0].device.extend(names)
                self.write("named.onnx", plan)
                folder = f"parts-{'-'.join(names)}"
                self.succeed("split", "named.onnx", "--out", folder)
                parts = Parts(self.folder / folder)
                self.assertEqual(expected, [device["name"] for device in parts.manifest["devices"]])
                self.agree("sized.onnx", parts, x=self.x())

    def test_messages_on_configurations(self):
        self.fail_with(3, "diamond.onnx: the model has no multi-device configuration; give a plan", "split", "diamond.onnx", "--out", "parts")
        self.fail_with(3, "diamond.onnx: the model has no multi-device configuration; give a plan", "split", "diamond.onnx", "--cluster", "pair.json", "--out", "parts")
        self.plan({}, default="cpu0")
        self.fail_with(64, "a plan needs the cluster of its devices", "split", "diamond.onnx", "--plan", "plan.json", "--out", "parts")
        self.write("other.json", json.dumps({**cpu_cluster(), "name": "other"}))
        self.succeed("simulate", "diamond.onnx", "--policy", "chain", "--cluster", "pair.json", "--out-model", "one.onnx")
        self.succeed("simulate", "one.onnx", "--policy", "single", "--cluster", "other.json", "--out-model", "two.onnx")
        self.fail_with(3, "two.onnx: the model has the configurations 'cpu-2', 'other'; give a cluster with the name of one", "split", "two.onnx", "--out", "parts")
        self.assertFalse((self.folder / "parts").exists())
        self.succeed("split", "two.onnx", "--cluster", "other.json", "--out", "parts")
        self.assertEqual(["cpu0"], [device["name"] for device in Parts(self.folder / "parts").manifest["devices"]])

    def test_messages(self):
        plan = self.plan({0: "cpu0"}, default="cpu1")
        options = ["--plan", plan, "--cluster", "pair.json", "--out"]
        self.fail_with(2, "none.onnx: cannot open: No such file or directory", "split", "none.onnx", *options, "parts")
        self.fail_with(2, "none.json: cannot open: No such file or directory", "split", "diamond.onnx", "--plan", "none.json", "--cluster", "pair.json", "--out", "parts")
        self.fail_with(2, "pair: neither a file nor a cluster that is built in (dgx-h100, flexflow-k80, slow-16)", "split", "diamond.onnx", "--plan", plan, "--cluster", "pair", "--out", "parts")
        (self.folder / "full").mkdir()
        self.write("full/file", "")
        self.fail_with(3, "full: the folder is not empty; choose another one or remove its files", "split", "diamond.onnx", *options, "full")
        self.fail_with(3, "pair.json: cannot make the folder: Not a directory", "split", "diamond.onnx", *options, "pair.json")
        self.plan({0: "gpu"}, name="wrong.json")
        self.fail_with(2, "wrong.json:1: nodes[0]: the cluster 'cpu-2' has no device 'gpu'", "split", "diamond.onnx", "--plan", "wrong.json", "--cluster", "pair.json", "--out", "parts")
        self.fail_with(64, "sizes [1] of input 'z': the model has no such input", "split", "diamond.onnx", *options, "parts", "--shape", "z:1")
        empty = model_of([], [float_info("x", [1])], [float_info("x", [1])])
        self.write("empty.onnx", empty)
        self.write("no.json", json.dumps({"version": 1, "nodes": []}))
        self.fail_with(3, "empty.onnx: the model has no nodes to split", "split", "empty.onnx", "--plan", "no.json", "--cluster", "pair.json", "--out", "parts")
        self.assertFalse((self.folder / "parts").exists())

    def test_a_tensor_of_unknown_type_is_named(self):
        nodes = [helper.make_node("Foo", ["x"], ["z"], domain="own"), helper.make_node("Foo", ["z"], ["y"], domain="own")]
        model = model_of(nodes, [float_info("x", [2])], [float_info("y", [2])])
        model.opset_import.append(helper.make_opsetid("own", 1))
        self.write("unknown.onnx", model)
        self.plan({0: "cpu0", 1: "cpu1"})
        self.fail_with(3, "unknown.onnx: the type of tensor 'z', which passes between part 0 and another, is unknown; give sizes of inputs with "
                          "--shape, declare it in value_info, or place the nodes that compute and read it on one device",
                       "split", "unknown.onnx", "--plan", "plan.json", "--cluster", "pair.json", "--out", "parts")


if __name__ == "__main__":
    import program
    program.main()
