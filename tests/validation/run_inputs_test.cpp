#include "src/validation/run_inputs.h"

#include <gtest/gtest.h>

namespace xflow::api {
namespace {

// "x:1,2 y:3" for each choice.
std::vector<std::string> choices(const std::vector<std::string>& shapes) {
  std::vector<InputShape> parsed;
  for (const std::string& shape : shapes) parsed.push_back(*parse_shape(shape));
  std::vector<std::string> result;
  for (const std::vector<InputShape>& choice : shape_choices(parsed)) {
    std::string text;
    for (const InputShape& shape : choice) {
      text += (text.empty() ? "" : " ") + shape.input;
      for (std::size_t k = 0; k < shape.dims.size(); ++k) text += (k == 0 ? ":" : ",") + std::to_string(shape.dims[k]);
    }
    result.push_back(text);
  }
  return result;
}

TEST(ShapeChoices, AreOneWhereEachInputHasOneShape) {
  EXPECT_EQ(choices({}), std::vector<std::string>{""});
  EXPECT_EQ(choices({"x:1,2", "y:3"}), std::vector<std::string>{"x:1,2 y:3"});
}

TEST(ShapeChoices, AreAsManyAsTheShapesOfOneInput) {
  EXPECT_EQ(choices({"x:1,2", "x:2,2", "y:3"}), (std::vector<std::string>{"x:1,2 y:3", "x:2,2 y:3"}));
  EXPECT_EQ(choices({"y:3", "x:1", "y:4", "x:2", "x:5"}), (std::vector<std::string>{"y:3 x:1", "y:4 x:2", "y:4 x:5"}));
}

}  // namespace
}  // namespace xflow::api
