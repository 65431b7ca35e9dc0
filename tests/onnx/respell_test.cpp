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

// Writes the model at `path` spelled anew to `target`.
void respell(const std::string& path, const std::string& target) {
  SCOPED_TRACE(path);
  const auto document = Document::open(path);
  ASSERT_TRUE(document) << document.error().text();
  ir::Arena arena;
  const auto model = lift(*document, arena);
  ASSERT_TRUE(model) << model.error().text();
  const Fold fold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
  LowerOptions options;
  options.respell = true;
  const auto lowered = lower(*document, *model, arena, model->graph, {}, fold, options);
  ASSERT_TRUE(lowered) << lowered.error().text();
  EXPECT_LE(lowered->kept_nodes, model->opaque.size() + document->operator_counts()["Constant"]);
  const auto written = write_document(*document, lowered->edits, target);
  ASSERT_TRUE(written) << written.error().text();
  // What was written is a valid model with the same operations.
  const auto again = Document::open(target);
  ASSERT_TRUE(again) << again.error().text();
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
    respell(path, target);
    if (!std::filesystem::exists(target)) continue;
    const std::string inputs = std::filesystem::path(path).replace_extension(".npz").string();
    pairs.push_back({path, target, std::filesystem::exists(inputs) ? inputs : ""});
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

}  // namespace
}  // namespace xflow::onnx_io
