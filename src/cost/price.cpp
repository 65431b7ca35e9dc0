// Prices of fused kernels, computed from measurements.
//
// Measurements have errors, and a rewrite that removes work must never look worse because of them. So a
// price is a maximum over the kernels that are contained in a kernel, and a chain is cut where the sum of
// the prices is minimal. Both are monotone: they fall or stay the same when an element of the chain is
// removed.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "src/cost/regions.h"

namespace xflow::cost {
namespace {

constexpr Nanoseconds kNever{std::numeric_limits<double>::infinity()};

}  // namespace

// A kernel that chooses its layouts chooses them as if it had no post-operations. Fusing must not change
// these layouts, because the neighbours would pay for it.
const DatabaseEntry& Regions::measured(const FusedChain& region, Layout layout) {
  if (layout != Layout::any || region.chain.size() == 1) return costs_.of(region.spec, layout);
  const DatabaseEntry& alone = costs_.of(shape(region.chain[0].shape).spec, Layout::any);
  if (!alone.ran || alone.cost.operands != alone.cost.results) return costs_.of(region.spec, Layout::any);
  const DatabaseEntry& same = costs_.of(region.spec, alone.cost.results);
  return same.ran ? same : costs_.of(region.spec, Layout::any);
}

const DatabaseEntry* Regions::timed(const FusedChain& region, Layout layout) {
  if (layout != Layout::any || region.chain.size() == 1) return costs_.find(region.spec, layout);
  const DatabaseEntry* alone = costs_.find(shape(region.chain[0].shape).spec, Layout::any);
  if (alone == nullptr) return nullptr;
  if (!alone->ran || alone->cost.operands != alone->cost.results) return costs_.find(region.spec, Layout::any);
  const DatabaseEntry* same = costs_.find(region.spec, alone->cost.results);
  return same == nullptr || same->ran ? same : costs_.find(region.spec, Layout::any);
}

std::vector<FusedChain*> Regions::contained_in(const FusedChain& region, Layout layout) {
  std::vector<FusedChain*> result;
  const Chain& chain = region.chain;
  for (std::size_t k = begins_with_anchor(chain) ? 1 : 0; chain.size() > 1 && k < chain.size(); ++k) {
    Chain part = chain;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(k));
    part[0].position = Element::kFirst;
    FusedChain* contained = this->region(part);
    if (contained != nullptr && (layout == Layout::any || contained->works[static_cast<std::size_t>(layout)])) result.push_back(contained);
  }
  return result;
}

const DatabaseEntry* Regions::highest_in(FusedChain& region, Layout layout, std::vector<const FusedChain*>& seen) {
  const DatabaseEntry* highest = nullptr;
  for (FusedChain* contained : contained_in(region, layout)) {
    if (std::ranges::find(seen, contained) != seen.end()) continue;
    seen.push_back(contained);
    const DatabaseEntry* price = is_timed(*contained, layout) ? &cost(*contained, layout) : highest_in(*contained, layout, seen);
    if (price != nullptr && price->ran && (highest == nullptr || price->cost.median > highest->cost.median)) highest = price;
  }
  return highest;
}

void Regions::bound_contained(const FusedChain& region, Layout layout, Nanoseconds price) {
  const auto in = static_cast<std::size_t>(layout);
  for (FusedChain* contained : contained_in(region, layout)) {
    std::optional<Nanoseconds>& ceiling = contained->ceilings[in];
    if (contained->prices[in] != nullptr || (ceiling && *ceiling <= price)) continue;
    ceiling = price;
    bound_contained(*contained, layout, price);
  }
}

const DatabaseEntry& Regions::cost(FusedChain& region, Layout layout) {
  const auto in = static_cast<std::size_t>(layout);
  if (region.prices[in] != nullptr) return *region.prices[in];
  const DatabaseEntry* price = &measured(region, layout);
  if (price->ran) {
    const DatabaseEntry& own = *price;
    std::vector<const FusedChain*> seen;
    const DatabaseEntry* highest = highest_in(region, layout, seen);
    if (highest != nullptr && highest->cost.median > own.cost.median) {
      price = &changed_.emplace_back(own);
      changed_.back().cost.median = highest->cost.median;
      changed_.back().cost.spread = highest->cost.spread;
    }
    if (const auto& ceiling = region.ceilings[in]; ceiling && price->cost.median > *ceiling) {
      DatabaseEntry bounded = *price;
      bounded.cost.median = *ceiling;
      price = &changed_.emplace_back(std::move(bounded));
      is_outdated_ = true;
    }
  }
  region.prices[in] = price;
  if (price->ran && costs_.may_leave_out()) bound_contained(region, layout, price->cost.median);
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

Nanoseconds Regions::estimate_of(FusedChain& region) {
  if (!region.estimate) region.estimate = costs_.at_least(region.spec);
  return *region.estimate;
}

Nanoseconds Regions::launch_at_least(Chain chain, Layout arrives) {
  chain[0].position = Element::kFirst;
  FusedChain* kernel = region(chain);
  if (kernel == nullptr) return kNever;
  const Layout layout = kernel->chooses ? Layout::any : kernel->works[static_cast<std::size_t>(arrives)] ? arrives : Layout::plain;
  if (is_timed(*kernel, layout)) {
    const DatabaseEntry& price = cost(*kernel, layout);
    return price.ran ? price.cost.median : kNever;
  }
  const Nanoseconds estimate = estimate_of(*kernel);
  std::vector<const FusedChain*> seen;
  const DatabaseEntry* highest = highest_in(*kernel, layout, seen);
  const Nanoseconds least = highest == nullptr ? estimate : std::max(estimate, highest->cost.median);
  const auto& ceiling = kernel->ceilings[static_cast<std::size_t>(layout)];
  return ceiling ? std::min(least, *ceiling) : least;
}

Nanoseconds Regions::time_at_least(const Chain& chain, std::optional<Layout> arrives) {
  if (chain.empty()) return {};
  Nanoseconds least = kNever;
  for (std::size_t n = chain.size(); n > 0; --n) {
    const auto cut = chain.begin() + static_cast<std::ptrdiff_t>(n);
    Chain part(chain.begin(), cut);
    part[0].position = Element::kFirst;
    FusedChain* kernel = region(part);
    if (kernel == nullptr) continue;
    const Nanoseconds first = arrives ? launch_at_least(std::move(part), *arrives) : estimate_of(*kernel);
    if (first >= least) continue;
    least = std::min(least, first + time_at_least(Chain(cut, chain.end()), std::nullopt));
  }
  return least;
}

std::optional<Nanoseconds> Regions::least_time(const Chain& chain, Layout arrives, std::size_t* links) {
  if (chain.empty()) return Nanoseconds{};
  const bool leaves_out = costs_.may_leave_out();
  std::optional<Nanoseconds> least;
  for (std::size_t n = chain.size(); n > 0; --n) {
    const auto cut = chain.begin() + static_cast<std::ptrdiff_t>(n);
    const Chain part(chain.begin(), cut);
    const Chain others(cut, chain.end());
    // Ties go to the longest first part.
    if (leaves_out && least && *least <= launch_at_least(part, arrives) + time_at_least(others, std::nullopt)) continue;
    const std::optional<Launch> first = launch(part, arrives);
    if (!first || (leaves_out && least && *least <= first->time + time_at_least(others, first->results))) continue;
    const std::optional<Nanoseconds> rest = least_time(others, first->results, nullptr);
    if (!rest) continue;
    const Nanoseconds time = first->time + *rest;
    if (least && *least <= time) continue;
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
