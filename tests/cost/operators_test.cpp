// Every operator has a kernel on this CPU, and it computes what the operator's index notation says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "src/cost/cpu/cpu_device.h"
#include "src/cost/node_kernel.h"
#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace xflow::cost::cpu {
namespace {

using ir::DataType;
using Dims = std::vector<std::int64_t>;

struct Operand {
  DataType type = DataType::float32;
  Dims dims = {};
  double low = -1.5;
  double high = 1.5;
};

// One use of an operator.
struct Sample {
  std::string op = {};
  std::vector<Operand> operands = {};
  ir::Attributes attributes = {};
};

ir::AttributeValue list(const Dims& values) { return ir::polys(values); }

std::vector<Sample> samples() {
  const Operand x{DataType::float32, {2, 4, 5, 6}};
  const Operand positive{DataType::float32, {2, 4, 5, 6}, 0.5, 2};
  const Operand flags{DataType::boolean, {2, 4, 5, 6}, 0, 1};
  const Operand small{DataType::int64, {2, 5}, 0, 2};
  const ir::Attributes window = {
      {"strides", list({1, 1})}, {"pads", list({1, 1, 1, 1})}, {"dilations", list({1, 1})}, {"groups", ir::Poly(1)}};
  const ir::Attributes last = {{"axes", list({3})}, {"keep_dims", ir::Poly(1)}};
  const ir::Attributes axis = {{"axis", ir::Poly(1)}};
  std::vector<Sample> samples = {
      {"average_pool", {x}, {{"kernel", list({3, 3})}, {"strides", list({1, 1})}, {"pads", list({1, 1, 1, 1})}}},
      {"cast", {{DataType::int64, {3, 7}, -9, 9}}, {{"to", DataType::float32}}},
      {"clip", {x}, {{"min", ir::Real(-1)}, {"max", ir::Real(1)}}},
      {"concat", {x, x}, axis},
      {"conv", {x, {DataType::float32, {8, 4, 3, 3}}}, window},
      {"conv_transpose", {x, {DataType::float32, {4, 8, 3, 3}}}, window},
      {"cumsum", {x}, axis},
      {"cumsum", {{DataType::int64, {4, 7}, -9, 9}}, {{"axis", ir::Poly(1)}, {"exclusive", ir::Poly(1)}, {"reverse", ir::Poly(1)}}},
      {"depth_to_space", {x}, {{"block", ir::Poly(2)}, {"order", std::string("depth_first")}}},
      {"expand", {{DataType::float32, {4, 1, 6}}}, {{"shape", list({2, 4, 5, 6})}}},
      {"gather", {x, small}, axis},
      {"gather_elements", {x, {DataType::int64, {2, 3, 4, 6}, 0, 3}}, axis},
      {"gather_elements", {{DataType::int32, {4, 9}, -9, 9}, {DataType::int64, {3, 5}, 0, 8}}, axis},
      {"gather_nd", {x, {DataType::int64, {3, 2}, 0, 1}}},
      {"gather_nd", {x, {DataType::int64, {2, 5, 1}, 0, 3}}, {{"batch", ir::Poly(1)}}},
      {"is_nan", {x}},
      {"log_softmax", {x}, axis},
      {"lrn", {x}, {{"size", ir::Poly(3)}, {"alpha", ir::Real(ir::Rational::make(1, 10).value())}}},
      {"matmul", {x, {DataType::float32, {6, 3}}}},
      {"matmul", {{DataType::float32, {6}}, {DataType::float32, {2, 6, 3}}}},
      {"matmul", {{DataType::float32, {2, 5, 6}}, {DataType::float32, {6}}}},
      {"matmul", {{DataType::float64, {2, 5, 6}}, {DataType::float64, {6, 7}}}},
      {"matmul", {{DataType::int64, {5, 6}, -9, 9}, {DataType::int64, {6, 7}, -9, 9}}},
      {"max_pool", {x}, {{"kernel", list({3, 3})}, {"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}}},
      {"mod", {{DataType::int64, {3, 7}, -9, 9}, {DataType::int64, {7}, 1, 5}}},
      {"one_hot", {small}, {{"axis", ir::Poly(1)}, {"depth", ir::Poly(4)}, {"on", ir::Real(3)}, {"off", ir::Real(-1)}}},
      {"pad", {x}, {{"begins", list({0, 0, 1, 2})}, {"ends", list({0, 0, 2, 1})}}},
      {"pad", {x}, {{"begins", list({0, 0, 1, 2})}, {"ends", list({0, 0, 2, 1})}, {"mode", std::string("reflect")}}},
      {"pad", {x}, {{"begins", list({0, 0, 1, 2})}, {"ends", list({0, 0, 2, 1})}, {"mode", std::string("edge")}}},
      {"pad", {x}, {{"begins", list({0, 0, 1, 2})}, {"ends", list({0, 0, 2, 1})}, {"mode", std::string("wrap")}}},
      {"prelu", {x, {DataType::float32, {4, 1, 1}}}},
      {"resize", {{DataType::uint8, {1, 2, 5, 6}, 0, 9}}, {{"numerators", list({1, 1, 3, 5})}, {"denominators", list({1, 1, 2, 3})}}},
      {"resize",
       {x},
       {{"numerators", list({1, 1, 2, 2})},
        {"denominators", list({1, 1, 1, 1})},
        {"mode", std::string("linear")},
        {"coordinates", std::string("half_pixel")}}},
      {"select", {flags, x, x}},

      {"slice", {x}, {{"starts", list({0, 1, 0, 5})}, {"sizes", list({2, 2, 5, 5})}, {"steps", list({1, 2, 1, -1})}}},
      {"softmax", {x}, axis},
      {"space_to_depth", {{DataType::float32, {2, 4, 6, 8}}}, {{"block", ir::Poly(2)}}},
      {"split", {x}, {{"axis", ir::Poly(1)}, {"sizes", list({1, 3})}}},
      {"tile", {x}, {{"repeats", list({1, 2, 1, 2})}}},
      {"transpose", {x}, {{"perm", list({0, 2, 3, 1})}}},
      {"trilu", {x}},
      {"trilu", {x}, {{"upper", ir::Poly(0)}, {"diagonal", ir::Poly(-1)}}},
      {"softmax", {{DataType::float64, {3, 8}}}, axis},
      {"reduce_sum", {{DataType::int64, {3, 8}, -9, 9}}, {{"axes", list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_max", {{DataType::int32, {3, 8}, -9, 9}}, {{"axes", list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_mean", {{DataType::float64, {3, 8}}}, {{"axes", list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"pow", {positive, positive}},
      {"div", {{DataType::int64, {3, 7}, -9, 9}, {DataType::int64, {7}, 1, 5}}},
      {"hard_sigmoid", {x}},
      {"leaky_relu", {x}},
      {"elu", {x}},
  };
  for (const char* name :
       {"abs", "ceil", "cos", "erf", "exp", "floor", "neg", "relu", "round", "sigmoid", "sign", "sin", "softplus", "tanh"})
    samples.push_back({name, {x}});
  for (const char* name : {"log", "reciprocal", "sqrt"}) samples.push_back({name, {positive}});
  for (const char* name : {"add", "mul", "sub", "maximum", "minimum", "equal", "greater", "greater_equal", "less", "less_equal"}) {
    samples.push_back({name, {x, {DataType::float32, {4, 1, 6}}}});
    samples.push_back({name, {{DataType::int64, {3, 7}, -2, 2}, {DataType::int64, {7}, -2, 2}}});
  }
  samples.push_back({"div", {x, positive}});
  for (const char* name : {"and", "or", "xor"}) samples.push_back({name, {flags, flags}});
  samples.push_back({"not", {flags}});
  for (const char* name : {"reduce_l2", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum"}) samples.push_back({name, {x}, last});
  // The same in half precision, which is computed in float.
  const std::set<std::string> in_half = {"conv",    "conv_transpose", "matmul",   "add",    "mul",          "relu",      "sigmoid",
                                         "softmax", "reduce_mean",    "max_pool", "concat", "average_pool", "transpose", "gather"};
  std::vector<Sample> halves;
  for (Sample sample : samples) {
    if (!in_half.contains(sample.op) || sample.operands[0].type != DataType::float32) continue;
    for (Operand& operand : sample.operands) {
      if (operand.type == DataType::float32) operand.type = DataType::float16;
    }
    halves.push_back(std::move(sample));
  }
  samples.insert(samples.end(), halves.begin(), halves.end());
  return samples;
}

// Operators that never reach a device: they move and compute nothing, or make constants.
const std::set<std::string> kWithoutKernels = {"dropout",         "shape",           "size", "identity", "reshape", "full",
                                               "identity_kernel", "identity_matrix", "iota", "range"};

std::vector<double> values(const Operand& operand, unsigned seed) {
  std::mt19937 random(seed);
  std::size_t n = 1;
  for (const std::int64_t d : operand.dims) n *= static_cast<std::size_t>(d);
  std::vector<double> values(n);
  for (double& value : values) {
    value = std::uniform_real_distribution<double>(operand.low, operand.high)(random);
    if (!ir::is_floating(operand.type)) {
      value = std::floor(std::uniform_real_distribution<double>(operand.low, operand.high + 1)(random));
    } else if (operand.type == DataType::float16) {
      value = ir::half_to_float(ir::float_to_half(static_cast<float>(value)));
    } else if (operand.type == DataType::float32) {
      value = static_cast<float>(value);
    }
  }
  return values;
}

eval::Tensor tensor(const Operand& operand, const std::vector<double>& values) {
  if (ir::is_floating(operand.type)) return eval::Tensor::of_doubles(operand.type, operand.dims, values);
  return eval::Tensor::of_integers(operand.type, operand.dims, std::vector<std::int64_t>(values.begin(), values.end()));
}

std::string text(const Sample& sample) {
  std::string text = sample.op;
  for (const Operand& operand : sample.operands) text += fmt::format(" {}[{}]", ir::name(operand.type), fmt::join(operand.dims, ","));
  return text;
}

TEST(CpuOperators, EachHasASampleOrNoKernel) {
  std::set<std::string> sampled;
  for (const Sample& sample : samples()) sampled.insert(sample.op);
  for (const ops::Operator& op : ops::all_operators()) {
    const std::string name(op.signature.name);
    EXPECT_NE(sampled.contains(name), kWithoutKernels.contains(name)) << name << ": add a sample of it to this test";
  }
}

TEST(CpuOperators, ComputeWhatTheirIndexNotationSays) {
  const auto device = open_cpu_device();
  ASSERT_TRUE(device);
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(text(sample));
    ir::Arena arena;
    std::vector<ir::ValueId> operands;
    eval::Bindings bindings;
    std::vector<std::vector<double>> inputs;
    for (std::size_t k = 0; k < sample.operands.size(); ++k) {
      const Operand& operand = sample.operands[k];
      operands.push_back(arena.input(ir::TensorType{operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(k)));
      inputs.push_back(values(operand, static_cast<unsigned>(k)));
      bindings.emplace(operands.back(), tensor(operand, inputs.back()));
    }
    const auto value = ops::apply(arena, sample.op, operands, sample.attributes);
    EXPECT_TRUE(value) << value.error().text();
    if (!value) continue;
    const auto spec = kernel_of(arena, value->node, [](ir::SymbolId) { return std::nullopt; });
    ASSERT_TRUE(spec) << spec.error().text();
    if (spec->spec.kernel == "none") continue;
    auto kernels = (*device)->build(spec->spec, Layout::plain);
    if (!kernels) {
      ADD_FAILURE() << kernels.error().text();
      continue;
    }
    const auto expected = eval::evaluate(arena, ir::Graph{{*value}}, bindings);
    ASSERT_TRUE(expected) << expected.error().text();
    const auto wanted = eval::doubles((*expected)[0]);
    ASSERT_TRUE(wanted);
    for (const auto& kernel : *kernels) {
      SCOPED_TRACE(kernel->implementation());
      for (std::size_t k = 0; k < spec->operands.size(); ++k) {
        const auto place = static_cast<std::size_t>(std::ranges::find(operands, spec->operands[k]) - operands.begin());
        ASSERT_TRUE(kernel->write(k, inputs[place]));
      }
      kernel->run();
      const auto found = kernel->read(0);
      ASSERT_TRUE(found) << found.error().text();
      ASSERT_EQ(found->size(), wanted->size());
      const double tolerance = arena.type(*value).data_type == DataType::float16 ? 2e-3 : 2e-5;
      for (std::size_t i = 0; i < found->size(); ++i) {
        EXPECT_NEAR((*found)[i], (*wanted)[i], tolerance * (1 + std::abs((*wanted)[i]))) << "element " << i;
        if (HasFailure()) break;
      }
    }
  }
}

}  // namespace
}  // namespace xflow::cost::cpu
