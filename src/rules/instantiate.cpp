#include "src/rules/instantiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "src/rules/build.h"
#include "src/rules/choices.h"
#include "src/rules/instance_typing.h"

namespace xflow::rules {
namespace {

// What the build of one side knows besides its result.
enum class Stop : std::uint8_t {
  none,
  rejected,  // no graph matches this choice
  restart,   // an assumption was added: build again
};

bool is_defined(ir::SymbolKind kind) {
  return kind == ir::SymbolKind::floor_div || kind == ir::SymbolKind::maximum || kind == ir::SymbolKind::element;
}

// Builds source terms, choosing what attributes leave open.
class SourceBuilder : public TermBuilder {
 public:
  SourceBuilder(ir::Arena& arena, SourceTyping& typing, Environment& environment, Choices& choices,
                const ir::Symbols::Substitution& substitution, std::map<std::string, std::string>& chosen)
      : TermBuilder(arena, typing, environment, Literals::exact),
        source_typing_(typing),
        environment_(environment),
        choices_(choices),
        substitution_(substitution),
        chosen_(chosen) {}

 protected:
  Result<void> before(const Term& term, const ops::Signature& signature, std::span<const ir::TensorType> operands) override {
    for (const Term::NamedExpression& attribute : term.attributes) {
      const ops::AttributeSignature& expected = *find_attribute(signature, attribute.name);
      const Expression& e = attribute.value;
      if (e.kind == Expression::Kind::name && environment_.attribute(e.name) == nullptr) bind(e.name, expected, signature, operands);
      if (e.kind == Expression::Kind::list) {
        for (const Expression& element : e.arguments) {
          if (element.kind == Expression::Kind::name && environment_.attribute(element.name) == nullptr) {
            environment_.attributes[element.name] = parameter(element.name);
          }
        }
      }
    }
    return {};
  }
  Result<ir::NodeId> apply(const Term& term, ir::OperatorId op, std::vector<ir::ValueId> operands, ir::Attributes attributes) override {
    source_typing_.enter(fmt::format("{}:{} {}", term.place.line, term.place.column, term.name));
    return TermBuilder::apply(term, op, std::move(operands), std::move(attributes));
  }

 private:
  ir::Poly parameter(const std::string& name) {
    return arena_.symbols().substitute(arena_.symbols().named(ir::SymbolKind::parameter, name), substitution_);
  }

  void bind(const std::string& name, const ops::AttributeSignature& expected, const ops::Signature& signature,
            std::span<const ir::TensorType> operands) {
    const std::size_t rank = operands.empty() ? 0 : operands[0].rank();
    switch (expected.kind) {
      case ops::AttributeKind::integer:
        environment_.attributes[name] = integer(name, expected, rank);
        return;
      case ops::AttributeKind::integers:
        environment_.attributes[name] = integers(name, expected, signature, operands);
        return;
      case ops::AttributeKind::real:
        environment_.attributes[name] = ir::Real::variable(name);
        return;
      case ops::AttributeKind::word:
      case ops::AttributeKind::data_type:
        return;
    }
  }

  ir::Poly integer(const std::string& name, const ops::AttributeSignature& expected, std::size_t rank) {
    if (!expected.axis && !expected.flag) return parameter(name);
    const std::size_t value = choices_.choose("attribute " + name, std::max<std::size_t>(expected.flag ? 2 : rank, 1));
    chosen_[name] = fmt::format("{} = {}", name, value);
    return ir::Poly(static_cast<std::int64_t>(value));
  }

