#include "src/eval/kernels.h"

#include <utility>

namespace xflow::eval {

namespace {

template <typename T>
XFLOW_VECTORIZED void uniform_contiguous(T* __restrict acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  std::int64_t k = 0;
  for (; k + 4 <= terms; k += 4, a.data += 4 * a.step, b.data += 4 * b.step) {
    const T a0 = a.data[0];
    const T a1 = a.data[a.step];
    const T a2 = a.data[2 * a.step];
    const T a3 = a.data[3 * a.step];
    const T* const b0 = b.data;
    const T* const b1 = b.data + b.step;
    const T* const b2 = b.data + 2 * b.step;
    const T* const b3 = b.data + 3 * b.step;
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] = acc[l] + a0 * b0[l] + a1 * b1[l] + a2 * b2[l] + a3 * b3[l];
  }
  for (; k < terms; ++k, a.data += a.step, b.data += b.step) {
    const T a0 = a.data[0];
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] += a0 * b.data[l];
  }
}

template <typename T>
XFLOW_VECTORIZED void contiguous_contiguous(T* __restrict acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  for (std::int64_t k = 0; k < terms; ++k, a.data += a.step, b.data += b.step) {
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] += a.data[l] * b.data[l];
  }
}

template <typename T>
void uniform_gathered(T* __restrict acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  std::int64_t k = 0;
  for (; k + 2 <= terms; k += 2, a.data += 2 * a.step, b.data += 2 * b.step) {
    const T a0 = a.data[0];
    const T a1 = a.data[a.step];
    const T* const b1 = b.data + b.step;
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] = acc[l] + a0 * b.data[b.offsets[l]] + a1 * b1[b.offsets[l]];
  }
  for (; k < terms; ++k, a.data += a.step, b.data += b.step) {
    const T a0 = a.data[0];
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] += a0 * b.data[b.offsets[l]];
  }
}

template <typename T>
void contiguous_gathered(T* __restrict acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  for (std::int64_t k = 0; k < terms; ++k, a.data += a.step, b.data += b.step) {
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] += a.data[l] * b.data[b.offsets[l]];
  }
}

// With few lanes the dot products are long: computes one lane after the other, in blocks of terms that stay
// in the cache.
template <typename T>
void gathered_gathered(T* __restrict acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t begin = 0; begin < terms; begin += kBlock) {
    const std::int64_t end = begin + kBlock < terms ? begin + kBlock : terms;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T* x = a.data + a.offsets[l] + begin * a.step;
      const T* y = b.data + b.offsets[l] + begin * b.step;
      T total = acc[l];
      for (std::int64_t k = begin; k < end; ++k, x += a.step, y += b.step) total += *x * *y;
      acc[l] = total;
    }
  }
}

template <typename T>
void dispatch(T* acc, std::int64_t lanes, std::int64_t terms, Factor<T> a, Factor<T> b) {
  using Kind = typename Factor<T>::Kind;
  if (static_cast<int>(a.kind) > static_cast<int>(b.kind)) std::swap(a, b);
  if (a.kind == Kind::uniform && b.kind == Kind::uniform) {
    T total = 0;
    for (std::int64_t k = 0; k < terms; ++k) total += a.data[k * a.step] * b.data[k * b.step];
    for (std::int64_t l = 0; l < lanes; ++l) acc[l] += total;
  } else if (a.kind == Kind::uniform && b.kind == Kind::contiguous) {
    uniform_contiguous(acc, lanes, terms, a, b);
  } else if (a.kind == Kind::uniform) {
    uniform_gathered(acc, lanes, terms, a, b);
  } else if (b.kind == Kind::contiguous) {
    contiguous_contiguous(acc, lanes, terms, a, b);
  } else if (a.kind == Kind::contiguous) {
    contiguous_gathered(acc, lanes, terms, a, b);
  } else {
    gathered_gathered(acc, lanes, terms, a, b);
  }
}

// Indices wrap around as in hardware. An index that does not fit 64 bits belongs to an inactive lane (see
// evaluate.h).
constexpr std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }
constexpr std::int64_t wrapped(std::uint64_t x) { return static_cast<std::int64_t>(x); }

