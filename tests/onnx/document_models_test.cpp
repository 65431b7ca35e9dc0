// Real models: all *.onnx in the folder that XFLOW_TEST_MODELS names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

class DocumentOfRealModels : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("XFLOW_TEST_MODELS");
    if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") models_.push_back(entry.path().string());
    }
    std::sort(models_.begin(), models_.end());
    ASSERT_FALSE(models_.empty()) << folder;
  }

  std::vector<std::string> models_;
};

TEST_F(DocumentOfRealModels, IsWrittenByteForByte) {
  for (const std::string& path : models_) {
    const auto document = Document::open(path);
    ASSERT_TRUE(document) << document.error().text();
    const auto written = write_bytes(*document, {});
    EXPECT_TRUE(written && *written == document->bytes()) << path;
    std::vector<GraphEdit> edits;
    for (const Graph& graph : document->graphs()) {
      GraphEdit edit;
      edit.graph = graph.id;
      edit.nodes.emplace();
      for (std::uint32_t i = 0; i < graph.node_count; ++i) edit.nodes->push_back(Entry::keep(i));
      edits.push_back(std::move(edit));
    }
    const auto kept = write_bytes(*document, edits);
    EXPECT_TRUE(kept && *kept == document->bytes()) << path << " with every node kept by an edit";
  }
}

TEST_F(DocumentOfRealModels, DecodesEveryTensor) {
  for (const std::string& path : models_) {
    const auto document = Document::open(path);
    ASSERT_TRUE(document) << document.error().text();
    const auto check = [&](const TensorView& tensor) {
      std::string owned;
      const auto bytes = raw_bytes(tensor, owned);
      EXPECT_TRUE(bytes) << path << ": " << bytes.error().text();
    };
    for (const Graph& graph : document->graphs()) {
      EXPECT_TRUE(graph.sorted) << path;
      for (const Initializer& initializer : graph.initializers) check(initializer.tensor);
    }
    for (const Node& node : document->nodes()) {
      for (const Attribute& attribute : node.attributes) {
        if (attribute.type == AttributeType::tensor) check(*document->tensor(attribute));
      }
    }
  }
}

TEST_F(DocumentOfRealModels, KnowsWhatTheBodiesOfSileroCapture) {
  const auto at =
      std::find_if(models_.begin(), models_.end(), [](const std::string& path) { return path.ends_with("silero_vad_v5.onnx"); });
  ASSERT_NE(at, models_.end()) << "XFLOW_TEST_MODELS has no silero_vad_v5.onnx";
  const auto document = Document::open(*at);
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(document->graphs().size(), 51U);
  EXPECT_EQ(document->operator_counts().at("If"), 25U);
  // Every name that a graph uses is defined by it or captured by every owner on the way to the graph that defines it.
  std::size_t uses = 0;
  for (const Node& node : document->nodes()) {
    for (const std::string_view name : node.inputs) {
      if (name.empty()) continue;
      GraphId graph = node.graph;
      while (document->find(graph, name) == nullptr) {
        ASSERT_TRUE(document->graph(graph).owner) << name;
        const Node& owner = document->node(*document->graph(graph).owner);
        EXPECT_EQ(std::count(owner.captures.begin(), owner.captures.end(), name), 1) << describe(*document, owner.id) << " " << name;
        graph = owner.graph;
        ++uses;
      }
    }
    // And every capture is a value of a graph around the node.
    for (const std::string_view name : node.captures) EXPECT_TRUE(document->scope_of(node.graph, name)) << name;
  }
  EXPECT_GT(uses, 0U);
}

}  // namespace
}  // namespace xflow::onnx_io
