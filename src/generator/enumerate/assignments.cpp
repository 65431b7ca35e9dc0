#include "src/generator/enumerate/assignments.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "src/ops/expr.h"

// The loops over assignments are written for the compiler's vectoriser, with clones for processors with
// wider vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define XFLOW_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#else
#define XFLOW_VECTORS
#endif
// Inlined, so that it is compiled for the vectors of its caller.
#define XFLOW_INLINE [[gnu::always_inline]] inline

namespace xflow::generator {
namespace {

using ops::Function;
using Kind = FormulaStep::Kind;

// The weights of elements in the two sums of a hash, in a table for the first elements.
struct Weights {
  static constexpr std::size_t kElements = 1024;
  std::array<std::array<std::uint32_t, kElements>, 2> of{};
};
constexpr Weights make_weights() {
  Weights w;
  for (std::size_t k = 0; k < w.of.size(); ++k)
    for (std::size_t e = 0; e < Weights::kElements; ++e) w.of[k][e] = static_cast<std::uint32_t>(mix(mix(k + 1) + e) % kFirstPrime);
  return w;
}
constexpr Weights kWeights = make_weights();

template <std::size_t kWidth>
XFLOW_INLINE void sum_of_products_by(const ElementPlan& plan, const Residue* const* operands, std::size_t assignments, Residue* out) {
  const Residue scale = plan.scale ? plan.scale->residues.first : 1;
  for (std::size_t element = 0; element < plan.rows.size(); ++element) {
    const ElementPlan::Row& row = plan.rows[element];
    const ElementPlan::Terms begin = plan.patterns[row.pattern].begin;
    const ElementPlan::Terms end = plan.patterns[row.pattern].end;
    for (std::size_t assignment = 0; assignment < assignments; assignment += kWidth) {
      const auto at = [&](const ElementPlace& p) { return operands[p.operand] + plan.place(row, p) * assignments + assignment; };
      std::uint64_t sum[kWidth] = {};
      std::uint32_t k = begin.products;
      // Three products plus a folded number are below 2^64.
      for (; k + 3 <= end.products; k += 3) {
        const ElementPlan::Product* const t = &plan.products[k];
        const Residue* const a0 = at(t[0].a);
        const Residue* const b0 = at(t[0].b);
        const Residue* const a1 = at(t[1].a);
        const Residue* const b1 = at(t[1].b);
        const Residue* const a2 = at(t[2].a);
        const Residue* const b2 = at(t[2].b);
        for (std::size_t l = 0; l < kWidth; ++l) {
          sum[l] = fold(sum[l] + static_cast<std::uint64_t>(a0[l]) * b0[l] + static_cast<std::uint64_t>(a1[l]) * b1[l] +
                        static_cast<std::uint64_t>(a2[l]) * b2[l]);
        }
      }
      for (; k < end.products; ++k) {
        const Residue* const a = at(plan.products[k].a);
        const Residue* const b = at(plan.products[k].b);
        for (std::size_t l = 0; l < kWidth; ++l) sum[l] += fold(static_cast<std::uint64_t>(a[l]) * b[l]);
      }
      for (k = begin.plain; k < end.plain; ++k) {
        const Residue* const a = at(plan.plain[k]);
        for (std::size_t l = 0; l < kWidth; ++l) sum[l] += a[l];
      }
      for (k = begin.scaled; k < end.scaled; ++k) {
        const ElementPlan::Scaled& t = plan.scaled[k];
        const Residue c = t.first;
        const Residue* const a = t.factors > 0 ? at(t.a) : nullptr;
        const Residue* const b = t.factors > 1 ? at(t.b) : nullptr;
        for (std::size_t l = 0; l < kWidth; ++l) {
          const Residue ab = a == nullptr ? 1 : b == nullptr ? a[l] : multiply(a[l], b[l]);
          sum[l] += fold(static_cast<std::uint64_t>(c) * ab);
        }
      }
      Residue* const to = out + element * assignments + assignment;
      for (std::size_t l = 0; l < kWidth; ++l) to[l] = reduce(sum[l]);
      if (plan.scale)
        for (std::size_t l = 0; l < kWidth; ++l) to[l] = multiply(to[l], scale);
    }
  }
}
XFLOW_VECTORS void sum_of_products(const ElementPlan& plan, const Residue* const* operands, std::size_t assignments, Residue* out) {
  if (assignments == 1) {
    sum_of_products_by<1>(plan, operands, assignments, out);
  } else {
    sum_of_products_by<kAssignments>(plan, operands, assignments, out);
  }
}

// x if x^((p - 1) / 2) is 1, that is if x is a square; otherwise 0. Works on any number of values modulo the
// first prime.
XFLOW_VECTORS void relu_of_residues(const Residue* values, std::size_t count, Residue* out) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    Residue base[kBlock] = {};
    Residue character[kBlock];
    for (std::size_t k = 0; k < size; ++k) base[k] = values[begin + k];
    for (Residue& c : character) c = 1;
    for (std::uint32_t exponent = kSecondPrime; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0)
        for (std::size_t k = 0; k < kBlock; ++k) character[k] = multiply(character[k], base[k]);
      for (std::size_t k = 0; k < kBlock; ++k) base[k] = multiply(base[k], base[k]);
    }
    for (std::size_t k = 0; k < size; ++k) out[begin + k] = character[k] == 1 ? values[begin + k] : 0;
  }
}

