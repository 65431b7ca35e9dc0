// The source text of every operator, compiled here, computes what the interpreter computes.
#include "src/codegen/source_text.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"
#include "tests/compiled_text.h"
#include "tests/eval/operator_samples.h"

namespace xflow::eval {
namespace {

using ir::DataType;
using xflow::testing::Operand;
using xflow::testing::Sample;

struct Applied {
  std::unique_ptr<ir::Arena> arena = std::make_unique<ir::Arena>();
  std::vector<ir::ValueId> operands;
  ir::NodeId node{};
};

Applied apply(const Sample& sample) {
  Applied applied;
  for (const Operand& operand : sample.operands)
    applied.operands.push_back(
        applied.arena->input({operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(applied.operands.size())));
  ops::Typing typing(applied.arena->symbols());
  const auto node = ops::apply(*applied.arena, typing, ops::id_of(sample.op), applied.operands, sample.attributes);
  EXPECT_TRUE(node) << node.error().text();
  if (node) applied.node = *node;
  return applied;
}

// The text in a namespace of its own, with a function that runs stage after stage over arrays: operands, then stages. Sums and maxima are
// made of three parts each, as threads would do it.
std::string program_text(const SourceText& source, const std::string& name) {
  std::string text = fmt::format("namespace {} {{\n{}}}\n", name, source.text);
  text += fmt::format("extern \"C\" void {}_run(const void* const* x, void* const* t) {{\n  using namespace {};\n", name, name);
  for (std::size_t k = 0; k < source.stages.size(); ++k) {
    const SourceStage& stage = source.stages[k];
    std::string places;
    for (const int operand : source.operands[k]) places += fmt::format("p.x{0} = (decltype(p.x{0}))x[{0}]; ", operand);
    for (const int before : source.intermediate[k]) places += fmt::format("p.t{0} = (decltype(p.t{0}))t[{0}]; ", before);
    text += fmt::format("  {{ xflow_places_{} p; {}\n    {}* out = ({}*)t[{}];\n", k, places, stage.type, stage.type, k);
    std::string value = fmt::format("xflow_element_{}(p, at)", k);
    if (stage.terms > 0)
      value = fmt::format(
          "xflow_finish_{0}(xflow_combine_{0}(xflow_combine_{0}(xflow_part_{0}(p, at, 0, 3), xflow_part_{0}(p, at, 1, 3)), "
          "xflow_part_{0}(p, at, 2, 3)))",
          k);
    text += fmt::format("    for (xflow_index at = 0; at < {}; ++at) out[at] = {};\n  }}\n", stage.elements, value);
  }
  return text + "}\n";
}

class SourceTextTest : public ::testing::Test {
 protected:
  static void* compile(const std::string& text) { return xflow::testing::compile_and_load(text); }
};

std::vector<double> read(DataType type, std::span<const std::byte> bytes, const std::vector<std::int64_t>& dims) {
  return ir::doubles(ir::Constant{type, dims, ir::owned_bytes({bytes.begin(), bytes.end()})}).value();
}

TEST_F(SourceTextTest, OfEveryOperatorComputesWhatTheInterpreterDoes) {
  struct Case {
    Sample sample;
    Applied applied;
    std::vector<SourceText> outputs;
  };
  std::vector<Case> cases;
  std::string text(source_prelude());
  for (Sample& sample : xflow::testing::samples()) {
    Case made;
    made.applied = apply(sample);
    const auto& node = made.applied.arena->node(made.applied.node);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      auto source = source_text(*made.applied.arena, made.applied.node, static_cast<int>(k));
      ASSERT_TRUE(source) << xflow::testing::text_of(sample) << ": " << source.error().text();
      text += program_text(*source, fmt::format("case_{}_{}", cases.size(), k));
      made.outputs.push_back(*std::move(source));
    }
    made.sample = std::move(sample);
    cases.push_back(std::move(made));
  }
  void* const library = compile(text);
  ASSERT_NE(library, nullptr);
  std::size_t reductions = 0;
  for (std::size_t number = 0; number < cases.size(); ++number) {
    Case& made = cases[number];
    SCOPED_TRACE(xflow::testing::text_of(made.sample));
    std::vector<ir::Constant> constants;
    Bindings bindings;
    std::vector<const void*> operands;
    for (std::size_t k = 0; k < made.sample.operands.size(); ++k) {
      const Operand& operand = made.sample.operands[k];
      const Tensor tensor = xflow::testing::tensor(operand, xflow::testing::values(operand, static_cast<unsigned>(k)));
      constants.push_back(to_constant(tensor).value());
      operands.push_back(constants.back().source->bytes().value().data());
      bindings.emplace(made.applied.operands[k], tensor);
    }
    const ir::Node& node = made.applied.arena->node(made.applied.node);
    ir::Graph graph;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) graph.outputs.push_back({made.applied.node, k});
    const auto expected = evaluate(*made.applied.arena, graph, bindings);
    ASSERT_TRUE(expected) << expected.error().text();
    for (std::size_t k = 0; k < made.outputs.size(); ++k) {
      const SourceText& source = made.outputs[k];
      std::vector<std::vector<std::byte>> arrays;
      std::vector<void*> places;
      for (const SourceStage& stage : source.stages) {
        arrays.emplace_back(static_cast<std::size_t>(stage.elements) * 8);
        reductions += stage.terms > 0 ? 1 : 0;
      }
      for (std::vector<std::byte>& array : arrays) places.push_back(array.data());
      const std::string name = fmt::format("case_{}_{}_run", number, k);
      auto* const run = reinterpret_cast<void (*)(const void* const*, void* const*)>(dlsym(library, name.c_str()));
      ASSERT_NE(run, nullptr) << name;
      run(operands.data(), places.data());
      const DataType type = (*expected)[k].data_type;
      const auto wanted = doubles((*expected)[k]);
      ASSERT_TRUE(wanted);
      arrays.back().resize(wanted->size() * static_cast<std::size_t>(ir::bits(type)) / 8);
      const std::vector<double> found = read(type, arrays.back(), (*expected)[k].dims);
      const double tolerance = !ir::is_floating(type) ? 0 : type == DataType::float16 ? 2e-3 : type == DataType::float64 ? 1e-12 : 2e-5;
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], (*wanted)[i], tolerance * (1 + std::abs((*wanted)[i]))) << "output " << k << ", element " << i;
    }
  }
  EXPECT_GT(reductions, 5U) << "no sample is a sum of many terms";
  dlclose(library);
}

