// Real models in which random values were replaced by equal ones: what is lowered computes the same in ONNX Runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "src/eval/evaluate.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::Rewritten;

// An equal value, bit for bit.
ir::ValueId equal_value(Rewritten& model, ir::ValueId v, std::mt19937& random) {
  const ir::TensorType type = model.arena().type(v);
  const std::size_t kind = std::uniform_int_distribution<std::size_t>(0, 2)(random);
  if (kind == 0 || type.rank() < 2) return model.op("neg", {model.op("neg", {v})});
  if (kind == 1) {
    std::vector<ir::Poly> perm;
    for (std::size_t k = 0; k < type.rank(); ++k) perm.emplace_back(static_cast<std::int64_t>(k));
    std::swap(perm[0], perm[1]);
    const ir::Attributes attributes{{"perm", perm}};
    return model.op("transpose", {model.op("transpose", {v}, attributes)}, attributes);
  }
  const ir::ValueId flat = model.op("reshape", {v}, {{"shape", std::vector<ir::Poly>{ir::element_count(type.shape)}}});
  return model.op("reshape", {flat}, {{"shape", type.shape}});
}

// Replaces about one in `one_in` of the floating values that operations compute, those inside compositions as well.
void replace_some(Rewritten& model, std::mt19937& random, std::size_t one_in) {
  ir::ValueMap replacements;
  for (const ir::NodeId id : ir::topological_order(model.arena(), model.graph())) {
    const ir::Node& node = model.arena().node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const bool chosen = std::uniform_int_distribution<std::size_t>(0, one_in - 1)(random) == 0;
      if (chosen && node.outputs[k].data_type == ir::DataType::float32)
        replacements.emplace(ir::ValueId{id, k}, equal_value(model, {id, k}, random));
    }
  }
  model.replace_all(std::move(replacements));
}

TEST(Lowering, OfEqualValuesInRealModelsComputesTheSameInOnnxRuntime) {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
  const testing::TemporaryFolder temporary;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<testing::ModelPair> pairs;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string inputs = std::filesystem::path(path).replace_extension(".npz").string();
    std::mt19937 random(static_cast<std::uint32_t>(pairs.size()));
    for (const std::size_t one_in : {30U, 4U}) {
      Rewritten model(testing::read_all(path));
      model.fold = [&](ir::ValueId v) { return eval::fold(model.arena(), v); };
      replace_some(model, random, one_in);
      replace_some(model, random, one_in);
      const std::string name = std::to_string(one_in) + std::filesystem::path(path).filename().string();
      pairs.push_back({path, temporary.write(name, model.bytes()), std::filesystem::exists(inputs) ? inputs : ""});
      const Document written = testing::parsed(model.bytes());
      EXPECT_TRUE(written.main().sorted);
    }
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

}  // namespace
}  // namespace xflow::onnx_io
