// The table of fused functions and the text of their graphs.
#include "src/ops/fused_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "src/ops/kernel_text.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

std::string error_of(std::string_view graph) {
  const auto parsed = parse_fused_graph(graph);
  return parsed ? "" : parsed.error().text();
}

TEST(FusedFunctions, AreNumberedInTheOrderOfTheirRowsAndNamedOnce) {
  std::set<std::string_view> names;
  for (std::size_t k = 0; k < fused_functions().size(); ++k) {
    const FusedFunction& function = fused_functions()[k];
    EXPECT_EQ(static_cast<std::size_t>(function.id), k);
    EXPECT_EQ(name(function.id), function.name);
    EXPECT_EQ(find_function(function.name), &function);
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
  }
  EXPECT_EQ(find_function("swish")->id, FunctionId::swish);
  EXPECT_EQ(find_function("swoosh"), nullptr);
}

TEST(FusedFunctions, AreOperatorsOrGraphsOfOperators) {
  for (const FusedFunction& function : fused_functions()) {
    SCOPED_TRACE(function.name);
    EXPECT_EQ(function.is_operator(), find_operator(function.name).has_value());
    EXPECT_EQ(step_named(function.name).function.fused.has_value(), !function.is_operator());
    EXPECT_EQ(find_function(step_named(function.name).function), &function);
    if (function.is_operator()) {
      EXPECT_EQ(get(id_of(function.name)).signature.operands.size(), 1U);
      EXPECT_LE(real_count(function), 2U);
      continue;
    }
    EXPECT_EQ(real_count(function), 0U);
    const auto graph = graph_of_function({.fused = function.id});
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(operand_count(*graph), 1U);
  }
}

TEST(FusedFunctions, HaveTheRealsOfTheirOperatorsWhereNoneAreGiven) {
  using Reals = std::array<double, 2>;
  EXPECT_EQ(complete_reals(*find_function("hard_sigmoid"), {}), (Reals{0.2, 0.5}));
  EXPECT_EQ(complete_reals(*find_function("hard_sigmoid"), std::vector<double>{0.25}), (Reals{0.25, 0.5}));
  EXPECT_EQ(complete_reals(*find_function("leaky_relu"), {}), (Reals{0.01, 0}));
  EXPECT_EQ(complete_reals(*find_function("swish"), {}), (Reals{0, 0}));
}

TEST(FusedFunctions, ThatAreNoneAreErrors) {
  const auto unknown = graph_of_function(step_named("swoosh").function);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text(), "'swoosh' is neither an operator nor a fused function");
  EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
  EXPECT_EQ(graph_of_function(step_named("swoosh:x;x;mul").function).error().text(),
            "'swoosh' is neither an operator nor a fused function");
  EXPECT_EQ(graph_of_function(step_named("relu").function).error().text(), "'relu' is neither an operator nor a fused function");
  EXPECT_EQ(step_named("swish:x;x;sigmoid;mul").function, (StepFunction{.fused = FunctionId::swish, .graph = "x;x;sigmoid;mul"}));
}

TEST(FusedGraph, SaysWhatIsWrongWithAText) {
  EXPECT_EQ(error_of("x;x;sigmoid;mul"), "");
  EXPECT_EQ(error_of("x;swoosh"), "'x;swoosh' is not a graph of a function: no operator or fused function 'swoosh'");
  EXPECT_EQ(error_of("x;mul"), "'x;mul' is not a graph of a function: 'mul' has 2 operands");
  EXPECT_EQ(error_of("x;x"), "'x;x' is not a graph of a function: 2 results");
  EXPECT_EQ(error_of(""), "'' is not a graph of a function: no operator or fused function ''");
  EXPECT_EQ(error_of("x;relu;#1;mul"), "'x;relu;#1;mul' is not a graph of a function: nothing before is #1");
  EXPECT_EQ(error_of("x;elu~one"), "'x;elu~one' is not a graph of a function: 'elu~one' has no such attributes");
  EXPECT_EQ(error_of("x;mish~1"), "'x;mish~1' is not a graph of a function: 'mish~1' has no such attributes");
  EXPECT_EQ(error_of("x;relu;x;sigmoid;#0"), "'x;relu;x;sigmoid;#0' is not a graph of a function: 3 results");
}

// "mul(x, sigmoid(x))"
std::string text_of(const FusedGraph& graph, std::size_t part) {
  if (const auto* operand = std::get_if<FusedGraph::Operand>(&graph.parts[part])) return operand->number == 0 ? "x" : "b";
  if (const auto* number = std::get_if<FusedGraph::Number>(&graph.parts[part]))
    return number->attribute.empty() ? std::to_string(number->value).substr(0, 4) : number->attribute;
  const auto& operation = std::get<FusedGraph::Apply>(graph.parts[part]);
  std::string text = std::string(get(operation.op).signature.name) + "(";
  for (std::size_t k = 0; k < operation.operands.size(); ++k) text += (k == 0 ? "" : ", ") + text_of(graph, operation.operands[k]);
  return text + ")";
}

TEST(FusedGraph, StandsForTheGraphOfAFunctionByItsName) {
  const FusedGraph graph = parse_fused_graph("x;b;add;swish;#1;$alpha;mul;add").value();
  EXPECT_EQ(text_of(graph, graph.parts.size() - 1),
            "add(mul(add(x, b), sigmoid(add(x, b))), mul(mul(add(x, b), sigmoid(add(x, b))), alpha))");
  EXPECT_EQ(operand_count(graph), 2U);
  EXPECT_EQ(unary_operators(graph), std::vector<Op>{Op::Sigmoid});
}

TEST(OnnxFunctions, ReadDeclaredAttributesAndAtMostTwoInputs) {
  for (const OnnxFunction& function : onnx_functions()) {
    SCOPED_TRACE(function.type);
    std::set<std::string_view> read;
    const auto note = [&](const FusedGraph::Number& number) {
      if (!number.attribute.empty()) read.insert(number.attribute);
    };
    for (const auto& part : function.graph.parts) {
      if (const auto* number = std::get_if<FusedGraph::Number>(&part)) note(*number);
      if (const auto* operation = std::get_if<FusedGraph::Apply>(&part)) std::ranges::for_each(operation->reals, note);
    }
    std::set<std::string_view> declared;
    for (const OnnxFunction::Real& real : function.reals) declared.insert(real.name);
    EXPECT_EQ(read, declared);
    EXPECT_GE(operand_count(function.graph), 1U);
    EXPECT_LE(operand_count(function.graph), 2U);
    EXPECT_TRUE(function.exported_since == kNewest || function.reals.empty()) << "a graph with attributes is not looked for";
    EXPECT_GE(function.exported_since, function.since);
    EXPECT_GE(function.exported_bfloat16_since, function.exported_since);
  }
}

}  // namespace
}  // namespace xflow::ops
