// The roofline of a GPU from what its driver says.
#pragma once

#include <cstddef>
#include <optional>

#include "src/devices/gpu/gpu.h"
#include "src/devices/profile/profile.h"

namespace xflow::cost {

// Operations of a multiprocessor per cycle by compute capability, from NVIDIA's CUDA C++ Programming Guide
// (arithmetic instructions: float32) and the architectures' white papers (dense products of float16 and
// bfloat16 on tensor cores). `launch`: the overhead of a launch. Nothing if the driver does not say what is
// needed, or the capability is unknown.
std::optional<profile::Roofline> roofline_of(const gpu::Gpu::Sheet& sheet, std::size_t cache_bytes, Nanoseconds launch);

// Gives a profile that was recorded on this GPU its roofline, if it is known. The quickest kernel of the
// profile is the overhead of a launch.
void add_roofline(profile::Profile& profile, const gpu::Gpu& gpu);

}  // namespace xflow::cost
