#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/eval/npz.h"
#include "src/report/report_text.h"
#include "src/report/step_trace.h"
#include "src/support/printable.h"
#include "xflow/run.h"

namespace xflow {
namespace {

constexpr double kToMilliseconds = 1e3;
constexpr int kFirstProcess = 3;  // those of a simulated step are before it, so that both traces can be shown together

std::string milliseconds(Seconds time) { return fmt::format("{:.4f} ms", time.count() * kToMilliseconds); }

std::string part_table(const RunResult& result) {
  std::string text = fmt::format("\n{:>4}  {:<16}{:>7}{:>9}{:>16}{:>16}\n", "part", "device", "nodes", "kernels", "predicted", "median");
  for (std::size_t k = 0; k < result.parts.size(); ++k) {
    const RunPart& part = result.parts[k];
    text += fmt::format("{:>4}  {:<16}{:>7}{:>9}{:>16}{:>16}\n", k, onnx_io::printable(result.devices[part.device]), part.nodes,
                        part.kernels, milliseconds(part.predicted), milliseconds(part.median));
  }
  return text;
}

// The transfers of each directed pair of devices.
std::string transfer_table(const RunResult& result) {
  if (result.transfers.empty()) return {};
  struct Sum {
    std::size_t count = 0;
    std::size_t bytes = 0;
    Seconds median{};
  };
  std::map<std::pair<std::size_t, std::size_t>, Sum> sums;
  for (const RunTransfer& transfer : result.transfers) {
    Sum& sum = sums[{transfer.from, transfer.to}];
    ++sum.count;
    sum.bytes += transfer.bytes;
    sum.median += transfer.median;
  }
  std::string text = fmt::format("\n{:<32}{:>10}{:>14}{:>20}\n", "link", "transfers", "bytes", "sum of medians");
  for (const auto& [pair, sum] : sums) {
    const std::string name =
        fmt::format("{} -> {}", onnx_io::printable(result.devices[pair.first]), onnx_io::printable(result.devices[pair.second]));
    text += fmt::format("{:<32}{:>10}{:>14}{:>20}\n", name, sum.count, bytes_text(sum.bytes), milliseconds(sum.median));
  }
  return text;
}

}  // namespace

std::string RunResult::to_text() const {
  std::string text;
  const auto line = [&](const char* what, const std::string& value) { text += fmt::format("{:<12}{}\n", what, value); };
  line("model", onnx_io::printable(model));
  if (!runner.empty()) line("runner", onnx_io::printable(runner));
  line("processes", processes == 1 ? "1, which runs all parts" : fmt::format("{}, one for each device", processes));
  line("inputs", onnx_io::printable(inputs));
  line("step",
       steps == 1 ? milliseconds(step) : fmt::format("{}, median of {}; the fastest {}", milliseconds(step), steps, milliseconds(fastest)));
  if (simulated)
    line("simulated", fmt::format("{}, {:.2f} of the measured step", milliseconds(*simulated), simulated->count() / step.count()));
  text += part_table(*this) + transfer_table(*this);
  text += '\n';
  for (const RunOutput& output : outputs) line("output", fmt::format("{}: {}", onnx_io::printable(output.name), output.type));
  if (check) text += "\n" + check->to_text();
  return text;
}

std::string RunResult::to_trace() const {
  SimulationResult measured;
  for (const std::string& device : devices) measured.devices.push_back({device, "", 0, 0, {}, 0, 0, 0});
  for (std::size_t k = 0; k < parts.size(); ++k)
    measured.tasks.push_back({fmt::format("part {}", k), false, parts[k].device, parts[k].device, parts[k].start, parts[k].end});
  for (const RunTransfer& transfer : transfers)
    measured.tasks.push_back({transfer.tensor, true, transfer.to, transfer.from, transfer.start, transfer.end});
  std::ranges::stable_sort(measured.tasks, {}, &SimulatedTask::start);
  return trace_of_step(measured, kFirstProcess, "measured ");
}

Result<std::string> RunResult::to_npz() const {
  std::vector<eval::NpzArray> arrays;
  arrays.reserve(outputs.size());
  for (const RunOutput& output : outputs)
    arrays.push_back({output.name, ir::data_type_from_name(output.data_type).value_or(ir::DataType::undefined), output.dims, output.bytes});
  return eval::write_npz(arrays);
}

}  // namespace xflow
