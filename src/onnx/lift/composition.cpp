#include "src/onnx/lift/composition.h"

#include <array>

#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

Result<std::size_t> rank_of(const NodeView& node, std::size_t k) {
  if (!node.has_input(k) || !node.input_type(k).ranked)
    return fail(ErrorCode::unsupported, std::string(node.type()) + ": the rank of input " + std::to_string(k) + " is not known");
  return node.input_type(k).rank();
}

Result<void> require_vector(const NodeView& node, std::size_t k) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, k));
  if (rank != 1) return fail(ErrorCode::unsupported, std::string(node.type()) + ": input " + std::to_string(k) + " is not a vector");
  return {};
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = first; a < static_cast<std::int64_t>(rank); ++a) axes.push_back(a);
  return axes;
}

namespace {

using ops::kNewest;

constexpr std::array kCompositions = {
    Composition{"", "BatchNormalization", 7, kNewest, &lift_batch_normalization},
    Composition{"", "CastLike", 15, kNewest, &lift_cast_like},
    Composition{"", "Celu", 12, kNewest, &lift_celu},
    Composition{"", "Clip", 11, kNewest, &lift_clip},
    Composition{"", "Constant", 1, kNewest, &lift_constant},
    Composition{"", "Conv", 1, kNewest, &lift_convolution_with_bias},
    Composition{"", "ConvTranspose", 1, kNewest, &lift_convolution_with_bias},
    Composition{"", "Einsum", 12, kNewest, &lift_einsum},
    Composition{"", "Gelu", 20, kNewest, &lift_gelu},
    Composition{"", "Gemm", 7, kNewest, &lift_gemm},
    Composition{"", "GroupNormalization", 21, kNewest, &lift_group_normalization},
    Composition{"", "HardSwish", 14, kNewest, &lift_hard_swish},
    Composition{"", "InstanceNormalization", 6, kNewest, &lift_instance_normalization},
    Composition{"", "LayerNormalization", 17, kNewest, &lift_layer_normalization},
    Composition{"", "LogSoftmax", 1, 12, &lift_softmax_of_rows},
    Composition{"", "LpNormalization", 1, kNewest, &lift_lp_normalization},
    Composition{"", "Max", 8, kNewest, &lift_fold_left},
    Composition{"", "Mean", 8, kNewest, &lift_fold_left},
    Composition{"", "MeanVarianceNormalization", 9, kNewest, &lift_mean_variance_normalization},
    Composition{"", "Min", 8, kNewest, &lift_fold_left},
    Composition{"", "Mish", 18, kNewest, &lift_mish},
    Composition{"", "RMSNormalization", 23, kNewest, &lift_rms_normalization},
    Composition{"", "ReduceL1", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceLogSum", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceLogSumExp", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceSumSquare", 1, kNewest, &lift_reduction},
    Composition{"", "Selu", 6, kNewest, &lift_selu},
    Composition{"", "Shrink", 9, kNewest, &lift_shrink},
    Composition{"", "Softmax", 1, 12, &lift_softmax_of_rows},
    Composition{"", "Softsign", 1, kNewest, &lift_softsign},
    Composition{"", "Sum", 8, kNewest, &lift_fold_left},
    Composition{"", "Swish", 24, kNewest, &lift_swish},
    Composition{"", "ThresholdedRelu", 10, kNewest, &lift_thresholded_relu},
    Composition{"com.microsoft", "BiasGelu", 1, 1, &lift_microsoft_gelu},
    Composition{"com.microsoft", "FastGelu", 1, 1, &lift_microsoft_fast_gelu},
    Composition{"com.microsoft", "FusedMatMul", 1, 1, &lift_microsoft_fused_matmul},
    Composition{"com.microsoft", "Gelu", 1, 1, &lift_microsoft_gelu},
    Composition{"com.microsoft", "QuickGelu", 1, 1, &lift_microsoft_quick_gelu},
};

}  // namespace

std::span<const Composition> compositions() { return kCompositions; }

}  // namespace xflow::onnx_io
