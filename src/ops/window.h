// Windows that slide over the spatial dimensions of [N, C, spatial...]: helpers for convolutions and pools.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/ops/common.h"

namespace xflow::ops {

// One spatial axis: a window of `kernel` positions, `dilation` apart, moves by `stride` over `size` elements
// with padding on both sides.
struct WindowAxis {
  ir::Poly size;
  ir::Poly kernel;
  ir::Poly stride;
  ir::Poly dilation;
  ir::Poly pad_begin;
  ir::Poly pad_end;

  // The number of elements from the first to the last one that a window covers: (kernel - 1) dilation + 1.
  ir::Poly reach() const { return (kernel - 1) * dilation + 1; }
};

// The spatial axes of operand 0, for an operation with attributes strides, dilations and pads.
std::vector<WindowAxis> window_axes(const Operation& operation, std::span<const ir::Poly> kernel);

// Checks operand 0 (3 to 5 dimensions) and the sizes and ranges of the attributes strides, dilations and
// pads.
Result<void> check_window(Typing& typing, const Operation& operation);
// The number of windows: floor((size + pads - reach) / stride) + 1. With `ceil_mode` the quotient is rounded
// up, but windows that start in the padding at the end do not count.
Result<ir::Poly> window_count(Typing& typing, const WindowAxis& axis, bool ceil_mode = false);

// The index of operand 0 that position `offset` of window `window` reads along an axis.
inline ir::Poly window_position(const WindowAxis& axis, const ir::Poly& window, const ir::Poly& offset) {
  return window * axis.stride + offset * axis.dilation - axis.pad_begin;
}
// Adds the condition that `position` is in range. Omits atoms that hold for every window.
void add_in_range(Condition& condition, const WindowAxis& axis, const ir::Poly& position, bool ceil_mode = false);

// The attributes strides, dilations and pads of an ONNX node whose window is `kernel`, with auto_pad
// resolved.
Result<ir::Attributes> lift_window(const OnnxNode& node, std::span<const ir::Poly> kernel);
// Exports strides and pads. Exports dilations if they are not all 1 or with `always_dilations`.
Result<void> export_window(const Operation& operation, Exported& exported, bool always_dilations);

// The output shape of a convolution of operand 0 with operand `w`, [O, C / groups, window...], with the
// attributes of conv.
Result<ir::Shape> convolution_shape(Typing& typing, const Operation& operation, std::size_t w);
// The sum of `term` for the output element at `index`. The arguments of `term` are the condition that the
// element of operand 0 is not in the padding, and the indices of the elements of operands 0 and `w` that are
// multiplied.
using ConvolutionTerm = std::function<Expr(const Condition& inside, const std::vector<ir::Poly>& x, const std::vector<ir::Poly>& w)>;
Expr convolution_sum(Builder& builder, const Operation& operation, std::size_t w, std::span<const ir::Poly> index,
                     const ConvolutionTerm& term);

// The signature rows of strides, pads and dilations.
std::vector<AttributeSignature> window_attributes();
// Adds strides, pads and dilations to a kernel.
Result<void> add_window(KernelSpec& spec, const Operation& operation);

}  // namespace xflow::ops
