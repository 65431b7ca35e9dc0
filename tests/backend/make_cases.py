"""Writes cases for operator versions that ONNX's backend data, which has the newest versions only, does not cover.

make_cases.py BACKEND_DATA CLAIMS OUT: CLAIMS has a line "DOMAIN TYPE SINCE UNTIL" for each row of the importer. For each version of a
schema in such a range, OUT/pairs.txt gets a line with the folders of its cases, separated by tabs. Where the backend data has no case of
that version, a case of another version is reexported: inputs that were attributes become attributes, attributes that did not exist yet go if
they hold their default. ONNX Runtime computes the outputs, or ONNX's reference implementation where ONNX Runtime lacks the version.
"""
import collections
import glob
import os
import sys
import warnings

import numpy
import onnx
import onnx.numpy_helper
import onnx.reference
import onnxruntime

CANDIDATES = 60  # cases of another version that are tried
WANTED = 10  # cases written for a pair


def load_tensors(folder, kind):
    result = []
    for k in range(len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))):
        with open(os.path.join(folder, f"{kind}_{k}.pb"), "rb") as file:
            result.append(onnx.numpy_helper.to_array(onnx.load_tensor_from_string(file.read())))
    return result


class Case:
    """A backend case with one node, whose inputs are those of the graph."""

    def __init__(self, folder, model):
        self.folder = folder
        self.model = model
        self.node = model.graph.node[0]
        self.opset = {entry.domain: entry.version for entry in model.opset_import}.get("", 1)

    def values(self):
        tensors = load_tensors(os.path.join(self.folder, "test_data_set_0"), "input")
        return dict(zip((value.name for value in self.model.graph.input), tensors))


def read_cases(data):
    cases = collections.defaultdict(list)
    for folder in sorted(glob.glob(os.path.join(data, "node", "*"))):
        path = os.path.join(folder, "model.onnx")
        if not os.path.exists(path):
            continue
        model = onnx.load(path)
        if len(model.graph.node) == 1 and model.graph.node[0].domain == "" and not folder.endswith("_expanded"):
            case = Case(folder, model)
            cases[case.node.op_type].append(case)
    return cases


def attribute_of(schema, name, array):
    """The input's value as the attribute of that name, or None if it does not fit."""
    types = onnx.defs.OpSchema.AttrType
    kind = schema.attributes[name].type
    if kind == types.INTS:
        return onnx.helper.make_attribute(name, [int(x) for x in numpy.ravel(array)])
    if kind == types.FLOATS:
        return onnx.helper.make_attribute(name, [float(x) for x in numpy.ravel(array)])
    if kind == types.INT and array.size == 1:
        return onnx.helper.make_attribute(name, int(array.reshape(())))
    if kind == types.FLOAT and array.size == 1:
        return onnx.helper.make_attribute(name, float(array.reshape(())))
    if kind == types.TENSOR:
        return onnx.numpy_helper.from_array(array)
    return None


RENAMED = {("Pad", "pads"): "paddings", ("Cast", "to"): "to", ("Pad", "constant_value"): "value"}


def reexport(case, old, new, opset):
    """The node and the inputs of the case in the version of schema `old`, or None."""
    values = case.values()
    node = onnx.NodeProto(op_type=case.node.op_type, output=[name for name in case.node.output][: old.max_output])
    kept = {}
    for k, name in enumerate(case.node.input):
        formal = new.inputs[min(k, len(new.inputs) - 1)].name
        if not name:
            node.input.append("")
            continue
        if name not in values:
            return None
        attribute = formal if formal in old.attributes else RENAMED.get((case.node.op_type, formal))
        old_inputs = [entry.name for entry in old.inputs]
        if attribute in old.attributes and attribute not in old_inputs:
            made = attribute_of(old, attribute, values[name])
            if made is None:
                return None
            node.attribute.append(made)
            continue
        if k >= old.max_input:
            return None
        node.input.append(name)
        kept[name] = values[name]
    while node.input and not node.input[-1]:
        del node.input[-1]
    if len(node.input) < old.min_input:
        return None
    for attribute in case.node.attribute:
        if attribute.name in old.attributes:
            node.attribute.append(attribute)
            continue
        known = new.attributes.get(attribute.name)
        default = known.default_value if known is not None else None
        if default is None or onnx.helper.get_attribute_value(default) != onnx.helper.get_attribute_value(attribute):
            return None
    if "broadcast" in old.attributes and len(node.input) == 2:
        shapes = [kept[name].shape for name in node.input]
        if shapes[0] != shapes[1]:
            node.attribute.append(onnx.helper.make_attribute("broadcast", 1))
    return node, kept


