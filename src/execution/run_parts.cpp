#include "src/execution/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <utility>

#include "src/devices/cpu/cpu_device.h"
#include "src/devices/device_costs.h"
#include "src/execution/check_outputs.h"
#include "src/execution/guarded_run.h"
#include "src/execution/launch_order.h"
#include "src/execution/median.h"
#include "src/execution/model_inputs.h"
#include "src/execution/open_manifest.h"
#include "src/execution/part_program.h"
#include "src/execution/runner_part.h"
#include "src/execution/simulated_step.h"
#include "src/execution/step_clocks.h"
#include "src/execution/step_runner.h"
#include "src/runtime/plan.h"
#include "src/support/printable.h"

namespace xflow::execution {
namespace {

using ops::TensorSpec;

// Types of outputs as a line each, for other processes.
std::string text_of(std::span<const TensorSpec> types) {
  std::string text;
  for (const TensorSpec& type : types) {
    text += std::to_string(static_cast<int>(type.data_type));
    for (const std::int64_t dim : type.dims) text += fmt::format(" {}", dim);
    text += '\n';
  }
  return text;
}

std::vector<TensorSpec> types_of(std::string_view text) {
  std::vector<TensorSpec> types;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    std::vector<std::int64_t> numbers;
    while (!line.empty()) {
      std::int64_t number = 0;
      const char* end = std::from_chars(line.data(), line.data() + line.size(), number).ptr;
      numbers.push_back(number);
      line.remove_prefix(std::min(line.size(), static_cast<std::size_t>(end - line.data()) + 1));
    }
    types.push_back({static_cast<ir::DataType>(numbers[0]), {numbers.begin() + 1, numbers.end()}, false});
  }
  return types;
}

class PartsRun {
 public:
  PartsRun(const std::string& path, const RunOptions& options) : path_(path), options_(options), messages_(options.messages) {}

  Result<RunResult> run() {
    auto manifest = open_manifest(path_, options_.allow_external);
    XFLOW_CHECK(agree(manifest ? Result<void>() : fail(manifest.error())));
    manifest_ = *std::move(manifest);
    XFLOW_CHECK(check_processes());
    if (messages_ != nullptr) messages_->introduce(manifest_.devices[process()]);
    XFLOW_CHECK(agree(open_models()));
    auto inputs = model_inputs(manifest_, programs_, options_);
    XFLOW_CHECK(agree(inputs ? Result<void>() : fail(inputs.error())));
    inputs_ = *std::move(inputs);
    XFLOW_CHECK(fix_parts());
    sent_ = sent_tensors(manifest_);
    XFLOW_CHECK(agree(prepare()));
    share_completions();
    XFLOW_CHECK(agree(build()));
    StepRunner steps(manifest_, programs_, messages_);
    XFLOW_CHECK(agree(steps.bind()));
    if (runner_ != nullptr) XFLOW_CHECK(time_parts(steps));
    std::vector<StepTimes> times;
    for (int k = 0; k < options_.warm_ups + options_.repeats; ++k) {
      XFLOW_TRY(StepTimes own, step_of(steps));
      if (k >= options_.warm_ups) times.push_back(std::move(own));
    }
    tell(RunPhase::preparing);
    share_times(steps, times);
    XFLOW_CHECK(gather_outputs(steps));
    return finish(steps, times);
  }

 private:
  std::size_t process() const { return messages_ == nullptr ? 0 : messages_->process(); }
  bool is_own(std::size_t part) const { return messages_ == nullptr || manifest_.parts[part].device == process(); }
  void tell(RunPhase phase) {
    if (messages_ != nullptr) messages_->tell(phase, kNoPart, Seconds(0));
  }

  // One step. The other processes wait for this one, so that an error of it ends all.
  Result<StepTimes> step_of(StepRunner& steps) {
    auto times = steps.run();
    if (!times && messages_ != nullptr) messages_->abort(times.error());
    return times;
  }

  // Runners know their times after a step.
  Result<void> time_parts(StepRunner& steps) {
    XFLOW_CHECK(step_of(steps));
    tell(RunPhase::preparing);
    Result<void> timed;
    for (std::size_t k = 0; k < programs_.size() && timed; ++k)
      if (is_own(k)) timed = programs_[k]->engine().time();
    return agree(timed);
  }

