#include "src/eval/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "src/eval/analysis.h"
#include "src/eval/index_compiler.h"

namespace xflow::eval {

using ops::Condition;
using ops::Expr;
using ops::ExprKind;
using ops::Function;
using ops::Relation;

std::int64_t Stage::output_count() const {
  std::int64_t count = 1;
  for (const int variable : outputs) count *= extents[static_cast<std::size_t>(variable)];
  return count;
}

std::int64_t Stage::lane_count() const {
  std::int64_t count = 1;
  for (const int variable : lanes) count *= extents[static_cast<std::size_t>(variable)];
  return count;
}

namespace {

// With fewer outputs than kFewOutputs, a sum of at least kManyTerms terms runs over blocks of terms: blocks
// of outputs would be too short.
constexpr std::int64_t kFewOutputs = 32;
constexpr std::int64_t kManyTerms = 64;

struct Loop {
  ir::SymbolId symbol;
  std::int64_t extent;
  int variable;
};

// A condition around an expression, and the side of it that contains the expression.
struct Branch {
  const Condition* condition;
  bool then;
};

class Compiler {
 public:
  explicit Compiler(const ProgramInput& input) : input_(input), analysis_(input) { program_.operands = input.operands.size(); }

  // Adds a stage that computes `expr` over `outputs`. Returns the source number of its tensor.
  Result<int> build(const Expr& expr, const std::vector<std::pair<ir::SymbolId, std::int64_t>>& outputs, ir::DataType type);

  const ProgramInput& input() const { return input_; }
  Analysis& analysis() { return analysis_; }
  Program take() { return std::move(program_); }

 private:
  const ProgramInput& input_;
  Analysis analysis_;
  Program program_;
};

// Lowers one expression to one stage.
class StageBuilder {
 public:
  explicit StageBuilder(Compiler& compiler) : compiler_(compiler), index_(compiler.input(), stage_) { memo_.emplace_back(); }

  Result<Stage> build(const Expr& expr, const std::vector<std::pair<ir::SymbolId, std::int64_t>>& outputs, ir::DataType type) {
    for (const auto& [symbol, extent] : outputs) {
      XFLOW_TRY(const int variable, open(symbol, extent));
      stage_.outputs.push_back(variable);
    }
    stage_.real = ir::is_floating(type);
    stage_.data_type = type;
    if (expr->kind == ExprKind::sum || expr->kind == ExprKind::maximum) {
      XFLOW_TRY(const std::int64_t terms, term_count(expr));
      const bool same_class = ir::is_floating(compiler_.analysis().type(expr).value_or(type)) == stage_.real;
      const bool is_quicker = stage_.output_count() < kFewOutputs && terms >= kManyTerms;
      if (same_class && (is_quicker || (compiler_.input().divides_sums && terms > 1))) return build_reduction(expr, type);
    }
    stage_.lanes = stage_.outputs;
    XFLOW_TRY(stage_.root, lower(expr, type));
    return std::move(stage_);
  }

 private:
  Result<Stage> build_reduction(const Expr& expr, ir::DataType type) {
    stage_.kind = expr->kind == ExprKind::sum ? Stage::Kind::sum : Stage::Kind::maximum;
    Expr at = expr;
    for (; at->kind == expr->kind; at = at->arguments[0]) {
      XFLOW_TRY(const IndexForm extent, index_.form(at->extent));
      XFLOW_TRY(const int variable, open(at->binder, extent.constant));
      stage_.lanes.push_back(variable);
    }
    XFLOW_TRY(stage_.root, lower(at, type));
    return std::move(stage_);
  }

  // Adds the variable of a loop and puts it in scope.
  Result<int> open(ir::SymbolId symbol, std::int64_t extent) {
    if (stage_.extents.size() == 64) return fail(ErrorCode::unsupported, "cannot evaluate an expression of more than 64 loops");
    const auto variable = static_cast<int>(stage_.extents.size());
    stage_.extents.push_back(extent);
    index_.bind(symbol, variable);
    scope_.push_back({symbol, extent, variable});
    return variable;
  }

