// Rules from text, and rule instances built by hand: variables, operators applied one by one, the typing of the source recorded as facts,
// that of the target as obligations.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/ops/operator.h"
#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

class HandMade {
 public:
  HandMade();

  ir::Symbols& symbols() { return instance_.arena->symbols(); }
  ir::Poly dim(const std::string& name) { return symbols().named(ir::SymbolKind::dimension, name); }
  // An integer attribute that is at least `least`.
  ir::Poly parameter(const std::string& name, std::int64_t least);
  ir::ValueId variable(const std::string& name, ir::Shape shape, ir::DataType type = ir::DataType::float32);
  void fact(const ops::Atom& atom) { instance_.facts.push_back({atom, "guard"}); }
  void value_fact(ir::ValueId v, rules::ValueFact::Kind kind) { instance_.value_facts.push_back({v, kind}); }

  // Operators of the source until `target()` is called, of the target from then on.
  ir::ValueId op(const std::string& name, std::vector<ir::ValueId> operands, ir::Attributes attributes = {});
  std::vector<ir::ValueId> ops(const std::string& name, std::vector<ir::ValueId> operands, ir::Attributes attributes);
  // Shorthands.
  ir::ValueId matmul(ir::ValueId a, ir::ValueId b) { return op("matmul", {a, b}); }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return op("add", {a, b}); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return op("sub", {a, b}); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return op("mul", {a, b}); }
  ir::ValueId div(ir::ValueId a, ir::ValueId b) { return op("div", {a, b}); }
  ir::ValueId concat(std::vector<ir::ValueId> parts, std::int64_t axis);
  std::vector<ir::ValueId> split(ir::ValueId x, std::int64_t axis, std::vector<ir::Poly> sizes);
  ir::ValueId transpose(ir::ValueId x, const std::vector<std::int64_t>& perm);
  ir::ValueId reshape(ir::ValueId x, std::vector<ir::Poly> shape);
  ir::ValueId literal(const ir::Rational& value);

  void source(std::vector<ir::ValueId> outputs);
  void target(std::vector<ir::ValueId> outputs);

  Decision decide();
  rules::RuleInstance& instance() { return instance_; }

 private:
  class Recorder;
  rules::RuleInstance instance_;
  bool in_target_ = false;
  std::uint32_t serial_ = 0;
};

// The first rule of the text.
rules::Rule rule_of(const std::string& text);

// Readable failures.
void expect_proved(HandMade& rule);
void expect_refuted(HandMade& rule);
void expect_not_proved(HandMade& rule);

}  // namespace xflow::verifier
