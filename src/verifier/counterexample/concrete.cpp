#include "src/verifier/counterexample/concrete.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <span>
#include <unordered_map>

#include "src/ops/operator.h"
#include "src/verifier/algebra/conversions.h"
#include "src/verifier/algebra/number.h"
#include "src/verifier/counterexample/typed_shapes.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;
using ops::ExprKind;
using ops::ExprNode;

struct ConcreteTensor {
  std::vector<std::int64_t> dims;
  std::vector<Number> values;
};

namespace {

constexpr std::int64_t kMaxElements = 4096;
constexpr std::uint64_t kLargestWork = 1'000'000;

bool is_defined(SymbolKind kind) { return kind == SymbolKind::floor_div || kind == SymbolKind::maximum || kind == SymbolKind::element; }

struct TooLarge {};

}  // namespace

struct Concrete::Outputs {
  bool stops = false;  // an index is out of range, or an integer is divided by 0: a runtime would stop
  std::vector<const ConcreteTensor*> tensors;
  std::unordered_map<ir::ValueId, ConcreteTensor> values;
};

class Concrete::Implementation {
 public:
  explicit Implementation(rules::RuleInstance& instance) : instance_(instance), arena_(*instance.arena) {
    std::set<SymbolId> symbols;
    std::set<std::string> reals;
    const auto poly = [&](const Poly& p) {
      for (const SymbolId s : arena_.symbols().all_symbols(p)) {
        const SymbolKind kind = arena_.symbols().info(s).kind;
        if (!is_defined(kind) && kind != SymbolKind::index) symbols.insert(s);
      }
    };
    for (const ir::Graph* graph : {&instance.source, &instance.target}) {
      for (const ir::NodeId id : ir::topological_order(arena_, *graph)) {
        const ir::Node& node = arena_.node(id);
        for (const ir::TensorType& t : node.outputs)
          for (const Poly& d : t.shape) poly(d);
        for (const ir::Attribute& a : node.attributes.list()) {
          if (const auto* p = std::get_if<Poly>(&a.value)) poly(*p);
          if (const auto* list = std::get_if<std::vector<Poly>>(&a.value)) std::for_each(list->begin(), list->end(), poly);
          if (const auto* r = std::get_if<ir::Real>(&a.value); r != nullptr && r->is_variable()) reals.insert(r->variable_name());
        }
      }
    }
    for (const ir::ValueId v : instance.variables)
      for (const Poly& d : arena_.type(v).shape) poly(d);
    for (const rules::Fact& f : instance.facts) poly(f.atom.poly);
    for (const rules::Fact& f : instance.obligations) poly(f.atom.poly);
    for (const ir::Graph* graph : {&instance.source, &instance.target}) {
      for (const ir::NodeId id : ir::topological_order(arena_, *graph)) {
        const ir::Node& node = arena_.node(id);
        if (node.kind != ir::NodeKind::operation || node.op != ops::id_of("cast")) continue;
        const ir::DataType to = node.outputs[0].data_type;
        loses_values_ = loses_values_ || (to != ir::DataType::boolean && !keeps_values(arena_.type(node.operands[0]).data_type, to));
      }
    }
    find_index_sizes();
    find_open_sizes();
    symbols_.assign(symbols.begin(), symbols.end());
    reals_.assign(reals.begin(), reals.end());
  }

  const std::vector<SymbolId>& symbols() const { return symbols_; }
  // The size of the dimension that the source indexes by elements of the variable; nullptr if there is none.
  const Poly* index_size(ir::ValueId variable) const {
    const auto found = index_sizes_.find(variable);
    return found == index_sizes_.end() ? nullptr : &found->second;
  }
  const std::vector<std::string>& reals() const { return reals_; }
  const ir::Arena& arena() const { return arena_; }
  bool loses_values() const { return loses_values_; }
  const std::vector<Poly>& open_sizes() const { return open_sizes_; }
  rules::RuleInstance& instance() { return instance_; }

