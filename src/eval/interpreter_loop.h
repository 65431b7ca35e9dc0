// Sums, maxima and sums of products: a part of the class template of interpreter.h, which includes this
// file.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/eval/interpreter.h"

namespace xflow::eval {

template <typename A>
template <typename T>
View<T> Interpreter<A>::loop(const ValueNode& node, NodeState& state, Mask mask) {
  if constexpr (std::is_floating_point_v<T>) {
    if (node.product_of_reads) {
      const ValueNode& product = stage_.nodes[static_cast<std::size_t>(node.arguments[0])];
      const ValueNode& a = stage_.nodes[static_cast<std::size_t>(product.arguments[0])];
      const ValueNode& b = stage_.nodes[static_cast<std::size_t>(product.arguments[1])];
      if (is_native<T>(sources_[static_cast<std::size_t>(a.source)]) && is_native<T>(sources_[static_cast<std::size_t>(b.source)])) {
        return dot<T>(node, state, mask, a, b);
      }
    }
  }
  const bool is_sum = node.kind == Kind::sum;
  const std::int64_t extent = stage_.extents[static_cast<std::size_t>(node.variable)];
  const std::int64_t lanes = loops_.lanes();
  T* const out = buffer<T>(state);
  T total = neutral<T>(is_sum);
  bool uniform = true;
  for (std::int64_t k = 0; k < extent && !stopped_; ++k) {
    look();
    loops_.set(node.variable, k);
    const View<T> view = eval<T>(node.arguments[0], mask);
    if (uniform && view.uniform) {
      total = combine<T>(is_sum, total, *view.data);
      continue;
    }
    if (uniform) std::fill_n(out, lanes, total);
    uniform = false;
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
      if (is_sum && !view.uniform) {
        add_lanes(out, view.data, lanes);
        continue;
      }
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (A::kCheap || mask == nullptr || mask[lane] != 0) out[lane] = combine<T>(is_sum, out[lane], view[lane]);
    }
  }
  if (uniform) out[0] = std::move(total);
  return {out, uniform};
}

template <typename A>
template <typename T>
View<T> Interpreter<A>::dot(const ValueNode& node, NodeState& state, Mask mask, const ValueNode& a, const ValueNode& b) {
  const std::int64_t terms = stage_.extents[static_cast<std::size_t>(node.variable)];
  const ValueNode* const reads[2] = {&a, &b};
  look(static_cast<std::uint64_t>(terms));
  T* const out = buffer<T>(state);
  std::int64_t lanes = loops_.lanes();
  // With few terms, inactive lanes are computed as copies of an active one. Otherwise the active lanes are
  // compacted.
  std::int64_t some = 0;
  const bool all = mask == nullptr || terms <= kFewTerms;
  if (!all) {
    state.active.clear();
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (mask[lane] != 0) state.active.push_back(lane);
    }
    lanes = static_cast<std::int64_t>(state.active.size());
  } else if (mask != nullptr) {
    some = std::find(mask, mask + lanes, std::uint8_t{1}) - mask;
    if (some == lanes) {
      out[0] = T{};
      return {out, true};
    }
  }
  Factor<T> factors[2];
  loops_.set(node.variable, terms - 1);
  IndexView last[2] = {loops_.form(a.form), loops_.form(b.form)};
  loops_.set(node.variable, 0);
  for (std::size_t k = 0; k < 2; ++k) {
    const Source& source = sources_[static_cast<std::size_t>(reads[k]->source)];
    const IndexView view = loops_.form(reads[k]->form);
    if (!in_range(view, source, mask) || (terms > 1 && !in_range(last[k], source, mask))) {
      out[0] = T{};
      return {out, true};
    }
    Factor<T>& factor = factors[k];
    factor.data = static_cast<const T*>(source.data);
    factor.step = terms > 1 ? (last[k].base - view.base) / (terms - 1) : 0;
    if (view.is_uniform()) {
      factor.data += view.base;
      continue;
    }
    // Inactive lanes may be read if their offsets are within the source.
    const auto anywhere = [&](const IndexView& x) { return all_within(x, nullptr, lanes, static_cast<std::int64_t>(source.count)); };
    const bool everything = mask == nullptr || (all && anywhere(view) && (terms == 1 || anywhere(last[k])));
    if (everything && view.values == nullptr && view.stride == 1) {
      factor.kind = Factor<T>::Kind::contiguous;
      factor.data += view.base;
    } else {
      factor.kind = Factor<T>::Kind::gathered;
      factor.data += view.base;
      std::vector<std::int64_t>& offsets = state.offsets[k];
      if (all && !everything) {
        masked_offsets(offsets.data(), view, mask, view.at(some) - view.base, lanes);
      } else {
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          const std::int64_t from = all ? lane : state.active[static_cast<std::size_t>(lane)];
          offsets[static_cast<std::size_t>(lane)] = view.at(from) - view.base;
        }
      }
      factor.offsets = offsets.data();
    }
  }
  if (all) {
    std::fill_n(out, lanes, T(0));
    multiply_add(out, lanes, terms, factors[0], factors[1]);
    return {out, false};
  }
  state.accumulators.assign(static_cast<std::size_t>(lanes), T(0));
  multiply_add(state.accumulators.data(), lanes, terms, factors[0], factors[1]);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    out[state.active[static_cast<std::size_t>(lane)]] = state.accumulators[static_cast<std::size_t>(lane)];
  }
  return {out, false};
}

}  // namespace xflow::eval
