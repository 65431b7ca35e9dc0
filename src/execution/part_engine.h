// What runs a part of a model: the CPU executor, or a runner in another process.
#pragma once

#include <xflow/error.h>
#include <xflow/time.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/eval/tensor.h"

namespace xflow::execution {

class PartEngine {
 public:
  PartEngine() = default;
  virtual ~PartEngine() = default;
  PartEngine(const PartEngine&) = delete;
  PartEngine& operator=(const PartEngine&) = delete;

  // Sets an input. Errors: unreadable for a tensor of another type.
  virtual Result<void> write(std::string_view input, const eval::Tensor& tensor) = 0;
  // The memory of an input, for each of its copies, in the layout of ONNX's raw_data; a run does not change
  // it.
  virtual std::vector<std::span<std::byte>> input_memory(std::string_view input) = 0;
  // The memory of an output that a later part may read where it is: aligned to 64 bytes, with
  // cost::cpu::CpuKernel::kSlack bytes after it. Null if it is not, as that of a constant.
  virtual std::byte* readable_output(std::size_t /*output*/) { return nullptr; }
  // The memory of an output, up to the next run.
  virtual Result<std::span<const std::byte>> output_memory(std::size_t output) const = 0;

  virtual std::size_t launches() const = 0;
  virtual Seconds predicted(std::size_t launch) const = 0;
  // The number of the first launch before which an output has its value.
  virtual std::size_t complete_before(std::size_t output) const = 0;
  // The number of the first launch that needs an input; launches() if none does. An input that is an output
  // is needed before all launches.
  virtual std::size_t needed_before(std::string_view input) const = 0;
  // The predicted time of the launches before this one, of those that complete an output, and of those that
  // run before one that needs an input.
  Seconds predicted_until(std::size_t launch) const {
    Seconds time{};
    for (std::size_t k = 0; k < launch; ++k) time += predicted(k);
    return time;
  }
  Seconds complete_after(std::size_t output) const { return predicted_until(complete_before(output)); }
  Seconds needed_after(std::string_view input) const { return predicted_until(needed_before(input)); }
  // Runs once; calls `before`, unless it is null, with the number of each launch before it. The call may
  // write inputs that no launch before needs.
  virtual Result<void> run(const std::function<void(std::size_t launch)>& before) = 0;
  // Called after a run that does not count, for engines that learn their times by running.
  virtual Result<void> time() { return {}; }
};

}  // namespace xflow::execution
