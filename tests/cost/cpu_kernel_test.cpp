// Every kernel that is timed computes what its spec says: oneDNN's and ours against naive loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "src/cost/cpu/cpu_device.h"

namespace xflow::cost::cpu {
namespace {

using ir::DataType;
using ops::KernelSpec;
using ops::PostOperation;
using ops::TensorSpec;
using Dims = std::vector<std::int64_t>;
using Values = std::vector<double>;

std::int64_t count(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

TensorSpec tensor(Dims dims, bool constant = false) { return {DataType::float32, std::move(dims), constant}; }

// A value for each element, different for each seed.
Values random_values(const Dims& dims, unsigned seed, double low = -1.5, double high = 1.5) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  Values values(static_cast<std::size_t>(count(dims)));
  for (double& v : values) v = static_cast<float>(distribution(generator));
  return values;
}

// Calls body(index) for each index below dims.
void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& body) {
  Dims index(dims.size(), 0);
  for (std::int64_t n = count(dims); n > 0; --n) {
    body(index);
    for (std::size_t k = dims.size(); k-- > 0;) {
      if (++index[k] < dims[k]) break;
      index[k] = 0;
    }
  }
}

std::size_t row_major(const Dims& dims, const Dims& index) {
  std::int64_t place = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) place = place * dims[k] + index[k];
  return static_cast<std::size_t>(place);
}

// The element of an operand that broadcasts to `index`.
double broadcast(const Values& values, const Dims& dims, const Dims& index) {
  Dims own;
  for (std::size_t k = 0; k < dims.size(); ++k) own.push_back(dims[k] == 1 ? 0 : index[index.size() - dims.size() + k]);
  return values[row_major(dims, own)];
}

CpuDevice& device() {
  static const std::unique_ptr<CpuDevice> device = open_cpu_device().value();
  return *device;
}

// Runs every implementation of the kernel and compares with `expected`.
void expect_computes(const KernelSpec& spec, Layout layout, const std::vector<Values>& operands, const std::vector<Values>& expected,
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
    kernel->run();  // a kernel leaves its operands as they are
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
    KernelSpec spec;
    spec.kernel = kernel;
    spec.operands = {tensor(x), tensor(w, true)};
    spec.results = {tensor(y)};
    spec.integers = {
        {"strides", strides}, {"pads", {begins[0], begins[1], ends[0], ends[1]}}, {"dilations", dilations}, {"groups", {groups}}};
    return spec;
  }
};

