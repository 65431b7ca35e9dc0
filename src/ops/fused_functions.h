// The rows of fused_functions.def: functions of one operand that run as one kernel, and ONNX operators that
// are compositions of several operators of the IR.
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
  std::string_view graph;  // empty for an operator of the IR
  // f(x) in double; p and q are the first two real attributes.
  double (*value)(double x, double p, double q) = nullptr;

  bool is_operator() const { return graph.empty(); }
};

// All rows, indexed by id.
std::span<const FusedFunction> fused_functions();
// The row of this name; null if there is none.
const FusedFunction* find_function(std::string_view name);
const FusedFunction* find_function(const StepFunction& function);
inline std::string_view name(FunctionId id) { return fused_functions()[static_cast<std::size_t>(id)].name; }

// The number of real attributes of a function.
std::size_t real_count(const FusedFunction& function);
// The first two real attributes: the given values, then the defaults of the operator's signature.
std::array<double, 2> complete_reals(const FusedFunction& function, std::span<const double> given);

// The graph of a fused function: the graph in `function` if it has one, otherwise that of the row.
// Error::unsupported for any other function: "'foo' is neither an operator nor a fused function".
Result<FusedGraph> graph_of_function(const StepFunction& function);

// An ONNX operator that is a composition of several operators of the IR. One ONNX operator may have several
// rows.
struct OnnxFunction {
  struct Real {
    std::string_view name;
    float otherwise = 0;    // the default
    bool positive = false;  // the row covers positive values only
  };
  struct Word {
    std::string_view name;
    std::string_view value;      // the value that the row requires
    std::string_view otherwise;  // the default
  };

  std::string_view domain;
  std::string_view type;
  int since = 1;
  FusedGraph graph;  // reads as many operands as the node has inputs
  std::vector<Real> reals = {};
  std::optional<Word> condition = {};
  // The first opset in which a graph made by a rewrite is exported as this operator: for most types, and for
  // bfloat16. Rows set them only if runtimes run the operator at least as fast as its parts.
  int exported_since = kNewest;
  int exported_bfloat16_since = kNewest;

  OnnxFunction real(std::string_view name, float otherwise) &&;
  OnnxFunction positive(std::string_view name, float otherwise) &&;
  OnnxFunction word(std::string_view name, std::string_view value, std::string_view otherwise) &&;
  OnnxFunction exported(int since, int bfloat16_since) &&;

  // The last version, inclusive. Domains other than ai.onnx have one version.
  int until() const { return domain.empty() ? kNewest : since; }
};

std::span<const OnnxFunction> onnx_functions();

}  // namespace xflow::ops
