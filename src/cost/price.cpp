// Prices of fused kernels, computed from measurements.
//
// Measurements have errors, and a rewrite that removes work must never look worse because of them. So a
// price is a maximum over the kernels that are contained in a kernel, and a chain is cut where the sum of
// the prices is minimal. Both are monotone: they fall or stay the same when an element of the chain is
// removed.
#include <algorithm>
#include <tuple>

#include "src/cost/regions.h"

namespace xflow::cost {

// A kernel that chooses its layouts chooses them as if it had no post-operations. Fusing must not change
// these layouts, because the neighbours would pay for it.
const DatabaseEntry& Regions::measured(const FusedChain& region, Layout layout) {
  if (layout != Layout::any || region.chain.size() == 1) return costs_.of(region.spec, layout);
  const DatabaseEntry& alone = costs_.of(shape(region.chain[0].shape).spec, Layout::any);
  if (!alone.ran || alone.cost.operands != alone.cost.results) return costs_.of(region.spec, Layout::any);
  const DatabaseEntry& same = costs_.of(region.spec, alone.cost.results);
  return same.ran ? same : costs_.of(region.spec, Layout::any);
}

const DatabaseEntry& Regions::cost(FusedChain& region, Layout layout) {
  const DatabaseEntry*& price = region.prices[static_cast<std::size_t>(layout)];
  if (price != nullptr) return *price;
  const DatabaseEntry& own = measured(region, layout);
  const DatabaseEntry* most = &own;
  const Chain& chain = region.chain;
  for (std::size_t k = begins_with_anchor(chain) ? 1 : 0; own.ran && chain.size() > 1 && k < chain.size(); ++k) {
    Chain part = chain;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(k));
    part[0].position = Element::kFirst;
    FusedChain* contained = this->region(part);
    if (contained == nullptr || (layout != Layout::any && !contained->works[static_cast<std::size_t>(layout)])) continue;
    const DatabaseEntry& less = cost(*contained, layout);
    if (less.ran && less.cost.median > most->cost.median) most = &less;
  }
  if (most != &own) {
    raised_.push_back(own);
    raised_.back().cost.median = most->cost.median;
    raised_.back().cost.spread = most->cost.spread;
    most = &raised_.back();
  }
  price = most;
  return *price;
}

std::optional<Regions::Launch> Regions::launch(Chain chain, Layout arrives) {
  chain[0].position = Element::kFirst;
  FusedChain* kernel = region(chain);
  if (kernel == nullptr) return std::nullopt;
  const bool works = kernel->works[static_cast<std::size_t>(arrives)];
  const DatabaseEntry& entry = cost(*kernel, kernel->chooses ? Layout::any : works ? arrives : Layout::plain);
  if (!entry.ran) return std::nullopt;
  if (kernel->chooses) return Launch{entry.cost.median, entry.cost.results};
  if (works) return Launch{entry.cost.median, arrives};
  const DatabaseEntry& reorder = costs_.of(reorder_spec(kernel->spec.results[0], arrives, Layout::plain), Layout::any);
  if (!reorder.ran) return std::nullopt;
  return Launch{entry.cost.median + reorder.cost.median, Layout::plain};
}

std::optional<Nanoseconds> Regions::least_time(const Chain& chain, Layout arrives, std::size_t* links) {
  if (chain.empty()) return Nanoseconds{};
  std::optional<Nanoseconds> least;
  for (std::size_t n = chain.size(); n > 0; --n) {
    const auto cut = chain.begin() + static_cast<std::ptrdiff_t>(n);
    const std::optional<Launch> first = launch(Chain(chain.begin(), cut), arrives);
    if (!first) continue;
    const std::optional<Nanoseconds> rest = least_time(Chain(cut, chain.end()), first->results, nullptr);
    if (!rest) continue;
    const Nanoseconds time = first->time + *rest;
    if (least && *least <= time) continue;  // ties go to the longest first part
    least = time;
    if (links != nullptr) *links = n;
  }
  return least;
}

std::size_t Regions::best_prefix(const Chain& chain, Layout arrives) {
  if (chain.size() == 1) return 1;
  auto& decisions = decisions_[static_cast<std::size_t>(arrives)];
  if (const auto found = decisions.find(chain); found != decisions.end()) return found->second;
  std::size_t links = 1;
  least_time(chain, arrives, &links);
  decisions.emplace(chain, links);
  return links;
}

const DatabaseEntry* Regions::reorder(const ir::Arena& arena, const NodeShape& shape, ir::ValueId value, Layout from, Layout to) {
  const std::tuple key(shape.id, value.output, from, to);
  if (const auto found = reorders_.find(key); found != reorders_.end()) return found->second;
  std::optional<ops::TensorSpec> spec = tensor(arena, value);
  if (!spec) return nullptr;
  spec->constant = false;
  const DatabaseEntry* entry = &costs_.of(reorder_spec(*spec, from, to), Layout::any);
  reorders_.emplace(key, entry);
  return entry;
}

}  // namespace xflow::cost
