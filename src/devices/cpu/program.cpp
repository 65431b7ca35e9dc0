#include "src/devices/cpu/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <map>
#include <new>
#include <string_view>
#include <unordered_set>

#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"
#include "src/runtime/plan_data.h"

namespace xflow::cost::cpu {
namespace {

using ir::ValueId;

constexpr std::align_val_t kAlignment{64};

bool is_empty(const ops::TensorSpec& tensor) { return std::ranges::find(tensor.dims, 0) != tensor.dims.end(); }

}  // namespace

std::shared_ptr<std::byte> PassingMemory::take(std::size_t bytes) {
  if (memory_ == nullptr || bytes > bytes_) {
    memory_ = std::shared_ptr<std::byte>(new (kAlignment) std::byte[std::max<std::size_t>(bytes, 1)],
                                         [](std::byte* taken) { ::operator delete[](taken, kAlignment); });
    std::memset(memory_.get(), 0, bytes);
    bytes_ = bytes;
  }
  return memory_;
}

void Program::Free::operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }

class Program::Builder {
 public:
  Builder(CpuDevice& device, ir::Arena& arena, const ir::Symbols::Valuation& sizes, const ProgramOptions& options)
      : device_(device),
        arena_(arena),
        options_(options),
        chosen_(options.chosen == nullptr ? own_chosen_ : *options.chosen),
        data_(arena, sizes) {}

  Result<Program> build(Plan plan) {
    program_.device_ = &device_;
    program_.plan_ = std::move(plan);
    device_.use_threads();
    for (std::size_t k = 0; k < program_.plan_.launches.size(); ++k) {
      if (device_.is_stopped()) return fail(ErrorCode::limit, "time is over");
      XFLOW_CHECK(add_kernel(k));
    }
    XFLOW_CHECK(bind());
    for (std::size_t k = 0; k < program_.plan_.buffers.size(); ++k) XFLOW_CHECK(fill(program_.plan_.buffers[k], k));
    for (const Plan::Output& output : program_.plan_.outputs) {
      program_.fixed_.emplace_back();
      if (!arena_.is_constant(output.value)) continue;
      XFLOW_TRY(program_.fixed_.back(), data_.constant(output.value));
    }
    return std::move(program_);
  }

 private:
  static Result<void> check_room(double used, double most) {
    if (used <= most) return {};
    return fail(ErrorCode::limit, fmt::format("running it takes more than {:.3g} GB", most / 1e9));
  }

  Result<void> take(double bytes) {
    used_ += bytes;
    return check_room(used_, options_.most_bytes);
  }

  // Kernels own their tensors until they are bound to the memory of the program.
  Result<void> check_room_of(const ops::KernelSpec& spec) const {
    double bytes = 0;
    for (const std::vector<ops::TensorSpec>* list : {&spec.operands, &spec.results})
      for (const ops::TensorSpec& tensor : *list) bytes += static_cast<double>(bytes_of(tensor, Layout::plain));
    return check_room(used_ + bytes, options_.most_bytes_in_setting_up);
  }

  // A library launch cannot be stopped, so a program that would not finish in time is not started.
  Result<void> take_time(const PlannedLaunch& launch) {
    least_seconds_ += device_.least_time(launch.spec, requests(launch).front()).count() / 1e9;
    const double left = device_.seconds_left();
    if (least_seconds_ <= left) return {};
    return fail(ErrorCode::limit, fmt::format("a run takes at least {:.2g} s, and {:.2g} s are left", least_seconds_, left));
  }

  // The layouts to request so that the built kernel is the timed one.
  std::vector<Layout> requests(const PlannedLaunch& launch) const {
    if (launch.spec.is(ops::KernelFamily::reorder)) return {Layout::any};
    if (!device_.chooses_layout(launch.spec)) return {launch.operand_layout};
    if (launch.operand_layout != launch.result_layout) return {Layout::any};
    return {launch.operand_layout, Layout::any};
  }

  bool fits(const PlannedLaunch& launch, std::size_t index, const CpuKernel& kernel) const {
    const ops::TensorSpec& operand = launch.spec.operands[0];
    if (device_.chooses_layout(launch.spec) && (!same_bytes(operand, kernel.operand_layout(), launch.operand_layout) ||
                                                !same_bytes(launch.spec.results[0], kernel.result_layout(), launch.result_layout)))
      return false;
    const auto lost = kernel.overwritten();
    return !lost || lies_alike(launch, *lost, index);
  }

