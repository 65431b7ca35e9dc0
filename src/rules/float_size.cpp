// Bounds of rounding errors, as sets of products.
#include "src/rules/float_size.h"

#include <algorithm>

namespace xflow::rules {
namespace {

using ops::FloatError;

constexpr std::size_t kMostProducts = 400;
constexpr std::size_t kLongestProduct = 12;
constexpr int kDeepest = 12;
constexpr int kMostExpansions = 100000;

int inverse_of(int factor) { return -1 - factor; }

SizeProduct product_of(const SizeProduct& a, const SizeProduct& b) {
  SizeProduct all = a;
  for (const int factor : b) {
    const auto cancels = std::find(all.begin(), all.end(), inverse_of(factor));
    if (cancels != all.end()) {
      all.erase(cancels);
    } else {
      all.push_back(factor);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

SizeProducts merged(SizeProducts a, const SizeProducts& b) {
  a.insert(b.begin(), b.end());
  return a;
}

}  // namespace

SizeProducts Sizes::times(const SizeProducts& a, const SizeProducts& b) {
  SizeProducts all;
  for (const SizeProduct& x : a)
    for (const SizeProduct& y : b) {
      // Stops once the limit is reached: products of products double in length.
      if (too_many_) return {};
      SizeProduct product = product_of(x, y);
      too_many_ = product.size() > kLongestProduct;
      all.insert(std::move(product));
      too_many_ = too_many_ || all.size() > kMostProducts;
    }
  return all;
}

const SizeProducts& Sizes::inverse(ElementId id) {
  if (const auto found = inverses_.find(id); found != inverses_.end()) return found->second;
  const Element& e = elements_[id];
  SizeProducts made = {{inverse_of(id)}};
  if (e.kind == Element::Kind::number) made = {{}};
  if (e.kind == Element::Kind::application && e.effect->error == FloatError::multiplies)
    made = times(inverse(e.operands[0]), inverse(e.operands[1]));
  return inverses_.emplace(id, std::move(made)).first->second;
}

SizeProducts Sizes::joined(const Element& e, SizeProducts Size::*part) {
  SizeProducts all;
  for (const ElementId operand : e.operands)
    if (!elements_[operand].boolean) all = merged(std::move(all), of(operand).*part);
  return all;
}

const Sizes::Size& Sizes::of(ElementId id) {
  if (const auto found = sizes_.find(id); found != sizes_.end()) return found->second;
  Size made = computed(id, elements_[id]);
  return sizes_.emplace(id, std::move(made)).first->second;
}

Sizes::Size Sizes::computed(ElementId id, const Element& e) {
  const SizeProducts own = {{id}};
  const SizeProducts one = {{}};
  if (e.kind == Element::Kind::number) return {one, one, one};
  if (e.kind == Element::Kind::variable) return {own, own, own};
  switch (e.effect->error) {
    case FloatError::copies:
      return {joined(e, &Size::size), joined(e, &Size::expanded), joined(e, &Size::error)};
    case FloatError::adds:
      return {own, joined(e, &Size::expanded), joined(e, &Size::error)};
    case FloatError::continuous:
      return {own, merged(joined(e, &Size::expanded), one), merged(joined(e, &Size::error), one)};
    case FloatError::bounded:
      // The result is rounded like any other: if it is far below 1, so is its error.
      return {own, one, merged(joined(e, &Size::error), own)};
    case FloatError::multiplies:
    case FloatError::contracts: {
      const Size a = of(e.operands[0]);
      const Size b = of(e.operands[1]);
      Size result{times(a.size, b.size), times(a.expanded, b.expanded), merged(times(a.size, b.error), times(b.size, a.error))};
      if (e.effect->error == FloatError::contracts) {
        result.size = own;
        for (std::size_t k = 2; k < e.operands.size(); ++k) {
          result.expanded = merged(std::move(result.expanded), of(e.operands[k]).expanded);
          result.error = merged(std::move(result.error), of(e.operands[k]).error);
        }
      }
      return result;
    }
    case FloatError::divides:
    case FloatError::inverts: {
      const bool divides = e.effect->error == FloatError::divides;
      const Size a = divides ? of(e.operands[0]) : Size{one, one, one};
      const SizeProducts inverted = inverse(e.operands.back());
      const SizeProducts& error = of(e.operands.back()).error;
      const SizeProducts size = times(a.size, inverted);
      return {size, times(a.expanded, inverted), merged(times(a.error, inverted), times(times(size, inverted), error))};
    }
    case FloatError::own:
      break;
  }
  // A power with an integer exponent from 1 to 8 is a product.
  if (e.effect->domain == ops::FloatDomain::power && elements_[e.operands[1]].kind == Element::Kind::number) {
    const double n = elements_[e.operands[1]].number;
    if (n >= 1 && n <= 8 && n == std::floor(n)) {
      const Size x = of(e.operands[0]);
      Size result = x;
      for (int k = 1; k < static_cast<int>(n); ++k) {
        result = {times(result.size, x.size), times(result.expanded, x.expanded),
                  merged(times(result.size, x.error), times(x.size, result.error))};
      }
      return result;
    }
  }
  return {own, own, merged(own, times(own, joined(e, &Size::error)))};
}

bool Sizes::covered(const SizeProduct& product, const SizeProducts& by, int depth) {
  if (by.contains(product)) return true;
  if (depth > kDeepest || too_many_) return false;
  if (++expansions_ > kMostExpansions) {
    too_many_ = true;
    return false;
  }
  for (const int factor : product) {
    if (factor < 0) continue;
    const SizeProducts& expanded = of(factor).expanded;
    if (expanded == SizeProducts{{factor}}) continue;
    const SizeProduct rest = product_of(product, {inverse_of(factor)});
    return std::all_of(expanded.begin(), expanded.end(), [&](const SizeProduct& p) { return covered(product_of(rest, p), by, depth + 1); });
  }
  return false;
}

bool Sizes::is_positive_sum(const std::vector<ElementId>& roots) const {
  for (const ElementId id : elements_.below(roots, true)) {
    const Element& e = elements_[id];
    if (e.kind == Element::Kind::number && !(e.number >= 0)) return false;
    if (e.kind != Element::Kind::application) continue;
    const FloatError error = e.effect->error;
    const bool sum = error == FloatError::adds && !(e.operands.size() == 2 && subtracts(*e.effect));
    if (!sum && error != FloatError::multiplies && error != FloatError::contracts) return false;
  }
  return true;
}

bool Sizes::multiplies_sums(const std::vector<ElementId>& roots) {
  for (const ElementId id : elements_.below(roots, true)) {
    const Element& e = elements_[id];
    if (e.kind != Element::Kind::application) continue;
    if (e.effect->error != FloatError::multiplies && e.effect->error != FloatError::contracts) continue;
    int sums = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const Size& factor = of(e.operands[k]);
      sums += factor.size == factor.expanded ? 0 : 1;
    }
    if (sums > 1) return true;
  }
  return false;
}

bool Sizes::within(const std::vector<ElementId>& target, const std::vector<ElementId>& source) {
  // Equal polynomials with positive coefficients have the same products, and the source's error contains all
  // of them.
  if (is_positive_sum(target) && is_positive_sum(source) && !multiplies_sums(source)) return !too_many_;
  // The results are equal as real numbers, and each side rounds its own result.
  SizeProducts allowed;
  for (const ElementId id : target) allowed = merged(std::move(allowed), of(id).size);
  for (const ElementId id : source) allowed = merged(std::move(allowed), of(id).error);
  for (const ElementId id : target) {
    const SizeProducts error = of(id).error;
    if (too_many_) return false;
    if (!std::all_of(error.begin(), error.end(), [&](const SizeProduct& p) { return covered(p, allowed, 0); })) return false;
  }
  return !too_many_;
}

}  // namespace xflow::rules
