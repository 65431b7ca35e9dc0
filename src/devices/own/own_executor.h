// Runs whole models on a device of the caller, for the gate.
#pragma once

#include <xflow/device.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "src/devices/own/own_device.h"
#include "src/runtime/model_executor.h"

namespace xflow::cost::own {

class OwnExecutor final : public ModelExecutor {
 public:
  OwnExecutor(const std::shared_ptr<xflow::Device>& device, int threads) : device_(device), info_(info_of(*device, threads)) {}

  const DeviceInfo& info() const override { return info_; }
  xflow::Clock clock() const override { return xflow::Clock::wall_time; }
  ProgramId add(ModelSource source) override;
  void remove(ProgramId program) override;
  void add_inputs(std::vector<NamedTensor> inputs) override { inputs_.push_back({std::move(inputs), {}}); }
  Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) override;
  Result<std::vector<NamedTensor>> outputs(ProgramId program, std::size_t sizes) override;
  // Unloads all models; they are loaded again on demand.
  void renew() override;

 private:
  struct Program {
    ModelSource source;
    std::unique_ptr<LoadedModel> loaded;
  };
  struct Inputs {
    std::vector<NamedTensor> tensors;
    std::vector<ModelTensor> made;  // `tensors` for the device, made on demand
  };
  Result<LoadedModel*> load(ProgramId program);
  Result<const std::vector<ModelTensor>*> inputs(std::size_t sizes);

  std::shared_ptr<xflow::Device> device_;
  DeviceInfo info_;
  std::vector<Program> programs_;
  std::vector<Inputs> inputs_;
};

}  // namespace xflow::cost::own
