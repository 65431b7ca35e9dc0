// Kernels on float16, which oneDNN computes with on no CPU: operands are converted to float32, the kernel runs, the results are converted
// back. Runtimes do the same.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>

#include "src/devices/cpu/kernel.h"

namespace xflow::cost::cpu {

// Whether the kernel computes with float16. Copies do not.
bool computes_with_half(const ops::KernelSpec& spec);
// The same kernel on float32.
ops::KernelSpec on_float(ops::KernelSpec spec);
// `single`: a kernel for on_float(spec). Constant operands are converted before the run.
std::unique_ptr<Kernel> convert_around(const ops::KernelSpec& spec, std::unique_ptr<Kernel> single);
// The cast of float16 to float32 or back, which is one conversion. Error::unsupported for other kernels.
Result<std::unique_ptr<Kernel>> build_half_cast(const ops::KernelSpec& spec, Layout layout);

void halves_to_floats(const std::uint16_t* from, float* to, std::size_t n);
void floats_to_halves(const float* from, std::uint16_t* to, std::size_t n);

}  // namespace xflow::cost::cpu
