#include "tests/onnx/rewritten.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/ops/operator.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io::testing {
namespace {

std::string line_of(const Node& node) {
  std::string line(node.op_type);
  for (const std::string_view input : node.inputs) line += " " + (input.empty() ? std::string("-") : std::string(input));
  line += " ->";
  for (const std::string_view output : node.outputs) line += " " + (output.empty() ? std::string("-") : std::string(output));
  return line;
}

}  // namespace

std::string node_lines(const Document& document) {
  std::string text;
  for (const Node& node : document.nodes(GraphId{0})) text += line_of(node) + "\n";
  return text;
}

Rewritten::Rewritten(std::string bytes) : document_(parsed(std::move(bytes))) {
  auto lifted = lift(document_, arena_);
  EXPECT_TRUE(lifted) << lifted.error().text();
  model_ = *std::move(lifted);
  graph_ = model_.graph;
  fold = [this](ir::ValueId v) -> Result<ir::Constant> {
    const ir::TensorType& type = arena_.type(v);
    auto dims = ir::constant_shape(type.shape);
    std::size_t count = 1;
    for (const std::int64_t d : *dims) count *= static_cast<std::size_t>(d);
    return ir::make_constant(type.data_type, *std::move(dims), std::vector<double>(count, 3.0));
  };
}

ir::ValueId Rewritten::op(std::string_view name, std::vector<ir::ValueId> operands, ir::Attributes attributes) {
  const auto result = ops::apply(arena_, name, std::move(operands), std::move(attributes));
  EXPECT_TRUE(result) << result.error().text();
  return *result;
}

ir::ValueId Rewritten::scalar(float value) {
  const double wide = value;
  return arena_.constant(*ir::make_constant(ir::DataType::float32, {}, std::span<const double>(&wide, 1)));
}

void Rewritten::replace(ir::ValueId before, ir::ValueId after) { replace_all({{before, after}}); }

void Rewritten::replace_all(ir::ValueMap replacements) {
  auto replaced = ir::replace(arena_, graph_, replacements);
  ASSERT_TRUE(replaced) << replaced.error().text();
  graph_ = *std::move(replaced);
  for (auto& [from, to] : correspondence_) {
    if (const auto found = replacements.find(to); found != replacements.end()) to = found->second;
  }
  for (const auto& [from, to] : replacements) correspondence_.try_emplace(from, to);
}

Result<LoweredModel> Rewritten::try_lower() { return onnx_io::lower(document_, model_, arena_, graph_, correspondence_, fold); }

const LoweredModel& Rewritten::lower() {
  auto lowered = try_lower();
  EXPECT_TRUE(lowered) << lowered.error().text();
  if (lowered) lowered_ = *std::move(lowered);
  auto written = write_bytes(document_, lowered_.edits);
  EXPECT_TRUE(written) << written.error().text();
  bytes_ = *std::move(written);
  return lowered_;
}

std::string Rewritten::error() {
  const auto lowered = try_lower();
  EXPECT_FALSE(lowered);
  return lowered ? "" : lowered.error().text();
}

const std::string& Rewritten::bytes() {
  if (bytes_.empty()) lower();
  return bytes_;
}

std::string Rewritten::nodes() {
  const Document written = parsed(bytes());
  EXPECT_TRUE(written.main().sorted);
  std::string text;
  for (const Node& node : written.nodes(GraphId{0})) {
    const auto originals = document_.nodes(GraphId{0});
    const bool kept = std::any_of(originals.begin(), originals.end(), [&](const Node& n) { return n.field == node.field; });
    text += line_of(node) + (kept ? " =\n" : "\n");
  }
  return text;
}

std::string Rewritten::initializers() {
  const Document written = parsed(bytes());
  std::string text;
  for (const Initializer& i : written.main().initializers) text += (text.empty() ? "" : " ") + std::string(i.tensor.name);
  return text;
}

std::string Rewritten::value_infos() {
  const Document written = parsed(bytes());
  std::string text;
  for (const ValueInfo& v : written.main().value_infos) {
    text += (text.empty() ? "" : " ") + std::string(v.name);
    const auto originals = document_.main().value_infos;
    EXPECT_TRUE(std::any_of(originals.begin(), originals.end(), [&](const ValueInfo& o) { return o.field == v.field; })) << v.name;
  }
  return text;
}

}  // namespace xflow::onnx_io::testing
