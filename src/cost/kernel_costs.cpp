#include "src/cost/kernel_costs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "src/kernels/kernel_graph.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost {
namespace {

constexpr int kMostAttempts = 8;
constexpr int kRounds = 3;

bool is_commutative(const ops::StepFunction& function) { return function.is(ops::Op::Add) || function.is(ops::Op::Mul); }

// Constants precede other operands. Larger constants precede smaller ones: libraries want a bias before a
// number.
bool before(const ops::TensorSpec& a, const ops::TensorSpec& b) {
  const auto elements = [](const ops::TensorSpec& tensor) {
    double n = 1;
    for (const std::int64_t d : tensor.dims) n *= static_cast<double>(d);
    return n;
  };
  const auto key = [&](const ops::TensorSpec& tensor) {
    return std::pair(!tensor.constant, tensor.constant ? -elements(tensor) : elements(tensor));
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return a.dims < b.dims;
}

// A post-operation with the numbers of its operands in the whole kernel.
struct Placed {
  ops::PostOperation post;
  std::vector<std::size_t> operands;
};

void sort_run(std::span<Placed> run) {
  std::ranges::stable_sort(run, [](const Placed& a, const Placed& b) { return before(a.post.operands[0], b.post.operands[0]); });
}

// Whether the post-operation applies this function to the value of the chain and one more operand.
bool adds(const Placed& placed, const ops::StepFunction& function) {
  return placed.post.function == function && placed.post.position == 0 && placed.post.operands.size() == 1;
}

// Sorts each run of consecutive post-operations that add (or multiply) one operand.
void sort_posts(std::vector<Placed>& posts) {
  for (std::size_t begin = 0; begin < posts.size();) {
    std::size_t end = begin + 1;
    const ops::StepFunction& function = posts[begin].post.function;
    const auto joins = [&](const Placed& placed) { return adds(placed, function); };
    if (is_commutative(function) && joins(posts[begin])) {
      while (end < posts.size() && joins(posts[end])) ++end;
      sort_run(std::span(posts).subspan(begin, end - begin));
    }
    begin = end;
  }
}

// The first operator of a chain may add (or multiply) two operands. The second one belongs to the run that
// may follow.
void sort_first(ops::KernelSpec& spec, std::vector<std::size_t>& own, std::vector<Placed>& posts) {
  if (!is_pointwise(spec) || spec.operands.size() != 2 || !is_commutative(spec.function)) return;
  if (spec.operands[0].dims != spec.results[0].dims) {
    std::swap(spec.operands[0], spec.operands[1]);
    std::swap(own[0], own[1]);
  }
  if (spec.operands[0].dims != spec.results[0].dims) return;
  std::size_t end = 0;
  while (end < posts.size() && adds(posts[end], spec.function)) ++end;
  std::vector<Placed> run(posts.begin(), posts.begin() + static_cast<std::ptrdiff_t>(end));
  run.insert(run.begin(), Placed{{spec.function, 0, {}, {spec.operands[1]}}, {own[1]}});
  sort_run(run);
  spec.operands[1] = run[0].post.operands[0];
  own[1] = run[0].operands[0];
  std::copy(run.begin() + 1, run.end(), posts.begin());
}

}  // namespace

ops::KernelSpec in_measured_order(ops::KernelSpec spec, std::vector<std::size_t>* order) {
  std::vector<std::size_t> own(spec.operands.size());
  std::iota(own.begin(), own.end(), std::size_t{0});
  std::size_t next = own.size();
  std::vector<Placed> posts;
  posts.reserve(spec.post.size());
  for (ops::PostOperation& post : spec.post) {
    Placed placed{std::move(post), {}};
    for (std::size_t k = 0; k < placed.post.operands.size(); ++k) placed.operands.push_back(next++);
    posts.push_back(std::move(placed));
  }
  sort_posts(posts);
  sort_first(spec, own, posts);
  spec.post.clear();
  for (Placed& placed : posts) {
    own.insert(own.end(), placed.operands.begin(), placed.operands.end());
    spec.post.push_back(std::move(placed.post));
  }
  if (order != nullptr) *order = std::move(own);
  return spec;
}

KernelCosts::KernelCosts(Device& device, Database& database, KernelEstimates* estimates)
    : device_(device), database_(database), estimates_(estimates), may_leave_out_(estimates != nullptr && !device.lookups()) {
  device_.know_fastest_calibration(database_.fastest_calibration());
}

const DatabaseEntry& KernelCosts::of(const ops::KernelSpec& written, Layout layout) {
  const ops::KernelSpec spec = in_measured_order(written);
  DatabaseKey key{ops::to_string(spec), layout};
  std::string name_in_memory = key.kernel + "@" + std::string(name(layout));
  if (names_ != nullptr) names_->insert(name_in_memory);
  if (const auto found = entries_.find(name_in_memory); found != entries_.end()) {
    if (!expects_ && expected_.contains(name_in_memory)) time({name_in_memory});
    return found->second;
  }
  const DatabaseEntry* stored = database_.find(key);
  DatabaseEntry& entry = entries_[name_in_memory];
  if (stored != nullptr) {
    entry = *stored;
    ++statistics_.known;
    if (!entry.ran) ++statistics_.refused;
  } else if (!expects_ || !expect(name_in_memory, key, spec, entry)) {
    measure_first(key, spec, entry);
  } else {
    return entry;
  }
  if (!is_provisional(entry.cost)) return entry;
  note_interference(name_in_memory, key, spec, entry);
  if (stored != nullptr && has_time() && may_gain(provisional_.back())) remeasure(provisional_.back());
  return entry;
}

Nanoseconds KernelCosts::expected_time(const KernelEstimate& estimate) const {
  return estimate.cost.median * std::exp(expects_.value_or(0) * estimate.deviation);
}

void KernelCosts::expect_costs(std::optional<double> deviations) {
  expects_ = deviations;
  for (auto& [name_in_memory, kernel] : expected_) kernel.entry->cost.median = expected_time(kernel.estimate);
}

bool KernelCosts::expect(const std::string& name_in_memory, const DatabaseKey& key, const ops::KernelSpec& spec, DatabaseEntry& entry) {
  if (!may_leave_out_) return false;
  const auto estimate = estimates_->expected(spec, key.layout);
  if (!estimate) return false;
  entry.cost = estimate->cost;
  entry.cost.median = expected_time(*estimate);
  expected_.emplace(name_in_memory, Expected{key, spec, &entry, *estimate});
  statistics_.left_out = expected_.size();
  return true;
}

void KernelCosts::measure_first(const DatabaseKey& key, const ops::KernelSpec& spec, DatabaseEntry& entry) {
  bool lasting = true;
  const DatabaseEntry now = measure(key, spec, &lasting);
  entry = lasting ? database_.insert(key, now) : now;
  ++statistics_.measured;
  if (!lasting && statistics_.failed++ == 0) statistics_.failure = now.ran.reason;
  if (!entry.ran) ++statistics_.refused;
}

void KernelCosts::note_interference(const std::string& name_in_memory, const DatabaseKey& key, const ops::KernelSpec& spec,
                                    DatabaseEntry& entry) {
  ++statistics_.with_interference;
  ++statistics_.provisional;
  provisional_.push_back({name_in_memory, key, spec, &entry});
}

bool KernelCosts::are_timed(const Names& names) const {
  return std::ranges::none_of(names, [&](const std::string& name_in_memory) { return expected_.contains(name_in_memory); });
}

bool KernelCosts::time(const Names& names) {
  std::vector<std::pair<double, std::map<std::string, Expected>::iterator>> wanted;
  for (auto at = expected_.begin(); at != expected_.end(); ++at)
    if (names.contains(at->first) && !(at->second.failed && expects_))
      wanted.emplace_back(at->second.estimate.cost.median.count() * at->second.estimate.deviation, at);
  std::ranges::stable_sort(wanted, std::greater(), &decltype(wanted)::value_type::first);
  bool timed = false;
  for (const auto& [error, at] : wanted) {
    if (device_.is_stopped()) break;
    const Expected kernel = at->second;
    const DatabaseEntry before = *kernel.entry;
    const std::size_t failed = statistics_.failed;
    measure_first(kernel.key, kernel.spec, *kernel.entry);
    if (statistics_.failed != failed && expects_) {  // it keeps what is expected of it
      --statistics_.refused;
      --statistics_.measured;
      *kernel.entry = before;
      at->second.failed = true;
      continue;
    }
    if (is_provisional(kernel.entry->cost)) note_interference(at->first, kernel.key, kernel.spec, *kernel.entry);
    expected_.erase(at);
    timed = true;
  }
  statistics_.left_out = expected_.size();
  return timed;
}

const DatabaseEntry* KernelCosts::find(const ops::KernelSpec& written, Layout layout) {
  const ops::KernelSpec spec = in_measured_order(written);
  const DatabaseKey key{ops::to_string(spec), layout};
  const std::string name_in_memory = key.kernel + "@" + std::string(name(layout));
  const bool known = (entries_.contains(name_in_memory) && !expected_.contains(name_in_memory)) || database_.find(key) != nullptr;
  return known ? &of(spec, layout) : nullptr;
}

Nanoseconds KernelCosts::at_least(const ops::KernelSpec& spec) {
  return estimates_ == nullptr ? Nanoseconds{} : estimates_->at_least(spec).value_or(Nanoseconds{});
}

DatabaseEntry KernelCosts::measure(const DatabaseKey& key, const ops::KernelSpec& spec, bool* lasting) {
  if (on_measure) on_measure(key.kernel);
  const auto begin = std::chrono::steady_clock::now();
  DatabaseEntry entry;
  const auto sound = check_shapes(spec);
  if (Result<KernelCost> cost = sound ? device_.measure(spec, key.layout) : fail(sound.error())) {
    entry.cost = *cost;
    statistics_.samples += static_cast<std::size_t>(cost->samples);
    statistics_.outliers += static_cast<std::size_t>(cost->outliers);
    // Entries do not contain sample counts, in memory as in the database.
    entry.cost.samples = entry.cost.outliers = 0;
  } else {
    entry.ran = refused(cost.error().message);
    // Lack of time or memory and a lost device say nothing about the kernel.
    if (lasting != nullptr) *lasting = cost.error().code != ErrorCode::limit && cost.error().code != ErrorCode::io;
  }
  statistics_.measured_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  database_.insert_calibration(device_.fastest_calibration());
  return entry;
}

// The number of attempts is bounded, so that a machine that is never calm does not time a kernel forever.
bool KernelCosts::may_gain(const Provisional& kernel) {
  return is_provisional(kernel.entry->cost) && kernel.entry->attempts < kMostAttempts &&
         device_.interference() < kernel.entry->cost.interference;
}

bool KernelCosts::remeasure(Provisional& kernel) {
  const double before = statistics_.measured_seconds;
  const KernelCost old = kernel.entry->cost;
  bool lasting = true;
  const DatabaseEntry now = measure(kernel.key, kernel.spec, &lasting);
  if (lasting) *kernel.entry = database_.insert(kernel.key, now);
  statistics_.remeasuring_seconds += statistics_.measured_seconds - before;
  if (!kernel.timed_again) ++statistics_.timed_again;
  kernel.timed_again = true;
  if (!is_provisional(kernel.entry->cost)) --statistics_.provisional;
  return !(kernel.entry->cost == old);
}

bool KernelCosts::remeasure(const Names& first) {
  const auto error = [](const Provisional& kernel) { return kernel.entry->cost.median.count() * kernel.entry->cost.interference; };
  std::ranges::stable_sort(provisional_, [&](const Provisional& a, const Provisional& b) {
    const bool a_first = first.contains(a.name);
    const bool b_first = first.contains(b.name);
    return a_first != b_first ? a_first : error(a) > error(b);
  });
  bool changed = false;
  if (device_.is_stopped()) return false;
  // Loops over all kernels several times, so that temporary interference does not affect one kernel only.
  for (int round = 0; round < kRounds; ++round) {
    for (Provisional& kernel : provisional_) {
      const bool once = round == 0 && first.contains(kernel.name);
      if ((once || has_time()) && may_gain(kernel)) changed = remeasure(kernel) || changed;
    }
  }
  return changed;
}

}  // namespace xflow::cost
