// Kernels and post-operations by the names that they have in text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ops/kernel_text.h"

namespace xflow::ops {

inline KernelSpec made_kernel(std::string_view name, std::string_view word, std::vector<TensorSpec> operands,
                              std::vector<TensorSpec> results, std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers = {},
                              std::vector<std::pair<std::string, double>> reals = {}, std::vector<PostOperation> post = {}) {
  KernelSpec spec = kernel_named(name, word);
  spec.operands = std::move(operands);
  spec.results = std::move(results);
  spec.integers = std::move(integers);
  spec.reals = std::move(reals);
  spec.post = std::move(post);
  return spec;
}

inline PostOperation made_step(std::string_view name, std::vector<double> reals = {}, std::vector<TensorSpec> operands = {}) {
  PostOperation post = step_named(name);
  post.reals = std::move(reals);
  post.operands = std::move(operands);
  return post;
}

}  // namespace xflow::ops
