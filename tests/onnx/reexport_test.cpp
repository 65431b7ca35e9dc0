// Every operation of a model exported again from the IR computes what the model computes: lifting, compositions and ONNX mappings agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/places.h"

namespace xflow::onnx_io {
namespace {

const Fold kNothingIsFolded = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };

// Writes the model at `path` exported again to `target`; nothing is written where every node is opaque.
Result<void> reexport(const std::string& path, const std::string& target) {
  XFLOW_TRY(const Document document, Document::open(path));
  ir::Arena arena;
  XFLOW_TRY(const LiftedModel model, lift(document, arena));
  XFLOW_CHECK(ir::verify(arena, model.graph));
  LowerOptions options;
  options.reexport = true;
  XFLOW_TRY(const LoweredModel lowered, lower(document, model, arena, model.graph, {}, kNothingIsFolded, options));
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

TEST(Reexport, OfEachModelComputesTheSameInOnnxRuntime) {
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
    const auto done = reexport(path, target);
    EXPECT_TRUE(done) << path << ": " << done.error().text();
    const std::string inputs = std::filesystem::path(path).replace_extension(".npz").string();
    pairs.push_back({path, target, std::filesystem::exists(inputs) ? inputs : ""});
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

TEST(Reexport, IsComparedSoThatAWrongModelShows) {
  const testing::TemporaryFolder temporary;
  testing::GraphParts parts;
  parts.inputs = {testing::float_info("x")};
  parts.outputs = {testing::float_info("y")};
  parts.nodes = {testing::node("Sin", "", {"x"}, {"y"})};
  const std::string right = temporary.write("right.onnx", testing::model_of(parts));
  parts.nodes = {testing::node("Tanh", "", {"x"}, {"y"})};
  const std::string wrong = temporary.write("wrong.onnx", testing::model_of(parts));
  EXPECT_EQ(testing::disagreements({{right, right, ""}}), "");
  EXPECT_NE(testing::disagreements({{right, wrong, ""}}).find("wrong.onnx: output y: error"), std::string::npos);
}

// The cases of ONNX's backend tests: models of one operator each, with every operator of ONNX and every attribute.
struct BackendCase {
  std::string name;
  std::string model;
  std::string data;
};

void compare_reexported(std::vector<BackendCase> cases, std::size_t at_least) {
  const testing::TemporaryFolder temporary;
  std::vector<testing::ModelPair> pairs;
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.model < b.model; });
  for (const BackendCase& backend_case : cases) {
    const std::string target = temporary.file(backend_case.name + ".onnx");
    const auto done = reexport(backend_case.model, target);
    // Before opset 7 the pointwise operators had another broadcast, which xflow does not write.
    if (!done && done.error().text().find("no ONNX operator of opset 6") != std::string::npos) continue;
    EXPECT_TRUE(done) << backend_case.model << ": " << done.error().text();
    if (std::filesystem::exists(target)) pairs.push_back({backend_case.model, target, backend_case.data});
  }
  EXPECT_GT(pairs.size(), at_least);
  EXPECT_EQ(testing::disagreements(pairs), "");
}

TEST(Reexport, OfEachBackendCaseComputesTheSameInOnnxRuntime) {
  std::vector<BackendCase> cases;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : std::filesystem::directory_iterator(places::backend_data() + "/" + suite)) {
      const std::string folder = entry.path().string();
      cases.push_back({entry.path().filename().string(), folder + "/model.onnx", folder + "/test_data_set_0"});
    }
  }
  compare_reexported(std::move(cases), 800);
}

// Many cases have axes or a shape as inputs; models have them as constants.
TEST(Reexport, OfEachBackendCaseWithKnownShapesComputesTheSameInOnnxRuntime) {
  const testing::TemporaryFolder temporary;
  const std::string command = fmt::format("{} {}/tests/onnx/bind_inputs.py {} {}", places::testenv_python(), places::repository(),
                                          places::backend_data(), temporary.path());
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::vector<BackendCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    const std::string name = entry.path().stem().string();
    cases.push_back({name, entry.path().string(), fmt::format("{}/node/{}/test_data_set_0", places::backend_data(), name)});
  }
  compare_reexported(std::move(cases), 150);
}

}  // namespace
}  // namespace xflow::onnx_io
