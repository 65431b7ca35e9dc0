#include "src/onnx/lift/opaque_type.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/ir/data_type_from_number.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {
namespace {

using ir::DataType;
using ir::Poly;
using ir::TensorType;

// Operators whose result has the shape of the first operand and, unless attribute dtype says otherwise, its
// element type.
constexpr std::array<std::string_view, 42> kLikeOperand = {"Acos",
                                                           "Acosh",
                                                           "Asin",
                                                           "Asinh",
                                                           "Atan",
                                                           "Atanh",
                                                           "BatchNormalization",
                                                           "Bernoulli",

                                                           "BitwiseNot",
                                                           "Celu",
                                                           "Clip",
                                                           "Cosh",
                                                           "CumProd",
                                                           "CumSum",
                                                           "Dropout",
                                                           "Elu",
                                                           "GroupNormalization",
                                                           "Hardmax",
                                                           "InstanceNormalization",
                                                           "LayerNormalization",
                                                           "LogSoftmax",
                                                           "LpNormalization",
                                                           "LRN",
                                                           "MeanVarianceNormalization",
                                                           "Mish",
                                                           "RandomNormalLike",
                                                           "RandomUniformLike",
                                                           "ReverseSequence",
                                                           "RMSNormalization",
                                                           "RotaryEmbedding",
                                                           "Round",
                                                           "Scatter",
                                                           "ScatterElements",
                                                           "ScatterND",
                                                           "Selu",
                                                           "Shrink",
                                                           "Sinh",
                                                           "Softmax",
                                                           "Softsign",
                                                           "Tan",
                                                           "ThresholdedRelu",
                                                           "Trilu"};

// Infers the types of the outputs of one node.
class Typer {
 public:
  Typer(ir::Arena& arena, const Node& node, std::span<const ir::ValueId> operands) : arena_(arena), node_(node), operands_(operands) {}

  std::optional<TensorType> run(std::uint32_t output) {
    const std::string_view op = node_.op_type;
    const TensorType* x = operand(0);
    if (x == nullptr || !x->ranked || x->data_type == DataType::undefined) return std::nullopt;
    if (op == "QuantizeLinear" || op == "DequantizeLinear" || op == "DynamicQuantizeLinear") return quantized(*x, output);
    if (op == "LSTM" || op == "GRU" || op == "RNN") return recurrent(*x, output);
    if (op == "TopK") return with_axis(*x, fresh(), output == 0 ? x->data_type : DataType::int64, -1);
    if (op == "Dropout" && output == 1) return TensorType{DataType::boolean, true, x->shape};
    if (output != 0) return std::nullopt;
    if (std::find(kLikeOperand.begin(), kLikeOperand.end(), op) != kLikeOperand.end()) {
      const std::int64_t number = integer("dtype", 0);  // element type of random numbers
      return TensorType{number != 0 ? ir::data_type_from_number(number) : x->data_type, true, x->shape};
    }
    if (op == "IsInf" || op == "IsNaN") return TensorType{DataType::boolean, true, x->shape};
    if (op == "ArgMax" || op == "ArgMin") return arg_extremum(*x);
    if (op == "NonZero") return TensorType{DataType::int64, true, {Poly(static_cast<std::int64_t>(x->rank())), fresh()}};
    if (op == "NonMaxSuppression") return TensorType{DataType::int64, true, {fresh(), Poly(3)}};
    if (op == "Compress") return compress(*x);
    if (op == "MatMulInteger" || op == "QLinearMatMul" || op == "ConvInteger" || op == "QLinearConv") return integer_product(*x);
    if (op == "BitwiseAnd" || op == "BitwiseOr" || op == "BitwiseXor" || op == "BitShift") return broadcast(*x);
    if (op == "Slice" || op == "Pad" || op == "Tile" || op == "Resize" || op == "Upsample") return of_rank(x->data_type, x->rank());
    if (op == "Reshape") return reshaped(*x);
    if (op == "GridSample") return grid_sample(*x);
    if (op.substr(0, 6) == "Reduce") return reduced(*x);
    return std::nullopt;
  }

