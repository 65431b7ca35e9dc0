"""Multi-device configurations in models, as tests write them."""

from onnx import ShardingSpecProto


def spec(tensor, devices, axes=(), groups=None):
    """A sharding spec. `axes` has pairs of an axis and a number of shards, or a list of pairs (dimension, number of shards)."""
    result = ShardingSpecProto(tensor_name=tensor, device=devices)
    for key, members in (groups or {}).items():
        result.index_to_device_group_map.add(key=key, value=members)
    for axis, shards in axes:
        sharded = result.sharded_dim.add(axis=axis)
        for dimension, count in [(None, shards)] if isinstance(shards, int) else shards:
            simple = sharded.simple_sharding.add(num_shards=count)
            if isinstance(dimension, int):
                simple.dim_value = dimension
            elif dimension is not None:
                simple.dim_param = dimension
    return result


def annotate(node, *specs, configuration="pair", stage=None):
    """Adds an entry to a node, and returns it."""
    entry = node.device_configurations.add(configuration_id=configuration)
    entry.sharding_spec.extend(specs)
    if stage is not None:
        entry.pipeline_stage = stage
    return entry


def configure(model, name="pair", devices=2, names=("left", "right")):
    model.ir_version = max(model.ir_version, 11)
    return model.configuration.add(name=name, num_devices=devices, device=names)
