// A runtime in another process that runs and times whole models. docs/runner.md describes the protocol.
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
  std::string command;   // a shell command
  int threads = 1;       // per run
  double patience = 60;  // timeout of an answer in seconds
  // Called while waiting for an answer: true ends the runner with Error::limit. Null: never.
  std::function<bool()> stop = {};
  // Called likewise: a runner that holds more bytes of memory is ended with Error::limit. Null: no bound.
  std::function<std::uint64_t()> bytes_left = {};
  // Called likewise: from the first true on, each answer has `hurried_patience` seconds if that is less than
  // `patience`. Null: never.
  std::function<bool()> hurry = {};
  double hurried_patience = 10;
};

// A running process. A request that the runner refuses gives Error::unsupported with the runner's message,
// and the runner goes on. After any other error (it ended, did not answer or sent an invalid answer)
// is_running() is false, and a new runner must be started.
class Runner {
 public:
  // Starts a runner. Errors: io (it cannot be started, or it ended), limit (no answer), unreadable (an
  // answer that violates the protocol).
  static Result<std::unique_ptr<Runner>> start(const RunnerOptions& options);
  // Uses a runner that was already started; `options.command` names it in errors.
  static Result<std::unique_ptr<Runner>> over(std::unique_ptr<Channel> channel, const RunnerOptions& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // name: "runner"; model: the runner's name of the device; library: name and version of the runtime; clock:
  // the clock that it reads.
  const DeviceInfo& info() const { return info_; }
  // The kind of that clock: whether it continues while other processes use the processor.
  xflow::Clock clock() const { return clock_; }
  bool is_running() const { return channel_ != nullptr; }

  // The caller chooses the numbers of models and of sets of inputs.
  Result<void> load(std::uint32_t model, const ModelSource& source);
  Result<void> unload(std::uint32_t model);
  Result<void> set_inputs(std::uint32_t inputs, std::span<const NamedTensor> tensors);
  // Runs `repeats` times in a row and returns the time of one run.
  Result<RunTimes> run(std::uint32_t model, std::uint32_t inputs, int repeats);
  // Runs once and returns the results.
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
