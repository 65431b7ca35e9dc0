// In which order a device computes micro-batches: a device begins a batch of its stage when it has ended the
// one before, so that the next stage has it early. Otherwise it would compute one operator for all batches
// before the next operator.
//
// A phase is a range of operators in the forward or the backward pass in which parts read from the same
// batch of others alone. Operators that read several batches begin a new one. Within a phase, the parts of a
// batch on a device that read from none of the same batch there wait for the last part of the batch before.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace xflow::parallel {

class BatchOrder {
 public:
  // Batches of nodes. Those of micro-batches are 1, 2, ..
  static constexpr std::uint32_t kBefore = 0;              // of no batch, before those that are
  static constexpr std::uint32_t kAfter = UINT32_MAX - 1;  // after them
  static constexpr std::uint32_t kLast = UINT32_MAX;

  void clear();
  // What is added from now on is in another phase, or in a batch.
  void begin_phase() { ++phase_; }
  void begin_batch(std::uint32_t batch) { batch_ = batch; }
  std::uint32_t phase() const { return phase_; }

  // Adds the next node, which runs on a device.
  void add(std::uint32_t device);
  // Adds the next node with all that is known of it: `has_own` if it waits for a node of the same phase,
  // batch and device. Phases and batches that were begun do not matter to it.
  void add(std::uint32_t phase, std::uint32_t batch, std::uint32_t device, bool has_own);
  // A node waits for another one.
  void connect(std::uint32_t from, std::uint32_t to);
  // The nodes from `first` on, which are the last ones, begin a new phase if one of them waits for another
  // batch of this phase.
  void end_operator(std::uint32_t first);

  // What a node, the second, waits for in addition.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges() const;
  // The position of each node in an order in which nodes, and those edges, wait for earlier ones alone: by
  // phase, batch and number. Empty if it is that of the numbers.
  std::vector<std::uint32_t> positions() const;

 private:
  struct Turn {
    std::uint32_t phase = 0;
    std::uint32_t batch = 0;
    std::uint32_t device = 0;
    bool has_own = false;  // waits for a node of the same phase, batch and device
  };

  static bool is_batch(const Turn& turn) { return turn.batch != kBefore && turn.batch < kAfter; }
  // The nodes by phase, batch and number.
  std::vector<std::uint32_t> in_order() const;

  std::vector<Turn> turns_;  // by node
  std::uint32_t phase_ = 0;
  std::uint32_t batch_ = 0;
  bool has_batches_ = false;
  bool reads_other_batch_ = false;  // a node of the operator that is added
};

// The batch of the gradients of a part.
inline std::uint32_t backward_batch(std::uint32_t batch_of_part) {
  return batch_of_part == BatchOrder::kBefore ? BatchOrder::kAfter : batch_of_part;
}

}  // namespace xflow::parallel