  // Whether the operand may share the buffer of the result.
  bool lies_alike(const PlannedLaunch& launch, std::size_t operand, std::size_t index) const {
    if (!launch.operands[operand]) return false;
    const Plan& plan = program_.plan_;
    const Buffer& from = plan.buffer(*launch.operands[operand]);
    const Buffer& to = plan.buffer(launch.results[0]);
    return from.tensor.dims == to.tensor.dims && ir::bits(from.tensor.data_type) == ir::bits(to.tensor.data_type) &&
           same_bytes(to.tensor, from.layout, to.layout) && dies_at(plan, index, operand);
  }

  Result<void> add_kernel(std::size_t index) {
    PlannedLaunch& launch = program_.plan_.launches[index];
    program_.kernels_.push_back(nullptr);
    if (std::ranges::all_of(launch.spec.results, is_empty)) return {};
    XFLOW_CHECK(check_room_of(launch.spec));
    XFLOW_CHECK(take_time(launch));
    std::vector<std::unique_ptr<CpuKernel>> kernels;
    std::optional<Error> refusal;
    for (const Layout request : requests(launch)) {
      auto built = device_.build(launch.spec, request);
      if (!built) {
        if (!refusal) refusal = built.error();
        continue;
      }
      for (std::unique_ptr<CpuKernel>& kernel : *built)
        if (fits(launch, index, *kernel)) kernels.push_back(std::move(kernel));
    }
    if (kernels.empty()) {
      if (refusal) return fail(*std::move(refusal));
      return fail(ErrorCode::unsupported,
                  fmt::format("cannot run {} here in the layout in which it was timed", ops::to_string(launch.spec)));
    }
    std::unique_ptr<CpuKernel> kernel = std::move(kernels[quickest(launch, kernels)]);
    if (const auto lost = kernel->overwritten()) {
      put_in_place(program_.plan_, index, *lost);
    } else {
      for (std::size_t k = 0; k < launch.operands.size() && !launch.in_place; ++k) {
        if (kernel->works_in_place(k) && lies_alike(launch, k, index)) put_in_place(program_.plan_, index, k);
      }
    }
    for (std::size_t k = 0; k < launch.operands.size(); ++k) {
      if (launch.operands[k]) continue;
      XFLOW_TRY(const ir::Constant constant, data_.constant(launch.values[k]));
      XFLOW_CHECK(kernel->write_constant(k, constant));
      XFLOW_CHECK(share(*kernel, k));
    }
    // Tensors that are not constant are bound later; free the kernel's own buffers.
    for (std::size_t k = 0; k < launch.operands.size(); ++k)
      if (launch.operands[k]) kernel->bind_operand(k, nullptr);
    for (std::size_t k = 0; k < launch.results.size(); ++k) kernel->bind_result(k, nullptr);
    XFLOW_CHECK(take(static_cast<double>(kernel->scratch_bytes())));
    kernel->stop_when(device_.stop_of_kernels());
    program_.kernels_.back() = std::move(kernel);
    return {};
  }

  // Constants that are packed to the same bytes share memory, so that a cache holds them once, too.
  Result<void> share(CpuKernel& kernel, std::size_t operand) {
    const std::span<std::byte> bytes = kernel.operand_bytes(operand);
    if (bytes.empty()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const auto same = packed_.find(text); same != packed_.end()) {
      // const_cast: the kernel that owns the bytes does not change them.
      kernel.bind_operand(operand, reinterpret_cast<std::byte*>(const_cast<char*>(same->data())));
      return {};
    }
    packed_.insert(text);
    return take(static_cast<double>(bytes.size()));
  }

