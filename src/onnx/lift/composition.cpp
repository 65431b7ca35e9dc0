#include "src/onnx/lift/composition.h"

#include <array>

#include "src/onnx/lift/composition_maker.h"
#include "src/ops/fused_functions.h"

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

// Compositions that are not a row of a table.
const std::array kCompositions = {
    Composition{"", "BatchNormalization", 7, kNewest, &lift_batch_normalization},
    Composition{"", "CastLike", 15, kNewest, &lift_cast_like},
    Composition{"", "Clip", 11, kNewest, &lift_clip},
    Composition{"", "Constant", 1, kNewest, &lift_constant},
    Composition{"", "Conv", 1, kNewest, &lift_convolution_with_bias},
    Composition{"", "ConvTranspose", 1, kNewest, &lift_convolution_with_bias},
    Composition{"", "Einsum", 12, kNewest, &lift_einsum},
    Composition{"", "Gemm", 7, kNewest, &lift_gemm},
    Composition{"", "GroupNormalization", 21, kNewest, &lift_group_normalization},
    Composition{"", "InstanceNormalization", 6, kNewest, &lift_instance_normalization},
    Composition{"", "LayerNormalization", 17, kNewest, &lift_layer_normalization},
    Composition{"", "LogSoftmax", 1, 12, &lift_softmax_of_rows},
    Composition{"", "LpNormalization", 1, kNewest, &lift_lp_normalization},
    Composition{"", "Max", 8, kNewest, &lift_fold_left},
    Composition{"", "Mean", 8, kNewest, &lift_fold_left},
    Composition{"", "MeanVarianceNormalization", 9, kNewest, &lift_mean_variance_normalization},
    Composition{"", "Min", 8, kNewest, &lift_fold_left},
    Composition{"", "RMSNormalization", 23, kNewest, &lift_rms_normalization},
    Composition{"", "ReduceL1", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceLogSum", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceLogSumExp", 1, kNewest, &lift_reduction},
    Composition{"", "ReduceSumSquare", 1, kNewest, &lift_reduction},
    Composition{"", "Softmax", 1, 12, &lift_softmax_of_rows},
    Composition{"", "Sum", 8, kNewest, &lift_fold_left},
    Composition{"com.microsoft", "FusedMatMul", 1, 1, &lift_microsoft_fused_matmul},
};

// Returns the compositions of ops/fused_functions.def. The forms of an operator are tried one after the
// other.
std::vector<Composition> functions() {
  std::vector<Composition> result;
  const std::span<const ops::OnnxFunction> rows = ops::onnx_functions();
  for (std::size_t k = 0; k < rows.size();) {
    std::size_t end = k;
    while (end < rows.size() && rows[end].domain == rows[k].domain && rows[end].type == rows[k].type) ++end;
    const auto forms = rows.subspan(k, end - k);
    result.push_back({rows[k].domain, rows[k].type, rows[k].since, rows[k].until(),
                      [forms](const NodeView& node) { return lift_onnx_function(node, forms); }});
    k = end;
  }
  return result;
}

}  // namespace

std::span<const Composition> compositions() {
  static const std::vector<Composition> kAll = [] {
    std::vector<Composition> all = functions();
    all.insert(all.end(), kCompositions.begin(), kCompositions.end());
    return all;
  }();
  return kAll;
}

}  // namespace xflow::onnx_io
