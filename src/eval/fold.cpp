// Folds constant expressions. Chains of pointwise operations and data movements become one expression, which
// is evaluated in tiles of the result, so that large weights are never stored in double.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace xflow::eval {

namespace {

using ops::Expr;
using ops::ExprKind;

constexpr std::int64_t kTile = std::int64_t{1} << 20;  // elements computed at a time
constexpr std::size_t kDeepest = 64;                   // nested operations in one expression, at most

// Whether an index of the expression is an element of an operand. Such an operand must be a tensor.
bool asks_for_elements(const ir::Symbols& symbols, const Expr& expr) {
  std::vector<ir::Poly> polys = expr->indices;
  polys.push_back(expr->integer);
  polys.push_back(expr->extent);
  for (const ops::Atom& atom : expr->condition) polys.push_back(atom.poly);
  for (const ir::Poly& poly : polys) {
    if (poly.is_poisoned()) return true;
    for (const ir::SymbolId id : symbols.all_symbols(poly)) {
      if (symbols.info(id).kind == ir::SymbolKind::element) return true;
    }
  }
  return std::any_of(expr->arguments.begin(), expr->arguments.end(), [&](const Expr& e) { return asks_for_elements(symbols, e); });
}

class Folder {
 public:
  Folder(ir::Arena& arena, ir::ValueId value, const Options& options) : arena_(arena), uses_(arena, ir::Graph{{value}}) {
    options_.stop = options.stop;
    options_.most_elements = options.most_elements;
    options_.bytes_left = options.bytes_left;
  }

  Result<ir::Constant> run(ir::ValueId value) {
    const ir::Node& node = arena_.node(value);
    if (node.kind == ir::NodeKind::constant) return node.constant;
    const ir::TensorType type = arena_.type(value);
    const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
    if (!dims) return fail(ErrorCode::unsupported, fmt::format("cannot fold {}", ir::to_string(arena_.symbols(), type)));
    std::vector<ir::Poly> index;
    index.reserve(dims->size());
    for (std::size_t k = 0; k < dims->size(); ++k) index.emplace_back(arena_.symbols().fresh(ir::SymbolKind::index, "i"));
    const Expr expression = expand(value, index, 0);
    XFLOW_CHECK(compute_leaves());
    return evaluate_in_tiles(expression, index, type.data_type, *dims);
  }

 private:
  // Whether the expression of a value is inlined into its user: it has one use and is pointwise or moves
  // data.
  bool goes_inside(ir::ValueId value, std::size_t depth) const {
    const ir::Node& node = arena_.node(value);
    if (node.kind != ir::NodeKind::operation || depth >= kDeepest || uses_.use_count(value) != 1) return false;
    const ops::Signature& signature = ops::get(node.op).signature;
    return signature.pointwise || signature.moves_data;
  }

  Expr expand(ir::ValueId value, const std::vector<ir::Poly>& at, std::size_t depth) {
    std::vector<ir::Poly> index;
    const Expr expression = ops::semantics_of(arena_, value.node, static_cast<int>(value.output), index);
    ir::Symbols::Substitution substitution;
    for (std::size_t k = 0; k < index.size(); ++k) substitution[*index[k].as_symbol()] = at[k];
    const std::vector<ir::ValueId> operands = arena_.node(value).operands;
    // Element symbols refer to operands by number, so the operands must keep their numbers. Such an
    // operation comes first and its operands are all leaves.
    const bool elements = asks_for_elements(arena_.symbols(), expression);
    if (elements && (depth > 0 || !leaves_.empty())) return leaf_read(value, at);
    if (elements) leaves_ = operands;
    Expr result = rewrite(expression, substitution, operands, depth, elements);
    if (ir::is_floating(arena_.type(value).data_type)) return result;
    return ops::Builder(arena_.symbols()).cast(arena_.type(value).data_type, std::move(result));
  }

  Expr leaf_read(ir::ValueId value, std::vector<ir::Poly> at) {
    auto leaf = std::find(leaves_.begin(), leaves_.end(), value);
    if (leaf == leaves_.end()) leaf = leaves_.insert(leaves_.end(), value);
    return ops::Builder(arena_.symbols()).read(static_cast<int>(leaf - leaves_.begin()), std::move(at));
  }