 private:
  const TensorType* operand(std::size_t k) const {
    return k < operands_.size() && !arena_.is_absent(operands_[k]) ? &arena_.type(operands_[k]) : nullptr;
  }
  Poly fresh() { return Poly(arena_.symbols().fresh(ir::SymbolKind::dimension, node_.op_type)); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const Attribute* attribute = node_.find(name);
    return attribute == nullptr ? otherwise : attribute->integer().value_or(otherwise);
  }
  TensorType of_rank(DataType data_type, std::size_t rank) {
    TensorType result{data_type, true, {}};
    for (std::size_t k = 0; k < rank; ++k) result.shape.push_back(fresh());
    return result;
  }
  // Returns x with another size along attribute `axis`.
  std::optional<TensorType> with_axis(const TensorType& x, Poly size, DataType data_type, std::int64_t otherwise) const {
    std::int64_t axis = integer("axis", otherwise);
    if (axis < 0) axis += static_cast<std::int64_t>(x.rank());
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.rank())) return std::nullopt;
    TensorType result{data_type, true, x.shape};
    result.shape[static_cast<std::size_t>(axis)] = std::move(size);
    return result;
  }

  std::optional<TensorType> quantized(const TensorType& x, std::uint32_t output) const {
    if (node_.op_type == "DynamicQuantizeLinear") {
      if (output == 1) return TensorType{DataType::float32, true, {}};
      return TensorType{DataType::uint8, true, output == 0 ? x.shape : ir::Shape()};
    }
    if (output != 0) return std::nullopt;
    const std::int64_t number = integer("output_dtype", 0);
    TensorType result = x;
    if (node_.op_type == "QuantizeLinear") {
      // y = saturate(round(x / scale) + zero_point): the type of the zero point, else output_dtype (opset
      // 21), else uint8.
      result.data_type = number != 0 ? ir::data_type_from_number(number) : DataType::uint8;
      if (const TensorType* zero = operand(2)) result.data_type = zero->data_type;
      return result;
    }
    // y = (x - zero_point) * scale: output_dtype (opset 23), else the type of the scale.
    const TensorType* scale = operand(1);
    if (scale == nullptr) return std::nullopt;
    result.data_type = number != 0 ? ir::data_type_from_number(number) : scale->data_type;
    return result;
  }

  // X[sequence, batch, input] -> Y[sequence, directions, batch, hidden], Y_h and
  // Y_c[directions, batch, hidden]; with layout 1 X[batch, sequence, input] ->
  // Y[batch, sequence, directions, hidden], Y_h and Y_c[batch, directions, hidden].
  std::optional<TensorType> recurrent(const TensorType& x, std::uint32_t output) const {
    if (x.rank() != 3) return std::nullopt;
    const TensorType* r = operand(2);  // [directions, gates * hidden, hidden]
    if (r == nullptr || !r->ranked || r->rank() != 3) return std::nullopt;
    const Poly& directions = r->shape[0];
    const Poly& hidden = r->shape[2];
    const Poly& a = x.shape[0];
    const Poly& b = x.shape[1];
    if (integer("layout", 0) == 0) {
      if (output == 0) return TensorType{x.data_type, true, {a, directions, b, hidden}};
      return TensorType{x.data_type, true, {directions, b, hidden}};
    }
    if (output == 0) return TensorType{x.data_type, true, {a, b, directions, hidden}};
    return TensorType{x.data_type, true, {a, directions, hidden}};
  }

  std::optional<TensorType> arg_extremum(const TensorType& x) const {
    auto result = with_axis(x, Poly(1), DataType::int64, 0);
    if (!result || integer("keepdims", 1) != 0) return result;
    std::int64_t axis = integer("axis", 0);
    if (axis < 0) axis += static_cast<std::int64_t>(x.rank());
    result->shape.erase(result->shape.begin() + axis);
    return result;
  }

  std::optional<TensorType> compress(const TensorType& x) {
    if (node_.find("axis") == nullptr) return of_rank(x.data_type, 1);
    return with_axis(x, fresh(), x.data_type, 0);
  }

  std::optional<TensorType> integer_product(const TensorType& x) {
    const bool is_scaled = node_.op_type.substr(0, 7) == "QLinear";
    const TensorType* w = operand(is_scaled ? 3 : 1);
    const TensorType* zero = operand(7);
    if (w == nullptr || !w->ranked || (is_scaled && zero == nullptr)) return std::nullopt;
    const DataType data_type = is_scaled ? zero->data_type : DataType::int32;
    TensorType result = of_rank(data_type, x.rank());
    if (node_.op_type == "ConvInteger" || node_.op_type == "QLinearConv") {
      if (x.rank() < 3 || w->rank() != x.rank()) return std::nullopt;
      result.shape[0] = x.shape[0];
      result.shape[1] = w->shape[0];
      return result;
    }
    // [..., M, K] and [..., K, N]: equal ranks, or a matrix on the right.
    if (x.rank() < 2 || w->rank() < 2 || (w->rank() != 2 && w->shape.size() != x.rank())) return std::nullopt;
    for (std::size_t k = 0; k + 2 < x.rank(); ++k)
      result.shape[k] = w->rank() == 2 ? x.shape[k] : arena_.symbols().broadcast(x.shape[k], w->shape[k]);
    result.shape[x.rank() - 2] = x.shape[x.rank() - 2];
    result.shape[x.rank() - 1] = w->shape.back();
    return result;
  }

  std::optional<TensorType> broadcast(const TensorType& x) const {
    const TensorType* y = operand(1);
    if (y == nullptr || !y->ranked || !(y->shape == x.shape)) return std::nullopt;
    return x;
  }

  // The rank is the length of the shape operand.
  std::optional<TensorType> reshaped(const TensorType& x) {
    const TensorType* shape = operand(1);
    if (shape == nullptr || !shape->ranked || shape->rank() != 1) return std::nullopt;
    const auto rank = shape->shape[0].constant();
    if (!rank || *rank < 0 || *rank > 64) return std::nullopt;
    return of_rank(x.data_type, static_cast<std::size_t>(*rank));
  }

  // X[N, C, H, W], grid[N, Ho, Wo, 2] -> [N, C, Ho, Wo], for any number of spatial dimensions.
  std::optional<TensorType> grid_sample(const TensorType& x) const {
    const TensorType* grid = operand(1);
    if (grid == nullptr || !grid->ranked || grid->rank() != x.rank() || x.rank() < 3) return std::nullopt;
    TensorType result = x;
    for (std::size_t k = 2; k < x.rank(); ++k) result.shape[k] = grid->shape[k - 1];
    return result;
  }

  // For axes that are unknown before the run.
  std::optional<TensorType> reduced(const TensorType& x) {
    if (integer("keepdims", 1) == 0) return std::nullopt;
    return of_rank(x.data_type, x.rank());
  }

  ir::Arena& arena_;
  const Node& node_;
  std::span<const ir::ValueId> operands_;
};

