#include "src/onnx/lift.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/onnx/document_writer.h"
#include "src/onnx/lower.h"

namespace xflow::onnx_io {
namespace {

std::vector<std::string> test_models() {
  std::vector<std::string> paths;
  if (const char* folder = std::getenv("XFLOW_TEST_MODELS")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
  }
  return paths;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const Fold kNoFold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };

TEST(LiftAndLower, WithoutARewriteOnlyEqualNodesBecomeOne) {
  const auto paths = test_models();
  if (paths.empty()) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto document = Document::open(path);
    ASSERT_TRUE(document) << document.error().text();
    ir::Arena arena;
    const auto model = lift(*document, arena);
    ASSERT_TRUE(model) << model.error().text();
    const auto valid = ir::verify(arena, model->graph);
    EXPECT_TRUE(valid) << valid.error().text();
    const auto lowered = lower(*document, *model, arena, model->graph, {}, kNoFold);
    ASSERT_TRUE(lowered) << lowered.error().text();
    EXPECT_EQ(lowered->new_nodes, 0U);
    EXPECT_EQ(lowered->kept_nodes + lowered->renamed_nodes + lowered->dropped_nodes, document->nodes(GraphId{0}).size());
    if (lowered->dropped_nodes > 0) {
      // Equal nodes became one: only then does another node read another name.
      EXPECT_GT(lowered->merged_nodes, 0U);
      continue;
    }
    EXPECT_EQ(lowered->renamed_nodes, 0U);
    EXPECT_TRUE(lowered->edits.empty());
    const auto bytes = write_bytes(*document, lowered->edits);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_TRUE(*bytes == read_file(path));
  }
}

}  // namespace
}  // namespace xflow::onnx_io
