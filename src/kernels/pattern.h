// Several operators of a graph that runtimes run as one kernel: fused functions (ops/fused_functions.def),
// normalisations and attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A part of a graph with one exit that computes a known function of its entry; attention has others beside that.
struct Composite {
  ops::KernelFamily family = ops::KernelFamily::pointwise;  // or a normalisation or attention
  // Of family pointwise: with its graph as text (ops/fused_graph.h): "x;1.4142135;div;erf;1;add;x;mul;0.5;mul".
  ops::StepFunction function;
  ir::ValueId entry;
  ir::NodeId exit{};
  std::vector<ir::NodeId> inner;        // without the exit
  std::vector<std::size_t> inner_uses;  // how many operand slots inside read each of them
  std::size_t entry_uses = 0;           // how many operand slots inside read the entry
  std::vector<ir::ValueId> parameters;  // constant operands beside the entry: scale, shift; of attention key, value and mask, as they are
  std::vector<std::int64_t> axes;       // of a normalisation
  double epsilon = 0;                   // of a normalisation: what is added to the variance
  std::vector<std::int64_t> perm;       // of attention: how the key is transposed, its depth before its rows
  double scale = 1;                     // of attention: of the first product
};

// The composite whose exit is `exit`, recognised by what it computes: its nodes are evaluated on a row of
// samples and compared with the fused functions, so the order in which a graph multiplies does not matter.
// Only graphs that have the function's operators of one operand count (hard_sigmoid for hard_swish, erf or
// tanh for gelu, ...): a runtime does not find it in a graph of others. The largest one; nothing if there is
// none. `explored`, where given, gets the nodes whose operands were read, the exit among them: the answer
// stays the same as long as these do.
std::optional<Composite> find_composite(const ir::Arena& arena, const ir::GraphView& graph, ir::NodeId exit,
                                        std::vector<ir::NodeId>* explored = nullptr);

// softmax(query transpose(key) * scale + mask) value where `exit` is the second product; the query is the entry. The key is transposed from
// a tensor whose last dimension is the depth. `explored` as above.
std::optional<Composite> find_attention(const ir::Arena& arena, ir::NodeId exit, std::vector<ir::NodeId>* explored = nullptr);

// The value of a constant of one element, also where it is an expression of such constants.
std::optional<double> scalar_constant(const ir::Arena& arena, ir::ValueId value);

// A pointwise operator of src/ops applied to numbers; nothing for operators that are not functions of real numbers.
std::optional<double> evaluate_pointwise(ir::OperatorId op, const std::vector<double>& operands, const std::vector<double>& reals);

}  // namespace xflow::cost
