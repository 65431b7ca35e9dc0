// The instances published with Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph
// Operators (NeurIPS 2020), in the folder that XFLOW_TEST_PLACEMENT names, against the figures of the
// published programs in figures.tsv.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "src/parallel/evaluate.h"
#include "src/parallel/place.h"

namespace xflow::parallel {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Published : public testing::Test {
 protected:
  // A row of figures.tsv: instance, and the figures by the names of their columns, as texts.
  struct Row {
    std::string name;
    std::map<std::string, std::string> figures;

    double number(const std::string& column) const { return std::stod(figures.at(column)); }
    bool has(const std::string& column) const { return figures.contains(column) && !figures.at(column).empty(); }
  };

  void SetUp() override {
    const char* folder = std::getenv("XFLOW_TEST_PLACEMENT");
    if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_PLACEMENT is not set";
    folder_ = folder;
    std::ifstream table(folder_ + "/figures.tsv");
    std::vector<std::string> columns;
    for (std::string line; std::getline(table, line);) {
      if (line.starts_with("#")) continue;
      std::vector<std::string> cells;
      std::stringstream stream(line);
      for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
      if (cells.empty()) continue;
      if (cells[0] == "instance") {
        columns = cells;
        continue;
      }
      Row row{cells[0], {}};
      for (std::size_t k = 1; k < cells.size(); ++k) row.figures[columns[k]] = cells[k];
      rows_.push_back(row);
    }
    ASSERT_EQ(rows_.size(), 12U);
  }

  PlacementInstance instance(const std::string& name) const {
    auto read = read_instance(text_of(folder_ + "/" + name + ".json"), name);
    EXPECT_TRUE(read) << read.error().text();
    return *std::move(read);
  }
  static PlacementObjective objective_of(const Row& row) {
    return row.name.starts_with("latency") ? PlacementObjective::latency : PlacementObjective::max_load;
  }

  std::string folder_;
  std::vector<Row> rows_;
};

TEST_F(Published, SplitsOfExpertsHaveTheirPublishedValues) {
  int splits = 0;
  for (const Row& row : rows_) {
    if (!row.has("expert")) continue;
    std::string model = row.name.substr(row.name.rfind('/') + 1);
    if (model == "resnet50_training") model = "resnet50_inference";
    const PlacementInstance read = instance(row.name);
    const auto devices = read_split(text_of(folder_ + "/experts/" + model + "_expert.json"), read, model);
    ASSERT_TRUE(devices) << devices.error().text();
    const auto result = evaluate(read, *devices, objective_of(row), row.name);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_NEAR(result->value.count(), row.number("expert"), 0.001) << row.name;
    // A star marks splits that exceed the memory.
    EXPECT_EQ(result->fits_memory(), row.figures.at("expert").find('*') == std::string::npos) << row.name;
    ++splits;
  }
  EXPECT_EQ(splits, 6);
}

TEST_F(Published, OneAcceleratorHasItsPublishedLoad) {
  for (const Row& row : rows_) {
    if (!row.has("one accelerator")) continue;
    const PlacementInstance read = instance(row.name);
    EXPECT_NEAR(loads_of(read, NodeDevices(read.nodes.size(), 0))[0], row.number("one accelerator"), 0.006) << row.name;
  }
}

TEST_F(Published, LongestPathsAreThePublishedBounds) {
  for (const Row& row : rows_) {
    if (objective_of(row) == PlacementObjective::latency) {
      EXPECT_NEAR(longest_path(instance(row.name)), row.number("bound"), 0.001) << row.name;
    }
  }
}

// All instances whose ideals are few: the value of the published dynamic program, or a better one.
TEST_F(Published, IdealsGiveTheContiguousOptimum) {
  for (const Row& row : rows_) {
    if (objective_of(row) != PlacementObjective::max_load || row.name == "throughput/layers/gnmt_inference" ||
        row.name == "throughput/layers/inceptionv3_inference")
      continue;
    PlaceOptions options;
    options.method = PlacementMethod::ideals;
    options.budget = Seconds(1e10);
    const auto result = place(instance(row.name), options, row.name);
    ASSERT_TRUE(result) << result.error().text();
    ASSERT_TRUE(result->contiguous) << row.name;
    EXPECT_NEAR(result->contiguous->count(), row.number("DP"), 0.0005 * result->contiguous->count()) << row.name;
  }
}

// A fixed number of steps, a second or two of each: values within 0.5 % of the best known, and proved gaps.
TEST_F(Published, ValuesAreCloseToTheBestKnown) {
  int close = 0;
  for (const Row& row : rows_) {
    PlaceOptions options;
    options.objective = objective_of(row);
    options.budget = Seconds(1e10);
    options.steps = options.objective == PlacementObjective::latency ? 400'000 : 12'000'000;
    const auto result = place(instance(row.name), options, row.name);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_LE(result->value.count(), 1.005 * row.number("best known")) << row.name;
    EXPECT_LE(result->bound.count(), row.number("best known") * 1.00001) << row.name;
    EXPECT_TRUE(result->fits_memory());
    if (row.has("greedy")) {
      EXPECT_LE(result->value.count(), row.number("greedy") + 0.001) << row.name;
    }
    if (options.objective == PlacementObjective::max_load && result->gap() <= 0.011) ++close;
  }
  EXPECT_GE(close, 7);
}

}  // namespace
}  // namespace xflow::parallel
