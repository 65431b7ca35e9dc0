#include "src/parallel/node_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/ops/operator.h"

namespace xflow::parallel {
namespace {

constexpr std::size_t kMostOperations = 1000;  // of one node

bool are_alike(const ir::Arena& arena, ir::ValueId left, ir::ValueId right) {
  const ir::Node& a = arena.node(left);
  const ir::Node& b = arena.node(right);
  const auto same_type = [&](ir::ValueId x, ir::ValueId y) {
    return arena.is_absent(x) == arena.is_absent(y) && arena.type(x) == arena.type(y);
  };
  return left.output == right.output && a.op == b.op && a.attributes == b.attributes && a.outputs == b.outputs &&
         std::ranges::equal(a.operands, b.operands, same_type);
}

}  // namespace

// The operations of one node, from its results back to its inputs.
class NodeLoops::Walk {
 public:
  Walk(NodeLoops& owner, ir::Arena& arena, std::vector<std::optional<ir::ValueId>> inputs, std::vector<ir::ValueId> results)
      : owner_(owner), arena_(arena), inputs_(std::move(inputs)), results_(std::move(results)) {
    for (const auto& input : inputs_)
      if (input) stops_.insert(*input);
  }

  std::optional<InputLoops> run() {
    std::vector<ir::ValueId> open = results_;
    while (!open.empty()) {
      const ir::ValueId value = open.back();
      open.pop_back();
      if (stops_.contains(value) || !reached_.insert(value).second) continue;
      const ir::Node& node = arena_.node(value);
      if (node.kind == ir::NodeKind::opaque || reached_.size() > kMostOperations || !arena_.type(value).ranked) return std::nullopt;
      if (node.kind != ir::NodeKind::operation) continue;
      add(value, owner_.use_of(arena_, owner_.known_[&arena_], value));
      for (const ir::ValueId operand : node.operands)
        if (!arena_.is_absent(operand)) open.push_back(operand);
    }
    InputLoops loops;
    for (const auto& input : inputs_) loops.push_back(input ? axes_of(*input) : std::nullopt);
    return loops;
  }

 private:
  // Sets of numbers that are joined.
  class JoinedSets {
   public:
    std::size_t add() {
      parent_.push_back(parent_.size());
      return parent_.size() - 1;
    }
    std::size_t root(std::size_t of) {
      while (parent_[of] != of) of = parent_[of] = parent_[parent_[of]];
      return of;
    }
    void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

   private:
    std::vector<std::size_t> parent_;
  };

  std::size_t number(ir::ValueId value, std::size_t dimension) {
    const auto [found, is_new] = numbers_.try_emplace({value, dimension}, 0);
    if (is_new) found->second = sets_.add();
    return found->second;
  }

  void add(ir::ValueId value, const partition::OperationUse& use) {
    const ir::Node& node = arena_.node(value);
    std::map<std::size_t, std::size_t> reductions;  // by axis: a dimension that is read along it
    for (std::size_t k = 0; k < use.operands.size(); ++k) {
      const ir::ValueId operand = node.operands[k];
      read_.insert(operand);
      for (std::size_t d = 0; d < use.operands[k].size(); ++d) {
        const partition::DimensionUse& own = use.operands[k][d];
        const std::size_t at = number(operand, d);
        if (own.is_reduced) reduced_.emplace_back(value, at);
        if (own.is_needed_whole) whole_.push_back(at);
        if (own.blocks && own.blocks->constant()) blocks_.emplace_back(at, *own.blocks->constant());
        if (!own.axis) (own.is_apart ? apart_ : others_).push_back(at);
        if (!own.axis) continue;
        followed_.push_back(at);
        const partition::SplitAxis& axis = use.axes[*own.axis];
        const auto with =
            axis.is_reduction() ? reductions.emplace(*own.axis, at).first->second : number(value, static_cast<std::size_t>(axis.dimension));
        sets_.join(at, with);
      }
    }
  }

