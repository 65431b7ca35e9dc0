// The interface of executors of whole models.
#pragma once

#include <xflow/error.h>
#include <xflow/report.h>

#include <cstddef>
#include <cstdint>

#include "src/kernels/device.h"
#include "src/runtime/run_times.h"

namespace xflow::cost {

// The id of a model that an executor has loaded.
enum class ProgramId : std::uint32_t {};

// Runs whole models, in this process or in another one. How a program is loaded, and from what, is up to the
// executor and its owner. Each program can run on the same inputs at each choice of sizes; the choices are
// numbered from 0.
class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual const DeviceInfo& info() const = 0;

  virtual Clock clock() const = 0;

  // Times one run, from `repeats` consecutive runs. An error concerns this program only: other programs can
  // still run.
  virtual Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) = 0;

  // Makes all programs be set up again before their next run, in the order of these runs, so that their
  // memory moves. Placement in memory alone can make one of two equal programs faster by 1%. A program that
  // cannot be set up again stays unchanged.
  virtual void renew() {}
};

}  // namespace xflow::cost