  // The error of the first process that has one, in all of them.
  Result<void> agree(const Result<void>& own) {
    if (messages_ == nullptr || messages_->processes() == 1) return own;
    for (std::size_t from = 0; from < messages_->processes(); ++from) {
      std::string text;
      if (from == process() && !own)
        text = std::string(1, static_cast<char>('A' + static_cast<int>(own.error().code))) + own.error().where + '\0' + own.error().message;
      text = messages_->broadcast(from, text);
      if (text.empty()) continue;
      const std::size_t end = text.find('\0');
      return fail(static_cast<ErrorCode>(text[0] - 'A'), text.substr(end + 1), text.substr(1, end - 1));
    }
    return {};
  }

  Result<void> check_processes() const {
    const std::size_t devices = manifest_.devices.size();
    if (messages_ == nullptr || messages_->processes() == devices) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("the parts are for {} device{} ({}), but there are {} processes; start {}, or one without mpirun", devices,
                            devices == 1 ? "" : "s", onnx_io::printable(fmt::format("{}", fmt::join(manifest_.devices, ", "))),
                            messages_->processes(), devices),
                path_);
  }

  // The parts of this process, and those whose inputs say which inputs the model has.
  Result<void> open_models() {
    for (std::size_t k = 0; k < manifest_.parts.size(); ++k) {
      programs_.emplace_back();
      const bool reads_model = std::ranges::any_of(manifest_.parts[k].inputs, [](const PartTensor& tensor) { return !tensor.part; });
      if (!is_own(k) && !reads_model) continue;
      XFLOW_TRY(programs_[k], PartProgram::open(manifest_.parts[k].file, options_.allow_external));
    }
    return {};
  }

  // Sizes pass from part to part before anything runs.
  Result<void> fix_parts() {
    for (std::size_t k = 0; k < manifest_.parts.size(); ++k) {
      const Result<void> own = is_own(k) ? fix_part(k) : Result<void>();
      const std::size_t owner = messages_ == nullptr ? 0 : manifest_.parts[k].device;
      XFLOW_CHECK(agree(own));
      std::string text = is_own(k) ? text_of(programs_[k]->types()) : std::string();
      if (messages_ != nullptr) text = messages_->broadcast(owner, text);
      types_.push_back(types_of(text));
    }
    return {};
  }

  TensorSpec type_of(const PartTensor& tensor) const {
    const auto& outputs = manifest_.parts[*tensor.part].outputs;
    return types_[*tensor.part][static_cast<std::size_t>(std::ranges::find(outputs, tensor.name) - outputs.begin())];
  }

  Result<void> fix_part(std::size_t k) {
    std::vector<InputShape> shapes;
    for (const PartTensor& tensor : manifest_.parts[k].inputs) {
      if (tensor.part) {
        shapes.push_back({tensor.name, type_of(tensor).dims});
      } else if (const auto given = inputs_.tensors.find(tensor.name); given != inputs_.tensors.end()) {
        shapes.push_back({tensor.name, given->second.dims});
      }
    }
    const auto fixed = programs_[k]->fix(shapes, !options_.runner.empty());
    if (fixed) {
      if (programs_[k]->types().size() == manifest_.parts[k].outputs.size()) return {};
      return fail(ErrorCode::unreadable, "the outputs are not those of the manifest", manifest_.parts[k].file);
    }
    // Sizes of files of inputs are no option of the caller.
    const Error& error = fixed.error();
    const bool is_of_files = error.code == ErrorCode::invalid_argument && !options_.inputs.empty();
    return fail(is_of_files ? ErrorCode::unreadable : error.code, error.message,
                error.where.empty() ? manifest_.parts[k].file : error.where);
  }

  // Loads the parts in the runner, or selects their kernels.
  Result<void> prepare() {
    if (!options_.runner.empty()) return load_parts();
    XFLOW_CHECK(open_device());
    for (std::size_t k = 0; k < programs_.size(); ++k)
      if (is_own(k)) XFLOW_CHECK(programs_[k]->cover(*costs_.cpu, *costs_.database));
    costs_.database->flush();
    return {};
  }

  // By when a part has completed a tensor that it sends, readers of the tensor order their kernels.
  void share_completions() {
    if (messages_ == nullptr || runner_ != nullptr) return;
    for (const SentTensor& tensor : sent_) {
      const PartProgram* source = is_own(tensor.source) ? programs_[tensor.source].get() : nullptr;
      complete_.push_back(source == nullptr ? -1 : source->complete_after(source->position_of_output(tensor.name)).count());
    }
    complete(complete_);
  }