  std::optional<std::int64_t> value(const Poly& p, const Assignment& assignment) const {
    return arena_.symbols().evaluate(p, [&](SymbolId s) -> std::optional<std::int64_t> {
      const auto found = assignment.integers.find(s);
      return found == assignment.integers.end() ? std::nullopt : std::optional(found->second);
    });
  }

  std::optional<std::vector<std::int64_t>> shape(ir::ValueId v, const Assignment& assignment) const {
    std::vector<std::int64_t> dims;
    std::int64_t elements = 1;
    for (const Poly& d : arena_.type(v).shape) {
      const auto size = value(d, assignment);
      if (!size || *size < 0 || *size > kMaxElements) return std::nullopt;
      elements *= *size;
      if (elements > kMaxElements) return std::nullopt;
      dims.push_back(*size);
    }
    return dims;
  }

  std::unique_ptr<Outputs> evaluate(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs, std::uint64_t work) {
    auto result = std::make_unique<Outputs>();
    work_ = work;
    stops_ = false;
    assignment_ = &assignment;
    environment_.assign(arena_.symbols().size(), std::nullopt);
    for (const auto& [s, v] : assignment.integers) environment_[static_cast<std::size_t>(s)] = v;
    try {
      for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
        ConcreteTensor t{inputs[k].dims, {}};
        for (const ir::Rational& r : inputs[k].values) t.values.push_back(from_literal(ir::Real(r)));
        result->values.emplace(instance_.variables[k], std::move(t));
      }
      for (const ir::NodeId id : ir::topological_order(arena_, graph)) evaluate_node(id, result->values);
    } catch (const TooLarge&) {
      return nullptr;
    }
    for (const ir::ValueId v : graph.outputs) result->tensors.push_back(&result->values.at(v));
    result->stops = stops_;
    return result;
  }

 private:
  struct Semantics {
    std::vector<SymbolId> index;
    ops::Expr expr;
  };
  using Values = std::unordered_map<ir::ValueId, ConcreteTensor>;
  struct Frame {
    const ir::Node& node;
    const Values& values;
  };

  void find_open_sizes() {
    const auto look = [&](const Poly& p) {
      if (arena_.symbols().lower_bound(p).value_or(0) >= 1 || std::find(open_sizes_.begin(), open_sizes_.end(), p) != open_sizes_.end())
        return;
      open_sizes_.push_back(p);
    };
    for (const ir::ValueId v : instance_.variables) std::for_each(arena_.type(v).shape.begin(), arena_.type(v).shape.end(), look);
    for (const ir::NodeId id : ir::topological_order(arena_, instance_.source))
      for (const ir::TensorType& t : arena_.node(id).outputs) std::for_each(t.shape.begin(), t.shape.end(), look);
  }

  void find_index_sizes() {
    for (const ir::NodeId id : ir::topological_order(arena_, instance_.source)) {
      const ir::Node& node = arena_.node(id);
      const auto is_integer = [&](ir::ValueId v) { return !arena_.is_absent(v) && ir::is_integer(arena_.type(v).data_type); };
      if (node.kind != ir::NodeKind::operation || std::none_of(node.operands.begin(), node.operands.end(), is_integer)) continue;
      find_index_sizes(*semantics({id, 0}).expr, node);
    }
  }
  void find_index_sizes(const ExprNode& e, const ir::Node& node) {
    for (const ops::WrappedIndex& w : e.wrapped) index_sizes_.emplace(node.operands[static_cast<std::size_t>(w.operand)], w.size);
    for (const ops::Expr& a : e.arguments) find_index_sizes(*a, node);
  }

  void evaluate_node(ir::NodeId id, Values& values) {
    const ir::Node& node = arena_.node(id);
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const ir::ValueId v{id, output};
      if (values.contains(v) || node.is_absent) continue;
      const auto dims = shape(v, *assignment_);
      if (!dims) throw TooLarge{};
      ConcreteTensor t{*dims, {}};
      if (node.kind == ir::NodeKind::constant) {
        const auto doubles = ir::doubles(node.constant);
        if (!doubles) throw TooLarge{};
        for (const double x : *doubles) t.values.push_back(from_literal(ir::Real::from_double(x)));
      } else if (node.kind == ir::NodeKind::operation) {
        fill(t, v, Frame{node, values});
      } else {
        throw TooLarge{};
      }
      values.emplace(v, std::move(t));
    }
  }

  void fill(ConcreteTensor& t, ir::ValueId v, const Frame& frame) {
    const Semantics& s = semantics(v);
    std::int64_t count = 1;
    for (const std::int64_t d : t.dims) count *= d;
    t.values.reserve(static_cast<std::size_t>(count));
    std::vector<std::int64_t> at(t.dims.size(), 0);
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::size_t k = 0; k < at.size(); ++k) set(s.index[k], at[k]);
      const Number element = number(*s.expr, frame);
      // A maximum of no numbers, such as that of a window in padding only, has no value.
      const bool is_of_nothing = s.expr->kind == ExprKind::maximum && element.is_infinite();
      t.values.push_back(is_of_nothing && !broken(Fault::refute_by_maxima_of_nothing) ? Number::undefined() : element);
      for (std::size_t k = at.size(); k-- > 0;) {
        if (++at[k] < t.dims[k]) break;
        at[k] = 0;
      }
    }
  }

  const Semantics& semantics(ir::ValueId v) {
    if (const auto found = semantics_.find(v); found != semantics_.end()) return found->second;
    Semantics s;
    std::vector<Poly> index;
    s.expr = ops::semantics_of(arena_, v.node, static_cast<int>(v.output), index);
    for (const Poly& p : index) s.index.push_back(*p.as_symbol());
    return semantics_.emplace(v, std::move(s)).first->second;
  }

  void set(SymbolId s, std::int64_t value) {
    if (static_cast<std::size_t>(s) >= environment_.size()) environment_.resize(arena_.symbols().size());
    environment_[static_cast<std::size_t>(s)] = value;
  }

  std::optional<std::int64_t> integer(const Poly& p, const Frame& frame) const {
    if (const auto c = p.constant()) return c;
    // Fast path: most indices are one symbol.
    if (const auto s = p.as_symbol(); s && static_cast<std::size_t>(*s) < environment_.size() && environment_[static_cast<std::size_t>(*s)])
      return environment_[static_cast<std::size_t>(*s)];
    return arena_.symbols().evaluate(p, [&](SymbolId s) -> std::optional<std::int64_t> {
      const ir::SymbolInfo& info = arena_.symbols().info(s);
      if (info.kind == SymbolKind::element) {
        const Number n = read(static_cast<int>(info.tensor), info.arguments, frame);
        if (!n.is_small() || n.denominator() != 1) return std::nullopt;
        return n.numerator();
      }
      return static_cast<std::size_t>(s) < environment_.size() ? environment_[static_cast<std::size_t>(s)] : std::nullopt;
    });
  }

  // nullopt: an index is not known.
  std::optional<bool> condition(const ops::Condition& c, const Frame& frame) const {
    for (const ops::Atom& a : c) {
      const auto v = integer(a.poly, frame);
      if (!v) return std::nullopt;
      const bool holds = a.relation == ops::Relation::at_least_zero ? *v >= 0 : a.relation == ops::Relation::zero ? *v == 0 : *v != 0;
      if (!holds) return false;
    }
    return true;
  }

  // True if the element is an index of its dimension. Stops otherwise, also if it has no value.
  bool is_index(const ops::WrappedIndex& w, const Frame& frame) const {
    const auto size = integer(w.size, frame);
    if (size == 1 && broken(Fault::refute_single_indices_are_in_range)) return true;
    const Number n = read(w.operand, w.at, frame);
    if (!size) return false;
    const bool is_in_range = n.has_value() && n.is_small() && n.numerator() >= -*size && n.numerator() < *size;
    stops_ = stops_ || !is_in_range;
    return is_in_range;
  }

  Number read(int operand, const std::vector<Poly>& indices, const Frame& frame) const {
    const auto found = frame.values.find(frame.node.operands[static_cast<std::size_t>(operand)]);
    if (found == frame.values.end()) return Number::undefined();
    const ConcreteTensor& t = found->second;
    std::int64_t position = 0;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const auto i = integer(indices[k], frame);
      if (!i || *i < 0 || *i >= t.dims[k]) return Number::undefined();
      position = position * t.dims[k] + *i;
    }
    return t.values[static_cast<std::size_t>(position)];
  }

  Number number(const ExprNode& e, const Frame& frame) {
    if (work_ == 0) throw TooLarge{};
    --work_;
    switch (e.kind) {
      case ExprKind::literal: {
        if (!e.literal.is_variable()) return from_literal(e.literal);
        const auto found = assignment_->reals.find(e.literal.variable_name());
        return found == assignment_->reals.end() ? Number::undefined() : from_literal(ir::Real(found->second));
      }
      case ExprKind::integer: {
        const auto v = integer(e.integer, frame);
        return v ? Number(*v) : Number::undefined();
      }
      case ExprKind::read:
        for (const ops::WrappedIndex& w : e.wrapped)
          if (!is_index(w, frame)) return Number::undefined();
        return read(e.operand, e.indices, frame);
      case ExprKind::sum:
      case ExprKind::maximum: {
        const auto extent = integer(e.extent, frame);
        if (!extent) return Number::undefined();
        const bool sum = e.kind == ExprKind::sum;
        Number result = sum ? Number() : Number::negative_infinity();
        for (std::int64_t k = 0; k < *extent; ++k) {
          set(e.binder, k);
          const Number next = number(*e.arguments[0], frame);
          result = sum ? add(result, next) : apply_function(ops::Function::maximum, std::array{result, next});
        }
        return result;
      }
      case ExprKind::select: {
        const auto c = condition(e.condition, frame);
        if (!c) return Number::undefined();
        return number(*e.arguments[*c ? 0 : 1], frame);
      }
      case ExprKind::apply: {
        std::array<Number, 3> values;
        if (e.arguments.size() > values.size()) return Number::undefined();
        const std::span arguments = std::span(values).first(e.arguments.size());
        for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = number(*e.arguments[k], frame);
        // The branch that is not chosen may be undefined.
        if (e.function == ops::Function::choose && arguments[0].has_value()) return arguments[arguments[0].is_zero() ? 2 : 1];
        const bool divides =
            e.function == ops::Function::integer_divide || e.function == ops::Function::modulo || e.function == ops::Function::remainder;
        if (divides && arguments[1].has_value() && arguments[1].is_zero() && ir::is_integer(element_type(arena_, frame.node, e)))
          stops_ = true;
        return apply_function(e.function, arguments);
      }
      case ExprKind::cast:
        break;
    }
    return convert(element_type(arena_, frame.node, *e.arguments[0]), e.data_type, number(*e.arguments[0], frame));
  }

  rules::RuleInstance& instance_;
  ir::Arena& arena_;
  std::vector<SymbolId> symbols_;
  std::vector<std::string> reals_;
  bool loses_values_ = false;
  std::vector<Poly> open_sizes_;
  std::unordered_map<ir::ValueId, Semantics> semantics_;
  std::unordered_map<ir::ValueId, Poly> index_sizes_;
  std::vector<std::optional<std::int64_t>> environment_;
  const Assignment* assignment_ = nullptr;
  std::uint64_t work_ = 0;
  mutable bool stops_ = false;
};