def model_of(node, kept, outputs, opset):
    to_info = lambda name, array: onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    infos = [to_info(name, array) for name, array in outputs] if outputs else [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "case", [to_info(name, array) for name, array in kept.items()], infos)
    imports = [onnx.helper.make_opsetid("", opset)]
    if node.domain:
        imports.append(onnx.helper.make_opsetid(node.domain, 1))
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


def run(node, kept, opset):
    """The outputs of the node, by ONNX Runtime or ONNX's reference."""
    model = model_of(node, kept, None, opset)
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, kept)
    except Exception:  # of any kind: it lacks the version
        pass
    try:
        return onnx.reference.ReferenceEvaluator(model).run(None, kept)
    except Exception:  # likewise
        return None


def narrowed(kept, old, node):
    """Inputs of element types that the old version lacks, as float32."""
    allowed = {entry.type_param_str: set(entry.allowed_type_strs) for entry in old.type_constraints}
    names = {numpy.dtype(numpy.float64): "tensor(double)", numpy.dtype(numpy.int32): "tensor(int32)", numpy.dtype(numpy.int64): "tensor(int64)",
             numpy.dtype(numpy.float32): "tensor(float)", numpy.dtype(bool): "tensor(bool)"}
    result = {}
    for k, name in enumerate(node.input):
        if not name:
            continue
        array = kept[name]
        types = allowed.get(old.inputs[min(k, len(old.inputs) - 1)].type_str)
        if types and array.dtype.kind in "ifb" and names.get(array.dtype) not in types and "tensor(float)" in types:
            array = array.astype(numpy.float32)
        result[name] = array
    return result


def write_case(folder, node, kept, outputs, opset):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    named = list(zip([name for name in node.output if name], outputs))
    onnx.save(model_of(node, kept, named, opset), os.path.join(folder, "model.onnx"))
    for k, array in enumerate(kept.values()):
        with open(os.path.join(data, f"input_{k}.pb"), "wb") as file:
            file.write(onnx.numpy_helper.from_array(array).SerializeToString())
    for k, (_, array) in enumerate(named):
        with open(os.path.join(data, f"output_{k}.pb"), "wb") as file:
            file.write(onnx.numpy_helper.from_array(array).SerializeToString())


def last_opset(schemas, version):
    """The largest opset in which the schema of that version holds."""
    later = [schema.since_version for schema in schemas if schema.since_version > version]
    return min(later) - 1 if later else onnx.defs.onnx_opset_version()


def own_cases(cases, schemas, old, out):
    opset = last_opset(schemas, old.since_version)
    written = []
    for case in cases[:CANDIDATES]:
        if len(written) == WANTED:
            break
        new = onnx.defs.get_schema(old.name, case.opset, "")
        try:
            made = reexport(case, old, new, opset)
        except Exception:  # inputs that are no tensors, element types that numpy lacks
            made = None
        if made is None:
            continue
        node, kept = made
        kept = narrowed(kept, old, node)
        outputs = run(node, kept, opset)
        if outputs is None or not all(isinstance(array, numpy.ndarray) for array in outputs):
            continue
        folder = os.path.join(out, f"{old.name}_{old.since_version}_{len(written)}")
        write_case(folder, node, kept, outputs, opset)
        written.append(folder)
    return written


