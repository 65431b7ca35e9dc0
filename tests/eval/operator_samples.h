// Uses of every operator that computes something, with values for their operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/eval/tensor.h"
#include "src/ir/attribute.h"
#include "src/ir/type.h"

namespace xflow::testing {

struct Operand {
  ir::DataType type = ir::DataType::float32;
  std::vector<std::int64_t> dims = {};
  double low = -1.5;
  double high = 1.5;
};

// One use of an operator.
struct Sample {
  std::string op = {};
  std::vector<Operand> operands = {};
  ir::Attributes attributes = {};
};

std::vector<Sample> samples();

// Drawn between its bounds, those that its type has; and the tensor of them.
std::vector<double> values(const Operand& operand, unsigned seed);
eval::Tensor tensor(const Operand& operand, const std::vector<double>& values);

std::string text_of(const Sample& sample);  // "matmul float32[2,3] float32[3,4]"

}  // namespace xflow::testing
