#include "src/partition/split_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/ops/expr.h"
#include "src/ops/operator.h"

namespace xflow::partition {
namespace {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;
using ops::Expr;
using ops::ExprKind;

struct Bounds {
  Poly low;
  Poly high;
};

// The largest values of indices, of which 0 is the least.
class IndexRanges {
 public:
  explicit IndexRanges(ir::Symbols& symbols) : symbols_(symbols) {}
  void set(SymbolId index, const Poly& size) { most_.insert_or_assign(index, size - 1); }

  // The range of a polynomial that is linear in indices with known signs of their factors; nullopt for any
  // other.
  std::optional<Bounds> of(const Poly& poly) const {
    if (poly.is_poisoned()) return std::nullopt;
    Bounds bounds{poly.constant_term(), poly.constant_term()};
    for (const ir::PolyTerm& term : poly.terms()) {
      const auto own = of(term);
      if (!own) return std::nullopt;
      bounds.low += own->low;
      bounds.high += own->high;
    }
    return bounds;
  }

 private:
  // A constant times sizes and at most one index.
  std::optional<Bounds> of(const ir::PolyTerm& term) const {
    Bounds bounds{1, 1};
    bool has_index = false;
    for (const ir::Power& power : term.monomial) {
      const auto own = of(power.symbol);
      if (!own) return std::nullopt;
      const bool is_fixed = own->low == own->high;
      if (!is_fixed && (std::exchange(has_index, true) || power.power != 1)) return std::nullopt;
      for (std::uint32_t k = 0; k < power.power; ++k) {
        bounds.low *= own->low;
        bounds.high *= own->high;
      }
    }
    bounds.low *= Poly(term.coefficient);
    bounds.high *= Poly(term.coefficient);
    if (term.coefficient < 0) std::swap(bounds.low, bounds.high);
    return bounds;
  }
  std::optional<Bounds> of(SymbolId symbol) const {
    const ir::SymbolInfo& info = symbols_.info(symbol);
    if (info.kind == SymbolKind::dimension || info.kind == SymbolKind::parameter) return Bounds{Poly(symbol), Poly(symbol)};
    if (info.kind == SymbolKind::index) {
      const auto found = most_.find(symbol);
      if (found == most_.end()) return std::nullopt;
      return Bounds{0, found->second};
    }
    if (info.kind != SymbolKind::floor_div) return std::nullopt;
    const auto own = of(info.arguments[0]);
    if (!own) return std::nullopt;
    return Bounds{symbols_.floor_div(own->low, info.arguments[1]), symbols_.floor_div(own->high, info.arguments[1])};
  }

  ir::Symbols& symbols_;
  std::unordered_map<SymbolId, Poly> most_;
};

// The divisors by which expressions divide what depends on an axis.
class Divisors {
 public:
  Divisors(const ir::Symbols& symbols, SymbolId axis) : symbols_(symbols), axis_(axis) {}
  void visit(const Expr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    add(expr->integer);
    add(expr->extent);
    for (const ops::Atom& atom : expr->condition) add(atom.poly);
    for (const Poly& index : expr->indices) add(index);
    for (const Expr& argument : expr->arguments) visit(argument);
  }
  // A common multiple; nullopt if they are sizes that differ.
  std::optional<Poly> common() const {
    std::int64_t constant = 1;
    std::optional<Poly> open;
    for (const Poly& divisor : found_) {
      if (const auto known = divisor.constant())
        constant = std::lcm(constant, *known);
      else if (open && !(*open == divisor))
        return std::nullopt;
      else
        open = divisor;
    }
    if (open && constant != 1) return std::nullopt;
    return open.value_or(constant);
  }

 private:
  void add(const Poly& poly) {
    if (poly.is_poisoned()) return;
    for (const SymbolId id : symbols_.all_symbols(poly)) {
      const ir::SymbolInfo& info = symbols_.info(id);
      if (info.kind == SymbolKind::floor_div && divides_axis(info.arguments[0])) found_.push_back(least_block(info));
    }
  }
  // The least block of the axis after which the quotient of floor_div(c axis + .., d) grows by a whole
  // number: d / gcd(c, d).
  Poly least_block(const ir::SymbolInfo& quotient) const {
    const Poly& divisor = quotient.arguments[1];
    const auto parts = quotient.arguments[0].linear_in(axis_);
    if (!parts) return divisor;
    const auto factor = parts->first.constant();
    const auto known = divisor.constant();
    if (factor && known && *known > 0) return *known / std::gcd(*factor, *known);
    return exact_divide(divisor, parts->first).value_or(divisor);
  }