def node_cases():
    """Cases by hand, by operator and version, where all that can be reexported use what is not covered: nodes and inputs."""
    x = numpy.arange(24, dtype=numpy.float32).reshape(1, 2, 3, 4) / 8 - 1
    scale = numpy.linspace(0.5, 2, 4, dtype=numpy.float32)
    scales = numpy.array([1, 1, 2, 1.5], dtype=numpy.float32)
    make = onnx.helper.make_node
    return {
        ("Identity", 16): [(make("Identity", ["x"], ["y"]), {"x": x})],
        ("LayerNormalization", 17): [
            (make("LayerNormalization", ["x", "scale"], ["y"]), {"x": x, "scale": scale}),
            (make("LayerNormalization", ["x", "scale", "bias"], ["y"], axis=-1, epsilon=1e-3), {"x": x, "scale": scale, "bias": scale - 1}),
        ],
        ("Resize", 10): [(make("Resize", ["x", "scales"], ["y"], mode=mode), {"x": x, "scales": scales}) for mode in ("nearest", "linear")],
    }


def contrib_cases():
    """Cases of operators of ONNX Runtime's own domain, version 1: nodes and inputs."""
    x = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4) / 4 - 3
    bias = numpy.linspace(-1, 1, 4, dtype=numpy.float32)
    w = numpy.linspace(-1, 2, 40, dtype=numpy.float32).reshape(2, 4, 5)
    make = lambda op, inputs, **attributes: onnx.helper.make_node(op, inputs, ["y"], domain="com.microsoft", **attributes)
    return {
        "BiasGelu": [(make("BiasGelu", ["x", "bias"]), {"x": x, "bias": bias})],
        "FastGelu": [(make("FastGelu", ["x"]), {"x": x}), (make("FastGelu", ["x", "bias"]), {"x": x, "bias": bias})],
        "FusedMatMul": [
            (make("FusedMatMul", ["x", "w"], alpha=0.5), {"x": x, "w": w}),
            (make("FusedMatMul", ["x", "w"], transA=1, transB=1), {"x": x.swapaxes(1, 2).copy(), "w": w.swapaxes(1, 2).copy()}),
        ],
        "Gelu": [(make("Gelu", ["x"]), {"x": x})],
        "QuickGelu": [(make("QuickGelu", ["x"]), {"x": x}), (make("QuickGelu", ["x"], alpha=1.25), {"x": x})],
    }


def write_contrib(name, out):
    written = []
    for node, inputs in contrib_cases().get(name, []):
        folder = os.path.join(out, f"com.microsoft.{name}_{len(written)}")
        write_case(folder, node, inputs, run(node, inputs, 17), 17)
        written.append(folder)
    return written


def cases_by_hand(schemas, schema, out):
    written = []
    for node, inputs in node_cases().get((schema.name, schema.since_version), []):
        opset = last_opset(schemas, schema.since_version)
        folder = os.path.join(out, f"{schema.name}_{schema.since_version}_by_hand_{len(written)}")
        write_case(folder, node, inputs, run(node, inputs, opset), opset)
        written.append(folder)
    return written


def main():
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(4)
    data, claims, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    cases = read_cases(data)
    schemas = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated:
            schemas[schema.name].append(schema)
    pairs = {}
    for line in open(claims, encoding="utf-8"):
        domain, name, since, until = line.split()
        if domain != "-":
            pairs[f"{domain} {name} {since}"] = write_contrib(name, out) if domain == "com.microsoft" else []
            continue
        for schema in schemas[name]:
            if not last_opset(schemas[name], schema.since_version) >= int(since) or schema.since_version > int(until):
                continue
            pair = f"{domain} {name} {schema.since_version}"
            if pair in pairs:
                continue
            at_version = [case for case in cases[name] if onnx.defs.get_schema(name, case.opset, "").since_version == schema.since_version]
            folders = [case.folder for case in at_version] or own_cases(cases[name], schemas[name], schema, out)
            pairs[pair] = folders + cases_by_hand(schemas[name], schema, out)
    with open(os.path.join(out, "pairs.txt"), "w", encoding="utf-8") as file:
        for pair, folders in sorted(pairs.items()):
            file.write("\t".join([pair, *folders]) + "\n")


if __name__ == "__main__":
    main()
