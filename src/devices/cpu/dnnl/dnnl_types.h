// Types, layouts and functions shared by the files that build oneDNN's kernels. Included in this folder
// only.
#pragma once

#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/devices/cpu/cpu_kernel.h"

namespace xflow::cost::cpu {

using Dims = std::vector<std::int64_t>;
inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

// Thrown for a feature that oneDNN lacks while a kernel is built; caught in build().
struct Lacking {
  std::string what;
};

dnnl::memory::data_type type_of(ir::DataType type);

dnnl::memory::desc plain_desc(const Dims& dims, dnnl::memory::data_type type);
dnnl::memory::desc any_desc(const Dims& dims, dnnl::memory::data_type type);
dnnl::memory::desc layout_desc(const Dims& dims, dnnl::memory::data_type type, Layout layout);
Layout layout_of(const dnnl::memory::desc& desc);

bool is_reference(const char* implementation);

// One eltwise step of a oneDNN post-operation chain.
struct Eltwise {
  dnnl::algorithm function;
  float alpha = 0;
  float beta = 0;
};

// The chain of eltwise functions that computes a function of one operand (ops/fused_functions.def); empty if
// oneDNN has none. Missing reals take the operator's defaults.
std::vector<Eltwise> eltwise_of(const ops::StepFunction& step, const std::vector<double>& reals);
std::optional<dnnl::algorithm> binary_of(const ops::StepFunction& step);

}  // namespace xflow::cost::cpu
