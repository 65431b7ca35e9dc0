// Launches of one kernel as a run of a whole graph makes them: on constants and results that are not in the nearest caches any more.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/devices/cpu/kernel.h"
#include "src/devices/cpu/loop_kernel.h"

namespace xflow::cost::cpu {

// How much memory launches go through before they come to the same place again, in bytes.
struct RotationSizes {
  std::size_t constants = 0;
  std::size_t results = 0;
};

// A kernel on places that take turns: as many copies of its constants, and places of its results, as fill the sizes. Its other operands
// stay where they are: in a run the kernel before has just written them. Constants below 256 bytes and results below 4 KiB stay, too.
class Rotation {
 public:
  // The kernel must outlive the rotation and is bound to it. With sizes of 0 it is run as it is.
  Rotation(Kernel& kernel, const ops::KernelSpec& spec, const RotationSizes& sizes);

  void launch() {
    Turn& turn = turns_[next_];
    next_ = next_ + 1 == turns_.size() ? 0 : next_ + 1;
    for (const auto& [result, place] : turn.results) turn.kernel->bind_result(result, place);
    for (const auto& [operand, place] : turn.constants) turn.kernel->bind_operand(operand, place);
    turn.kernel->run();
  }
  std::size_t turns() const { return turns_.size(); }  // launches before the same places come again
  // Where result 0 of a turn lies.
  const std::byte* result(std::size_t turn) const { return turns_[turn].result; }

 private:
  struct Port {
    std::size_t number;
    std::byte* place;
  };
  struct Turn {
    Kernel* kernel;
    const std::byte* result;
    std::vector<Port> results;  // what has to be bound before the launch; nothing where a kernel of its own is
    std::vector<Port> constants;
  };

  std::vector<std::unique_ptr<Kernel>> copies_;
  Memory constants_;
  Memory results_;
  std::vector<Turn> turns_;
  std::size_t next_ = 0;
};

}  // namespace xflow::cost::cpu
