#include "tests/verifier/hand_made.h"

namespace xflow::verifier {

class HandMade::Recorder : public ops::Typing {
 public:
  Recorder(ir::Symbols& symbols, std::vector<rules::Fact>& facts) : Typing(symbols), facts_(facts) {}

  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override {
    XFLOW_CHECK(Typing::require_equal(a, b, what));
    if (!(a == b)) facts_.push_back({ops::equal(a, b), std::string(what)});
    return {};
  }
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override {
    XFLOW_CHECK(Typing::require_at_least_zero(a, what));
    if (!a.is_constant()) facts_.push_back({{a, ops::Relation::at_least_zero}, std::string(what)});
    return {};
  }
  Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b) override {
    if (a == b || b.is_one()) return a;
    if (a.is_one()) return b;
    facts_.push_back({ops::equal(a, b), "dimensions that broadcast"});
    return a;
  }

 private:
  std::vector<rules::Fact>& facts_;
};

HandMade::HandMade() { instance_.arena = std::make_unique<ir::Arena>(); }

ir::Poly HandMade::parameter(const std::string& name, std::int64_t least) {
  const ir::Poly p = symbols().named(ir::SymbolKind::parameter, name);
  fact(ops::at_least(p, ir::Poly(least)));
  return p;
}

ir::ValueId HandMade::variable(const std::string& name, ir::Shape shape, ir::DataType type) {
  const ir::ValueId v = instance_.arena->input(ir::TensorType{type, true, std::move(shape)}, serial_++);
  instance_.variables.push_back(v);
  instance_.variable_names.push_back(name);
  return v;
}

std::vector<ir::ValueId> HandMade::ops(const std::string& name, std::vector<ir::ValueId> operands, ir::Attributes attributes) {
  Recorder typing(symbols(), in_target_ ? instance_.obligations : instance_.facts);
  for (ir::ValueId& v : operands)
    if (v == ir::ValueId{}) v = instance_.arena->absent();
  const auto node = ops::apply(*instance_.arena, typing, ops::id_of(name), std::move(operands), std::move(attributes));
  if (!node) {
    ADD_FAILURE() << node.error().text();
    return {instance_.arena->absent()};
  }
  std::vector<ir::ValueId> outputs;
  for (std::uint32_t k = 0; k < instance_.arena->node(*node).outputs.size(); ++k) outputs.push_back({*node, k});
  return outputs;
}

ir::ValueId HandMade::op(const std::string& name, std::vector<ir::ValueId> operands, ir::Attributes attributes) {
  return ops(name, std::move(operands), std::move(attributes)).front();
}

ir::ValueId HandMade::concat(std::vector<ir::ValueId> parts, std::int64_t axis) {
  return op("concat", std::move(parts), {{"axis", ir::Poly(axis)}});
}
std::vector<ir::ValueId> HandMade::split(ir::ValueId x, std::int64_t axis, std::vector<ir::Poly> sizes) {
  return ops("split", {x}, {{"axis", ir::Poly(axis)}, {"sizes", std::move(sizes)}});
}
ir::ValueId HandMade::transpose(ir::ValueId x, const std::vector<std::int64_t>& perm) {
  return op("transpose", {x}, {{"perm", ir::polys(perm)}});
}
ir::ValueId HandMade::reshape(ir::ValueId x, std::vector<ir::Poly> shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }

ir::ValueId HandMade::literal(const ir::Rational& value) {
  return op("full", {}, {{"value", ir::Real(value)}, {"shape", std::vector<ir::Poly>{}}, {"data_type", ir::DataType::float32}});
}

void HandMade::source(std::vector<ir::ValueId> outputs) {
  instance_.source.outputs = std::move(outputs);
  in_target_ = true;
}

void HandMade::target(std::vector<ir::ValueId> outputs) {
  instance_.target.outputs = std::move(outputs);
  ASSERT_EQ(instance_.source.outputs.size(), instance_.target.outputs.size());
  for (std::size_t k = 0; k < instance_.target.outputs.size(); ++k) {
    const ir::Shape& a = instance_.arena->type(instance_.source.outputs[k]).shape;
    const ir::Shape& b = instance_.arena->type(instance_.target.outputs[k]).shape;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t d = 0; d < a.size(); ++d)
      if (!(a[d] == b[d])) instance_.obligations.push_back({ops::equal(a[d], b[d]), "the shapes of both sides to be equal"});
  }
}

Decision HandMade::decide() {
  Options options;
  options.normal_forms = true;
  return verifier::decide(instance_, options);
}

namespace {

std::string text(const Decision& d) {
  std::string result = std::string(name(d.verdict)) + "\n" + d.open + "\nsource: " + d.normal_source + "\ntarget: " + d.normal_target;
  if (d.counterexample) result += "\n" + d.counterexample->to_string();
  return result;
}

}  // namespace

rules::Rule rule_of(const std::string& text) {
  auto rules = rules::parse_rules(text, "test.rules");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().text());
  return rules ? rules->front() : rules::Rule{};
}

void expect_proved(HandMade& rule) {
  const Decision d = rule.decide();
  EXPECT_EQ(d.verdict, Verdict::proved) << text(d);
}
void expect_refuted(HandMade& rule) {
  const Decision d = rule.decide();
  EXPECT_EQ(d.verdict, Verdict::refuted) << text(d);
  EXPECT_TRUE(d.counterexample.has_value());
}
void expect_not_proved(HandMade& rule) {
  const Decision d = rule.decide();
  EXPECT_NE(d.verdict, Verdict::proved) << text(d);
}

}  // namespace xflow::verifier