  // Elements of integer operands that are read along the axis do not count.
  bool divides_axis(const Poly& poly) const {
    if (poly.mentions(axis_)) return true;
    const auto symbols = poly.symbols();
    return std::ranges::any_of(symbols, [&](SymbolId id) {
      const ir::SymbolInfo& info = symbols_.info(id);
      return info.kind != SymbolKind::element && std::ranges::any_of(info.arguments, [&](const Poly& own) { return divides_axis(own); });
    });
  }

  const ir::Symbols& symbols_;
  const SymbolId axis_;
  std::vector<Poly> found_;
  std::set<const ops::ExprNode*> seen_;
};

// Collects how one axis occurs in an expression.
class AxisReads {
 public:
  AxisReads(ir::Symbols& symbols, const ir::Node& node, SymbolId axis, IndexRanges ranges)
      : symbols_(symbols), node_(node), axis_(axis), ranges_(std::move(ranges)) {}

  void visit(const Expr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    if (expr->kind == ExprKind::integer && depends(expr->integer)) object("computes with its index");
    if (depends(expr->extent)) object("the length of a sum or maximum depends on its index");
    if (expr->kind == ExprKind::sum || expr->kind == ExprKind::maximum) ranges_.set(expr->binder, expr->extent);
    bool decides = false;
    for (const ops::Atom& atom : expr->condition) {
      if (!depends(atom.poly)) continue;
      decides = true;
      conditions_.push_back(atom.poly);
    }
    if (decides && has_reads(expr->arguments[0]) && has_reads(expr->arguments[1])) object("what is read depends on its index");
    if (expr->kind == ExprKind::read) read(*expr);
    for (const Expr& argument : expr->arguments) visit(argument);
  }

  void finish(SplitAxis& axis) {
    for (const auto& [place, own] : followed_) {
      if (whole_.contains(place)) object(fmt::format("operand {} is read along it and as a whole", name(place.first)));
      if (!axis.followed.empty() && axis.followed.back().operand == place.first)
        object(fmt::format("operand {} is read along it in two dimensions", name(place.first)));
      axis.followed.push_back(own);
    }
    for (const Poly& condition : conditions_)
      if (!is_range_check(condition)) object("a condition on its index is not the range of a read along it");
    axis.obstacle = obstacle_;
  }

 private:
  std::string_view name(int operand) const {
    const auto& operands = ops::get(node_.op).signature.operands;
    return operands[std::min(static_cast<std::size_t>(operand), operands.size() - 1)].name;
  }
  void object(std::string why) {
    if (!obstacle_) obstacle_ = std::move(why);
  }
  bool depends(const Poly& poly) const { return poly.is_poisoned() || symbols_.occurs(poly, axis_); }
  // Whether the axis occurs in the indices of integer operands alone, whose elements are used.
  bool depends_by_elements(const Poly& poly) const {
    if (poly.is_poisoned() || poly.mentions(axis_)) return false;
    for (const SymbolId id : poly.symbols()) {
      const ir::SymbolInfo& info = symbols_.info(id);
      if (info.kind == SymbolKind::element || !symbols_.occurs(Poly(id), axis_)) continue;
      if (info.kind != SymbolKind::floor_div && info.kind != SymbolKind::maximum) return false;
      for (const Poly& argument : info.arguments)
        if (depends(argument) && !depends_by_elements(argument)) return false;
    }
    return true;
  }

