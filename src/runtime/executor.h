// What runs whole models.
#pragma once

#include <xflow/error.h>
#include <xflow/report.h>

#include <cstddef>
#include <cstdint>

#include "src/kernels/device.h"
#include "src/runtime/run_times.h"

namespace xflow::cost {

// A model that an executor has loaded.
enum class ProgramId : std::uint32_t {};

// Runs whole models: in this process, or in another one. How a program gets here, and from what, is between the executor and its owner;
// each can be run on the same inputs at each choice of sizes, which are numbered from 0.
class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual const DeviceInfo& info() const = 0;

  virtual Clock clock() const = 0;

  // One run, of `repeats` in a row. An error is this program's alone: others can still be run.
  virtual Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) = 0;

  // Has all programs set up again before their next run, in the order of these runs, so that they lie elsewhere in memory: that alone can
  // make one of two equal programs faster by a percent. One that cannot be set up again stays as it is.
  virtual void renew() {}
};

}  // namespace xflow::cost
