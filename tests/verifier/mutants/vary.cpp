#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tests/verifier/mutants/mutate.h"

namespace xflow::mutants {

namespace {

using rules::Expression;
using rules::Statement;
using rules::Term;

// What is applied to both sides, or to a variable on both.
constexpr std::array<std::string_view, 12> kFunctions = {"neg",   "relu",       "abs", "exp",     "tanh", "sqrt",
                                                         "floor", "reciprocal", "log", "sigmoid", "erf",  "ceil"};

Term number(ir::Rational value) {
  Term t;
  t.kind = Term::Kind::literal;
  t.literal = ir::Real(value);
  return t;
}

Term apply(std::string_view name, std::vector<Term> operands) {
  Term t;
  t.kind = Term::Kind::application;
  t.name = name;
  t.operands = std::move(operands);
  return t;
}

Expression call(std::string name, std::vector<Expression> arguments) {
  Expression e;
  e.kind = Expression::Kind::call;
  e.name = std::move(name);
  e.arguments = std::move(arguments);
  return e;
}

Expression name(std::string_view text) {
  Expression e;
  e.kind = Expression::Kind::name;
  e.name = text;
  return e;
}

bool is(const Term& t, std::string_view operator_name) {
  return t.kind == Term::Kind::application && t.name == operator_name && t.attributes.empty();
}

// Walks a rule and does change number `at` of all that it finds on the way.
class Variation {
 public:
  explicit Variation(std::size_t at) : left_(at) {}

  std::optional<std::string> apply_to(rules::Rule& rule) {
    if (here("sides exchanged")) std::swap(rule.source, rule.target);
    for (const std::string& output : rule.outputs) {
      for (const std::string_view f : kFunctions)
        if (here("function of an output")) both(rule, output, [&](Term t) { return apply(f, {std::move(t)}); });
      if (here("function of an output")) both(rule, output, [](Term t) { return apply("mul", {std::move(t), number(ir::Rational(3))}); });
      if (here("function of an output")) both(rule, output, [](Term t) { return apply("add", {std::move(t), number(ir::Rational(1))}); });
    }
    for (const std::string& variable : rule.variables) {
      for (const std::string_view f : kFunctions)
        if (here("function of a variable")) everywhere(rule, variable, f);
    }
    for (auto* side : {&rule.target, &rule.source})
      for (Statement& s : *side) term(s.term, rule);
    return kind_;
  }

 private:
  bool here(std::string_view kind) {
    if (kind_ || left_-- != 0) return false;
    kind_ = kind;
    return true;
  }

  // `output` becomes a function of what it was, on both sides.
  template <typename Function>
  static void both(rules::Rule& rule, const std::string& output, const Function& function) {
    const std::string inner = output + "_inner";
    for (auto* side : {&rule.source, &rule.target}) {
      for (Statement& s : *side) {
        std::replace(s.outputs.begin(), s.outputs.end(), output, inner);
        rename(s.term, output, inner);
      }
      Term t;
      t.name = inner;
      side->push_back({{output}, function(std::move(t)), {}});
    }
  }
  static void rename(Term& t, const std::string& from, const std::string& to) {
    if (t.kind == Term::Kind::variable && t.name == from) t.name = to;
    for (Term& o : t.operands) rename(o, from, to);
  }

  static void everywhere(rules::Rule& rule, const std::string& variable, std::string_view f) {
    for (auto* side : {&rule.source, &rule.target})
      for (Statement& s : *side) wrap(s.term, variable, f);
  }
  static void wrap(Term& t, const std::string& variable, std::string_view f) {
    for (Term& o : t.operands) wrap(o, variable, f);
    if (t.kind == Term::Kind::variable && t.name == variable) t = apply(f, {t});
  }

  void term(Term& t, const rules::Rule& rule) {
    if (t.kind != Term::Kind::variable && t.kind != Term::Kind::application) return;
    laws(t);
    identities(t);
    if (t.kind == Term::Kind::variable) {
      movements(t, rule);
      return;
    }
    for (Term& o : t.operands) term(o, rule);
  }

