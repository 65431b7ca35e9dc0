// Work on a document that is asked to stop.
#include <gtest/gtest.h>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/folded_constants.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::float_info;
using testing::node;
using testing::parsed;

constexpr int kNodes = 100;

std::string value(int k) { return "v" + std::to_string(k); }

// x + c0 + ... where each constant is the negative of the one before.
Document chain() {
  testing::GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.initializers = {testing::float_tensor(value(0), {1, 2})};
  for (int k = 0; k < kNodes; ++k) parts.nodes.push_back(node("Neg", "", {value(k)}, {value(k + 1)}));
  parts.nodes.push_back(node("Add", "", {"x", value(kNodes)}, {"y"}));
  parts.outputs = {float_info("y")};
  return parsed(testing::model_of(parts));
}

TEST(Lift, EndsAtTheNodeAtWhichItIsStopped) {
  const Document document = chain();
  for (const int last : {1, 7, kNodes + 1}) {
    ir::Arena arena;
    int asked = 0;
    LiftOptions options;
    options.stop = [&] { return ++asked == last; };
    const auto model = lift(document, arena, options);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::limit);
    EXPECT_EQ(model.error().text(), "lifting was stopped");
    EXPECT_EQ(asked, last);
  }
  ir::Arena arena;
  int asked = 0;
  LiftOptions options;
  options.stop = [&] { return ++asked > kNodes + 1; };
  EXPECT_TRUE(lift(document, arena, options));
  EXPECT_EQ(asked, kNodes + 1);
}

TEST(FoldedConstants, StayComputedWhereFoldingIsStopped) {
  const Document document = chain();
  ir::Arena arena;
  const auto model = lift(document, arena);
  ASSERT_TRUE(model);
  for (const bool stops : {false, true}) {
    FoldedShapes folds = fold_shapes(document, *model, arena, false);
    int folded = 0;
    const Fold fold = [&](ir::ValueId value) -> Result<ir::Constant> {
      ++folded;
      return eval::fold(arena, value);
    };
    FoldLimits limits;
    if (stops) limits.stop = [] { return true; };
    add_folded_constants(document, *model, arena, fold, limits, folds);
    EXPECT_EQ(folded, stops ? 0 : 1);
    EXPECT_EQ(folds.folded.size(), stops ? 0U : kNodes);
  }
}

}  // namespace
}  // namespace xflow::onnx_io