  Result<std::int64_t> extent_of(const ops::ExprNode& loop) {
    XFLOW_TRY(const IndexForm extent, index_.form(loop.extent));
    if (!extent.is_constant()) return fail(ErrorCode::unsupported, "cannot evaluate a sum whose extent depends on an index");
    return extent.constant;
  }

  Result<std::int64_t> term_count(const Expr& expr) {
    std::int64_t count = 1;
    Expr at = expr;
    for (; at->kind == expr->kind; at = at->arguments[0]) {
      XFLOW_TRY(const std::int64_t extent, extent_of(*at));
      count *= extent;
    }
    return count;
  }

  int add(ValueNode node) {
    node.depends |= path_depends_;
    for (const int argument : node.arguments) node.depends |= stage_.nodes[static_cast<std::size_t>(argument)].depends;
    if (node.form >= 0) node.depends |= index_.depends(stage_.forms[static_cast<std::size_t>(node.form)]);
    stage_.nodes.push_back(std::move(node));
    return static_cast<int>(stage_.nodes.size()) - 1;
  }

  ValueNode typed(ValueNode::Kind kind, ir::DataType type) const {
    ValueNode node;
    node.kind = kind;
    node.real = ir::is_floating(type);
    node.data_type = type;
    return node;
  }

  // Lowers an expression to a node of the class (real or integer) of `wanted`.
  Result<int> lower(const Expr& expr, ir::DataType wanted) {
    const ir::DataType type = compiler_.analysis().type(expr).value_or(wanted);
    const auto key = std::pair(expr.get(), type);
    int node = -1;
    if (const auto at = memo_.back().find(key); at != memo_.back().end()) {
      node = at->second;
    } else {
      XFLOW_TRY(node, lower_as(expr, type));
      memo_.back()[key] = node;
      keep_.push_back(expr);
    }
    if (ir::is_floating(type) == ir::is_floating(wanted)) return node;
    ValueNode cast = typed(ValueNode::Kind::cast, wanted);
    cast.arguments = {node};
    return add(std::move(cast));
  }

  Result<int> lower_as(const Expr& expr, ir::DataType type) {
    switch (expr->kind) {
      case ExprKind::literal:
        return lower_literal(expr->literal, type);
      case ExprKind::integer: {
        XFLOW_TRY(IndexForm form, index_.form(expr->integer));
        ValueNode node = typed(ValueNode::Kind::index, type);
        node.form = index_.add(std::move(form));
        return add(std::move(node));
      }
      case ExprKind::read: {
        const auto operand = static_cast<std::size_t>(expr->operand);
        if (operand >= compiler_.input().operands.size())
          return fail(ErrorCode::internal, fmt::format("operand {} does not exist", operand));
        XFLOW_TRY(IndexForm form, index_.offset(expr->indices, compiler_.input().operands[operand].dims));
        ValueNode node = typed(ValueNode::Kind::read, type);
        node.source = expr->operand;
        node.form = index_.add(std::move(form));
        return add(std::move(node));
      }
      case ExprKind::sum:
      case ExprKind::maximum:
        return lower_nest(expr, type);
      case ExprKind::select:
        return lower_select(*expr, type);
      case ExprKind::cast: {
        const ir::DataType from = compiler_.analysis().type(expr->arguments[0]).value_or(type);
        XFLOW_TRY(const int argument, lower(expr->arguments[0], from));
        ValueNode node = typed(ValueNode::Kind::cast, type);
        node.arguments = {argument};
        if (from == type) return argument;
        return add(std::move(node));
      }
      case ExprKind::apply:
        return lower_apply(*expr, type);
    }
    return fail(ErrorCode::internal, "an expression of no kind");
  }

  Result<int> lower_literal(const ir::Real& value, ir::DataType type) {
    ValueNode node = typed(ValueNode::Kind::literal, type);
    node.literal = value;
    if (value.is_variable()) {
      const auto& values = compiler_.input().real_values;
      const auto known = values ? values(value.variable_name()) : std::nullopt;
      if (!known) return fail(ErrorCode::unsupported, fmt::format("cannot evaluate: the number {} is not known", value.to_string()));
      node.literal = *known;
    }
    return add(std::move(node));
  }