  std::vector<ir::Poly> integers(const std::string& name, const ops::AttributeSignature& expected, const ops::Signature& signature,
                                 std::span<const ir::TensorType> operands) {
    const std::size_t rank = operands.empty() ? 0 : operands[0].rank();
    std::vector<ir::Poly> result;
    if (expected.axis) {
      const std::size_t set = choices_.choose("attribute " + name, std::size_t{1} << rank);
      for (std::size_t k = 0; k < rank; ++k) {
        if ((set >> k & 1) != 0) result.emplace_back(static_cast<std::int64_t>(k));
      }
    } else if (expected.permutation) {
      std::vector<std::int64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t k = 0; k + 1 < rank; ++k) {
        const std::size_t pick = choices_.choose(fmt::format("attribute {}[{}]", name, k), rank - k);
        std::rotate(order.begin() + static_cast<std::ptrdiff_t>(k), order.begin() + static_cast<std::ptrdiff_t>(k + pick),
                    order.begin() + static_cast<std::ptrdiff_t>(k + pick + 1));
      }
      result = ir::polys(order);
    } else {
      const auto known = list_length(signature, expected.name, operands);
      const std::size_t length = known ? *known : choices_.choose("length of " + name, kMaxRank + 1);
      for (std::size_t k = 0; k < length; ++k) result.push_back(parameter(fmt::format("{}[{}]", name, k)));
      if (!known) chosen_[name] = fmt::format("{}: {} elements", name, length);
      return result;
    }
    chosen_[name] = fmt::format("{} = {}", name, arena_.symbols().to_string(result));
    return result;
  }

  SourceTyping& source_typing_;
  Environment& environment_;
  Choices& choices_;
  const ir::Symbols::Substitution& substitution_;
  std::map<std::string, std::string>& chosen_;
};

class TargetBuilder : public TermBuilder {
 public:
  TargetBuilder(ir::Arena& arena, TargetTyping& typing, const Environment& environment)
      : TermBuilder(arena, typing, environment, Literals::exact), target_typing_(typing) {}

 protected:
  Result<ir::NodeId> apply(const Term& term, ir::OperatorId op, std::vector<ir::ValueId> operands, ir::Attributes attributes) override {
    target_typing_.enter(fmt::format("{}:{} {}", term.place.line, term.place.column, term.name));
    return TermBuilder::apply(term, op, std::move(operands), std::move(attributes));
  }

 private:
  TargetTyping& target_typing_;
};

// One run: the instance for the choices of the run.
class Run {
 public:
  Run(const Rule& rule, Choices& choices)
      : rule_(rule),
        choices_(choices),
        arena_(std::make_unique<ir::Arena>()),
        environment_(*arena_),
        converts_numbers_(converts_numbers(rule)) {}

  // Nothing where no graph matches the choice; `reason` says why.
  Result<std::optional<RuleInstance>> build(std::string& reason) {
    constexpr int kMaxRestarts = 200;
    for (int round = 0; round < kMaxRestarts; ++round) {
      const Stop stop = build_source(reason);
      if (stop == Stop::rejected) return std::optional<RuleInstance>();
      if (stop == Stop::restart) continue;
      auto instance = finish();
      // Matching asks for the types of the source: a target that has no type for other floating types is not applied to these.
      if (!instance && instance.error().code == ErrorCode::ill_typed && has_other_types_) {
        reason = instance.error().message;
        return std::optional<RuleInstance>();
      }
      if (!instance) return fail(std::move(instance).error());
      return std::optional<RuleInstance>(*std::move(instance));
    }
    return fail(ErrorCode::limit, "the dimensions of the source could not be solved");
  }

 private:
  ir::Symbols& symbols() { return arena_->symbols(); }
  Stop reject(std::string& reason, std::string why) {
    reason = std::move(why);
    return Stop::rejected;
  }

