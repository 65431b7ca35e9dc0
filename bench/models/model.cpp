#include "bench/models/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <ostream>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"

namespace xflow::bench {
namespace {

using onnx_io::WireWriter;

constexpr int kOpset = 17;
constexpr int kIrVersion = 8;

std::uint64_t mixed(std::uint64_t bits) {  // the finalizer of SplitMix64 (Steele, Lea, Flood 2014)
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

std::uint64_t seed_of(std::string_view model, std::string_view weight) {
  std::uint64_t seed = 0;
  for (const std::string_view text : {model, weight})
    for (const char c : text) seed = mixed(seed + static_cast<unsigned char>(c) + 1);
  return seed;
}

// The element at `index`: 24 random bits, all of which a float holds, of the range.
float drawn(std::uint64_t seed, std::uint64_t index, Range range) {
  const auto bits = static_cast<float>(mixed(seed + index * 0x9E3779B97F4A7C15) >> 40);
  return range.low + (range.high - range.low) * (bits / 16777216.0F);
}

std::string value_info(std::string_view name, const Dims& dims, ir::DataType type) {
  std::vector<onnx_io::Dimension> shape;
  shape.reserve(dims.size());
  for (const std::int64_t dim : dims) shape.push_back({onnx_io::Dimension::Kind::value, dim, {}});
  return onnx_io::value_info_message(name, type, shape);
}

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

Range around_zero(double standard_deviation) {
  const auto limit = static_cast<float>(std::sqrt(3.0) * standard_deviation);
  return {-limit, limit};
}

std::int64_t count(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()); }

Value Model::input(std::string_view name, Dims dims, ir::DataType type) {
  inputs_.push_back(value_info(name, dims, type));
  return {std::string(name), std::move(dims)};
}

void Model::output(const Value& value, const std::string& name) {
  for (Node& node : nodes_)
    for (auto* names : {&node.inputs, &node.outputs}) std::replace(names->begin(), names->end(), value.name, name);
  outputs_.push_back(value_info(name, value.dims, ir::DataType::float32));
}

Value Model::weight(std::string_view name, Dims dims, Range range, bool trained) {
  const auto size = static_cast<std::uint64_t>(count(dims));
  if (trained) parameters_ += size;
  initializers_.push_back(
      {onnx_io::tensor_header(name, ir::DataType::float32, dims, size * sizeof(float)), {}, size, range, seed_of(name_, name)});
  return {std::string(name), std::move(dims)};
}

void Model::add(std::string_view name, ir::DataType type, const Dims& dims, std::string_view elements) {
  initializers_.push_back({onnx_io::tensor_header(name, type, dims, elements.size()), std::string(elements), 0, {}, 0});
}

Value Model::constant(std::string_view name, Dims dims, std::span<const float> values) {
  add(name, ir::DataType::float32, dims, bytes_of(values));
  return {std::string(name), std::move(dims)};
}

Value Model::integers(std::string_view name, std::span<const std::int64_t> values) {
  Dims dims{static_cast<std::int64_t>(values.size())};
  add(name, ir::DataType::int64, dims, bytes_of(values));
  return {std::string(name), std::move(dims)};
}

Value Model::integer(std::string_view name, std::int64_t value) {
  add(name, ir::DataType::int64, {}, bytes_of(std::span<const std::int64_t>(&value, 1)));
  return {std::string(name), {}};
}

std::vector<Value> Model::node(std::string_view op, std::string_view place, std::span<const Value> inputs, std::vector<Dims> outputs,
                               const Attributes& attributes) {
  std::string name = fmt::format("/{}{}{}", place, place.empty() ? "" : "/", op);
  if (const int before = names_[name]++; before > 0) name += fmt::format("_{}", before);
  Node node{std::string(op), name, {}, {}, attributes};
  for (const Value& input : inputs) node.inputs.push_back(input.name);
  std::vector<Value> results;
  for (Dims& dims : outputs) {
    results.push_back({fmt::format("{}_output_{}", name, results.size()), std::move(dims)});
    node.outputs.push_back(results.back().name);
  }
  nodes_.push_back(std::move(node));
  return results;
}

std::string Model::Node::message() const {
  onnx_io::NodeBuilder builder(op);
  builder.name(name);
  for (const std::string& input : inputs) builder.input(input);
  for (const std::string& output : outputs) builder.output(output);
  for (const auto& [key, value] : attributes) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) builder.integer(key, *integer);
    if (const auto* real = std::get_if<float>(&value)) builder.real(key, *real);
    if (const auto* integers = std::get_if<Dims>(&value)) builder.integers(key, *integers);
    if (const auto* text = std::get_if<std::string_view>(&value)) builder.string(key, *text);
  }
  return builder.message();
}

Value Model::node(std::string_view op, std::string_view place, std::span<const Value> inputs, Dims output, const Attributes& attributes) {
  return node(op, place, inputs, std::vector<Dims>{std::move(output)}, attributes).front();
}

void Model::write(std::ostream& out) const {
  const auto size_of = [](const Initializer& tensor) {
    return tensor.header.size() + tensor.elements.size() + tensor.size * sizeof(float);
  };
  WireWriter front;
  for (const Node& node : nodes_) front.bytes(1, node.message());
  front.bytes(2, name_);
  WireWriter back;
  for (const std::string& info : inputs_) back.bytes(11, info);
  for (const std::string& info : outputs_) back.bytes(12, info);
  std::uint64_t size = front.view().size() + back.view().size();
  for (const Initializer& tensor : initializers_) size += WireWriter().header(5, size_of(tensor)).view().size() + size_of(tensor);

  out << WireWriter()
             .varint(1, kIrVersion)
             .bytes(2, "xflow-bench-models")
             .bytes(8, WireWriter().varint(2, kOpset).view())
             .header(7, size)
             .view()
      << front.view();
  std::array<float, 16384> block;
  for (const Initializer& tensor : initializers_) {
    out << WireWriter().header(5, size_of(tensor)).view() << tensor.header << tensor.elements;
    for (std::uint64_t begin = 0; begin < tensor.size; begin += block.size()) {
      const std::uint64_t length = std::min<std::uint64_t>(block.size(), tensor.size - begin);
      for (std::uint64_t k = 0; k < length; ++k) block[k] = drawn(tensor.seed, begin + k, tensor.range);
      out << bytes_of(std::span<const float>(block.data(), length));
    }
  }
  out << back.view();
}

}  // namespace xflow::bench
