// Inputs to run a model on: seeded values or files.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"
#include "src/validation/sizes.h"

namespace xflow::api {

// The inputs of one run by name, and the label of the run in a report.
struct InputSet {
  std::string label;  // "x: float32[1,3,128,128], seed 1", "test.npz"
  std::unordered_map<std::string, eval::Tensor> tensors;
};

// The seed and the range of integers of seeded inputs. Integers are drawn from 0 .. integer_bound - 1. The
// bound is small because an integer may be an index.
struct SeededValues {
  std::uint64_t seed = 1;
  std::int64_t integer_bound = 2;
};

// Draws seeded inputs. Floating values are uniform in [-1, 1) and rounded to the input's type; booleans are
// fair coin flips; strings are "s0" to "s9". Errors: unsupported for an input of unknown rank or of a type
// without values (a sequence, a 4-bit type).
Result<InputSet> seeded_inputs(const ir::Arena& arena, std::span<const NamedInput> inputs, const Sizes& sizes, const SeededValues& values);

// Changes each finite element of a floating tensor up or down, as a seeded coin decides, by about eight
// units in the last place. Tensors of other types are returned unchanged. The change is eight units, not
// one, so that some elements cross a step of an output that is a step function. Errors: those of
// eval::doubles.
Result<eval::Tensor> perturbed(const eval::Tensor& tensor, std::uint64_t seed);

// Reads the sets of inputs in the files, in the order of `paths`.
// - .npz file: arrays `NAME` or `in__NAME` form the first set, `in2__NAME`, `in3__NAME`, ... one further set
//   each. Arrays `out__NAME`, `out2__NAME`, ... are results of another program and are ignored.
// - Folder: its .pb files form one set, ordered by the numbers in their names. A folder without .pb files
//   but with folders test_data_set_N has one set per such folder.
// - Other .pb files (one TensorProto each) form one set together.
// A .pb file holds the input whose name its tensor has. A tensor without such a name belongs to the input in
// `names` at the index that the file name gives (input_1.pb). Errors: unreadable for a file or a tensor that
// belongs to no input; unsupported for arrays of a type that tensors do not have.
Result<std::vector<InputSet>> read_inputs(std::span<const std::string> paths, std::span<const std::string_view> names);

}  // namespace xflow::api