// Returns the type that both branches declare. Sizes that differ become fresh symbols.
std::optional<TensorType> branch_type(const Document& document, ir::Symbols& symbols, const Node& node, std::uint32_t output) {
  std::optional<TensorType> result;
  for (const std::string_view name : {"then_branch", "else_branch"}) {
    const Attribute* branch = node.find(name);
    if (branch == nullptr || branch->graphs.size() != 1) return std::nullopt;
    const Graph& body = document.graph(branch->graphs[0]);
    if (output >= body.outputs.size()) return std::nullopt;
    const TensorType type = declared_tensor_type(symbols, body.outputs[output].type, body.outputs[output].name);
    if (!type.ranked || type.data_type == DataType::undefined) return std::nullopt;
    if (!result) {
      result = type;
      continue;
    }
    if (result->data_type != type.data_type || result->rank() != type.rank()) return std::nullopt;
    for (std::size_t k = 0; k < type.rank(); ++k)
      if (!(result->shape[k] == type.shape[k])) result->shape[k] = Poly(symbols.fresh(ir::SymbolKind::dimension, node.outputs[output]));
  }
  return result;
}

// Returns the type of a Constant that the arena cannot hold: strings.
std::optional<TensorType> constant_type(const Document& document, const Node& node) {
  if (const Attribute* value = node.find("value")) {
    const auto tensor = document.tensor(*value);
    if (tensor) return TensorType{tensor->data_type, true, ir::polys(tensor->dims)};
  } else if (node.find("value_string") != nullptr) {
    return TensorType{DataType::string, true, {}};
  } else if (const Attribute* values = node.find("value_strings")) {
    const auto strings = values->strings();
    if (strings) return TensorType{DataType::string, true, {Poly(static_cast<std::int64_t>(strings->size()))}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorType> opaque_output_type(const Document& document, ir::Arena& arena, const Node& node, std::uint32_t output,
                                             std::span<const ir::ValueId> operands) {
  if (!is_default_domain(node.domain)) return std::nullopt;
  if (node.op_type == "Constant") return constant_type(document, node);
  if (operands.empty()) return std::nullopt;
  if (node.op_type == "If") return branch_type(document, arena.symbols(), node, output);
  return Typer(arena, node, operands).run(output);
}

}  // namespace xflow::onnx_io
