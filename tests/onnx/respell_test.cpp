// Every operation of a model spelled anew from the IR computes what the model computes: lifting, compositions and spellings agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/onnx/document_writer.h"
#include "src/onnx/lift.h"
#include "src/onnx/lower.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"

namespace xflow::onnx_io {
namespace {

const Fold kNoFold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };

// Writes the model at `path` spelled anew to `target`; nothing is written where every node is opaque.
Result<void> respell(const std::string& path, const std::string& target) {
  XFLOW_TRY(const Document document, Document::open(path));
  ir::Arena arena;
  XFLOW_TRY(const LiftedModel model, lift(document, arena));
  XFLOW_CHECK(ir::verify(arena, model.graph));
  LowerOptions options;
  options.respell = true;
  XFLOW_TRY(const LoweredModel lowered, lower(document, model, arena, model.graph, {}, kNoFold, options));
  // What is left of the document is what xflow does not compute with, and constants.
  std::size_t constants = 0;
  for (const Node& node : document.nodes(GraphId{0}))
    for (const std::string_view name : node.outputs) constants += !name.empty() && arena.is_constant(model.values.at(name)) ? 1 : 0;
  EXPECT_LE(lowered.kept_nodes + lowered.renamed_nodes, model.opaque.size() + constants) << path;
  if (lowered.new_nodes == 0) return {};
  XFLOW_CHECK(write_document(document, lowered.edits, target));
  XFLOW_CHECK(Document::open(target));  // it can be read again
  return {};
}

TEST(Respelling, OfEachModelComputesTheSameInOnnxRuntime) {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
  const testing::TemporaryFolder temporary;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<testing::ModelPair> pairs;
  for (const std::string& path : paths) {
    const std::string target = temporary.file(std::filesystem::path(path).filename().string());
    const auto done = respell(path, target);
    EXPECT_TRUE(done) << path << ": " << done.error().text();
    const std::string inputs = std::filesystem::path(path).replace_extension(".npz").string();
    pairs.push_back({path, target, std::filesystem::exists(inputs) ? inputs : ""});
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

// Models of one operator each, with every operator of ONNX and every attribute: each composition and each spelling has cases here.
TEST(Respelling, OfEachBackendCaseComputesTheSameInOnnxRuntime) {
  const testing::TemporaryFolder temporary;
  std::vector<testing::ModelPair> pairs;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(XFLOW_ONNX_BACKEND_DATA) + "/" + suite)) {
      const std::string path = entry.path().string() + "/model.onnx";
      const std::string target = temporary.file(entry.path().filename().string() + ".onnx");
      const auto done = respell(path, target);
      // Before opset 7 the pointwise operators had another broadcast, which xflow does not write.
      if (!done && done.error().text().find("no ONNX operator of opset 6") != std::string::npos) continue;
      EXPECT_TRUE(done) << path << ": " << done.error().text();
      if (std::filesystem::exists(target)) pairs.push_back({path, target, entry.path().string() + "/test_data_set_0"});
    }
  }
  EXPECT_GT(pairs.size(), 500U);
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.before < b.before; });
  EXPECT_EQ(testing::disagreements(pairs), "");
}

}  // namespace
}  // namespace xflow::onnx_io