  // Variables, guards, statements; then equations that became known replace symbols, and it starts again.
  Stop build_source(std::string& reason) {
    environment_.attributes.clear();
    environment_.values.clear();
    environment_.lists.clear();
    chosen_.clear();
    value_facts_.clear();
    has_other_types_ = false;
    if (auto made = make_variables(); !made) return reject(reason, made.error().message);
    guard_facts_.clear();
    if (!guards(true, reason)) return Stop::rejected;

    SourceTyping typing(symbols(), choices_, assumed_);
    typing.refine = [&] {
      guard_facts_.clear();
      std::string ignored;
      return guards(true, ignored) && extend_substitution(guard_facts_);
    };
    SourceBuilder builder(*arena_, typing, environment_, choices_, substitution_, chosen_);
    for (const Statement& statement : rule_.source) {
      auto outputs = builder.build(statement.term, ir::DataType::float32);
      if (!outputs && typing.restart) {
        extend_substitution(assumed_);
        return Stop::restart;
      }
      if (!outputs) return reject(reason, outputs.error().message);
      if (outputs->size() != statement.outputs.size()) {
        return reject(reason,
                      fmt::format("expected {} outputs of {}, found {}", statement.outputs.size(), statement.term.name, outputs->size()));
      }
      for (std::size_t k = 0; k < outputs->size(); ++k) environment_.values[statement.outputs[k]] = (*outputs)[k];
    }
    guard_facts_.clear();
    if (!guards(false, reason)) return Stop::rejected;
    typing_facts_ = std::move(typing.facts);
    if (extend_substitution(typing_facts_) || extend_substitution(guard_facts_)) return Stop::restart;
    return Stop::none;
  }

  ir::Poly dimension(const std::string& name) {
    return symbols().substitute(symbols().named(ir::SymbolKind::dimension, name), substitution_);
  }

  // The name of the sequence in S.. and 1^S; nullptr for other dimensions.
  static const std::string* sequence_in(const Expression& e) {
    return e.kind == Expression::Kind::sequence || e.kind == Expression::Kind::ones ? &e.name : nullptr;
  }

  // Sequences of a declaration get their lengths, so that no rank is above kMaxRank.
  Result<void> choose_sequences(const Declaration& declaration) {
    std::size_t rank = 0;
    for (const Expression& dim : declaration.dims) {
      const std::string* name = sequence_in(dim);
      if (name == nullptr) {
        ++rank;
      } else if (const ir::AttributeValue* known = environment_.attribute(*name)) {
        rank += std::get<std::vector<ir::Poly>>(*known).size();
      }
    }
    for (const Expression& dim : declaration.dims) {
      const std::string* sequence = sequence_in(dim);
      if (sequence == nullptr || environment_.attribute(*sequence) != nullptr) continue;
      if (rank > kMaxRank) break;
      const std::string& name = *sequence;
      const std::size_t length = choices_.choose("sequence " + name, kMaxRank - rank + 1);
      chosen_[name] = fmt::format("{}: {} dimension{}", name, length, length == 1 ? "" : "s");
      std::vector<ir::Poly> dims;
      dims.reserve(length);
      for (std::size_t k = 0; k < length; ++k) dims.push_back(dimension(fmt::format("{}{}", name, k)));
      environment_.attributes[name] = std::move(dims);
      rank += length;
    }
    if (rank > kMaxRank) return fail(ErrorCode::ill_typed, fmt::format("'{}' has more than {} dimensions", declaration.variable, kMaxRank));
    return {};
  }

  // Guards on ranks alone are asked as soon as the ranks are chosen: most choices end here.
  Result<void> rank_guards(const Declaration& declaration) {
    if (std::none_of(rule_.guards.begin(), rule_.guards.end(), is_about_ranks)) return {};
    if (!declaration.list) {
      std::size_t rank = 0;
      for (const Expression& dim : declaration.dims) {
        const std::string* name = sequence_in(dim);
        rank += name == nullptr ? 1 : std::get<std::vector<ir::Poly>>(environment_.attributes.at(*name)).size();
      }
      environment_.values[declaration.variable] = of_rank(std::min(rank, kMaxRank));
    }
    for (const Guard& guard : rule_.guards) {
      if (!is_about_ranks(guard)) continue;
      const auto a = evaluate_integer(guard.arguments[0], environment_, symbols());
      const auto b = evaluate_integer(guard.arguments[1], environment_, symbols());
      if (a && b && holds(guard.kind, *a, *b, symbols()) == false) {
        return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
      }
    }
    return {};
  }
  static bool is_about_ranks(const Guard& guard) {
    return guard.value.empty() && is_rank(guard.arguments[0]) && is_rank(guard.arguments[1]);
  }
  // A stand-in for a variable of that rank.
  ir::ValueId of_rank(std::size_t rank) {
    const auto [at, added] = ranks_.try_emplace(rank);
    if (added) at->second = arena_->input({ir::DataType::float32, true, ir::Shape(rank, ir::Poly(1))}, static_cast<std::uint32_t>(rank));
    return at->second;
  }
  // True for expressions of numbers and ranks.
  static bool is_rank(const Expression& e) {
    if (e.kind == Expression::Kind::number) return true;
    if (e.kind == Expression::Kind::call) return e.name == "rank";
    const bool arithmetic = e.kind == Expression::Kind::add || e.kind == Expression::Kind::subtract ||
                            e.kind == Expression::Kind::multiply || e.kind == Expression::Kind::negate;
    return arithmetic && std::all_of(e.arguments.begin(), e.arguments.end(), is_rank);
  }

