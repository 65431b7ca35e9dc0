// Questions to the solver and to ranges, records that were changed, and rules whose verdict depends on what surrounds a proof.
#include <utility>

#include "src/ops/operator.h"
#include "src/rules/instantiate.h"
#include "src/verifier/algebra/piecewise.h"
#include "src/verifier/algebra/ranges.h"
#include "src/verifier/checker/semantics.h"
#include "src/verifier/proof/proof.h"
#include "src/verifier/proof/prove_rules.h"
#include "src/verifier/proof/solver.h"
#include "tests/verifier/faults/checks.h"

namespace xflow::verifier {
namespace {

using ir::SymbolKind;

Atom at_least(const Poly& a, const Poly& b) { return ops::at_least(a, b); }
Atom equal(const Poly& a, const Poly& b) { return ops::equal(a, b); }

// Symbols and a solver. What is asked is beyond the integers that are tried before Z3 is asked.
struct Question {
  ir::Symbols symbols;
  Poly n = symbols.named(SymbolKind::dimension, "N");
  Poly s = symbols.named(SymbolKind::parameter, "s");
  Poly t = symbols.named(SymbolKind::parameter, "t");
  Poly i = symbols.fresh(SymbolKind::index, "i");
  Poly j = symbols.fresh(SymbolKind::index, "j");
  Poly element = symbols.element(0, {i});
  Solver solver{symbols, 20'000'000};

