#include "src/onnx/document/device_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {
namespace {

constexpr std::int64_t kFirstWithOverridden = 4;  // IR version

// The values of proto fields of type int32 are the low 32 bits of the number.
std::int64_t int32_of(const WireField& field) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value)); }
std::int64_t int64_of(const WireField& field) { return static_cast<std::int64_t>(field.value); }

// Reads the messages of annotations. The first fault stops all readers.
class AnnotationReader {
 public:
  explicit AnnotationReader(std::string_view file) : file_(file) {}

  DeviceConfiguration configuration(std::string_view message);
  NodeAnnotation annotation(std::string_view message);
  const std::optional<std::string>& fault() const { return fault_; }

 private:
  // Calls `read` for each field.
  template <typename Read>
  void fields(std::string_view message, const char* what, const Read& read) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) read(field);
    if (reader.fault() != WireFault::none) stop(message, what, reader.fault_offset(), reader.fault_text());
  }
  void numbers(const WireField& field, std::string_view message, const char* what, std::vector<std::int64_t>& out) {
    if (!append_varints(field, out))
      stop(message, what, static_cast<std::uint64_t>(field.whole.data() - message.data()), "numbers that are truncated");
  }
  void stop(std::string_view message, const char* what, std::uint64_t offset, const std::string& text) {
    const auto at = static_cast<std::uint64_t>(message.data() - file_.data()) + offset;
    if (!fault_) fault_ = fmt::format("{} has at byte {} {}", what, at, text);
  }
  ShardingSpec spec(std::string_view message);
  DeviceGroup group(std::string_view message);
  ShardedAxis axis(std::string_view message);
  SimpleSharding dim(std::string_view message);

  std::string_view file_;
  std::optional<std::string> fault_;
};

DeviceConfiguration AnnotationReader::configuration(std::string_view message) {
  DeviceConfiguration result;
  fields(message, "a device configuration", [&](const WireField& field) {
    if (field.is_bytes(1)) result.name = field.payload;
    if (field.is_varint(2)) result.num_devices = int32_of(field);
    if (field.is_bytes(3)) result.devices.emplace_back(field.payload);
  });
  return result;
}

NodeAnnotation AnnotationReader::annotation(std::string_view message) {
  NodeAnnotation result;
  fields(message, "a device configuration", [&](const WireField& field) {
    if (field.is_bytes(1)) result.configuration = field.payload;
    if (field.is_bytes(2)) result.specs.push_back(spec(field.payload));
    if (field.is_varint(3)) result.pipeline_stage = int32_of(field);
  });
  return result;
}

ShardingSpec AnnotationReader::spec(std::string_view message) {
  ShardingSpec result;
  fields(message, "a sharding spec", [&](const WireField& field) {
    if (field.is_bytes(1)) result.tensor = field.payload;
    if (field.number == 2) numbers(field, message, "a sharding spec", result.devices);
    if (field.is_bytes(3)) result.groups.push_back(group(field.payload));
    if (field.is_bytes(4)) result.axes.push_back(axis(field.payload));
  });
  return result;
}

DeviceGroup AnnotationReader::group(std::string_view message) {
  DeviceGroup result;
  fields(message, "a device group", [&](const WireField& field) {
    if (field.is_varint(1)) result.key = int64_of(field);
    if (field.number == 2) numbers(field, message, "a device group", result.devices);
  });
  return result;
}

ShardedAxis AnnotationReader::axis(std::string_view message) {
  ShardedAxis result;
  fields(message, "a sharded dimension", [&](const WireField& field) {
    if (field.is_varint(1)) result.axis = int64_of(field);
    if (field.is_bytes(2)) result.dims.push_back(dim(field.payload));
  });
  return result;
}

SimpleSharding AnnotationReader::dim(std::string_view message) {
  SimpleSharding result;
  fields(message, "a sharded dimension", [&](const WireField& field) {
    if (field.is_varint(1)) {
      result.dim_value = int64_of(field);
      result.dim_param.reset();
    }
    if (field.is_bytes(2)) {
      result.dim_param = field.payload;
      result.dim_value.reset();
    }
    if (field.is_varint(3)) result.num_shards = int64_of(field);
  });
  return result;
}

std::string message_of(const DeviceConfiguration& configuration) {
  WireWriter out;
  out.bytes(1, configuration.name);
  if (configuration.num_devices) out.varint(2, *configuration.num_devices);
  for (const std::string& device : configuration.devices) out.bytes(3, device);
  return out.take();
}

