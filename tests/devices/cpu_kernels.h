// Naive computations in double, and kernels run on random values: what tests of this CPU's kernels compare.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "src/devices/cpu/cpu_device.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::cpu {

using ir::DataType;
using ops::KernelSpec;
using ops::PostOperation;
using ops::TensorSpec;
using Dims = std::vector<std::int64_t>;
using Values = std::vector<double>;

inline std::int64_t count(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

inline TensorSpec tensor(Dims dims, bool constant = false) { return {DataType::float32, std::move(dims), constant}; }

// A value for each element, different for each seed.
inline Values random_values(const Dims& dims, unsigned seed, double low = -1.5, double high = 1.5) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  Values values(static_cast<std::size_t>(count(dims)));
  for (double& v : values) v = static_cast<float>(distribution(generator));
  return values;
}

// Calls body(index) for each index below dims.
inline void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& body) {
  Dims index(dims.size(), 0);
  for (std::int64_t n = count(dims); n > 0; --n) {
    body(index);
    for (std::size_t k = dims.size(); k-- > 0;) {
      if (++index[k] < dims[k]) break;
      index[k] = 0;
    }
  }
}

inline std::size_t row_major(const Dims& dims, const Dims& index) {
  std::int64_t place = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) place = place * dims[k] + index[k];
  return static_cast<std::size_t>(place);
}

// The element of an operand that broadcasts to `index`.
inline double broadcast(const Values& values, const Dims& dims, const Dims& index) {
  Dims own;
  for (std::size_t k = 0; k < dims.size(); ++k) own.push_back(dims[k] == 1 ? 0 : index[index.size() - dims.size() + k]);
  return values[row_major(dims, own)];
}

inline CpuDevice& device() {
  static const std::unique_ptr<CpuDevice> device = open_cpu_device().value();
  return *device;
}

// Runs every implementation of the kernel and compares with `expected`.
inline void expect_computes(const KernelSpec& spec, Layout layout, const std::vector<Values>& operands, const std::vector<Values>& expected,
                            double tolerance = 2e-5) {
  const auto kernels = device().build(spec, layout);
  ASSERT_TRUE(kernels) << kernels.error().text();
  for (const auto& kernel : *kernels) {
    SCOPED_TRACE(ops::to_string(spec) + " in " + std::string(name(layout)) + " by " + std::string(kernel->implementation()));
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto written = kernel->write(k, operands[k]);
      ASSERT_TRUE(written) << written.error().text();
    }
    kernel->run();
    if (const auto lost = kernel->overwritten()) {
      const auto written = kernel->write(*lost, operands[*lost]);
      ASSERT_TRUE(written) << written.error().text();
    }
    kernel->run();  // a kernel leaves its other operands as they are
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const auto result = kernel->read(r);
      ASSERT_TRUE(result) << result.error().text();
      ASSERT_EQ(result->size(), expected[r].size());
      double scale = 1;
      for (const double v : expected[r]) scale = std::max(scale, std::abs(v));
      for (std::size_t i = 0; i < result->size(); ++i) ASSERT_NEAR((*result)[i], expected[r][i], tolerance * scale) << "element " << i;
    }
  }
}

// Naive references. --------------------------------------------------------------------------------------------------------------

struct Convolution {
  Dims x, w, y;
  std::int64_t groups = 1;
  Dims strides = {1, 1}, begins = {0, 0}, ends = {0, 0}, dilations = {1, 1};

  KernelSpec spec(const char* kernel) const {
    KernelSpec spec = ops::kernel_named(kernel);
    spec.operands = {tensor(x), tensor(w, true)};
    spec.results = {tensor(y)};
    spec.integers = {
        {"strides", strides}, {"pads", {begins[0], begins[1], ends[0], ends[1]}}, {"dilations", dilations}, {"groups", {groups}}};
    return spec;
  }
};

inline Values naive_convolution(const Convolution& c, const Values& x, const Values& w) {
  Values y(static_cast<std::size_t>(count(c.y)));
  const std::int64_t in = c.w[1];
  const std::int64_t out = c.y[1] / c.groups;
  for_each_index(c.y, [&](const Dims& o) {
    double sum = 0;
    for_each_index({in, c.w[2], c.w[3]}, [&](const Dims& k) {
      const std::int64_t h = o[2] * c.strides[0] + k[1] * c.dilations[0] - c.begins[0];
      const std::int64_t v = o[3] * c.strides[1] + k[2] * c.dilations[1] - c.begins[1];
      if (h < 0 || v < 0 || h >= c.x[2] || v >= c.x[3]) return;
      sum += x[row_major(c.x, {o[0], o[1] / out * in + k[0], h, v})] * w[row_major(c.w, {o[1], k[0], k[1], k[2]})];
    });
    y[row_major(c.y, o)] = sum;
  });
  return y;
}

inline Values naive_transposed(const Convolution& c, const Values& x, const Values& w) {
  Values y(static_cast<std::size_t>(count(c.y)));
  const std::int64_t in = c.x[1] / c.groups;
  const std::int64_t out = c.w[1];
  for_each_index(c.x, [&](const Dims& i) {
    for_each_index({out, c.w[2], c.w[3]}, [&](const Dims& k) {
      const std::int64_t h = i[2] * c.strides[0] + k[1] * c.dilations[0] - c.begins[0];
      const std::int64_t v = i[3] * c.strides[1] + k[2] * c.dilations[1] - c.begins[1];
      if (h < 0 || v < 0 || h >= c.y[2] || v >= c.y[3]) return;
      y[row_major(c.y, {i[0], i[1] / in * out + k[0], h, v})] += x[row_major(c.x, i)] * w[row_major(c.w, {i[1], k[0], k[1], k[2]})];
    });
  });
  return y;
}

