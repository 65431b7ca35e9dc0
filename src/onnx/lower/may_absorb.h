// Which values one node that replaces several operations may hide.
#pragma once

#include <cstddef>
#include <functional>

#include "src/ir/graph.h"

namespace xflow::onnx_io {

// Returns true if an inner value has exactly `uses` uses and may disappear from the written graph.
using MayAbsorb = std::function<bool(ir::ValueId value, std::size_t uses)>;

}  // namespace xflow::onnx_io
