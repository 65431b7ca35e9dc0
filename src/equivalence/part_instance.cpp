#include "src/equivalence/part_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "src/equivalence/fractions.h"
#include "src/equivalence/links.h"
#include "src/ops/operator.h"

namespace xflow::equivalence {
namespace {

using ir::NodeId;
using ir::ValueId;

// Constants with more elements are linked by their whole content alone.
constexpr std::size_t kMostLinked = std::size_t{1} << 24U;

// Lists what typing requires: a model that runs satisfies it.
class Recorder final : public ops::Typing {
 public:
  Recorder(ir::Symbols& symbols, std::vector<rules::Fact>& list) : Typing(symbols), list_(list) {}

  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override {
    XFLOW_CHECK(Typing::require_equal(a, b, what));
    if (!(a == b)) list_.push_back({ops::equal(a, b), std::string(what)});
    return {};
  }
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override {
    XFLOW_CHECK(Typing::require_at_least_zero(a, what));
    if (symbols().lower_bound(a).value_or(-1) < 0) list_.push_back({{a, ops::Relation::at_least_zero}, std::string(what)});
    return {};
  }

 private:
  std::vector<rules::Fact>& list_;
};

bool same(const ops::Atom& a, const ops::Atom& b) { return a.relation == b.relation && a.poly == b.poly; }

class Builder {
 public:
  Builder(const ir::Arena& from, const PartClaim& claim, Constants& constants) : from_(from), claim_(claim), constants_(constants) {
    instance_.arena = std::make_unique<ir::Arena>(from.shared_symbols());
  }

  Result<PartInstance> run() {
    for (const ValueId value : claim_.given) variable(value);
    XFLOW_CHECK(define_constants());
    XFLOW_CHECK(add_operations(claim_.of_a, instance_.facts));
    std::vector<rules::Fact> obligations;
    XFLOW_CHECK(add_operations(claim_.of_b, obligations));
    for (rules::Fact& obligation : obligations) {
      const bool known = std::ranges::any_of(instance_.facts, [&](const rules::Fact& fact) { return same(fact.atom, obligation.atom); });
      if (!known) instance_.obligations.push_back(std::move(obligation));
    }
    XFLOW_CHECK(equate_shapes());
    return PartInstance{std::move(instance_), std::move(known_), std::move(numbers_), rounding_};
  }

 private:
  ir::Arena& arena() { return *instance_.arena; }

  void variable(ValueId value) {
    const auto serial = static_cast<std::uint32_t>(instance_.variables.size());
    const ValueId made = arena().input(from_.type(value), serial);
    instance_.variables.push_back(made);
    instance_.variable_names.push_back(fmt::format("x{}", serial));
    map_.emplace(value, made);
  }

  // The constants that the operations read, and those of which they are made, the largest first.
  Result<std::vector<ValueId>> constants_read() {
    std::set<ValueId> read;
    for (const auto* operations : {&claim_.of_a, &claim_.of_b})
      for (const NodeId id : *operations)
        for (const ValueId operand : from_.node(id).operands)
          if (from_.is_constant(operand) && !from_.is_absent(operand)) read.insert(operand);
    for (const ValueId output : {claim_.a, claim_.b})
      if (from_.is_constant(output)) read.insert(output);
    if (claim_.computed_constants) XFLOW_CHECK(open_expressions(read));
    std::vector<ValueId> result(read.begin(), read.end());
    for (const ValueId value : std::vector<ValueId>(result)) {
      XFLOW_TRY(const std::vector<ValueId> parts, constants_.parts(value));
      for (const ValueId part : parts)
        if (read.insert(part).second) result.push_back(part);
    }
    std::ranges::stable_sort(result, [&](ValueId x, ValueId y) { return size_of(x) > size_of(y); });
    return result;
  }
  // Replaces constant expressions by the constants that they read.
  Result<void> open_expressions(std::set<ValueId>& read) {
    for (const ValueId value : std::vector<ValueId>(read.begin(), read.end())) {
      const std::optional<ValueId> expression = constants_.expression(value);
      if (!expression) continue;
      read.erase(value);
      computed_.emplace_back(value, *expression);
    }
    for (const auto& [value, expression] : computed_) {
      for (const NodeId id : ir::topological_order(from_, ir::Graph{{expression}})) {
        if (from_.node(id).kind != ir::NodeKind::constant || from_.node(id).is_absent) continue;
        XFLOW_TRY(const ValueId stored, constants_.folded({id, 0}));
        read.insert(stored);
        stored_.emplace(ValueId{id, 0}, stored);
      }
    }
    return {};
  }