template <std::size_t kWidth>
XFLOW_INLINE void hash_residues_by(const Residue* values, std::size_t elements, std::size_t assignments, std::uint64_t salt,
                                   std::uint64_t* out) {
  for (std::size_t assignment = 0; assignment < assignments; assignment += kWidth) {
    std::uint64_t first[kWidth];
    std::uint64_t second[kWidth];
    for (std::size_t l = 0; l < kWidth; ++l) first[l] = second[l] = salt;
    for (std::size_t e = 0; e < elements; ++e) {
      const std::uint64_t w0 = residue_weight(0, e);
      const std::uint64_t w1 = residue_weight(1, e);
      const Residue* const v = values + e * assignments + assignment;
      for (std::size_t l = 0; l < kWidth; ++l) {
        first[l] += fold(w0 * v[l]);
        second[l] += fold(w1 * v[l]);
      }
    }
    for (std::size_t l = 0; l < kWidth; ++l) out[assignment + l] = residue_hash(reduce(first[l]), reduce(second[l]));
  }
}
XFLOW_VECTORS void hash_residues(const Residue* values, std::size_t elements, std::size_t assignments, std::uint64_t salt,
                                 std::uint64_t* out) {
  if (assignments == 1) {
    hash_residues_by<1>(values, elements, assignments, salt, out);
  } else {
    hash_residues_by<kAssignments>(values, elements, assignments, salt, out);
  }
}

// The greatest absolute value. All numbers must have a value.
XFLOW_VECTORS Integer greatest_magnitude(const Integer* values, std::size_t count) {
  Integer most = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Integer magnitude = values[k] < 0 ? -values[k] : values[k];
    most = magnitude > most ? magnitude : most;
  }
  return most;
}

// Sums of products and of single elements, if no sum can exceed 63 bits.
template <std::size_t kWidth>
XFLOW_INLINE void sum_of_integers_by(const ElementPlan& plan, const Integer* const* operands, std::size_t assignments, Integer* out) {
  for (std::size_t element = 0; element < plan.rows.size(); ++element) {
    const ElementPlan::Row& row = plan.rows[element];
    const ElementPlan::Terms begin = plan.patterns[row.pattern].begin;
    const ElementPlan::Terms end = plan.patterns[row.pattern].end;
    for (std::size_t assignment = 0; assignment < assignments; assignment += kWidth) {
      const auto at = [&](const ElementPlace& p) { return operands[p.operand] + plan.place(row, p) * assignments + assignment; };
      Integer sum[kWidth] = {};
      for (std::uint32_t k = begin.products; k < end.products; ++k) {
        const Integer* const a = at(plan.products[k].a);
        const Integer* const b = at(plan.products[k].b);
        for (std::size_t l = 0; l < kWidth; ++l) sum[l] += a[l] * b[l];
      }
      for (std::uint32_t k = begin.plain; k < end.plain; ++k) {
        const Integer* const a = at(plan.plain[k]);
        for (std::size_t l = 0; l < kWidth; ++l) sum[l] += a[l];
      }
      Integer* const to = out + element * assignments + assignment;
      for (std::size_t l = 0; l < kWidth; ++l) to[l] = sum[l];
    }
  }
}
XFLOW_VECTORS void sum_of_integers(const ElementPlan& plan, const Integer* const* operands, std::size_t assignments, Integer* out) {
  if (assignments == 1) {
    sum_of_integers_by<1>(plan, operands, assignments, out);
  } else {
    sum_of_integers_by<kAssignments>(plan, operands, assignments, out);
  }
}

