#include "src/devices/cpu/block_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "src/ops/fused_functions.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

// These loops are timed, so they are optimised and compiled for the CPU that they run on, whatever flags the
// rest of the build has.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define XFLOW_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define XFLOW_CLONES
#endif
// Iterations are independent, also if the result shares the buffer of an operand.
#if defined(__clang__)
#define XFLOW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define XFLOW_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define XFLOW_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // at low optimisation levels clang does not vectorise these loops
#endif

namespace xflow::cost::cpu {
namespace {

using ir::DataType;

// Elementary functions of
// float. ------------------------------------------------------------------------------------------------

// exp x = 2^n exp r, |r| <= log(2)/2 (the polynomial of Cephes expf).
XFLOW_INLINE float exponential(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds to an integer
  x = x < -87.3F ? -87.3F : x;
  x = x > 88.3F ? 88.3F : x;
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  return p * __builtin_bit_cast(float, (static_cast<std::int32_t>(n) + 127) << 23);
}

// log x = e log 2 + log m, m in [sqrt(1/2), sqrt 2) (the polynomial of Cephes logf); x > 0.
XFLOW_INLINE float logarithm(float x) {
  const auto bits = __builtin_bit_cast(std::int32_t, x);
  std::int32_t exponent = (bits >> 23) - 126;
  float m = __builtin_bit_cast(float, (bits & 0x007fffff) | 0x3f000000);
  const bool low = m < 0.707106781F;
  exponent -= low ? 1 : 0;
  m = (low ? m + m : m) - 1.0F;
  const float z = m * m;
  float p = 7.0376836292e-2F;
  p = p * m - 1.1514610310e-1F;
  p = p * m + 1.1676998740e-1F;
  p = p * m - 1.2420140846e-1F;
  p = p * m + 1.4249322787e-1F;
  p = p * m - 1.6668057665e-1F;
  p = p * m + 2.0000714765e-1F;
  p = p * m - 2.4999993993e-1F;
  p = p * m + 3.3333331174e-1F;
  const auto e = static_cast<float>(exponent);
  const float result = m + (p * m * z + e * -2.12194440e-4F - 0.5F * z) + e * 0.693359375F;
  return x > 0 ? result : (x == 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN());
}

XFLOW_INLINE float hyperbolic_tangent(float x) { return 1.0F - 2.0F / (exponential(2.0F * x) + 1.0F); }

// Abramowitz and Stegun 7.1.26; absolute error 1.5e-7.
XFLOW_INLINE float error_function(float x) {
  const float a = x < 0 ? -x : x;
  const float t = 1.0F / (1.0F + 0.3275911F * a);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float y = 1.0F - p * t * exponential(-a * a);
  return x < 0 ? -y : y;
}

// sin x = (-1)^k sin r, r = x - k pi in [-pi/2, pi/2].
XFLOW_INLINE float sine(float x) {
  constexpr float kRound = 12582912.0F;
  const float k = (x * 0.318309886F + kRound) - kRound;
  const float r = ((x - k * 3.140625F) - k * 9.67502593994140625e-4F) - k * 1.509957990978376432e-7F;
  const float z = r * r;
  float p = 2.6057805e-6F;
  p = p * z - 1.9809573e-4F;
  p = p * z + 8.3330255e-3F;
  p = p * z - 1.6666657e-1F;
  const float y = p * z * r + r;
  return (static_cast<std::int32_t>(k) & 1) != 0 ? -y : y;
}

// Calls to <cmath> are not inlined into functions with other optimisation attributes; compiler builtins are.
template <typename T>
XFLOW_INLINE T floor_of(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_floorf(x);
  return static_cast<T>(__builtin_floor(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T ceil_of(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_ceilf(x);
  return static_cast<T>(__builtin_ceil(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T round_of(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_nearbyintf(x);
  return static_cast<T>(__builtin_nearbyint(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T sqrt_of(T x) {
  if constexpr (std::is_same_v<T, float>) return __builtin_sqrtf(x);
  return static_cast<T>(__builtin_sqrt(static_cast<double>(x)));
}

// Other types: precise and slow. Models compute in float32.
template <typename T>
XFLOW_INLINE T exp_of(T x) {
  if constexpr (std::is_same_v<T, float>) return exponential(x);
  return static_cast<T>(std::exp(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T log_of(T x) {
  if constexpr (std::is_same_v<T, float>) return logarithm(x);
  return static_cast<T>(std::log(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T tanh_of(T x) {
  if constexpr (std::is_same_v<T, float>) return hyperbolic_tangent(x);
  return static_cast<T>(std::tanh(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T erf_of(T x) {
  if constexpr (std::is_same_v<T, float>) return error_function(x);
  return static_cast<T>(std::erf(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(T(0) - x));
}
template <typename T>
XFLOW_INLINE T sin_of(T x) {
  if constexpr (std::is_same_v<T, float>) return sine(x);
  return static_cast<T>(std::sin(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T cos_of(T x) {
  if constexpr (std::is_same_v<T, float>) return sine(x + 1.57079632679F);
  return static_cast<T>(std::cos(static_cast<double>(x)));
}
template <typename T>
XFLOW_INLINE T clip_to(T x, T low, T high) {
  return x < low ? low : (x > high ? high : x);
}
// log(1 + e^x) without overflow.
template <typename T>
XFLOW_INLINE T softplus_of(T x) {
  const T a = x < 0 ? T(0) - x : x;
  return (x > 0 ? x : T(0)) + log_of(T(1) + exp_of(T(0) - a));
}

// Operators. ------------------------------------------------------------------------------------------------------------------------

// Functions of one operand, from the column VALUE of the table.
template <ops::FunctionId id>
struct Value;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)                     \
  template <>                                                                      \
  struct Value<ops::FunctionId::NAME> {                                            \
    template <typename T>                                                          \
    XFLOW_INLINE static T apply(T x, [[maybe_unused]] T p, [[maybe_unused]] T q) { \
      return static_cast<T>(VALUE);                                                \
    }                                                                              \
  };
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#include "src/ops/fused_functions.def"

// For integers the result has the sign of b, as Mod in graphs; for floating-point numbers the sign of a.
template <typename T>
XFLOW_INLINE T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T(0)) return T(0);
    const T remainder = static_cast<T>(a % b);
    return static_cast<T>(remainder != T(0) && (remainder < T(0)) != (b < T(0)) ? remainder + b : remainder);
  }
}

#define XFLOW_BINARY(NAME, RESULT, EXPRESSION)   \
  struct NAME {                                  \
    template <typename T>                        \
    using Out = RESULT;                          \
    template <typename T>                        \
    XFLOW_INLINE static RESULT apply(T a, T b) { \
      return static_cast<RESULT>(EXPRESSION);    \
    }                                            \
  };
XFLOW_BINARY(Add, T, a + b)
XFLOW_BINARY(Sub, T, a - b)
XFLOW_BINARY(Mul, T, a* b)
XFLOW_BINARY(Div, T, std::is_integral_v<T>&& b == T(0) ? T(0) : a / b)
XFLOW_BINARY(Max, T, a > b ? a : b)
XFLOW_BINARY(Min, T, a < b ? a : b)
XFLOW_BINARY(Prelu, T, a < T(0) ? a * b : a)
XFLOW_BINARY(Pow, T, std::pow(a, b))
XFLOW_BINARY(Mod, T, remainder_of(a, b))
XFLOW_BINARY(Equal, std::uint8_t, a == b)
XFLOW_BINARY(Less, std::uint8_t, a < b)
XFLOW_BINARY(LessEqual, std::uint8_t, a <= b)
XFLOW_BINARY(Greater, std::uint8_t, a > b)
XFLOW_BINARY(GreaterEqual, std::uint8_t, a >= b)
XFLOW_BINARY(And, std::uint8_t, (a != T(0)) & (b != T(0)))
XFLOW_BINARY(Or, std::uint8_t, (a != T(0)) | (b != T(0)))
XFLOW_BINARY(Xor, std::uint8_t, (a != T(0)) != (b != T(0)))

template <typename Operator, typename T>
XFLOW_CLONES void unary(const void* const* operands, void* out, std::size_t n, const double* reals) {
  const T* x = static_cast<const T*>(operands[0]);
  T* y = static_cast<T*>(out);
  const T p = static_cast<T>(reals[0]);
  const T q = static_cast<T>(reals[1]);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = Operator::template apply<T>(x[i], p, q);
}

template <typename Operator, typename T>
XFLOW_CLONES void binary(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  using Out = typename Operator::template Out<T>;
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = static_cast<const T*>(operands[1]);
  Out* y = static_cast<Out*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = Operator::template apply<T>(a[i], b[i]);
}

template <typename T>
XFLOW_CLONES void select(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  const auto* condition = static_cast<const std::uint8_t*>(operands[0]);
  const T* a = static_cast<const T*>(operands[1]);
  const T* b = static_cast<const T*>(operands[2]);
  T* y = static_cast<T*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

template <typename From, typename To>
XFLOW_CLONES void cast(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  const From* x = static_cast<const From*>(operands[0]);
  To* y = static_cast<To*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);  // NOLINT(bugprone-signed-char-misuse): int8 is a number
}

template <typename T>
XFLOW_CLONES void cast_to_boolean(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  const T* x = static_cast<const T*>(operands[0]);
  auto* y = static_cast<std::uint8_t*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] != T(0) ? 1 : 0;
}

template <typename T>
XFLOW_CLONES void is_nan(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  const T* x = static_cast<const T*>(operands[0]);
  auto* y = static_cast<std::uint8_t*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] != x[i] ? 1 : 0;
}

XFLOW_CLONES void logical_not(const void* const* operands, void* out, std::size_t n, const double* /*reals*/) {
  const auto* x = static_cast<const std::uint8_t*>(operands[0]);
  auto* y = static_cast<std::uint8_t*>(out);
  XFLOW_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] == 0 ? 1 : 0;
}

// Tables. -----------------------------------------------------------------------------------------------------------------------------

using Table = std::unordered_map<std::string_view, BlockOperator>;

// The functions of the table that exist for a type: functions with TYPES numeric exist for all types.
template <typename T>
struct Types {
  static constexpr bool numeric = true;
  static constexpr bool floating = std::is_floating_point_v<T>;
};

template <typename T, ops::FunctionId id, bool has>
void add_unary(Table& table, DataType type) {
  if constexpr (has) {
    const ops::FusedFunction& function = ops::fused_functions()[static_cast<std::size_t>(id)];
    table.emplace(function.name, BlockOperator{&unary<Value<id>, T>, 1, static_cast<int>(ops::real_count(function)), type});
  }
}

template <typename T>
void add_unary_functions(Table& table, DataType type) {
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) add_unary<T, ops::FunctionId::NAME, Types<T>::TYPES>(table, type);
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#include "src/ops/fused_functions.def"
}

template <typename T>
Table make_table(DataType type) {
  const auto two = [&](BlockFunction f, DataType result) { return BlockOperator{f, 2, 0, result}; };
  constexpr DataType kBool = DataType::boolean;
  Table table = {
      {"add", two(&binary<Add, T>, type)},
      {"sub", two(&binary<Sub, T>, type)},
      {"mul", two(&binary<Mul, T>, type)},
      {"div", two(&binary<Div, T>, type)},
      {"maximum", two(&binary<Max, T>, type)},
      {"minimum", two(&binary<Min, T>, type)},
      {"prelu", two(&binary<Prelu, T>, type)},
      {"pow", two(&binary<Pow, T>, type)},
      {"mod", two(&binary<Mod, T>, type)},
      {"equal", two(&binary<Equal, T>, kBool)},
      {"less", two(&binary<Less, T>, kBool)},
      {"less_equal", two(&binary<LessEqual, T>, kBool)},
      {"greater", two(&binary<Greater, T>, kBool)},
      {"greater_equal", two(&binary<GreaterEqual, T>, kBool)},
      {"select", BlockOperator{&select<T>, 3, 0, type}},
  };
  add_unary_functions<T>(table, type);
  if constexpr (std::is_floating_point_v<T>) table.emplace("is_nan", BlockOperator{&is_nan<T>, 1, 0, kBool});
  return table;
}

Table make_boolean_table() {
  using B = std::uint8_t;
  constexpr DataType kBool = DataType::boolean;
  return {
      {"identity", {&unary<Value<ops::FunctionId::identity>, B>, 1, 0, kBool}},
      {"not", {&logical_not, 1, 0, kBool}},
      {"and", {&binary<And, B>, 2, 0, kBool}},
      {"or", {&binary<Or, B>, 2, 0, kBool}},
      {"xor", {&binary<Xor, B>, 2, 0, kBool}},
      {"equal", {&binary<Equal, B>, 2, 0, kBool}},
      {"select", {&select<B>, 3, 0, kBool}},
  };
}

template <typename From>
BlockFunction cast_from(DataType to) {
  switch (to) {
    case DataType::float32:
      return &cast<From, float>;
    case DataType::float64:
      return &cast<From, double>;
    case DataType::int32:
      return &cast<From, std::int32_t>;
    case DataType::int64:
      return &cast<From, std::int64_t>;
    case DataType::int8:
      return &cast<From, std::int8_t>;
    case DataType::uint8:
      return &cast<From, std::uint8_t>;
    case DataType::boolean:
      return &cast_to_boolean<From>;
    default:
      return nullptr;
  }
}

BlockFunction cast_function(DataType from, DataType to) {
  switch (from) {
    case DataType::float32:
      return cast_from<float>(to);
    case DataType::float64:
      return cast_from<double>(to);
    case DataType::int32:
      return cast_from<std::int32_t>(to);
    case DataType::int64:
      return cast_from<std::int64_t>(to);
    case DataType::int8:
      return cast_from<std::int8_t>(to);
    case DataType::uint8:
    case DataType::boolean:
      return cast_from<std::uint8_t>(to);
    default:
      return nullptr;
  }
}

const Table* table_of(DataType type) {
  static const Table kFloat = make_table<float>(DataType::float32);
  static const Table kDouble = make_table<double>(DataType::float64);
  static const Table kInt32 = make_table<std::int32_t>(DataType::int32);
  static const Table kInt64 = make_table<std::int64_t>(DataType::int64);
  static const Table kInt8 = make_table<std::int8_t>(DataType::int8);
  static const Table kUint8 = make_table<std::uint8_t>(DataType::uint8);
  static const Table kBoolean = make_boolean_table();
  switch (type) {
    case DataType::float32:
      return &kFloat;
    case DataType::float64:
      return &kDouble;
    case DataType::int32:
      return &kInt32;
    case DataType::int64:
      return &kInt64;
    case DataType::int8:
      return &kInt8;
    case DataType::uint8:
      return &kUint8;
    case DataType::boolean:
      return &kBoolean;
    default:
      return nullptr;
  }
}

}  // namespace

std::optional<BlockOperator> find_block_operator(const ops::StepFunction& step, DataType type, DataType result) {
  if (step.is(ops::Op::Cast)) {
    const BlockFunction function = cast_function(type, result);
    if (function == nullptr) return std::nullopt;
    return BlockOperator{function, 1, 0, result};
  }
  const Table* table = table_of(type);
  if (table == nullptr) return std::nullopt;
  const auto found = table->find(ops::function_name(step));
  if (found == table->end()) return std::nullopt;
  return found->second;
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