  Result<void> build_programs() {
    for (std::size_t k = 0; k < programs_.size(); ++k) {
      if (!is_own(k)) continue;
      PartProgram::Surroundings around;
      around.passing = &passing_;
      if (messages_ != nullptr) {
        around.arrivals = arrivals_of(manifest_, k, sent_, complete_);
        for (const SentTensor& tensor : sent_)
          if (tensor.source == k) around.sent.emplace_back(tensor.name);
      }
      for (const PartTensor& tensor : manifest_.parts[k].inputs) {
        if (!tensor.part || !is_own(*tensor.part)) continue;
        const PartProgram& source = *programs_[*tensor.part];
        std::byte* const memory = source.engine().readable_output(source.position_of_output(tensor.name));
        if (memory != nullptr) around.inputs.emplace(tensor.name, memory);
      }
      XFLOW_CHECK(programs_[k]->build(*costs_.cpu, around));
    }
    return {};
  }

  Result<void> build() {
    if (options_.runner.empty()) XFLOW_CHECK(build_programs());
    for (std::size_t k = 0; k < programs_.size(); ++k) {
      if (!is_own(k)) continue;
      for (const PartTensor& tensor : manifest_.parts[k].inputs) {
        const auto given = inputs_.tensors.find(tensor.name);
        if (tensor.part || given == inputs_.tensors.end()) continue;
        if (runner_ != nullptr && tensor.has_default)
          return fail(ErrorCode::unsupported,
                      fmt::format("input '{}' has a default, which a runner may keep; give no values for it, or run without a runner",
                                  onnx_io::printable(tensor.name)),
                      manifest_.parts[k].file);
        XFLOW_CHECK(programs_[k]->engine().write(tensor.name, given->second));
      }
    }
    return {};
  }

  Result<void> open_device() {
    OptimizeOptions device;
    device.warning = options_.warning;
    device.device.name = "cpu";
    device.device.threads = 1;
    XFLOW_CHECK(costs_.open(device, [this] {
      std::size_t bytes = 0;
      for (std::size_t k = 0; k < programs_.size(); ++k) bytes += is_own(k) ? programs_[k]->bytes_of_run() : 0;
      return bytes;
    }));
    costs_.database =
        std::make_shared<cost::Database>(cost::Database::open(options_.cost_database, costs_.device().info(), options_.warning));
    return {};
  }

  Result<void> load_parts() {
    auto runner = cost::runner::Runner::start({options_.runner, 1, kFirstPatience});
    if (!runner) return fail(runner.error().code, "the runner: " + onnx_io::printable(runner.error().message), runner.error().where);
    runner_ = *std::move(runner);
    result_.runner = fmt::format("{}, {}", runner_->info().library, runner_->info().model);
    for (std::size_t k = 0; k < programs_.size(); ++k)
      if (is_own(k)) XFLOW_CHECK(programs_[k]->load(*runner_, static_cast<std::uint32_t>(k)));
    return {};
  }

  // Completes the times of this process by those of the others.
  void share_times(const StepRunner& steps, std::vector<StepTimes>& times) {
    const std::size_t parts = manifest_.parts.size();
    // Of each part: kernels, predicted seconds.
    for (std::size_t k = 0; k < parts; ++k) {
      kernels_.push_back(is_own(k) ? 0 : -1);
      predicted_.push_back(is_own(k) ? 0 : -1);
      if (!is_own(k)) continue;
      const PartEngine& engine = programs_[k]->engine();
      kernels_.back() = static_cast<double>(engine.launches());
      predicted_.back() = engine.predicted_until(engine.launches()).count();
    }
    complete_.clear();
    for (std::size_t k = 0; k < sent_.size(); ++k) {
      bytes_.push_back(steps.bytes_of(k) == 0 ? -1 : static_cast<double>(steps.bytes_of(k)));
      const PartProgram* source = is_own(sent_[k].source) ? programs_[sent_[k].source].get() : nullptr;
      const PartProgram* reader = is_own(sent_[k].reader) ? programs_[sent_[k].reader].get() : nullptr;
      complete_.push_back(source == nullptr ? -1 : source->engine().complete_after(source->position_of_output(sent_[k].name)).count());
      needed_.push_back(reader == nullptr ? -1 : reader->engine().needed_after(sent_[k].name).count());
    }
    if (messages_ == nullptr) return;
    std::vector<std::vector<double>*> all = {&kernels_, &predicted_, &bytes_, &complete_, &needed_};
    for (StepTimes& step : times)
      all.insert(all.end(), {&step.begins, &step.part_starts, &step.part_ends, &step.part_waits, &step.sent, &step.arrived});
    for (std::vector<double>* list : all) complete(*list);
    align(steps, times);
  }

