#include "src/cost/kernel_costs.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace xflow::cost {
namespace {

// A machine that is slower than this share disturbs what is timed on it.
constexpr double kDisturbed = 0.1;

bool is_commutative(const std::string& operation) { return operation == "add" || operation == "mul"; }

// Constants before values, and of constants the largest first: a bias, which libraries want first, before a number.
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

void sort_run(std::span<ops::PostOperation> run) {
  std::ranges::stable_sort(run,
                           [](const ops::PostOperation& a, const ops::PostOperation& b) { return before(a.operands[0], b.operands[0]); });
}

}  // namespace

ops::KernelSpec in_measured_order(ops::KernelSpec spec) {
  for (std::size_t begin = 0; begin < spec.post.size();) {
    std::size_t end = begin + 1;
    const auto joins = [&](const ops::PostOperation& post) { return post.name == spec.post[begin].name && post.operands.size() == 1; };
    if (is_commutative(spec.post[begin].name) && joins(spec.post[begin])) {
      while (end < spec.post.size() && joins(spec.post[end])) ++end;
      sort_run(std::span(spec.post).subspan(begin, end - begin));
    }
    begin = end;
  }
  // The first operator of a chain adds two operands; the second of them belongs to the row that may follow.
  if (!spec.kernel.starts_with("pointwise/") || spec.operands.size() != 2) return spec;
  const std::string operation(parse_step(spec.kernel).operation);
  if (!is_commutative(operation)) return spec;
  if (spec.operands[0].dims != spec.results[0].dims) std::swap(spec.operands[0], spec.operands[1]);
  if (spec.operands[0].dims != spec.results[0].dims) return spec;
  std::size_t end = 0;
  while (end < spec.post.size() && spec.post[end].name == operation && spec.post[end].operands.size() == 1) ++end;
  std::vector<ops::PostOperation> run(spec.post.begin(), spec.post.begin() + static_cast<std::ptrdiff_t>(end));
  run.insert(run.begin(), ops::PostOperation{operation, {}, {spec.operands[1]}});
  sort_run(run);
  spec.operands[1] = run[0].operands[0];
  std::copy(run.begin() + 1, run.end(), spec.post.begin());
  return spec;
}

const DatabaseEntry& KernelCosts::of(const ops::KernelSpec& written, Layout layout) {
  const ops::KernelSpec spec = in_measured_order(written);
  DatabaseKey key{ops::to_string(spec), layout};
  std::string name_in_memory = key.kernel + "@" + std::string(name(layout));
  if (const auto found = entries_.find(name_in_memory); found != entries_.end()) return found->second;
  DatabaseEntry entry;
  if (const DatabaseEntry* stored = database_.find(key)) {
    entry = *stored;
    ++statistics_.known;
  } else {
    if (on_measure) on_measure(key.kernel);
    const auto begin = std::chrono::steady_clock::now();
    Result<KernelCost> cost = device_.measure(spec, layout);
    if (cost) {
      entry.cost = *cost;
      if (cost->disturbance > kDisturbed) ++statistics_.disturbed;
    } else {
      entry.refusal = cost.error().message;
    }
    statistics_.measured_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++statistics_.measured;
    database_.insert(key, entry);
  }
  return entries_.emplace(std::move(name_in_memory), std::move(entry)).first->second;
}

}  // namespace xflow::cost
