#include "tests/ops/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/places.h"

namespace xflow::ops {
namespace {

constexpr int kNewestOpset = 27;

ir::Poly parse_dimension(ir::Symbols& symbols, std::string_view text) {
  ir::Poly product = 1;
  while (!text.empty()) {
    const std::size_t star = text.find('*');
    const std::string factor(text.substr(0, star));
    text = star == std::string_view::npos ? std::string_view() : text.substr(star + 1);
    if (std::isdigit(static_cast<unsigned char>(factor[0])) != 0) {
      product *= ir::Poly(std::stoll(factor));
    } else {
      product *= ir::Poly(symbols.named(ir::SymbolKind::dimension, factor));
    }
  }
  return product;
}

std::string show(const Exported::AttributeValue& value) {
  struct Show {
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<std::int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
    std::string operator()(const std::vector<float>& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
    std::string operator()(const ir::Constant& v) const {
      const std::vector<double> values = ir::doubles(v).value();
      return fmt::format("{}[{}] {}", ir::name(v.data_type), fmt::join(v.dims, ", "), fmt::join(values, " "));
    }
  };
  return std::visit(Show{}, value);
}

// The node that a mapping wrote, as a reader sees it.
FakeOnnxNode as_node(ir::Arena& arena, const ir::Node& node, const Exported& exported, std::string_view type, int opset,
                     std::string_view domain) {
  FakeOnnxNode fake(arena.symbols(), std::string(type), opset, std::string(domain));
  for (const Exported::Input& input : exported.inputs) {
    if (const auto* operand = std::get_if<Exported::OperandInput>(&input)) {
      fake.input(arena.type(node.operands[static_cast<std::size_t>(operand->operand)]));
    } else if (const auto* integers = std::get_if<Exported::IntegersInput>(&input)) {
      fake.input(integers->values, integers->scalar);
    } else if (const auto* constant = std::get_if<Exported::ConstantInput>(&input)) {
      fake.input(constant->constant);
    } else {
      fake.absent();
    }
  }
  for (const auto& [name, value] : exported.attributes) fake.attribute(name, value);
  return fake.outputs(node.outputs.size());
}

}  // namespace

ir::TensorType parse_type(ir::Symbols& symbols, std::string_view text) {
  const std::size_t open = text.find('[');
  ir::TensorType type;
  type.data_type = ir::data_type_from_name(text.substr(0, open)).value();
  std::string dimension;
  for (const char c : text.substr(open + 1)) {
    if (c == ',' || c == ']') {
      if (!dimension.empty()) type.shape.push_back(parse_dimension(symbols, dimension));
      dimension.clear();
    } else if (c != ' ') {
      dimension += c;
    }
  }
  return type;
}

std::vector<ir::Poly> list(std::initializer_list<std::int64_t> values) { return ir::polys(std::vector<std::int64_t>(values)); }

Result<ir::NodeId> make_node(ir::Arena& arena, const Example& example) {
  std::vector<ir::ValueId> operands;
  for (std::size_t k = 0; k < example.operands.size(); ++k) {
    operands.push_back(example.operands[k].empty()
                           ? arena.absent()
                           : arena.input(parse_type(arena.symbols(), example.operands[k]), static_cast<std::uint32_t>(k)));
  }
  Typing typing(arena.symbols());
  return apply(arena, typing, id_of(example.op), operands, example.attributes);
}

std::string type_of(const Example& example) {
  ir::Arena arena;
  const auto node = make_node(arena, example);
  if (!node) return node.error().text();
  std::string text;
  for (const ir::TensorType& output : arena.node(*node).outputs) {
    text += (text.empty() ? "" : ", ") + ir::to_string(arena.symbols(), output);
  }
  return text;
}

std::string describe(const Example& example) {
  ir::Arena arena;
  const auto id = make_node(arena, example);
  if (!id) return fmt::format("{}: {}\n", example.op, id.error().text());
  const ir::Node& node = arena.node(*id);
  const Operator& op = get(node.op);
  std::vector<std::string> names;
  std::string operands;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const OperandSignature& signature = op.signature.operands[std::min(k, op.signature.operands.size() - 1)];
    names.push_back(signature.variadic ? fmt::format("{}{}", signature.name, k + 1) : std::string(signature.name));
    if (arena.is_absent(node.operands[k])) continue;
    operands +=
        fmt::format("{}{}: {}", operands.empty() ? "" : ", ", names.back(), ir::to_string(arena.symbols(), arena.type(node.operands[k])));
  }
  const std::string attributes = ir::to_string(arena.symbols(), node.attributes);
  std::string text = fmt::format("{}({}){}\n", op.signature.name, operands, attributes.empty() ? "" : " {" + attributes + "}");
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    std::vector<ir::Poly> index;
    const Expr expr = semantics_of(arena, *id, static_cast<int>(k), index);
    text += fmt::format("  {} {}\n", ir::to_string(arena.symbols(), node.outputs[k]), to_string(arena.symbols(), index, expr, names));
  }
  return text;
}