  // The factor of the axis and the rest, if the axis occurs nowhere else.
  std::optional<std::pair<Poly, Poly>> affine(const Poly& poly) const {
    if (poly.is_poisoned()) return std::nullopt;
    auto parts = poly.linear_in(axis_);
    if (!parts || depends(parts->first) || depends(parts->second)) return std::nullopt;
    const auto range = ranges_.of(parts->first);
    if (!range || !(range->low == range->high) || symbols_.lower_bound(parts->first).value_or(0) < 1) return std::nullopt;
    return parts;
  }
  // Whether a condition compares a position in a window of a read along the axis with what is fixed, as pads
  // do: it goes with the axis as the read does.
  bool is_range_check(const Poly& condition) const {
    for (const Poly& sign : {Poly(1), Poly(-1)})
      if (const auto parts = affine(sign * condition))
        for (const auto& [place, own] : followed_)
          if (own.stride == parts->first) return true;
    return false;
  }
  static bool has_reads(const Expr& expr) {
    return expr->kind == ExprKind::read || std::any_of(expr->arguments.begin(), expr->arguments.end(), has_reads);
  }

  void read(const ops::ExprNode& expr) {
    for (const ops::WrappedIndex& wrapped : expr.wrapped)
      for (std::size_t k = 0; k < wrapped.at.size(); ++k) read_at(wrapped.operand, static_cast<int>(k), wrapped.at[k]);
    for (std::size_t k = 0; k < expr.indices.size(); ++k) read_at(expr.operand, static_cast<int>(k), expr.indices[k]);
  }
  void read_at(int operand, int dimension, const Poly& index) {
    const std::pair place(operand, dimension);
    if (!depends(index) || depends_by_elements(index)) {
      whole_.insert(place);
      return;
    }
    const auto parts = affine(index);
    const auto range = parts ? ranges_.of(parts->second) : std::nullopt;
    if (!range) {
      object(fmt::format("operand {} is not read at an ascending affine image of its index", name(operand)));
      return;
    }
    const FollowedDimension own{operand, dimension, parts->first, range->low, range->high};
    const auto [known, added] = followed_.try_emplace(place, own);
    if (added || known->second == own) return;
    FollowedDimension& joined = known->second;
    if (!(joined.stride == own.stride)) object(fmt::format("operand {} is read with two strides", name(operand)));
    const auto below = (own.low - joined.low).constant();
    const auto above = (own.high - joined.high).constant();
    if (!below || !above) {
      object(fmt::format("operand {} is read at two distances that are not known", name(operand)));
      return;
    }
    if (*below < 0) joined.low = own.low;
    if (*above > 0) joined.high = own.high;
  }

  ir::Symbols& symbols_;
  const ir::Node& node_;
  const SymbolId axis_;
  IndexRanges ranges_;
  std::map<std::pair<int, int>, FollowedDimension> followed_;  // by operand and dimension
  std::set<std::pair<int, int>> whole_;                        // read at an index without the axis
  std::vector<Poly> conditions_;                               // those on the axis
  std::set<const ops::ExprNode*> seen_;
  std::optional<std::string> obstacle_;
};

class AxesOfOutput {
 public:
  AxesOfOutput(ir::Arena& arena, ir::NodeId id, int output)
      : symbols_(arena.symbols()), node_(arena.node(id)), output_(output), operands_(ops::operand_types(arena, node_)) {}

  std::vector<SplitAxis> run() {
    const ir::Shape& shape = node_.outputs[static_cast<std::size_t>(output_)].shape;
    IndexRanges ranges(symbols_);
    for (const Poly& size : shape) {
      index_.emplace_back(symbols_.fresh(SymbolKind::index, "i"));
      ranges.set(*index_.back().as_symbol(), size);
    }
    const Expr expr = semantics(index_);
    std::vector<SplitAxis> axes;
    axes.reserve(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) axes.push_back(along_output(expr, d, ranges));
    if (auto rows = along_rows(expr)) axes.push_back(*std::move(rows));
    const auto outer = reduction_of(expr);
    if (!outer) return axes;
    // A sum of sums, or a maximum of maxima.
    const ops::ExprNode* nested = outer->nested;
    for (int number = 0; nested->kind == outer->nested->kind; ++number) {
      axes.push_back(along_binder(expr, *nested, outer->kind, number, ranges));
      nested = nested->arguments[0].get();
    }
    return axes;
  }

