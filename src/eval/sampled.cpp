#include "src/eval/sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "src/eval/program.h"
#include "src/eval/stabilize.h"
#include "src/ops/operator.h"

namespace xflow::eval {

namespace {

using ops::Expr;
using ops::ExprKind;

constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;  // of a dimension of which single positions are asked for
constexpr std::int64_t kMostChosen = std::int64_t{1} << 20;     // positions of a dimension that are not all of them
constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 12;  // values of one index that are enumerated
constexpr std::uint64_t kFar = std::uint64_t{1} << 62;

std::uint64_t saturating(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kFar / b ? kFar : a * b; }

// A number that depends on its arguments alone and looks random (splitmix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

Positions chosen_of(std::int64_t size, std::int64_t count) {
  if (count >= size) return {size, {}, 0};
  const std::int64_t interval = (size + count - 1) / count;
  Positions result{size, {}, interval};
  for (std::int64_t first = 0; first < size; first += interval) {
    const std::int64_t length = std::min(interval, size - first);
    const bool is_last = first + length == size;
    const auto at = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(first)) %
                                              static_cast<std::uint64_t>(length));
    result.chosen.push_back(first == 0 ? 0 : is_last ? size - 1 : first + at);
  }
  return result;
}

// The positions of a dimension that are asked for.
class Demand {
 public:
  explicit Demand(std::int64_t size) : size_(size), all_(size > kMostPositions) {}

  void add_all() { all_ = true; }
  bool all() const { return all_; }
  void add(std::int64_t position) {
    if (all_ || position < 0 || position >= size_) return;  // a condition excludes what is out of range
    if (asked_.empty()) asked_.resize(static_cast<std::size_t>(size_), false);
    asked_[static_cast<std::size_t>(position)] = true;
  }
  // Where much of a dimension is asked for it is computed as a whole, which needs no table.
  Positions positions() const {
    Positions result{size_, {}, 0};
    if (all_) return result;
    for (std::size_t k = 0; k < asked_.size(); ++k)
      if (asked_[k]) result.chosen.push_back(static_cast<std::int64_t>(k));
    if (result.chosen.empty()) result.chosen.push_back(0);
    if (2 * result.count() > size_) result.chosen.clear();
    return result;
  }

 private:
  std::int64_t size_;
  bool all_;
  std::vector<bool> asked_;
};
using Demands = std::vector<Demand>;  // by dimension

}  // namespace

std::uint64_t count_of(const Sample& sample) {
  std::uint64_t count = 1;
  for (const Positions& positions : sample) count = saturating(count, static_cast<std::uint64_t>(positions.count()));
  return count;
}

std::uint64_t size_of(const Sample& sample) {
  std::uint64_t count = 1;
  for (const Positions& positions : sample) count = saturating(count, static_cast<std::uint64_t>(positions.size));
  return count;
}

bool is_whole(const Sample& sample) { return std::ranges::all_of(sample, &Positions::all); }

Sample whole(const std::vector<std::int64_t>& dims) {
  Sample sample;
  for (const std::int64_t dim : dims) sample.push_back({dim, {}, 0});
  return sample;
}

Sample sample_of(const std::vector<std::int64_t>& dims, std::uint64_t most) {
  Sample sample = whole(dims);
  while (count_of(sample) > most && halve(sample)) {
  }
  return sample;
}

bool halve(Sample& sample) {
  const auto longest = std::ranges::max_element(sample, {}, &Positions::count);
  if (longest == sample.end() || longest->count() <= 1) return false;
  *longest = chosen_of(longest->size, std::min((longest->count() + 1) / 2, kMostChosen));
  return true;
}

SampledTensor SampledTensor::of(Tensor tensor) {
  Sample sample = whole(tensor.dims);
  return {std::move(tensor), std::move(sample)};
}

bool SampledTensor::all() const { return is_whole(sample); }

