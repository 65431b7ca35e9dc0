// Compositions in versions and with attributes that ONNX's backend cases (reexport_test.cpp) do not have.
#include "src/onnx/lift/composition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::GraphParts;

struct Case {
  int opset;
  NodeBuilder node;                               // writes "y"
  std::vector<std::vector<std::int64_t>> inputs;  // x0, x1, ...: float32
  std::vector<std::vector<float>> weights = {};   // w0, w1, ...
};

std::string model_of(const Case& c) {
  GraphParts parts;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) parts.inputs.push_back(testing::float_info("x" + std::to_string(k), c.inputs[k]));
  for (std::size_t k = 0; k < c.weights.size(); ++k)
    parts.initializers.push_back(testing::float_tensor("w" + std::to_string(k), c.weights[k]));
  parts.nodes = {c.node.message()};
  parts.outputs = {WireWriter().bytes(1, "y").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 1).view()).view()).take()};
  const std::string contrib = WireWriter().bytes(1, "com.microsoft").varint(2, 1).take();
  return WireWriter()
      .varint(1, 8)
      .bytes(8, WireWriter().varint(2, c.opset).view())
      .bytes(8, contrib)
      .bytes(7, testing::graph_message(parts))
      .take();
}

NodeBuilder one(std::string_view type) {
  NodeBuilder builder(type);
  builder.input("x0").output("y");
  return builder;
}
NodeBuilder two(std::string_view type) {
  NodeBuilder builder(type);
  builder.input("x0").input("x1").output("y");
  return builder;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  const std::vector<std::int64_t> axes{1, -1};
  for (const int opset : {9, 11, 13}) {
    for (const char* type : {"ReduceL1", "ReduceSumSquare", "ReduceLogSumExp"}) {
      const auto axis = opset < 11 ? std::vector<std::int64_t>{1, 2} : axes;
      result.push_back({opset, one(type).integers("axes", axis).integer("keepdims", 0), {{2, 3, 4}}});
      result.push_back({opset, one(type), {{2, 3, 4}}});
    }
    result.push_back({opset, one("Softmax").integer("axis", 1), {{2, 3, 4}}});
    result.push_back({opset, one("LogSoftmax").integer("axis", 0), {{2, 3, 4}}});
    result.push_back({opset, two("Mean"), {{2, 3}, {3}}});
    result.push_back({opset, one("Max"), {{2, 3}}});
    result.push_back({opset, one("MeanVarianceNormalization"), {{2, 3, 4, 5}}});
    result.push_back({opset, one("MeanVarianceNormalization").integers("axes", std::vector<std::int64_t>{1, 2}), {{2, 3, 4, 5}}});
    result.push_back({opset, one("LpNormalization").integer("p", 1).integer("axis", 1), {{2, 3, 4}}});
    result.push_back({opset, one("LpNormalization"), {{2, 3, 4}}});
    result.push_back({opset, one("Selu").real("alpha", 2).real("gamma", 3), {{2, 3}}});
    result.push_back({opset, one("Softsign"), {{2, 3}}});
    result.push_back({opset,
                      one("Gemm").integer("transB", 1).integer("transA", 1).input("x1").input("x2").real("alpha", 0.5F).real("beta", 2),
                      {{4, 2}, {3, 4}, {3}}});
    result.push_back({opset, NodeBuilder("Gemm").input("x0").input("x1").input("x2").output("y"), {{2, 4}, {4, 3}, {1, 1}}});
    result.push_back(
        {opset,
         NodeBuilder("BatchNormalization").input("x0").input("w0").input("w1").input("w2").input("w3").output("y").real("epsilon", 0.01F),
         {{2, 3, 4}},
         {{1, 2, 3}, {0.5F, 0, 1}, {1, -1, 0}, {1, 2, 0.5F}}});
    result.push_back({opset,
                      NodeBuilder("InstanceNormalization").input("x0").input("w0").input("w1").output("y"),
                      {{2, 3, 4, 5}},
                      {{1, 2, 3}, {0.5F, 0, 1}}});
    result.push_back({opset,
                      NodeBuilder("Conv").input("x0").input("x1").input("x2").output("y").integer("group", 2),
                      {{1, 4, 5, 5}, {6, 2, 3, 3}, {6}}});
    result.push_back({opset, NodeBuilder("ConvTranspose").input("x0").input("x1").input("x2").output("y"), {{1, 4, 5}, {4, 2, 3}, {2}}});
  }
  for (const int opset : {12, 13}) {
    for (const char* equation :
         {"ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "bhid,bhjd->bhij", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "ij,kj", "bij,jk->bik"}) {
      const std::string text(equation);
      std::vector<std::vector<std::int64_t>> inputs(1);
      for (const char c : text.substr(0, text.find("->"))) {
        if (c == ',') {
          inputs.emplace_back();
        } else {
          inputs.back().push_back(c == 'b' ? 2 : c == 'h' ? 3 : c == 'i' ? 4 : c == 'j' ? 5 : c == 'k' ? 6 : 7);
        }
      }
      result.push_back({opset, two("Einsum").string("equation", text), inputs});
    }
    result.push_back({opset, two("Einsum").string("equation", "ai,bj->jaib"), {{2, 3}, {4, 5}}});
    result.push_back({opset, two("Einsum").string("equation", "abi, aj -> j"), {{2, 3, 4}, {2, 5}}});
    result.push_back({opset, two("Einsum").string("equation", "abij,ijcd->abcd"), {{2, 3, 4, 5}, {4, 5, 2, 3}}});
    result.push_back({opset,
                      NodeBuilder("Einsum").input("x0").input("x1").input("x2").output("y").string("equation", "ij,jk,kl->il"),
                      {{2, 3}, {3, 4}, {4, 5}}});
    result.push_back({opset, one("Einsum").string("equation", "ijk->ki"), {{2, 3, 4}}});
    result.push_back({opset, one("Einsum").string("equation", "ij->ij"), {{2, 3}}});
    result.push_back({opset, one("Celu").real("alpha", 2), {{2, 3}}});
    result.push_back({opset, one("Celu"), {{2, 3}}});
  }
  result.push_back({12, NodeBuilder("Clip").input("x0").input("x1").input("x2").output("y"), {{2, 3}, {}, {}}});
  result.push_back({13, NodeBuilder("Clip").input("x0").input("").input("x1").output("y"), {{2, 3}, {}}});
  result.push_back({9, one("Shrink").real("lambd", 0.3F).real("bias", 0.1F), {{2, 3}}});
  result.push_back({10, one("ThresholdedRelu").real("alpha", 0.2F), {{2, 3}}});
  result.push_back({15, two("CastLike"), {{2, 3}, {1}}});
  result.push_back({17, NodeBuilder("LayerNormalization").input("x0").input("x1").output("y").integer("axis", 1), {{2, 3, 4}, {3, 4}}});
  const auto microsoft = [](std::string_view type, std::size_t inputs) {
    NodeBuilder builder(type, "com.microsoft");
    for (std::size_t k = 0; k < inputs; ++k) builder.input("x" + std::to_string(k));
    builder.output("y");
    return builder;
  };
  result.push_back({17, microsoft("Gelu", 1), {{2, 3}}});
  result.push_back({17, microsoft("BiasGelu", 2), {{2, 3}, {3}}});
  result.push_back({17, microsoft("FastGelu", 1), {{2, 3}}});
  result.push_back({17, microsoft("FastGelu", 2), {{2, 3}, {3}}});
  result.push_back({17, microsoft("QuickGelu", 1), {{2, 3}}});
  result.push_back({17, microsoft("FusedMatMul", 2).integer("transA", 1).real("alpha", 0.5F), {{2, 4, 3}, {2, 4, 5}}});
  result.push_back({17, microsoft("FusedMatMul", 2).integer("transB", 1), {{2, 3, 4}, {2, 5, 4}}});
  result.push_back({20, one("Gelu").string("approximate", "tanh"), {{2, 3}}});
  return result;
}

TEST(Compositions, ComputeWhatTheirOperatorsDo) {
  const testing::TemporaryFolder folder;
  std::vector<testing::ModelPair> pairs;
  for (const Case& c : cases()) {
    const std::string bytes = model_of(c);
    const Document document = testing::parsed(bytes);
    const std::string name = "case" + std::to_string(pairs.size()) + "_" + std::string(document.nodes()[0].op_type);
    SCOPED_TRACE(name);
    ir::Arena arena;
    const auto model = lift(document, arena);
    ASSERT_TRUE(model) << model.error().text();
    ASSERT_TRUE(model->opaque.empty()) << model->opaque[0].reason;
    const Fold fold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
    LowerOptions options;
    options.reexport = true;
    const auto lowered = lower(document, *model, arena, model->graph, {}, fold, options);
    ASSERT_TRUE(lowered) << lowered.error().text();
    EXPECT_EQ(lowered->kept_nodes, 0U);
    const auto reexported = write_bytes(document, lowered->edits);
    ASSERT_TRUE(reexported) << reexported.error().text();
    pairs.push_back({folder.write(name + "_a.onnx", bytes), folder.write(name + "_b.onnx", *reexported), ""});
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

TEST(Compositions, SayWhatTheyDoNotCover) {
  const auto reason = [](const Case& c) {
    const Document document = testing::parsed(model_of(c));
    ir::Arena arena;
    const auto model = lift(document, arena);
    return !model || model->opaque.empty() ? "" : model->opaque[0].reason;
  };
  EXPECT_EQ(reason({13, one("Einsum").string("equation", "ii->i"), {{3, 3}}}), "Einsum: a diagonal");
  EXPECT_EQ(reason({13, one("Einsum").string("equation", "...i->i"), {{3, 3}}}), "Einsum: an ellipsis");
  EXPECT_EQ(reason({13, one("Celu").real("alpha", -1), {{3}}}), "Celu: alpha is not positive");
  EXPECT_EQ(reason({28, one("Celu"), {{3}}}), "opset 28 is newer than xflow knows (27)");
}

TEST(Compositions, AreNamedOnceInAVersion) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const Composition& c : compositions()) EXPECT_TRUE(names.emplace(c.domain, c.type).second) << c.type;
}

}  // namespace
}  // namespace xflow::onnx_io
