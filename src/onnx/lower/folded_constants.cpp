#include "src/onnx/lower/folded_constants.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

class ConstantFolder {
 public:
  ConstantFolder(const Document& document, const LiftedModel& model, const ir::Arena& arena, const Fold& fold, const FoldLimits& limits,
                 FoldedShapes& folds)
      : document_(document), model_(model), arena_(arena), fold_(fold), limits_(limits), folds_(folds) {}

  void run() {
    find_candidates();
    if (sizes_.empty()) return;
    const auto bytes = static_cast<double>(bytes_of_document());
    const double most = bytes + std::max(bytes * limits_.max_growth, static_cast<double>(limits_.max_growth_bytes));
    while (true) {
      const Choice choice = best_choice(most);
      bool all = true;
      for (const std::string_view name : choice.names) {
        if (limits_.stop && limits_.stop()) return;
        if (fold_(model_.values.at(name))) continue;
        sizes_.erase(name);
        all = false;
      }
      if (!all) continue;
      // A value is written at its first definition, so all its names that may be stored are stored.
      std::unordered_set<ValueId> values;
      for (const std::string_view name : choice.names) values.insert(model_.values.at(name));
      for (const auto& [name, size] : sizes_)
        if (values.contains(model_.values.at(name))) folds_.constants.insert(name);
      folds_.folded = choice.folded;
      return;
    }
  }

 private:
  static constexpr std::int64_t kFirstWithOwnInitializers = 4;  // IR version
  // Approximate size of a stored constant without its name and elements.
  static constexpr std::size_t kBytesOfHeader = 16;

  // The graph that stores the constants up to a certain size.
  struct Choice {
    std::vector<std::string_view> names;
    std::vector<NodeId> folded;
    std::uint64_t bytes = 0;
  };

  // Finds the constants that may be stored and their sizes. Constants of Constant nodes take no more space
  // than before, so their size is 0.
  void find_candidates() {
    const std::unordered_set<std::string_view> shown(model_.output_names.begin(),
                                                     model_.output_names.begin() + static_cast<std::ptrdiff_t>(model_.output_count));
    const bool initializers_are_inputs = document_.model().ir_version < kFirstWithOwnInitializers;
    for (const NodeId id : document_.main().order) {
      for (const std::string_view name : document_.node(id).outputs) {
        if (name.empty() || shown.contains(name) || folds_.constants.contains(name)) continue;
        const ValueId value = model_.values.at(name);
        if (!arena_.is_constant(value) || arena_.is_absent(value)) continue;
        const bool stored = arena_.node(value).kind == ir::NodeKind::constant;
        if (stored && initializers_are_inputs) continue;
        if (limits_.exact && ir::is_floating(arena_.type(value).data_type) && !only_moves(value)) continue;
        if (const auto bytes = bytes_of(value)) sizes_.emplace(name, stored ? 0 : *bytes);
      }
    }
  }

  std::optional<std::uint64_t> bytes_of(ValueId value) const {
    const ir::TensorType& type = arena_.type(value);
    const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
    if (!dims) return std::nullopt;
    std::uint64_t elements = 1;
    for (const std::int64_t dim : *dims) elements *= static_cast<std::uint64_t>(dim);
    return ir::storage_bytes(type.data_type, elements);
  }

  bool only_moves(ValueId value) {
    const auto known = moves_.find(value.node);
    if (known != moves_.end()) return known->second;
    const ir::Node& node = arena_.node(value);
    const bool moves =
        node.kind == ir::NodeKind::constant || (node.kind == ir::NodeKind::operation && ops::get(node.op).signature.moves_data &&
                                                std::ranges::all_of(node.operands, [&](ValueId operand) { return only_moves(operand); }));
    return moves_[value.node] = moves;
  }

