// Reads of operands: a part of the class template of interpreter.h, which includes this file.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/eval/interpreter.h"

namespace xflow::eval {

template <typename A>
template <typename T>
View<T> Interpreter<A>::read(const ValueNode& node, NodeState& state, Mask mask) {
  const Source& source = sources_[static_cast<std::size_t>(node.source)];
  const IndexView view = loops_.form(node.form);
  T* const out = buffer<T>(state);
  if (!in_range(view, source, mask)) {
    out[0] = T{};
    return {out, true};
  }
  const std::int64_t lanes = loops_.lanes();
  if (is_native<T>(source)) {
    const T* const data = static_cast<const T*>(source.data);
    if (mask == nullptr && view.is_uniform()) return {data + view.base, true};
    if (mask == nullptr && view.values == nullptr && view.stride == 1) return {data + view.base, false};
    gather(out, view, lanes, mask, [data](std::int64_t at) -> const T& { return data[at]; });
  } else {
    const bool uniform = mask == nullptr && view.is_uniform();
    with_elements(source, [&](const auto& load) {
      gather(out, view, uniform ? 1 : lanes, mask, [&](std::int64_t at) { return convert<T>(load(at)); });
    });
    if (uniform) return {out, true};
  }
  return {out, false};
}

template <typename A>
template <typename T, typename Load>
void Interpreter<A>::gather(T* out, const IndexView& view, std::int64_t lanes, Mask mask, const Load& load) {
  if (mask != nullptr) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (mask[lane] != 0) out[lane] = load(view.at(lane));
    }
  } else if (view.values != nullptr) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) out[lane] = load(view.base + view.values[lane]);
  } else {
    for (std::int64_t lane = 0; lane < lanes; ++lane) out[lane] = load(view.base + view.stride * lane);
  }
}

}  // namespace xflow::eval