std::vector<std::int64_t> SampledTensor::index_of(std::uint64_t element) const {
  std::vector<std::int64_t> index(sample.size());
  for (std::size_t k = sample.size(); k-- > 0;) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(sample[k].count(), 1));
    const auto at = element % count;
    index[k] = sample[k].all() ? static_cast<std::int64_t>(at) : sample[k].chosen[static_cast<std::size_t>(at)];
    element /= count;
  }
  return index;
}

namespace {

// The semantics of one value, for chosen elements of it and of its operands: indices of the result are read from lists of positions, and
// indices of operands become those among their chosen positions.
class Adapted {
 public:
  Adapted(ir::Symbols& symbols, const Expr& meaning, std::vector<ir::Poly> index, const Sample& sample, std::vector<const Sample*> operands)
      : symbols_(symbols), operands_(std::move(operands)), next_(operands_.size()), index_(std::move(index)) {
    for (std::size_t k = 0; k < sample.size(); ++k) {
      dims_.push_back(sample[k].count());
      if (sample[k].all()) continue;
      const ir::SymbolId at = symbols_.fresh(ir::SymbolKind::index, "s");
      outer_.emplace(*index_[k].as_symbol(), table(sample[k].chosen, ir::Poly(at)));
      index_[k] = ir::Poly(at);
    }
    expression_ = rewrite(meaning);
  }

  const Expr& expression() const { return expression_; }
  const std::vector<ir::Poly>& index() const { return index_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  const std::vector<Tensor>& tables() const { return tables_; }

 private:
  // Entry `at` of a table, which becomes one more operand.
  ir::Poly table(const std::vector<std::int64_t>& entries, const ir::Poly& at) {
    tables_.push_back(Tensor::of_integers(ir::DataType::int64, {static_cast<std::int64_t>(entries.size())}, entries));
    return symbols_.element(static_cast<std::uint32_t>(next_ + tables_.size() - 1), {at});
  }

  ir::Poly table_of(std::size_t operand, std::size_t dimension, const Positions& positions, const ir::Poly& at) {
    const auto key = std::pair(operand, dimension);
    if (const auto known = inverse_.find(key); known != inverse_.end())
      return symbols_.element(static_cast<std::uint32_t>(known->second), {at});
    std::vector<std::int64_t> entries(static_cast<std::size_t>(positions.size), 0);
    for (std::size_t k = 0; k < positions.chosen.size(); ++k)
      entries[static_cast<std::size_t>(positions.chosen[k])] = static_cast<std::int64_t>(k);
    inverse_.emplace(key, next_ + tables_.size());
    return table(entries, at);
  }

  std::vector<ir::Poly> read_at(std::size_t operand, std::span<const ir::Poly> indices) {
    std::vector<ir::Poly> result;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      ir::Poly at = poly(indices[k]);
      if (const Sample* sample = operands_[operand]; sample != nullptr && !(*sample)[k].all()) {
        const Positions& positions = (*sample)[k];
        at = positions.interval > 0 ? symbols_.floor_div(at, ir::Poly(positions.interval)) : table_of(operand, k, positions, at);
      }
      result.push_back(std::move(at));
    }
    return result;
  }

  // An index with the positions of the result in it, and with elements of integer operands where these hold them.
  ir::Poly poly(const ir::Poly& p) {
    ir::Poly result = outer_.empty() ? p : symbols_.substitute(p, outer_);
    if (!symbols_.has_elements()) return result;
    ir::Symbols::Substitution elements;
    for (const ir::SymbolId id : symbols_.all_symbols(result)) {
      const ir::SymbolInfo info = symbols_.info(id);
      if (info.kind != ir::SymbolKind::element || info.tensor >= operands_.size()) continue;
      const Sample* sample = operands_[info.tensor];
      if (sample == nullptr || is_whole(*sample)) continue;
      elements.emplace(id, symbols_.element(info.tensor, read_at(info.tensor, info.arguments)));
    }
    return elements.empty() ? result : symbols_.substitute(result, elements);
  }

