// What one node that stands for several operations may hide.
#pragma once

#include <cstddef>
#include <functional>

#include "src/ir/graph.h"

namespace xflow::onnx_io {

// Whether an inner value has so many uses, and none that the node would not hide.
using MayAbsorb = std::function<bool(ir::ValueId value, std::size_t uses)>;

}  // namespace xflow::onnx_io
