#include "src/devices/gpu/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "src/runtime/plan_data.h"

namespace xflow::cost::gpu {
namespace {

// Reorders the elements of a plain tensor to channels last.
std::vector<std::byte> channels_last(const ops::TensorSpec& tensor, std::span<const std::byte> plain) {
  const auto outer = static_cast<std::size_t>(tensor.dims[0]);
  const auto channels = static_cast<std::size_t>(tensor.dims[1]);
  std::size_t spatial = 1;
  for (std::size_t k = 2; k < tensor.dims.size(); ++k) spatial *= static_cast<std::size_t>(tensor.dims[k]);
  const std::size_t size = plain.size() / std::max<std::size_t>(outer * channels * spatial, 1);
  std::vector<std::byte> result(plain.size());
  for (std::size_t n = 0; n < outer; ++n)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t s = 0; s < spatial; ++s)
        std::memcpy(&result[((n * spatial + s) * channels + c) * size], &plain[((n * channels + c) * spatial + s) * size], size);
  return result;
}

}  // namespace

class GpuProgram::Builder {
 public:
  Builder(GpuDevice& device, ir::Arena& arena, const ir::Symbols::Valuation& sizes) : device_(device), arena_(arena), data_(arena, sizes) {}

  Result<GpuProgram> build(Plan plan) {
    program_.gpu_ = &device_.gpu();
    program_.plan_ = std::move(plan);
    for (const PlannedLaunch& launch : program_.plan_.launches) {
      if (device_.is_stopped()) return fail(ErrorCode::limit, "time is over");
      XFLOW_CHECK(add_kernel(launch));
    }
    XFLOW_CHECK(place_all());
    XFLOW_CHECK(write_all());
    XFLOW_TRY(program_.recorded_, device_.gpu().record(launches()));
    for (const Plan::Output& output : program_.plan_.outputs) {
      program_.fixed_.emplace_back();
      if (!arena_.is_constant(output.value)) continue;
      XFLOW_TRY(ir::Constant constant, data_.constant(output.value));
      program_.fixed_.back() = eval::Tensor::of(std::move(constant));
    }
    return std::move(program_);
  }

 private:
  Result<void> add_kernel(const PlannedLaunch& launch) {
    program_.kernels_.push_back(nullptr);
    if (computes_nothing(launch.spec)) return {};
    XFLOW_TRY(program_.kernels_.back(), device_.quickest(launch.spec, launch.operand_layout));
    return {};
  }

  // Allocates one block for run-time tensors, constants, and workspace and scratch memory. Kernels share the
  // latter because they run one after the other.
  Result<void> place_all() {
    const Placement placement = place(program_.plan_, 0, kAlignment);
    program_.offsets_ = placement.offsets;
    std::size_t next = aligned(placement.bytes);
    std::size_t shared = 0;
    for (std::size_t k = 0; k < program_.kernels_.size(); ++k) {
      if (program_.kernels_[k] == nullptr) continue;
      const PlannedLaunch& launch = program_.plan_.launches[k];
      for (std::size_t i = 0; i < launch.operands.size(); ++i) {
        if (launch.operands[i] || constants_.contains({launch.values[i], launch.operand_layout})) continue;
        constants_[{launch.values[i], launch.operand_layout}] = next;
        XFLOW_TRY(const ir::Constant constant, data_.constant(launch.values[i]));
        next += aligned(bytes_of({constant.data_type, constant.dims, true}, Layout::plain));
      }
      std::size_t own = aligned(program_.kernels_[k]->workspace_bytes());
      for (const std::size_t bytes : program_.kernels_[k]->scratch()) own += aligned(bytes);
      shared = std::max(shared, own);
    }
    shared_ = next;
    program_.bytes_ = next + shared;
    XFLOW_TRY(program_.memory_, Block::allocate(device_.gpu(), std::max<std::size_t>(program_.bytes_, 1)));
    return {};
  }

  Address at(std::size_t offset) const { return program_.memory_->address() + offset; }
  Address place_of(BufferId id) const { return at(program_.offsets_[static_cast<std::size_t>(id)]); }

  Result<void> write_constant(std::size_t offset, const ir::Constant& constant, Layout layout) {
    XFLOW_TRY(const auto bytes, constant.source->bytes());
    const ops::TensorSpec tensor{constant.data_type, constant.dims, true};
    if (!has_layouts(tensor) || same_bytes(tensor, Layout::plain, layout)) return device_.gpu().write(at(offset), bytes);
    return device_.gpu().write(at(offset), channels_last(tensor, bytes));
  }

