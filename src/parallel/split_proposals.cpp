#include "src/parallel/split_proposals.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/parallel/split_starts.h"

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNoDevice = UINT32_MAX;
constexpr double kWeightOfSplits = 0.5;  // random ones, and swept ones
constexpr double kWeightOfMoves = 0.3;   // of each kind of moves of groups

// Neighbours in the last split are neighbours among the devices. The number of devices.
std::uint32_t set_strides(OperatorPlan& plan) {
  std::uint32_t stride = 1;
  for (auto split = plan.splits.rbegin(); split != plan.splits.rend(); ++split) {
    split->stride = stride;
    stride *= split->degree;
  }
  return stride;
}

void keep_batches(OperatorPlan& plan, const OperatorPlan& of) {
  for (const Split& split : of.splits)
    if (split.stride == 0) plan.splits.push_back(split);
}

}  // namespace

SplitProposals::SplitProposals(SplitModel& model, std::uint32_t devices, RandomNumbers& random, std::span<const double> seconds,
                               OperatorGroups groups)
    : model_(model),
      devices_(devices),
      random_(random),
      members_(model.kinds()),
      groups_(std::move(groups)),
      moves_(groups_.members.empty() ? std::vector<std::vector<std::uint32_t>>() : neighbours_of(model, groups_), devices) {
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
    const SplitOperator& own = model.operators()[op];
    members_[own.kind].push_back(op);
    const OperatorKind& kind = model.kind(own);
    const bool has_parts = std::ranges::any_of(kind.axes, [](const OperatorAxis& axis) { return axis.blocks > 1; });
    if (!has_parts && kind.reduction.blocks <= 1) continue;
    movable_.push_back(op);
    if (members_[own.kind].size() == 1) movable_kinds_.push_back(own.kind);
  }
  swept_ = swept_splits(model, devices, seconds);
}

bool SplitProposals::propose(SplitPlan& plan) {
  const double of_groups = groups_.members.empty() || devices_ < 2 ? 0 : kWeightOfMoves;
  const std::size_t kind = kinds_.draw(
      {movable_.empty() ? 0.0 : kWeightOfSplits, swept_.empty() ? 0.0 : kWeightOfSplits, of_groups, of_groups, of_groups}, random_);
  if (kind == random_split) return split(plan);
  if (kind == swept_split) return sweep(plan);
  return move_groups(static_cast<GroupMoves::Kind>(kind - first_move), plan);
}

bool SplitProposals::move_groups(GroupMoves::Kind kind, SplitPlan& plan) {
  // Groups of which some operator is not whole, or is elsewhere than the others, have no device.
  places_.clear();
  for (const std::vector<std::uint32_t>& members : groups_.members) {
    const OperatorPlan& first = plan[members[0]];
    const auto is_there = [&](std::uint32_t op) { return plan[op].splits.empty() && plan[op].base == first.base; };
    places_.push_back(std::ranges::all_of(members, is_there) ? first.base : kNoDevice);
  }
  const std::vector<std::uint32_t> before = places_;
  moves_.propose(kind, places_, random_);
  bool is_changed = false;
  for (std::size_t group = 0; group < places_.size(); ++group) {
    if (places_[group] == before[group]) continue;
    if (places_[group] == kNoDevice) return false;
    is_changed = true;
  }
  for (std::size_t group = 0; group < places_.size(); ++group) {
    if (places_[group] == before[group]) continue;
    for (const std::uint32_t op : groups_.members[group]) plan[op] = {places_[group], {}};
  }
  return is_changed;
}

// An operator, or half of the time one of a kind, since some kinds have many operators.
std::uint32_t SplitProposals::random_operator() {
  if (random_.below(2) == 0) return movable_[random_.below(static_cast<std::uint32_t>(movable_.size()))];
  const auto& members = members_[movable_kinds_[random_.below(static_cast<std::uint32_t>(movable_kinds_.size()))]];
  return members[random_.below(static_cast<std::uint32_t>(members.size()))];
}

bool SplitProposals::split(SplitPlan& plan) {
  const std::uint32_t op = random_operator();
  const std::uint32_t read = random_read(op);
  if (read != kNoOperator && random_.below(3) == 0) {
    const std::uint32_t maker = model_.values()[model_.operators()[op].reads[read]].maker;
    return apply(op, following_plan(model_, op, read, plan[maker], devices_), plan);
  }
  if (plan[op].batches() > 1 && random_.below(3) == 0) {
    OperatorPlan own = plan[op];
    own.base = plan[neighbour(op)].base;
    return apply(op, own, plan);
  }
  OperatorPlan own = random_.below(2) == 0 ? changed_plan(op, plan[op]) : random_plan(op);
  if (plan[op].batches() > 1 && random_.below(4) > 0) keep_batches(own, plan[op]);
  return apply(op, own, plan);
}

bool SplitProposals::sweep(SplitPlan& plan) {
  const auto& [op, split] = swept_[next_swept_++ % swept_.size()];
  const std::uint32_t device = random_.below(2) == 0 ? plan[op].base : random_.below(devices_);
  OperatorPlan own{device / split.degree * split.degree, {split}};
  keep_batches(own, plan[op]);
  return apply(op, own, plan);
}

bool SplitProposals::apply(std::uint32_t op, const OperatorPlan& own, SplitPlan& plan) {
  if (!is_possible(model_, op, own, devices_)) return false;
  // The operator alone, all of its kind, or those that are as it is now.
  const OperatorPlan before = plan[op];
  std::vector<std::uint32_t> moved = {op};
  const std::uint32_t scope = random_.below(3);
  if (scope > 0) {
    moved.clear();
    for (const std::uint32_t other : members_[model_.operators()[op].kind])
      if (scope == 1 || plan[other] == before) moved.push_back(other);
  }
  add_tied(moved);
  for (const std::uint32_t other : moved) plan[other] = own;
  // What follows takes the parts as they are: up to the next product, or to the end.
  constexpr std::uint32_t kModes = 4;
  const std::uint32_t mode = random_.below(kModes);
  if (mode < 2) follow(plan, moved, mode == 0);
  return true;
}