  Expr rewrite(const Expr& expr) {
    if (const auto known = rewritten_.find(expr.get()); known != rewritten_.end()) return known->second;
    ops::ExprNode node = *expr;
    node.integer = poly(node.integer);
    node.extent = poly(node.extent);
    if (node.kind == ExprKind::read) {
      node.indices = read_at(static_cast<std::size_t>(node.operand), node.indices);
    }
    for (ops::Atom& atom : node.condition) atom.poly = poly(atom.poly);
    for (Expr& argument : node.arguments) argument = rewrite(argument);
    return rewritten_[expr.get()] = std::make_shared<const ops::ExprNode>(std::move(node));
  }

  ir::Symbols& symbols_;
  std::vector<const Sample*> operands_;  // null: absent
  std::size_t next_;
  std::vector<ir::Poly> index_;
  std::vector<std::int64_t> dims_;
  ir::Symbols::Substitution outer_;
  std::vector<Tensor> tables_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> inverse_;
  std::map<const ops::ExprNode*, Expr> rewritten_;
  Expr expression_;
};

// What an expression asks of operands for chosen elements of its result.
class Reads {
 public:
  Reads(const ir::Symbols& symbols, const ir::Symbols::Valuation& sizes, std::vector<Demands*> operands)
      : symbols_(symbols), sizes_(sizes), operands_(std::move(operands)) {}

  void set(ir::SymbolId symbol, const Positions& positions) { domains_.insert_or_assign(symbol, positions); }

  void visit(const Expr& expr) {
    if (!seen_.emplace(expr.get(), true).second) return;
    if (expr->kind == ExprKind::sum || expr->kind == ExprKind::maximum) {
      const auto extent = symbols_.evaluate(expr->extent, sizes_);
      set(expr->binder, Positions{extent.value_or(-1), {}, 0});
    }
    elements(expr->integer);
    elements(expr->extent);
    for (const ops::Atom& atom : expr->condition) elements(atom.poly);
    for (const ir::Poly& index : expr->indices) elements(index);
    if (expr->kind == ExprKind::read) {
      Demands* const demands = operands_[static_cast<std::size_t>(expr->operand)];
      for (std::size_t k = 0; demands != nullptr && k < expr->indices.size(); ++k) ask(expr->indices[k], (*demands)[k]);
    }
    for (const Expr& argument : expr->arguments) visit(argument);
  }

 private:
  // Operands whose elements are indices are needed as a whole.
  void elements(const ir::Poly& poly) {
    if (!symbols_.has_elements()) return;
    for (const ir::SymbolId id : symbols_.all_symbols(poly)) {
      const ir::SymbolInfo& info = symbols_.info(id);
      if (info.kind != ir::SymbolKind::element || info.tensor >= operands_.size() || operands_[info.tensor] == nullptr) continue;
      for (Demand& demand : *operands_[info.tensor]) demand.add_all();
    }
  }

  void ask(const ir::Poly& index, Demand& demand) {
    if (demand.all()) return;
    std::vector<std::pair<ir::SymbolId, const Positions*>> loops;
    std::uint64_t count = 1;
    if (index.is_poisoned()) return demand.add_all();
    for (const ir::SymbolId id : symbols_.all_symbols(index)) {
      if (symbols_.info(id).kind == ir::SymbolKind::element) return demand.add_all();
      const auto domain = domains_.find(id);
      if (domain == domains_.end()) continue;
      if (domain->second.size < 0) return demand.add_all();
      loops.emplace_back(id, &domain->second);
      count = saturating(count, static_cast<std::uint64_t>(domain->second.count()));
    }
    if (loops.size() == 1 && index.as_symbol() == loops[0].first && !loops[0].second->all()) {
      for (const std::int64_t position : loops[0].second->chosen) demand.add(position);
      return;
    }
    if (count > kMostIndices) return demand.add_all();
    std::unordered_map<ir::SymbolId, std::int64_t> values;
    const auto value = [&](ir::SymbolId id) -> std::optional<std::int64_t> {
      const auto known = values.find(id);
      return known != values.end() ? std::optional(known->second) : sizes_(id);
    };
    for (std::uint64_t number = 0; number < count; ++number) {
      std::uint64_t rest = number;
      for (const auto& [id, positions] : loops) {
        const auto at = static_cast<std::size_t>(rest % static_cast<std::uint64_t>(positions->count()));
        rest /= static_cast<std::uint64_t>(positions->count());
        values[id] = positions->all() ? static_cast<std::int64_t>(at) : positions->chosen[at];
      }
      const auto position = symbols_.evaluate(index, value);
      if (!position) return demand.add_all();
      demand.add(*position);
    }
  }

