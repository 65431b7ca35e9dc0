#include "tests/eval/operator_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>
#include <set>

#include "src/ir/constant.h"

namespace xflow::testing {

using ir::DataType;
using Dims = std::vector<std::int64_t>;

namespace {

ir::AttributeValue attribute_list(const Dims& values) { return ir::polys(values); }

}  // namespace

std::vector<Sample> samples() {
  const Operand x{DataType::float32, {2, 4, 5, 6}};
  const Operand positive{DataType::float32, {2, 4, 5, 6}, 0.5, 2};
  const Operand flags{DataType::boolean, {2, 4, 5, 6}, 0, 1};
  const Operand small{DataType::int64, {2, 5}, 0, 2};
  const ir::Attributes window = {{"strides", attribute_list({1, 1})},
                                 {"pads", attribute_list({1, 1, 1, 1})},
                                 {"dilations", attribute_list({1, 1})},
                                 {"groups", ir::Poly(1)}};
  ir::Attributes grouped = window;
  grouped.set("groups", ir::Poly(2));
  const Operand bytes{DataType::uint8, {2, 4, 5, 6}, 0, 20};
  const Operand step{DataType::float32, {}, 0.05, 0.1};
  const ir::Attributes last = {{"axes", attribute_list({3})}, {"keep_dims", ir::Poly(1)}};
  const ir::Attributes axis = {{"axis", ir::Poly(1)}};
  std::vector<Sample> samples = {
      {"average_pool",
       {x},
       {{"kernel", attribute_list({3, 3})}, {"strides", attribute_list({1, 1})}, {"pads", attribute_list({1, 1, 1, 1})}}},
      {"cast", {{DataType::int64, {3, 7}, -9, 9}}, {{"to", DataType::float32}}},
      {"clip", {x}, {{"min", ir::Real(-1)}, {"max", ir::Real(1)}}},
      {"concat", {x, x}, axis},
      {"conv", {x, {DataType::float32, {8, 4, 3, 3}}}, window},
      {"conv_integer", {bytes, {DataType::int8, {8, 4, 3, 3}, -9, 9}, {DataType::uint8, {}, 1, 9}, {DataType::int8, {8}, -3, 3}}, window},
      {"conv_integer", {bytes, {DataType::int8, {8, 4, 3, 3}, -9, 9}}, window},
      {"conv_transpose", {x, {DataType::float32, {4, 8, 3, 3}}}, window},
      {"cumsum", {x}, axis},
      {"cumsum", {{DataType::int64, {4, 7}, -9, 9}}, {{"axis", ir::Poly(1)}, {"exclusive", ir::Poly(1)}, {"reverse", ir::Poly(1)}}},
      {"dequantize_linear", {bytes, step, {DataType::uint8, {}, 1, 9}}},
      {"dequantize_linear", {{DataType::int8, {3, 4}, -128, 127}, {DataType::float32, {4}, 0.1, 1}, {DataType::int8, {4}, -5, 5}}, axis},
      {"dequantize_linear", {{DataType::int32, {3, 4}, -999, 999}, step}},
      {"dequantize_linear",
       {{DataType::int16, {3, 7}, -999, 999}, {DataType::float32, {3, 3}, 0.1, 1}},
       {{"axis", ir::Poly(1)}, {"block", ir::Poly(3)}}},
      {"dynamic_quantize_linear", {x}},
      {"depth_to_space", {x}, {{"block", ir::Poly(2)}, {"order", std::string("depth_first")}}},
      {"expand", {{DataType::float32, {4, 1, 6}}}, {{"shape", attribute_list({2, 4, 5, 6})}}},
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
      {"matmul_integer", {bytes, {DataType::int8, {6, 3}, -9, 9}, {DataType::uint8, {5}, 1, 9}, {DataType::int8, {3}, -3, 3}}},
      {"matmul_integer", {{DataType::int8, {6}, -9, 9}, {DataType::uint8, {2, 6, 3}, 0, 9}}},
      {"max_pool", {x}, {{"kernel", attribute_list({3, 3})}, {"strides", attribute_list({2, 2})}, {"pads", attribute_list({1, 1, 1, 1})}}},
      {"mod", {{DataType::int64, {3, 7}, -9, 9}, {DataType::int64, {7}, 1, 5}}},
      {"one_hot", {small}, {{"axis", ir::Poly(1)}, {"depth", ir::Poly(4)}, {"on", ir::Real(3)}, {"off", ir::Real(-1)}}},
      {"pad", {x}, {{"begins", attribute_list({0, 0, 1, 2})}, {"ends", attribute_list({0, 0, 2, 1})}}},
      {"pad", {x}, {{"begins", attribute_list({0, 0, 1, 2})}, {"ends", attribute_list({0, 0, 2, 1})}, {"mode", std::string("reflect")}}},
      {"pad", {x}, {{"begins", attribute_list({0, 0, 1, 2})}, {"ends", attribute_list({0, 0, 2, 1})}, {"mode", std::string("edge")}}},
      {"pad", {x}, {{"begins", attribute_list({0, 0, 1, 2})}, {"ends", attribute_list({0, 0, 2, 1})}, {"mode", std::string("wrap")}}},
      {"prelu", {x, {DataType::float32, {4, 1, 1}}}},
      {"qlinear_conv",
       {bytes,
        step,
        {DataType::uint8, {}, 1, 9},
        {DataType::int8, {8, 2, 3, 3}, -9, 9},
        {DataType::float32, {8}, 0.1, 1},
        {DataType::int8, {8}, -3, 3},
        {DataType::float32, {}, 1, 2},
        {DataType::uint8, {}, 99, 140},
        {DataType::int32, {8}, -99, 99}},
       grouped},
      {"qlinear_matmul",
       {bytes,
        step,
        {DataType::uint8, {}, 1, 9},
        {DataType::int8, {6, 3}, -9, 9},
        {DataType::float32, {3}, 0.1, 1},
        {DataType::int8, {3}, -3, 3},
        {DataType::float32, {}, 1, 2},
        {DataType::int8, {}, -9, 9}}},
      {"quantize_linear", {x, step, {DataType::uint8, {}, 1, 9}}, {{"to", DataType::uint8}}},
      {"quantize_linear",
       {x, {DataType::float32, {4}, 0.01, 0.1}, {DataType::int8, {4}, -5, 5}},
       {{"to", DataType::int8}, {"axis", ir::Poly(1)}}},
      {"quantize_linear",
       {{DataType::float32, {3, 7}}, {DataType::float32, {3, 3}, 0.01, 0.1}},
       {{"to", DataType::int16}, {"axis", ir::Poly(1)}, {"block", ir::Poly(3)}}},
      {"resize",
       {{DataType::uint8, {1, 2, 5, 6}, 0, 9}},
       {{"numerators", attribute_list({1, 1, 3, 5})}, {"denominators", attribute_list({1, 1, 2, 3})}}},
      {"resize",
       {x},
       {{"numerators", attribute_list({1, 1, 2, 2})},
        {"denominators", attribute_list({1, 1, 1, 1})},
        {"mode", std::string("linear")},
        {"coordinates", std::string("half_pixel")}}},
      {"select", {flags, x, x}},

      {"slice",
       {x},
       {{"starts", attribute_list({0, 1, 0, 5})}, {"sizes", attribute_list({2, 2, 5, 5})}, {"steps", attribute_list({1, 2, 1, -1})}}},
      {"softmax", {x}, axis},
      {"space_to_depth", {{DataType::float32, {2, 4, 6, 8}}}, {{"block", ir::Poly(2)}}},
      {"split", {x}, {{"axis", ir::Poly(1)}, {"sizes", attribute_list({1, 3})}}},
      {"tile", {x}, {{"repeats", attribute_list({1, 2, 1, 2})}}},
      {"transpose", {x}, {{"perm", attribute_list({0, 2, 3, 1})}}},
      {"trilu", {x}},
      {"trilu", {x}, {{"upper", ir::Poly(0)}, {"diagonal", ir::Poly(-1)}}},
      {"full", {}, {{"shape", attribute_list({3, 4})}, {"value", ir::Real(3)}}},
      {"full", {}, {{"shape", attribute_list({5})}, {"value", ir::Real(7)}, {"data_type", DataType::int64}}},
      {"iota", {}, {{"shape", attribute_list({3, 4})}, {"axis", ir::Poly(1)}}},
      {"range", {}, {{"start", ir::Poly(3)}, {"step", ir::Poly(-2)}, {"size", ir::Poly(6)}}},
      {"identity_matrix", {}, {{"size", ir::Poly(4)}}},
      {"identity_kernel", {}, {{"channels", ir::Poly(4)}, {"groups", ir::Poly(2)}, {"kernel", attribute_list({3, 3})}}},
      {"pad", {x}, {{"begins", attribute_list({0, 0, 1, 2})}, {"ends", attribute_list({0, 0, 2, 1})}, {"value", ir::Real(-2)}}},
      {"pad",
       {{DataType::int64, {3, 7}, -9, 9}},
       {{"begins", attribute_list({1, 0})}, {"ends", attribute_list({0, 2})}, {"value", ir::Real(5)}}},
      {"average_pool",
       {x},
       {{"kernel", attribute_list({3, 2})},
        {"strides", attribute_list({2, 2})},
        {"pads", attribute_list({1, 1, 1, 0})},
        {"count_include_pad", ir::Poly(1)}}},
      {"average_pool",
       {x},
       {{"kernel", attribute_list({2, 2})}, {"strides", attribute_list({1, 1})}, {"dilations", attribute_list({2, 3})}}},
      {"average_pool", {{DataType::float64, {2, 4, 5, 6}}}, {{"kernel", attribute_list({3, 3})}, {"strides", attribute_list({1, 1})}}},
      {"max_pool", {x}, {{"kernel", attribute_list({2, 2})}, {"strides", attribute_list({1, 1})}, {"dilations", attribute_list({2, 3})}}},
      {"max_pool", {{DataType::int8, {2, 4, 5, 6}, -9, 9}}, {{"kernel", attribute_list({3, 3})}, {"strides", attribute_list({2, 2})}}},
      {"max_pool", {{DataType::float32, {2, 4, 9}}}, {{"kernel", attribute_list({3})}, {"strides", attribute_list({2})}}},
      {"conv", {{DataType::float32, {2, 4, 9}}, {DataType::float32, {8, 2, 3}}}, {{"groups", ir::Poly(2)}}},
      {"conv", {{DataType::float64, {2, 4, 5, 6}}, {DataType::float64, {8, 4, 3, 3}}}, window},
      {"conv_transpose",
       {x, {DataType::float32, {4, 4, 3, 3}}},
       {{"strides", attribute_list({2, 2})},
        {"pads", attribute_list({1, 1, 1, 1})},
        {"groups", ir::Poly(2)},
        {"output_padding", attribute_list({1, 1})}}},
      {"lrn", {x}, {{"size", ir::Poly(5)}, {"bias", ir::Real(2)}}},
      {"mod", {{DataType::int64, {3, 7}, -9, 9}, {DataType::int64, {7}, 1, 5}}, {{"fmod", ir::Poly(1)}}},
      {"mod", {x, positive}, {{"fmod", ir::Poly(1)}}},
      {"cast", {{DataType::float32, {3, 7}, -9, 9}}, {{"to", DataType::int64}}},
      {"cast", {{DataType::float32, {3, 7}, -9, 9}}, {{"to", DataType::boolean}}},
      {"cast", {{DataType::boolean, {3, 7}, 0, 1}}, {{"to", DataType::float32}}},
      {"cast", {{DataType::int32, {3, 7}, 0, 300}}, {{"to", DataType::uint8}}},
      {"cast", {x}, {{"to", DataType::float16}}},
      {"cast", {x}, {{"to", DataType::float64}}},
      {"concat", {{DataType::boolean, {2, 3}, 0, 1}, {DataType::boolean, {2, 4}, 0, 1}}, axis},
      {"gather", {{DataType::int64, {4, 5}, -9, 9}, {DataType::int32, {3}, -4, 3}}, {{"axis", ir::Poly(0)}}},
      {"gather_elements", {x, {DataType::int32, {2, 3, 4, 6}, -4, 3}}, axis},
      {"select", {{DataType::boolean, {5, 1}, 0, 1}, x, {DataType::float32, {6}}}},
      {"select", {flags, {DataType::int64, {2, 4, 5, 6}, -9, 9}, {DataType::int64, {}, -9, 9}}},
      {"matmul", {{DataType::float32, {2, 1, 5, 6}}, {DataType::float32, {3, 6, 4}}}},
      {"matmul", {{DataType::int32, {3, 1, 5, 6}, -9, 9}, {DataType::int32, {2, 6, 4}, -9, 9}}},
      {"cumsum", {x}, {{"axis", ir::Poly(3)}, {"reverse", ir::Poly(1)}}},
      {"one_hot", {{DataType::int64, {5}, -6, 9}}, {{"axis", ir::Poly(0)}, {"depth", ir::Poly(4)}}},
      {"depth_to_space", {x}, {{"block", ir::Poly(2)}, {"order", std::string("column_first")}}},
      {"transpose", {{DataType::boolean, {3, 4, 5}, 0, 1}}, {{"perm", attribute_list({2, 0, 1})}}},
      {"reduce_sum", {x}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(0)}}},
      {"reduce_mean", {x}, {{"axes", attribute_list({2, 3})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_mean", {x}, {{"axes", attribute_list({0, 2})}, {"keep_dims", ir::Poly(0)}}},
      {"reduce_min", {{DataType::int64, {3, 8}, -9, 9}}, {{"axes", attribute_list({0})}, {"keep_dims", ir::Poly(0)}}},
      {"reduce_l2", {x}, {{"axes", attribute_list({0, 1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_l2", {{DataType::float64, {3, 8}}}, {{"axes", attribute_list({0})}, {"keep_dims", ir::Poly(1)}}},
      {"softmax", {{DataType::float64, {3, 8}}}, axis},
      {"reduce_sum", {{DataType::int64, {3, 8}, -9, 9}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_max", {{DataType::int32, {3, 8}, -9, 9}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_mean", {{DataType::float64, {3, 8}}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"pow", {positive, positive}},
      {"div", {{DataType::int64, {3, 7}, -9, 9}, {DataType::int64, {7}, 1, 5}}},
      // Few results of many terms.
      {"reduce_sum", {{DataType::float32, {3, 200}}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(0)}}},
      {"reduce_sum", {{DataType::int32, {2, 5, 40}, -9, 9}}, {{"axes", attribute_list({1, 2})}, {"keep_dims", ir::Poly(0)}}},
      {"reduce_max", {{DataType::int64, {2, 100}, -9, 9}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_max", {{DataType::float32, {100, 2}}}, {{"axes", attribute_list({0})}, {"keep_dims", ir::Poly(1)}}},
      {"reduce_mean", {{DataType::float16, {2, 128}}}, {{"axes", attribute_list({1})}, {"keep_dims", ir::Poly(1)}}},
      {"softmax", {{DataType::float32, {2, 200}}}, axis},
      {"log_softmax", {{DataType::float64, {2, 200}}}, axis},
      {"matmul", {{DataType::float32, {1, 300}}, {DataType::float32, {300, 4}}}},
      {"hard_sigmoid", {x}},
      {"leaky_relu", {x}},
      {"elu", {x}},
  };
  // Resizing in all its kinds, to larger, smaller and equal sizes.
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}) {
      for (const Dims& numerators : {Dims{1, 1, 2, 2}, Dims{1, 1, 3, 2}, Dims{1, 1, 2, 1}}) {
        const Dims denominators = numerators[2] == 3 ? Dims{1, 1, 2, 3} : numerators[3] == 1 ? Dims{1, 1, 1, 2} : Dims{1, 1, 1, 1};
        samples.push_back({"resize",
                           {{DataType::float32, {1, 3, 4, 6}}},
                           {{"numerators", attribute_list(numerators)},
                            {"denominators", attribute_list(denominators)},
                            {"mode", std::string(mode)},
                            {"coordinates", std::string(coordinates)}}});
      }
    }
  }
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    samples.push_back({"resize",
                       {{DataType::float32, {1, 3, 4, 6}}},
                       {{"numerators", attribute_list({1, 1, 2, 5})},
                        {"denominators", attribute_list({1, 1, 1, 3})},
                        {"mode", std::string("nearest")},
                        {"coordinates", std::string("asymmetric")},
                        {"rounding", std::string(rounding)}}});
  }
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

std::string text_of(const Sample& sample) {
  std::string text = sample.op;
  for (const Operand& operand : sample.operands) text += fmt::format(" {}[{}]", ir::name(operand.type), fmt::join(operand.dims, ","));
  return text;
}

}  // namespace xflow::testing