Concrete::Concrete(rules::RuleInstance& instance) : implementation_(std::make_unique<Implementation>(instance)) {}
Concrete::~Concrete() = default;

const std::vector<SymbolId>& Concrete::symbols() const { return implementation_->symbols(); }
const std::vector<Poly>& Concrete::open_sizes() const { return implementation_->open_sizes(); }
bool Concrete::has_empty_tensors(const Assignment& assignment) const {
  return std::any_of(open_sizes().begin(), open_sizes().end(),
                     [&](const Poly& p) { return implementation_->value(p, assignment).value_or(0) < 1; });
}
std::optional<std::vector<std::vector<std::int64_t>>> Concrete::output_shapes(const ir::Graph& graph, const Assignment& assignment) const {
  return typed_shapes(implementation_->arena(), graph, [&](const Poly& p) { return implementation_->value(p, assignment); });
}
bool Concrete::loses_values() const { return implementation_->loses_values(); }
const std::vector<std::string>& Concrete::reals() const { return implementation_->reals(); }

std::unique_ptr<Concrete::Outputs> Concrete::evaluate(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs,
                                                      std::uint64_t work) {
  return implementation_->evaluate(graph, assignment, inputs, work);
}

std::optional<std::vector<std::int64_t>> Concrete::shape(ir::ValueId value, const Assignment& assignment) const {
  return implementation_->shape(value, assignment);
}