template <typename T>
XFLOW_VECTORIZED void add(T* __restrict acc, const T* __restrict x, std::int64_t lanes) {
  for (std::int64_t l = 0; l < lanes; ++l) acc[l] += x[l];
}

template <typename Term>
XFLOW_VECTORIZED void for_lanes(std::int64_t* __restrict out, const std::int64_t* __restrict x, std::int64_t lanes, const Term& term) {
  for (std::int64_t l = 0; l < lanes; ++l) out[l] = term(out[l], x[l]);
}

template <typename Test>
XFLOW_VECTORIZED void apply(std::uint8_t* __restrict mask, const IndexView& view, std::int64_t lanes, const Test& test) {
  const std::int64_t base = view.base;
  const std::int64_t stride = view.stride;
  if (const std::int64_t* const values = view.values; values != nullptr) {
    for (std::int64_t l = 0; l < lanes; ++l) mask[l] &= static_cast<std::uint8_t>(test(wrapped(bits(base) + bits(values[l]))));
  } else {
    for (std::int64_t l = 0; l < lanes; ++l) mask[l] &= static_cast<std::uint8_t>(test(wrapped(bits(base) + bits(stride) * bits(l))));
  }
}

XFLOW_VECTORIZED MaskCounts split(std::uint8_t* __restrict rest, const std::uint8_t* __restrict taken, const std::uint8_t* __restrict asked,
                                  std::int64_t lanes) {
  MaskCounts counts;
  for (std::int64_t l = 0; l < lanes; ++l) {
    rest[l] = static_cast<std::uint8_t>(asked[l] & (taken[l] ^ 1));
    counts.taken += taken[l];
    counts.asked += asked[l];
  }
  return counts;
}

XFLOW_VECTORIZED MaskCounts complement(std::uint8_t* __restrict rest, const std::uint8_t* __restrict taken, std::int64_t lanes) {
  MaskCounts counts{0, lanes};
  for (std::int64_t l = 0; l < lanes; ++l) {
    rest[l] = static_cast<std::uint8_t>(taken[l] ^ 1);
    counts.taken += taken[l];
  }
  return counts;
}

// x | (count - 1 - x) is negative if x is outside of [0, count).
XFLOW_VECTORIZED bool all_inside(const IndexView& view, std::int64_t lanes, std::int64_t count) {
  const std::int64_t base = view.base;
  const std::int64_t last = wrapped(bits(count) - 1 - bits(base));
  const std::int64_t* const values = view.values;
  std::int64_t outside = 0;
  for (std::int64_t l = 0; l < lanes; ++l) outside |= wrapped((bits(base) + bits(values[l])) | (bits(last) - bits(values[l])));
  return outside >= 0;
}

XFLOW_VECTORIZED bool asked_inside(const IndexView& view, const std::uint8_t* mask, std::int64_t lanes, std::int64_t count) {
  const std::int64_t base = view.base;
  const std::int64_t last = wrapped(bits(count) - 1 - bits(base));
  const std::int64_t* const values = view.values;
  std::int64_t outside = 0;
  for (std::int64_t l = 0; l < lanes; ++l)
    outside |= (wrapped((bits(base) + bits(values[l])) | (bits(last) - bits(values[l])))) & -static_cast<std::int64_t>(mask[l]);
  return outside >= 0;
}

}  // namespace

void add_lanes(double* acc, const double* x, std::int64_t lanes) { add(acc, x, lanes); }
void add_lanes(float* acc, const float* x, std::int64_t lanes) { add(acc, x, lanes); }

// Without vector multiplication of integers, special code for the factors 1 and -1 is several times faster.
void scale_lanes(std::int64_t* out, const std::int64_t* x, std::int64_t coefficient, std::int64_t lanes) {
  if (coefficient == 1) return for_lanes(out, x, lanes, [](std::int64_t, std::int64_t y) { return y; });
  if (coefficient == -1) return for_lanes(out, x, lanes, [](std::int64_t, std::int64_t y) { return wrapped(0 - bits(y)); });
  for_lanes(out, x, lanes, [coefficient](std::int64_t, std::int64_t y) { return wrapped(bits(coefficient) * bits(y)); });
}