  const ir::Symbols& symbols_;
  const ir::Symbols::Valuation& sizes_;
  std::vector<Demands*> operands_;  // null: not asked
  std::map<ir::SymbolId, Positions> domains_;
  std::map<const ops::ExprNode*, bool> seen_;
};

ir::Symbols::Valuation valuation_of(const Options& options) {
  return [&options](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto at = options.symbols.find(symbol);
    return at != options.symbols.end() ? std::optional(at->second) : std::nullopt;
  };
}

// For every node of every stage, how often it is evaluated.
std::uint64_t work_of(const Program& program) {
  std::uint64_t sum = 0;
  for (const Stage& stage : program.stages) {
    for (const ValueNode& node : stage.nodes) {
      std::uint64_t times = 1;
      for (std::uint64_t rest = node.depends; rest != 0; rest &= rest - 1) {
        const std::int64_t extent = stage.extents[static_cast<std::size_t>(__builtin_ctzll(rest))];
        times = saturating(times, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)));
      }
      sum = std::min(kFar, sum + times);
    }
  }
  return sum;
}

}  // namespace

Result<std::vector<std::int64_t>> SampledEvaluation::dims_of(ir::ValueId value) const {
  const ir::TensorType& type = arena_.type(value);
  if (!type.ranked) return fail(ErrorCode::unsupported, "a value of unknown rank");
  std::vector<std::int64_t> dims;
  for (const ir::Poly& dim : type.shape) {
    const auto size = arena_.symbols().evaluate(dim, valuation_of(options_));
    if (!size)
      return fail(ErrorCode::unsupported, fmt::format("cannot execute: the size {} is not known", arena_.symbols().to_string(dim)));
    if (*size < 0) return fail(ErrorCode::ill_typed, fmt::format("a tensor of a dimension {} cannot be", *size));
    dims.push_back(*size);
  }
  return dims;
}

Result<std::uint64_t> SampledEvaluation::work(ir::ValueId value, const Sample& sample) {
  if (size_of(sample) == 0) return std::uint64_t{0};
  if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
  const ir::Node& node = arena_.node(value);
  std::vector<OperandShape> operands;
  std::vector<Sample> samples;
  for (const ir::ValueId operand : node.operands) {
    OperandShape shape;
    if (!arena_.is_absent(operand)) {
      XFLOW_TRY(shape.dims, dims_of(operand));
      shape.data_type = arena_.type(operand).data_type;
    }
    samples.push_back(whole(shape.dims));
    operands.push_back(std::move(shape));
  }
  std::vector<const Sample*> parts;
  parts.reserve(samples.size());
  for (std::size_t k = 0; k < samples.size(); ++k) parts.push_back(arena_.is_absent(node.operands[k]) ? nullptr : &samples[k]);
  std::vector<ir::Poly> index;
  const Expr meaning = ops::semantics_of(arena_, value.node, static_cast<int>(value.output), index);
  const Adapted adapted(arena_.symbols(), meaning, std::move(index), sample, std::move(parts));
  ProgramInput input;
  input.symbols = &arena_.symbols();
  input.expression = stabilize(arena_.symbols(), adapted.expression());
  input.index = adapted.index();
  input.dims = adapted.dims();
  input.data_type = arena_.type(value).data_type;
  input.operands = std::move(operands);
  for (const Tensor& table : adapted.tables()) input.operands.push_back({table.data_type, table.dims});
  input.symbol_values = valuation_of(options_);
  XFLOW_TRY(const Program program, compile(input));
  return work_of(program);
}

