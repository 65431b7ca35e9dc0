#include "src/verifier/algebra/scalar.h"

#include <algorithm>

#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

// True if a factor has a meaning beyond that of a symbol. Without such a factor, arithmetic on values proves
// nothing that alignment does not prove.
bool has_meaning(const Expression& e);

bool has_meaning(const Factor& f) {
  if (f.kind == FactorKind::maximum || f.boolean) return true;
  return f.kind == FactorKind::function && (f.function == Function::reciprocal || f.function == Function::sqrt);
}

bool has_meaning(const Expression& e) {
  return std::any_of(e.terms.begin(), e.terms.end(), [](const NormalTerm& t) {
    return std::any_of(t.factors.begin(), t.factors.end(), [](const FactorPower& f) { return f.power < 0 || has_meaning(*f.factor); });
  });
}

}  // namespace

std::optional<std::vector<Component>> ScalarProver::zero(const std::vector<NormalTerm>& terms, const Condition& context) {
  if (terms.empty()) return std::vector<Component>();
  if (terms.size() < 2 || depth_ > 1 || matcher_ == nullptr || !has_meaning(Expression{terms})) return std::nullopt;
  ++depth_;
  normalizer_.step();
  std::vector<Component> components;
  std::vector<std::string> heads;
  const Checker::Identify identify = [&](const std::vector<NormalTerm>& known, const NormalTerm& component) -> std::optional<std::size_t> {
    const std::string head = signature(component);
    for (std::size_t k = 0; k < known.size(); ++k) {
      if (heads[k] != head || broken(Fault::scalar_components_are_new)) continue;
      if (same_but_for_names(normalizer_.symbols(), known[k], component)) {
        components.push_back({k, {}});
        return k;
      }
      if (broken(Fault::scalar_components_by_name)) continue;
      auto equal = matcher_->zero_by_alignment(difference(Expression{{known[k]}}, Expression{{component}}), context);
      if (!equal) continue;
      components.push_back({k, *std::move(equal)});
      return k;
    }
    heads.push_back(head);
    components.push_back({known.size(), {}});
    return known.size();
  };
  const bool zero = checker_.zero_by_values(terms, context, identify);
  --depth_;
  if (!zero) return std::nullopt;
  return components;
}

}  // namespace xflow::verifier