  Result<ir::Shape> declared_shape(const Declaration& declaration) {
    ir::Shape shape;
    for (std::size_t k = 0; k < declaration.dims.size(); ++k) {
      const Expression& dim = declaration.dims[k];
      if (dim.kind == Expression::Kind::optional) {
        const bool one = choices_.choose(fmt::format("optional {} of {}", k, declaration.variable), 2) == 1;
        chosen_[fmt::format("{} {}", declaration.variable, k)] =
            fmt::format("{} of {} is {}", print(dim), declaration.variable, one ? "1" : print(dim.arguments[0]));
        if (one) {
          shape.emplace_back(1);
        } else {
          XFLOW_TRY(ir::Poly size, evaluate_integer(dim.arguments[0], environment_, symbols()));
          shape.push_back(std::move(size));
        }
        continue;
      }
      XFLOW_TRY(const ir::AttributeValue value, evaluate(dim, environment_, symbols()));
      if (const auto* list = std::get_if<std::vector<ir::Poly>>(&value)) {
        shape.insert(shape.end(), list->begin(), list->end());
      } else if (const auto* integer = std::get_if<ir::Poly>(&value)) {
        shape.push_back(*integer);
      } else {
        return fail(ErrorCode::ill_typed, fmt::format("expected {} to be a dimension", print(dim)));
      }
    }
    return shape;
  }

  const Guard* guard_of(std::string_view variable, Guard::Kind kind) const {
    for (const Guard& guard : rule_.guards) {
      if (guard.value == variable && guard.kind == kind) return &guard;
    }
    return nullptr;
  }

  // What a conversion does depends on the type that it converts: a rule with conversions is proved for each floating type that a variable
  // may have.
  ir::DataType data_type(std::string_view variable) {
    if (const Declaration* declaration = rule_.declaration(variable); declaration != nullptr && declaration->data_type) {
      return *declaration->data_type;
    }
    for (const Statement& statement : rule_.source) {
      if (const auto type = asked_type(statement.term, variable)) return *type;
    }
    if (!converts_numbers_) return ir::DataType::float32;
    static constexpr std::array kTypes = {ir::DataType::float32, ir::DataType::float64, ir::DataType::float16, ir::DataType::bfloat16};
    const ir::DataType type = kTypes[choices_.choose(fmt::format("type of {}", variable), kTypes.size())];
    chosen_[fmt::format("type of {}", variable)] = fmt::format("{}: {}", variable, ir::name(type));
    has_other_types_ = has_other_types_ || type != ir::DataType::float32;
    return type;
  }
  // True for a conversion of numbers: to booleans only 0 counts.
  static bool converts_in(const Term& term) {
    const auto to_boolean = [](const Term::NamedExpression& a) {
      return a.name == "to" && a.value.name == ir::name(ir::DataType::boolean);
    };
    if (term.kind == Term::Kind::application && term.name == "cast" &&
        std::none_of(term.attributes.begin(), term.attributes.end(), to_boolean))
      return true;
    return std::any_of(term.operands.begin(), term.operands.end(), converts_in);
  }
  static bool converts_numbers(const Rule& rule) {
    const auto converts = [](const Statement& statement) { return converts_in(statement.term); };
    return std::any_of(rule.source.begin(), rule.source.end(), converts) || std::any_of(rule.target.begin(), rule.target.end(), converts);
  }

