// Kernels on float16, which oneDNN computes on no CPU. Operands are converted to float32, the float32 kernel
// runs, and the results are converted back. Runtimes do the same.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>

#include "src/devices/cpu/cpu_kernel.h"

namespace xflow::cost::cpu {

// Whether the kernel computes with float16. Copies only move elements, so they do not.
bool computes_with_half(const ops::KernelSpec& spec);
// The same kernel with float32 in place of float16.
ops::KernelSpec on_float(ops::KernelSpec spec);
// Wraps `single`, a kernel for on_float(spec), in conversions. Constant operands are converted before the
// run.
std::unique_ptr<CpuKernel> convert_around(const ops::KernelSpec& spec, std::unique_ptr<CpuKernel> single);
// Builds a cast between float16 and float32 as one conversion. Error::unsupported for other kernels.
Result<std::unique_ptr<CpuKernel>> build_half_cast(const ops::KernelSpec& spec, Layout layout);

void halves_to_floats(const std::uint16_t* from, float* to, std::size_t n);
void floats_to_halves(const float* from, std::uint16_t* to, std::size_t n);

}  // namespace xflow::cost::cpu
