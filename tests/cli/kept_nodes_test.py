"""`xflow parallelize --parts` of models with nodes that stay as they are: unknown operators, nodes with bodies, and unknown sizes."""

import json
import shutil

import numpy
import onnx
import program
from onnx import TensorProto, helper, numpy_helper
from parallelize_test import cluster
from parts import Parts, session
from program import RUNNER, ProgramTest, float_info, model_of

RANDOM = numpy.random.default_rng(5)


def constant(name, *shape):
    return numpy_helper.from_array(RANDOM.normal(0, 0.1, shape).astype(numpy.float32), name)


def swish():
    """A local function, which ONNX Runtime runs and xflow does not know."""
    nodes = [helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Mul", ["a", "s"], ["m"]),
             helper.make_node("Add", ["m", "b"], ["o"])]
    return helper.make_function("lab", "Swish", ["a", "b"], ["o"], nodes, [helper.make_opsetid("", 13)])


def around(node, opset=13, more_inputs=(), more_weights=(), infos=(), **fields):
    """Products before and after a node that reads `p` and makes `q`."""
    nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="first"), *([node] if isinstance(node, onnx.NodeProto) else node),
             helper.make_node("MatMul", ["q", "b"], ["y"], name="second")]
    model = model_of(nodes, [float_info("x", [8, 100]), *more_inputs], [float_info("y", [8, 50])],
                     [constant("a", 100, 200), constant("b", 200, 50), *more_weights], opset=opset, **fields)
    model.graph.value_info.extend(infos)
    return model


def called(**fields):
    node = helper.make_node("Swish", ["p", "shift"], ["q"], name="called", domain="lab", doc_string="kept")
    model = around(node, more_weights=[constant("shift", 200)], infos=[float_info("q", [8, 200])], functions=[swish()], **fields)
    model.opset_import.append(helper.make_opsetid("lab", 1))
    helper.set_model_props(model, {"author": "somebody"})
    return model


def choice():
    """The branches of an If capture `p`, which is divided, a weight, and a value that they hide under names such as those of parts."""
    branch = {name: helper.make_graph([helper.make_node(function, ["p"], ["xflow_0"]), helper.make_node("Mul", ["xflow_0", "scale"], [name])],
                                      name, [], [float_info(name, [8, 200])]) for name, function in [("yes", "Exp"), ("no", "Neg")]}
    node = helper.make_node("If", ["c"], ["q"], name="choice", then_branch=branch["yes"], else_branch=branch["no"])
    return around(node, more_inputs=[helper.make_tensor_value_info("c", TensorProto.BOOL, [])], more_weights=[constant("scale", 200)])