void add_scaled_lanes(std::int64_t* out, const std::int64_t* x, std::int64_t coefficient, std::int64_t lanes) {
  if (coefficient == 1) return for_lanes(out, x, lanes, [](std::int64_t sum, std::int64_t y) { return wrapped(bits(sum) + bits(y)); });
  if (coefficient == -1) return for_lanes(out, x, lanes, [](std::int64_t sum, std::int64_t y) { return wrapped(bits(sum) - bits(y)); });
  for_lanes(out, x, lanes, [coefficient](std::int64_t sum, std::int64_t y) { return wrapped(bits(sum) + bits(coefficient) * bits(y)); });
}

XFLOW_VECTORIZED bool subtract_first(std::int64_t* x, std::int64_t first, std::int64_t stride, std::int64_t lanes) {
  std::int64_t bent = 0;
  for (std::int64_t l = 1; l < lanes; ++l) bent |= wrapped(bits(x[l]) - bits(x[l - 1]) - bits(stride));
  for (std::int64_t l = 0; l < lanes; ++l) x[l] = wrapped(bits(x[l]) - bits(first));
  return bent == 0;
}

void apply_atom(std::uint8_t* mask, const IndexView& view, ops::Relation relation, std::int64_t lanes) {
  switch (relation) {
    case ops::Relation::at_least_zero:
      return apply(mask, view, lanes, [](std::int64_t x) { return x >= 0; });
    case ops::Relation::zero:
      return apply(mask, view, lanes, [](std::int64_t x) { return x == 0; });
    case ops::Relation::not_zero:
      return apply(mask, view, lanes, [](std::int64_t x) { return x != 0; });
  }
}

MaskCounts split_mask(std::uint8_t* rest, const std::uint8_t* taken, const std::uint8_t* asked, std::int64_t lanes) {
  return asked == nullptr ? complement(rest, taken, lanes) : split(rest, taken, asked, lanes);
}

bool all_within(const IndexView& view, const std::uint8_t* mask, std::int64_t lanes, std::int64_t count) {
  const auto within = [&](std::int64_t x) { return x >= 0 && x < count; };
  if (within(view.bounds.low) && within(view.bounds.high)) return true;
  if (view.values == nullptr && within(view.base) && within(wrapped(bits(view.base) + bits(view.stride) * bits(lanes - 1)))) return true;
  if (view.values == nullptr) {
    if (mask == nullptr) return false;
    for (std::int64_t l = 0; l < lanes; ++l) {
      if (mask[l] != 0 && !within(wrapped(bits(view.base) + bits(view.stride) * bits(l)))) return false;
    }
    return true;
  }
  return mask == nullptr ? all_inside(view, lanes, count) : asked_inside(view, mask, lanes, count);
}

XFLOW_VECTORIZED void masked_offsets(std::int64_t* offsets, const IndexView& view, const std::uint8_t* mask, std::int64_t otherwise,
                                     std::int64_t lanes) {
  const std::int64_t stride = view.stride;
  if (const std::int64_t* const values = view.values; values != nullptr) {
    for (std::int64_t l = 0; l < lanes; ++l) offsets[l] = mask[l] != 0 ? values[l] : otherwise;
  } else {
    for (std::int64_t l = 0; l < lanes; ++l) offsets[l] = mask[l] != 0 ? wrapped(bits(stride) * bits(l)) : otherwise;
  }
}

void multiply_add(double* acc, std::int64_t lanes, std::int64_t terms, const Factor<double>& a, const Factor<double>& b) {
  dispatch(acc, lanes, terms, a, b);
}

void multiply_add(float* acc, std::int64_t lanes, std::int64_t terms, const Factor<float>& a, const Factor<float>& b) {
  dispatch(acc, lanes, terms, a, b);
}

}  // namespace xflow::eval
