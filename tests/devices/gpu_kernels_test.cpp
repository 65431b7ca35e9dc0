// What libraries of GPUs are asked for.
#include "src/devices/gpu/gpu_kernels.h"

#include <gtest/gtest.h>

#include "src/devices/device_plugin.h"
#include "tests/ops/made_kernel.h"
#include "tests/places.h"

namespace xflow::cost::gpu {
namespace {

using ir::DataType;
using ops::KernelSpec;
using ops::PostOperation;
using ops::TensorSpec;

TensorSpec tensor_of(std::vector<std::int64_t> dims, DataType type = DataType::float32) { return {type, std::move(dims), false}; }

KernelSpec matmul(std::vector<std::int64_t> left, std::vector<std::int64_t> right, std::vector<std::int64_t> result,
                  std::vector<PostOperation> post = {}) {
  return ops::made_kernel("matmul", "", {tensor_of(std::move(left)), tensor_of(std::move(right))}, {tensor_of(std::move(result))}, {}, {},
                          std::move(post));
}

KernelSpec convolution(std::vector<PostOperation> post = {}) {
  return ops::made_kernel("convolution", "", {tensor_of({2, 8, 14, 12}), tensor_of({16, 4, 3, 3})}, {tensor_of({2, 16, 7, 6})},
                          {{"strides", {2, 2}}, {"pads", {1, 0, 1, 1}}, {"dilations", {1, 1}}, {"groups", {2}}}, {}, std::move(post));
}

TEST(GpuProduct, HasTheStridesOfItsBatches) {
  const auto plain = product_of(matmul({3, 4}, {4, 5}, {3, 5}));
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, (Product{DataType::float32, 3, 5, 4}));
  const auto batched = product_of(matmul({2, 6, 3, 4}, {2, 6, 4, 5}, {2, 6, 3, 5}));
  ASSERT_TRUE(batched);
  EXPECT_EQ(*batched, (Product{DataType::float32, 3, 5, 4, 12, 12, 20}));
  const auto shared = product_of(matmul({3, 4}, {7, 4, 5}, {7, 3, 5}));
  ASSERT_TRUE(shared);
  EXPECT_EQ(*shared, (Product{DataType::float32, 3, 5, 4, 7, 0, 20}));
  EXPECT_FALSE(product_of(matmul({2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}))) << "no single stride leads from one left matrix to the next";
}

TEST(GpuProduct, OfWeightsIsOneOfAllRows) {
  const auto product = product_of(matmul({2, 6, 3, 4}, {4, 5}, {2, 6, 3, 5}));
  ASSERT_TRUE(product);
  EXPECT_EQ(*product, (Product{DataType::float32, 36, 5, 4}));
}

TEST(GpuProduct, HasTheEpiloguesOfItsLibraryAndNoOthers) {
  const PostOperation bias = ops::made_step("add", {}, {tensor_of({5})});
  const PostOperation residual = ops::made_step("add", {}, {tensor_of({3, 5})});
  const auto with = [](std::vector<PostOperation> post) { return product_of(matmul({3, 4}, {4, 5}, {3, 5}, std::move(post))); };
  const auto all = with({bias, residual, ops::made_step("relu")});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bias, 2U);
  EXPECT_EQ(all->residual, 3U);
  EXPECT_EQ(all->activation, Activation::relu);
  const auto other_order = with({residual, bias});
  ASSERT_TRUE(other_order);
  EXPECT_EQ(other_order->residual, 2U);
  EXPECT_EQ(other_order->bias, 3U);
  EXPECT_EQ(with({ops::made_step("gelu_tanh")})->activation, Activation::gelu_tanh);
  EXPECT_FALSE(with({bias, bias}));
  EXPECT_FALSE(with({residual, residual}));
  EXPECT_FALSE(with({ops::made_step("relu"), bias})) << "nothing follows an activation";
  EXPECT_FALSE(with({ops::made_step("gelu_erf")})) << "cuBLASLt's gelu is by tanh";
  EXPECT_FALSE(with({ops::made_step("sigmoid")}));
  EXPECT_FALSE(with({ops::made_step("mul", {}, {tensor_of({5})})}));
  EXPECT_FALSE(with({ops::made_step("add", {}, {tensor_of({3, 1})})}));
  EXPECT_FALSE(with({ops::made_step("sub", {}, {tensor_of({5})})}));
}