  Result<int> lower_apply(const ops::ExprNode& expr, ir::DataType type) {
    Analysis& analysis = compiler_.analysis();
    ValueNode node = typed(ValueNode::Kind::apply, type);
    node.function = expr.function;
    ir::DataType operand = type;
    switch (expr.function) {
      case Function::less:
      case Function::equal: {
        const auto a = analysis.type(expr.arguments[0]);
        const auto b = analysis.type(expr.arguments[1]);
        operand = a.value_or(b.value_or(ir::DataType::int64));
        if (b && ir::is_floating(*b)) operand = *b;
        break;
      }
      case Function::is_nan:
        operand = analysis.type(expr.arguments[0]).value_or(ir::DataType::float64);
        break;
      case Function::logical_and:
      case Function::logical_or:
      case Function::logical_xor:
      case Function::logical_not:
        operand = ir::DataType::boolean;
        break;
      default:
        break;
    }
    for (std::size_t k = 0; k < expr.arguments.size(); ++k) {
      const bool condition = expr.function == Function::choose && k == 0;
      XFLOW_TRY(const int argument, lower(expr.arguments[k], condition ? ir::DataType::boolean : operand));
      node.arguments.push_back(argument);
    }
    if (!node.real) node.data_type = operand;  // comparisons have the type of their operands
    return add(std::move(node));
  }

  // The atoms that bounds do not decide; nullopt if one of them never holds.
  Result<std::optional<std::vector<std::pair<int, Relation>>>> lower_condition(const Condition& condition) {
    std::vector<std::pair<int, Relation>> atoms;
    for (const ops::Atom& atom : condition) {
      XFLOW_TRY(IndexForm form, index_.form(atom.poly));
      const Range range = index_.range(form);
      const bool is_zero = range.low == 0 && range.high == 0;
      const bool never_zero = range.low > 0 || range.high < 0;
      bool holds = false;
      bool fails = false;
      switch (atom.relation) {
        case Relation::at_least_zero:
          holds = range.low >= 0;
          fails = range.high < 0;
          break;
        case Relation::zero:
          holds = is_zero;
          fails = never_zero;
          break;
        case Relation::not_zero:
          holds = never_zero;
          fails = is_zero;
          break;
      }
      if (fails) return std::optional<std::vector<std::pair<int, Relation>>>();
      if (!holds) atoms.emplace_back(index_.add(std::move(form)), atom.relation);
    }
    return std::optional(std::move(atoms));
  }

  std::uint64_t depends(const std::vector<std::pair<int, Relation>>& atoms) const {
    std::uint64_t result = 0;
    for (const auto& atom : atoms) result |= index_.depends(stage_.forms[static_cast<std::size_t>(atom.first)]);
    return result;
  }

  // Runs `body` on one side of a condition. Nodes created there are evaluated for some lanes only, so they
  // are not shared with nodes outside.
  template <typename Body>
  auto within(const Condition& condition, bool then, std::uint64_t condition_depends, const Body& body) {
    const std::uint64_t outer = path_depends_;
    path_depends_ |= condition_depends;
    path_.push_back({&condition, then});
    memo_.emplace_back();
    auto result = body();
    memo_.pop_back();
    path_.pop_back();
    path_depends_ = outer;
    return result;
  }

  Result<int> lower_select(const ops::ExprNode& expr, ir::DataType type) {
    XFLOW_TRY(auto atoms, lower_condition(expr.condition));
    if (!atoms) return lower(expr.arguments[1], type);
    if (atoms->empty()) return lower(expr.arguments[0], type);
    const std::uint64_t condition_depends = depends(*atoms);
    XFLOW_TRY(const int then, within(expr.condition, true, condition_depends, [&] { return lower(expr.arguments[0], type); }));
    XFLOW_TRY(const int otherwise, within(expr.condition, false, condition_depends, [&] { return lower(expr.arguments[1], type); }));
    return add_select(std::move(*atoms), condition_depends, then, otherwise, type);
  }