  Expr rewrite(const Expr& expr, const ir::Symbols::Substitution& substitution, const std::vector<ir::ValueId>& operands, std::size_t depth,
               bool leaves_only) {
    ir::Symbols& symbols = arena_.symbols();
    ops::ExprNode node = *expr;
    node.integer = symbols.substitute(node.integer, substitution);
    node.extent = symbols.substitute(node.extent, substitution);
    for (ir::Poly& poly : node.indices) poly = symbols.substitute(poly, substitution);
    for (ops::Atom& atom : node.condition) atom.poly = symbols.substitute(atom.poly, substitution);
    if (node.kind == ExprKind::read) {
      const ir::ValueId operand = operands[static_cast<std::size_t>(node.operand)];
      if (!leaves_only && goes_inside(operand, depth)) return expand(operand, node.indices, depth + 1);
      return leaf_read(operand, node.indices);
    }
    for (Expr& argument : node.arguments) argument = rewrite(argument, substitution, operands, depth, leaves_only);
    return std::make_shared<const ops::ExprNode>(std::move(node));
  }

  Result<void> compute_leaves() {
    ir::Graph graph;
    for (const ir::ValueId leaf : leaves_) {
      if (!arena_.is_absent(leaf)) graph.outputs.push_back(leaf);
    }
    XFLOW_TRY(std::vector<Tensor> tensors, evaluate(arena_, graph, {}, options_));
    std::size_t next = 0;
    for (const ir::ValueId leaf : leaves_) tensors_.push_back(arena_.is_absent(leaf) ? Tensor{} : std::move(tensors[next++]));
    return {};
  }

  Result<ir::Constant> evaluate_in_tiles(const Expr& expression, const std::vector<ir::Poly>& index, ir::DataType type,
                                         const std::vector<std::int64_t>& dims) {
    std::vector<const Tensor*> operands;
    operands.reserve(tensors_.size());
    for (const Tensor& tensor : tensors_) operands.push_back(&tensor);
    std::int64_t row = 1;
    for (std::size_t k = 1; k < dims.size(); ++k) row *= dims[k];
    const std::int64_t rows = dims.empty() ? 1 : dims[0];
    const std::int64_t step = std::max<std::int64_t>(1, kTile / std::max<std::int64_t>(row, 1));
    if (rows <= step) {
      XFLOW_TRY(const Tensor tensor, evaluate(arena_.symbols(), expression, index, type, dims, operands, options_));
      return to_constant(tensor);
    }
    std::uint64_t count = 1;
    for (const std::int64_t dim : dims)
      if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count) || count > options_.most_elements)
        return fail(ErrorCode::limit,
                    fmt::format("a tensor of shape [{}] has more than {} elements", fmt::join(dims, ","), options_.most_elements));
    std::vector<std::byte> bytes;
    bytes.reserve(ir::storage_bytes(type, static_cast<std::uint64_t>(rows * row)));
    for (std::int64_t first = 0; first < rows; first += step) {
      std::vector<std::int64_t> part = dims;
      part[0] = std::min(step, rows - first);
      const ir::Symbols::Substitution shift = {{*index[0].as_symbol(), index[0] + ir::Poly(first)}};
      XFLOW_TRY(const Tensor tensor, evaluate(arena_.symbols(), shifted(expression, shift), index, type, part, operands, options_));
      XFLOW_TRY(const ir::Constant constant, to_constant(tensor));
      XFLOW_TRY(const auto part_bytes, constant.source->bytes());
      bytes.insert(bytes.end(), part_bytes.begin(), part_bytes.end());
    }
    return ir::Constant{type, dims, ir::owned_bytes(std::move(bytes))};
  }

  Expr shifted(const Expr& expr, const ir::Symbols::Substitution& shift) {
    ir::Symbols& symbols = arena_.symbols();
    ops::ExprNode node = *expr;
    node.integer = symbols.substitute(node.integer, shift);
    node.extent = symbols.substitute(node.extent, shift);
    for (ir::Poly& poly : node.indices) poly = symbols.substitute(poly, shift);
    for (ops::Atom& atom : node.condition) atom.poly = symbols.substitute(atom.poly, shift);
    for (Expr& argument : node.arguments) argument = shifted(argument, shift);
    return std::make_shared<const ops::ExprNode>(std::move(node));
  }

  ir::Arena& arena_;
  ir::Uses uses_;
  Options options_;
  std::vector<ir::ValueId> leaves_;
  std::vector<Tensor> tensors_;
};

}  // namespace

Result<ir::Constant> fold(ir::Arena& arena, ir::ValueId value, const Options& options) { return Folder(arena, value, options).run(value); }

}  // namespace xflow::eval
