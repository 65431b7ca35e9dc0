#include "src/eval/operand_reads.h"

#include <optional>
#include <unordered_map>

#include "src/eval/saturating.h"

namespace xflow::eval {

using ops::Expr;
using ops::ExprKind;

namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;  // larger dimensions are requested as a whole
constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 12;  // enumerated values of one index, at most

}  // namespace

Demand::Demand(std::int64_t size) : size_(size), all_(size > kMostPositions) {}

void Demand::add(std::int64_t position) {
  if (all_ || position < 0 || position >= size_) return;  // a condition excludes positions out of range
  if (asked_.empty()) asked_.resize(static_cast<std::size_t>(size_), false);
  asked_[static_cast<std::size_t>(position)] = true;
}

Positions Demand::positions() const {
  Positions result{size_, {}, 0};
  if (all_) return result;
  for (std::size_t k = 0; k < asked_.size(); ++k)
    if (asked_[k]) result.chosen.push_back(static_cast<std::int64_t>(k));
  if (result.chosen.empty()) result.chosen.push_back(0);
  if (2 * result.count() > size_) result.chosen.clear();
  return result;
}

void OperandReads::visit(const Expr& expr) {
  if (!seen_.emplace(expr.get(), true).second) return;
  if (expr->kind == ExprKind::sum || expr->kind == ExprKind::maximum) {
    const auto extent = symbols_.evaluate(expr->extent, sizes_);
    set(expr->binder, Positions{extent.value_or(-1), {}, 0});
  }
  elements(expr->integer);
  elements(expr->extent);
  for (const ops::Atom& atom : expr->condition) elements(atom.poly);
  for (const ir::Poly& index : expr->indices) elements(index);
  if (expr->kind == ExprKind::read) {
    Demands* const demands = operands_[static_cast<std::size_t>(expr->operand)];
    for (std::size_t k = 0; demands != nullptr && k < expr->indices.size(); ++k) ask(expr->indices[k], (*demands)[k]);
  }
  for (const Expr& argument : expr->arguments) visit(argument);
}

void OperandReads::elements(const ir::Poly& poly) {
  if (!symbols_.has_elements()) return;
  for (const ir::SymbolId id : symbols_.all_symbols(poly)) {
    const ir::SymbolInfo& info = symbols_.info(id);
    if (info.kind != ir::SymbolKind::element || info.tensor >= operands_.size() || operands_[info.tensor] == nullptr) continue;
    for (Demand& demand : *operands_[info.tensor]) demand.add_all();
  }
}

void OperandReads::ask(const ir::Poly& index, Demand& demand) {
  if (demand.all()) return;
  std::vector<std::pair<ir::SymbolId, const Positions*>> loops;
  std::uint64_t count = 1;
  if (index.is_poisoned()) return demand.add_all();
  for (const ir::SymbolId id : symbols_.all_symbols(index)) {
    if (symbols_.info(id).kind == ir::SymbolKind::element) return demand.add_all();
    const auto domain = domains_.find(id);
    if (domain == domains_.end()) continue;
    if (domain->second.size < 0) return demand.add_all();
    loops.emplace_back(id, &domain->second);
    count = saturating_product(count, static_cast<std::uint64_t>(domain->second.count()));
  }
  if (loops.size() == 1 && index.as_symbol() == loops[0].first && !loops[0].second->all()) {
    for (const std::int64_t position : loops[0].second->chosen) demand.add(position);
    return;
  }
  if (count > kMostIndices) return demand.add_all();
  std::unordered_map<ir::SymbolId, std::int64_t> values;
  const auto value = [&](ir::SymbolId id) -> std::optional<std::int64_t> {
    const auto known = values.find(id);
    return known != values.end() ? std::optional(known->second) : sizes_(id);
  };
  for (std::uint64_t number = 0; number < count; ++number) {
    std::uint64_t rest = number;
    for (const auto& [id, positions] : loops) {
      const auto at = static_cast<std::size_t>(rest % static_cast<std::uint64_t>(positions->count()));
      rest /= static_cast<std::uint64_t>(positions->count());
      values[id] = positions->all() ? static_cast<std::int64_t>(at) : positions->chosen[at];
    }
    const auto position = symbols_.evaluate(index, value);
    if (!position) return demand.add_all();
    demand.add(*position);
  }
}

}  // namespace xflow::eval
