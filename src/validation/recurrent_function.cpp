#include "src/validation/recurrent_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

namespace xflow::api {
namespace {

using Kind = RecurrentFunction::Kind;

struct Row {
  std::string_view name;
  Kind kind;
  bool has_alpha;
  bool has_beta;
  std::optional<float> alpha;  // defaults
  std::optional<float> beta;
};

// clang-format off
constexpr std::array<Row, 11> kRows = {{
    {"Relu", Kind::relu, false, false, {}, {}},
    {"Tanh", Kind::tanh, false, false, {}, {}},
    {"Sigmoid", Kind::sigmoid, false, false, {}, {}},
    {"Affine", Kind::affine, true, true, {}, {}},
    {"LeakyRelu", Kind::leaky_relu, true, false, 0.01F, {}},
    {"ThresholdedRelu", Kind::thresholded_relu, true, false, {}, {}},
    {"ScaledTanh", Kind::scaled_tanh, true, true, {}, {}},
    {"HardSigmoid", Kind::hard_sigmoid, true, true, 0.2F, 0.5F},
    {"Elu", Kind::elu, true, false, 1.0F, {}},
    {"Softsign", Kind::softsign, false, false, {}, {}},
    {"Softplus", Kind::softplus, false, false, {}, {}},
}};
// clang-format on

// Hands out the numbers of a list in their order.
class Numbers {
 public:
  static Result<Numbers> of(const onnx_io::Node& node, std::string_view name) {
    Numbers numbers(name);
    if (const onnx_io::Attribute* attribute = node.find(name)) {
      XFLOW_TRY(numbers.list_, attribute->reals());
    }
    return numbers;
  }

  // `taken`: whether the function has such a number.
  Result<double> next(bool taken, const std::optional<float>& otherwise, std::string_view function) {
    if (!taken) return 0.0;
    if (used_ < list_.size()) return static_cast<double>(list_[used_++]);
    if (otherwise) return static_cast<double>(*otherwise);
    return fail(ErrorCode::unsupported, fmt::format("activation '{}' has no number in {}", function, name_));
  }

  Result<void> end() const {
    if (used_ == list_.size()) return {};
    return fail(ErrorCode::unsupported, fmt::format("{} has {} numbers, and the activations take {}", name_, list_.size(), used_));
  }

 private:
  explicit Numbers(std::string_view name) : name_(name) {}

  std::string_view name_;
  std::vector<float> list_;
  std::size_t used_ = 0;
};

}  // namespace

template <typename T>
T RecurrentFunction::value(T x) const {
  const T alpha = static_cast<T>(alpha_);
  const T beta = static_cast<T>(beta_);
  switch (kind_) {
    case Kind::relu:
      return x > 0 ? x : T(0);
    case Kind::tanh:
      return std::tanh(x);
    case Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Kind::affine:
      return alpha * x + beta;
    case Kind::leaky_relu:
      return x >= 0 ? x : alpha * x;
    case Kind::thresholded_relu:
      return x > alpha ? x : T(0);
    case Kind::scaled_tanh:
      return alpha * std::tanh(beta * x);
    case Kind::hard_sigmoid:
      return std::clamp(alpha * x + beta, T(0), T(1));
    case Kind::elu:
      return x >= 0 ? x : alpha * std::expm1(x);
    case Kind::softsign:
      return x / (1 + std::abs(x));
    case Kind::softplus:
      return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

template double RecurrentFunction::value(double x) const;
template float RecurrentFunction::value(float x) const;

Result<std::vector<RecurrentFunction>> recurrent_functions(const onnx_io::Node& node, const std::vector<RecurrentFunction>& otherwise) {
  std::vector<RecurrentFunction> functions = otherwise;
  XFLOW_TRY(Numbers alphas, Numbers::of(node, "activation_alpha"));
  XFLOW_TRY(Numbers betas, Numbers::of(node, "activation_beta"));
  if (const onnx_io::Attribute* attribute = node.find("activations")) {
    XFLOW_TRY(const std::vector<std::string_view> names, attribute->strings());
    if (names.size() != otherwise.size())
      return fail(ErrorCode::unsupported, fmt::format("activations has {} names, not {}", names.size(), otherwise.size()));
    functions.clear();
    for (const std::string_view name : names) {
      const auto* const row = std::ranges::find(kRows, name, &Row::name);
      if (row == kRows.end()) return fail(ErrorCode::unsupported, fmt::format("activation '{}' is none of ONNX", name));
      XFLOW_TRY(const double alpha, alphas.next(row->has_alpha, row->alpha, name));
      XFLOW_TRY(const double beta, betas.next(row->has_beta, row->beta, name));
      functions.emplace_back(row->kind, alpha, beta);
    }
  }
  XFLOW_CHECK(alphas.end());
  XFLOW_CHECK(betas.end());
  return functions;
}

}  // namespace xflow::api
