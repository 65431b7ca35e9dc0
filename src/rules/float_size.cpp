// Bounds of rounding errors, as sets of products.
#include "src/rules/float_size.h"

#include <algorithm>
#include <cmath>

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
  for (const auto& [product, region] : b) a[product] |= region;
  return a;
}

SizeProducts only_in(PointSet region, const SizeProducts& a) {
  SizeProducts result;
  for (const auto& [product, own] : a)
    if ((own & region) != 0) result[product] = own & region;
  return result;
}

}  // namespace

SizeProducts Sizes::times(const SizeProducts& a, const SizeProducts& b) {
  SizeProducts all;
  for (const auto& [x, region_of_x] : a)
    for (const auto& [y, region_of_y] : b) {
      // Stops once the limit is reached: products of products double in length.
      if (too_many_) return {};
      if ((region_of_x & region_of_y) == 0) continue;
      SizeProduct product = product_of(x, y);
      too_many_ = product.size() > kLongestProduct;
      all[std::move(product)] |= region_of_x & region_of_y;
      too_many_ = too_many_ || all.size() > kMostProducts;
    }
  return all;
}

const SizeProducts& Sizes::inverse(ElementId id) {
  if (const auto found = inverses_.find(id); found != inverses_.end()) return found->second;
  const Element& e = elements_[id];
  SizeProducts made = {{{inverse_of(id)}, kEverywhere}};
  if (e.kind == Element::Kind::number) made = {{{}, kEverywhere}};
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

SizeProducts Sizes::chosen(ElementId id, SizeProducts Size::*part) {
  const std::vector<ElementId>& operands = elements_[id].operands;
  SizeProducts all;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!elements_[operands[k]].boolean && elements_.literal(operands[k]) != 0)
      all = merged(std::move(all), only_in(region_of(elements_, id, k), of(operands[k]).*part));
  return all;
}

const Sizes::Size& Sizes::of(ElementId id) {
  if (const auto found = sizes_.find(id); found != sizes_.end()) return found->second;
  Size made = computed(id, elements_[id]);
  return sizes_.emplace(id, std::move(made)).first->second;
}

Sizes::Size Sizes::computed(ElementId id, const Element& e) {
  const SizeProducts own = {{{id}, kEverywhere}};
  const SizeProducts one = {{{}, kEverywhere}};
  if (elements_.literal(id)) return {one, one, one};
  if (e.kind == Element::Kind::variable) return {own, own, own};
  switch (e.effect->error) {
    case FloatError::copies:
      return {joined(e, &Size::size), joined(e, &Size::expanded), joined(e, &Size::error)};
    case FloatError::chooses: {
      // Attributes are bounds, unless the operand is returned everywhere.
      const bool bounds = region_of(elements_, id, 0) != kEverywhere &&
                          std::ranges::any_of(e.attributes, [](double a) { return std::isfinite(a) && a != 0; });
      SizeProducts expanded = chosen(id, &Size::expanded);
      return {own, bounds ? merged(std::move(expanded), one) : std::move(expanded), merged(chosen(id, &Size::error), own)};
    }
    case FloatError::saturates:
      return {own, merged(chosen(id, &Size::expanded), one),
              merged(merged(chosen(id, &Size::error), only_in(region_of(elements_, id, 0), one)), own)};
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

bool Sizes::covered(const SizeProduct& product, PointSet region, const SizeProducts& by, int depth) {
  if (const auto found = by.find(product); found != by.end()) region &= ~found->second;
  if (region == 0) return true;
  if (depth > kDeepest || too_many_) return false;
  if (++expansions_ > kMostExpansions) {
    too_many_ = true;
    return false;
  }
  for (const int factor : product) {
    if (factor < 0) continue;
    const SizeProducts& expanded = of(factor).expanded;
    if (expanded == SizeProducts{{{factor}, kEverywhere}}) continue;
    const SizeProduct rest = product_of(product, {inverse_of(factor)});
    return std::ranges::all_of(expanded, [&](const auto& one) {
      return (region & one.second) == 0 || covered(product_of(rest, one.first), region & one.second, by, depth + 1);
    });
  }
  return false;
}

bool Sizes::is_positive_sum(ElementId root) const {
  const ElementId roots[] = {root};
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

bool Sizes::multiplies_sums(ElementId root) {
  const ElementId roots[] = {root};
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

bool Sizes::applies_the_same(const Element& target, const Element& source) {
  if (target.kind != Element::Kind::application || source.kind != Element::Kind::application || target.name != source.name ||
      target.attributes != source.attributes || target.operands.size() != source.operands.size())
    return false;
  const bool chooses = target.effect->error == FloatError::chooses;
  if (!target.evaluable || (!chooses && target.operands.size() != 1)) return false;
  for (std::size_t k = 0; k < target.operands.size(); ++k) {
    const ElementId t = target.operands[k];
    const ElementId s = source.operands[k];
    if (t != s && (elements_[t].boolean || !within(t, s))) return false;
  }
  return true;
}

bool Sizes::is_unrounded(ElementId root) const {
  const ElementId roots[] = {root};
  return std::ranges::all_of(elements_.below(roots, true), [&](ElementId id) {
    const Element& e = elements_[id];
    if (e.kind == Element::Kind::number) return e.number == 0 || std::abs(e.number) == 1;
    if (e.kind == Element::Kind::variable) return true;
    const ops::FloatWork work = e.effect->work;
    const bool chooses = work == ops::FloatWork::selects || work == ops::FloatWork::logic || work == ops::FloatWork::chooses;
    return chooses || is_comparison(e.name);
  });
}

bool Sizes::within(ElementId target, ElementId source) {
  if (target == source || is_unrounded(target)) return true;
  // Equal polynomials with positive coefficients have the same products, and the source's error contains all
  // of them.
  if (is_positive_sum(target) && is_positive_sum(source) && !multiplies_sums(source)) return !too_many_;
  // The results are equal as real numbers, and each side rounds its own result.
  const SizeProducts allowed = merged(of(target).size, of(source).error);
  const SizeProducts error = of(target).error;
  if (too_many_) return false;
  if (std::ranges::all_of(error, [&](const auto& one) { return covered(one.first, one.second, allowed, 0); })) return !too_many_;
  return applies_the_same(elements_[target], elements_[source]);
}

}  // namespace xflow::rules