  int add_select(std::vector<std::pair<int, Relation>> atoms, std::uint64_t condition_depends, int then, int otherwise, ir::DataType type) {
    ValueNode node = typed(ValueNode::Kind::select, type);
    node.condition = std::move(atoms);
    node.depends = condition_depends;
    node.arguments = {then, otherwise};
    return add(std::move(node));
  }

  // Orders the loops of a sum or maximum: loops that occur in its condition are outermost, so that the
  // condition is evaluated once for all the others, and the longest loop is innermost.
  Result<int> lower_nest(const Expr& expr, ir::DataType type) {
    XFLOW_TRY(const std::optional<int> hoisted, hoist(expr, type));
    if (hoisted) return *hoisted;
    const bool is_sum = expr->kind == ExprKind::sum;
    const ir::Real neutral = is_sum ? ir::Real(0) : ir::negative_infinity();
    const Nest nest = nest_of(expr);
    keep_.push_back(nest.term);
    const std::size_t outer_scope = scope_.size();
    for (const ops::ExprNode* loop : nest.loops) {
      XFLOW_TRY(const std::int64_t extent, extent_of(*loop));
      if (extent <= 0) {
        scope_.resize(outer_scope);
        return lower_literal(neutral, type);
      }
      XFLOW_CHECK(open(loop->binder, extent));
    }
    std::vector<Loop> loops(scope_.begin() + static_cast<std::ptrdiff_t>(outer_scope), scope_.end());

    std::vector<std::pair<int, Relation>> atoms;
    if (nest.condition != nullptr) {
      XFLOW_TRY(auto lowered, lower_condition(*nest.condition));
      if (!lowered) {
        scope_.resize(outer_scope);
        return lower_literal(neutral, type);
      }
      atoms = std::move(*lowered);
    }
    const std::uint64_t condition_depends = depends(atoms);
    const auto is_outer = [&](const Loop& loop) { return ((condition_depends >> loop.variable) & 1) != 0; };
    const auto middle = std::stable_partition(loops.begin(), loops.end(), is_outer);
    std::stable_sort(middle, loops.end(), [](const Loop& a, const Loop& b) { return a.extent < b.extent; });

    const auto inner = [&]() -> Result<int> {
      XFLOW_TRY(int node, lower(nest.term, type));
      for (auto loop = loops.end(); loop != middle; --loop) node = add_loop(*(loop - 1), node, is_sum, type);
      return node;
    };
    int node = -1;
    if (atoms.empty()) {
      XFLOW_TRY(node, inner());
    } else {
      XFLOW_TRY(const int then, within(*nest.condition, true, condition_depends, inner));
      XFLOW_TRY(const int otherwise, lower_literal(neutral, type));
      node = add_select(std::move(atoms), condition_depends, then, otherwise, type);
    }
    for (auto loop = middle; loop != loops.begin(); --loop) node = add_loop(*(loop - 1), node, is_sum, type);
    scope_.resize(outer_scope);
    return node;
  }

  int add_loop(const Loop& loop, int body, bool is_sum, ir::DataType type) {
    ValueNode node = typed(is_sum ? ValueNode::Kind::sum : ValueNode::Kind::maximum, type);
    node.variable = loop.variable;
    node.arguments = {body};
    node.product_of_reads = is_sum && node.real && is_product_of_reads(stage_.nodes[static_cast<std::size_t>(body)], loop.variable);
    const int number = add(std::move(node));
    // The loop sets its own variable, so the sum does not depend on it.
    stage_.nodes[static_cast<std::size_t>(number)].depends &= ~(std::uint64_t{1} << loop.variable) | path_depends_;
    return number;
  }

