// Launches one kernel as in a run of a whole graph: its constants and results have left the nearest caches.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/devices/cpu/cpu_kernel.h"
#include "src/devices/cpu/loop_kernel.h"

namespace xflow::cost::cpu {

// Bytes of memory that launches cycle through before they use the same buffer again.
struct RotationSizes {
  std::size_t constants = 0;
  std::size_t results = 0;
};

// A kernel that cycles through buffers: as many copies of its constants and as many result buffers as fill
// the sizes. Its other operands keep their buffers, because in a run the preceding kernel has just written
// them. Constants below 256 bytes and results below 4 KiB keep their buffers, too.
class Rotation {
 public:
  // Binds the kernel, which must outlive the rotation. With sizes of 0 the kernel runs on its own buffers.
  Rotation(CpuKernel& kernel, const ops::KernelSpec& spec, const RotationSizes& sizes);

  void launch() {
    Turn& turn = turns_[next_];
    next_ = next_ + 1 == turns_.size() ? 0 : next_ + 1;
    for (const auto& [result, place] : turn.results) turn.kernel->bind_result(result, place);
    for (const auto& [operand, place] : turn.constants) turn.kernel->bind_operand(operand, place);
    turn.kernel->run();
  }
  std::size_t turns() const { return turns_.size(); }  // launches before the same buffers are used again
  // The buffer of result 0 in a turn.
  const std::byte* result(std::size_t turn) const { return turns_[turn].result; }

 private:
  struct Port {
    std::size_t number;
    std::byte* place;
  };
  struct Turn {
    CpuKernel* kernel;
    const std::byte* result;
    std::vector<Port> results;  // to bind before the launch; empty if the turn has a kernel of its own
    std::vector<Port> constants;
  };

  std::vector<std::unique_ptr<CpuKernel>> copies_;
  Memory constants_;
  Memory results_;
  std::vector<Turn> turns_;
  std::size_t next_ = 0;
};

}  // namespace xflow::cost::cpu
