// What the values of two models are in a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ir/graph.h"

namespace xflow::equivalence {

// Tensors of the values of an arena for one choice of inputs, computed in double when they are asked for.
class Values {
 public:
  // `inputs`: the tensors of graph inputs. `options` has the sizes that they do not determine. Both must
  // outlive this object.
  Values(ir::Arena& arena, const eval::Bindings& inputs, const eval::Options& options)
      : arena_(arena), inputs_(inputs), options_(options) {}

  // Results of an opaque node are seeded numbers, integers of {0, 1}: no model computes with them, but both
  // read the same.
  void draw(ir::NodeId opaque, std::uint64_t seed);

  // Null if the value depends on a result of an opaque node that was not drawn, or cannot be computed.
  const eval::Tensor* at(ir::ValueId value);

  // Whether the elements of two tensors, in row-major order, are equal but for rounding: `most` times the
  // largest magnitude of a. The shapes may differ.
  static bool are_close(const eval::Tensor& a, const eval::Tensor& b, double most);

 private:
  bool compute(ir::NodeId id);
  std::optional<std::vector<std::int64_t>> dims_of(const ir::TensorType& type) const;

  ir::Arena& arena_;
  const eval::Bindings& inputs_;
  const eval::Options& options_;
  std::unordered_map<ir::ValueId, eval::Tensor> tensors_;
  std::unordered_map<ir::NodeId, bool> computed_;  // whether it has tensors
};

// Where the elements of `part` are in `whole`: a range of one axis, whose other sizes are those of `part`.
// `part` may lack the axis, if it is one element long. Nothing if it is not such a range, or all of `whole`.
// Elements are compared as Values::are_close does.
struct Range {
  std::size_t axis = 0;
  std::int64_t start = 0;
  bool lacks_axis = false;
};
std::optional<Range> find_range(const eval::Tensor& part, const eval::Tensor& whole, double most);

// Values by what they are, for a search of those that are close to a tensor.
class ValueIndex {
 public:
  void add(ir::ValueId value, const eval::Tensor& tensor);
  // Those of the same type and number of elements, in any shape, that may be close, in the order in which
  // they were added.
  std::vector<ir::ValueId> near(const eval::Tensor& tensor) const;

 private:
  struct Print {
    ir::ValueId value;
    double sum = 0;
    double weighted = 0;
    double magnitude = 0;  // sum of magnitudes
  };
  static Print print_of(ir::ValueId value, const eval::Tensor& tensor);
  static std::vector<std::int64_t> key_of(const eval::Tensor& tensor);
  std::map<std::vector<std::int64_t>, std::vector<Print>> prints_;  // by type and number of elements
};

}  // namespace xflow::equivalence
