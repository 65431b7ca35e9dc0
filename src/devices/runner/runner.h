// A runtime in another process: it runs whole models and says how long they take. The protocol is docs/runner.md.
#pragma once

#include <xflow/error.h>
#include <xflow/report.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/tensor.h"
#include "src/kernels/device.h"
#include "src/runtime/model_executor.h"

namespace xflow::cost::runner {

class Channel;
struct Message;

struct RunnerOptions {
  std::string command;              // of the shell
  int threads = 1;                  // of one run
  double patience = 60;             // seconds within which it has to answer
  std::function<bool()> stop = {};  // asked while it is waited for: true ends it with Error::limit; null: never
  // Asked likewise: a runner that holds more bytes of memory is ended with Error::limit. Null: no bound.
  std::function<std::uint64_t()> bytes_left = {};
};

// One running process. Errors of a request: unsupported, with what the runner said of it, where the runner goes on; anything else (it
// ended, it did not answer, it wrote nonsense) ends it: is_running() is false, and a new one has to be started.
class Runner {
 public:
  // Errors: io (it cannot be started, or ended), limit (no answer), unreadable (no answer of this protocol).
  static Result<std::unique_ptr<Runner>> start(const RunnerOptions& options);
  // The same with a runner that was started already; `options.command` names it in errors.
  static Result<std::unique_ptr<Runner>> over(std::unique_ptr<Channel> channel, const RunnerOptions& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // name: "runner", model: the device as the runner calls it, library: name and version of the runtime, clock: what it reads.
  const DeviceInfo& info() const { return info_; }
  // Whether that goes on while others have the processor.
  xflow::Clock clock() const { return clock_; }
  bool is_running() const { return channel_ != nullptr; }

  // Models and sets of inputs have numbers that the caller chooses.
  Result<void> load(std::uint32_t model, const ModelSource& source);
  Result<void> unload(std::uint32_t model);
  Result<void> set_inputs(std::uint32_t inputs, std::span<const NamedTensor> tensors);
  // One run, of `repeats` in a row.
  Result<RunTimes> run(std::uint32_t model, std::uint32_t inputs, int repeats);
  // Runs once, and gives back the results.
  Result<std::vector<NamedTensor>> outputs(std::uint32_t model, std::uint32_t inputs);

  void set_patience(double seconds) { patience_ = seconds; }

 private:
  Runner();
  Result<Message> ask(const std::string& text, std::span<const std::string_view> payload = {});
  Result<void> greet(int threads);
  template <typename T>
  Result<T> nonsense(const std::string& what);

  std::unique_ptr<Channel> channel_;
  DeviceInfo info_;
  xflow::Clock clock_ = xflow::Clock::cpu_time;
  double patience_ = 60;
};

}  // namespace xflow::cost::runner
