"""`xflow check-plan`: what it accepts, and the exact text of each fault."""

import json
import pathlib

import numpy
import onnx
import program
from json_schema import faults
from onnx import TensorProto, helper, numpy_helper
from plans import annotate, configure, spec
from program import ProgramTest, float_info, model_of

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/check-plan-result.schema.json").read_text())
BOTH = {-1: [0, 1]}


def weight(name, *shape):
    return numpy_helper.from_array(numpy.ones(shape, numpy.float32), name)


def plain(rows=8):
    """A product, a sum with a row and a Relu: x[rows, 6] to y[rows, 4]."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
        helper.make_node("Add", ["m", "b"], ["s"], name="sum"),
        helper.make_node("Relu", ["s"], ["y"], name="relu"),
    ]
    return model_of(nodes, [float_info("x", [rows, 6])], [float_info("y", [rows, 4])], [weight("w", 6, 4), weight("b", 4)])


def data_parallel(rows=8):
    """The rows are divided over two devices, in two stages."""
    model = plain(rows)
    configure(model)
    product, total, relu = model.graph.node
    annotate(product, spec("x", [0, 1], [(0, 2)]), spec("w", [-1], groups=BOTH), spec("m", [0, 1], [(-2, 2)]), stage=0)
    annotate(total, spec("m", [0, 1], [(0, 2)]), spec("b", [-1], groups=BOTH), spec("s", [0, 1], [(0, 2)]), stage=0)
    annotate(relu, spec("y", [0, 1], [(0, [(8 if rows == 8 else rows, 2)])]), stage=1)
    return model


class CheckPlanTest(ProgramTest):
    def check(self, model, status=None):
        """The JSON of a check, which must follow its schema and agree with the exit code."""
        self.write("plan.onnx", model)
        run = self.run_program("check-plan", "plan.onnx", "--json", "result.json")
        self.assertEqual("", run.stderr)
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual([], faults(result, SCHEMA))
        self.assertEqual(0 if result["consistent"] else 1, run.returncode)
        self.assertEqual(result["consistent"], not result["faults"])
        if status is not None:
            self.assertEqual(status, run.returncode, run.stdout)
        return run.stdout, result

    def finds(self, model, *expected):
        """The faults must be these: pairs of a field and the line of the fault without the field."""
        text, result = self.check(model)
        lines = [f"{place} ({field})" for field, place in expected]
        self.assertEqual([*lines, f"{len(lines)} fault{'' if len(lines) == 1 else 's'}"], text.split("\n\n")[-1].splitlines())
        self.assertEqual([field for field, _ in expected], [fault["field"] for fault in result["faults"]])
        return result

    def finds_in(self, node, tensor, field, text, model):
        """One fault, in the sharding spec of a tensor."""
        place = f"node '{node}' ({dict(product='MatMul', sum='Add').get(node, 'Relu')}), configuration 'pair'"
        return self.finds(model, (field, f"{place}{f', tensor {tensor!r}' if tensor else ''}: {text}"))


class Accepted(CheckPlanTest):
    def test_a_model_without_a_configuration(self):
        text, result = self.check(plain(), 0)
        self.assertEqual("no multi-device configuration\n", text)
        self.assertEqual([], result["configurations"])

    def test_data_parallel(self):
        text, result = self.check(data_parallel(), 0)
        self.assertEqual("configuration 'pair': 2 devices (left, right), 3 nodes, 7 sharding specs, 2 pipeline stages\nno faults\n", text)
        self.assertEqual([{"name": "pair", "devices": 2, "device_names": ["left", "right"], "nodes": 3, "sharding_specs": 7,
                           "pipeline_stages": 2}], result["configurations"])
        onnx.checker.check_model(data_parallel(), full_check=True)

    def test_names_of_dimensions(self):
        self.check(data_parallel("rows"), 0)

    def test_a_configuration_that_no_node_uses(self):
        model = plain()
        configure(model, names=())
        text, _ = self.check(model, 0)
        self.assertEqual("configuration 'pair': 2 devices, 0 nodes, 0 sharding specs\nno faults\n", text)

    def test_a_placement_by_outputs_alone(self):
        model = plain()
        configure(model)
        for node, device in zip(model.graph.node, [0, 1, 0]):
            annotate(node, spec(node.output[0], [device]))
        self.check(model, 0)

    def test_a_divided_sum_with_any_division_of_the_result(self):
        # The result of the product is a sum over both devices, whatever its spec says.
        for result in [spec("m", [-1], groups=BOTH), spec("m", [0]), spec("m", [1, 0], [(1, 2)])]:
            model = plain()
            configure(model)
            annotate(model.graph.node[0], spec("x", [0, 1], [(1, 2)]), spec("w", [0, 1], [(0, 2)]), result)
            self.check(model, 0)

    def test_operands_that_are_broadcast_along_different_axes(self):
        # The example of the proposal: four parts of the result, and each operand on two devices.
        model = model_of([helper.make_node("Add", ["a", "b"], ["y"], name="sum")], [float_info("a", [8, 1]), float_info("b", [1, 8])],
                         [float_info("y", [8, 8])])
        configure(model, devices=4, names=())
        a = spec("a", [-1, -2], [(0, 2)], {-1: [0, 1], -2: [2, 3]})
        annotate(model.graph.node[0], a, spec("b", [-1, -2], [(1, 2)], {-1: [0, 2], -2: [1, 3]}), spec("y", [0, 1, 2, 3], [(0, 2), (1, 2)]))
        self.check(model, 0)

    def test_dimensions_that_were_fused(self):
        model = data_parallel()
        model.graph.node[2].device_configurations[0].sharding_spec[0].CopyFrom(spec("y", [0, 1], [(0, [(2, 2), (4, 1)])]))
        self.check(model, 0)

    def test_two_configurations(self):
        model = data_parallel()
        configure(model, "four", 4, ())
        annotate(model.graph.node[0], spec("x", [0, 1, 2, 3], [(0, 4)]), configuration="four")
        self.check(model, 0)

    def test_inputs_without_a_rule_are_listed(self):
        nodes = [helper.make_node("Own", ["x", "k"], ["z"], name="own", domain="local"),
                 helper.make_node("Own", ["z", "z"], ["y"], name="other", domain="local")]
        model = model_of(nodes, [float_info("x", [2, 4]), float_info("k", [2, 4])], [float_info("y", [2, 8])])
        model.graph.value_info.append(float_info("z", [2, 4]))
        model.opset_import.append(helper.make_opsetid("local", 1))
        configure(model)
        annotate(model.graph.node[0], spec("x", [0, 1], [(0, 2)]), spec("k", [1, 0], [(0, 2)]))
        annotate(model.graph.node[1], spec("z", [0, 1], [(1, 2)]))
        text, result = self.check(model, 0)
        self.assertEqual(["node 'own' (Own)", "node 'other' (Own)"], result["not_compared"])
        self.assertIn("\ninputs that are divided and were not compared, without a rule for the operator or the axis:\n"
                      "  node 'own' (Own)\n  node 'other' (Own)\n", text)


class OfTheModel(CheckPlanTest):
    def test_an_older_ir_version(self):
        model = data_parallel()
        model.ir_version = 10
        self.finds(model, ("ModelProto.ir_version", "the model has IR version 10, and multi-device configurations need 11"))

    def test_names_of_configurations(self):
        model = plain()
        for name in ["pair", "pair", ""]:
            configure(model, name)
        self.finds(model, ("DeviceConfigurationProto.name", "configuration 'pair': several configurations have this name"),
                   ("DeviceConfigurationProto.name", "a configuration has no name"))

    def test_numbers_of_devices(self):
        model = plain()
        configure(model, "three", 3)
        configure(model, "none", 0, ())
        configure(model, "unsaid").ClearField("num_devices")
        self.finds(model, ("DeviceConfigurationProto.device", "configuration 'three': names of 2 devices, and num_devices is 3"),
                   ("DeviceConfigurationProto.num_devices", "configuration 'none': num_devices is 0, and at least 1 is expected"),
                   ("DeviceConfigurationProto.num_devices", "configuration 'unsaid': num_devices is missing"))


class OfANode(CheckPlanTest):
    def with_entry(self, node, **fields):
        model = data_parallel()
        annotate(model.graph.node[node], **fields)
        return model

    def test_an_unknown_configuration(self):
        self.finds(self.with_entry(0, configuration="trio"),
                   ("NodeDeviceConfigurationProto.configuration_id",
                    "node 'product' (MatMul), configuration 'trio': the model has no configuration of this name"))

    def test_no_configuration(self):
        self.finds(self.with_entry(0, configuration=""),
                   ("NodeDeviceConfigurationProto.configuration_id", "node 'product' (MatMul): configuration_id is missing"))

    def test_the_same_configuration_twice(self):
        self.finds_in("product", "", "NodeDeviceConfigurationProto.configuration_id",
                      "the node has several entries for this configuration", self.with_entry(0))

    def test_tensors(self):
        model = data_parallel()
        model.graph.node[1].device_configurations[0].sharding_spec.extend([spec("y", [0]), spec("", [0]), spec("s", [0])])
        place = "node 'sum' (Add), configuration 'pair'"
        self.finds(model, ("ShardingSpecProto.tensor_name", f"{place}, tensor 'y': the node has no such input or output"),
                   ("ShardingSpecProto.tensor_name", f"{place}: tensor_name is missing"),
                   ("NodeDeviceConfigurationProto.sharding_spec",
                    f"{place}, tensor 's': the node has several sharding specs for this tensor"))

    def test_stages_that_go_back(self):
        model = data_parallel()
        # The sum has no stage of its own, so the Relu is compared with the product.
        for node, stage in zip(model.graph.node, [3, None, 1]):
            node.device_configurations[0].ClearField("pipeline_stage")
            if stage is not None:
                node.device_configurations[0].pipeline_stage = stage
        self.finds_in("relu", "", "NodeDeviceConfigurationProto.pipeline_stage",
                      "stage 1 is before stage 3 of node 'product' (MatMul), whose result it needs", model)

    def test_a_negative_stage(self):
        model = data_parallel()
        model.graph.node[0].device_configurations[0].pipeline_stage = -1
        self.finds_in("product", "", "NodeDeviceConfigurationProto.pipeline_stage", "stage -1 is negative", model)

    def test_nodes_of_bodies_and_functions(self):
        inner = helper.make_node("Relu", ["x"], ["r"])
        annotate(inner, spec("x", [0, 1], [(1, 2)]), spec("r", [2]), stage=0)
        body = helper.make_graph([inner], "body", [], [float_info("r", [4])])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "other", [], [float_info("n", [4])])
        first = helper.make_node("Exp", ["v"], ["x"], name="first")
        annotate(first, stage=1)
        called = helper.make_node("Relu", ["p"], ["q"], name="called")
        annotate(called, spec("q", [0, 1], [(1, 2)]))
        function = helper.make_function("local", "Own", ["p"], ["q"], [called], [helper.make_opsetid("", 13)])
        nodes = [first, helper.make_node("If", ["c"], ["z"], name="choice", then_branch=body, else_branch=other),
                 helper.make_node("Own", ["z"], ["y"], domain="local")]
        model = model_of(nodes, [float_info("v", [4]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])], [float_info("y", [4])],
                         functions=[function])
        model.opset_import.append(helper.make_opsetid("local", 1))
        configure(model)
        place = "node 0 of graph then_branch of node 'choice' (If) (Relu), configuration 'pair'"
        self.finds(model, ("ShardedDimProto.axis", f"{place}, tensor 'x': axis 1 of a tensor of rank 1"),
                   ("ShardingSpecProto.device", f"{place}, tensor 'r': device 2 does not exist: the configuration has 2 devices"),
                   ("NodeDeviceConfigurationProto.pipeline_stage",
                    f"{place}: stage 0 is before stage 1 of node 'first' (Exp), whose result it needs"))
        called.device_configurations[0].sharding_spec[0].device[1] = 3
        model.functions[0].node[0].CopyFrom(called)
        del model.graph.node[1].attribute[0].g.node[0].device_configurations[:]
        del model.graph.node[1].attribute[1].g.node[0].device_configurations[:]
        self.finds_in("called", "q", "ShardingSpecProto.device", "device 3 does not exist: the configuration has 2 devices", model)


class OfASpec(CheckPlanTest):
    def of(self, field, text, *arguments, rows=8, **groups):
        """The fault of the spec of y, the result of the Relu."""
        model = data_parallel(rows)
        model.graph.node[2].device_configurations[0].sharding_spec[0].CopyFrom(spec("y", *arguments, **groups))
        self.finds_in("relu", "y", field, text, model)

    def test_devices(self):
        field = "ShardingSpecProto.device"
        self.of(field, "no device has the tensor", [])
        self.of(field, "device 9 does not exist: the configuration has 2 devices", [9])
        self.of(field, "-1 is neither a device nor a key of index_to_device_group_map", [-1])
        self.of(field, "device 1 has shards 0 and 1", [1, 1], [(0, 2)])
        self.of(field, "device 1 has shards 0 and 1", [-1, 1], [(0, 2)], groups=BOTH)

    def test_groups(self):
        field = "ShardingSpecProto.index_to_device_group_map"
        self.of(field, "group -2 is not used: it is no element of 'device'", [-1], groups={**BOTH, -2: [0]})
        self.of(field, "group -1 has no device", [-1], groups={-1: []})
        self.of(field, "device 2 of group -1 does not exist: the configuration has 2 devices", [-1], groups={-1: [0, 2]})
        self.of(field, "device 0 occurs twice in group -1", [-1], groups={-1: [0, 0]})
        model = data_parallel()
        twice = model.graph.node[0].device_configurations[0].sharding_spec[1]
        twice.index_to_device_group_map.add(key=-1, value=[0])
        self.finds_in("product", "w", field, "several groups have the key -1", model)

    def test_axes(self):
        field = "ShardedDimProto.axis"
        self.of(field, "axis 7 of a tensor of rank 2", [0, 1], [(7, 2)])
        self.of(field, "axis -3 of a tensor of rank 2", [0, 1], [(-3, 2)])
        self.of(field, "axis 0 is divided several times", [0, 1], [(0, 2), (0, 1)])
        self.of(field, "axis 0 is divided several times: as 0 and as -2", [0, 1], [(0, 2), (-2, 1)])
        model = data_parallel()
        model.graph.node[2].device_configurations[0].sharding_spec[0].sharded_dim[0].ClearField("axis")
        self.finds_in("relu", "y", field, "a sharded dimension has no axis", model)

    def test_numbers_of_shards(self):
        field = "SimpleShardedDimProto.num_shards"
        self.of(field, "4 shards and 2 elements in 'device'", [0, 1], [(0, 4)])
        self.of(field, "4 shards and 1 element in 'device'", [-1], [(0, 2), (1, 2)], groups=BOTH)
        self.of(field, "1 shard and 2 elements in 'device'; several copies of a tensor are one element, the key of a group", [0, 1])
        self.of(field, "num_shards of axis 0 is 0, and at least 1 is expected", [0, 1], [(0, 0)])
        model = data_parallel()
        model.graph.node[2].device_configurations[0].sharding_spec[0].sharded_dim[0].simple_sharding[0].ClearField("num_shards")
        self.finds_in("relu", "y", field, "num_shards of axis 0 is missing", model)

    def test_more_shards_than_numbers(self):
        self.of("SimpleShardedDimProto.num_shards", "9223372036854775807 shards and 2 elements in 'device'", [0, 1],
                [(0, [("rows", 2**62), ("other", 2**62)])], rows="rows")

    def test_uneven_shards(self):
        model = data_parallel(7)
        text = "size 7 of axis 0 is not divisible into 2 even shards"
        places = [("product", "MatMul", "x"), ("product", "MatMul", "m"), ("sum", "Add", "m"), ("sum", "Add", "s"), ("relu", "Relu", "y")]
        self.finds(model, *[("SimpleShardedDimProto.num_shards", f"node '{node}' ({operator}), configuration 'pair', tensor '{tensor}': {text}")
                            for node, operator, tensor in places])
        # The size may be in the spec alone.
        self.of("SimpleShardedDimProto.num_shards", "size 9 of axis 0 is not divisible into 2 even shards", [0, 1], [(0, [(9, 2)])], rows="rows")

    def test_sizes(self):
        field = "SimpleShardedDimProto.dim"
        self.of(field, "dim_value 6 of axis 0, whose size is 8", [0, 1], [(0, [(6, 2)])])
        self.of(field, "dim_value -2 of axis 0 is no size", [0, 1], [(0, [(-2, 2)])], rows="rows")
        self.of(field, "dim_param 'batch' of axis 0, whose size is 'rows'", [0, 1], [(0, [("batch", 2)])], rows="rows")
        self.of(field, "dim_param 'batch' of axis 0, whose size is 8", [0, 1], [(0, [("batch", 2)])])

    def test_fused_dimensions(self):
        self.of("ShardedDimProto.simple_sharding", "the dimensions of axis 0 have 12 elements together, and its size is 8", [0, 1],
                [(0, [(2, 2), (6, 1)])])
        self.of("ShardedDimProto.simple_sharding", "the dimensions of axis 0 have a multiple of 3 elements together, and its size is 8", [0, 1],
                [(0, [(3, 1), ("inner", 2)])])
        self.of("SimpleShardedDimProto.num_shards", "dimension 1 of axis 0 is not divisible into 2 even shards", [0, 1],
                [(0, [(1, 2), (8, 1)])])
        model = data_parallel()
        del model.graph.node[2].device_configurations[0].sharding_spec[0].sharded_dim[0].simple_sharding[:]
        self.finds_in("relu", "y", "ShardedDimProto.simple_sharding", "axis 0 has no simple_sharding", model)


class OfInputs(CheckPlanTest):
    def of(self, node, tensor, field, text, *specs):
        model = plain()
        configure(model, devices=4, names=())
        annotate(model.graph.node[["product", "sum", "relu"].index(node)], *specs)
        self.finds_in(node, tensor, field, text, model)

    def test_different_divisions_of_an_axis(self):
        self.of("product", "w", "SimpleShardedDimProto.num_shards", "axis 0 has 3 shards, and axis 1 of 'x', which the node reads with it, has 2",
                spec("x", [0, 1], [(1, 2)]), spec("w", [0, 1, 2], [(0, 3)]))
        self.of("sum", "b", "SimpleShardedDimProto.num_shards", "axis 0 has 4 shards, and axis 1 of 'm', which the node reads with it, has 2",
                spec("m", [0, 1], [(1, 2)]), spec("b", [0, 1, 2, 3], [(0, 4)]))

    def test_what_a_producer_leaves(self):
        model = plain()
        configure(model, devices=4, names=())
        annotate(model.graph.node[0], spec("m", [0, 1, 2, 3], [(1, 4)]))
        annotate(model.graph.node[1], spec("b", [0, 1], [(0, 2)]))
        self.finds_in("sum", "b", "SimpleShardedDimProto.num_shards",
                      "axis 0 has 2 shards, and axis 1 of 'm', which the node reads with it, has 4", model)

    def test_parts_on_different_devices(self):
        field = "ShardingSpecProto.device"
        self.of("product", "", field, "no device has 'x' and 'w'", spec("x", [0]), spec("w", [1]))
        self.of("product", "", field, "no device has 'x' (shard 0 of axis 0) and 'w'", spec("x", [0, 1], [(0, 2)]), spec("w", [1]))
        self.of("product", "", field, "no device has 'x' (shard 0 of axis 1) and 'w' (shard 0 of axis 0)", spec("x", [0, 1], [(1, 2)]),
                spec("w", [1, 0], [(0, 2)]))
        # Rows of x and columns of w: all four combinations are needed.
        self.of("product", "", field, "no device has 'x' (shard 0 of axis 0) and 'w' (shard 1 of axis 1)", spec("x", [0, 1], [(0, 2)]),
                spec("w", [0, 1], [(1, 2)]))

    def test_gemm_with_a_transposed_operand(self):
        nodes = [helper.make_node("Gemm", ["x", "w", "c"], ["y"], name="gemm", transB=1)]
        model = model_of(nodes, [float_info("x", [8, 6])], [float_info("y", [8, 4])], [weight("w", 4, 6), weight("c", 4)])
        configure(model)
        columns = [spec("x", [-1], groups=BOTH), spec("w", [0, 1], [(0, 2)])]
        entry = annotate(model.graph.node[0], *columns, spec("c", [0, 1], [(0, 2)]))
        self.check(model, 0)
        entry.sharding_spec[2].CopyFrom(spec("c", [1, 0], [(0, 2)]))
        self.finds(model, ("ShardingSpecProto.device", "node 'gemm' (Gemm), configuration 'pair': "
                           "no device has 'x' and 'w' (shard 0 of axis 0) and 'c' (shard 0 of axis 0)"))

    def test_a_concatenation_along_another_axis(self):
        nodes = [helper.make_node("Concat", ["a", "b"], ["y"], name="join", axis=1)]
        model = model_of(nodes, [float_info("a", [8, 2]), float_info("b", [8, 4])], [float_info("y", [8, 6])])
        configure(model, devices=4, names=())
        entry = annotate(model.graph.node[0], spec("a", [0, 1], [(0, 2)]), spec("b", [0, 1, 2, 3], [(0, 4)]))
        self.finds(model, ("SimpleShardedDimProto.num_shards", "node 'join' (Concat), configuration 'pair', tensor 'b': "
                           "axis 0 has 4 shards, and axis 0 of 'a', which the node reads with it, has 2"))

    def concatenation(self, *specs, typed=True):
        """Of two inputs along axis 1. Without types their ranks alone are known."""
        nodes = [helper.make_node("Concat", ["a", "b"], ["y"], name="join", axis=1)]
        sizes = (lambda *dims: dims) if typed else (lambda *dims: [f"n{dim}" for dim in dims])
        model = model_of(nodes, [float_info("a", sizes(8, 4)), float_info("b", sizes(8, 4))], [float_info("y", sizes(8, 8))])
        configure(model, devices=4, names=())
        annotate(model.graph.node[0], *specs)
        return model

    def test_a_concatenation_along_its_axis(self):
        for right in ([spec("a", [0, 1], [(1, 2)]), spec("b", [2, 3], [(1, 2)])],  # parts need not meet
                      [spec("a", [0, 1, 2, 3], [(0, 2), (1, 2)]), spec("b", [0, 1], [(0, 2)])],
                      [spec("a", [0]), spec("b", [1]), spec("y", [0, 1], [(1, 2)])]):  # each device has the operand of its part
            for typed in (True, False):
                _, result = self.check(self.concatenation(*right, typed=typed), 0)
                self.assertEqual([], result["not_compared"])
        # The operands still share the other axis.
        self.finds(self.concatenation(spec("a", [0, 1, 2, 3], [(0, 2), (1, 2)]), spec("b", [0, 1, 2, 3], [(0, 4)])),
                   ("SimpleShardedDimProto.num_shards", "node 'join' (Concat), configuration 'pair', tensor 'b': "
                    "axis 0 has 4 shards, and axis 0 of 'a', which the node reads with it, has 2"))
        # A part of the result that is not divided along the axis needs both.
        self.finds(self.concatenation(spec("a", [0]), spec("b", [1])),
                   ("ShardingSpecProto.device", "node 'join' (Concat), configuration 'pair': no device has 'a' and 'b'"))
        self.finds(self.concatenation(spec("a", [0]), spec("b", [1]), spec("y", [0, 1], [(0, 2)])),
                   ("ShardingSpecProto.device", "node 'join' (Concat), configuration 'pair': no device has 'a' and 'b'"))


class OfOperators(CheckPlanTest):
    """Divisions that the index notation of an operator does not allow. Inputs are float32 and in the order of the operator."""

    def model(self, operator, shapes, cuts, devices=4, weights=(), opset=17, **attributes):
        """A node whose k-th input has this shape and is divided along pairs of an axis and a number of shards over the first devices."""
        names = [f"x{k}" for k in range(len(shapes))]
        node = helper.make_node(operator, names + [name for name, _ in weights], ["y"], name="node", **attributes)
        model = model_of([node], [float_info(name, shape) for name, shape in zip(names, shapes)],
                         [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                         [numpy_helper.from_array(numpy.array(value), name) for name, value in weights], opset=opset)
        configure(model, devices=devices, names=())
        specs = []
        for name, own in zip(names, cuts):
            if own is None:  # a copy on every device
                specs.append(spec(name, [-1], groups={-1: list(range(devices))}))
                continue
            count = numpy.prod([shards if isinstance(shards, int) else numpy.prod([n for _, n in shards]) for _, shards in own], dtype=int)
            specs.append(spec(name, list(range(count)), own))
        annotate(model.graph.node[0], *specs)
        return model

    def allows(self, *arguments, **more):
        _, result = self.check(self.model(*arguments, **more), 0)
        self.assertEqual([], result["not_compared"])

    def refuses(self, tensor, field, text, operator, *arguments, **more):
        place = f"node 'node' ({operator}), configuration 'pair'{f', tensor {tensor!r}' if tensor else ''}"
        self.finds(self.model(operator, *arguments, **more), (field, f"{place}: {text}"))

    def needs_all(self, tensor, divided, operator, *arguments, **more):
        self.refuses(tensor, "ShardedDimProto.axis", f"axis {divided} has 2 shards, and each part of the result needs all of it", operator,
                     *arguments, **more)

    def differs(self, tensor, axis, shards, other, *arguments, **more):
        other_axis, other_tensor, other_shards = other
        self.refuses(tensor, "SimpleShardedDimProto.num_shards",
                     f"axis {axis} has {shards} shards, and axis {other_axis} of {other_tensor!r}, which the node reads with it, "
                     f"has {other_shards}", *arguments, **more)

    def test_convolutions(self):
        shapes = [[4, 8, 6, 6], [4, 8, 3, 3]]
        self.allows("Conv", shapes, [[(0, 2)], None])
        self.allows("Conv", shapes, [[(2, 2)], None], pads=[1, 1, 1, 1])  # with a halo
        self.allows("Conv", shapes, [[(1, 2)], [(1, 2)]])
        self.differs("x1", 1, 4, (1, "x0", 2), "Conv", shapes, [[(1, 2)], [(1, 4)]])
        self.refuses("", "ShardingSpecProto.device", "no device has 'x0' (shard 0 of axis 0) and 'x1' (shard 1 of axis 0)", "Conv", shapes,
                     [[(0, 2)], [(0, 2)]])
        # The bias goes with the channels of the result.
        self.differs("x2", 0, 4, (0, "x1", 2), "Conv", [*shapes, [4]], [None, [(0, 2)], [(0, 4)]])

    def test_groups_of_a_convolution(self):
        shapes = [[4, 12, 6, 6], [8, 3, 3, 3]]
        self.allows("Conv", shapes, [[(1, 2)], [(0, 2)]], group=4)
        self.differs("x1", 0, 4, (1, "x0", 2), "Conv", shapes, [[(1, 2)], [(0, 4)]], group=4)
        self.refuses("x0", "SimpleShardedDimProto.num_shards", "axis 1 has 3 shards, which cut through the 4 blocks that the node reads",
                     "Conv", shapes, [[(1, 3)], None], group=4)

    def test_normalisations(self):
        shapes = [[4, 6, 8], [8], [8]]
        self.allows("LayerNormalization", shapes, [[(0, 2)], None, None])
        self.allows("LayerNormalization", shapes, [[(1, 2)], None, None])
        self.needs_all("x0", 2, "LayerNormalization", shapes, [[(2, 2)], None, None])
        # Parts of the result, for which each device has all of what is normalised.
        self.allows("LayerNormalization", shapes, [None, [(0, 2)], [(0, 2)]])
        self.allows("BatchNormalization", [[4, 6, 8], [6], [6], [6], [6]], [[(1, 2)], [(0, 2)], [(0, 2)], [(0, 2)], [(0, 2)]])
        self.differs("x4", 0, 3, (1, "x0", 2), "BatchNormalization", [[4, 6, 8], [6], [6], [6], [6]], [[(1, 2)], None, None, None, [(0, 3)]])
        self.allows("InstanceNormalization", [[4, 6, 8], [6], [6]], [[(1, 2)], [(0, 2)], [(0, 2)]])
        self.needs_all("x0", 2, "InstanceNormalization", [[4, 6, 8], [6], [6]], [[(2, 2)], None, None])

    def test_softmax(self):
        self.allows("Softmax", [[4, 6]], [[(0, 2)]])
        self.needs_all("x0", 1, "Softmax", [[4, 6]], [[(1, 2)]])
        self.needs_all("x0", 0, "LogSoftmax", [[4, 6]], [[(0, 2)]], axis=0)

    def test_softmax_after_a_divided_result(self):
        model = self.model("Softmax", [[4, 6]], [])
        model.graph.node.insert(0, helper.make_node("Relu", ["x"], ["x0"], name="relu"))
        model.graph.input[0].name = "x"
        annotate(model.graph.node[0], spec("x0", [0, 1], [(1, 2)]))
        self.finds(model, ("ShardedDimProto.axis", "node 'node' (Softmax), configuration 'pair', tensor 'x0': "
                           "axis 1 has 2 shards, and each part of the result needs all of it"))

    def test_reductions_may_be_divided(self):
        for operator in ["ReduceMax", "ReduceL2", "ReduceMean"]:
            self.check(self.model(operator, [[4, 6]], [[(1, 2)]], axes=[1]), 0)
        self.allows("ReduceSum", [[4, 6]], [[(1, 2)]], weights=[("axes", numpy.array([1]))])

    def test_moved_axes(self):
        self.allows("Transpose", [[4, 6]], [[(1, 2)]], perm=[1, 0])
        self.differs("x1", 0, 4, (1, "x0", 2), "Einsum", [[6, 4], [4, 8]], [[(1, 2)], [(0, 4)]], equation="ij,jk->ki")

    def test_reshapes(self):
        heads = {"weights": [("shape", numpy.array([2, 4, 6]))]}
        self.allows("Reshape", [[2, 24]], [[(1, 4)]], **heads)
        self.refuses("x0", "SimpleShardedDimProto.num_shards", "axis 1 has 3 shards, which cut through the 4 blocks that the node reads",
                     "Reshape", [[2, 24]], [[(1, 3)]], **heads)
        # Two shards of each head, and fused dimensions that say so.
        self.allows("Reshape", [[2, 24]], [[(1, 8)]], devices=8, **heads)
        self.allows("Reshape", [[2, 24]], [[(1, [(4, 1), (6, 3)])]], **heads)

    def test_gathered_elements(self):
        shapes = [[6, 4]]
        index = [("index", numpy.array([0, 3, 5]))]
        self.allows("Gather", shapes, [[(1, 2)]], weights=index)
        # A part of the rows of the table is a mask and a sum.
        self.allows("Gather", shapes, [[(0, 2)]], weights=index)

    def test_rows_of_a_table(self):
        def gather(*specs):
            nodes = [helper.make_node("Gather", ["w", "i"], ["y"], name="embed")]
            model = model_of(nodes, [helper.make_tensor_value_info("i", TensorProto.INT64, [4, 2])], [float_info("y", [4, 2, 6])],
                             [weight("w", 8, 6)])
            configure(model, devices=4, names=())
            annotate(model.graph.node[0], *specs)
            return model

        table = spec("w", [0, 1, 2, 3], [(0, 4)])
        all_indices = spec("i", [-1], groups={-1: [0, 1, 2, 3]})
        by_groups = spec("w", [0, 1, 2, 3], [(0, 2), (1, 2)])
        for right in ([table, all_indices], [by_groups, all_indices],
                      # Each half of the indices is where each half of the rows is.
                      [spec("w", [-1, -2], [(0, 2)], groups={-1: [0, 1], -2: [2, 3]}), spec("i", [-1, -2], [(0, 2)], groups={-1: [0, 2], -2: [1, 3]})]):
            _, result = self.check(gather(*right), 0)
            self.assertEqual([], result["not_compared"])
        place = "node 'embed' (Gather), configuration 'pair': no device has"
        self.finds(gather(table, spec("i", [0, 1], [(0, 2)])), ("ShardingSpecProto.device", f"{place} 'w' (shard 0 of axis 0) and 'i' (shard 1 of axis 0)"))
        self.finds(gather(table, spec("i", [0])), ("ShardingSpecProto.device", f"{place} 'w' (shard 1 of axis 0) and 'i'"))

    def test_what_is_not_read_need_not_be_there(self):
        # The shape is known before the run, wherever it is.
        model = self.model("Reshape", [[2, 24]], [[(1, 4)]], weights=[("shape", numpy.array([2, 4, 6]))])
        model.graph.node[0].device_configurations[0].sharding_spec.append(spec("shape", [3]))
        self.check(model, 0)

    def test_pooling_and_slices(self):
        self.allows("MaxPool", [[2, 4, 8, 8]], [[(2, 2)]], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        # A slice reads other parts than it leaves, element by element.
        slices = [("starts", numpy.array([2])), ("ends", numpy.array([4])), ("axes", numpy.array([0]))]
        self.allows("Slice", [[4, 4]], [[(0, 2)]], weights=slices)
        self.allows("Slice", [[4, 4]], [[(0, 2), (1, 2)]], weights=slices)
        every_second = [("starts", numpy.array([1])), ("ends", numpy.array([4])), ("axes", numpy.array([0])), ("steps", numpy.array([2]))]
        self.allows("Slice", [[4, 4]], [[(0, 2)]], weights=every_second)


class Unreadable(CheckPlanTest):
    def test_files(self):
        self.write("text.onnx", "text")
        self.fail_with(2, "text.onnx: not an ONNX model: at byte 0: the end of a group that was not opened", "check-plan", "text.onnx")

    def test_the_result_in_place_of_the_model(self):
        self.write("plan.onnx", plain())
        self.fail_with(64, "plan.onnx: the result would overwrite a file that is read", "check-plan", "plan.onnx", "--json", "plan.onnx")

    def test_json_on_standard_output(self):
        self.write("plan.onnx", plain())
        run = self.run_program("check-plan", "plan.onnx", "--json", "-")
        self.assertEqual((0, "no multi-device configuration\n"), (run.returncode, run.stderr))
        self.assertTrue(json.loads(run.stdout)["consistent"])


if __name__ == "__main__":
    program.main()
