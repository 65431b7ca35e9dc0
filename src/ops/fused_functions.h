// The table of functions of one operand that are kernels, and of ONNX operators that are several operators of
// the IR: the rows of fused_functions.def.
#pragma once

#include <xflow/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/rational.h"
#include "src/ops/function_id.h"
#include "src/ops/fused_graph.h"
#include "src/ops/kernel_spec.h"
#include "src/ops/onnx_mapping.h"

namespace xflow::ops {

struct FusedFunction {
  FunctionId id{};
  std::string_view name;
  std::string_view graph;  // empty: an operator of the IR
  // f(x) in double; p and q are the first two real attributes.
  double (*value)(double x, double p, double q) = nullptr;

  bool is_operator() const { return graph.empty(); }
};

// All rows, numbered by their id.
std::span<const FusedFunction> fused_functions();
// By the name in kernels; nothing where there is no row.
const FusedFunction* find_function(std::string_view name);
const FusedFunction* find_function(const StepFunction& function);
inline std::string_view name(FunctionId id) { return fused_functions()[static_cast<std::size_t>(id)].name; }

// How many real attributes a function has, and the first two, those that are not given as the operator's
// signature has them.
std::size_t real_count(const FusedFunction& function);
std::array<double, 2> complete_reals(const FusedFunction& function, std::span<const double> given);

// The graph of a function that is several operators: the one that a model has for it, otherwise that of its row.
// Error::unsupported for one that is not: "'foo' is neither an operator nor a fused function".
Result<FusedGraph> graph_of_function(const StepFunction& function);

// An ONNX operator that is several operators of the IR, in one of the forms that it has.
struct OnnxFunction {
  struct Real {
    std::string_view name;
    float otherwise = 0;
    bool positive = false;  // other values are not covered
  };
  struct Word {
    std::string_view name;
    std::string_view value;      // that the node has
    std::string_view otherwise;  // where the node does not have the attribute
  };

  std::string_view domain;
  std::string_view type;
  int since = 1;
  FusedGraph graph;  // reads as many operands as the node has inputs
  std::vector<Real> reals = {};
  std::optional<Word> condition = {};
  // From this opset on (of bfloat16 from the other) a graph that a rewrite made is exported as this operator:
  // where runtimes run the operator at least as fast as its parts.
  int exported_since = kNewest;
  int exported_bfloat16_since = kNewest;

  OnnxFunction real(std::string_view name, float otherwise) &&;
  OnnxFunction positive(std::string_view name, float otherwise) &&;
  OnnxFunction word(std::string_view name, std::string_view value, std::string_view otherwise) &&;
  OnnxFunction exported(int since, int bfloat16_since) &&;

  int until() const { return domain.empty() ? kNewest : since; }  // inclusive; other domains have one version
};

std::span<const OnnxFunction> onnx_functions();

}  // namespace xflow::ops