def loop():
    """Three steps of a Loop that captures `p`."""
    body = helper.make_graph([helper.make_node("Add", ["carried", "p"], ["sum"]), helper.make_node("Identity", ["go"], ["still"])], "body",
                             [helper.make_tensor_value_info("k", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                              float_info("carried", [8, 200])],
                             [helper.make_tensor_value_info("still", TensorProto.BOOL, []), float_info("sum", [8, 200])])
    node = helper.make_node("Loop", ["three", "", "p"], ["q"], name="loop", body=body)
    return around(node, more_weights=[numpy_helper.from_array(numpy.array(3, numpy.int64), "three")], infos=[float_info("q", [8, 200])])


class KeptNodesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("four.json", cluster(4))

    def parts(self, name, *arguments, of="four.json"):
        """The parts of a model. The plan is in a file."""
        shutil.rmtree(self.folder / "parts", ignore_errors=True)
        self.succeed("parallelize", name, "--cluster", of, "--parts", "parts", "--out", "plan.json", *(arguments or ["--steps", "200"]))
        for part in self.loaded():
            onnx.checker.check_model(part)

    def plan(self):
        """The nodes of the plan by name or number."""
        return {node["node"]: node for node in json.loads((self.folder / "plan.json").read_text())["nodes"]}

    def loaded(self):
        return [onnx.load(path) for path in sorted((self.folder / "parts").glob("part-*.onnx"))]

    def agrees(self, name, **inputs):
        """The parts compute what the model does, in ONNX Runtime."""
        parts = Parts(self.folder / "parts")
        outputs = [value.name for value in session(self.folder / name).get_outputs()]
        whole = dict(zip(outputs, session(self.folder / name).run(None, inputs)))
        found = parts.run(inputs)
        self.assertEqual(outputs, list(found))
        for output in outputs:
            numpy.testing.assert_allclose(found[output], whole[output], rtol=1e-4, atol=1e-5)

    def has_node(self, model, number, parts=None):
        """So many parts have this node of the model, byte for byte: by default each device of the plan, 0 for some of them."""
        node = model.graph.node[number]
        plan = self.plan()
        devices = plan[node.name or number]["devices"]
        self.assertIn([split["axis"] for split in plan[node.name or number]["splits"]], [[], ["copies"]])
        found = [path for path in (self.folder / "parts").glob("part-*.onnx") if node.SerializeToString() in path.read_bytes()]
        self.assertIn(len(found), range(1, len(devices) + 1) if parts == 0 else [len(devices) if parts is None else parts])

    def test_a_call_of_a_local_function_between_divided_products(self):
        model = called()
        self.write("called.onnx", model)
        self.parts("called.onnx")
        self.assertTrue(self.plan()["first"]["splits"] and self.plan()["second"]["splits"])
        self.agrees("called.onnx", x=RANDOM.normal(size=(8, 100)).astype(numpy.float32))
        self.has_node(model, 1)
        part = next(part for part in self.loaded() if any(node.name == "called" for node in part.graph.node))
        # What the node needs is that of the model.
        self.assertEqual(model.functions, part.functions)
        self.assertEqual({"": 13, "lab": 1}, {one.domain: one.version for one in part.opset_import})
        self.assertEqual(model.metadata_props, part.metadata_props)
        self.assertIn(model.graph.initializer[2], list(part.graph.initializer))
        # Its operand is joined from the slices under its own name.
        self.assertEqual(["Concat"], [node.op_type for node in part.graph.node if "p" in node.output])
        self.assertFalse(any(part.functions for part in self.loaded() if not any(node.name == "called" for node in part.graph.node)))

    def test_unknown_operators_of_another_domain(self):
        """Nobody can run it, so its part is compared alone."""
        node = helper.make_node("Mystery", ["p"], ["q"], name="mystery", domain="nowhere", depth=3, words=["a", "b"])
        model = around(node, infos=[float_info("q", [8, 200])])
        model.opset_import.append(helper.make_opsetid("nowhere", 7))
        self.write("mystery.onnx", model)
        self.parts("mystery.onnx")
        self.has_node(model, 1)
        run = self.run_program("run", "parts")
        self.assertEqual(3, run.returncode)
        self.assertRegex(run.stderr, r"\Axflow: .*part-\d\.onnx: .*mystery.*\n\Z")

    def test_bodies_that_capture_divided_values(self):
        for name, model, more in [("choice", choice(), {"c": numpy.array(True)}), ("choice", choice(), {"c": numpy.array(False)}),
                                  ("loop", loop(), {})]:
            with self.subTest(name, **more):
                self.write(f"{name}.onnx", model)
                self.parts(f"{name}.onnx")
                inputs = {"x": RANDOM.normal(size=(8, 100)).astype(numpy.float32), **more}
                self.agrees(f"{name}.onnx", **inputs)
                self.has_node(model, 1)
                # Also as processes, in a runner.
                numpy.savez(self.folder / "in.npz", **inputs)
                self.succeed("run", "parts", "--runner", RUNNER, "--inputs", "in.npz", "--out", "out.npz")
                (whole,) = session(self.folder / f"{name}.onnx").run(None, inputs)
                numpy.testing.assert_allclose(numpy.load(self.folder / "out.npz")["y"], whole, rtol=1e-4, atol=1e-5)

    def test_sizes_that_depend_on_data(self):
        """What reads the places of elements has them as they are. Rows of the result are as many as there are elements."""
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="first"), helper.make_node("NonZero", ["m"], ["at"], name="places"),
                 helper.make_node("Transpose", ["at"], ["rows"], perm=[1, 0], name="rows"),
                 helper.make_node("GatherND", ["p", "rows"], ["g"], name="gather"), helper.make_node("Relu", ["g"], ["y"]),
                 helper.make_node("MatMul", ["p", "b"], ["z"], name="second")]
        model = model_of(nodes, [float_info("x", [8, 100]), float_info("m", [8])],
                         [float_info("y", ["count", 200]), float_info("z", [8, 50])], [constant("a", 100, 200), constant("b", 200, 50)])
        self.write("places.onnx", model)
        self.parts("places.onnx")
        self.assertTrue(self.plan()["first"]["splits"] and self.plan()["second"]["splits"])
        x = RANDOM.normal(size=(8, 100)).astype(numpy.float32)
        for count in [1, 5, 8]:
            self.agrees("places.onnx", x=x, m=(numpy.arange(8) < count).astype(numpy.float32))
        # The result is read on one device, and some copies of the nodes have no reader.
        for number in range(1, 5):
            self.has_node(model, number, parts=0)

    def test_shapes_that_are_computed_when_the_model_runs(self):
        """A reshape by sizes that are read of a result with as many rows as the data say. A node reads the shape that no kernel makes."""
        nodes = [helper.make_node("NonZero", ["m"], ["at"], name="places"), helper.make_node("Shape", ["at"], ["size"]),
                 helper.make_node("Gather", ["size", "one"], ["count"], axis=0), helper.make_node("Concat", ["count", "two"], ["shape"], axis=0),
                 helper.make_node("Cast", ["at"], ["f"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["w", "f"], ["p"]),
                 helper.make_node("Reshape", ["p", "shape"], ["y"])]
        integers = [numpy_helper.from_array(numpy.array([value], numpy.int64), name) for name, value in [("one", 1), ("two", 2)]]
        model = model_of(nodes, [float_info("m", [9])], [float_info("y", ["count", 2])], [*integers, constant("w", 2, 1)])
        self.write("shapes.onnx", model)
        self.parts("shapes.onnx")
        for count in [1, 4]:
            self.agrees("shapes.onnx", m=(numpy.arange(9) < count).astype(numpy.float32))

    def test_outputs_of_kept_nodes_have_several_names(self):
        """A result is an output of the model, and so is its copy; a divided node reads it, too."""
        model = called()
        model.graph.node.extend([helper.make_node("Identity", ["q"], ["r"])])
        model.graph.output.extend([float_info("q", [8, 200]), float_info("r", [8, 200])])
        del model.graph.value_info[:]
        self.write("names.onnx", model)
        self.parts("names.onnx")
        self.agrees("names.onnx", x=RANDOM.normal(size=(8, 100)).astype(numpy.float32))

    def test_names_of_the_model_that_are_like_those_of_parts(self):
        model = called()
        for node in model.graph.node:
            for names in [node.input, node.output]:
                names[:] = [{"p": "xflow_0", "x": "xflow_1"}.get(name, name) for name in names]
        model.graph.input[0].name = "xflow_1"
        self.write("names.onnx", model)
        self.parts("names.onnx")
        self.agrees("names.onnx", xflow_1=RANDOM.normal(size=(8, 100)).astype(numpy.float32))

    def test_external_data_of_kept_nodes(self):
        model = called()
        onnx.save(model, self.folder / "outside.onnx", save_as_external_data=True, location="outside.data", size_threshold=0)
        self.parts("outside.onnx")
        self.agrees("outside.onnx", x=RANDOM.normal(size=(8, 100)).astype(numpy.float32))

    def test_old_models_with_initializers_among_inputs(self):
        model = called()
        model.ir_version = 3
        model.graph.input.extend([float_info(one.name, one.dims) for one in model.graph.initializer])
        del model.functions[:]
        model.graph.node[1].op_type = "Mystery"
        self.write("old.onnx", model)
        self.parts("old.onnx")
        self.has_node(model, 1)

    def test_tensors_of_unknown_type_stay_in_one_part(self):
        nodes = [helper.make_node("Mystery", ["x"], ["q"], name="one", domain="nowhere"),
                 helper.make_node("Mystery", ["q"], ["y"], name="two", domain="nowhere")]
        model = model_of(nodes, [float_info("x", [8, 100])], [float_info("y", [8, 50])])
        model.opset_import.append(helper.make_opsetid("nowhere", 7))
        self.write("unknown.onnx", model)
        self.parts("unknown.onnx", "--steps", "0")
        self.has_node(model, 0)
        self.has_node(model, 1)
        # Each node is a stage of a pipeline.
        run = self.run_program("parallelize", "unknown.onnx", "--cluster", "four.json", "--objective", "throughput", "--parts", "stages")
        self.assertEqual((3, "xflow: the type of tensor 'q', which passes between two parts, is unknown; declare its type and its number of "
                             "dimensions in value_info\n"), (run.returncode, run.stderr))
        model.graph.value_info.append(helper.make_tensor_value_info("q", TensorProto.INT32, [None, 3]))
        self.write("known.onnx", model)
        self.succeed("parallelize", "known.onnx", "--cluster", "four.json", "--objective", "throughput", "--parts", "stages")
        for path in (self.folder / "stages").glob("part-*.onnx"):
            onnx.checker.check_model(onnx.load(path))
        # Not the sizes that the simulation assumes.
        (later,) = [value for path in (self.folder / "stages").glob("part-*.onnx") for value in onnx.load(path).graph.input if value.name == "q"]
        self.assertEqual(helper.make_tensor_type_proto(TensorProto.INT32, [None, 3]), later.type)

    def test_strings_and_sequences(self):
        """Strings of the document are read by a node that stays; a sequence does not leave its part."""
        words = helper.make_tensor("words", TensorProto.STRING, [4], [b"a", b"b", b"c", b"d"])
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], name="first"), helper.make_node("Gather", ["words", "i"], ["w"], axis=0),
                 helper.make_node("SequenceConstruct", ["p", "p"], ["s"]), helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
        model = model_of(nodes, [float_info("x", [8, 100]), helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
                         [float_info("y", [16, 200]), helper.make_tensor_value_info("w", TensorProto.STRING, [2])], [constant("a", 100, 200), words])
        self.write("strings.onnx", model)
        self.parts("strings.onnx")
        for number in range(1, 4):
            self.has_node(model, number, parts=0)
        inputs = {"x": RANDOM.normal(size=(8, 100)).astype(numpy.float32), "i": numpy.array([3, 1])}
        y, w = session(self.folder / "strings.onnx").run(None, inputs)
        found = Parts(self.folder / "parts").run(inputs)
        numpy.testing.assert_allclose(found["y"], y, rtol=1e-4, atol=1e-5)
        self.assertEqual(["d", "b"], list(found["w"]))
        self.assertEqual(list(w), list(found["w"]))
        self.succeed("simulate", "strings.onnx", "--cluster", "four.json")

    def test_random_numbers_are_drawn_once(self):
        """Readers on all devices have the same numbers, or the difference would not be zero."""
        nodes = [helper.make_node("RandomNormalLike", ["x"], ["q"], name="draw"), helper.make_node("MatMul", ["q", "a"], ["p"], name="first"),
                 helper.make_node("MatMul", ["q", "a"], ["r"], name="second"), helper.make_node("Relu", ["p"], ["s"]),
                 helper.make_node("Relu", ["r"], ["t"]), helper.make_node("Sub", ["s", "t"], ["y"])]
        self.write("draw.onnx", model_of(nodes, [float_info("x", [8, 100])], [float_info("y", [8, 200])], [constant("a", 100, 200)]))
        self.parts("draw.onnx")
        self.has_node(onnx.load(self.folder / "draw.onnx"), 0, parts=1)
        (y,) = Parts(self.folder / "parts").run({"x": numpy.zeros((8, 100), numpy.float32)}).values()
        numpy.testing.assert_array_equal(y, numpy.zeros((8, 200), numpy.float32))

    def test_parts_are_the_same_in_every_run(self):
        self.write("choice.onnx", choice())
        found = []
        for _ in range(2):
            self.parts("choice.onnx")
            found.append({path.name: path.read_bytes() for path in (self.folder / "parts").iterdir()})
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    program.main()