  // What is computed in another way.
  void laws(Term& t) {
    const bool commutes = is(t, "add") || is(t, "mul") || is(t, "maximum") || is(t, "minimum");
    if (commutes && t.operands.size() == 2 && here("operands exchanged")) std::swap(t.operands[0], t.operands[1]);
    for (const std::string_view associative : {"add", "mul", "maximum", "minimum", "matmul"}) {
      if (is(t, associative) && is(t.operands[0], associative) && here("other brackets")) {
        Term a = t.operands[0].operands[0];
        Term b = t.operands[0].operands[1];
        t = apply(associative, {std::move(a), apply(associative, {std::move(b), t.operands[1]})});
      }
    }
    if (is(t, "mul") && (is(t.operands[0], "add") || is(t.operands[0], "sub")) && here("distributed")) {
      const Term sum = t.operands[0];
      const Term factor = t.operands[1];
      t = apply(sum.name, {apply("mul", {sum.operands[0], factor}), apply("mul", {sum.operands[1], factor})});
    }
    if (is(t, "sub") && here("negated")) t = apply("add", {t.operands[0], apply("neg", {t.operands[1]})});
    if (is(t, "sub") && here("negated")) t = apply("neg", {apply("sub", {t.operands[1], t.operands[0]})});
    if (is(t, "add") && here("negated")) t = apply("sub", {t.operands[0], apply("neg", {t.operands[1]})});
    if (is(t, "div") && here("reciprocal")) t = apply("mul", {t.operands[0], apply("reciprocal", {t.operands[1]})});
    if (is(t, "relu") && here("maximum")) t = apply("maximum", {t.operands[0], number(ir::Rational(0))});
    if (is(t, "abs") && here("maximum")) t = apply("maximum", {t.operands[0], apply("neg", {t.operands[0]})});
    if (is(t, "exp") && here("square")) {
      const Term half = apply("exp", {apply("mul", {t.operands[0], number(*ir::Rational::make(1, 2))})});
      t = apply("mul", {half, half});
    }
  }

  // What leaves a number as it is, at least where it is real.
  void identities(Term& t) {
    const Term zero = number(ir::Rational(0));
    const Term one = number(ir::Rational(1));
    const Term half = number(*ir::Rational::make(1, 2));
    const std::string_view kind = "identity";
    if (here(kind)) t = apply("neg", {apply("neg", {t})});
    if (here(kind)) t = apply("mul", {t, one});
    if (here(kind)) t = apply("div", {t, one});
    if (here(kind)) t = apply("sub", {t, zero});
    if (here(kind)) t = apply("add", {t, zero});
    if (here(kind)) t = apply("maximum", {t, t});
    if (here(kind)) t = apply("add", {apply("mul", {t, half}), apply("mul", {t, half})});
    if (here(kind)) t = apply("mul", {apply("mul", {t, half}), number(ir::Rational(2))});
    if (here(kind)) t = apply("sub", {apply("relu", {t}), apply("relu", {apply("neg", {t})})});
    if (here(kind)) t = apply("select", {apply("less", {t, zero}), t, t});
    if (here(kind)) t = apply("log", {apply("exp", {t})});
  }

  void movements(Term& t, const rules::Rule& rule) {
    const Term variable = t;
    if (here("shape of its own")) {
      t = apply("reshape", {variable});
      t.attributes.push_back({"shape", call("dims", {name(variable.name)}), {}});
    }
    const rules::Declaration* declared = rule.declaration(variable.name);
    const auto is_sequence = [](const Expression& e) { return e.kind == Expression::Kind::sequence || e.kind == Expression::Kind::ones; };
    if (declared == nullptr || declared->list || declared->dims.size() != 2 ||
        std::any_of(declared->dims.begin(), declared->dims.end(), is_sequence))
      return;
    if (here("transposed twice")) t = transposed(transposed(variable));
  }
  static Term transposed(Term t) {
    Expression perm;
    perm.kind = Expression::Kind::list;
    for (const std::int64_t k : {1, 0}) {
      perm.arguments.emplace_back();
      perm.arguments.back().number = ir::Real(ir::Rational(k));
    }
    Term result = apply("transpose", {std::move(t)});
    result.attributes.push_back({"perm", perm, {}});
    return result;
  }

  std::size_t left_;
  std::optional<std::string> kind_;
};

}  // namespace

std::vector<Mutant> vary(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed) {
  return changed(
      parents, wanted, seed, [](rules::Rule& rule, std::size_t at) { return Variation(at).apply_to(rule); }, "variant-");
}

}  // namespace xflow::mutants