Values naive_convolution(const Convolution& c, const Values& x, const Values& w) {
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

Values naive_transposed(const Convolution& c, const Values& x, const Values& w) {
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

Values naive_matmul(const Dims& a_dims, const Dims& b_dims, const Dims& y_dims, const Values& a, const Values& b) {
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

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

const std::vector<Function>& unary_functions() {
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
const std::vector<Function>& loop_functions() {
  static const std::vector<Function> kFunctions = {
      {"erf", {}, [](double x) { return std::erf(x); }},   {"sin", {}, [](double x) { return std::sin(x); }},
      {"cos", {}, [](double x) { return std::cos(x); }},   {"floor", {}, [](double x) { return std::floor(x); }},
      {"ceil", {}, [](double x) { return std::ceil(x); }}, {"sign", {}, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }},
      {"identity", {}, [](double x) { return x; }},
  };
  return kFunctions;
}

KernelSpec pointwise(const std::string& operation, std::vector<TensorSpec> operands, const Dims& result, const Values& reals = {}) {
  KernelSpec spec;
  spec.kernel = "pointwise/" + operation;
  spec.operands = std::move(operands);
  spec.results = {tensor(result)};
  if (operation == "clip") {
    spec.reals = {{"max", reals.at(1)}, {"min", reals.at(0)}};
  } else {
    for (std::size_t k = 0; k < reals.size(); ++k) spec.reals.emplace_back(k == 0 ? "alpha" : "beta", reals[k]);
  }
  return spec;
}

Values mapped(const Scalar& f, Values values) {
  for (double& v : values) v = f(v);
  return values;
}

constexpr Layout kLayouts[] = {Layout::plain, Layout::channels_last};

// Convolutions. -------------------------------------------------------------------------------------------------------------------

std::vector<Convolution> convolutions() {
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

TEST(CpuConvolution, ComputesItsSpec) {
  for (const Convolution& c : convolutions()) {
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    expect_computes(c.spec("convolution"), Layout::any, {x, w}, {naive_convolution(c, x, w)});
  }
}

TEST(CpuConvolution, FusesBiasResidualAndActivation) {
  for (const Convolution& c : convolutions()) {
    const Dims channel = {1, c.y[1], 1, 1};
    KernelSpec spec = c.spec("convolution");
    spec.post = {{"add", {}, {tensor(channel, true)}}, {"mul", {}, {tensor(channel, true)}}, {"add", {}, {tensor(c.y)}}, {"relu", {}, {}}};
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    const Values bias = random_values(channel, 3);
    const Values scale = random_values(channel, 4);
    const Values residual = random_values(c.y, 5);
    Values y = naive_convolution(c, x, w);
    for_each_index(c.y, [&](const Dims& i) {
      double& v = y[row_major(c.y, i)];
      v = std::max((v + broadcast(bias, channel, i)) * broadcast(scale, channel, i) + broadcast(residual, c.y, i), 0.0);
    });
    expect_computes(spec, Layout::any, {x, w, bias, scale, residual}, {y});
  }
}

TEST(CpuConvolution, FusesEveryActivation) {
  const Convolution c = convolutions()[1];
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2, -0.3, 0.3);
  const Values plain = naive_convolution(c, x, w);
  for (const Function& f : unary_functions()) {
    if (f.name == "round") continue;  // a sum in another order rounds to another integer
    KernelSpec spec = c.spec("convolution");
    const PostOperation post{f.name, f.reals, {}};
    ASSERT_TRUE(device().can_fuse(spec, post)) << f.name;
    spec.post = {post};
    expect_computes(spec, Layout::any, {x, w}, {mapped(f.f, plain)}, 1e-4);
  }
}

TEST(CpuConvolution, SubtractsAndDividesInBothOrders) {
  const Convolution c = convolutions()[1];
  const Dims channel = {1, c.y[1], 1, 1};
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2);
  const Values other = random_values(channel, 3, 1, 2);
  const Values plain = naive_convolution(c, x, w);
  const std::vector<std::pair<std::string, std::function<double(double, double)>>> cases = {
      {"sub", [](double v, double o) { return v - o; }},
      {"sub@1", [](double v, double o) { return o - v; }},
      {"div", [](double v, double o) { return v / o; }},
      {"maximum", [](double v, double o) { return std::max(v, o); }},
      {"minimum", [](double v, double o) { return std::min(v, o); }},
  };
  for (const auto& example : cases) {
    const std::string& operation = example.first;
    const auto& f = example.second;
    KernelSpec spec = c.spec("convolution");
    spec.post = {{"add", {}, {tensor({1, 1, 1, 1}, true)}}, {operation, {}, {tensor(channel, true)}}};
    Values y = plain;
    for_each_index(c.y, [&](const Dims& i) { y[row_major(c.y, i)] = f(y[row_major(c.y, i)] + 0.25, broadcast(other, channel, i)); });
    expect_computes(spec, Layout::any, {x, w, {0.25}, other}, {y});
  }
}

TEST(CpuTransposedConvolution, ComputesItsSpec) {
  const std::vector<Convolution> cases = {
      {.x = {1, 16, 5, 6}, .w = {16, 24, 2, 2}, .y = {1, 24, 10, 12}, .strides = {2, 2}},
      {.x = {1, 8, 5, 5}, .w = {8, 4, 3, 3}, .y = {1, 8, 10, 10}, .groups = 2, .strides = {2, 2}, .begins = {1, 1}, .ends = {0, 0}},
      {.x = {1, 16, 4, 4}, .w = {16, 1, 4, 4}, .y = {1, 16, 8, 8}, .groups = 16, .strides = {2, 2}, .begins = {1, 1}, .ends = {1, 1}},
  };
  for (const Convolution& c : cases) {
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    expect_computes(c.spec("transposed_convolution"), Layout::any, {x, w}, {naive_transposed(c, x, w)});
  }
}

// Products. ------------------------------------------------------------------------------------------------------------------------

TEST(CpuMatmul, ComputesItsSpec) {
  struct Case {
    Dims a, b, y;
    bool constant;
  };
  for (const Case& c : {Case{{5, 7}, {7, 9}, {5, 9}, true}, Case{{2, 3, 5, 7}, {7, 9}, {2, 3, 5, 9}, true},
                        Case{{2, 3, 5, 7}, {2, 3, 7, 4}, {2, 3, 5, 4}, false}, Case{{3, 5, 7}, {1, 7, 4}, {3, 5, 4}, false},
                        Case{{5, 7}, {3, 7, 4}, {3, 5, 4}, true}, Case{{1, 64}, {64, 32}, {1, 32}, true}}) {
    KernelSpec spec;
    spec.kernel = "matmul";
    spec.operands = {tensor(c.a), tensor(c.b, c.constant)};
    spec.results = {tensor(c.y)};
    const Values a = random_values(c.a, 1);
    const Values b = random_values(c.b, 2);
    const Values y = naive_matmul(c.a, c.b, c.y, a, b);
    expect_computes(spec, Layout::plain, {a, b}, {y});

    const Dims bias_dims = {c.y.back()};
    spec.post = {{"add", {}, {tensor(bias_dims, true)}}, {"add", {}, {tensor(c.y)}}, {"gelu_erf", {}, {}}};
    const Values bias = random_values(bias_dims, 3);
    const Values residual = random_values(c.y, 4);
    Values fused = y;
    for_each_index(c.y, [&](const Dims& i) {
      double& v = fused[row_major(c.y, i)];
      v += broadcast(bias, bias_dims, i) + broadcast(residual, c.y, i);
      v = v / 2 * (1 + std::erf(v / std::sqrt(2)));
    });
    expect_computes(spec, Layout::plain, {a, b, bias, residual}, {fused});
  }
}

TEST(CpuMatmul, KeepsTheRankForPostOperationsThatBroadcastWithinIt) {
  KernelSpec spec;
  spec.kernel = "matmul";
  spec.operands = {tensor({2, 5, 7}), tensor({7, 4}, true)};
  spec.results = {tensor({2, 5, 4})};
  spec.post = {{"add", {}, {tensor({5, 4})}}};  // the same for both batches
  const Values a = random_values({2, 5, 7}, 1);
  const Values b = random_values({7, 4}, 2);
  const Values c = random_values({5, 4}, 3);
  Values y = naive_matmul({2, 5, 7}, {7, 4}, {2, 5, 4}, a, b);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] += c[k % c.size()];
  expect_computes(spec, Layout::plain, {a, b, c}, {y});
}

// Pointwise chains. ------------------------------------------------------------------------------------------------------------------

TEST(CpuPointwise, ComputesEveryFunction) {
  const Dims dims = {2, 19, 5, 7};
  const Values x = random_values(dims, 1, -4, 4);
  for (const auto* functions : {&unary_functions(), &loop_functions()}) {
    for (const Function& f : *functions) {
      for (const Layout layout : kLayouts) {
        expect_computes(pointwise(f.name, {tensor(dims)}, dims, f.reals), layout, {x}, {mapped(f.f, x)}, 1e-5);
      }
    }
  }
  const Values positive = random_values(dims, 2, 0.1, 9);
  expect_computes(pointwise("sqrt", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return std::sqrt(v); }, positive)});
  expect_computes(pointwise("log", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return std::log(v); }, positive)});
  expect_computes(pointwise("reciprocal", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return 1 / v; }, positive)});
}

