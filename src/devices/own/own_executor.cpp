#include "src/devices/own/own_executor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "src/ir/constant.h"
#include "src/ir/data_type_from_number.h"

namespace xflow::cost::own {
namespace {

Result<ModelTensor> model_tensor(const NamedTensor& named) {
  XFLOW_TRY(const ir::Constant constant, eval::to_constant(named.tensor));
  XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
  return ModelTensor{
      named.name, static_cast<xflow::DataType>(static_cast<std::uint8_t>(constant.data_type)), constant.dims, {bytes.begin(), bytes.end()}};
}

Result<NamedTensor> named_tensor(ModelTensor tensor) {
  const ir::DataType type = ir::data_type_from_number(static_cast<std::int64_t>(tensor.data_type));
  std::uint64_t elements = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) return fail(ErrorCode::internal, fmt::format("output '{}' has a dimension of {}", tensor.name, dim));
    elements *= static_cast<std::uint64_t>(dim);
  }
  const std::uint64_t expected = ir::storage_bytes(type, elements);
  if (tensor.bytes.size() != expected)
    return fail(ErrorCode::internal, fmt::format("output '{}' has {} bytes, expected {}", tensor.name, tensor.bytes.size(), expected));
  return NamedTensor{std::move(tensor.name),
                     eval::Tensor::of(ir::Constant{type, std::move(tensor.dims), ir::owned_bytes(std::move(tensor.bytes))})};
}

}  // namespace

ProgramId OwnExecutor::add(ModelSource source) {
  programs_.push_back({std::move(source), nullptr});
  return static_cast<ProgramId>(programs_.size() - 1);
}

void OwnExecutor::remove(ProgramId program) { programs_[static_cast<std::size_t>(program)] = {}; }

void OwnExecutor::renew() {
  for (Program& program : programs_) program.loaded.reset();
}

Result<LoadedModel*> OwnExecutor::load(ProgramId program) {
  Program& wanted = programs_[static_cast<std::size_t>(program)];
  if (wanted.loaded == nullptr) {
    XFLOW_TRY(wanted.loaded, device_->load(wanted.source.bytes, wanted.source.path));
    if (wanted.loaded == nullptr) return fail(ErrorCode::internal, fmt::format("device '{}' loaded no model", info_.model));
  }
  return wanted.loaded.get();
}

Result<const std::vector<ModelTensor>*> OwnExecutor::inputs(std::size_t sizes) {
  Inputs& wanted = inputs_[sizes];
  if (wanted.made.size() != wanted.tensors.size()) {
    std::vector<ModelTensor> made;
    for (const NamedTensor& tensor : wanted.tensors) {
      XFLOW_TRY(ModelTensor one, model_tensor(tensor));
      made.push_back(std::move(one));
    }
    wanted.made = std::move(made);
  }
  return &wanted.made;
}

Result<RunTimes> OwnExecutor::run(ProgramId program, std::size_t sizes, int repeats) {
  XFLOW_TRY(LoadedModel* const model, load(program));
  XFLOW_TRY(const std::vector<ModelTensor>* const given, inputs(sizes));
  XFLOW_TRY(const xflow::Nanoseconds time, model->time(*given, repeats));
  if (!std::isfinite(time.count()) || time.count() < 0)
    return fail(ErrorCode::internal, fmt::format("device '{}' says that a run takes {} ns", info_.model, time.count()));
  RunTimes times;
  times.time = time;
  return times;
}

Result<std::vector<NamedTensor>> OwnExecutor::outputs(ProgramId program, std::size_t sizes) {
  XFLOW_TRY(LoadedModel* const model, load(program));
  XFLOW_TRY(const std::vector<ModelTensor>* const given, inputs(sizes));
  XFLOW_TRY(std::vector<ModelTensor> made, model->outputs(*given));
  std::vector<NamedTensor> results;
  for (ModelTensor& tensor : made) {
    XFLOW_TRY(NamedTensor one, named_tensor(std::move(tensor)));
    results.push_back(std::move(one));
  }
  return results;
}

}  // namespace xflow::cost::own