  // Counts the times of all processes from the begin of the first of them.
  void align(const StepRunner& steps, std::vector<StepTimes>& times) {
    std::vector<std::string> clocks(messages_->processes());
    for (std::size_t from = 0; from < clocks.size(); ++from) clocks[from] = messages_->broadcast(from, steady_clock_name());
    std::vector<std::vector<double>> begins(times.size());
    std::ranges::transform(times, begins.begin(), &StepTimes::begins);
    const std::vector<std::vector<double>> delays = begins_of_steps(clocks, begins);
    for (std::size_t k = 0; k < times.size(); ++k) times[k].delay(manifest_, steps.sent(), delays[k]);
  }

  void complete(std::vector<double>& list) {
    if (list.empty()) return;
    const std::string own(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(double));
    for (std::size_t from = 0; from < messages_->processes(); ++from) {
      const std::string text = messages_->broadcast(from, own);
      for (std::size_t k = 0; k < list.size(); ++k) {
        double value = 0;
        std::memcpy(&value, text.data() + k * sizeof(double), sizeof(double));
        if (value >= 0) list[k] = value;
      }
    }
  }

  Result<void> gather_outputs(StepRunner& steps) {
    std::vector<std::size_t> transfers;
    for (std::size_t k = 0; k < manifest_.outputs.size(); ++k) {
      const PartTensor& tensor = manifest_.outputs[k];
      if (!tensor.part) {
        XFLOW_CHECK(agree(add_input(tensor)));
        continue;
      }
      const TensorSpec spec = type_of(tensor);
      RunOutput output = described(tensor.name, spec);
      const bool is_own_part = is_own(*tensor.part);
      const int tag = static_cast<int>(steps.sent().size() + k);
      std::span<const std::byte> memory;
      if (is_own_part) {
        PartProgram& program = *programs_[*tensor.part];
        XFLOW_TRY(memory, program.engine().output_memory(program.position_of_output(tensor.name)));
      }
      if (process() != 0) {
        if (is_own_part) transfers.push_back(messages_->send(0, tag, memory.data(), memory.size()));
        continue;
      }
      if (is_own_part) {
        output.bytes.assign(reinterpret_cast<const char*>(memory.data()), memory.size());
      } else {
        output.bytes.resize(cost::bytes_of(spec, cost::Layout::plain));
        steps.wait(messages_->receive(manifest_.parts[*tensor.part].device, tag, reinterpret_cast<std::byte*>(output.bytes.data()),
                                      output.bytes.size()),
                   *tensor.part);
      }
      result_.outputs.push_back(std::move(output));
    }
    for (const std::size_t transfer : transfers) steps.wait(transfer, kNoPart);
    tell(RunPhase::preparing);
    return {};
  }

  static RunOutput described(const std::string& name, const TensorSpec& spec) {
    RunOutput output;
    output.name = name;
    output.data_type = ir::name(spec.data_type);
    output.dims = spec.dims;
    output.type = fmt::format("{}[{}]", output.data_type, fmt::join(spec.dims, ","));
    return output;
  }

  // An output of the model that is one of its inputs.
  Result<void> add_input(const PartTensor& tensor) {
    const auto given = inputs_.tensors.find(tensor.name);
    if (given == inputs_.tensors.end())
      return fail(ErrorCode::unsupported, fmt::format("output '{}' is an input that no part reads; give its values with option 'inputs'",
                                                      onnx_io::printable(tensor.name)));
    XFLOW_TRY(const ir::Constant value, eval::to_constant(given->second));
    XFLOW_TRY(const auto bytes, value.source->bytes());
    RunOutput output = described(tensor.name, {value.data_type, value.dims, false});
    output.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    result_.outputs.push_back(std::move(output));
    return {};
  }

