#include "src/onnx/lift/more_outputs.h"

#include <gtest/gtest.h>

#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

TEST(MoreOutputs, FollowThoseOfTheDocumentAndLeaveTheRestAsItIs) {
  testing::GraphParts parts;
  parts.inputs = {testing::float_info("x")};
  parts.nodes = {testing::node("Relu", "a", {"x"}, {"r"}), testing::node("Relu", "b", {"r"}, {"y"})};
  parts.outputs = {testing::float_info("y")};
  const Document document = testing::parsed(testing::model_of(parts));
  const std::vector<std::string_view> names{"r", "x"};
  const std::string bytes = with_outputs(document, names);
  EXPECT_TRUE(bytes.starts_with(document.bytes()));
  const Document more = testing::parsed(bytes);
  ASSERT_EQ(more.main().outputs.size(), 3U);
  EXPECT_EQ(more.main().outputs[0].name, "y");
  EXPECT_EQ(more.main().outputs[1].name, "r");
  EXPECT_EQ(more.main().outputs[2].name, "x");
  EXPECT_EQ(more.nodes().size(), document.nodes().size());
}

}  // namespace
}  // namespace xflow::onnx_io