inline Values naive_matmul(const Dims& a_dims, const Dims& b_dims, const Dims& y_dims, const Values& a, const Values& b) {
  Values y(static_cast<std::size_t>(count(y_dims)));
  for_each_index(y_dims, [&](const Dims& o) {
    double sum = 0;
    Dims i = o;
    Dims j = o;
    for (std::int64_t k = 0; k < a_dims.back(); ++k) {
      i.back() = k;
      j[j.size() - 2] = k;
      j.back() = o.back();
      sum += broadcast(a, a_dims, i) * broadcast(b, b_dims, j);
    }
    y[row_major(y_dims, o)] = sum;
  });
  return y;
}

using Scalar = std::function<double(double)>;

struct Function {
  std::string name;
  Values reals;
  Scalar f;
};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

inline const std::vector<Function>& unary_functions() {
  static const std::vector<Function> kFunctions = {
      {"relu", {}, [](double x) { return std::max(x, 0.0); }},
      {"clip", {-0.5, 0.75}, [](double x) { return clip(x, -0.5, 0.75); }},
      {"clip", {0, INFINITY}, [](double x) { return std::max(x, 0.0); }},
      {"sigmoid", {}, sigmoid},
      {"tanh", {}, [](double x) { return std::tanh(x); }},
      {"hard_sigmoid", {1.0 / 6, 0.5}, [](double x) { return clip(x / 6 + 0.5, 0, 1); }},
      {"hard_swish", {}, [](double x) { return x * clip(x / 6 + 0.5, 0, 1); }},
      {"swish", {}, [](double x) { return x * sigmoid(x); }},
      {"gelu_erf", {}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {"gelu_tanh", {}, [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"mish", {}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"softplus", {}, [](double x) { return std::log1p(std::exp(x)); }},
      {"leaky_relu", {0.125}, [](double x) { return x < 0 ? x / 8 : x; }},
      {"elu", {0.5}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"neg", {}, [](double x) { return -x; }},
      {"abs", {}, [](double x) { return std::abs(x); }},
      {"square", {}, [](double x) { return x * x; }},
      {"exp", {}, [](double x) { return std::exp(x); }},
      {"round", {}, [](double x) { return std::nearbyint(x); }},
  };
  return kFunctions;
}

// What oneDNN lacks, and functions of positive numbers.
inline const std::vector<Function>& loop_functions() {
  static const std::vector<Function> kFunctions = {
      {"erf", {}, [](double x) { return std::erf(x); }},   {"sin", {}, [](double x) { return std::sin(x); }},
      {"cos", {}, [](double x) { return std::cos(x); }},   {"floor", {}, [](double x) { return std::floor(x); }},
      {"ceil", {}, [](double x) { return std::ceil(x); }}, {"sign", {}, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }},
      {"identity", {}, [](double x) { return x; }},
  };
  return kFunctions;
}

inline KernelSpec pointwise(const std::string& operation, std::vector<TensorSpec> operands, const Dims& result, const Values& reals = {}) {
  KernelSpec spec = ops::kernel_named("pointwise/" + operation);
  spec.operands = std::move(operands);
  spec.results = {tensor(result)};
  if (operation == "clip") {
    spec.reals = {{"max", reals.at(1)}, {"min", reals.at(0)}};
  } else {
    for (std::size_t k = 0; k < reals.size(); ++k) spec.reals.emplace_back(k == 0 ? "alpha" : "beta", reals[k]);
  }
  return spec;
}

inline Values mapped(const Scalar& f, Values values) {
  for (double& v : values) v = f(v);
  return values;
}

inline constexpr Layout kLayouts[] = {Layout::plain, Layout::channels_last};

// Convolutions of many kinds.
inline std::vector<Convolution> convolutions() {
  return {
      {.x = {1, 3, 12, 14}, .w = {16, 3, 3, 3}, .y = {1, 16, 6, 7}, .strides = {2, 2}, .begins = {1, 1}, .ends = {1, 1}},
      {.x = {2, 24, 8, 8}, .w = {40, 24, 1, 1}, .y = {2, 40, 8, 8}},
      {.x = {1, 24, 9, 9}, .w = {24, 1, 5, 5}, .y = {1, 24, 9, 9}, .groups = 24, .begins = {2, 2}, .ends = {2, 2}},
      {.x = {1, 32, 8, 8}, .w = {64, 8, 3, 3}, .y = {1, 64, 8, 8}, .groups = 4, .begins = {1, 1}, .ends = {1, 1}},
      {.x = {1, 6, 8, 8}, .w = {12, 3, 3, 3}, .y = {1, 12, 8, 8}, .groups = 2, .begins = {1, 1}, .ends = {1, 1}},
      {.x = {1, 16, 12, 12}, .w = {16, 16, 3, 3}, .y = {1, 16, 12, 12}, .begins = {2, 2}, .ends = {2, 2}, .dilations = {2, 2}},
      {.x = {1, 8, 9, 10}, .w = {8, 8, 3, 2}, .y = {1, 8, 5, 5}, .strides = {2, 2}, .begins = {0, 0}, .ends = {2, 0}},
  };
}

}  // namespace xflow::cost::cpu
