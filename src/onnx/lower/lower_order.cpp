// The names and the order of the items of a plan.
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "src/onnx/lower/lower_planner.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

using ir::ValueId;

Result<void> Planner::name_outputs() {
  identities_.clear();
  std::unordered_set<std::string_view> placed;
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const auto home = plan_.homes.find(graph_.outputs[i]);
    const bool by_name = is_by_definition(i) || copies_.contains(model_.output_names[i]);
    const bool same_name =
        home != plan_.homes.end() && home->second.kind == Home::Kind::document && home->second.name == model_.output_names[i];
    if (by_name || same_name) placed.insert(model_.output_names[i]);
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const std::string_view name = model_.output_names[i];
    if (!placed.insert(name).second) continue;
    plan_.taken.insert(name);
    if (!document_.find(GraphId{0}, name)->node)
      return fail(ErrorCode::unsupported, "cannot replace " + in_quotes(name) + ": it is not the output of a node");
    const ValueId value = graph_.outputs[i];
    const Home& home = plan_.homes.at(value);
    const bool has_own_name = home.kind == Home::Kind::item || (home.kind == Home::Kind::folded && i >= model_.output_count);
    if (has_own_name && plan_.given.try_emplace(value, name).second) continue;
    const bool is_made_by_node = home.kind == Home::Kind::document && document_.find(GraphId{0}, home.name)->node.has_value();
    const bool is_shown = placed.contains(home.name) || plan_.renamed.contains(home.name);
    if (is_made_by_node && !is_shown) {
      plan_.renamed.emplace(home.name, name);
      continue;
    }
    PlanItem item;
    item.kind = PlanItem::Kind::identity;
    item.inputs.push_back({value, {}, false});
    item.name = name;
    identities_[name] = plan_.items.size();
    plan_.items.push_back(std::move(item));
  }
  return {};
}

void Planner::inherit_names() {
  for (const Node& node : document_.nodes(GraphId{0})) {
    if (plan_.document_items.contains(node.id)) continue;
    for (const std::string_view name : node.outputs) {
      if (name.empty() || plan_.taken.contains(name)) continue;
      const auto home = plan_.homes.find(current(model_.values.at(name)));
      if (home == plan_.homes.end() || home->second.kind == Home::Kind::document) continue;
      if (plan_.given.try_emplace(home->first, name).second) plan_.taken.insert(name);
    }
  }
}

bool Planner::order_items() {
  std::vector<ItemId> roots;
  for (const Node& node : document_.nodes(GraphId{0})) {
    if (const auto found = plan_.document_items.find(node.id); found != plan_.document_items.end()) roots.push_back(found->second);
  }
  for (ItemId i = 0; i < plan_.items.size(); ++i)
    if (plan_.items[i].kind != PlanItem::Kind::document) roots.push_back(i);
  enum class Mark : std::uint8_t { none, open, done };
  std::vector<Mark> marks(plan_.items.size(), Mark::none);
  std::vector<std::pair<ItemId, std::size_t>> stack;
  for (const ItemId root : roots) {
    if (marks[root] != Mark::none) continue;
    stack.emplace_back(root, 0);
    marks[root] = Mark::open;
    while (!stack.empty()) {
      auto& [item, next] = stack.back();
      if (next == dependency_count(plan_.items[item])) {
        plan_.order.push_back(item);
        marks[item] = Mark::done;
        stack.pop_back();
        continue;
      }
      const std::optional<ItemId> maker = dependency(plan_.items[item], next++);
      if (!maker || marks[*maker] == Mark::done) continue;
      if (marks[*maker] == Mark::open) return false;
      marks[*maker] = Mark::open;
      stack.emplace_back(*maker, 0);
    }
  }
  return true;
}

std::span<const std::string_view> Planner::captures_of(const PlanItem& item) const {
  if (item.kind != PlanItem::Kind::document) return {};
  return document_.node(item.document_node).captures;
}

std::optional<ItemId> Planner::dependency(const PlanItem& item, std::size_t k) const {
  if (k < item.inputs.size()) return maker_of(item.inputs[k]);
  k -= item.inputs.size();
  if (k < item.operands.size()) return maker_of(item.operands[k]);
  // A captured value is read by its name.
  const std::string_view name = captures_of(item)[k - item.operands.size()];
  if (const auto identity = identities_.find(name); identity != identities_.end()) return identity->second;
  const std::size_t output = output_numbers_.at(name);
  if (copies_.contains(name) || is_by_definition(output)) return maker_of_name(name);
  return maker_of({graph_.outputs[output], {}, false});
}

std::optional<ItemId> Planner::maker_of_name(std::string_view name) const {
  const Definition* definition = document_.find(GraphId{0}, name);
  return definition->node ? std::optional(plan_.document_items.at(*definition->node)) : std::nullopt;
}

std::optional<ItemId> Planner::maker_of(const PlanInput& input) const {
  if (input.absent) return std::nullopt;
  if (!input.document_name.empty()) return maker_of_name(input.document_name);
  const Home& home = plan_.homes.at(input.value);
  switch (home.kind) {
    case Home::Kind::document:
      return maker_of_name(home.name);
    case Home::Kind::item:
      return home.item;
    case Home::Kind::folded:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace xflow::onnx_io