  bool is_product_of_reads(const ValueNode& body, int variable) const {
    if (body.kind != ValueNode::Kind::apply || body.function != Function::multiply) return false;
    return std::all_of(body.arguments.begin(), body.arguments.end(), [&](int argument) {
      const ValueNode& read = stage_.nodes[static_cast<std::size_t>(argument)];
      if (read.kind != ValueNode::Kind::read) return false;
      const IndexForm& form = stage_.forms[static_cast<std::size_t>(read.form)];
      return std::all_of(form.slots.begin(), form.slots.end(), [&](const IndexTerm& slot) {
        return ((stage_.slots[static_cast<std::size_t>(slot.id)].depends >> variable) & 1) == 0;
      });
    });
  }

  // Makes a separate stage of a sum or maximum that the open loops would compute at least twice, or that has
  // many terms for few outputs (its lanes are the terms). The enclosing conditions are moved with it, since
  // they keep its reads in range.
  Result<std::optional<int>> hoist(const Expr& expr, ir::DataType type) {
    Analysis& analysis = compiler_.analysis();
    SymbolSet needed = analysis.free(expr);
    for (const Branch& branch : path_) {
      for (const ops::Atom& atom : *branch.condition) analysis.add(needed, atom.poly);
    }
    std::vector<std::pair<ir::SymbolId, std::int64_t>> outputs;
    IndexForm offset;
    std::int64_t size = 1;
    std::int64_t around = 1;
    bool only_outputs = true;
    for (std::size_t k = scope_.size(); k-- > 0;) {
      const Loop& loop = scope_[k];
      around *= loop.extent;
      if (!needed.contains(loop.symbol)) continue;
      if (k >= stage_.outputs.size()) only_outputs = false;
      if (size != 0) offset.variables.push_back({loop.variable, size});
      size *= loop.extent;
      outputs.emplace_back(loop.symbol, loop.extent);
    }
    bool worth = size * 2 <= around;
    if (!worth && path_.empty() && only_outputs && stage_.output_count() < kFewOutputs) {
      XFLOW_TRY(const std::int64_t terms, term_count(expr));
      worth = terms >= kManyTerms;
    }
    if (!worth || size == 0) return std::optional<int>();
    std::reverse(outputs.begin(), outputs.end());
    std::sort(offset.variables.begin(), offset.variables.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    Expr guarded = expr;
    for (std::size_t k = path_.size(); k-- > 0;) {
      const Condition& condition = *path_[k].condition;
      guarded = path_[k].then ? select(condition, guarded, literal(0)) : select(condition, literal(0), guarded);
    }
    XFLOW_TRY(const int source, compiler_.build(guarded, outputs, type));
    ValueNode node = typed(ValueNode::Kind::read, type);
    node.source = source;
    node.form = index_.add(std::move(offset));
    return std::optional(add(std::move(node)));
  }

  Compiler& compiler_;
  Stage stage_;
  IndexCompiler index_;
  std::vector<Loop> scope_;
  std::vector<Branch> path_;
  std::uint64_t path_depends_ = 0;
  std::vector<std::map<std::pair<const ops::ExprNode*, ir::DataType>, int>> memo_;
  std::vector<Expr> keep_;  // keeps the expressions alive whose addresses are keys
};

Result<int> Compiler::build(const Expr& expr, const std::vector<std::pair<ir::SymbolId, std::int64_t>>& outputs, ir::DataType type) {
  StageBuilder builder(*this);
  XFLOW_TRY(Stage stage, builder.build(expr, outputs, type));
  program_.stages.push_back(std::move(stage));
  return static_cast<int>(program_.operands + program_.stages.size()) - 1;
}

}  // namespace

Result<Program> compile(const ProgramInput& input) {
  std::vector<std::pair<ir::SymbolId, std::int64_t>> outputs;
  for (std::size_t k = 0; k < input.dims.size(); ++k) {
    const auto symbol = input.index[k].as_symbol();
    if (!symbol) return fail(ErrorCode::internal, "an output index is not a symbol");
    outputs.emplace_back(*symbol, input.dims[k]);
  }
  Compiler compiler(input);
  XFLOW_CHECK(compiler.build(input.expression, outputs, input.data_type));
  return compiler.take();
}

}  // namespace xflow::eval