  Result<void> write_all() {
    const std::vector<std::byte> zeros(std::min<std::size_t>(program_.bytes_, std::size_t{16} << 20U));
    for (std::size_t done = 0; done < program_.bytes_; done += zeros.size())
      XFLOW_CHECK(device_.gpu().write(at(done), std::span(zeros).first(std::min(zeros.size(), program_.bytes_ - done))));
    for (const auto& [key, offset] : constants_) {
      XFLOW_TRY(const ir::Constant constant, data_.constant(key.first));
      XFLOW_CHECK(write_constant(offset, constant, key.second));
    }
    for (std::size_t k = 0; k < program_.plan_.buffers.size(); ++k) {
      XFLOW_TRY(const std::optional<ir::Constant> written, data_.written(program_.plan_.buffers[k], k));
      if (written) XFLOW_CHECK(write_constant(program_.offsets_[k], *written, program_.plan_.buffers[k].layout));
    }
    return {};
  }

  std::vector<Launch> launches() const {
    std::vector<Launch> made;
    for (std::size_t k = 0; k < program_.kernels_.size(); ++k) {
      Ready* const kernel = program_.kernels_[k].get();
      if (kernel == nullptr) continue;
      const PlannedLaunch& planned = program_.plan_.launches[k];
      Launch& launch = made.emplace_back();
      launch.kernel = kernel;
      for (std::size_t i = 0; i < planned.operands.size(); ++i)
        launch.operands.push_back(planned.operands[i] ? place_of(*planned.operands[i])
                                                      : at(constants_.at({planned.values[i], planned.operand_layout})));
      for (const BufferId result : planned.results) launch.results.push_back(place_of(result));
      std::size_t next = shared_;
      launch.workspace = at(next);
      next += aligned(kernel->workspace_bytes());
      for (const std::size_t bytes : kernel->scratch()) {
        launch.scratch.push_back(at(next));
        next += aligned(bytes);
      }
    }
    return made;
  }

  GpuDevice& device_;
  ir::Arena& arena_;
  PlanData data_;
  GpuProgram program_;
  std::map<std::pair<ir::ValueId, Layout>, std::size_t> constants_;  // offsets in the block
  std::size_t shared_ = 0;
};

Result<GpuProgram> GpuProgram::build(GpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes) {
  return Builder(device, arena, sizes).build(std::move(plan));
}

Result<void> GpuProgram::write(ir::ValueId input, const eval::Tensor& tensor) {
  for (const BufferId id : plan_.inputs) {
    const Buffer& buffer = plan_.buffer(id);
    if (buffer.value != input) continue;
    XFLOW_TRY(const ir::Constant constant, input_for(buffer, tensor));
    XFLOW_TRY(const auto bytes, constant.source->bytes());
    XFLOW_CHECK(gpu_->write(memory_->address() + offsets_[static_cast<std::size_t>(id)], bytes));
  }
  return {};
}

Result<eval::Tensor> GpuProgram::read(std::size_t output) const {
  if (fixed_[output]) return *fixed_[output];
  const auto& id = plan_.outputs[output].buffer;
  if (!id || plan_.buffer(plan_.memory_of(*id)).kind == Buffer::Kind::seeded)
    return fail(ErrorCode::unsupported, fmt::format("output {} is not run", output));
  const ops::TensorSpec& tensor = plan_.buffer(*id).tensor;
  std::vector<std::byte> bytes(bytes_of(tensor, Layout::plain));
  XFLOW_CHECK(gpu_->read(memory_->address() + offsets_[static_cast<std::size_t>(*id)], bytes));
  return eval::Tensor::of({tensor.data_type, tensor.dims, ir::owned_bytes(std::move(bytes))});
}

Result<Nanoseconds> GpuProgram::run(int repeats) { return gpu_->run(*recorded_, repeats); }

std::string_view GpuProgram::implementation(std::size_t launch) const {
  return kernels_[launch] == nullptr ? std::string_view() : kernels_[launch]->implementation();
}

Result<RunTimes> GpuExecutor::run(ProgramId id, std::size_t sizes, int repeats) {
  XFLOW_TRY(GpuProgram* const graph, ready(id, sizes));
  XFLOW_TRY(const Nanoseconds time, graph->run(repeats));
  return RunTimes{time, std::nullopt};
}

Result<void> GpuProgram::run_once() {
  XFLOW_CHECK(run());
  return {};
}

Result<GpuProgram> GpuRunner::build(ir::Arena& arena, const SizedPlan& plan, double /*most_bytes*/) {
  return GpuProgram::build(device(), arena, *plan.plan, plan.sizes);
}

std::shared_ptr<GraphRunner> GpuDevice::graph_runner() { return std::make_shared<GpuRunner>(*this); }

}  // namespace xflow::cost::gpu
