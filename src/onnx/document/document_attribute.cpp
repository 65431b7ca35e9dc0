// Decodes attributes on demand.
#include <cstring>

#include "src/onnx/document/document.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

std::string_view text(AttributeType type) {
  switch (type) {
    case AttributeType::undefined:
      return "without a type";
    case AttributeType::real:
      return "a float";
    case AttributeType::integer:
      return "an int";
    case AttributeType::string:
      return "a string";
    case AttributeType::tensor:
      return "a tensor";
    case AttributeType::graph:
      return "a graph";
    case AttributeType::reals:
      return "a list of floats";
    case AttributeType::integers:
      return "a list of ints";
    case AttributeType::strings:
      return "a list of strings";
    case AttributeType::tensors:
      return "a list of tensors";
    case AttributeType::graphs:
      return "a list of graphs";
    case AttributeType::sparse_tensor:
      return "a sparse tensor";
    case AttributeType::sparse_tensors:
      return "a list of sparse tensors";
    case AttributeType::type:
      return "a type";
    case AttributeType::types:
      return "a list of types";
  }
  return "of an unknown type";
}

Result<void> expect(const Attribute& attribute, AttributeType type) {
  const std::string name = "attribute " + in_quotes(attribute.name);
  if (!attribute.reference.empty()) {
    return fail(ErrorCode::ill_typed,
                name + " stands for the function's attribute " + in_quotes(attribute.reference) + ", expected " + std::string(text(type)));
  }
  if (attribute.type == type) return {};
  return fail(ErrorCode::ill_typed, name + " is " + std::string(text(attribute.type)) + ", expected " + std::string(text(type)));
}

Unexpected faulty(const Attribute& attribute) {
  return fail(ErrorCode::unreadable, "attribute " + in_quotes(attribute.name) + " has truncated elements");
}

float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

Result<std::int64_t> Attribute::integer() const {
  XFLOW_CHECK(expect(*this, AttributeType::integer));
  std::int64_t value = 0;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.is_varint(3)) value = static_cast<std::int64_t>(part.value);
  }
  return value;
}

Result<float> Attribute::real() const {
  XFLOW_CHECK(expect(*this, AttributeType::real));
  float value = 0;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.number == 2 && part.type == WireType::fixed32) value = float_of(static_cast<std::uint32_t>(part.value));
  }
  return value;
}

Result<std::string_view> Attribute::string() const {
  XFLOW_CHECK(expect(*this, AttributeType::string));
  std::string_view value;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.is_bytes(4)) value = part.payload;
  }
  return value;
}

Result<std::vector<std::int64_t>> Attribute::integers() const {
  XFLOW_CHECK(expect(*this, AttributeType::integers));
  std::vector<std::int64_t> values;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.number == 8 && !append_varints(part, values)) return faulty(*this);
  }
  return values;
}

Result<std::vector<float>> Attribute::reals() const {
  XFLOW_CHECK(expect(*this, AttributeType::reals));
  std::vector<std::uint32_t> bits;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.number == 7 && !append_fixed32(part, bits)) return faulty(*this);
  }
  std::vector<float> values;
  values.reserve(bits.size());
  for (const std::uint32_t word : bits) values.push_back(float_of(word));
  return values;
}

Result<std::vector<std::string_view>> Attribute::strings() const {
  XFLOW_CHECK(expect(*this, AttributeType::strings));
  std::vector<std::string_view> values;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.is_bytes(9)) values.push_back(part.payload);
  }
  return values;
}

Result<DeclaredType> Attribute::declared_type() const {
  XFLOW_CHECK(expect(*this, AttributeType::type));
  DeclaredType type;
  WireReader reader(payload);
  for (WireField part; reader.next(part);) {
    if (part.is_bytes(14)) XFLOW_CHECK(parse_type(part.payload, type));
  }
  return type;
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

bool Node::has_bodies() const {
  for (const Attribute& attribute : attributes) {
    if (!attribute.graphs.empty()) return true;
  }
  return false;
}

bool Node::is(std::string_view operator_name) const { return op_type == operator_name && is_default_domain(domain); }

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace xflow::onnx_io