TEST(GpuProduct, IsOfTypesThatItsLibraryHas) {
  KernelSpec spec = matmul({3, 4}, {4, 5}, {3, 5});
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (TensorSpec* t : {&spec.operands[0], &spec.operands[1], &spec.results[0]}) t->data_type = type;
    EXPECT_EQ(product_of(spec)->type, type);
  }
  for (TensorSpec* t : {&spec.operands[0], &spec.operands[1], &spec.results[0]}) t->data_type = DataType::int64;
  EXPECT_FALSE(product_of(spec));
  EXPECT_FALSE(product_of(matmul({0, 4}, {4, 5}, {0, 5}))) << "nothing to compute";
}

TEST(GpuConvolution, HasWhatItsLibraryIsAskedFor) {
  const auto found = convolution_of(convolution(), Layout::channels_last);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->layout, Layout::channels_last);
  EXPECT_EQ(found->image, (std::vector<std::int64_t>{2, 8, 14, 12}));
  EXPECT_EQ(found->weights, (std::vector<std::int64_t>{16, 4, 3, 3}));
  EXPECT_EQ(found->result, (std::vector<std::int64_t>{2, 16, 7, 6}));
  EXPECT_EQ(found->strides, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(found->pads_before, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found->pads_after, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(found->groups, 2);
  EXPECT_FALSE(found->transposed);
  EXPECT_FALSE(convolution_of(convolution(), Layout::blocked8));
  KernelSpec cropped = convolution();
  cropped.integers[1].second = {-1, 0, 1, 1};
  EXPECT_FALSE(convolution_of(cropped, Layout::plain)) << "cuDNN crops nothing";
}

TEST(GpuConvolution, AddsABiasOfItsChannels) {
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{16, 1, 1}, {1, 16, 1, 1}}) {
    const auto found = convolution_of(convolution({ops::made_step("add", {}, {tensor_of(dims)}), ops::made_step("swish")}), Layout::plain);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bias, 2U);
    EXPECT_EQ(found->activation, Activation::swish);
  }
  EXPECT_TRUE(convolution_of(convolution({ops::made_step("add", {}, {tensor_of({2, 16, 7, 6})})}), Layout::plain)->residual);
  EXPECT_FALSE(convolution_of(convolution({ops::made_step("add", {}, {tensor_of({16})})}), Layout::plain))
      << "16 elements of the last dimension";
  EXPECT_FALSE(convolution_of(convolution({ops::made_step("clip", {0, 6})}), Layout::plain));
}

TEST(GpuKernel, IsOfALibraryWhereThatHasItAndSourceTextOtherwise) {
  const auto text = [](const KernelSpec& spec, Layout layout) { return kernels_of(spec, layout, "k")->front().text; };
  EXPECT_EQ(text(matmul({2, 6, 3, 4}, {2, 6, 4, 5}, {2, 6, 3, 5}), Layout::plain), "cuBLASLt 3x5x4, 12 times");
  EXPECT_EQ(text(convolution(), Layout::channels_last), "cuDNN convolution of [2,8,14,12], channels_last");
  EXPECT_EQ(text(matmul({3, 4}, {4, 5}, {3, 5}, {ops::made_step("gelu_erf")}), Layout::plain), "source text, a thread an element");
  EXPECT_EQ(text(reorder_spec(tensor_of({2, 3, 4, 5}), Layout::plain, Layout::channels_last), Layout::plain),
            "source text, a thread an element");
  const auto elsewhere =
      kernels_of(ops::made_kernel("pool_max", "", {tensor_of({1, 2, 4, 4})}, {tensor_of({1, 2, 4, 4})},
                                  {{"kernel", {1, 1}}, {"strides", {1, 1}}, {"pads", {0, 0, 0, 0}}, {"dilations", {1, 1}}}),
                 Layout::channels_last, "k");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(elsewhere.error().message.starts_with("cannot run pool_max")) << elsewhere.error().message;
  EXPECT_TRUE(elsewhere.error().message.ends_with(" here: there is no such kernel on channels_last tensors")) << elsewhere.error().message;
}