  Result<RunResult> finish(const StepRunner& steps, const std::vector<StepTimes>& times) {
    result_.model = path_;
    result_.devices = manifest_.devices;
    result_.processes = messages_ == nullptr ? 1 : messages_->processes();
    result_.inputs = inputs_.label;
    result_.steps = times.size();
    add_times(steps, times);
    if (!options_.cluster.empty()) {
      auto simulated = simulated_step(options_.cluster, manifest_, result_.parts, {sent_, bytes_, complete_, needed_});
      XFLOW_CHECK(agree(simulated ? Result<void>() : fail(simulated.error())));
      result_.simulated = *simulated;
    }
    Result<void> checked;
    if (!options_.check_against.empty() && process() == 0) {
      auto check = check_outputs(options_.check_against, inputs_, result_.outputs, options_);
      if (check) {
        result_.check = *std::move(check);
      } else {
        checked = fail(check.error());
      }
    }
    XFLOW_CHECK(agree(checked));
    if (process() != 0) result_.outputs.clear();
    return std::move(result_);
  }

  void add_times(const StepRunner& steps, const std::vector<StepTimes>& times) {
    std::vector<std::pair<double, std::size_t>> lengths;
    for (std::size_t k = 0; k < times.size(); ++k) {
      double end = 0;
      for (const auto* list : {&times[k].part_ends, &times[k].arrived}) {
        for (const double one : *list) end = std::max(end, one);
      }
      lengths.emplace_back(end, k);
    }
    std::ranges::sort(lengths);
    const auto [length, chosen] = lengths[(lengths.size() - 1) / 2];
    result_.step = Seconds(length);
    result_.fastest = Seconds(lengths[0].first);
    const StepTimes& step = times[chosen];
    const auto median = [&](std::vector<double> StepTimes::*starts, std::vector<double> StepTimes::*ends, std::size_t k) {
      std::vector<double> all;
      all.reserve(times.size());
      for (const StepTimes& one : times) all.push_back((one.*ends)[k] - (one.*starts)[k]);
      return Seconds(median_of(std::move(all)));
    };
    const auto median_of_part = [&](std::size_t k) {
      std::vector<double> all;
      all.reserve(times.size());
      for (const StepTimes& one : times) all.push_back(one.part_ends[k] - one.part_starts[k] - one.part_waits[k]);
      return Seconds(median_of(std::move(all)));
    };
    for (std::size_t k = 0; k < manifest_.parts.size(); ++k) {
      result_.parts.push_back({manifest_.parts[k].device, manifest_.parts[k].nodes, static_cast<std::size_t>(kernels_[k]),
                               Seconds(predicted_[k]), median_of_part(k), Seconds(step.part_starts[k]), Seconds(step.part_ends[k])});
    }
    for (std::size_t k = 0; k < steps.sent().size() && messages_ != nullptr; ++k) {
      const SentTensor& sent = steps.sent()[k];
      result_.transfers.push_back({sent.name, sent.from, sent.to, static_cast<std::size_t>(std::max(bytes_[k], 0.0)),
                                   median(&StepTimes::sent, &StepTimes::arrived, k), Seconds(step.sent[k]), Seconds(step.arrived[k])});
    }
  }

  const std::string& path_;
  const RunOptions& options_;
  RunMessages* messages_;
  PartManifest manifest_;
  api::DeviceCosts costs_;                        // before the programs, whose kernels are of its device
  std::unique_ptr<cost::runner::Runner> runner_;  // likewise
  cost::cpu::PassingMemory passing_;
  std::vector<std::unique_ptr<PartProgram>> programs_;
  api::InputSet inputs_;
  std::vector<SentTensor> sent_;
  std::vector<std::vector<TensorSpec>> types_;  // by part, of its outputs
  std::vector<double> kernels_;                 // by part
  std::vector<double> predicted_;               // by part
  std::vector<double> bytes_;                   // by sent tensor
  std::vector<double> complete_;                // by sent tensor: SentTensors::complete
  std::vector<double> needed_;                  // by sent tensor: SentTensors::needed
  RunResult result_;
};

}  // namespace

Result<RunResult> run_parts(const std::string& path, const RunOptions& options) {
  if (options.repeats < 1 || options.warm_ups < 0)
    return fail(ErrorCode::invalid_argument, "expected at least one step, and no negative number of warm-up steps");
  return guarded_run<RunResult>(options.messages, [&] { return PartsRun(path, options).run(); });
}

}  // namespace xflow::execution
