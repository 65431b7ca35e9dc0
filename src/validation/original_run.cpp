#include "src/validation/original_run.h"

#include <algorithm>
#include <unordered_map>

namespace xflow::api {
namespace {

using ir::ValueId;

// Returns the values that must be computed to get the wanted ones from the given ones, operands before
// users.
std::vector<ValueId> needed(const ir::Arena& arena, std::span<const ValueId> wanted, const eval::SampledBindings& given) {
  std::vector<ValueId> order;
  std::unordered_set<ValueId> seen;
  std::vector<std::pair<ValueId, std::size_t>> stack;
  const auto visit = [&](ValueId value) {
    if (!given.contains(value) && !arena.is_absent(value) && seen.insert(value).second) stack.emplace_back(value, 0);
  };
  for (const ValueId value : wanted) {
    visit(value);
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      const ir::Node& node = arena.node(v);
      if (node.kind == ir::NodeKind::operation && next < node.operands.size()) {
        visit(node.operands[next++]);
      } else {
        order.push_back(v);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

std::uint64_t share_of(std::uint64_t bound, std::vector<std::uint64_t> needs) {
  std::ranges::sort(needs);
  std::uint64_t left = bound;
  for (std::size_t k = 0; k < needs.size(); ++k) {
    const std::uint64_t share = left / (needs.size() - k);
    if (needs[k] > share) return share;
    left -= needs[k];
  }
  return bound;
}

Result<OriginalRun> run_original(ir::Arena& arena, std::span<const ValueId> wanted, const eval::Options& options, const RunBounds& bounds,
                                 eval::SampledBindings& given) {
  OriginalRun run;
  for (const auto& [value, tensor] : given)
    if (tensor.all()) run.exact.insert(value);
  eval::SampledEvaluation evaluation(arena, options);
  struct Part {
    ValueId value;
    eval::Sample sample;
    std::uint64_t work;
  };
  std::vector<Part> parts;
  std::vector<std::uint64_t> works;
  std::vector<std::uint64_t> counts;
  std::unordered_map<ValueId, std::size_t> uses;
  for (const ValueId value : needed(arena, wanted, given)) {
    XFLOW_TRY(const auto dims, evaluation.dims_of(value));
    Part part{value, eval::whole(dims), 0};
    const ir::Node& node = arena.node(value);
    if (node.kind == ir::NodeKind::operation) {
      XFLOW_TRY(part.work, evaluation.work(value, part.sample));
      works.push_back(part.work);
      counts.push_back(eval::size_of(part.sample));
      run.work += part.work;
      run.elements += counts.back();
      for (const ValueId operand : node.operands) ++uses[operand];
    }
    parts.push_back(std::move(part));
  }
  for (const ValueId value : wanted) ++uses[value];
  const std::uint64_t work = share_of(bounds.work, std::move(works));
  const std::uint64_t count = share_of(bounds.elements, std::move(counts));
  const eval::SampledEvaluation::Lookup known = [&](ValueId value) -> const eval::SampledTensor* {
    const auto at = given.find(value);
    return at == given.end() ? nullptr : &at->second;
  };
  std::unordered_set<ValueId> computed;
  for (Part& part : parts) {
    const ir::Node& node = arena.node(part.value);
    if (node.kind == ir::NodeKind::operation) {
      while ((part.work > work || eval::count_of(part.sample) > count) && eval::halve(part.sample)) {
        XFLOW_TRY(part.work, evaluation.work(part.value, part.sample));
      }
    }
    XFLOW_TRY(eval::SampledTensor tensor, evaluation.compute(part.value, part.sample, known));
    const auto is_exact = [&](ValueId operand) { return arena.is_absent(operand) || run.exact.contains(operand); };
    if (tensor.all() && std::ranges::all_of(node.operands, is_exact)) run.exact.insert(part.value);
    given.insert_or_assign(part.value, std::move(tensor));
    computed.insert(part.value);
    if (node.kind != ir::NodeKind::operation) continue;
    for (const ValueId operand : node.operands)
      if (--uses[operand] == 0 && computed.contains(operand)) given.erase(operand);
  }
  return run;
}

}  // namespace xflow::api
