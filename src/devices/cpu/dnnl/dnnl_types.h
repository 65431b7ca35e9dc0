// What the files that build oneDNN's kernels share: its types, layouts and functions. Included in this folder alone.
#pragma once

#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/devices/cpu/kernel.h"

namespace xflow::cost::cpu {

using Dims = std::vector<std::int64_t>;
inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

// What oneDNN lacks, found while a kernel is built. Ends in build().
struct Lacking {
  std::string what;
};

dnnl::memory::data_type type_of(ir::DataType type);

dnnl::memory::desc plain_desc(const Dims& dims, dnnl::memory::data_type type);
dnnl::memory::desc any_desc(const Dims& dims, dnnl::memory::data_type type);
dnnl::memory::desc layout_desc(const Dims& dims, dnnl::memory::data_type type, Layout layout);
Layout layout_of(const dnnl::memory::desc& desc);

bool is_reference(const char* implementation);

// One step of a post-operation chain as oneDNN writes it.
struct Eltwise {
  dnnl::algorithm function;
  float alpha = 0;
  float beta = 0;
};

// The eltwise functions that a function of one operand is (ops/fused_functions.def), applied one after the
// other; empty if oneDNN has none. Reals that are not given are the operator's defaults.
std::vector<Eltwise> eltwise_of(const ops::StepFunction& step, const std::vector<double>& reals);
std::optional<dnnl::algorithm> binary_of(const ops::StepFunction& step);

}  // namespace xflow::cost::cpu