// onnx.proto declares its repeated integers without `packed`, so protobuf writes them one by one.
void write_numbers(WireWriter& out, std::uint32_t number, const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) out.varint(number, value);
}

std::string message_of(const ShardedAxis& axis) {
  WireWriter out;
  if (axis.axis) out.varint(1, *axis.axis);
  for (const SimpleSharding& dim : axis.dims) {
    WireWriter simple;
    if (dim.dim_value) simple.varint(1, *dim.dim_value);
    if (dim.dim_param) simple.bytes(2, *dim.dim_param);
    if (dim.num_shards) simple.varint(3, *dim.num_shards);
    out.bytes(2, simple.view());
  }
  return out.take();
}

std::string message_of(const ShardingSpec& spec) {
  WireWriter out;
  out.bytes(1, spec.tensor);
  write_numbers(out, 2, spec.devices);
  for (const DeviceGroup& group : spec.groups) {
    WireWriter entry;
    entry.varint(1, group.key);
    write_numbers(entry, 2, group.devices);
    out.bytes(3, entry.view());
  }
  for (const ShardedAxis& axis : spec.axes) out.bytes(4, message_of(axis));
  return out.take();
}

std::string message_of(const NodeAnnotation& annotation) {
  WireWriter out;
  out.bytes(1, annotation.configuration);
  for (const ShardingSpec& spec : annotation.specs) out.bytes(2, message_of(spec));
  if (annotation.pipeline_stage) out.varint(3, *annotation.pipeline_stage);
  return out.take();
}

// The name in field 1 of a DeviceConfigurationProto or a NodeDeviceConfigurationProto.
std::string_view name_in(std::string_view message) {
  std::string_view name;
  WireReader reader(message);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(1)) name = field.payload;
  return name;
}

// Drops the fields of this number whose messages have one of the names.
void drop_named(std::string_view message, std::uint32_t number, const std::set<std::string_view>& names, FieldEdits& edits) {
  WireReader reader(message);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(number) && names.contains(name_in(field.payload))) edits.dropped.push_back(field.whole);
}

}  // namespace

Result<DeviceAnnotations> read_device_annotations(const Document& document) {
  AnnotationReader reader(document.bytes());
  DeviceAnnotations result;
  const auto damaged = [&](const std::string& place) {
    return fail(ErrorCode::unreadable, fmt::format("damaged model: {}{}", place, *reader.fault()), document.origin().name);
  };
  WireReader model(document.bytes());
  for (WireField field; model.next(field);)
    if (field.is_bytes(model_fields::kDevices)) result.configurations.push_back(reader.configuration(field.payload));
  if (reader.fault()) return damaged("");
  for (const Node& node : document.nodes()) {
    AnnotatedNode annotated{node.id, {}};
    WireReader fields(node.payload);
    for (WireField field; fields.next(field);)
      if (field.is_bytes(node_fields::kDevices)) annotated.annotations.push_back(reader.annotation(field.payload));
    if (reader.fault()) return damaged(describe(document, node.id) + ": ");
    if (!annotated.annotations.empty()) result.nodes.push_back(std::move(annotated));
  }
  return result;
}

Result<std::string> with_device_annotations(const Document& document, const DeviceAnnotations& annotations) {
  const std::int64_t version = document.model().ir_version;
  if (version < kFirstWithOverridden) {
    return fail(ErrorCode::unsupported,
                fmt::format("the model has IR version {}, where initializers that are inputs are constants; convert it to IR version {} or "
                            "later first",
                            version, kFirstWithOverridden),
                document.origin().name);
  }
  FieldEdits edits;
  if (version < kFirstWithDevices) edits.ir_version = kFirstWithDevices;
  std::set<std::string_view> names;
  for (const DeviceConfiguration& configuration : annotations.configurations) {
    names.insert(configuration.name);
    edits.model += WireWriter().bytes(model_fields::kDevices, message_of(configuration)).view();
  }
  drop_named(document.bytes(), model_fields::kDevices, names, edits);
  for (const Node& node : document.nodes()) drop_named(node.payload, node_fields::kDevices, names, edits);
  for (const AnnotatedNode& node : annotations.nodes)
    for (const NodeAnnotation& annotation : node.annotations)
      edits.nodes[node.node] += WireWriter().bytes(node_fields::kDevices, message_of(annotation)).view();
  return write_bytes(document, {}, edits);
}

}  // namespace xflow::onnx_io
