// Index forms over a block of lanes. Private to src/eval.
#pragma once

#include <cstdint>
#include <vector>

#include "src/eval/program.h"
#include "src/eval/source.h"

namespace xflow::eval {

// The value of an index form on each lane of a block: base + stride * lane, or base + values[lane] if
// `values` is set. All values are within the bounds; the bounds may not be attained.
struct IndexView {
  std::int64_t base = 0;
  std::int64_t stride = 0;
  const std::int64_t* values = nullptr;
  Range bounds;
  bool is_uniform() const { return values == nullptr && stride == 0; }
  std::int64_t at(std::int64_t lane) const { return base + (values != nullptr ? values[lane] : stride * lane); }
};

// The state of the loops of a stage: the current block of lanes and the values of the scalar loops. Time
// stamps tell whether a value that was computed from some variables is still valid: none of the variables
// has changed since.
class LoopState {
 public:
  LoopState(const Stage& stage, const std::vector<Source>& sources, std::int64_t max_lanes);

  // Moves to the block of `count` consecutive lanes that starts at lane `first`.
  void set_block(std::int64_t first, std::int64_t count);
  std::int64_t lanes() const { return lanes_; }
  // The preferred end of the block that starts at `first`: the end of a row if that makes reads contiguous.
  std::int64_t block_end(std::int64_t first) const;

  void set(int variable, std::int64_t value) {
    scalars_[static_cast<std::size_t>(variable)] = value;
    stamps_[static_cast<std::size_t>(variable)] = ++clock_;
  }
  std::uint64_t now() const { return clock_; }
  // True if none of the variables in `depends` has changed since `stamp`.
  bool valid(std::uint64_t stamp, std::uint64_t depends) const {
    if (stamp < block_stamp_) return false;
    for (std::uint64_t rest = depends & scalar_mask_; rest != 0; rest &= rest - 1) {
      if (stamps_[static_cast<std::size_t>(__builtin_ctzll(rest))] > stamp) return false;
    }
    return true;
  }

  IndexView form(int number);

 private:
  struct FormState {
    std::vector<std::int64_t> values;  // contribution of lane variables and slots, minus `first`
    std::int64_t first = 0;
    std::int64_t stride = 0;
    Range bounds;  // of `values`
    bool linear = true;
    std::uint64_t stamp = 0;
    std::uint64_t slot_depends = 0;
    bool varies = false;  // it has lane variables or slots
  };
  struct SlotState {
    std::vector<std::int64_t> values;
    Range bounds;
    bool uniform = true;
    std::uint64_t stamp = 0;
  };

  void refresh(const IndexForm& form, FormState& state);
  SlotState& slot(int number);
  std::int64_t element(const Source& source, std::int64_t offset) const;

  const Stage& stage_;
  const std::vector<Source>& sources_;
  std::int64_t max_lanes_;
  std::int64_t lanes_ = 0;
  std::uint64_t scalar_mask_ = ~std::uint64_t{0};
  std::uint64_t clock_ = 1;
  std::uint64_t block_stamp_ = 1;
  std::vector<std::int64_t> scalars_;
  std::vector<std::uint64_t> stamps_;
  std::vector<std::vector<std::int64_t>> lane_values_;  // by variable; empty for scalar ones
  std::vector<Range> lane_bounds_;                      // of lane_values_ in the current block
  std::vector<FormState> forms_;
  std::vector<SlotState> slots_;
};

}  // namespace xflow::eval
