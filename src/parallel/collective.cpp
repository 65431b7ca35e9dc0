#include "src/parallel/collective.h"

namespace xflow::parallel {
namespace {

// Appends nodes without work that pass parts of a tensor on.
class CollectiveBuilder {
 public:
  CollectiveBuilder(const Collective& collective, std::uint32_t cluster_devices, Workload& workload, std::vector<std::uint32_t>& placement)
      : collective_(collective), cluster_devices_(cluster_devices), workload_(workload), placement_(placement) {
    const double ranks = count();
    const bool is_whole = collective.algorithm == CollectiveAlgorithm::tree_all_reduce;
    part_ = is_whole ? collective.bytes : collective.bytes / ranks;
    const std::uint32_t sent = collective.algorithm == CollectiveAlgorithm::all_to_all ? count() : 1;
    for (std::uint32_t rank = 0; rank < count(); ++rank) {
      last_.push_back(add_node(rank, sent));
      if (!collective.inputs.empty()) read(collective.inputs[rank], last_.back());
    }
  }

  std::vector<std::uint32_t> make() {
    const std::uint32_t ranks = count();
    switch (collective_.algorithm) {
      case CollectiveAlgorithm::ring_all_reduce:
        ring(2 * (ranks - 1));
        break;
      case CollectiveAlgorithm::ring_all_gather:
      case CollectiveAlgorithm::ring_reduce_scatter:
        ring(ranks - 1);
        break;
      case CollectiveAlgorithm::tree_all_reduce:
        tree();
        break;
      case CollectiveAlgorithm::all_to_all:
        exchange();
        break;
    }
    std::vector<std::uint32_t> nodes;
    nodes.reserve(last_.size());
    for (const Stage& stage : last_) nodes.push_back(stage.node);
    return nodes;
  }

 private:
  // A node, and the first of the tensors that it sends.
  struct Stage {
    std::uint32_t node = 0;
    std::uint32_t tensor = 0;
  };

  std::uint32_t count() const { return static_cast<std::uint32_t>(collective_.devices.size()); }

  Stage add_node(std::uint32_t rank, std::uint32_t tensors) {
    const Stage stage{static_cast<std::uint32_t>(workload_.nodes.size()), static_cast<std::uint32_t>(workload_.tensors.size())};
    workload_.nodes.push_back({std::vector<double>(cluster_devices_, 0), 0});
    workload_.tensors.insert(workload_.tensors.end(), tensors, WorkloadTensor{stage.node, part_, {}});
    placement_.push_back(collective_.devices[rank]);
    return stage;
  }

  void read(std::uint32_t tensor, const Stage& reader) { workload_.tensors[tensor].readers.push_back(reader.node); }

  // In each step a device waits for its predecessor and for itself.
  void ring(std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::vector<Stage> now;
      for (std::uint32_t rank = 0; rank < count(); ++rank) {
        now.push_back(add_node(rank, 1));
        read(last_[rank].tensor, now.back());
        read(last_[(rank + count() - 1) % count()].tensor, now.back());
      }
      last_ = std::move(now);
    }
  }

  // `to` goes on when it has its own tensor and that of `from`.
  void pass(std::uint32_t from, std::uint32_t to) {
    const Stage stage = add_node(to, 1);
    read(last_[to].tensor, stage);
    read(last_[from].tensor, stage);
    last_[to] = stage;
  }

  void tree() {
    std::uint32_t distance = 1;
    for (; distance < count(); distance *= 2) {
      for (std::uint32_t rank = 0; rank + distance < count(); rank += 2 * distance) pass(rank + distance, rank);
    }
    while ((distance /= 2) > 0) {
      for (std::uint32_t rank = 0; rank + distance < count(); rank += 2 * distance) pass(rank, rank + distance);
    }
  }

  void exchange() {
    std::vector<Stage> now;
    for (std::uint32_t rank = 0; rank < count(); ++rank) {
      now.push_back(add_node(rank, 1));
      // The part for this device of every device, itself among them.
      for (const Stage& from : last_) read(from.tensor + rank, now.back());
    }
    last_ = std::move(now);
  }

  const Collective& collective_;
  std::uint32_t cluster_devices_;
  Workload& workload_;
  std::vector<std::uint32_t>& placement_;
  double part_ = 0;
  std::vector<Stage> last_;  // by rank
};

}  // namespace

std::vector<std::uint32_t> add_collective(const Collective& collective, std::uint32_t cluster_devices, Workload& workload,
                                          std::vector<std::uint32_t>& placement) {
  return CollectiveBuilder(collective, cluster_devices, workload, placement).make();
}

}  // namespace xflow::parallel