 private:
  struct Reduction {
    AxisKind kind = AxisKind::sum;
    const ops::ExprNode* nested = nullptr;  // the outermost of its sums or maxima
  };
  // The reduction that an expression is: a sum or maximum; a sum that is divided by a number, which is the
  // same everywhere; or a maximum of negatives that is negated.
  std::optional<Reduction> reduction_of(const Expr& expr) const {
    if (expr->kind == ExprKind::sum) return Reduction{AxisKind::sum, expr.get()};
    if (expr->kind == ExprKind::maximum) return Reduction{AxisKind::maximum, expr.get()};
    if (expr->kind != ExprKind::apply) return std::nullopt;
    const ops::ExprNode* const inner = expr->arguments[0].get();
    if (expr->function == ops::Function::divide && inner->kind == ExprKind::sum) {
      const ops::ExprNode& divisor = *expr->arguments[1];
      const auto depends = [&](const Poly& index) { return symbols_.occurs(divisor.integer, *index.as_symbol()); };
      const bool is_fixed = divisor.kind == ExprKind::integer && !divisor.integer.is_poisoned() && std::ranges::none_of(index_, depends);
      return is_fixed ? std::optional(Reduction{AxisKind::mean, inner}) : std::nullopt;
    }
    const bool is_negation = expr->function == ops::Function::negate || expr->function == ops::Function::logical_not;
    if (!is_negation || inner->kind != ExprKind::maximum) return std::nullopt;
    const ops::ExprNode* element = inner;
    while (element->kind == ExprKind::maximum) element = element->arguments[0].get();
    if (element->kind != ExprKind::apply || element->function != expr->function) return std::nullopt;
    return Reduction{AxisKind::minimum, inner};
  }

  Expr semantics(const std::vector<Poly>& index) {
    ops::Builder builder(symbols_);
    const ops::Operation operation{operands_, node_.attributes, node_.outputs};
    return ops::get(node_.op).semantics(builder, operation, output_, index);
  }

  SplitAxis along_output(const Expr& plain, std::size_t d, const IndexRanges& ranges) {
    SplitAxis axis;
    axis.dimension = static_cast<int>(d);
    const Poly size = node_.outputs[static_cast<std::size_t>(output_)].shape[d];
    axis.blocks = size;
    SymbolId symbol = *index_[d].as_symbol();
    Divisors divisors(symbols_, symbol);
    divisors.visit(plain);
    const auto block = divisors.common();
    if (!block) {
      axis.obstacle = "its index is divided by several sizes";
      return axis;
    }
    Expr expr = plain;
    IndexRanges own = ranges;
    if (!block->is_one()) {
      const auto blocks = exact_divide(size, *block);
      if (!blocks) {
        axis.obstacle = fmt::format("its size is no known multiple of {}", symbols_.to_string(*block));
        return axis;
      }
      axis.block = *block;
      axis.blocks = *blocks;
      symbol = symbols_.fresh(SymbolKind::index, "q");
      const SymbolId inside = symbols_.fresh(SymbolKind::index, "r");
      own.set(inside, *block);
      std::vector<Poly> index = index_;
      index[d] = Poly(symbol) * *block + Poly(inside);
      expr = semantics(index);
    }
    axis.joined = joined_operands(expr, d);
    if (axis.joined.empty()) {
      AxisReads reads(symbols_, node_, symbol, std::move(own));
      reads.visit(expr);
      reads.finish(axis);
    }
    if (axis.blocks.is_one()) axis.obstacle = axis.block.is_one() ? "its size is 1" : "it is one block";
    return axis;
  }

  // The operands of a concatenation: select(i < end, x[i - begin], ..), for each of them from the first on.
  // Empty for any other expression.
  std::vector<JoinedOperand> joined_operands(const Expr& expr, std::size_t d) const {
    std::vector<JoinedOperand> joined;
    const Poly size = node_.outputs[static_cast<std::size_t>(output_)].shape[d];
    Poly begin = 0;
    for (const ops::ExprNode* rest = expr.get(); rest != nullptr;) {
      const bool is_last = rest->kind == ExprKind::read;
      if (!is_last && (rest->kind != ExprKind::select || rest->condition.size() != 1)) return {};
      Poly end = size;
      if (!is_last) {
        const ops::Atom& atom = rest->condition[0];
        end = atom.poly + index_[d] + 1;
        if (atom.relation != ops::Relation::at_least_zero || symbols_.occurs(end, *index_[d].as_symbol())) return {};
      }
      const ops::ExprNode& read = is_last ? *rest : *rest->arguments[0];
      if (read.kind != ExprKind::read || !read.wrapped.empty() || read.indices.size() != index_.size()) return {};
      for (std::size_t k = 0; k < index_.size(); ++k)
        if (!(read.indices[k] == (k == d ? index_[d] - begin : index_[k]))) return {};
      joined.push_back({read.operand, static_cast<int>(d), begin, end - begin});
      begin = end;
      rest = is_last ? nullptr : rest->arguments[1].get();
    }
    return joined.size() > 1 ? joined : std::vector<JoinedOperand>();
  }

