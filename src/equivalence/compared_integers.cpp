#include "src/equivalence/compared_integers.h"

#include <set>

#include "src/eval/tensor.h"
#include "src/ops/operator.h"

namespace xflow::equivalence {
namespace {

constexpr std::uint64_t kMostElements = 16;

}  // namespace

std::map<ir::ValueId, std::vector<std::int64_t>> compared_integers(const ir::Arena& arena, const ir::Graph& graph) {
  std::map<ir::ValueId, std::set<std::int64_t>> found;
  const auto equal = ops::find_operator("equal");
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation || node.op != equal) continue;
    for (const std::size_t k : {0, 1}) {
      const ir::ValueId input = node.operands[k];
      const ir::Node& other = arena.node(node.operands[1 - k]);
      if (arena.node(input).kind != ir::NodeKind::input || !ir::is_integer(arena.type(input).data_type)) continue;
      if (other.kind != ir::NodeKind::constant) continue;
      const eval::Tensor constant = eval::Tensor::of(other.constant);
      const auto elements = constant.count() <= kMostElements ? eval::integers(constant) : std::vector<std::int64_t>();
      if (elements) found[input].insert(elements->begin(), elements->end());
    }
  }
  std::map<ir::ValueId, std::vector<std::int64_t>> result;
  for (const auto& [input, integers] : found) result.emplace(input, std::vector(integers.begin(), integers.end()));
  return result;
}

}  // namespace xflow::equivalence