TEST(GpuKernel, OfSourceTextIsThereInSeveralWays) {
  using Texts = std::vector<std::string>;
  const auto ways = [](const KernelSpec& spec) {
    Texts texts;
    const auto kernels = kernels_of(spec, Layout::plain, "k");
    for (const GpuKernel& kernel : *kernels) texts.push_back(kernel.text.substr(kernel.text.find(", ") + 2));
    return texts;
  };
  const auto softmax = [](std::int64_t axis) {
    return ops::made_kernel("softmax", "", {tensor_of({80, 80})}, {tensor_of({80, 80})}, {{"axis", {axis}}});
  };
  EXPECT_EQ(ways(softmax(1)), (Texts{"a block a row", "a block a sum", "a thread a sum"}));
  EXPECT_EQ(ways(softmax(0)), (Texts{"a block a sum", "a thread a sum"}));
  EXPECT_EQ(ways(ops::made_kernel("pointwise/relu", "", {tensor_of({80, 8})}, {tensor_of({80, 8})})), (Texts{"a thread an element"}));
}

KernelSpec attention(DataType type, std::optional<std::vector<std::int64_t>> mask = std::nullopt) {
  const auto of = [&](std::vector<std::int64_t> dims) { return TensorSpec{type, std::move(dims), false}; };
  KernelSpec spec = ops::made_kernel("attention", "", {of({2, 3, 5, 16}), of({2, 7, 3, 16}), of({2, 3, 7, 8})}, {of({2, 3, 5, 8})});
  if (mask) spec.operands.push_back(of(*std::move(mask)));
  spec.integers = {{"perm", {0, 2, 3, 1}}};
  spec.reals = {{"scale", 0.25}};
  return spec;
}

