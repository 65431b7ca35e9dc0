// Builders of the two sides of an instance. The source builder chooses what the rule leaves open.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/rules/build.h"
#include "src/rules/choices.h"
#include "src/rules/instance_typing.h"
#include "src/rules/instantiate.h"

namespace xflow::rules {
// Builds source terms and chooses the attributes that the rule leaves open.
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

// Builds target terms.
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

}  // namespace xflow::rules