  Result<ir::Shape> variable_shape(const std::string& variable, const std::string& element) {
    if (rule_.pointwise || guard_of(variable, Guard::Kind::is_scalar) != nullptr) return ir::Shape();
    if (const Declaration* declaration = rule_.declaration(variable)) return declared_shape(*declaration);
    const std::size_t rank = choices_.choose("rank of " + variable, kMaxRank + 1);
    chosen_[variable] = fmt::format("{}: {} dimension{}", variable, rank, rank == 1 ? "" : "s");
    ir::Shape shape;
    for (std::size_t k = 0; k < rank; ++k) shape.push_back(dimension(fmt::format("{}.{}", element, k)));
    return shape;
  }

  Result<void> make_variables() {
    for (const auto& [name, kind] : rule_.names) {
      if (kind == NameKind::dimension) environment_.attributes[name] = dimension(name);
    }
    for (const Declaration& declaration : rule_.declarations) {
      XFLOW_CHECK(choose_sequences(declaration));
      XFLOW_CHECK(rank_guards(declaration));
    }
    environment_.values.clear();
    variables_.clear();
    variable_names_.clear();
    for (const std::string& variable : rule_.variables) {
      if (rule_.names.at(variable) == NameKind::values) {
        const std::size_t count = choices_.choose("count of " + variable, kMaxListOperands) + 1;
        chosen_["count of " + variable] = fmt::format("{}: {} operand{}", variable, count, count == 1 ? "" : "s");
        std::vector<ir::ValueId>& list = environment_.lists[variable];
        for (std::size_t k = 0; k < count; ++k) {
          XFLOW_TRY(ir::Shape shape, variable_shape(variable, fmt::format("{}{}", variable, k)));
          list.push_back(add_variable(fmt::format("{}{}", variable, k), data_type(variable), std::move(shape)));
        }
        continue;
      }
      XFLOW_TRY(ir::Shape shape, variable_shape(variable, variable));
      XFLOW_CHECK(make_variable(variable, std::move(shape)));
      if (rule_.declaration(variable) == nullptr) XFLOW_CHECK(length_guards());
    }
    return {};
  }

  // Guards that two lists are equal say that they are as long, and ranks are asked as soon as they are chosen: most choices end here.
  Result<void> length_guards() {
    for (const Guard& guard : rule_.guards) {
      if (!guard.value.empty()) continue;
      if (is_about_ranks(guard)) {
        const auto a = evaluate_integer(guard.arguments[0], environment_, symbols());
        const auto b = evaluate_integer(guard.arguments[1], environment_, symbols());
        if (a && b && holds(guard.kind, *a, *b, symbols()) == false)
          return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
        continue;
      }
      if (guard.kind != Guard::Kind::equal) continue;
      const auto a = length_of(guard.arguments[0]);
      const auto b = length_of(guard.arguments[1]);
      if (a && b && *a != *b) return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
    }
    return {};
  }
  // How many dimensions dims(x), outer(x), or either with one replaced, has; nothing for other expressions and while x has no rank.
  std::optional<std::size_t> length_of(const Expression& e) const {
    if (e.kind != Expression::Kind::call || e.arguments.empty()) return std::nullopt;
    if (e.name == "replace") return length_of(e.arguments[0]);
    if ((e.name != "dims" && e.name != "outer") || e.arguments[0].kind != Expression::Kind::name) return std::nullopt;
    const ir::TensorType* type = environment_.type(e.arguments[0].name);
    if (type == nullptr || !type->ranked || (e.name == "outer" && type->shape.empty())) return std::nullopt;
    return type->shape.size() - (e.name == "outer" ? 1 : 0);
  }

