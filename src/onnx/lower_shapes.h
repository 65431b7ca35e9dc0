// Integers that depend on sizes known only when the model runs, as nodes that compute them from shapes.
#pragma once

#include <xflow/result.h>

#include <functional>
#include <string>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::onnx_io {

// Where the size that a symbol stands for can be read: axis `axis` of `value`.
struct SizeSource {
  ir::ValueId value;
  std::int64_t axis = 0;
};

// Finds, for each symbol that the polynomials need, a source among `values` (in order; the first whose dimension is exactly the symbol).
// Error::unsupported names a size that no value shows.
Result<std::vector<std::pair<ir::SymbolId, SizeSource>>> size_sources(const ir::Arena& arena, const std::vector<ir::Poly>& polys,
                                                                      const std::vector<ir::ValueId>& values);

// NodeProto messages, in order, that leave the polynomials' values in `output`: a vector of int64, or a scalar if `scalar` (one
// polynomial). Shape, Gather, Add, Mul, Sub, Div, Mod, Max (opset 12), Concat, Squeeze of ONNX's own domain. `name_of` gives the name of a
// source value, `integer_vector` the name of an initializer with these elements, `fresh` a new name.
struct ShapeNames {
  std::function<std::string(ir::ValueId)> name_of;
  std::function<std::string(const std::vector<std::int64_t>&, bool scalar)> integers;
  std::function<std::string(std::string_view hint)> fresh;
};
Result<std::vector<std::string>> compute_integers(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, bool scalar,
                                                  const std::vector<std::pair<ir::SymbolId, SizeSource>>& sources, int opset,
                                                  const ShapeNames& names, const std::string& output);

}  // namespace xflow::onnx_io