template <std::size_t kWidth>
XFLOW_INLINE void maximum_of_integers_by(const ElementPlan& plan, const Integer* const* operands, std::size_t assignments, Integer* out) {
  const Integer least = plan.maximum == ElementPlan::Maximum::with_zero ? 0 : std::numeric_limits<Integer>::min();
  for (std::size_t element = 0; element < plan.rows.size(); ++element) {
    const ElementPlan::Row& row = plan.rows[element];
    const ElementPlan::Pattern& pattern = plan.patterns[row.pattern];
    for (std::size_t assignment = 0; assignment < assignments; assignment += kWidth) {
      Integer most[kWidth];
      for (Integer& m : most) m = least;
      for (std::uint32_t k = pattern.begin.plain; k < pattern.end.plain; ++k) {
        const Integer* const a = operands[plan.plain[k].operand] + plan.place(row, plan.plain[k]) * assignments + assignment;
        for (std::size_t l = 0; l < kWidth; ++l) most[l] = a[l] > most[l] ? a[l] : most[l];
      }
      Integer* const to = out + element * assignments + assignment;
      for (std::size_t l = 0; l < kWidth; ++l) to[l] = most[l];
    }
  }
}
XFLOW_VECTORS void maximum_of_integers(const ElementPlan& plan, const Integer* const* operands, std::size_t assignments, Integer* out) {
  if (assignments == 1) {
    maximum_of_integers_by<1>(plan, operands, assignments, out);
  } else {
    maximum_of_integers_by<kAssignments>(plan, operands, assignments, out);
  }
}

// Sums modulo 2^64 with odd weights.
template <std::size_t kWidth>
XFLOW_INLINE void hash_integers_by(const Integer* values, std::size_t elements, std::size_t assignments, std::uint64_t salt,
                                   std::uint64_t* out) {
  for (std::size_t assignment = 0; assignment < assignments; assignment += kWidth) {
    std::uint64_t first[kWidth];
    std::uint64_t second[kWidth];
    for (std::size_t l = 0; l < kWidth; ++l) first[l] = second[l] = salt;
    for (std::size_t e = 0; e < elements; ++e) {
      const std::uint64_t w0 = integer_weight(0, e);
      const std::uint64_t w1 = integer_weight(1, e);
      const Integer* const v = values + e * assignments + assignment;
      for (std::size_t l = 0; l < kWidth; ++l) {
        first[l] += w0 * static_cast<std::uint64_t>(v[l]);
        second[l] += w1 * static_cast<std::uint64_t>(v[l]);
      }
    }
    for (std::size_t l = 0; l < kWidth; ++l) out[assignment + l] = integer_hash(first[l], second[l]);
  }
}
XFLOW_VECTORS void hash_integers(const Integer* values, std::size_t elements, std::size_t assignments, std::uint64_t salt,
                                 std::uint64_t* out) {
  if (assignments == 1) {
    hash_integers_by<1>(values, elements, assignments, salt, out);
  } else {
    hash_integers_by<kAssignments>(values, elements, assignments, salt, out);
  }
}

