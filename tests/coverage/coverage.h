// Graphs, and what the shipped rules make of them: found by the search on a device that costs what a formula says, or rule by rule.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ir/graph.h"
#include "src/kernels/device.h"
#include "src/rules/verified_rules.h"

namespace xflow::coverage {

using ir::Graph;
using ir::Poly;
using ir::ValueId;

// A kernel takes launch + max(operations / peak, bytes / bandwidth). At these rates a launch is worth 10,000 operations or 1,000 bytes, so
// that small tensors cost what large ones do on a real device.
struct Roofline {
  double launch = 1000;      // nanoseconds
  double bandwidth = 1e9;    // bytes a second
  double peak = 1e10;        // operations a second
  double per_group = 0;      // nanoseconds for each group of a convolution but the first
  double least_product = 0;  // nanoseconds that a product of matrices takes at least
  double rows = 0;           // nanoseconds that a convolution of one dimension takes more than one of images
  double small_window = 1;   // operations of a convolution whose window is at most 3x3 count this much
};

struct SearchOptions {
  Roofline device = {};
  std::vector<std::string> without = {};  // names of rules; "name*": all that begin so, for those that the generator names
  double max_growth = 0.05;
  bool any_numbers = false;  // also rules that change special values
  std::uint64_t max_states = 500;
};

struct Found {
  Graph graph;
  std::string form;             // see Coverage::form
  std::set<std::string> rules;  // that lead there
};

class Coverage : public ::testing::Test {
 protected:
  ValueId input(std::string name, std::vector<Poly> dims);
  // Indices from -kLargestIndex to kLargestIndex.
  ValueId indices(std::string name, std::vector<Poly> dims);
  static constexpr std::int64_t kLargestIndex = 12;
  // A dimension with a name, and the size that it has where graphs are priced and evaluated.
  Poly dim(std::string_view name, std::int64_t size);
  // Different numbers between 0.5 and 1.5.
  ValueId weight(std::vector<std::int64_t> dims);
  ValueId number(double value);

  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {});
  // One pad for all sides, one stride for all axes.
  ValueId conv(ValueId x, ValueId w, std::int64_t pad = 0, std::int64_t groups = 1, std::int64_t stride = 1);
  ValueId average_pool(ValueId x, std::int64_t kernel, std::int64_t pad);
  ValueId max_pool(ValueId x, std::int64_t kernel, std::int64_t stride);
  ValueId matmul(ValueId a, ValueId b) { return op("matmul", {a, b}); }
  ValueId add(ValueId a, ValueId b) { return op("add", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op("mul", {a, b}); }
  ValueId relu(ValueId x) { return op("relu", {x}); }
  ValueId concat(std::vector<ValueId> operands, std::int64_t axis);
  std::vector<ValueId> split(ValueId x, std::int64_t axis, std::vector<Poly> sizes);
  ValueId transpose(ValueId x, std::vector<Poly> perm);
  ValueId reshape(ValueId x, std::vector<Poly> shape);
  ValueId expand(ValueId x, std::vector<Poly> shape);
  ValueId slice(ValueId x, std::vector<Poly> starts, std::vector<Poly> sizes);

  // The operations of a graph, operands before users, and its outputs: "v1 = conv(x, [8, 4, 3, 3]); v2 = split(v1); v2.0, v2.1".
  // Constants, and what is computed from them alone, are their dimensions.
  std::string form(const Graph& graph) const;
  std::size_t count(const Graph& graph, std::string_view op) const;

  // What the search finds with the shipped rules; it is checked to compute the same.
  Found search(const std::vector<ValueId>& outputs, const SearchOptions& options = {});
  // The graph with one shipped rule applied at the first place where it matches; checked to compute the same. Fails if there is none.
  Graph apply(std::string_view rule, const Graph& graph);
  // Both on drawn inputs, in double precision.
  void expect_same(const Graph& a, const Graph& b);
  // The largest error of the graph computed in float, against `reference` in double, on drawn inputs: as a part of the largest
  // magnitude of the outputs.
  double float_error(const Graph& graph, const Graph& reference);

  ir::Arena arena;

 private:
  eval::Bindings drawn_inputs() const;

  std::vector<std::pair<std::string, ValueId>> inputs_;
  std::unordered_map<ir::SymbolId, std::int64_t> sizes_;
  std::mt19937_64 random_{0};
};

}  // namespace xflow::coverage