  // The fastest implementation in a short measurement; the choice is kept for equal kernels.
  std::size_t quickest(const PlannedLaunch& launch, const std::vector<std::unique_ptr<CpuKernel>>& kernels) {
    if (kernels.size() == 1) return 0;
    const std::string text = fmt::format("{}@{}", ops::to_string(launch.spec), name(launch.operand_layout));
    if (const auto known = chosen_.find(text); known != chosen_.end()) {
      const auto same = std::ranges::find_if(kernels, [&](const auto& kernel) { return kernel->implementation() == known->second; });
      if (same != kernels.end()) return static_cast<std::size_t>(same - kernels.begin());
    }
    std::vector<std::function<void()>> runs;
    runs.reserve(kernels.size());
    for (const auto& kernel : kernels) runs.emplace_back([run = kernel.get()] { run->run(); });
    const TimingOptions glance{.sample = Nanoseconds(10e3), .round = {}, .most = {}, .least_rounds = 5, .stop = device_.stop_of_kernels()};
    const std::vector<KernelCost> times = time_interleaved(runs, glance, device_.info().threads == 1);
    if (device_.is_stopped()) return 0;  // the times are meaningless then
    const auto least = std::ranges::min_element(times, {}, &KernelCost::median) - times.begin();
    chosen_.insert_or_assign(text, std::string(kernels[static_cast<std::size_t>(least)]->implementation()));
    return static_cast<std::size_t>(least);
  }

  Result<void> bind() {
    Program& e = program_;
    const DividedPlacement divided = place_divided(e.plan_, CpuKernel::kSlack);
    XFLOW_CHECK(take(static_cast<double>(divided.kept.bytes) + static_cast<double>(divided.passing.bytes)));
    e.kept_.reset(new (kAlignment) std::byte[std::max<std::size_t>(divided.kept.bytes, 1)]);
    std::memset(e.kept_.get(), 0, divided.kept.bytes);
    PassingMemory own;
    e.passing_ = (options_.passing == nullptr ? own : *options_.passing).take(divided.passing.bytes);
    for (std::size_t k = 0; k < e.plan_.buffers.size(); ++k) {
      const Buffer& memory = e.plan_.buffer(e.plan_.buffers[k].memory);
      const auto given = memory.kind == Buffer::Kind::input ? options_.inputs.find(memory.value) : options_.inputs.end();
      if (given != options_.inputs.end()) {
        e.places_.push_back(given->second + e.plan_.buffers[k].offset);
      } else {
        e.places_.push_back(divided.is_kept[k] ? e.kept_.get() + divided.kept.offsets[k] : e.passing_.get() + divided.passing.offsets[k]);
      }
    }
    for (std::size_t k = 0; k < e.plan_.launches.size(); ++k) {
      const PlannedLaunch& launch = e.plan_.launches[k];
      if (e.kernels_[k] == nullptr) continue;
      CpuKernel& kernel = *e.kernels_[k];
      const auto lost = kernel.overwritten();
      for (std::size_t i = 0; i < launch.operands.size(); ++i) {
        if (!launch.operands[i] || lost == i) continue;
        XFLOW_CHECK(check(launch, *launch.operands[i], kernel.operand_bytes(i).size()));
        kernel.bind_operand(i, place_of(*launch.operands[i]));
      }
      for (std::size_t i = 0; i < launch.results.size(); ++i) {
        XFLOW_CHECK(check(launch, launch.results[i], kernel.result_bytes(i).size()));
        kernel.bind_result(i, place_of(launch.results[i]));
      }
    }
    return {};
  }

  Result<void> check(const PlannedLaunch& launch, BufferId buffer, std::size_t bytes) const {
    const Buffer& planned = program_.plan_.buffer(buffer);
    const std::size_t there = bytes_of(planned.tensor, planned.layout);
    if (bytes <= there) return {};
    return fail(ErrorCode::internal,
                fmt::format("{}: a tensor has {} bytes, the kernel takes {}", ops::to_string(launch.spec), there, bytes));
  }

  std::byte* place_of(BufferId id) const { return program_.places_[static_cast<std::size_t>(id)]; }

  Result<void> fill(const Buffer& buffer, std::size_t number) {
    XFLOW_TRY(const std::optional<ir::Constant> written, data_.written(buffer, number));
    if (!written) return {};
    XFLOW_TRY(const auto bytes, written->source->bytes());
    std::ranges::copy(bytes, place_of(static_cast<BufferId>(number)));
    return {};
  }

  CpuDevice& device_;
  ir::Arena& arena_;
  const ProgramOptions& options_;
  Program program_;
  std::map<std::string, std::string> own_chosen_;
  std::map<std::string, std::string>& chosen_;  // implementations, by kernel and layout
  PlanData data_;
  std::unordered_set<std::string_view> packed_;  // constants in the memory of the program's kernels
  double used_ = 0;
  double least_seconds_ = 0;  // of one run
};

