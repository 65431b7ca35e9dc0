// Groups of operators that runtimes run as one kernel: fused functions (ops/fused_functions.def),
// normalisations and attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A subgraph with one exit that computes a known function of its entry. Attention reads other values as
// well.
struct Composite {
  ops::KernelFamily family = ops::KernelFamily::pointwise;  // or a normalisation or attention
  // For family pointwise: the function, with its graph as text (ops/fused_graph.h):
  // "x;1.4142135;div;erf;1;add;x;mul;0.5;mul".
  ops::StepFunction function;
  ir::ValueId entry;
  ir::NodeId exit{};
  std::vector<ir::NodeId> inner;        // nodes without the exit
  std::vector<std::size_t> inner_uses;  // operand slots inside the composite that read each inner node
  std::size_t entry_uses = 0;           // operand slots inside the composite that read the entry
  // Constant operands besides the entry: scale, shift. For attention: key (before its transposition), value,
  // mask.
  std::vector<ir::ValueId> parameters;
  std::vector<std::int64_t> axes;  // of a normalisation
  double epsilon = 0;              // of a normalisation: added to the variance
  std::vector<std::int64_t> perm;  // of attention: transposes the key to [..., depth, rows]
  double scale = 1;                // of attention: factor of the first product
};

// The largest composite whose exit is `exit`; nullopt if there is none. It is recognised by what it
// computes: the nodes are evaluated on samples and compared with the fused functions, so the order of
// multiplications does not matter. The graph must have the function's unary operators (hard_sigmoid for
// hard_swish, erf or tanh for gelu, ...), since a runtime does not recognise the function in a graph of
// other operators. `explored`, if given, receives the nodes whose operands were read, including the exit:
// the answer stays the same as long as these nodes do.
std::optional<Composite> find_composite(const ir::Arena& arena, const ir::GraphView& graph, ir::NodeId exit,
                                        std::vector<ir::NodeId>* explored = nullptr);

// Matches softmax(query transpose(key) * scale + mask) value, where `exit` is the second product and the
// query is the entry. The key is transposed from a tensor whose last dimension is the depth. `explored` as
// for find_composite.
std::optional<Composite> find_attention(const ir::Arena& arena, ir::NodeId exit, std::vector<ir::NodeId>* explored = nullptr);

// The value of a constant of one element, or of an expression of such constants.
std::optional<double> scalar_constant(const ir::Arena& arena, ir::ValueId value);

// Applies a pointwise operator of src/ops to numbers; nullopt for operators that are not functions of real
// numbers.
std::optional<double> evaluate_pointwise(ir::OperatorId op, const std::vector<double>& operands, const std::vector<double>& reals);

}  // namespace xflow::cost
