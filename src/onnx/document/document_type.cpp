#include "src/onnx/document/document_type.h"

#include "src/ir/data_type_from_number.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

namespace {

using Kind = DeclaredType::Kind;

Result<void> finished(const WireReader& reader, std::string_view what) {
  if (reader.fault() == WireFault::none) return {};
  return fail(ErrorCode::unreadable, std::string(what) + " has " + reader.fault_text());
}

void set_data_type(DeclaredType& type, std::uint64_t number) {
  type.data_type_number = static_cast<std::int32_t>(number);
  type.data_type = ir::data_type_from_number(type.data_type_number);
}

Result<void> parse_shape(std::string_view payload, DeclaredType& type) {
  type.ranked = true;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(1)) continue;
    Dimension dimension;
    WireReader dims(field.payload);
    for (WireField part; dims.next(part);) {
      if (part.is_varint(1)) dimension = {Dimension::Kind::value, static_cast<std::int64_t>(part.value), {}};
      if (part.is_bytes(2)) dimension = {Dimension::Kind::parameter, 0, part.payload};
    }
    XFLOW_CHECK(finished(dims, "a dimension"));
    type.dims.push_back(dimension);
  }
  return finished(reader, "a shape");
}

// Returns the kind of a member of TypeProto's oneof.
Kind kind_of(const WireField& field) {
  if (field.type != WireType::length_delimited) return Kind::missing;
  switch (field.number) {
    case 1:
      return Kind::tensor;
    case 4:
      return Kind::sequence;
    case 5:
      return Kind::map;
    case 8:
      return Kind::sparse_tensor;
    case 9:
      return Kind::optional;
    default:
      return Kind::missing;
  }
}

Result<void> parse_member(std::string_view payload, DeclaredType& type) {
  const bool is_tensor = type.kind == Kind::tensor || type.kind == Kind::sparse_tensor;
  const bool has_number = is_tensor || type.kind == Kind::map;
  const std::uint32_t element = type.kind == Kind::map ? 2 : 1;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (has_number && field.is_varint(1)) {
      set_data_type(type, field.value);
    } else if (is_tensor && field.is_bytes(2)) {
      XFLOW_CHECK(parse_shape(field.payload, type));
    } else if (!is_tensor && field.is_bytes(element)) {
      type.element = field.payload;
    }
  }
  return finished(reader, "a type");
}

std::string data_type_text(const DeclaredType& type) {
  if (type.data_type != ir::DataType::undefined) return std::string(ir::name(type.data_type));
  return type.data_type_number == 0 ? "?" : "type " + std::to_string(type.data_type_number);
}

std::string tensor_text(const DeclaredType& type) {
  std::string text = data_type_text(type) + "[";
  if (!type.ranked) return text + "...]";
  for (std::size_t i = 0; i < type.dims.size(); ++i) text += (i == 0 ? "" : ",") + type.dims[i].text();
  return text + "]";
}

}  // namespace

std::string Dimension::text() const {
  switch (kind) {
    case Kind::missing:
      return "?";
    case Kind::value:
      return std::to_string(value);
    case Kind::parameter:
      return parameter.empty() ? "?" : std::string(parameter);
  }
  return "?";
}

Result<void> parse_type(std::string_view payload, DeclaredType& type) {
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    const Kind kind = kind_of(field);
    if (kind == Kind::missing) continue;
    if (kind != type.kind) {
      type = DeclaredType();
      type.kind = kind;
    }
    XFLOW_CHECK(parse_member(field.payload, type));
  }
  return finished(reader, "a type");
}

// Nested types are printed in a loop because a file may nest them to any depth.
std::string DeclaredType::text() const {
  std::string text;
  std::size_t open = 0;
  DeclaredType level = *this;
  while (level.kind == Kind::sequence || level.kind == Kind::map || level.kind == Kind::optional) {
    text += level.kind == Kind::sequence ? "sequence(" : level.kind == Kind::optional ? "optional(" : "map(" + data_type_text(level) + ", ";
    ++open;
    const std::string_view nested = level.element;
    level = DeclaredType();
    if (!parse_type(nested, level)) level = DeclaredType();
  }
  if (level.kind == Kind::sparse_tensor) {
    text += "sparse(";
    ++open;
  }
  text += level.kind == Kind::missing ? "?" : tensor_text(level);
  return text.append(open, ')');
}

}  // namespace xflow::onnx_io