Result<SampledTensor> SampledEvaluation::evaluate_part(const Expr& meaning, std::vector<ir::Poly> index, ir::DataType type,
                                                       const Sample& sample, std::span<const SampledTensor* const> given) {
  static const Tensor none{};
  std::vector<const Tensor*> operands;
  std::vector<const Sample*> samples;
  for (const SampledTensor* operand : given) {
    operands.push_back(operand == nullptr ? &none : &operand->tensor);
    samples.push_back(operand == nullptr ? nullptr : &operand->sample);
  }
  const Adapted adapted(arena_.symbols(), meaning, std::move(index), sample, std::move(samples));
  for (const Tensor& table : adapted.tables()) operands.push_back(&table);
  XFLOW_TRY(Tensor tensor, evaluate(arena_.symbols(), adapted.expression(), adapted.index(), type, adapted.dims(), operands, options_));
  return SampledTensor{std::move(tensor), sample};
}

Result<SampledTensor> SampledEvaluation::compute(ir::ValueId value, const Sample& sample, const Lookup& given) {
  const ir::Node& node = arena_.node(value);
  if (const SampledTensor* known = given(value)) return part_of(*known, sample);
  if (node.kind == ir::NodeKind::constant) return part_of(SampledTensor::of(Tensor::of(node.constant)), sample);
  if (node.kind != ir::NodeKind::operation)
    return fail(ErrorCode::unsupported, "cannot execute: " + (options_.name_of ? options_.name_of(node) : "an unknown operator"));
  if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
  std::vector<const SampledTensor*> operands;
  std::vector<SampledTensor> constants;
  constants.reserve(node.operands.size());
  for (const ir::ValueId operand : node.operands) {
    const SampledTensor* found = given(operand);
    if (found == nullptr && !arena_.is_absent(operand)) {
      const ir::Node& constant = arena_.node(operand);
      if (constant.kind != ir::NodeKind::constant) return fail(ErrorCode::internal, "an operand was not computed");
      found = &constants.emplace_back(SampledTensor::of(Tensor::of(constant.constant)));
    }
    operands.push_back(found);
  }
  std::vector<ir::Poly> index;
  const Expr meaning = ops::semantics_of(arena_, value.node, static_cast<int>(value.output), index);
  auto made = evaluate_part(meaning, std::move(index), arena_.type(value).data_type, sample, operands);
  if (made) return made;
  Error error = std::move(made).error();
  if (error.where.empty()) error.where = std::string(ops::get(node.op).signature.name);
  return fail(std::move(error));
}

Result<SampledTensor> SampledEvaluation::part_of(const SampledTensor& tensor, const Sample& sample) {
  if (tensor.all() && is_whole(sample)) return tensor;
  std::vector<ir::Poly> index;
  index.reserve(sample.size());
  for (std::size_t k = 0; k < sample.size(); ++k) index.emplace_back(arena_.symbols().fresh(ir::SymbolKind::index, "i"));
  const Expr read = ops::Builder(arena_.symbols()).read(0, index);
  const std::array<const SampledTensor*, 1> operands = {&tensor};
  return evaluate_part(read, std::move(index), tensor.tensor.data_type, sample, operands);
}