std::optional<std::int64_t> Concrete::value(const Poly& poly, const Assignment& assignment) const {
  return implementation_->value(poly, assignment);
}

std::optional<bool> Concrete::holds(const ops::Atom& atom, const Assignment& assignment) const {
  const auto v = implementation_->value(atom.poly, assignment);
  if (!v) return std::nullopt;
  return atom.relation == ops::Relation::at_least_zero ? *v >= 0 : atom.relation == ops::Relation::zero ? *v == 0 : *v != 0;
}

std::optional<Inputs> Concrete::draw(const Assignment& assignment, std::uint64_t seed, Entry kind) const {
  std::mt19937_64 random(seed);
  const rules::RuleInstance& instance = implementation_->instance();
  Inputs inputs;
  // All entries use the same power, so that two entries may become equal by a conversion.
  static constexpr std::array<int, 9> kPowers = {7, 8, 11, 15, 16, 24, 31, 32, 53};
  const std::int64_t power = kind == Entry::edges ? std::int64_t{1} << kPowers[random() % kPowers.size()] : 0;
  for (const ir::ValueId v : instance.variables) {
    const auto dims = shape(v, assignment);
    if (!dims) return std::nullopt;
    const ir::DataType type = implementation_->arena().type(v).data_type;
    std::int64_t high = kind == Entry::small ? 3 : kind == Entry::bits ? 1 : 12;
    std::int64_t low = kind == Entry::bits ? 0 : -high;
    const std::int64_t denominator = kind == Entry::halves && ir::is_floating(type) ? 2 : 1;
    if (kind == Entry::positive) low = 1;
    if (type == ir::DataType::boolean) low = 0, high = 1;
    // Integer tensors may be indices: prefers values that are in range of most dimensions.
    if (ir::is_integer(type) && kind != Entry::large) low = 0, high = 2;
    // Values in range, mostly nonnegative.
    const Poly* size = implementation_->index_size(v);
    const auto end = size != nullptr && kind != Entry::large ? implementation_->value(*size, assignment) : std::nullopt;
    if (end && *end >= 1) low = random() % 4 == 0 ? -*end : 0, high = *end - 1;
    const bool at_edges = kind == Entry::edges && type != ir::DataType::boolean && !end;
    bool nonzero = false;
    bool negative = true;  // negative entries are allowed
    bool in_range = false;
    for (const rules::ValueFact& f : instance.value_facts) {
      if (f.value != v) continue;
      if (f.kind == rules::ValueFact::Kind::in_range) {
        const auto least = implementation_->value(f.low, assignment);
        const auto most = implementation_->value(f.end, assignment);
        if (!least || !most || *most <= *least) return std::nullopt;
        low = *least, high = *most - 1;
        in_range = true;
        continue;
      }
      nonzero = nonzero || f.kind != rules::ValueFact::Kind::nonnegative;
      negative = negative && f.kind == rules::ValueFact::Kind::nonzero;
    }
    const IntegerRange range = ir::is_integer(type) ? integer_range(type) : IntegerRange{low, high};
    if (!broken(Fault::refute_by_numbers_of_no_type)) low = std::max(low, range.low), high = std::min(high, range.high);
    if (!negative) low = std::max<std::int64_t>(low, 0);
    if (nonzero && !in_range) high = std::max<std::int64_t>(high, 1);
    // No entry is possible: the facts contradict each other at these sizes.
    if (low > high || (nonzero && low == 0 && high == 0)) return std::nullopt;
    const auto edge = [&](std::int64_t otherwise) {
      const auto next = static_cast<std::int64_t>(random() % 3) - 1;
      const std::int64_t x = power + next;
      const std::int64_t y = random() % 4 == 0 && low < 0 ? -x : x;
      const Number kept = convert(ir::DataType::int64, type, Number(y));
      return kept.is_small() && kept.denominator() == 1 && kept.numerator() == y ? y : otherwise;
    };
    Entries e{*dims, {}};
    std::int64_t count = 1;
    for (const std::int64_t d : *dims) count *= d;
    while (e.values.size() < static_cast<std::size_t>(count)) {
      std::int64_t x = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
      if (at_edges && !in_range && random() % 4 != 0) x = edge(x);
      if (!nonzero || x != 0) e.values.push_back(*ir::Rational::make(x, denominator));
    }
    inputs.push_back(std::move(e));
  }
  return inputs;
}