  std::uint64_t bytes_of_document() const {
    std::uint64_t bytes = 0;
    for (const Node& node : document_.nodes(GraphId{0})) bytes += node.field.size();
    for (const Initializer& initializer : document_.main().initializers) bytes += bytes_of(initializer);
    return bytes;
  }

  static std::uint64_t bytes_of(const Initializer& initializer) {
    const TensorView& tensor = initializer.tensor;
    return initializer.field.size() + (tensor.storage == TensorStorage::external ? tensor.bytes.size() : 0);
  }

  // Returns the choice with the largest constants that fits into `most` bytes.
  Choice best_choice(double most) const {
    std::vector<std::uint64_t> sizes{0};
    for (const auto& [name, size] : sizes_) sizes.push_back(size);
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    Choice best = choose(sizes.back());
    if (static_cast<double>(best.bytes) <= most) return best;
    // sizes[low] fits, sizes[high] does not.
    std::size_t low = 0;
    std::size_t high = sizes.size() - 1;
    best = choose(sizes[0]);
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      Choice next = choose(sizes[middle]);
      if (static_cast<double>(next.bytes) <= most) {
        best = std::move(next);
        low = middle;
      } else {
        high = middle;
      }
    }
    return best;
  }

  Choice choose(std::uint64_t largest) const {
    Choice choice;
    const auto stored = [&](std::string_view name) {
      const auto found = sizes_.find(name);
      return found != sizes_.end() && found->second <= largest;
    };
    std::unordered_set<std::string_view> needed(model_.output_names.begin(), model_.output_names.end());
    // Names that are needed if nothing is folded.
    std::unordered_set<std::string_view> without = needed;
    const auto& order = document_.main().order;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = document_.node(*id);
      const auto in = [&](const std::unordered_set<std::string_view>& names) {
        return [&](std::string_view name) { return names.contains(name); };
      };
      const auto demand = [&](std::unordered_set<std::string_view>& names) {
        names.insert(node.captures.begin(), node.captures.end());
        for (const std::string_view name : node.inputs)
          if (!is_known(name)) names.insert(source_of(name));
      };
      const bool was_needed = std::ranges::any_of(node.outputs, in(without));
      if (was_needed) demand(without);
      if (std::ranges::any_of(node.outputs, in(needed))) {
        if (std::ranges::all_of(node.outputs, [&](std::string_view name) { return !needed.contains(name) || stored(name); })) {
          for (const std::string_view name : node.outputs) {
            if (!needed.contains(name)) continue;
            choice.names.push_back(name);
            choice.bytes += *bytes_of(model_.values.at(name)) + name.size() + kBytesOfHeader;
          }
          choice.folded.push_back(*id);
        } else {
          choice.bytes += node.field.size();
          demand(needed);
        }
      } else if (was_needed) {
        choice.folded.push_back(*id);
      }
    }
    std::ranges::reverse(choice.folded);
    for (const Initializer& initializer : document_.main().initializers)
      if (needed.contains(initializer.tensor.name)) choice.bytes += bytes_of(initializer);
    return choice;
  }

  bool is_known(std::string_view name) const {
    return name.empty() || folds_.constants.contains(name) || folds_.marked.contains(model_.values.at(name));
  }

  std::string_view source_of(std::string_view name) const {
    const auto found = folds_.identities.find(name);
    return found == folds_.identities.end() ? name : found->second;
  }

  const Document& document_;
  const LiftedModel& model_;
  const ir::Arena& arena_;
  const Fold& fold_;
  const FoldLimits& limits_;
  FoldedShapes& folds_;
  std::unordered_map<std::string_view, std::uint64_t> sizes_;  // of the candidates
  std::unordered_map<ir::NodeId, bool> moves_;
};

}  // namespace

void add_folded_constants(const Document& document, const LiftedModel& model, const ir::Arena& arena, const Fold& fold,
                          const FoldLimits& limits, FoldedShapes& folds) {
  ConstantFolder(document, model, arena, fold, limits, folds).run();
}

}  // namespace xflow::onnx_io