  Result<void> make_variable(const std::string& variable, ir::Shape shape) {
    const ir::DataType type = data_type(variable);
    if (const Guard* guard = guard_of(variable, Guard::Kind::equals_value)) {
      // The variable is that number everywhere: no variable of the instance.
      ops::Typing typing(symbols());
      ir::Attributes attributes{{"value", guard->arguments[0].number}, {"shape", std::move(shape)}, {"data_type", type}};
      XFLOW_TRY(const ir::NodeId node, ops::apply(*arena_, typing, ops::id_of("full"), {}, std::move(attributes)));
      environment_.values[variable] = {node, 0};
      return {};
    }
    const ir::ValueId value = add_variable(variable, type, std::move(shape));
    environment_.values[variable] = value;
    if (guard_of(variable, Guard::Kind::is_nonzero) != nullptr) value_facts_.push_back({value, ValueFact::Kind::nonzero});
    if (guard_of(variable, Guard::Kind::is_positive) != nullptr) value_facts_.push_back({value, ValueFact::Kind::positive});
    if (guard_of(variable, Guard::Kind::is_nonnegative) != nullptr) value_facts_.push_back({value, ValueFact::Kind::nonnegative});
    return {};
  }

  ir::ValueId add_variable(std::string name, ir::DataType type, ir::Shape shape) {
    const ir::ValueId value = arena_->input({type, true, std::move(shape)}, static_cast<std::uint32_t>(variables_.size()));
    variables_.push_back(value);
    variable_names_.push_back(std::move(name));
    return value;
  }

  // False where a guard does not hold. `early`: guards whose names are not all bound yet are left for later.
  bool guards(bool early, std::string& reason) {
    for (const Guard& guard : rule_.guards) {
      if (!guard.value.empty()) continue;
      const auto a = evaluate(guard.arguments[0], environment_, symbols());
      const auto b = evaluate(guard.arguments[1], environment_, symbols());
      if (!a || !b) {
        if (early) continue;
        reason = (!a ? a : b).error().message;
        return false;
      }
      if (!relation(guard, *a, *b)) {
        reason = fmt::format("guard {} is false", print(guard));
        return false;
      }
    }
    return true;
  }
  bool relation(const Guard& guard, const ir::AttributeValue& a, const ir::AttributeValue& b) {
    const auto* p = std::get_if<ir::Poly>(&a);
    const auto* q = std::get_if<ir::Poly>(&b);
    const auto* ps = std::get_if<std::vector<ir::Poly>>(&a);
    const auto* qs = std::get_if<std::vector<ir::Poly>>(&b);
    if (p != nullptr && q != nullptr) return relation(guard, *p, *q);
    if (ps == nullptr && p == nullptr) return a == b && guard.kind == Guard::Kind::equal;
    if (qs == nullptr && q == nullptr) return false;
    if (ps != nullptr && qs != nullptr && ps->size() != qs->size()) return false;
    for (std::size_t k = 0; k < (ps != nullptr ? ps : qs)->size(); ++k) {
      if (!relation(guard, ps != nullptr ? (*ps)[k] : *p, qs != nullptr ? (*qs)[k] : *q)) return false;
    }
    return true;
  }
  bool relation(const Guard& guard, const ir::Poly& a, const ir::Poly& b) {
    if (const auto known = holds(guard.kind, a, b, symbols())) return *known;
    ops::Atom atom = ops::equal(a, b);
    if (guard.kind == Guard::Kind::not_equal) atom = ops::different(a, b);
    if (guard.kind == Guard::Kind::at_least) atom = ops::at_least(a, b);
    if (guard.kind == Guard::Kind::greater) atom = ops::less_than(b, a);
    guard_facts_.push_back({atom, "guard " + print(guard)});
    return true;
  }

  // Equations that give a symbol of the rule by the others replace it everywhere: the same graphs match. True if one was found.
  bool extend_substitution(const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      if (fact.atom.relation != ops::Relation::zero) continue;
      const ir::Poly p = symbols().substitute(fact.atom.poly, substitution_);
      if (p.is_constant() || p.is_poisoned()) continue;
      for (const ir::SymbolId symbol : p.symbols()) {
        const auto linear = p.linear_in(symbol);
        if (!linear) continue;
        const auto coefficient = linear->first.constant();
        if (!coefficient || (*coefficient != 1 && *coefficient != -1)) continue;
        const ir::Poly value = *coefficient == 1 ? -linear->second : linear->second;
        if (is_defined(symbols().info(symbol).kind) || symbols().occurs(value, symbol)) continue;
        if (symbols().info(symbol).kind == ir::SymbolKind::dimension) {
          const auto low = symbols().lower_bound(value);
          if (!low || *low < 1)
            dimension_facts_.push_back({ops::at_least(value, 1), fmt::format("dimension {} is at least 1", symbols().info(symbol).name)});
        }
        for (auto& [other, old] : substitution_) old = symbols().substitute(old, {{symbol, value}});
        substitution_.emplace(symbol, value);
        return true;
      }
    }
    return false;
  }