  Result<void> compute_expressions() {
    for (const auto& [value, expression] : computed_) {
      for (const NodeId id : ir::topological_order(from_, ir::Graph{{expression}})) {
        const ir::Node& node = from_.node(id);
        if (node.kind == ir::NodeKind::constant) continue;
        std::vector<ValueId> operands;
        operands.reserve(node.operands.size());
        for (const ValueId operand : node.operands) {
          const auto stored = stored_.find(operand);
          const ValueId known = stored == stored_.end() ? operand : stored->second;
          operands.push_back(from_.is_absent(operand) ? arena().absent() : map_.at(known));
        }
        ops::Typing typing(arena().symbols());
        XFLOW_TRY(const NodeId made, ops::apply(arena(), typing, node.op, std::move(operands), node.attributes));
        for (std::uint32_t k = 0; k < node.outputs.size(); ++k) map_.emplace(ValueId{id, k}, ValueId{made, k});
      }
      map_.insert_or_assign(value, map_.at(expression));
    }
    return {};
  }

  std::uint64_t size_of(ValueId constant) const { return from_.node(constant).constant.elements(); }

  Result<void> define_constants() {
    std::vector<ValueId> open;
    XFLOW_TRY(const std::vector<ValueId> read, constants_read());
    for (const ValueId value : read) {
      XFLOW_TRY(const bool is_number, number(value));
      if (!is_number) open.push_back(value);
    }
    std::vector<Elements> elements;
    for (const ValueId value : open) {
      Elements list{from_.node(value).constant.dims, {}};
      if (ir::is_floating(from_.type(value).data_type) && size_of(value) <= kMostLinked) {
        XFLOW_TRY(list.values, constants_.elements(value));
      }
      elements.push_back(std::move(list));
    }
    std::vector<std::optional<Joined>> joined(open.size());
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (elements[k].values.empty()) continue;
      // Constants of another type hold no blocks.
      std::vector<Elements> smaller(elements);
      for (std::size_t other = 0; other < open.size(); ++other)
        if (other <= k || from_.type(open[other]).data_type != from_.type(open[k]).data_type) smaller[other].values = {};
      joined[k] = find_blocks(elements[k], smaller);
    }
    for (std::size_t k = 0; k < open.size(); ++k)
      if (!joined[k]) XFLOW_CHECK(part_or_variable(k, open, elements, joined));
    for (std::size_t k = open.size(); k-- > 0;)
      if (joined[k]) XFLOW_CHECK(join(open[k], *joined[k], open));
    return compute_expressions();
  }

  // Defines a constant of equal elements as their number. False if it is not one.
  Result<bool> number(ValueId value) {
    const ir::Constant& constant = from_.node(value).constant;
    if (constant.elements() == 0 || constant.data_type == ir::DataType::string) return false;
    XFLOW_TRY(const std::span<const double> elements, constants_.elements(value));
    if (std::ranges::any_of(elements, [&](double x) { return !(x == elements.front()); })) return false;
    const double element = elements.front();
    const auto fraction = claim_.fractions ? rounded_fraction(element, constant.data_type) : std::nullopt;
    if (fraction) note(rounding_of_fraction(element, *fraction, constant.data_type));
    const ir::Real exact = fraction ? ir::Real(*fraction) : ir::Real::from_double(element);
    XFLOW_TRY(const ValueId made, fraction || is_simple(element) ? full(constant, exact) : expanded(constant, element));
    map_.emplace(value, made);
    return true;
  }

