// Runs the steps of a model: the parts of this process in their order, with the tensors between them.
#pragma once

#include <xflow/error.h>
#include <xflow/run.h>
#include <xflow/split.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/execution/part_program.h"

namespace xflow::execution {

// A tensor that one device sends to another. A device receives a tensor once, whoever reads it there.
struct SentTensor {
  std::string name;
  std::size_t source = 0;  // part that computes it
  std::size_t from = 0;    // device
  std::size_t to = 0;      // device
  std::size_t reader = 0;  // the first part that reads it there
};

// The tensors that pass between devices, by (reader, order of its inputs).
std::vector<SentTensor> sent_tensors(const PartManifest& manifest);

// When tasks of one step ran, in seconds since its process began it. A process knows its own; others are
// negative.
struct StepTimes {
  std::vector<double> begins;       // by process: readings of its clock, steady_clock_name()
  std::vector<double> part_starts;  // by part
  std::vector<double> part_ends;
  std::vector<double> part_waits;  // by part: how long it waited for tensors between its start and its end
  std::vector<double> sent;        // by tensor; known to the sender
  std::vector<double> arrived;     // by tensor; known to the receiver

  // Adds to the times of each process how much later than the first one it began, by process. No tensor
  // arrives before it is sent, as two clocks could say.
  void delay(const PartManifest& manifest, std::span<const SentTensor> tensors, std::span<const double> delays);
};

class StepRunner {
 public:
  // `programs`: by part; null for those of other processes. Without messages all parts are of this process.
  // All arguments must outlive the runner.
  StepRunner(const PartManifest& manifest, std::span<const std::unique_ptr<PartProgram>> programs, RunMessages* messages)
      : manifest_(manifest), programs_(programs), messages_(messages), sent_(sent_tensors(manifest)) {}

  // Finds the memory of all tensors. Errors: those of Program::output_memory.
  Result<void> bind();
  // Runs one step. All processes run it. Errors: those of PartEngine::run, of this process alone.
  Result<StepTimes> run();

  std::span<const SentTensor> sent() const { return sent_; }
  // Bytes of a sent tensor of this process; 0 for those of others.
  std::size_t bytes_of(std::size_t sent) const { return sizes_[sent]; }
  // Waits for a transfer, which part number `part` needs, or kNoPart.
  void wait(std::size_t transfer, std::size_t part);

 private:
  // An input of a part: where its bytes are, and where they have to be.
  struct PartInput {
    std::optional<std::size_t> sent;  // it arrives from another device
    std::size_t needed = 0;           // by this launch
    std::span<const std::byte> source;
    std::vector<std::span<std::byte>> targets;
  };

  std::size_t process() const { return messages_ == nullptr ? 0 : messages_->process(); }
  bool is_own(std::size_t part) const {
    return programs_[part] != nullptr && (messages_ == nullptr || manifest_.parts[part].device == process());
  }
  double now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Result<void> bind_input(std::size_t part, const PartTensor& tensor);
  void receive_all();
  void take(const PartInput& input, std::size_t part, StepTimes& times);
  // Waits for the inputs of a part, from number `next` on, that a launch needs, and puts them where they are
  // read. Returns the number of the first one that is not needed yet.
  std::size_t take_inputs(std::size_t part, std::size_t next, std::size_t launch, StepTimes& times);
  Result<void> run_part(std::size_t part, StepTimes& times);
  // Sends what the launches of a part before this one have computed and was not sent.
  void send(std::size_t part, std::size_t launch, StepTimes& times);

  const PartManifest& manifest_;
  std::span<const std::unique_ptr<PartProgram>> programs_;
  RunMessages* messages_;
  std::vector<SentTensor> sent_;
  std::vector<std::vector<PartInput>> inputs_;     // by part, in the order in which launches need them
  std::vector<std::span<const std::byte>> sends_;  // by sent tensor of this process
  std::vector<std::size_t> complete_;              // by sent tensor of this process: the launch from which on it is
  std::vector<std::size_t> by_source_;             // sent tensors by the part that computes them
  std::vector<std::size_t> first_sent_;            // of a part in by_source_, and of those after it
  std::vector<std::span<std::byte>> receives_;     // by received tensor of this process
  std::vector<std::vector<std::byte>> scratch_;    // of received tensors that no kernel reads
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> arriving_;  // transfers, by sent tensor
  std::vector<std::size_t> leaving_;   // transfers of this step
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace xflow::execution