  // A variable of which any rank is tried.
  std::string undeclared() const {
    const auto found = std::find_if(rule_.variables.begin(), rule_.variables.end(), [&](const std::string& v) {
      return rule_.declaration(v) == nullptr && guard_of(v, Guard::Kind::is_scalar) == nullptr && rule_.names.at(v) == NameKind::value;
    });
    return rule_.pointwise || found == rule_.variables.end() ? std::string() : *found;
  }

  Result<RuleInstance> finish() {
    RuleInstance instance;
    instance.variables = variables_;
    instance.variable_names = variable_names_;
    instance.output_names = rule_.outputs;
    for (const std::string& output : rule_.outputs) instance.source.outputs.push_back(environment_.values.at(output));
    for (const auto* facts : {&dimension_facts_, &assumed_, &typing_facts_, &guard_facts_}) {
      for (const Fact& fact : *facts) add_fact(instance.facts, fact);
    }
    instance.value_facts = value_facts_;
    instance.replaced.assign(substitution_.begin(), substitution_.end());
    for (const Guard& guard : rule_.guards) {
      if (guard.kind != Guard::Kind::is_in_range) continue;
      XFLOW_TRY(const ir::Poly low, evaluate_integer(guard.arguments[0], environment_, symbols()));
      XFLOW_TRY(const ir::Poly end, evaluate_integer(guard.arguments[1], environment_, symbols()));
      // Of a tensor that has an element: there is a number in the range.
      add_fact(instance.facts, {ops::less_than(low, end), "guard " + print(guard)});
      instance.value_facts.push_back({environment_.values.at(guard.value), ValueFact::Kind::in_range,
                                      symbols().substitute(low, substitution_), symbols().substitute(end, substitution_)});
    }
    for (const auto& [name, text] : chosen_) instance.choice += (instance.choice.empty() ? "" : ", ") + text;

    std::string at = instance.choice.empty() ? "" : fmt::format(" (for {})", instance.choice);
    if (!undeclared().empty())
      at += fmt::format("; other ranks are left out by a type under 'with' or a guard such as rank({}) = 2", undeclared());
    TargetTyping typing(symbols(), instance.facts);
    Environment target = environment_;
    for (const std::string& output : rule_.outputs) target.values.erase(output);
    for (const Statement& statement : rule_.target) {
      TargetBuilder builder(*arena_, typing, target);
      auto outputs = builder.build(statement.term, ir::DataType::float32);
      if (!outputs) return fail(ErrorCode::ill_typed, fmt::format("target: {}{}", outputs.error().message, at));
      if (outputs->size() != statement.outputs.size()) {
        return fail(ErrorCode::ill_typed,
                    fmt::format("target: expected {} outputs, found {}{}", statement.outputs.size(), outputs->size(), at));
      }
      for (std::size_t k = 0; k < outputs->size(); ++k) target.values[statement.outputs[k]] = (*outputs)[k];
    }
    for (const Fact& obligation : typing.obligations) {
      const bool given = std::any_of(instance.facts.begin(), instance.facts.end(), [&](const Fact& fact) {
        return fact.atom.relation == obligation.atom.relation && fact.atom.poly == obligation.atom.poly;
      });
      if (!given) add_fact(instance.obligations, obligation);
    }
    for (std::size_t k = 0; k < rule_.outputs.size(); ++k) {
      const ir::ValueId value = target.values.at(rule_.outputs[k]);
      const ir::TensorType& from = arena_->type(instance.source.outputs[k]);
      const ir::TensorType& to = arena_->type(value);
      if (from.data_type != to.data_type || from.rank() != to.rank()) {
        return fail(ErrorCode::ill_typed, fmt::format("output {}: source {}, target {}{}", rule_.outputs[k], ir::to_string(symbols(), from),
                                                      ir::to_string(symbols(), to), at));
      }
      for (std::size_t d = 0; d < from.rank(); ++d) {
        if (from.shape[d] == to.shape[d]) continue;
        instance.obligations.push_back({ops::equal(from.shape[d], to.shape[d]),
                                        fmt::format("dimension {} of output {} is {} in the source, {} in the target", d, rule_.outputs[k],
                                                    symbols().to_string(from.shape[d]), symbols().to_string(to.shape[d]))});
      }
      instance.target.outputs.push_back(value);
    }
    instance.arena = std::move(arena_);
    return instance;
  }
  void add_fact(std::vector<Fact>& facts, const Fact& fact) {
    Fact current = fact;
    current.atom.poly = symbols().substitute(fact.atom.poly, substitution_);
    if (current.atom.relation == ops::Relation::zero && current.atom.poly.is_zero()) return;
    for (const Fact& other : facts) {
      if (other.atom.relation == current.atom.relation && other.atom.poly == current.atom.poly) return;
    }
    facts.push_back(std::move(current));
  }