TEST(Attention, ReadsItsTensorsAsTheyLie) {
  const auto made = attention_of(attention(DataType::float16, std::vector<std::int64_t>{2, 1, 1, 7}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->query, (Strided{{2, 3, 5, 16}, {240, 80, 16, 1}}));
  EXPECT_EQ(made->key, (Strided{{2, 3, 7, 16}, {336, 16, 48, 1}})) << "heads lie within rows";
  EXPECT_EQ(made->value, (Strided{{2, 3, 7, 8}, {168, 56, 8, 1}}));
  EXPECT_EQ(made->result, (Strided{{2, 3, 5, 8}, {120, 40, 8, 1}}));
  EXPECT_EQ(*made->mask, (Strided{{2, 1, 1, 7}, {7, 7, 7, 1}}));
  EXPECT_EQ(made->scale, 0.25);
  // Three dimensions are those of one head.
  KernelSpec one = attention(DataType::bfloat16);
  one.operands = {{DataType::bfloat16, {2, 5, 16}, false}, {DataType::bfloat16, {2, 7, 16}, false}, {DataType::bfloat16, {2, 7, 8}, false}};
  one.results[0].dims = {2, 5, 8};
  one.integers = {{"perm", {0, 2, 1}}};
  ASSERT_TRUE(attention_of(one));
  EXPECT_EQ(attention_of(one)->key, (Strided{{1, 2, 7, 16}, {224, 112, 16, 1}}));
}

TEST(Attention, IsThereForWhatItsLibraryComputes) {
  EXPECT_TRUE(attention_of(attention(DataType::bfloat16)));
  EXPECT_FALSE(attention_of(attention(DataType::float32)));
  EXPECT_FALSE(attention_of(attention(DataType::float16, std::vector<std::int64_t>{5, 6}))) << "the mask has another size";
  KernelSpec spec = attention(DataType::float16);
  spec.operands[0].dims[3] = spec.operands[1].dims[3] = 12;
  EXPECT_FALSE(attention_of(spec)) << "the depth is no multiple of 8";
  spec = attention(DataType::float16);
  spec.operands[1].dims[0] = 1;
  EXPECT_FALSE(attention_of(spec)) << "all batches have one key";
  spec = attention(DataType::float16);
  spec.post.push_back(ops::made_step("relu"));
  EXPECT_FALSE(attention_of(spec));
  const auto kernels = kernels_of(attention(DataType::float16), Layout::plain, "k");
  ASSERT_TRUE(kernels) << kernels.error().text();
  EXPECT_EQ(kernels->front().text, "cuDNN attention of [2,3,5,16]");
  EXPECT_GT(kernels->size(), 1U) << "and as source text";
}

#ifdef XFLOW_TEST_CUDA

TEST(GpuKernel, IsTakenByItsLibraryAsFarAsThatIsKnownWithoutAGpu) {
  const auto plugin = load_plugin_from(places::cuda_folder(), "cuda");
  ASSERT_TRUE(plugin) << plugin.error().text();
  const auto take = [&](const GpuKernel& kernel) {
    const auto taken = (*plugin)->check(kernel, 90);
    EXPECT_TRUE(taken) << kernel.text << ": " << taken.error().text();
  };
  for (const DataType type : {DataType::float16, DataType::bfloat16})
    for (const auto& mask : {std::optional<std::vector<std::int64_t>>(), std::optional<std::vector<std::int64_t>>({2, 1, 5, 7})})
      take({*attention_of(attention(type, mask)), "attention"});
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh}) {
      Product product{type, 3, 5, 4, 12, 12, 20};
      product.bias = 2;
      product.residual = 3;
      product.activation = activation;
      take({product, "product"});
    }
    for (const Layout layout : {Layout::plain, Layout::channels_last}) {
      for (const Activation activation :
           {Activation::none, Activation::relu, Activation::gelu_tanh, Activation::sigmoid, Activation::tanh, Activation::swish}) {
        Convolution made = *convolution_of(
            convolution({ops::made_step("add", {}, {tensor_of({16, 1, 1})}), ops::made_step("add", {}, {tensor_of({2, 16, 7, 6})})}),
            layout);
        made.type = type;
        made.activation = activation;
        take({made, "convolution"});
      }
    }
  }
  Convolution line = *convolution_of(
      ops::made_kernel("convolution", "", {tensor_of({2, 8, 14}), tensor_of({16, 8, 3})}, {tensor_of({2, 16, 12})}), Layout::plain);
  take({line, "one spatial dimension"});
  Convolution up = *convolution_of(ops::made_kernel("transposed_convolution", "", {tensor_of({2, 16, 7, 6}), tensor_of({16, 8, 2, 2})},
                                                    {tensor_of({2, 8, 14, 12})}, {{"strides", {2, 2}}}),
                                   Layout::plain);
  take({up, "transposed"});
  Convolution solid = *convolution_of(
      ops::made_kernel("convolution", "", {tensor_of({1, 4, 5, 6, 7}), tensor_of({8, 4, 3, 3, 3})}, {tensor_of({1, 8, 3, 4, 5})}),
      Layout::channels_last);
  take({solid, "three spatial dimensions"});
  const auto softmax =
      kernels_of(ops::made_kernel("softmax", "", {tensor_of({8, 80})}, {tensor_of({8, 80})}, {{"axis", {1}}}), Layout::plain, "k");
  ASSERT_TRUE(softmax);
  for (const GpuKernel& kernel : *softmax) take(kernel);
}

#endif

}  // namespace
}  // namespace xflow::cost::gpu