  std::optional<std::vector<AxisLoop>> axes_of(ir::ValueId input) {
    const bool is_result = std::ranges::find(results_, input) != results_.end();
    if ((!read_.contains(input) && !is_result) || !arena_.type(input).ranked) return std::nullopt;
    std::vector<AxisLoop> axes;
    for (std::size_t d = 0; d < arena_.type(input).rank(); ++d) {
      const std::size_t root = sets_.root(number(input, d));
      const auto is_own = [&](std::size_t at) { return sets_.root(at) == root; };
      AxisLoop& axis = axes.emplace_back();
      if (is_result || std::ranges::any_of(followed_, is_own)) axis.loop = root;
      axis.is_needed_whole = std::ranges::any_of(whole_, is_own) || is_reduced_within(root, input);
      axis.is_apart = !axis.loop && std::ranges::any_of(apart_, is_own) && std::ranges::none_of(others_, is_own);
      for (const auto& [at, blocks] : blocks_)
        if (is_own(at) && std::ranges::find(axis.blocks, blocks) == axis.blocks.end()) axis.blocks.push_back(blocks);
    }
    return axes;
  }

  // Whether a result has this loop along one of its dimensions, and is computed from a sum or maximum over
  // it and over the input: a normalisation of several operations. Its scale is not summed.
  bool is_reduced_within(std::size_t root, ir::ValueId input) {
    for (const ir::ValueId result : results_) {
      bool has_loop = false;
      for (std::size_t d = 0; d < arena_.type(result).rank(); ++d) has_loop = has_loop || sets_.root(number(result, d)) == root;
      if (!has_loop) continue;
      for (const auto& [value, at] : reduced_)
        if (sets_.root(at) == root && depends(result, value) && depends(value, input)) return true;
    }
    return false;
  }
  bool depends(ir::ValueId result, ir::ValueId on) const {
    std::set<ir::ValueId> seen;
    std::vector<ir::ValueId> open = {result};
    while (!open.empty()) {
      const ir::ValueId value = open.back();
      open.pop_back();
      if (value == on) return true;
      if (!reached_.contains(value) || !seen.insert(value).second) continue;
      const auto& operands = arena_.node(value).operands;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    return false;
  }

  NodeLoops& owner_;
  ir::Arena& arena_;
  const std::vector<std::optional<ir::ValueId>> inputs_;
  const std::vector<ir::ValueId> results_;
  std::set<ir::ValueId> stops_;    // inputs
  std::set<ir::ValueId> reached_;  // computed by the node
  std::set<ir::ValueId> read_;
  std::map<std::pair<ir::ValueId, std::size_t>, std::size_t> numbers_;  // of dimensions
  JoinedSets sets_;
  // What an operation computes, and a dimension over which it has a sum or maximum.
  std::vector<std::pair<ir::ValueId, std::size_t>> reduced_;
  std::vector<std::size_t> whole_;
  std::vector<std::size_t> apart_;
  std::vector<std::size_t> others_;    // dimensions that are read neither along an axis nor apart
  std::vector<std::size_t> followed_;  // dimensions that are read along an axis
  std::vector<std::pair<std::size_t, std::int64_t>> blocks_;
};

const partition::OperationUse& NodeLoops::use_of(ir::Arena& arena, KnownUses& known, ir::ValueId value) {
  const ir::Node& node = arena.node(value);
  std::uint64_t key = node.local;
  for (const ir::ValueId operand : node.operands)
    for (const ir::Poly& size : arena.type(operand).shape) key = key * 31 + static_cast<std::uint64_t>(size.constant().value_or(-1));
  std::vector<KnownUse>& bucket = known[key];
  const auto found = std::ranges::find_if(bucket, [&](const KnownUse& own) { return are_alike(arena, own.of, value); });
  if (found != bucket.end()) return *found->use;
  auto use = partition::operation_use(arena, value.node, static_cast<int>(value.output));
  bucket.push_back({value, std::make_unique<partition::OperationUse>(std::move(use))});
  return *bucket.back().use;
}

std::optional<InputLoops> NodeLoops::of(const onnx_io::Node& node) {
  onnx_io::LiftedGraph* graph = shapes_.lifted(node.graph);
  if (graph == nullptr) return std::nullopt;
  const auto& values = graph->model.values;
  std::vector<std::optional<ir::ValueId>> inputs;
  for (const std::string_view name : node.inputs) {
    const auto found = values.find(name);
    inputs.push_back(found == values.end() ? std::nullopt : std::optional(found->second));
  }
  std::vector<ir::ValueId> results;
  for (const std::string_view name : node.outputs) {
    const auto found = values.find(name);
    if (found != values.end()) results.push_back(found->second);
  }
  if (results.empty()) return std::nullopt;
  return Walk(*this, graph->arena, std::move(inputs), std::move(results)).run();
}

}  // namespace xflow::parallel