  // The rows of x[.., i[..] mod rows, ..], where the indices are those of consecutive dimensions of the
  // output.
  std::optional<SplitAxis> along_rows(const Expr& expr) {
    if (expr->kind != ExprKind::read || expr->wrapped.size() != 1) return std::nullopt;
    const ops::WrappedIndex& place = expr->wrapped[0];
    ops::Builder builder(symbols_);
    const Poly wrapped = builder.wrap(place);
    SplitAxis axis;
    axis.kind = AxisKind::rows;
    axis.blocks = place.size;
    for (std::size_t d = 0; d < expr->indices.size(); ++d)
      if (expr->indices[d] == wrapped) axis.followed.push_back({expr->operand, static_cast<int>(d), 1, 0, 0});
    const auto first = place.at.empty() ? index_.begin() : std::ranges::find(index_, place.at[0]);
    const auto before = static_cast<std::size_t>(first - index_.begin());
    if (axis.followed.size() != 1 || before + place.at.size() > index_.size()) return std::nullopt;
    if (!std::equal(place.at.begin(), place.at.end(), first)) return std::nullopt;
    axis.table = IndexedTable{place.operand, before, index_.size() - before - place.at.size()};
    if (axis.blocks.is_one()) axis.obstacle = "its size is 1";
    return axis;
  }

  SplitAxis along_binder(const Expr& expr, const ops::ExprNode& reduction, AxisKind kind, int number, const IndexRanges& ranges) {
    SplitAxis axis;
    axis.kind = kind;
    axis.dimension = number;
    axis.blocks = reduction.extent;
    AxisReads reads(symbols_, node_, reduction.binder, ranges);
    reads.visit(expr);
    reads.finish(axis);
    if (axis.blocks.is_one()) axis.obstacle = "its size is 1";
    if (axis.obstacle) return axis;
    if (axis.followed.empty()) axis.obstacle = "no operand is read along it";
    for (const FollowedDimension& own : axis.followed)
      if (!own.stride.is_one() || !own.low.is_zero() || !own.high.is_zero()) axis.obstacle = "an operand is read along it in windows";
    return axis;
  }

  ir::Symbols& symbols_;
  const ir::Node& node_;
  const int output_;
  const std::vector<ir::TensorType> operands_;
  std::vector<Poly> index_;
};

}  // namespace

const char* name(AxisKind kind) {
  switch (kind) {
    case AxisKind::output:
      return "output";
    case AxisKind::sum:
      return "sum";
    case AxisKind::mean:
      return "mean";
    case AxisKind::maximum:
      return "maximum";
    case AxisKind::minimum:
      return "minimum";
    case AxisKind::rows:
      return "rows";
  }
  return "";
}

const char* combining_operator(AxisKind kind) {
  if (kind == AxisKind::maximum) return "maximum";
  return kind == AxisKind::minimum ? "minimum" : "add";
}

bool FollowedDimension::overlaps() const {
  const auto length = (high - low + 1 - stride).constant();
  return !length || *length > 0;
}

const FollowedDimension* SplitAxis::find(int operand, int along) const {
  const auto found =
      std::ranges::find_if(followed, [&](const FollowedDimension& own) { return own.operand == operand && own.dimension == along; });
  return found == followed.end() ? nullptr : &*found;
}

std::vector<SplitAxis> split_axes(ir::Arena& arena, ir::NodeId node, int output) { return AxesOfOutput(arena, node, output).run(); }

}  // namespace xflow::partition
