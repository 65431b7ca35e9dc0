#include "src/verifier/proof/source_facts.h"

#include <algorithm>

#include "src/verifier/faults.h"
#include "src/verifier/proof/compose.h"
#include "src/verifier/proof/demands.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

namespace {

std::optional<Sign> sign_of(std::string_view predicate) {
  if (predicate == "nonzero" || predicate == "divisor") return Sign::nonzero;
  if (predicate == "nonnegative") return Sign::nonnegative;
  if (predicate == "positive") return Sign::positive;
  return std::nullopt;
}

// An integer as a polynomial in dimensions, indices and elements of integer tensors; nullopt for any other
// expression.
std::optional<Poly> as_polynomial(Symbols& symbols, const Expression& e) {
  Poly result;
  for (const NormalTerm& t : e.terms) {
    if (!t.is_plain() || t.coefficient.denominator() != 1) return std::nullopt;
    Poly product(t.coefficient.numerator());
    const auto multiply = [&](const Poly& p, int power) {
      for (int k = 0; k < power; ++k) product *= p;
      return power >= 0;
    };
    for (const DimensionPower& d : t.dimensions)
      if (!multiply(Poly(d.dimension), d.power)) return std::nullopt;
    for (const FactorPower& f : t.factors) {
      const bool is_element = f.factor->kind == FactorKind::read && f.factor->integral;
      if (!is_element && f.factor->kind != FactorKind::integer) return std::nullopt;
      const Poly value = is_element ? symbols.element(tensor_number(f.factor->variable), f.factor->indices) : f.factor->integer;
      if (!multiply(value, f.power)) return std::nullopt;
    }
    result += product;
  }
  return result.is_poisoned() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace

std::vector<KnownSign> known_signs(const std::vector<Piece>& given, std::size_t first) {
  std::vector<KnownSign> result;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Factor* const predicate = predicate_of(given[k]);
    const auto sign = predicate != nullptr ? sign_of(predicate->name) : std::nullopt;
    if (!sign) continue;
    const auto guards = predicate->arguments.begin() + static_cast<std::ptrdiff_t>(predicate_arity(predicate->name));
    result.push_back(
        {first + k, given[k].binders, given[k].conditions, {guards, predicate->arguments.end()}, predicate->arguments[0], *sign});
  }
  return result;
}

// A demand -d <= p < d with p = c e + r, for one element e and c = 1 or c = -1, bounds e.
std::vector<KnownRange> known_ranges(Symbols& symbols, const std::vector<Piece>& given, std::size_t first) {
  std::vector<KnownRange> result;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Factor* const predicate = predicate_of(given[k]);
    if (predicate == nullptr || predicate->name != "in_range" || predicate->arguments.size() != predicate_arity("in_range")) continue;
    const auto index = as_polynomial(symbols, predicate->arguments[0]);
    const auto size = index ? as_polynomial(symbols, predicate->arguments[1]) : std::nullopt;
    if (!size) continue;
    for (const SymbolId s : index->symbols()) {
      const ir::SymbolInfo& info = symbols.info(s);
      const auto linear = info.kind == SymbolKind::element ? index->linear_in(s) : std::nullopt;
      const auto c = linear ? linear->first.constant() : std::nullopt;
      if ((c != 1 && c != -1) || symbols.occurs(linear->second, s)) continue;
      const Poly& r = linear->second;
      const Poly least = broken(Fault::source_ranges_from_zero) ? Poly(0) : -*size;
      const Poly low = c == 1 ? least - r : r - *size + Poly(1);
      const Poly end = c == 1 ? *size - r : r - least + Poly(1);
      result.push_back({first + k, info.tensor, {low, end, false, given[k].binders, info.arguments, given[k].conditions}});
    }
  }
  return result;
}

}  // namespace xflow::verifier