TEST(CpuPointwise, BroadcastsOperandsInEveryLayout) {
  const Dims y = {2, 32, 5, 7};
  for (const Dims& other :
       {Dims{2, 32, 5, 7}, Dims{1, 32, 1, 1}, Dims{32, 1, 1}, Dims{}, Dims{1}, Dims{2, 1, 5, 7}, Dims{7}, Dims{5, 1}, Dims{2, 32, 1, 1}}) {
    for (const bool first : {false, true}) {
      const Values a = random_values(y, 1);
      const Values b = random_values(other, 2, 1, 2);
      Values expected(a.size());
      for_each_index(y, [&](const Dims& i) {
        const double u = broadcast(a, y, i);
        const double v = broadcast(b, other, i);
        expected[row_major(y, i)] = first ? v / u : u / v;
      });
      for (const Layout layout : kLayouts) {
        if (first) expect_computes(pointwise("div", {tensor(other), tensor(y)}, y), layout, {b, a}, {expected});
        if (!first) expect_computes(pointwise("div", {tensor(y), tensor(other)}, y), layout, {a, b}, {expected});
      }
    }
  }
}

TEST(CpuPointwise, RunsChainsInBlocks) {
  // x * clip(x + 3, 0, 6) / 6 and then c - that, over more elements than a block.
  const Dims dims = {3, 48, 11, 9};
  const Dims channel = {1, 48, 1, 1};
  KernelSpec spec = pointwise("add", {tensor(dims), tensor({}, true)}, dims);
  spec.post = {{"clip", {0, 6}, {}}, {"mul", {}, {tensor(dims)}}, {"div", {}, {tensor({1}, true)}}, {"sub@1", {}, {tensor(channel, true)}}};
  const Values x = random_values(dims, 1, -5, 5);
  const Values c = random_values(channel, 2);
  Values y = mapped([](double v) { return v * clip(v + 3, 0, 6) / 6; }, x);
  for_each_index(dims, [&](const Dims& i) { y[row_major(dims, i)] = broadcast(c, channel, i) - y[row_major(dims, i)]; });
  for (const Layout layout : kLayouts) expect_computes(spec, layout, {x, {3}, x, {6}, c}, {y});
}