  // A number whose products stay exact.
  static bool is_simple(double number) {
    const auto exact = ir::Rational::from_double(number);
    constexpr std::int64_t kMost = 1 << 16;
    return !std::isfinite(number) || (exact && std::abs(exact->numerator()) <= kMost && exact->denominator() <= kMost);
  }
  Result<ValueId> full(const ir::Constant& constant, ir::Real number) {
    ir::Attributes attributes{{"value", std::move(number)}, {"shape", ir::polys(constant.dims)}, {"data_type", constant.data_type}};
    return ops::apply(arena(), "full", {}, std::move(attributes));
  }
  // A variable with what is known of its sign.
  Result<ValueId> expanded(const ir::Constant& constant, double number) {
    const auto [known, added] = numbers_.try_emplace({constant.data_type, number});
    if (added) {
      const auto serial = static_cast<std::uint32_t>(instance_.variables.size());
      known->second = arena().input(ir::TensorType{constant.data_type, true, {}}, serial);
      instance_.variables.push_back(known->second);
      instance_.variable_names.push_back(fmt::format("x{}", serial));
      if (ir::is_floating(constant.data_type))
        known_.emplace(known->second, KnownVariable{constant.data_type, {}, std::span(&known->first.second, 1)});
      instance_.value_facts.push_back({known->second, number > 0 ? rules::ValueFact::Kind::positive : rules::ValueFact::Kind::nonzero});
    }
    if (constant.dims.empty()) return known->second;
    return ops::apply(arena(), "expand", {known->second}, {{"shape", ir::polys(constant.dims)}});
  }

  Result<void> part_or_variable(std::size_t k, const std::vector<ValueId>& open, const std::vector<Elements>& elements,
                                const std::vector<std::optional<Joined>>& joined) {
    for (std::size_t whole = 0; whole < k && !elements[k].values.empty(); ++whole) {
      if (joined[whole] || elements[whole].values.empty()) continue;
      if (from_.type(open[whole]).data_type != from_.type(open[k]).data_type) continue;
      if (elements[k].rank() != elements[whole].rank() && std::ranges::equal(elements[k].values, elements[whole].values)) {
        XFLOW_TRY(const ValueId made, ops::apply(arena(), "reshape", {map_.at(open[whole])}, {{"shape", ir::polys(elements[k].dims)}}));
        map_.emplace(open[k], made);
        return {};
      }
      const auto part = find_part(elements[k], elements[whole]);
      if (!part) continue;
      const ir::Attributes order{{"perm", ir::polys(part->permutation)}};
      XFLOW_TRY(const ValueId transposed, ops::apply(arena(), "transpose", {map_.at(open[whole])}, order));
      const ir::Attributes range{{"starts", ir::polys(part->starts)},
                                 {"sizes", ir::polys(elements[k].dims)},
                                 {"steps", ir::polys(std::vector<std::int64_t>(elements[k].rank(), 1))}};
      XFLOW_TRY(const ValueId made, ops::apply(arena(), "slice", {transposed}, range));
      map_.emplace(open[k], made);
      return {};
    }
    variable(open[k]);
    if (!elements[k].values.empty())
      known_.emplace(instance_.variables.back(), KnownVariable{from_.type(open[k]).data_type, elements[k].dims, elements[k].values});
    note_sign(elements[k].values);
    return {};
  }

  // What all elements of the last variable have in common.
  void note_sign(std::span<const double> elements) {
    if (elements.empty() || !std::ranges::all_of(elements, [](double x) { return std::isfinite(x); })) return;
    using Kind = rules::ValueFact::Kind;
    const double least = std::ranges::min(elements);
    if (least >= 0) instance_.value_facts.push_back({instance_.variables.back(), least > 0 ? Kind::positive : Kind::nonnegative});
    if (least < 0 && std::ranges::none_of(elements, [](double x) { return x == 0; }))
      instance_.value_facts.push_back({instance_.variables.back(), Kind::nonzero});
  }

