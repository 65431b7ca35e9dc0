#include "src/parallel/batch_order.h"

#include <algorithm>

namespace xflow::parallel {

void BatchOrder::clear() {
  turns_.clear();
  phase_ = 0;
  batch_ = 0;
  has_batches_ = false;
  reads_other_batch_ = false;
}

void BatchOrder::add(std::uint32_t device) {
  turns_.push_back({phase_, batch_, device, false});
  if (batch_ != kBefore && batch_ < kAfter) has_batches_ = true;
}

void BatchOrder::add(std::uint32_t phase, std::uint32_t batch, std::uint32_t device, bool has_own) {
  turns_.push_back({phase, batch, device, has_own});
  if (is_batch(turns_.back())) has_batches_ = true;
}

void BatchOrder::connect(std::uint32_t from, std::uint32_t to) {
  const Turn& source = turns_[from];
  Turn& own = turns_[to];
  if (source.phase != own.phase) return;
  if (source.batch == own.batch)
    own.has_own = own.has_own || source.device == own.device;
  else if (source.batch != kBefore)
    reads_other_batch_ = true;
}

void BatchOrder::end_operator(std::uint32_t first) {
  if (reads_other_batch_) {
    ++phase_;
    for (std::size_t node = first; node < turns_.size(); ++node) {
      turns_[node].phase = phase_;
      turns_[node].has_own = false;
    }
  }
  reads_other_batch_ = false;
}

std::vector<std::uint32_t> BatchOrder::in_order() const {
  std::uint32_t phases = 0;
  std::uint32_t batches = 0;  // the most of a phase
  for (const Turn& own : turns_) {
    phases = std::max(phases, own.phase + 1);
    if (is_batch(own)) batches = std::max(batches, own.batch);
  }
  const auto place = [&](const Turn& own) {
    const std::uint32_t batch = own.batch < kAfter ? own.batch : batches + 1 + (own.batch == kLast ? 1 : 0);
    return std::size_t{own.phase} * (batches + 3) + batch;
  };
  std::vector<std::uint32_t> first(std::size_t{phases} * (batches + 3) + 1, 0);
  for (const Turn& own : turns_) ++first[place(own) + 1];
  for (std::size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
  std::vector<std::uint32_t> order(turns_.size());
  for (std::uint32_t node = 0; node < turns_.size(); ++node) order[first[place(turns_[node])]++] = node;
  return order;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> BatchOrder::edges() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  if (!has_batches_) return found;
  // Of a device: the last node of its latest batch so far, and of the batch before that.
  struct Latest {
    std::uint32_t now = UINT32_MAX;
    std::uint32_t before = UINT32_MAX;
  };
  std::vector<Latest> latest;
  for (const std::uint32_t node : in_order()) {
    const Turn& own = turns_[node];
    if (!is_batch(own)) continue;
    if (latest.size() <= own.device) latest.resize(own.device + 1);
    Latest& of = latest[own.device];
    const auto is_of = [&](std::uint32_t other, std::uint32_t batch) {
      return other != UINT32_MAX && turns_[other].phase == own.phase && turns_[other].batch == batch;
    };
    if (!is_of(of.now, own.batch)) of.before = of.now;
    of.now = node;
    if (!own.has_own && is_of(of.before, own.batch - 1)) found.emplace_back(of.before, node);
  }
  std::ranges::sort(found, {}, [](const auto& edge) { return edge.second; });
  return found;
}

std::vector<std::uint32_t> BatchOrder::positions() const {
  std::vector<std::uint32_t> positions;
  if (!has_batches_) return positions;
  const std::vector<std::uint32_t> order = in_order();
  positions.resize(order.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) positions[order[k]] = k;
  return positions;
}

}  // namespace xflow::parallel
