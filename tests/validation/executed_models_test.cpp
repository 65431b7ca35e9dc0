// Real models run on this CPU from end to end, compared with the reference as `xflow check` compares two models: some in the folder that
// XFLOW_TEST_MODELS names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "src/devices/cpu/program.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/check_inputs.h"
#include "src/validation/sizes.h"
#include "tests/devices/expect_computes.h"

namespace xflow::api {
namespace {

class ExecutedModels : public ::testing::TestWithParam<const char*> {
 protected:
  void open(const std::string& path) {
    document_ = onnx_io::Document::open(path).value();
    const onnx_io::LiftedModel model = onnx_io::lift(*document_, arena_).value();
    graph_.outputs.assign(model.graph.outputs.begin(), model.graph.outputs.begin() + static_cast<std::ptrdiff_t>(model.output_count));
    for (std::size_t k = 0; k < model.inputs.size(); ++k) {
      names_.emplace_back(model.input_names[k]);
      values_.push_back(model.inputs[k]);
    }
    for (std::size_t k = 0; k < names_.size(); ++k) inputs_.push_back({names_[k], values_[k]});
    sizes_ = choose_fitting_sizes(arena_, graph_, inputs_, {}).value();
  }

  std::optional<onnx_io::Document> document_;
  ir::Arena arena_;
  ir::Graph graph_;
  std::vector<std::string> names_;
  std::vector<ir::ValueId> values_;
  std::vector<NamedInput> inputs_;
  Sizes sizes_;
};

TEST_P(ExecutedModels, ComputeWhatTheReferenceDoes) {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
  const std::filesystem::path path = std::filesystem::path(folder) / (std::string(GetParam()) + ".onnx");
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  open(path.string());
  const auto valuation = sizes_.valuation();
  const auto device = cost::cpu::open_cpu_device().value();
  cost::Database database = cost::Database::open("", device->info());
  cost::CostModel costs(arena_, *device, database, valuation);
  auto program = cost::cpu::Program::build(*device, arena_, graph_, costs, valuation);
  ASSERT_TRUE(program) << program.error().text();
  const InputSet set = seeded_inputs(arena_, inputs_, sizes_, {}).value();
  eval::Bindings bindings;
  for (const NamedInput& input : inputs_) {
    const eval::Tensor& tensor = set.tensors.at(std::string(input.name));
    bindings.emplace(input.value, tensor);
    ASSERT_TRUE(program->write(input.value, tensor));
  }
  cost::cpu::expect_computes(*program, arena_, graph_, bindings);
}

// Convolutions with residuals and pooling, recurrence, attention with masks and positions, normalisation.
INSTANTIATE_TEST_SUITE_P(Some, ExecutedModels,
                         ::testing::Values("ch_ppocr_mobile_v2.0_cls_infer", "shufflenet_v2_ts", "lstm_unrolled_ts", "nasrnn_ts", "mmoe_ts",
                                           "distilbert_cls_ts", "wav2vec2_dyn"));

}  // namespace
}  // namespace xflow::api
