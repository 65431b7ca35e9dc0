#include "src/execution/cpu_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/support/printable.h"

namespace xflow::execution {
namespace {

class CpuPart final : public PartEngine {
 public:
  CpuPart(cost::cpu::Program program, const onnx_io::LiftedModel& model, std::string path)
      : program_(std::move(program)), model_(model), path_(std::move(path)) {}

  Result<void> write(std::string_view input, const eval::Tensor& tensor) override {
    const auto value = find(input);
    if (!value) return {};  // a constant of an old model
    const auto written = program_.write(*value, tensor);
    if (written) return {};
    return fail(ErrorCode::unreadable, fmt::format("input '{}': {}", onnx_io::printable(input), written.error().message), path_);
  }
  std::vector<std::span<std::byte>> input_memory(std::string_view input) override {
    const auto value = find(input);
    return value ? program_.input_memory(*value) : std::vector<std::span<std::byte>>();
  }
  std::byte* readable_output(std::size_t output) override { return program_.readable_output(output); }
  Result<std::span<const std::byte>> output_memory(std::size_t output) const override { return program_.output_memory(output); }

  std::size_t launches() const override { return program_.plan().launches.size(); }
  Seconds predicted(std::size_t launch) const override { return program_.plan().launches[launch].predicted; }
  std::size_t complete_before(std::size_t output) const override { return cost::complete_before(program_.plan(), output); }
  std::size_t needed_before(std::string_view input) const override {
    const auto value = find(input);
    return value ? cost::needed_before(program_.plan(), *value) : launches();
  }
  Result<void> run(const std::function<void(std::size_t launch)>& before) override {
    if (before) {
      program_.run(before);
    } else {
      program_.run();
    }
    return {};
  }

 private:
  std::optional<ir::ValueId> find(std::string_view input) const {
    const auto found = std::ranges::find(model_.input_names, input);
    if (found == model_.input_names.end()) return std::nullopt;
    return model_.inputs[static_cast<std::size_t>(found - model_.input_names.begin())];
  }

  cost::cpu::Program program_;
  const onnx_io::LiftedModel& model_;
  const std::string path_;
};

}  // namespace

std::unique_ptr<PartEngine> cpu_part(cost::cpu::Program program, const onnx_io::LiftedModel& model, std::string path) {
  return std::make_unique<CpuPart>(std::move(program), model, std::move(path));
}

}  // namespace xflow::execution
