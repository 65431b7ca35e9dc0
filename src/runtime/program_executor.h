// The common base of in-process executors: programs for each choice of sizes, which are set up again on
// request.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "src/runtime/executor.h"

namespace xflow::cost {

// Implements setting up and renewing programs for an executor of `Program` on `Device`.
template <typename Device, typename Program>
class ProgramExecutor : public Executor {
 public:
  // The device must outlive the executor.
  explicit ProgramExecutor(Device& device) : device_(device) {}

  // Builds the programs of a graph with their inputs written, one for each choice of sizes, starting at 0.
  using Make = std::function<Result<std::vector<Program>>()>;
  // Adds a program. Errors: those of `make`, which is called again for each renewal.
  Result<ProgramId> add(Make make) {
    XFLOW_TRY(std::vector<Program> at_sizes, make());
    programs_.push_back({std::move(make), std::move(at_sizes)});
    return static_cast<ProgramId>(programs_.size() - 1);
  }

  Program& program(ProgramId id, std::size_t sizes) { return programs_.at(static_cast<std::size_t>(id)).at_sizes.at(sizes); }

  const DeviceInfo& info() const override { return device_.info(); }
  void renew() override {
    for (Loaded& loaded : programs_) loaded.is_old = true;
  }

 protected:
  // The program, set up again if needed.
  Result<Program*> ready(ProgramId id, std::size_t sizes) {
    Loaded& loaded = programs_.at(static_cast<std::size_t>(id));
    if (loaded.is_old) {
      // The old programs are freed only after the new ones are built, so that the new ones get different
      // memory.
      XFLOW_TRY(loaded.at_sizes, loaded.make());
      loaded.is_old = false;
    }
    return &loaded.at_sizes.at(sizes);
  }

 private:
  struct Loaded {
    Make make;
    std::vector<Program> at_sizes;
    bool is_old = false;
  };

  Device& device_;
  std::vector<Loaded> programs_;
};

}  // namespace xflow::cost
