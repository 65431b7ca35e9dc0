// The graph of each fused function, and the index notation of each operator in the table, is its scalar
// function.
#include "src/ops/fused_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace xflow::eval {
namespace {

// Numbers around every bend of the functions, also where exponentials overflow; no halves, which round as the
// last bit of a sum says.
std::vector<double> numbers() {
  std::vector<double> x;
  for (double at = -12.03; at < 12; at += 0.0625) x.push_back(at);
  for (const double at : {-800.0, -90.0, -40.0, -3.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 3.0, 40.0, 90.0, 800.0}) x.push_back(at);
  return x;
}

void expect_values(const ops::FusedFunction& function, const std::vector<double>& x, const std::vector<double>& reals) {
  ir::Arena arena;
  const auto size = static_cast<std::int64_t>(x.size());
  const ir::ValueId input = arena.input({ir::DataType::float64, true, {ir::Poly(size)}}, 0);
  ir::Attributes attributes;
  if (function.is_operator()) {
    std::size_t next = 0;
    for (const ops::AttributeSignature& attribute : ops::get(ops::id_of(function.name)).signature.attributes)
      if (next < reals.size()) attributes.set(attribute.name, ir::Real::from_double(reals[next++]));
  }
  const auto result = function.is_operator()
                          ? ops::apply(arena, function.name, {input}, attributes)
                          : ops::apply_fused_graph(arena, ops::graph_of_function({.fused = function.id}).value(), std::span(&input, 1));
  ASSERT_TRUE(result) << result.error().text();
  const Bindings bindings = {{input, Tensor::of_doubles(ir::DataType::float64, {size}, x)}};
  const auto outputs = evaluate(arena, ir::Graph{{*result}}, bindings);
  ASSERT_TRUE(outputs) << outputs.error().text();
  const std::vector<double> found = doubles(outputs->at(0)).value();
  const std::array<double, 2> known = ops::complete_reals(function, reals);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = function.value(x[k], known[0], known[1]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found[k])) << x[k] << ": " << found[k];
    } else if (std::isinf(expected)) {
      EXPECT_EQ(found[k], expected) << x[k];
    } else {
      // Attributes in the text of a graph are rounded to float, as ONNX has them.
      EXPECT_NEAR(found[k], expected, 1e-7 * (1 + std::abs(expected))) << x[k];
    }
  }
}

TEST(FusedFunctions, ComputeTheirScalarFunction) {
  for (const ops::FusedFunction& function : ops::fused_functions()) {
    SCOPED_TRACE(function.name);
    const auto attributes = ops::real_count(function);
    if (function.name != "clip") expect_values(function, numbers(), {});
    if (attributes == 1) expect_values(function, numbers(), {0.125});
    if (attributes == 2) expect_values(function, numbers(), {-0.25, 0.5});
  }
}

}  // namespace
}  // namespace xflow::eval
