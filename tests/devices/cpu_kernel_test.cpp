// Pooling, reductions, softmax, normalisations and copies that are timed compute what their specs say.
#include "src/ops/kernel_text.h"
#include "tests/devices/cpu_kernels.h"

namespace xflow::cost::cpu {
namespace {

// Pooling, reductions, softmax, normalisation. -----------------------------------------------------------------------------------------

TEST(CpuPool, ComputesItsSpec) {
  const Dims x_dims = {1, 20, 9, 8};
  const Dims y_dims = {1, 20, 5, 4};
  const Values x = random_values(x_dims, 1);
  for (const std::string kernel : {"pool_max", "pool_average"}) {
    for (const std::int64_t include : {0, 1}) {
      KernelSpec spec = ops::kernel_named(kernel);
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
  for (const std::string variant : {"sum", "mean", "max", "min", "l2"}) {
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
      Values y(static_cast<std::size_t>(count(kept)), variant == "max" ? -INFINITY : variant == "min" ? INFINITY : 0);
      for_each_index(dims, [&](const Dims& i) {
        Dims o = i;
        for (const std::int64_t axis : axes) o[static_cast<std::size_t>(axis)] = 0;
        double& v = y[row_major(kept, o)];
        const double e = x[row_major(dims, i)];
        v = variant == "max" ? std::max(v, e) : variant == "min" ? std::min(v, e) : variant == "l2" ? v + e * e : v + e;
      });
      for (double& v : y) v = variant == "mean" ? v / n : variant == "l2" ? std::sqrt(v) : v;
      KernelSpec spec = ops::kernel_named("reduce", variant);
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
    KernelSpec spec = ops::kernel_named("softmax");
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
  for (const std::string variant : {"layer", "rms"}) {
    KernelSpec spec = ops::kernel_named("normalization", variant);
    spec.operands = {tensor(dims), tensor({70}, true), tensor({70}, true)};
    spec.results = {tensor(dims)};
    spec.integers = {{"axes", {2}}};
    spec.reals = {{"epsilon", 1e-3}};
    Values y(x.size());
    for (std::size_t row = 0; row < 10; ++row) {
      double mean = 0;
      double squares = 0;
      for (std::size_t k = 0; k < 70; ++k) mean += variant == "layer" ? x[row * 70 + k] / 70 : 0;
      for (std::size_t k = 0; k < 70; ++k) squares += (x[row * 70 + k] - mean) * (x[row * 70 + k] - mean) / 70;
      for (std::size_t k = 0; k < 70; ++k) y[row * 70 + k] = (x[row * 70 + k] - mean) / std::sqrt(squares + 1e-3) * scale[k] + shift[k];
    }
    expect_computes(spec, Layout::plain, {x, scale, shift}, {y});
  }
}

// Movement. ---------------------------------------------------------------------------------------------------------------------------

KernelSpec copy(const std::string& variant, std::vector<TensorSpec> operands, std::vector<TensorSpec> results,
                std::vector<std::pair<std::string, Dims>> integers) {
  KernelSpec spec = ops::kernel_named("copy", variant);
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
    expect_computes(copy("resize/nearest/asymmetric/floor", {tensor(dims)}, {tensor({1, 8, 12, 10})},
                         {{"numerators", {1, 1, 2, 2}}, {"denominators", {1, 1, 1, 1}}}),
                    layout, {x}, {moved(dims, x, {1, 8, 12, 10}, [](Dims i) {
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

}  // namespace
}  // namespace xflow::cost::cpu