std::optional<Concrete::Elements> Concrete::element_values(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs,
                                                           std::size_t output) {
  const auto outputs = evaluate(graph, assignment, inputs, kLargestWork);
  if (!outputs) return std::nullopt;
  const ConcreteTensor& t = *outputs->tensors[output];
  return Elements{t.dims, outputs->stops ? std::vector<Number>(t.values.size(), Number::undefined()) : t.values};
}

Concrete::Agreement Concrete::compare(const Assignment& assignment, const Inputs& inputs, std::uint64_t work, Difference* where) {
  const rules::RuleInstance& instance = implementation_->instance();
  const auto source = evaluate(instance.source, assignment, inputs, work);
  const auto target = source ? evaluate(instance.target, assignment, inputs, work) : nullptr;
  if (source && source->stops) return Agreement::undefined;
  if (!source || !target) return Agreement::unclear;
  bool unclear = false;
  bool compared = false;
  for (std::size_t k = 0; k < source->tensors.size(); ++k) {
    const ConcreteTensor& a = *source->tensors[k];
    const ConcreteTensor& b = *target->tensors[k];
    if (a.dims != b.dims) return Agreement::unclear;
    for (std::size_t n = 0; n < a.values.size(); ++n) {
      if (!a.values[n].has_value()) continue;
      compared = true;
      // Where the source has a value, the target must have one.
      const Number value = target->stops ? Number::undefined() : b.values[n];
      const Comparison c = value.is_undefined() || value.is_infinite() ? Comparison::different : verifier::compare(a.values[n], value);
      unclear = unclear || c == Comparison::unclear;
      if (c != Comparison::different) continue;
      if (where != nullptr) {
        *where = Difference{static_cast<int>(k), std::vector<std::int64_t>(a.dims.size()), a.values[n].to_string(), value.to_string()};
        std::size_t rest = n;
        for (std::size_t d = a.dims.size(); d-- > 0;) {
          where->index[d] = static_cast<std::int64_t>(rest) % a.dims[d];
          rest /= static_cast<std::size_t>(a.dims[d]);
        }
      }
      return Agreement::different;
    }
  }
  return unclear ? Agreement::unclear : compared ? Agreement::equal : Agreement::undefined;
}

}  // namespace xflow::verifier