TEST(CpuPointwise, ComparesSelectsAndCasts) {
  const Dims dims = {4, 300};
  const Values a = random_values(dims, 1);
  const Values b = random_values(dims, 2);
  KernelSpec less = pointwise("less", {tensor(dims), tensor(dims)}, dims);
  less.results[0].data_type = DataType::boolean;
  Values smaller(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) smaller[k] = a[k] < b[k] ? 1 : 0;
  expect_computes(less, Layout::plain, {a, b}, {smaller});

  KernelSpec select = pointwise("select", {tensor(dims), tensor(dims), tensor(dims)}, dims);
  select.operands[0].data_type = DataType::boolean;
  Values least(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) least[k] = std::min(a[k], b[k]);
  expect_computes(select, Layout::plain, {smaller, a, b}, {least});

  KernelSpec cast = pointwise("cast", {tensor(dims)}, dims);
  cast.results[0].data_type = DataType::int64;
  expect_computes(cast, Layout::plain, {a}, {mapped([](double v) { return std::trunc(v); }, a)});
}

TEST(CpuPointwise, RefusesWhatItLacks) {
  KernelSpec spec = pointwise("add", {tensor({4}), tensor({4})}, {4});
  for (TensorSpec* t : {&spec.operands[0], &spec.operands[1], &spec.results[0]}) t->data_type = DataType::float16;
  const auto cost = device().measure(spec, Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, ErrorCode::unsupported);
  EXPECT_EQ(cost.error().message,
            "cannot run pointwise/add(float16[4], float16[4]) -> float16[4] here: there is no loop for add of float16");
}

// Pooling, reductions, softmax, normalisation. -----------------------------------------------------------------------------------------

TEST(CpuPool, ComputesItsSpec) {
  const Dims x_dims = {1, 20, 9, 8};
  const Dims y_dims = {1, 20, 5, 4};
  const Values x = random_values(x_dims, 1);
  for (const std::string kernel : {"pool_max", "pool_average"}) {
    for (const std::int64_t include : {0, 1}) {
      KernelSpec spec;
      spec.kernel = kernel;
      spec.operands = {tensor(x_dims)};
      spec.results = {tensor(y_dims)};
      spec.integers = {
          {"kernel", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"dilations", {1, 1}}, {"count_include_pad", {include}}};
      Values y(static_cast<std::size_t>(count(y_dims)));
      for_each_index(y_dims, [&](const Dims& o) {
        double sum = 0;
        double greatest = -INFINITY;
        double n = 0;
        for_each_index({3, 3}, [&](const Dims& k) {
          const std::int64_t h = o[2] * 2 + k[0] - 1;
          const std::int64_t w = o[3] * 2 + k[1] - 1;
          if (h < 0 || w < 0 || h >= 9 || w >= 8) return;
          const double v = x[row_major(x_dims, {o[0], o[1], h, w})];
          sum += v;
          greatest = std::max(greatest, v);
          n += 1;
        });
        y[row_major(y_dims, o)] = kernel == "pool_max" ? greatest : sum / (include != 0 ? 9 : n);
      });
      for (const Layout layout : {Layout::plain, Layout::channels_last, Layout::blocked16}) expect_computes(spec, layout, {x}, {y});
    }
  }
}

