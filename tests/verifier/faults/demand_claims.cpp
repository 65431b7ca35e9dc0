// Demands that do not follow from others, whatever a certificate says, and one that does.
#include <memory>
#include <utility>

#include "src/verifier/checker/checker.h"
#include "tests/verifier/faults/checks.h"

namespace xflow::verifier {
namespace {

Expression read(int number) {
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::read;
  f->variable = {static_cast<ir::NodeId>(number), 0};
  NormalTerm t;
  t.factors.push_back({std::move(f), 1});
  return {{std::move(t)}};
}

Piece demand(const char* name, std::vector<Expression> arguments) {
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::predicate;
  f->name = name;
  f->arguments = std::move(arguments);
  NormalTerm t;
  t.factors.push_back({std::move(f), 1});
  return {{}, {}, {{std::move(t)}}};
}

// The one demand that is given covers the wanted one: the two bodies are equal, factor by factor, and argument by argument if `deep`.
DemandProof covered(std::vector<std::size_t> guards, bool deep) {
  Certificate equal;
  equal.clusters.push_back({{}, {{0, {}, {}, {}}, {1, {}, {}, {}}}});
  Certificate body = equal;
  if (deep) body.clusters[0].members[1].factors.push_back(FactorProof{{equal}, {}, {}});
  return {std::move(guards), Cover{{}, {{0, {}, std::move(body)}}}};
}

Check claim(const char* name, bool right, Piece wanted, Piece given, DemandProof proof) {
  return {std::string("demand/") + name, [=] {
            ir::Symbols symbols;
            Solver solver(symbols, 1'000'000);
            Algebra algebra(symbols, {});
            const bool accepted = Checker(solver, algebra, symbols).demand(wanted, {given}, {}, proof);
            if (accepted == right) return std::string();
            return std::string(right ? "the demand is rejected" : "the demand is accepted");
          }};
}

}  // namespace

std::vector<Check> demand_claims() {
  const Expression x = read(1);
  const Expression y = read(2);
  const Expression c = read(3);
  std::vector<Check> list;
  list.push_back(claim("x is not 0 where x is not 0", true, demand("nonzero", {x}), demand("nonzero", {x}), covered({}, false)));
  list.push_back(claim("x is not 0 if c where x is not 0", true, demand("nonzero", {x, c}), demand("nonzero", {x}), covered({}, false)));
  list.push_back(claim("y is not 0 where x is not 0", false, demand("nonzero", {y}), demand("nonzero", {x}), covered({}, false)));
  list.push_back(claim("x is not 0 where x is not 0 if c", false, demand("nonzero", {x}), demand("nonzero", {x, c}), covered({}, false)));
  list.push_back(
      claim("x is not 0 if a guard that is not there", false, demand("nonzero", {x}), demand("nonzero", {x}), covered({0}, false)));
  list.push_back({"demand/that x is positive is that x is not 0", [=] {
                    ir::Symbols symbols;
                    Solver solver(symbols, 1'000'000);
                    Algebra algebra(symbols, {});
                    const FactorPtr a = demand("positive", {x}).body.terms[0].factors[0].factor;
                    const FactorPtr b = demand("nonzero", {x}).body.terms[0].factors[0].factor;
                    const FactorProof proof = covered({}, true).cover.by[0].body.clusters[0].members[1].factors[0];
                    return Checker(solver, algebra, symbols).equal(*a, *b, {}, proof) ? std::string("the predicates are accepted")
                                                                                      : std::string();
                  }});
  return list;
}

}  // namespace xflow::verifier