SplitPlan SplitProposals::random_start() {
  constexpr int kMostTrials = 16;  // then the operator is whole
  SplitPlan plan(model_.operators().size());
  std::vector<bool> is_drawn(plan.size(), false);
  for (const std::uint32_t op : movable_) {
    if (is_drawn[op]) continue;
    OperatorPlan own = random_plan(op);
    for (int trial = 1; trial < kMostTrials && !is_possible(model_, op, own, devices_); ++trial) own = random_plan(op);
    if (!is_possible(model_, op, own, devices_)) own = {own.base, {}};
    std::vector<std::uint32_t> drawn = {op};
    add_tied(drawn);
    for (const std::uint32_t other : drawn) {
      plan[other] = own;
      is_drawn[other] = true;
    }
  }
  return plan;
}

// Operators of one kind that share weights have one plan.
void SplitProposals::add_tied(std::vector<std::uint32_t>& moved) const {
  std::set<std::uint32_t> all;
  for (const std::uint32_t op : moved) {
    if (all.contains(op)) continue;
    const std::vector<std::uint32_t> tied = with_tied(model_, op);
    all.insert(tied.begin(), tied.end());
  }
  moved.assign(all.begin(), all.end());
}

std::uint32_t SplitProposals::random_read(std::uint32_t op) {
  const auto& reads = model_.operators()[op].reads;
  if (reads.empty()) return kNoOperator;
  const std::uint32_t read = random_.below(static_cast<std::uint32_t>(reads.size()));
  return model_.values()[reads[read]].maker == kNoOperator ? kNoOperator : read;
}

// The operator before or after it; itself at an end.
std::uint32_t SplitProposals::neighbour(std::uint32_t op) {
  const auto last = static_cast<std::uint32_t>(model_.operators().size() - 1);
  return random_.below(2) == 0 ? std::max(op, 1U) - 1 : std::min(op + 1, last);
}

// A random split into a divisor of the number of devices.
OperatorPlan SplitProposals::random_plan(std::uint32_t op) {
  const std::vector<Split> targets = split_targets(model_, op);
  OperatorPlan plan;
  std::uint32_t left = devices_;
  while (left > 1 && random_.below(4) > 0) {
    std::vector<std::uint32_t> degrees;
    for (std::uint32_t degree = 2; degree <= left; ++degree)
      if (left % degree == 0) degrees.push_back(degree);
    Split split = targets[random_.below(static_cast<std::uint32_t>(targets.size()))];
    split.degree = degrees[random_.below(static_cast<std::uint32_t>(degrees.size()))];
    left /= split.degree;
    plan.splits.push_back(split);
  }
  plan.base = random_.below(left) * set_strides(plan);
  return plan;
}

OperatorPlan SplitProposals::changed_plan(std::uint32_t op, const OperatorPlan& before) {
  OperatorPlan unchanged = before;
  std::erase_if(unchanged.splits, [](const Split& split) { return split.stride == 0; });
  OperatorPlan plan = unchanged;
  const std::vector<Split> targets = split_targets(model_, op);
  const auto target = [&](std::uint32_t degree) {
    Split split = targets[random_.below(static_cast<std::uint32_t>(targets.size()))];
    split.degree = degree;
    return split;
  };
  const auto count = static_cast<std::uint32_t>(plan.splits.size());
  enum Change : std::uint32_t { more, halved, doubled, along, order, nothing, changes };
  const std::uint32_t change = count == 0 ? std::uint32_t{more} : random_.below(changes);
  if (change == more) {
    plan.splits.insert(plan.splits.begin() + random_.below(count + 1), target(2));
  } else {
    Split& split = plan.splits[random_.below(count)];
    if (change == halved) split.degree = split.degree % 2 == 0 ? split.degree / 2 : 1;
    if (change == doubled) split.degree *= 2;
    if (change == along) split = target(split.degree);
    if (change == order) std::swap(split, plan.splits[random_.below(count)]);
  }
  std::erase_if(plan.splits, [](const Split& split) { return split.degree == 1; });
  const std::uint32_t used = set_strides(plan);
  if (used > devices_) return unchanged;
  const bool is_elsewhere = change == nothing || random_.below(4) == 0;
  plan.base = (is_elsewhere ? random_.below(devices_) : plan.base) / used * used;
  return plan;
}

void SplitProposals::follow(SplitPlan& plan, const std::vector<std::uint32_t>& moved, bool passes_products) {
  std::vector<bool> is_moved(plan.size(), false);
  std::uint32_t first = kNoOperator;
  for (const std::uint32_t op : moved) {
    is_moved[op] = true;
    first = std::min(first, op);
  }
  const std::vector<bool> fixed = is_moved;
  for (std::uint32_t op = first; op < plan.size(); ++op) {
    if (fixed[op] || (!passes_products && model_.operators()[op].is_product)) continue;
    const std::uint32_t read = main_read(model_, op);
    if (read == kNoOperator) continue;
    const std::uint32_t maker = model_.values()[model_.operators()[op].reads[read]].maker;
    if (!is_moved[maker]) continue;
    is_moved[op] = true;
    plan[op] = following_plan(model_, op, read, plan[maker], devices_);
  }
}

}  // namespace xflow::parallel