Result<Program> Program::build(CpuDevice& device, ir::Arena& arena, const ir::Graph& graph, CostModel& costs,
                               const ir::Symbols::Valuation& sizes, const ProgramOptions& options) {
  XFLOW_TRY(const std::vector<CoveredLaunch> cover, costs.launches(graph));
  return build(device, arena, make_plan(arena, graph, cover, sizes), sizes, options);
}

Result<Program> Program::build(CpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes,
                               const ProgramOptions& options) {
  return Builder(device, arena, sizes, options).build(std::move(plan));
}

Result<void> Program::write(ValueId input, const eval::Tensor& tensor) {
  for (const BufferId id : plan_.inputs) {
    const Buffer& buffer = plan_.buffer(id);
    if (buffer.value != input) continue;
    XFLOW_TRY(const ir::Constant constant, input_for(buffer, tensor));
    XFLOW_TRY(const auto bytes, constant.source->bytes());
    std::ranges::copy(bytes, places_[static_cast<std::size_t>(id)]);
  }
  return {};
}

Program::Times Program::run() {
  device_->use_threads();
  const Clocks begin = now();
  for (const std::unique_ptr<CpuKernel>& kernel : kernels_) {
    if (kernel == nullptr) continue;
    kernel->run();
    if (kernel->was_stopped()) break;
  }
  const Clocks end = now();
  return {end.thread - begin.thread, end.wall - begin.wall};
}

bool Program::was_stopped() const {
  return std::ranges::any_of(kernels_, [](const auto& kernel) { return kernel != nullptr && kernel->was_stopped(); });
}

void Program::run(std::span<Nanoseconds> launches) {
  assert(launches.size() == kernels_.size());
  device_->use_threads();
  const bool thread_time = device_->info().threads == 1;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const Clocks begin = now();
    if (kernels_[k] != nullptr) kernels_[k]->run();
    const Clocks end = now();
    launches[k] = thread_time ? end.thread - begin.thread : end.wall - begin.wall;
  }
}

void Program::run(const std::function<void(std::size_t launch)>& before) {
  device_->use_threads();
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    before(k);
    if (kernels_[k] != nullptr) kernels_[k]->run();
  }
}

std::vector<std::span<std::byte>> Program::input_memory(ValueId input) {
  std::vector<std::span<std::byte>> memory;
  for (const BufferId id : plan_.inputs) {
    const Buffer& buffer = plan_.buffer(id);
    if (buffer.value == input) memory.emplace_back(places_[static_cast<std::size_t>(id)], bytes_of(buffer.tensor, Layout::plain));
  }
  return memory;
}

Result<std::span<const std::byte>> Program::output_memory(std::size_t output) const {
  if (fixed_[output]) return fixed_[output]->source->bytes();
  const auto& id = plan_.outputs[output].buffer;
  if (!id || plan_.buffer(plan_.memory_of(*id)).kind == Buffer::Kind::seeded)
    return fail(ErrorCode::unsupported, fmt::format("output {} is not run", output));
  return std::span<const std::byte>(places_[static_cast<std::size_t>(*id)], bytes_of(plan_.buffer(*id).tensor, Layout::plain));
}

std::byte* Program::readable_output(std::size_t output) const {
  const auto& id = plan_.outputs[output].buffer;
  if (fixed_[output] || !id || plan_.buffer(plan_.memory_of(*id)).kind == Buffer::Kind::seeded) return nullptr;
  std::byte* const place = places_[static_cast<std::size_t>(*id)];
  return reinterpret_cast<std::uintptr_t>(place) % static_cast<std::size_t>(kAlignment) == 0 ? place : nullptr;
}

Result<eval::Tensor> Program::read(std::size_t output) const {
  if (fixed_[output]) return eval::Tensor::of(*fixed_[output]);
  XFLOW_TRY(const std::span<const std::byte> memory, output_memory(output));
  const ops::TensorSpec& tensor = plan_.buffer(*plan_.outputs[output].buffer).tensor;
  return eval::Tensor::of({tensor.data_type, tensor.dims, ir::owned_bytes({memory.begin(), memory.end()})});
}

}  // namespace xflow::cost::cpu