TEST(CpuReduce, ComputesItsSpec) {
  const Dims dims = {2, 33, 6, 7};
  const Values x = random_values(dims, 1, 0.5, 1.5);
  for (const std::string word : {"sum", "mean", "max", "min", "l2"}) {
    for (const Dims& axes : {Dims{2, 3}, Dims{1}, Dims{3}, Dims{0, 1, 2, 3}, Dims{0, 2}}) {
      Dims kept = dims;
      Dims dropped;
      double n = 1;
      for (std::size_t k = 0; k < dims.size(); ++k) {
        if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) != axes.end()) {
          n *= static_cast<double>(dims[k]);
          kept[k] = 1;
        } else {
          dropped.push_back(dims[k]);
        }
      }
      Values y(static_cast<std::size_t>(count(kept)), word == "max" ? -INFINITY : word == "min" ? INFINITY : 0);
      for_each_index(dims, [&](const Dims& i) {
        Dims o = i;
        for (const std::int64_t axis : axes) o[static_cast<std::size_t>(axis)] = 0;
        double& v = y[row_major(kept, o)];
        const double e = x[row_major(dims, i)];
        v = word == "max" ? std::max(v, e) : word == "min" ? std::min(v, e) : word == "l2" ? v + e * e : v + e;
      });
      for (double& v : y) v = word == "mean" ? v / n : word == "l2" ? std::sqrt(v) : v;
      KernelSpec spec;
      spec.kernel = "reduce";
      spec.word = word;
      spec.operands = {tensor(dims)};
      spec.results = {tensor(kept)};
      spec.integers = {{"axes", axes}, {"keep_dims", {1}}};
      for (const Layout layout : kLayouts) expect_computes(spec, layout, {x}, {y});
      spec.results = {tensor(dropped)};
      spec.integers[1].second = {0};
      expect_computes(spec, Layout::plain, {x}, {y});
    }
  }
}

TEST(CpuSoftmax, ComputesItsSpec) {
  const Dims dims = {3, 5, 17};
  const Values x = random_values(dims, 1);
  for (const std::int64_t axis : {1, 2}) {
    KernelSpec spec;
    spec.kernel = "softmax";
    spec.operands = {tensor(dims)};
    spec.results = {tensor(dims)};
    spec.integers = {{"axis", {axis}}};
    Values y(x.size());
    for_each_index(dims, [&](const Dims& i) {
      double sum = 0;
      Dims j = i;
      for (j[static_cast<std::size_t>(axis)] = 0; j[static_cast<std::size_t>(axis)] < dims[static_cast<std::size_t>(axis)];
           ++j[static_cast<std::size_t>(axis)]) {
        sum += std::exp(x[row_major(dims, j)]);
      }
      y[row_major(dims, i)] = std::exp(x[row_major(dims, i)]) / sum;
    });
    expect_computes(spec, Layout::plain, {x}, {y});
  }
}

TEST(CpuNormalization, ComputesItsSpec) {
  const Dims dims = {2, 5, 70};
  const Values x = random_values(dims, 1);
  const Values scale = random_values({70}, 2);
  const Values shift = random_values({70}, 3);
  for (const std::string word : {"layer", "rms"}) {
    KernelSpec spec;
    spec.kernel = "normalization";
    spec.word = word;
    spec.operands = {tensor(dims), tensor({70}, true), tensor({70}, true)};
    spec.results = {tensor(dims)};
    spec.integers = {{"axes", {2}}};
    spec.reals = {{"epsilon", 1e-3}};
    Values y(x.size());
    for (std::size_t row = 0; row < 10; ++row) {
      double mean = 0;
      double squares = 0;
      for (std::size_t k = 0; k < 70; ++k) mean += word == "layer" ? x[row * 70 + k] / 70 : 0;
      for (std::size_t k = 0; k < 70; ++k) squares += (x[row * 70 + k] - mean) * (x[row * 70 + k] - mean) / 70;
      for (std::size_t k = 0; k < 70; ++k) y[row * 70 + k] = (x[row * 70 + k] - mean) / std::sqrt(squares + 1e-3) * scale[k] + shift[k];
    }
    expect_computes(spec, Layout::plain, {x, scale, shift}, {y});
  }
}

// Movement. ---------------------------------------------------------------------------------------------------------------------------

KernelSpec copy(const std::string& word, std::vector<TensorSpec> operands, std::vector<TensorSpec> results,
                std::vector<std::pair<std::string, Dims>> integers) {
  KernelSpec spec;
  spec.kernel = "copy";
  spec.word = word;
  spec.operands = std::move(operands);
  spec.results = std::move(results);
  spec.integers = std::move(integers);
  return spec;
}

