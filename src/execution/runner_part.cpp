#include "src/execution/runner_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "src/runtime/plan.h"
#include "src/support/printable.h"

namespace xflow::execution {
namespace {

using cost::NamedTensor;
using cost::runner::Runner;

constexpr int kTimedRuns = 5;
// A run that takes so many times its measured time, and some seconds, hangs. The watchdog of a run over MPI
// waits for longer, so that the error is that of the runner.
constexpr double kMostRunnerSlowdown = 10;
constexpr double kLeastPatience = 5;

// Memory of a part, as a constant that is read in place.
class MemoryBytes final : public ir::ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> memory) : memory_(memory) {}
  std::uint64_t size() const override { return memory_.size(); }
  Result<std::span<const std::byte>> bytes() const override { return memory_; }

 private:
  std::span<const std::byte> memory_;
};

struct Slot {
  std::string name;
  ops::TensorSpec type;
  std::vector<std::byte> memory;
  bool is_set = false;
};

std::vector<Slot> slots_of(std::vector<std::pair<std::string, ops::TensorSpec>> types) {
  std::vector<Slot> slots;
  for (auto& [name, type] : types) {
    const std::size_t bytes = cost::bytes_of(type, cost::Layout::plain);
    slots.push_back({std::move(name), std::move(type), std::vector<std::byte>(bytes), false});
  }
  return slots;
}

std::string type_text(ir::DataType type, const std::vector<std::int64_t>& dims) {
  return fmt::format("{}[{}]", ir::name(type), fmt::join(dims, ","));
}

class RunnerPart final : public PartEngine {
 public:
  RunnerPart(Runner& runner, std::uint32_t number, const std::string& path, RunnerPartTypes types)
      : runner_(runner),
        number_(number),
        path_(path),
        inputs_(slots_of(std::move(types.inputs))),
        outputs_(slots_of(std::move(types.outputs))) {}

  Result<void> write(std::string_view input, const eval::Tensor& tensor) override {
    const auto slot = std::ranges::find(inputs_, input, &Slot::name);
    if (slot == inputs_.end()) return {};  // a constant of an old model
    if (tensor.data_type != slot->type.data_type || tensor.dims != slot->type.dims) {
      return fail(ErrorCode::unreadable,
                  fmt::format("input '{}': an input is {}, {} was given", onnx_io::printable(input),
                              type_text(slot->type.data_type, slot->type.dims), type_text(tensor.data_type, tensor.dims)),
                  path_);
    }
    return copy(tensor, *slot);
  }
  std::vector<std::span<std::byte>> input_memory(std::string_view input) override {
    const auto slot = std::ranges::find(inputs_, input, &Slot::name);
    if (slot == inputs_.end()) return {};
    slot->is_set = true;
    return {slot->memory};
  }
  Result<std::span<const std::byte>> output_memory(std::size_t output) const override {
    return std::span<const std::byte>(outputs_[output].memory);
  }

  std::size_t launches() const override { return 1; }
  Seconds predicted(std::size_t) const override { return time_.value_or(Seconds(kFirstPatience / kMostRunnerSlowdown)); }
  std::size_t complete_before(std::size_t) const override { return 1; }
  std::size_t needed_before(std::string_view) const override { return 0; }

  Result<void> run(const std::function<void(std::size_t launch)>& before) override {
    if (before) before(0);
    runner_.set_patience(time_ ? kLeastPatience + kMostRunnerSlowdown * time_->count() : kFirstPatience);
    std::vector<NamedTensor> given;
    for (const Slot& slot : inputs_) {
      if (slot.is_set)
        given.push_back({slot.name, eval::Tensor::of({slot.type.data_type, slot.type.dims, std::make_shared<MemoryBytes>(slot.memory)})});
    }
    if (auto set = runner_.set_inputs(number_, given); !set) return failed(set.error());
    const auto results = runner_.outputs(number_, number_);
    if (!results) return failed(results.error());
    for (Slot& slot : outputs_) {
      const auto found = std::ranges::find(*results, slot.name, &NamedTensor::name);
      if (found == results->end()) return failed({ErrorCode::unsupported, fmt::format("it gave no output '{}'", slot.name), {}});
      if (found->tensor.data_type != slot.type.data_type || found->tensor.dims != slot.type.dims) {
        return failed({ErrorCode::unsupported,
                       fmt::format("its output '{}' is {}, and {} was expected", slot.name,
                                   type_text(found->tensor.data_type, found->tensor.dims), type_text(slot.type.data_type, slot.type.dims)),
                       {}});
      }
      XFLOW_CHECK(copy(found->tensor, slot));
    }
    return {};
  }

  Result<void> time() override {
    const auto times = runner_.run(number_, number_, kTimedRuns);
    if (!times) return failed(times.error());
    time_ = Seconds(times->time);
    return {};
  }

 private:
  Result<void> failed(const Error& error) const {
    return fail(error.code, fmt::format("the runner: {}", onnx_io::printable(error.message)), path_);
  }
  static Result<void> copy(const eval::Tensor& tensor, Slot& slot) {
    XFLOW_TRY(const ir::Constant value, eval::to_constant(tensor));
    XFLOW_TRY(const auto bytes, value.source->bytes());
    if (bytes.size() != slot.memory.size()) return fail(ErrorCode::internal, "a tensor has another size than its type");
    if (!bytes.empty()) std::memcpy(slot.memory.data(), bytes.data(), bytes.size());
    slot.is_set = true;
    return {};
  }

  Runner& runner_;
  const std::uint32_t number_;  // of the model and of its inputs
  const std::string path_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::optional<Seconds> time_;
};

}  // namespace

Result<std::unique_ptr<PartEngine>> runner_part(Runner& runner, std::uint32_t number, const std::string& path, RunnerPartTypes types) {
  runner.set_patience(kFirstPatience);
  std::error_code ignored;
  if (auto loaded = runner.load(number, {{}, std::filesystem::absolute(path, ignored).string()}); !loaded)
    return fail(loaded.error().code, fmt::format("the runner: {}", onnx_io::printable(loaded.error().message)), path);
  return std::unique_ptr<PartEngine>(std::make_unique<RunnerPart>(runner, number, path, std::move(types)));
}

}  // namespace xflow::execution