  const Rule& rule_;
  Choices& choices_;
  std::unique_ptr<ir::Arena> arena_;
  Environment environment_;
  bool converts_numbers_;
  bool has_other_types_ = false;              // a variable has another floating type than float32, where several are tried
  std::map<std::size_t, ir::ValueId> ranks_;  // stand-ins
  ir::Symbols::Substitution substitution_;
  std::vector<Fact> assumed_;          // choices of broadcasting
  std::vector<Fact> dimension_facts_;  // that replaced dimensions are at least 1
  std::vector<Fact> guard_facts_;
  std::vector<Fact> typing_facts_;
  std::vector<ValueFact> value_facts_;
  std::vector<ir::ValueId> variables_;
  std::vector<std::string> variable_names_;
  std::map<std::string, std::string> chosen_;
};

}  // namespace

Result<void> for_each_instance(const Rule& rule, const std::function<bool(RuleInstance)>& use, const std::function<bool()>& ends) {
  Choices choices;
  std::string reason;
  std::size_t runs = 0;
  bool any = false;
  const std::string where = place_text(rule.file, rule.place);
  do {
    if (++runs > kMaxChoices) {
      return fail(
          ErrorCode::limit,
          fmt::format("rule {}: more than {} choices are open; bound ranks by a guard such as rank(x) <= 4", rule.name, kMaxChoices),
          where);
    }
    if (ends && ends()) return fail(ErrorCode::limit, "the time was up", where);
    auto instance = Run(rule, choices).build(reason);
    if (!instance) {
      Error error = std::move(instance).error();
      error.where = where;
      error.message = fmt::format("rule {}: {}", rule.name, error.message);
      return fail(std::move(error));
    }
    if (!*instance) continue;
    any = true;
    if (!use(*std::move(*instance))) return {};
  } while (choices.advance());
  if (any) return {};
  return fail(ErrorCode::ill_typed, fmt::format("rule {}: no shapes type its source: {}", rule.name, reason), where);
}

Result<std::vector<RuleInstance>> instantiate(const Rule& rule, std::size_t most, const std::function<bool()>& ends) {
  std::vector<RuleInstance> instances;
  bool too_many = false;
  XFLOW_CHECK(for_each_instance(
      rule,
      [&](RuleInstance instance) {
        too_many = instances.size() == most;
        if (!too_many) instances.push_back(std::move(instance));
        return !too_many;
      },
      ends));
  if (too_many)
    return fail(ErrorCode::limit, fmt::format("rule {}: more than {} choices are open", rule.name, most),
                place_text(rule.file, rule.place));
  return instances;
}

}  // namespace xflow::rules