Result<SampledEvaluation::Plan> SampledEvaluation::plan(ir::ValueId value, const Sample& sample, const Lookup& given) {
  // Values between the result and what is given, operands before users.
  std::vector<ir::ValueId> order;
  std::unordered_map<ir::ValueId, Demands> demands;
  std::vector<std::pair<ir::ValueId, std::size_t>> stack{{value, 0}};
  const auto is_computed = [&](ir::ValueId v) {
    return !arena_.is_absent(v) && given(v) == nullptr && arena_.node(v).kind != ir::NodeKind::constant;
  };
  const auto enter = [&](ir::ValueId v) -> Result<void> {
    XFLOW_TRY(const auto dims, dims_of(v));
    Demands& asked = demands[v];
    for (const std::int64_t dim : dims) asked.emplace_back(dim);
    return {};
  };
  if (is_computed(value)) XFLOW_CHECK(enter(value));
  while (is_computed(value) && !stack.empty()) {
    auto& [v, next] = stack.back();
    const ir::Node& node = arena_.node(v);
    if (node.kind == ir::NodeKind::operation && next < node.operands.size()) {
      const ir::ValueId operand = node.operands[next++];
      if (!is_computed(operand) || demands.contains(operand)) continue;
      XFLOW_CHECK(enter(operand));
      stack.emplace_back(operand, 0);
    } else {
      order.push_back(v);
      stack.pop_back();
    }
  }
  Plan result;
  const ir::Symbols::Valuation sizes = valuation_of(options_);
  for (std::size_t k = order.size(); k-- > 0;) {
    const ir::ValueId v = order[k];
    Sample part = sample;
    if (v != value) {
      part.clear();
      for (const Demand& demand : demands.at(v)) part.push_back(demand.positions());
    }
    if (arena_.node(v).kind == ir::NodeKind::operation) {
      std::vector<Demands*> operands;
      for (const ir::ValueId operand : arena_.node(v).operands) operands.push_back(is_computed(operand) ? &demands.at(operand) : nullptr);
      std::vector<ir::Poly> index;
      const Expr meaning = ops::semantics_of(arena_, v.node, static_cast<int>(v.output), index);
      if (is_whole(part)) {
        for (Demands* const demands_of_operand : operands)
          if (demands_of_operand != nullptr)
            for (Demand& demand : *demands_of_operand) demand.add_all();
      } else {
        Reads reads(arena_.symbols(), sizes, std::move(operands));
        for (std::size_t d = 0; d < index.size(); ++d) reads.set(*index[d].as_symbol(), part[d]);
        reads.visit(meaning);
      }
      auto work = this->work(v, part);
      if (!work) {
        Error error = std::move(work).error();
        if (error.where.empty()) error.where = std::string(ops::get(arena_.node(v).op).signature.name);
        return fail(std::move(error));
      }
      result.work = std::min(kFar, result.work + *work);
    }
    result.elements = std::min(kFar, result.elements + count_of(part));
    result.steps.push_back({v, std::move(part)});
  }
  std::ranges::reverse(result.steps);
  if (result.steps.empty()) result.steps.push_back({value, sample});
  return result;
}

Result<SampledTensor> SampledEvaluation::run(const Plan& plan, const Lookup& given) {
  SampledBindings made;
  std::unordered_map<ir::ValueId, std::size_t> uses;
  const auto operands_of = [&](const Plan::Step& step) -> const auto& { return arena_.node(step.value).operands; };
  for (const Plan::Step& step : plan.steps)
    for (const ir::ValueId operand : operands_of(step)) ++uses[operand];
  const Lookup known = [&](ir::ValueId value) -> const SampledTensor* {
    const auto at = made.find(value);
    return at != made.end() ? &at->second : given(value);
  };
  for (const Plan::Step& step : plan.steps) {
    XFLOW_TRY(SampledTensor tensor, compute(step.value, step.sample, known));
    if (&step == &plan.steps.back()) return tensor;
    made.insert_or_assign(step.value, std::move(tensor));
    for (const ir::ValueId operand : operands_of(step))
      if (--uses[operand] == 0) made.erase(operand);
  }
  return fail(ErrorCode::internal, "a plan without steps");
}

}  // namespace xflow::eval