// The stack machine that runs formulas over any kind of numbers.
template <typename Number, typename Literal, typename One, typename Two>
Number run_formula(std::span<const FormulaStep> steps, const Number* const* operands, std::size_t assignments, std::size_t assignment,
                   const Literal& literal, const One& one, const Two& two) {
  std::array<Number, ElementPlan::kMostDepth> stack;
  std::size_t top = 0;
  for (const FormulaStep& s : steps) {
    if (s.kind == Kind::literal) {
      stack[top++] = literal(s);
    } else if (s.kind == Kind::read) {
      stack[top++] = operands[s.place.operand][s.place.offset * assignments + assignment];
    } else if (ops::arity(s.function) == 1) {
      stack[top - 1] = one(s.function, stack[top - 1]);
    } else {
      --top;
      stack[top - 1] = two(s.function, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

std::span<const FormulaStep> formula(const ElementPlan& plan, std::size_t element) {
  const std::uint32_t begin = element == 0 ? 0 : plan.ends[element - 1];
  return std::span(plan.steps).subspan(begin, plan.ends[element] - begin);
}

// Sums of products over numbers with their own arithmetic.
template <typename Number, typename Zero, typename Add, typename Multiply, typename Scale>
void sum_rows(const ElementPlan& plan, const Number* const* operands, std::size_t assignments, Number* out, const Zero& zero,
              const Add& add, const Multiply& multiply, const Scale& scale) {
  for (std::size_t assignment = 0; assignment < assignments; ++assignment) {
    for (std::size_t element = 0; element < plan.rows.size(); ++element) {
      const ElementPlan::Row& row = plan.rows[element];
      const ElementPlan::Terms begin = plan.patterns[row.pattern].begin;
      const ElementPlan::Terms end = plan.patterns[row.pattern].end;
      const auto at = [&](const ElementPlace& p) { return operands[p.operand][plan.place(row, p) * assignments + assignment]; };
      Number sum = zero;
      for (std::uint32_t k = begin.products; k < end.products; ++k)
        sum = add(sum, multiply(at(plan.products[k].a), at(plan.products[k].b)));
      for (std::uint32_t k = begin.plain; k < end.plain; ++k) {
        // A single element is copied, even if only a part of it is known.
        sum = end.plain - begin.plain == 1 && end.products == begin.products && end.scaled == begin.scaled ? at(plan.plain[k])
                                                                                                           : add(sum, at(plan.plain[k]));
      }
      for (std::uint32_t k = begin.scaled; k < end.scaled; ++k) {
        const ElementPlan::Scaled& t = plan.scaled[k];
        sum = add(sum, scale(t.coefficient, Pair{t.first, t.second},
                             t.factors == 0   ? std::nullopt
                             : t.factors == 1 ? std::optional<Number>(at(t.a))
                                              : std::optional<Number>(multiply(at(t.a), at(t.b)))));
      }
      if (plan.scale) sum = scale(plan.scale->value, plan.scale->residues, std::optional<Number>(sum));
      out[element * assignments + assignment] = sum;
    }
  }
}

// Whether no sum of a plan can exceed 62 bits, whatever the operands are.
bool stays_small(const ElementPlan& plan, std::span<const Integer* const> operands, std::size_t assignments) {
  if (!plan.scaled.empty()) return false;
  double most = 0;
  for (std::size_t k = 0; k < operands.size(); ++k)
    most = std::max(most, static_cast<double>(greatest_magnitude(operands[k], plan.operand_elements[k] * assignments)));
  const double sum = plan.most_products * most * most + plan.most_plain * most;
  return sum < 4e18;
}

XFLOW_VECTORS void add_weighted(const std::uint32_t* first, const std::uint32_t* second, const Residue* values, std::size_t count,
                                std::uint64_t* sums) {
  std::uint64_t s0 = 0;
  std::uint64_t s1 = 0;
  for (std::size_t e = 0; e < count; ++e) {
    s0 += fold(static_cast<std::uint64_t>(first[e]) * values[e]);
    s1 += fold(static_cast<std::uint64_t>(second[e]) * values[e]);
  }
  sums[0] = s0;
  sums[1] = s1;
}

XFLOW_VECTORS void add_weighted(const std::uint64_t* first, const std::uint64_t* second, const Integer* values, std::size_t count,
                                std::uint64_t* sums) {
  std::uint64_t s0 = 0;
  std::uint64_t s1 = 0;
  for (std::size_t e = 0; e < count; ++e) {
    s0 += first[e] * static_cast<std::uint64_t>(values[e]);
    s1 += second[e] * static_cast<std::uint64_t>(values[e]);
  }
  sums[0] = s0;
  sums[1] = s1;
}

XFLOW_VECTORS void add_products(const std::uint32_t* first, const std::uint32_t* second, const Residue* a, const Residue* b,
                                std::size_t count, std::uint64_t* sums) {
  std::uint64_t s0 = 0;
  std::uint64_t s1 = 0;
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint64_t ab = multiply(a[e], b[e]);
    s0 += fold(ab * first[e]);
    s1 += fold(ab * second[e]);
  }
  sums[0] = s0;
  sums[1] = s1;
}

XFLOW_VECTORS void add_products(const std::uint64_t* first, const std::uint64_t* second, const Integer* a, const Integer* b,
                                std::size_t count, std::uint64_t* sums) {
  std::uint64_t s0 = 0;
  std::uint64_t s1 = 0;
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint64_t ab = static_cast<std::uint64_t>(a[e]) * static_cast<std::uint64_t>(b[e]);
    s0 += ab * first[e];
    s1 += ab * second[e];
  }
  sums[0] = s0;
  sums[1] = s1;
}

}  // namespace

std::uint32_t residue_weight(std::size_t sum, std::size_t element) {
  return element < Weights::kElements ? kWeights.of[sum][element] : static_cast<std::uint32_t>(mix(mix(sum + 1) + element) % kFirstPrime);
}

std::array<std::uint64_t, 2> weighted_sums(std::span<const std::vector<std::uint32_t>, 2> weights, const Residue* values) {
  std::array<std::uint64_t, 2> sums{};
  add_weighted(weights[0].data(), weights[1].data(), values, weights[0].size(), sums.data());
  return sums;
}
std::array<std::uint64_t, 2> weighted_sums(std::span<const std::vector<std::uint64_t>, 2> weights, const Integer* values) {
  std::array<std::uint64_t, 2> sums{};
  add_weighted(weights[0].data(), weights[1].data(), values, weights[0].size(), sums.data());
  return sums;
}

std::array<std::uint64_t, 2> weighted_products(std::span<const std::vector<std::uint32_t>, 2> weights, const Residue* a, const Residue* b) {
  std::array<std::uint64_t, 2> sums{};
  add_products(weights[0].data(), weights[1].data(), a, b, weights[0].size(), sums.data());
  return sums;
}
std::array<std::uint64_t, 2> weighted_products(std::span<const std::vector<std::uint64_t>, 2> weights, const Integer* a, const Integer* b) {
  std::array<std::uint64_t, 2> sums{};
  add_products(weights[0].data(), weights[1].data(), a, b, weights[0].size(), sums.data());
  return sums;
}

bool evaluate(const ElementPlan& plan, std::span<const Residue* const> operands, std::size_t assignments, Residue* out) {
  if (plan.is_sum) {
    sum_of_products(plan, operands.data(), assignments, out);
    return true;
  }
  if (plan.is_relu) {
    relu_of_residues(operands[0], plan.elements() * assignments, out);
    return true;
  }
  for (std::size_t e = 0; e < plan.elements(); ++e)
    for (std::size_t assignment = 0; assignment < assignments; ++assignment)
      out[e * assignments + assignment] = run_formula<Residue>(
          formula(plan, e), operands.data(), assignments, assignment, [](const FormulaStep& s) { return s.residues.first; },
          [](Function f, Residue a) {
            return field::apply(f, Pair{a, kUndefined}).first;
          },
          [](Function f, Residue a, Residue b) {
            return field::apply(f, Pair{a, kUndefined}, Pair{b, kUndefined}).first;
          });
  return std::all_of(out, out + plan.elements() * assignments, [](Residue v) { return v != kUndefined; });
}

bool evaluate(const ElementPlan& plan, std::span<const Pair* const> operands, std::size_t assignments, Pair* out) {
  if (plan.is_sum) {
    sum_rows(
        plan, operands.data(), assignments, out, Pair{}, [](Pair a, Pair b) { return field::apply(Function::add, a, b); },
        [](Pair a, Pair b) { return field::apply(Function::multiply, a, b); },
        [](const ir::Rational& /*value*/, Pair c, std::optional<Pair> x) { return x ? field::apply(Function::multiply, c, *x) : c; });
  } else {
    for (std::size_t e = 0; e < plan.elements(); ++e)
      for (std::size_t assignment = 0; assignment < assignments; ++assignment)
        out[e * assignments + assignment] = run_formula<Pair>(
            formula(plan, e), operands.data(), assignments, assignment, [](const FormulaStep& s) { return s.residues; },
            [](Function f, Pair a) { return field::apply(f, a); }, [](Function f, Pair a, Pair b) { return field::apply(f, a, b); });
  }
  return std::all_of(out, out + plan.elements() * assignments, [](Pair v) { return v.first != kUndefined; });
}

bool evaluate(const ElementPlan& plan, std::span<const Integer* const> operands, std::size_t assignments, Integer* out) {
  if (plan.maximum != ElementPlan::Maximum::no) {
    maximum_of_integers(plan, operands.data(), assignments, out);
    return true;
  }
  if (plan.is_sum && stays_small(plan, operands, assignments)) {
    sum_of_integers(plan, operands.data(), assignments, out);
    if (!plan.scale) return true;
    for (std::size_t k = 0; k < plan.elements() * assignments; ++k) out[k] = integer::scale(out[k], plan.scale->value);
  } else if (plan.is_sum) {
    sum_rows(plan, operands.data(), assignments, out, Integer{0}, integer::add, integer::multiply,
             [](const ir::Rational& value, Pair /*residues*/, std::optional<Integer> x) { return integer::scale(x.value_or(1), value); });
  } else {
    for (std::size_t e = 0; e < plan.elements(); ++e)
      for (std::size_t assignment = 0; assignment < assignments; ++assignment)
        out[e * assignments + assignment] = run_formula<Integer>(
            formula(plan, e), operands.data(), assignments, assignment, [](const FormulaStep& s) { return integer::scale(1, s.literal); },
            [](Function f, Integer a) { return integer::apply(f, a); },
            [](Function f, Integer a, Integer b) { return integer::apply(f, a, b); });
  }
  return std::all_of(out, out + plan.elements() * assignments, [](Integer v) { return v != integer::kNone; });
}

void hash_assignments(const Residue* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out) {
  hash_residues(values, elements, assignments, salt % kFirstPrime, out);
}

void hash_assignments(const Pair* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out) {
  for (std::size_t assignment = 0; assignment < assignments; ++assignment) {
    std::uint64_t sums[2] = {salt % kFirstPrime, salt % kFirstPrime};
    for (std::size_t e = 0; e < elements; ++e) {
      const Pair v = values[e * assignments + assignment];
      // An unknown residue modulo the second prime is hashed as a number of its own.
      const std::uint32_t second = v.second == kUndefined ? kSecondPrime : v.second;
      for (std::size_t k = 0; k < 2; ++k) {
        sums[k] += fold(static_cast<std::uint64_t>(residue_weight(k, e)) * (v.first == kUndefined ? kFirstPrime - 1 : v.first));
        sums[k] += fold(static_cast<std::uint64_t>(residue_weight(k, e + 7919)) * second);
      }
    }
    out[assignment] = residue_hash(reduce(sums[0]), reduce(sums[1]));
  }
}

void hash_assignments(const Integer* values, std::size_t elements, std::size_t assignments, std::uint64_t salt, std::uint64_t* out) {
  hash_integers(values, elements, assignments, salt, out);
}

}  // namespace xflow::generator
