// Inputs to run a model on: seeded, or from files.
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

// One run's inputs by name, and how to name the run in a report.
struct InputSet {
  std::string label;  // "x: float32[1,3,128,128], seed 1", "test.npz"
  std::unordered_map<std::string, eval::Tensor> tensors;
};

// Which integers a seeded input draws from: 0 .. bound - 1. Small, because an integer may be an index into something.
struct SeededValues {
  std::uint64_t seed = 1;
  std::int64_t integer_bound = 2;
};

// Floating values are uniform in [-1, 1), rounded to the input's type; booleans are coins; strings are "s0" to "s9". Errors: unsupported
// for an input of unknown rank or of a type without values (a sequence, a 4-bit type).
Result<InputSet> seeded_inputs(const ir::Arena& arena, std::span<const NamedInput> inputs, const Sizes& sizes, const SeededValues& values);

// The tensor with each finite element of a floating type larger or smaller by about eight units in its last place, as a seeded coin says;
// of another type as it is. Eight, and not one, so that an output that goes in steps meets some. Errors: those of eval::doubles.
Result<eval::Tensor> perturbed(const eval::Tensor& tensor, std::uint64_t seed);

// The sets in files, in their order. Of an .npz file: arrays `NAME` or `in__NAME` are one set, `in2__NAME`, `in3__NAME` ... one more each;
// arrays `out__NAME`, `out2__NAME` ... are somebody's results and not read. Of a folder: the files in it that end in .pb, in the order of
// the numbers in their names, one set; a folder without any, but with folders test_data_set_N: one set each. Other .pb files (a
// TensorProto each) are one set together. A .pb file is for the input whose name the tensor has; where there is none, the number in
// the name of the file (input_1.pb) counts in `names`. Errors: unreadable for a file or a tensor that is for no input,
// unsupported for arrays of other types than tensors have.
Result<std::vector<InputSet>> read_inputs(std::span<const std::string> paths, std::span<const std::string_view> names);

}  // namespace xflow::api