// The result whose element at i is operand element source(i).
Values moved(const Dims& x_dims, const Values& x, const Dims& y_dims, const std::function<Dims(Dims)>& source) {
  Values y;
  for_each_index(y_dims, [&](const Dims& i) { y.push_back(x[row_major(x_dims, source(i))]); });
  return y;
}

TEST(CpuCopy, Transposes) {
  const Dims dims = {3, 20, 18, 5};
  const Values x = random_values(dims, 1);
  Dims perm = {0, 1, 2, 3};
  do {
    Dims y(4);
    for (std::size_t k = 0; k < 4; ++k) y[k] = dims[static_cast<std::size_t>(perm[k])];
    const Values expected = moved(dims, x, y, [&](const Dims& i) {
      Dims j(4);
      for (std::size_t k = 0; k < 4; ++k) j[static_cast<std::size_t>(perm[k])] = i[k];
      return j;
    });
    expect_computes(copy("transpose", {tensor(dims)}, {tensor(y)}, {{"perm", perm}}), Layout::plain, {x}, {expected});
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(CpuCopy, ConcatenatesAndSplits) {
  for (const std::int64_t axis : {1, 2}) {
    Dims a = {2, 8, 6, 5};
    Dims b = a;
    Dims whole = a;
    const auto k = static_cast<std::size_t>(axis);
    b[k] = 3;
    whole[k] = a[k] + 3;
    const Values x = random_values(whole, 1);
    const Values first = moved(whole, x, a, [](const Dims& i) { return i; });
    const Values second = moved(whole, x, b, [&](Dims i) {
      i[k] += a[k];
      return i;
    });
    for (const Layout layout : kLayouts) {
      expect_computes(copy("concat", {tensor(a), tensor(b)}, {tensor(whole)}, {{"axis", {axis}}}), layout, {first, second}, {x});
      expect_computes(copy("split", {tensor(whole)}, {tensor(a), tensor(b)}, {{"axis", {axis}}, {"sizes", {a[k], 3}}}), layout, {x},
                      {first, second});
    }
  }
}

TEST(CpuCopy, SlicesPadsExpandsTilesAndResizes) {
  const Dims dims = {1, 8, 6, 5};
  const Values x = random_values(dims, 1);
  for (const Layout layout : kLayouts) {
    expect_computes(copy("slice", {tensor(dims)}, {tensor({1, 3, 3, 5})},
                         {{"sizes", {1, 3, 3, 5}}, {"starts", {0, 2, 5, 0}}, {"steps", {1, 1, -2, 1}}}),
                    layout, {x}, {moved(dims, x, {1, 3, 3, 5}, [](Dims i) {
                      return Dims{i[0], i[1] + 2, 5 - 2 * i[2], i[3]};
                    })});
    expect_computes(copy("resize", {tensor(dims)}, {tensor({1, 8, 12, 10})}, {}), layout, {x}, {moved(dims, x, {1, 8, 12, 10}, [](Dims i) {
                      return Dims{i[0], i[1], i[2] / 2, i[3] / 2};
                    })});
    const Dims padded = {1, 8, 9, 4};
    Values y;
    for_each_index(padded, [&](const Dims& i) {
      y.push_back(i[2] >= 2 && i[2] < 8 ? x[row_major(dims, {i[0], i[1], i[2] - 2, i[3] + 1})] : 0);
    });
    expect_computes(copy("pad/constant", {tensor(dims)}, {tensor(padded)}, {{"begins", {0, 0, 2, -1}}, {"ends", {0, 0, 1, 0}}}), layout,
                    {x}, {y});
  }
  expect_computes(copy("expand", {tensor({8, 1, 5})}, {tensor({2, 8, 3, 5})}, {}), Layout::plain, {random_values({8, 5}, 2)},
                  {moved({8, 5}, random_values({8, 5}, 2), {2, 8, 3, 5}, [](Dims i) {
                    return Dims{i[1], i[3]};
                  })});
  expect_computes(copy("tile", {tensor({4, 5})}, {tensor({12, 10})}, {}), Layout::plain, {random_values({4, 5}, 2)},
                  {moved({4, 5}, random_values({4, 5}, 2), {12, 10}, [](Dims i) {
                    return Dims{i[0] % 4, i[1] % 5};
                  })});
  expect_computes(copy("reshape", {tensor(dims)}, {tensor({48, 5})}, {}), Layout::plain, {x}, {x});
}

TEST(CpuCopy, MovesDepthToSpaceAndBack) {
  const Dims deep = {1, 12, 3, 2};
  const Dims wide = {1, 3, 6, 4};
  const Values x = random_values(deep, 1);
  const Values depth_first = moved(deep, x, wide, [](Dims i) { return Dims{0, (i[2] % 2 * 2 + i[3] % 2) * 3 + i[1], i[2] / 2, i[3] / 2}; });
  const Values column_first = moved(deep, x, wide, [](Dims i) { return Dims{0, i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2}; });
  expect_computes(copy("depth_to_space/depth_first", {tensor(deep)}, {tensor(wide)}, {{"block", {2}}}), Layout::plain, {x}, {depth_first});
  expect_computes(copy("depth_to_space/column_first", {tensor(deep)}, {tensor(wide)}, {{"block", {2}}}), Layout::plain, {x},
                  {column_first});
  expect_computes(copy("space_to_depth", {tensor(wide)}, {tensor(deep)}, {{"block", {2}}}), Layout::plain, {depth_first}, {x});
}

TEST(CpuCopy, Gathers) {
  KernelSpec spec = copy("gather", {tensor({3, 7, 4}), tensor({5})}, {tensor({3, 5, 4})}, {{"axis", {1}}});
  spec.operands[1].data_type = DataType::int64;
  const Values x = random_values({3, 7, 4}, 1);
  const Values indices = {6, 0, -1, 2, 2};
  expect_computes(spec, Layout::plain, {x, indices}, {moved({3, 7, 4}, x, {3, 5, 4}, [&](Dims i) {
                    const double index = indices[static_cast<std::size_t>(i[1])];
                    return Dims{i[0], static_cast<std::int64_t>(index < 0 ? index + 7 : index), i[2]};
                  })});
}

TEST(CpuReorder, KeepsEveryElement) {
  const TensorSpec t = tensor({2, 20, 5, 6});
  const Values x = random_values(t.dims, 1);
  for (const Layout from : {Layout::plain, Layout::channels_last, Layout::blocked8, Layout::blocked16}) {
    for (const Layout to : {Layout::plain, Layout::channels_last, Layout::blocked4, Layout::blocked16}) {
      expect_computes(reorder_spec(t, from, to), Layout::any, {x}, {x}, 0);
    }
  }
}

// Timing. -------------------------------------------------------------------------------------------------------------------------------

TEST(CpuDevice, MeasuresAndSaysWhichLayoutItChose) {
  const auto cost = device().measure(convolutions()[1].spec("convolution"), Layout::any);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_GT(cost->median.value, 0);
  EXPECT_GE(cost->spread.value, 0);
  EXPECT_GE(cost->repeats, 3);
  EXPECT_NE(cost->results, Layout::any);
  EXPECT_EQ(device().info().name, "cpu");
}

TEST(CpuDevice, ReordersOfEqualBytesAreFree) {
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 1, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 24, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 32, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
}

TEST(CpuDevice, TimesWithSeveralThreads) {
  const auto two = open_cpu_device({.threads = 2, .timing = {}});
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ((*two)->info().threads, 2);
  EXPECT_EQ((*two)->info().clock, "wall time");
  EXPECT_GT((*two)->measure(convolutions()[1].spec("convolution"), Layout::any)->median.value, 0);
}

TEST(CpuDevice, NothingToComputeCostsNothing) {
  EXPECT_EQ(device().measure(pointwise("exp", {tensor({4, 0})}, {4, 0}), Layout::plain)->median.value, 0);
}

TEST(CpuDevice, RefusesKernelsThatDoNotFitInMemory) {
  const Dims huge = {1 << 20, 1 << 20};
  const auto cost = device().measure(pointwise("exp", {tensor(huge)}, huge), Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().message,
            "cannot run pointwise/exp(float32[1048576,1048576]) -> float32[1048576,1048576] here: it needs 16384 GiB");
}

TEST(CpuDevice, RefusesZeroThreads) {
  const auto device = open_cpu_device({.threads = 0, .timing = {}});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "expected at least 1 thread, found 0");
}

}  // namespace
}  // namespace xflow::cost::cpu