TEST_F(SourceTextTest, RoundsToHalvesAsTheReferenceDoes) {
  // Every half there and back, and floats between neighbours.
  const auto rounded = [&](DataType half) {
    const Sample sample{"cast", {{DataType::float32, {65536 * 3}, 0, 1}}, {{"to", half}}};
    Applied applied = apply(sample);
    return std::pair(source_text(*applied.arena, applied.node, 0).value(), half);
  };
  std::string text(source_prelude());
  const auto [to_half, half] = rounded(DataType::float16);
  const auto [to_brain, brain] = rounded(DataType::bfloat16);
  text += program_text(to_half, "to_half") + program_text(to_brain, "to_brain");
  void* const library = compile(text);
  ASSERT_NE(library, nullptr);
  for (const auto& [name, type] : {std::pair("to_half_run", half), std::pair("to_brain_run", brain)}) {
    std::vector<float> floats;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const float value = type == DataType::float16 ? ir::half_to_float(static_cast<std::uint16_t>(bits))
                                                    : ir::bfloat16_to_float(static_cast<std::uint16_t>(bits));
      const float next = type == DataType::float16 ? ir::half_to_float(static_cast<std::uint16_t>(bits + 1))
                                                   : ir::bfloat16_to_float(static_cast<std::uint16_t>(bits + 1));
      for (const float f : {value, value + (next - value) / 2, value + (next - value) / 3}) floats.push_back(std::isnan(f) ? 1 : f);
    }
    std::vector<std::uint16_t> found(floats.size());
    const void* const operand = floats.data();
    void* const place = found.data();
    auto* const run = reinterpret_cast<void (*)(const void* const*, void* const*)>(dlsym(library, name));
    ASSERT_NE(run, nullptr);
    run(&operand, &place);
    for (std::size_t k = 0; k < floats.size(); ++k) {
      const std::uint16_t wanted = type == DataType::float16 ? ir::float_to_half(floats[k]) : ir::float_to_bfloat16(floats[k]);
      ASSERT_EQ(found[k], wanted) << name << " of " << floats[k];
    }
  }
  dlclose(library);
}

TEST_F(SourceTextTest, IsTheSameEachTime) {
  const Sample sample{"softmax", {{DataType::float32, {3, 8}}}, {{"axis", ir::Poly(1)}}};
  Applied once = apply(sample);
  Applied repeated = apply(sample);
  EXPECT_EQ(source_text(*once.arena, once.node, 0).value().text, source_text(*repeated.arena, repeated.node, 0).value().text);
}

TEST_F(SourceTextTest, SaysWhatHasNone) {
  ir::Arena arena;
  const ir::ValueId x = arena.input({DataType::string, true, ir::polys(std::vector<std::int64_t>{3})}, 0);
  const auto value = ops::apply(arena, "identity", {x}, {});
  ASSERT_TRUE(value);
  const auto source = source_text(arena, value->node, 0);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message, "cannot compile string[3]");
}

}  // namespace
}  // namespace xflow::eval
