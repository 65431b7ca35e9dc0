#include "src/onnx/document/fixed_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {
namespace {

// Fields of ValueInfoProto, TypeProto, TypeProto.Tensor, TensorShapeProto and its
// Dimension.
constexpr std::uint32_t kInfoName = 1;
constexpr std::uint32_t kType = 2;
constexpr std::uint32_t kTensorType = 1;
constexpr std::uint32_t kShape = 2;
constexpr std::uint32_t kDimension = 1;
constexpr std::uint32_t kDimValue = 1;
constexpr std::uint32_t kDimParam = 2;
constexpr std::uint32_t kDenotation = 3;

Unexpected refuse(const InputShape& shape, const std::string& why) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("sizes [{}] of input '{}': {}", fmt::join(shape.dims, ","), printable(shape.input), why));
}

// Copies a message, with each field of this number replaced by what `edit` returns for its payload.
template <typename Edit>
Result<std::string> edited(std::string_view message, std::uint32_t number, const Edit& edit) {
  WireWriter out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(number)) {
      out.raw(field.whole);
      continue;
    }
    XFLOW_TRY(const std::string payload, edit(field.payload));
    out.bytes(number, payload);
  }
  return out.take();
}

// The declared size of a Dimension; nothing if it is open, which some exporters write as a negative number.
std::optional<std::int64_t> size_of(std::string_view dimension) {
  std::optional<std::int64_t> size;
  WireReader reader(dimension);
  for (WireField field; reader.next(field);) {
    if (field.is_varint(kDimValue)) size = static_cast<std::int64_t>(field.value);
    if (field.is_bytes(kDimParam)) size.reset();
  }
  return size && *size >= 0 ? size : std::nullopt;
}

Result<std::string> fixed_shape(std::string_view message, const InputShape& shape) {
  WireWriter out;
  std::size_t axis = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(kDimension)) {
      out.raw(field.whole);
      continue;
    }
    if (axis == shape.dims.size()) return refuse(shape, "the model declares more dimensions");
    const std::int64_t wanted = shape.dims[axis++];
    const auto declared = size_of(field.payload);
    if (declared && *declared != wanted)
      return refuse(shape, fmt::format("the model declares size {} of dimension {}", *declared, axis - 1));
    if (declared) {
      out.raw(field.whole);
      continue;
    }
    WireWriter dimension;
    dimension.varint(kDimValue, wanted);
    WireReader parts(field.payload);
    for (WireField part; parts.next(part);)
      if (part.is_bytes(kDenotation)) dimension.raw(part.whole);
    out.bytes(kDimension, dimension.view());
  }
  if (axis < shape.dims.size()) return refuse(shape, fmt::format("the model declares {} dimensions", axis));
  return out.take();
}

std::string new_shape(const InputShape& shape) {
  WireWriter out;
  for (const std::int64_t size : shape.dims) {
    WireWriter dimension;
    dimension.varint(kDimValue, size);
    out.bytes(kDimension, dimension.view());
  }
  return out.take();
}

Result<std::string> fixed_tensor(std::string_view message, const InputShape& shape) {
  bool has_shape = false;
  XFLOW_TRY(std::string tensor, edited(message, kShape, [&](std::string_view payload) {
              has_shape = true;
              return fixed_shape(payload, shape);
            }));
  if (!has_shape) tensor += WireWriter().bytes(kShape, new_shape(shape)).view();
  return tensor;
}

Result<std::string> fixed_type(std::string_view message, const InputShape& shape) {
  bool is_tensor = false;
  auto type = edited(message, kTensorType, [&](std::string_view payload) {
    is_tensor = true;
    return fixed_tensor(payload, shape);
  });
  if (type && !is_tensor) return refuse(shape, "it is no tensor");
  return type;
}

// A ValueInfoProto of the main graph's inputs.
Result<std::string> fixed_input(std::string_view message, std::span<const InputShape> shapes) {
  std::string_view name;
  WireReader reader(message);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(kInfoName)) name = field.payload;
  const auto shape = std::ranges::find(shapes, name, &InputShape::input);
  if (shape == shapes.end()) return std::string(message);
  return edited(message, kType, [&](std::string_view payload) { return fixed_type(payload, *shape); });
}

}  // namespace

Result<std::string> with_fixed_inputs(const Document& document, std::span<const InputShape> shapes) {
  for (const InputShape& shape : shapes) {
    const auto& inputs = document.main().inputs;
    if (std::ranges::find(inputs, shape.input, &ValueInfo::name) == inputs.end()) return refuse(shape, "the model has no such input");
    if (std::ranges::count(shapes, shape.input, &InputShape::input) > 1) return refuse(shape, "it is given several times");
    for (const std::int64_t size : shape.dims)
      if (size < 0) return refuse(shape, "a size is negative");
  }
  return edited(document.bytes(), model_fields::kGraph, [&](std::string_view graph) {
    return edited(graph, graph_fields::kInput, [&](std::string_view input) { return fixed_input(input, shapes); });
  });
}

Result<void> fix_inputs(Document& document, std::span<const InputShape> shapes) {
  if (shapes.empty()) return {};
  XFLOW_TRY(std::string bytes, with_fixed_inputs(document, shapes));
  XFLOW_TRY(document, Document::parse(std::move(bytes), document.origin()));
  return {};
}

}  // namespace xflow::onnx_io