  bool follows(const Condition& condition, const Atom& goal) {
    return solver.implies_one_of(condition, std::vector<Condition>{{goal}}, Solver::Effort::full);
  }
  bool contradictory(const Condition& condition) { return solver.contradictory(condition, Solver::Effort::full); }
  bool at_least_zero(const Condition& known, const Poly& p) { return Ranges(symbols, {known}).at_least_zero(p); }
};

using Ask = bool (*)(Question&);

void add(std::vector<Check>& list, const char* name, bool right, Ask ask) {
  list.push_back({std::string("question/") + name, [right, ask] {
                    Question q;
                    const bool answer = ask(q);
                    return answer == right ? std::string() : std::string(answer ? "the answer is yes" : "the answer is no");
                  }});
}

void questions_to_the_solver(std::vector<Check>& list) {
  add(list, "s >= 0 for s >= -1", false,
      [](Question& q) { return q.solver.implies(Condition{at_least(q.s, -1)}, at_least(q.s, 0), Solver::Effort::full); });
  add(list, "never p >= 0 for a p that does not fit 64 bits", false, [](Question& q) {
    Poly p = Poly(std::int64_t{1} << 62) * q.s;
    return q.contradictory({{p * Poly(8), Relation::at_least_zero}});
  });
  add(list, "never s^3 + t^3 + (s + t + 1)^3 = 114, within one step", false, [](Question& q) {
    Solver weak(q.symbols, 1);
    const Poly r = q.s + q.t + Poly(1);
    return weak.contradictory(Condition{equal(q.s * q.s * q.s + q.t * q.t * q.t + r * r * r, 114)}, Solver::Effort::full);
  });
  add(list, "s >= 1 or s = 0 for s >= 0", true, [](Question& q) {
    return q.solver.implies_one_of(Condition{at_least(q.s, 0)}, std::vector<Condition>{{at_least(q.s, 1)}, {equal(q.s, 0)}},
                                   Solver::Effort::linear);
  });
  add(list, "N >= 2", false, [](Question& q) { return q.follows({}, at_least(q.n, 2)); });
  add(list, "2 floor(s / 2) = s", false, [](Question& q) { return q.follows({}, equal(Poly(2) * q.symbols.floor_div(q.s, 2), q.s)); });
  add(list, "max(s, t) = s", false, [](Question& q) { return q.follows({}, equal(q.symbols.max(q.s, q.t), q.s)); });
  add(list, "an element below N is at most N - 2", false, [](Question& q) {
    q.solver.assume_elements(0, {0, q.n, true, {}, {}, {}});
    return q.follows({}, at_least(q.n - Poly(2), q.element));
  });
  add(list, "s t >= 1", false, [](Question& q) { return q.follows({}, at_least(q.s * q.t, 1)); });
  add(list, "M i + j < M N for i < N and j < M", true, [](Question& q) {
    const Poly m = q.symbols.named(SymbolKind::dimension, "M");
    const Condition digits = {at_least(q.i, 0), ops::less_than(q.i, q.n), at_least(q.j, 0), ops::less_than(q.j, m)};
    return q.solver.implies_one_of(digits, std::vector<Condition>{{ops::less_than(m * q.i + q.j, m * q.n)}}, Solver::Effort::linear);
  });
  add(list, "s >= 4 where s >= 5 is a fact", true, [](Question& q) {
    q.solver.assume(at_least(q.s, 5));
    return q.follows({}, at_least(q.s, 4));
  });
  add(list, "never s >= 0, as a record says", false, [](Question& q) {
    q.solver.replay_answers({0});
    return q.contradictory({at_least(q.s, 0)});
  });
  add(list, "never 100 >= s >= 100", false, [](Question& q) { return q.contradictory({at_least(q.s, 100), at_least(100, q.s)}); });
  add(list, "never s = 100", false, [](Question& q) { return q.contradictory({equal(q.s, 100)}); });
  add(list, "never s >= 100 and s != 99", false, [](Question& q) {
    return q.contradictory({at_least(q.s, 100), ops::different(q.s, 99)});
  });
  add(list, "never 99 >= s >= 100", true, [](Question& q) { return q.contradictory({at_least(q.s, 100), at_least(99, q.s)}); });
  add(list, "99 >= s for s >= 100", false,
      [](Question& q) { return q.solver.implies(Condition{at_least(q.s, 100)}, at_least(99, q.s), Solver::Effort::full); });
  add(list, "99 >= s, of several, for s >= 100", false, [](Question& q) { return q.follows({at_least(q.s, 100)}, at_least(99, q.s)); });
  add(list, "-[s >= 100] = 0", false, [](Question& q) {
    return q.solver.vanishes({}, std::vector<Indicator>{{Rational(-1), {at_least(q.s, 100)}}}, Solver::Effort::full);
  });
  add(list, "[s >= 100] - [s >= 100] = 0", true, [](Question& q) {
    const std::vector<Indicator> both = {{Rational(1), {at_least(q.s, 100)}}, {Rational(-1), {at_least(q.s, 100)}}};
    return q.solver.vanishes({}, both, Solver::Effort::full);
  });
}

RealExpr number(std::int64_t value) {
  auto e = std::make_shared<RealNode>();
  e->kind = RealNode::Kind::literal;
  e->literal = Rational(value);
  return e;
}
RealExpr real(int name) {
  auto e = std::make_shared<RealNode>();
  e->kind = RealNode::Kind::variable;
  e->variable = name;
  return e;
}
RealExpr of(RealNode::Kind kind, RealExpr a, RealExpr b) {
  auto e = std::make_shared<RealNode>();
  e->kind = kind;
  e->arguments = {std::move(a), std::move(b)};
  return e;
}
RealExpr larger(RealExpr a, RealExpr b) { return of(RealNode::Kind::maximum, std::move(a), std::move(b)); }
RealExpr difference_of(RealExpr a, RealExpr b) {
  return of(RealNode::Kind::sum, std::move(a), of(RealNode::Kind::product, number(-1), std::move(b)));
}

void questions_by_cases(std::vector<Check>& list) {
  add(list, "max(r, 0) = r by cases", false,
      [](Question&) { return is_zero_by_cases(difference_of(larger(real(0), number(0)), real(0))); });
  add(list, "max(r, 0) = 0 by cases", false, [](Question&) { return is_zero_by_cases(larger(real(0), number(0))); });
  add(list, "max(r, 0) + r = max(2 r, r) by cases", true, [](Question&) {
    const RealExpr twice = of(RealNode::Kind::product, number(2), real(0));
    return is_zero_by_cases(difference_of(of(RealNode::Kind::sum, larger(real(0), number(0)), real(0)), larger(twice, real(0))));
  });
  add(list, "max(max(r, 0), 5) = 5 by cases", false,
      [](Question&) { return is_zero_by_cases(difference_of(larger(larger(real(0), number(0)), number(5)), number(5))); });
  add(list, "r = s by cases", false, [](Question&) { return is_zero_by_cases(difference_of(real(0), real(1))); });
  add(list, "(1 - b) r = r by cases, for a b that is 0 or 1", false, [](Question&) {
    const RealClause boolean = {{RealFact::Relation::zero, real(1)}, {RealFact::Relation::zero, difference_of(real(1), number(1))}};
    const RealExpr rest = of(RealNode::Kind::product, difference_of(number(1), real(1)), real(0));
    return is_zero_by_cases(difference_of(rest, real(0)), std::vector<RealClause>{boolean});
  });
  add(list, "[c] r = r by cases", false, [](Question& q) {
    auto conditional = std::make_shared<RealNode>();
    conditional->kind = RealNode::Kind::conditional;
    conditional->condition = {at_least(q.s, 0)};
    conditional->arguments = {real(0)};
    return is_zero_by_cases(difference_of(conditional, real(0)));
  });
}

void questions_to_ranges(std::vector<Check>& list) {
  add(list, "N - 2 >= 0 by ranges", false, [](Question& q) { return q.at_least_zero({}, q.n - Poly(2)); });
  add(list, "i >= 0 by ranges", false, [](Question& q) { return q.at_least_zero({}, q.i); });
  add(list, "i + 1 >= 0 for i >= 0, by ranges", true, [](Question& q) { return q.at_least_zero({at_least(q.i, 0)}, q.i + Poly(1)); });
  add(list, "0 >= i for i >= 0, by ranges", false, [](Question& q) { return q.at_least_zero({at_least(q.i, 0)}, -q.i); });
  add(list, "an element below N is at most N - 2, by ranges", false, [](Question& q) {
    Ranges ranges(q.symbols, {});
    const Ranges::ElementRanges elements = {{0, {{0, q.n, true, {}, {}, {}}}}};
    ranges.know(elements);
    return ranges.at_least_zero(q.n - Poly(2) - q.element);
  });
  add(list, "s i >= 0 is i >= 0", false, [](Question& q) {
    const auto tidied = tidy(q.symbols, at_least(q.s * q.i, 0));
    return tidied && tidied->size() == 1 && tidied->front().poly == q.i;
  });
  add(list, "2 i + 1 >= 0 is i >= 0", true, [](Question& q) {
    const auto tidied = tidy(q.symbols, at_least(Poly(2) * q.i + Poly(1), 0));
    return tidied && tidied->size() == 1 && tidied->front().poly == q.i;
  });
  add(list, "2 i + 1 = 0 for some i", false, [](Question& q) { return tidy(q.symbols, equal(Poly(2) * q.i + Poly(1), 0)).has_value(); });
  add(list, "5 i + 7 = 5 a + r", true, [](Question& q) {
    const auto [a, r] = split_by(Poly(5) * q.i + Poly(7), 5);
    return Poly(5) * a + r == Poly(5) * q.i + Poly(7);
  });
}

const char* const kAssociate =
    "rule associate\n  with\n    x: [M, K], a: [K, N], b: [N, P]\n  source\n    y = matmul(matmul(x, a), b)\n"
    "  target\n    y = matmul(x, matmul(a, b))\n  where M >= 2\n";
const char* const kDivision = "rule division\n  source\n    y = x / s + z / s\n  target\n    y = (x + z) / s\n";
const char* const kSlice =
    "rule slice\n  with\n    x: [N]\n  source\n    y = -slice(x, starts: [s], sizes: [n], steps: 1)\n"
    "  target\n    y = slice(-x, starts: [s], sizes: [n], steps: 1)\n";
// The target has the shape of the source for n = N alone.
const char* const kUntyped =
    "rule untyped\n  with\n    x: [N]\n  source\n    y = -x\n    z = slice(x, starts: [0], sizes: [n], steps: 1)\n"
    "  target\n    y = -slice(x, starts: [0], sizes: [n], steps: 1)\n    z = slice(x, starts: [0], sizes: [n], steps: 1)\n";
// The target divides by d, which may be 0.
const char* const kDivides =
    "rule divides\n  with\n    x: [N]\n  source\n    y = -x\n    z = slice(x, starts: [d], sizes: [n], steps: 1)\n  target\n"
    "    y = -slice(pad(x, begins: [0], ends: [floor_div(N, d)]), starts: [0], sizes: [N], steps: 1)\n"
    "    z = slice(x, starts: [d], sizes: [n], steps: 1)\n";

// log(x) + log(z) has a value for positive x and z alone.
const char* const kLogarithms = "rule logarithms\n  source\n    y = log(x) + log(z)\n  target\n    y = log(x * z)\n";

rules::Rule rule_of(const char* text) {
  auto rules = rules::parse_rules(text, "test.rules");
  return rules ? std::move(rules->front()) : rules::Rule{};
}

RuleRecord record_of(const rules::Rule& rule) {
  Options options;
  options.record = true;
  return decide(rule, options).record.value_or(RuleRecord{});
}

using Change = void (*)(RuleRecord&);

void add_record(std::vector<Check>& list, const char* name, const rules::Rule& rule, const RuleRecord& record, const char* reason) {
  list.push_back({std::string("record/") + name, [rule, record, reason = std::string(reason)] {
                    const auto accepted = replay(rule, record);
                    if (accepted) return reason.empty() ? std::string() : "the record is accepted";
                    const std::string& said = accepted.error().message;
                    return !reason.empty() && said.find(reason) != std::string::npos ? std::string() : said;
                  }});
}

// A record that was changed is rejected, for the reason that is expected.
void changed_records(std::vector<Check>& list) {
  const auto changed = [&](const char* name, const char* text, const char* reason, Change change) {
    const rules::Rule rule = rule_of(text);
    RuleRecord record = record_of(rule);
    change(record);
    add_record(list, name, rule, record, reason);
  };
  changed("as it was made", kAssociate, "", [](RuleRecord&) {});
  changed("of another text", kAssociate, "it is of another text of the rule", [](RuleRecord& r) { r.hash.words[1] ^= 1U; });
  changed("of another meaning", kAssociate, "have another meaning now", [](RuleRecord& r) { r.semantics ^= 1U; });
  changed("with another guard", kAssociate, "the guards are not those", [](RuleRecord& r) { r.guards.emplace_back("K = N"); });
  changed("with other typing", kSlice, "the guards are not those", [](RuleRecord& r) { r.assumes.pop_back(); });
  changed("of another float class", kAssociate, "the float class is", [](RuleRecord& r) { r.float_class = "exact"; });
  changed("that proves nothing", kAssociate, "it proves nothing of any shape", [](RuleRecord& r) {
    for (std::size_t& k : r.instances) k = RuleRecord::kVacuous;
  });
  changed("with another certificate", kAssociate, "the certificate was not accepted",
          [](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0 1)"; });
  changed("with more behind a certificate", kAssociate, "expected the end", [](RuleRecord& r) { r.proofs[0].certificates[0] += "x"; });
  changed("with a symbol of another space", kAssociate, "expected a symbol of the normal forms or of a space",
          [](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0 1[z1,z0])(0[z0])"; });
  changed("without a demand", kDivision, "the certificate was not accepted", [](RuleRecord& r) {
    std::string& text = r.proofs[0].certificates[0];
    text.resize(text.rfind("d("));
  });
  changed("as it was made, with facts of the source", kLogarithms, "", [](RuleRecord&) {});
  changed("without a fact of the source", kLogarithms, "the certificate was not accepted",
          [](RuleRecord& r) { r.proofs[0].given.pop_back(); });
  changed("without facts of the source", kLogarithms, "the certificate was not accepted", [](RuleRecord& r) { r.proofs[0].given.clear(); });
  changed("with a fact that the source does not ask for", kLogarithms, "the source does not ask for what the record says",
          [](RuleRecord& r) { r.proofs[0].given.push_back(100); });
  // Records that no search makes: the certificates are right, what the target asks for does not follow.
  const auto invented = [&](const char* name, const char* text, const char* reason) {
    const rules::Rule rule = rule_of(text);
    auto instances = rules::instantiate(rule);
    if (!instances) return;
    RuleRecord record = describe(rule, *instances);
    record.add_instance({{}, {}, {"(0 1)", ""}});
    add_record(list, name, rule, record, reason);
  };
  invented("of a target without a type", kUntyped, "typing of the target");
  invented("of a target that divides by what may be 0", kDivides, "a divisor of at least 1");
}

// What is read and written again means the same.
void texts_of_records(std::vector<Check>& list) {
  const auto accepted = [&](const char* name, const char* text) {
    const rules::Rule rule = rule_of(text);
    list.push_back({std::string("text/") + name, [rule] { return record_of(rule).proofs.empty() ? "no record is made" : ""; }});
  };
  accepted("exchanged binders", kAssociate);
  accepted("a pairing",
           "rule r\n  with\n    x: [N, N]\n  source\n    y = x * transpose(x, perm: [1, 0])\n  target\n    y = transpose(x, perm: "
           "[1, 0]) * x\n");
  accepted(
      "a shift",
      "rule r\n  with\n    x: [N], w: [N]\n  source\n    y = reduce_sum(slice(x, starts: [N - 1], sizes: [N], steps: -1) * w, axes: [0], "
      "keep_dims: 0)\n  target\n    y = reduce_sum(x * slice(w, starts: [N - 1], sizes: [N], steps: -1), axes: [0], keep_dims: 0)\n");
}

// The semantics hash depends on what operators read and compute.
void meanings(std::vector<Check>& list) {
  const auto hash = [](const char* operation, const SemanticsOf& semantics) -> std::uint64_t {
    const std::string text = std::string("rule r\n  with\n    x: [N, N]\n  source\n    y = ") + operation + "\n  target\n    y = x\n";
    auto instances = rules::instantiate(rule_of(text.c_str()));
    return instances ? semantics_hash(*instances, semantics) : 0;
  };
  list.push_back({"meaning/of what is read", [hash] {
                    const bool same =
                        hash("transpose(x, perm: [1, 0])", ops::semantics_of) == hash("transpose(x, perm: [0, 1])", ops::semantics_of);
                    return same ? "a transposed matrix has the hash of the matrix" : "";
                  }});
  list.push_back({"meaning/of what is computed", [hash] {
                    const SemanticsOf tanh = [](ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index) {
                      const ops::Expr e = ops::semantics_of(arena, node, output, index);
                      return ops::Builder(arena.symbols()).apply(ops::Function::tanh, e->arguments[0]);
                    };
                    return hash("exp(x)", ops::semantics_of) == hash("exp(x)", tanh) ? "tanh has the hash of exp" : "";
                  }});
  list.push_back({"meaning/of where it stops", [hash] {
                    const SemanticsOf anywhere = [](ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index) {
                      ops::ExprNode read = *ops::semantics_of(arena, node, output, index);
                      read.wrapped.clear();
                      return std::make_shared<const ops::ExprNode>(std::move(read));
                    };
                    const char* const gather = "gather(x, iota(shape: [N], data_type: int64))";
                    return hash(gather, ops::semantics_of) == hash(gather, anywhere) ? "an index has the hash of one that never stops" : "";
                  }});
}

// Rules with what is said of them, or its beginning.
void verdicts(std::vector<Check>& list) {
  const auto said = [&](const char* name, const char* text, const char* expected) {
    const rules::Rule rule = rule_of(text);
    list.push_back({std::string("verdict/") + name, [rule, expected = std::string(expected)] {
                      const std::string text = decide(rule).explanation();
                      return text.starts_with(expected) ? std::string() : text.empty() ? "it is proved" : text;
                    }});
  };
  said("of what is true and not known", "rule r\n  source\n    y = sin(x) * sin(x)\n  target\n    y = 1 - cos(x) * cos(x)\n",
       "unknown: output y");
  said("of an index of size 1 that may have no value",
       "rule r\n  with\n    x: float64[1], z: float64[K]\n  source\n    y = gather(x, cast(sqrt(z), to: int32)) * 0\n    u = z * 0\n"
       "  target\n    i = gather(x, cast(sqrt(z), to: int32)) * 0\n    y = i\n    u = z * 0 + i\n",
       "unknown: output u: the target has a value only where");
  const std::string negated = "rule r\n  with\n    x: [N]\n  source\n    y = -(-x)\n  target\n    y = x\n  where ";
  said("of what cannot be evaluated", (negated + "N = 5000000000\n").c_str(), "unknown: agreement: only 0 shapes");
  said("of what takes too long to evaluate",
       "rule r\n  with\n    x: [M, M], a: [M, M]\n  source\n    y = matmul(matmul(x, a), x)\n  target\n    y = matmul(x, matmul(a, x))\n  "
       "where M >= "
       "62\n",
       "unknown: agreement: only 0 shapes");
  said("of no shapes", "rule r\n  with\n    x: [N]\n  source\n    y = -x\n  target\n    y = x\n  where N >= 3 and 2 >= N\n",
       "ill-typed: vacuous");
  said("of a target without a type", kUntyped, "refuted: ");
  said("of a target that divides by what may be 0", kDivides, "refuted: ");
  said("of a product that does not commute",
       "rule r\n  with\n    x: [M, M], w: [M, M]\n  source\n    y = matmul(x, w)\n  target\n    y = matmul(w, x)\n",
       "refuted: M = 2; x = [[0, 0], [0, 1]]; w = [[0, 0], [1, 0]]; output y at [1, 0]: 1 != 0");
  said("of a target whose type differs from the source's for empty tensors alone",
       "rule r\n  with\n    x: [A]\n  source\n    y = slice(x, starts: [0], sizes: [n], steps: 1)\n"
       "  target\n    y = slice(x, starts: [0], sizes: [1], steps: 1)\n  where n <= 1\n",
       "unknown: typing of the target");
  said("of a target whose type differs for the fewest elements that a tensor has",
       "rule r\n  with\n    x: [A]\n  source\n    y = slice(x, starts: [0], sizes: [n], steps: 1)\n"
       "  target\n    y = slice(x, starts: [0], sizes: [1], steps: 1)\n  where n <= 2\n",
       "refuted: A = 2, n = 2;");
  said("of a target that has a type though an equation of it does not follow",
       "rule r\n  with\n    x: [A], z: [B]\n  source\n    y = relu(z)\n    u = relu(x)\n"
       "  target\n    y = relu(z) + x * 0\n    u = relu(x)\n  where A <= 1\n",
       "unknown: typing of the target");
  said("of a wrong rule with a guard on sizes",
       "rule r\n  with\n    x: [N]\n  source\n    y = -x\n  target\n    y = x + x\n  where N >= 3\n", "refuted: N = 3;");
  said("of a wrong rule with a guard on elements", "rule r\n  source\n    y = x / x\n  target\n    y = x - x + 2\n  where nonzero(x)\n",
       "refuted: x = 1; output y at []: 1 != 2");
}

// A relation of the typing that divides by b holds for no b below 1, and nothing says that b is at least 1.
std::string relation_that_divides() {
  auto instances = rules::instantiate(rule_of("rule r\n  source\n    y = -(-x)\n  target\n    y = x\n"));
  if (!instances) return instances.error().text();
  rules::RuleInstance& instance = instances->front();
  ir::Symbols& symbols = instance.arena->symbols();
  const Poly a(symbols.fresh(SymbolKind::parameter, "a")), b(symbols.fresh(SymbolKind::parameter, "b"));
  instance.obligations.push_back({at_least(symbols.floor_div(a, b), 0), "a quotient"});
  return Proof(instance, {}).unguarded_division() ? "" : "no divisor is found";
}

}  // namespace

std::vector<Check> units() {
  std::vector<Check> list;
  questions_to_the_solver(list);
  questions_by_cases(list);
  questions_to_ranges(list);
  meanings(list);
  changed_records(list);
  texts_of_records(list);
  verdicts(list);
  list.push_back({"verdict/of typing that divides by what may be 0", relation_that_divides});
  return list;
}

}  // namespace xflow::verifier