  Result<void> join(ValueId value, const Joined& joined, const std::vector<ValueId>& open) {
    std::vector<ValueId> blocks;
    for (const Block& block : joined.blocks) {
      const ir::Attributes attributes{{"begins", ir::polys(block.begins)}, {"ends", ir::polys(block.ends)}};
      XFLOW_TRY(const ValueId made, ops::apply(arena(), "pad", {map_.at(open[block.constant])}, attributes));
      blocks.push_back(made);
    }
    const ir::Attributes axis{{"axis", ir::Poly(static_cast<std::int64_t>(joined.axis))}};
    XFLOW_TRY(const ValueId made, ops::apply(arena(), "concat", std::move(blocks), axis));
    map_.emplace(value, made);
    return {};
  }

  Result<void> add_operations(const std::vector<NodeId>& operations, std::vector<rules::Fact>& requirements) {
    Recorder typing(arena().symbols(), requirements);
    for (const NodeId id : operations) {
      const ir::Node& node = from_.node(id);
      std::vector<ValueId> operands;
      operands.reserve(node.operands.size());
      for (const ValueId operand : node.operands) operands.push_back(from_.is_absent(operand) ? arena().absent() : map_.at(operand));
      XFLOW_TRY(const NodeId made, ops::apply(arena(), typing, node.op, std::move(operands), exact(node.attributes)));
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) map_.emplace(ValueId{id, k}, ValueId{made, k});
    }
    return {};
  }

  // The attributes with the fractions that their numbers are taken for.
  ir::Attributes exact(const ir::Attributes& attributes) {
    if (!claim_.fractions) return attributes;
    ir::Attributes result = attributes;
    for (const ir::Attribute& attribute : attributes.list()) {
      const auto fraction = rounded_fraction(attribute.value);
      if (!fraction) continue;
      note(rounding_of_fraction(std::get<ir::Real>(attribute.value).to_double(), *fraction, ir::DataType::float32));
      result.set(attribute.name, ir::Real(*fraction));
    }
    return result;
  }
  void note(const Rounding& rounding) {
    if (!rounding_ || rounding.difference > rounding_->difference) rounding_ = rounding;
  }

  Result<void> equate_shapes() {
    const ValueId source = map_.at(claim_.a);
    const ValueId target = map_.at(claim_.b);
    const ir::TensorType& from = arena().type(source);
    const ir::TensorType& to = arena().type(target);
    if (from.data_type != to.data_type || !from.ranked || !to.ranked || from.rank() != to.rank())
      return fail(ErrorCode::ill_typed,
                  fmt::format("A has {}, B has {}", ir::to_string(arena().symbols(), from), ir::to_string(arena().symbols(), to)));
    for (std::size_t k = 0; k < from.rank(); ++k)
      if (!(from.shape[k] == to.shape[k]))
        instance_.obligations.push_back({ops::equal(from.shape[k], to.shape[k]), fmt::format("size {} is the same", k)});
    instance_.source.outputs = {source};
    instance_.target.outputs = {target};
    return {};
  }

  const ir::Arena& from_;
  const PartClaim& claim_;
  Constants& constants_;
  rules::RuleInstance instance_;
  std::unordered_map<ValueId, ValueId> map_;
  std::map<std::pair<ir::DataType, double>, ValueId> numbers_;
  KnownVariables known_;
  std::optional<Rounding> rounding_;                   // of fractions
  std::vector<std::pair<ValueId, ValueId>> computed_;  // constants and their expressions
  std::unordered_map<ValueId, ValueId> stored_;        // constants in expressions, as folded
};

}  // namespace

Result<PartInstance> part_instance(const ir::Arena& arena, const PartClaim& claim, Constants& constants) {
  return Builder(arena, claim, constants).run();
}

}  // namespace xflow::equivalence