void expect_golden(const std::string& file, const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) text += describe(example);
  const std::string path = places::repository() + "/tests/ops/" + file;
  if (std::getenv("XFLOW_RENEW_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream stream(path, std::ios::binary);
  ASSERT_TRUE(stream) << path;
  std::ostringstream golden;
  golden << stream.rdbuf();
  EXPECT_EQ(text, golden.str()) << "if this is meant, run the test once with XFLOW_RENEW_GOLDENS=1 in the environment";
}

std::vector<Row> rows_for(std::string_view domain, std::string_view type, int opset) {
  std::vector<Row> rows;
  for (std::size_t k = 0; k < all_operators().size(); ++k) {
    for (const OnnxMapping& mapping : all_operators()[k].onnx_mappings()) {
      if (mapping.domain == domain && mapping.type == type && mapping.since <= opset && opset <= mapping.until) {
        rows.push_back({static_cast<ir::OperatorId>(k), mapping});
      }
    }
  }
  return rows;
}

Result<ir::NodeId> lift(ir::Arena& arena, const FakeOnnxNode& node, const std::vector<ir::ValueId>& inputs) {
  const std::vector<Row> rows = rows_for(node.domain(), node.type(), node.opset());
  if (rows.empty()) return fail(ErrorCode::unsupported, "no row reads this node");
  Error last;
  for (const Row& row : rows) {
    if (row.mapping.lift == nullptr) continue;
    auto lifted = row.mapping.lift(node);
    if (!lifted) {
      last = lifted.error();
      continue;
    }
    std::vector<ir::ValueId> operands;
    for (const int k : lifted->operands) operands.push_back(k < 0 ? arena.absent() : inputs[static_cast<std::size_t>(k)]);
    Typing typing(arena.symbols());
    return apply(arena, typing, row.op, operands, lifted->attributes);
  }
  return fail(last);
}

std::string lifted(const FakeOnnxNode& node, ir::Arena& arena) {
  std::vector<ir::ValueId> inputs;
  for (std::size_t k = 0; k < node.input_count(); ++k) {
    inputs.push_back(node.has_input(k) ? arena.input(node.input_type(k), static_cast<std::uint32_t>(k)) : arena.absent());
  }
  const auto id = lift(arena, node, inputs);
  if (!id) return id.error().text();
  const ir::Node& result = arena.node(*id);
  std::string operands;
  for (const ir::ValueId operand : result.operands) {
    const std::string text = arena.is_absent(operand) ? "absent" : ir::to_string(arena.symbols(), arena.type(operand));
    operands += (operands.empty() ? "" : ", ") + text;
  }
  const std::string attributes = ir::to_string(arena.symbols(), result.attributes);
  return fmt::format("{}({}){}", get(result.op).signature.name, operands, attributes.empty() ? "" : " {" + attributes + "}");
}

std::string exported(const Example& example, std::string_view type, int opset) {
  ir::Arena arena;
  const auto id = make_node(arena, example);
  if (!id) return id.error().text();
  const ir::Node& node = arena.node(*id);
  const std::vector<ir::TensorType> types = operand_types(arena, node);
  for (const Row& row : rows_for("", type, opset)) {
    if (row.op != node.op || row.mapping.to_onnx == nullptr) continue;
    const auto exported = row.mapping.to_onnx(Operation{types, node.attributes, node.outputs}, opset);
    if (!exported) return exported.error().text();
    std::string inputs;
    for (const Exported::Input& input : exported->inputs) {
      inputs += inputs.empty() ? "" : ", ";
      if (const auto* operand = std::get_if<Exported::OperandInput>(&input)) {
        inputs += fmt::format("%{}", operand->operand);
      } else if (const auto* integers = std::get_if<Exported::IntegersInput>(&input)) {
        inputs += arena.symbols().to_string(integers->values);
      } else if (const auto* constant = std::get_if<Exported::ConstantInput>(&input)) {
        inputs += show(constant->constant);
      } else {
        inputs += "absent";
      }
    }
    std::string attributes;
    for (const auto& [name, value] : exported->attributes) {
      attributes += fmt::format("{}{}: {}", attributes.empty() ? "" : ", ", name, show(value));
    }
    return fmt::format("{}({}){}", type, inputs, attributes.empty() ? "" : " {" + attributes + "}");
  }
  return "no row writes this node";
}

void expect_round_trips(const Example& example) {
  SCOPED_TRACE(describe(example));
  ir::Arena arena;
  const auto id = make_node(arena, example);
  ASSERT_TRUE(id) << id.error().text();
  const ir::Node& node = arena.node(*id);
  const std::vector<ir::TensorType> types = operand_types(arena, node);
  int written = 0;
  for (const OnnxMapping& row : get(node.op).onnx_mappings()) {
    if (row.to_onnx == nullptr) continue;
    for (int opset = row.since; opset <= std::min(row.until, kNewestOpset); ++opset) {
      const auto exported = row.to_onnx(Operation{types, node.attributes, node.outputs}, opset);
      if (!exported) {
        EXPECT_EQ(exported.error().code, ErrorCode::unsupported) << exported.error().text();
        continue;
      }
      ++written;
      const FakeOnnxNode fake = as_node(arena, node, *exported, row.type, opset, row.domain);
      std::vector<ir::ValueId> inputs;
      for (const Exported::Input& input : exported->inputs) {
        const auto* operand = std::get_if<Exported::OperandInput>(&input);
        inputs.push_back(operand != nullptr ? node.operands[static_cast<std::size_t>(operand->operand)] : arena.absent());
      }
      const auto relifted = lift(arena, fake, inputs);
      ASSERT_TRUE(relifted) << row.type << " of opset " << opset << ": " << relifted.error().text();
      EXPECT_EQ(*relifted, *id) << row.type << " of opset " << opset << ": "
                                << ir::to_string(arena.symbols(), arena.node(*relifted).attributes);
    }
  }
  EXPECT_GT(written, 0);
}

}  // namespace xflow::ops
