// Integers that depend on sizes known only when the model runs, as nodes that compute them from shapes.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::onnx_io {

// Where a size can be read when the model runs: axis `axis` of `value` has `size` elements.
struct SizeSource {
  ir::Poly size;
  ir::ValueId value;
  std::int64_t axis = 0;
};

// The sizes that values show, each at the first value that shows it.
class SizeIndex {
 public:
  // `position`: values are added in ascending order of it; a value can be read by what stands after it.
  void add(const ir::Arena& arena, ir::ValueId value, std::size_t position);

  // What `polys` can be computed from, among values at positions below `limit`. Error::unsupported names a size that no value shows.
  Result<std::vector<SizeSource>> sources(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, std::size_t limit) const;

 private:
  struct Entry {
    SizeSource source;
    std::size_t position = 0;
  };
  // The first value of which a dimension is exactly this, if it stands below the limit.
  const Entry* find(const ir::Poly& size, std::size_t limit) const;
  Result<void> need(const ir::Symbols& symbols, const ir::Poly& p, std::size_t limit, std::vector<SizeSource>& result) const;
  Result<void> need(const ir::Symbols& symbols, ir::SymbolId s, std::size_t limit, std::vector<SizeSource>& result) const;

  std::unordered_map<ir::Poly, Entry, ir::PolyHash> exact_;
  std::unordered_map<ir::SymbolId, Entry> linear_;  // a * s + b of the symbol s, a and b numbers
};

// NodeProto messages, in order, that leave the polynomials' values in `output`: a vector of int64, or a scalar if `scalar` (one
// polynomial). Shape, Gather, Add, Mul, Sub, Div, Mod (opset 10), Max (opset 12, before Greater and Where), Concat, Reshape of ONNX's own
// domain. `name_of` gives the name of a source's value, `integers` the name of a constant vector with these elements, `fresh` a new name.
struct ShapeNames {
  std::function<std::string(ir::ValueId)> name_of;
  std::function<std::string(const std::vector<std::int64_t>&)> integers;
  std::function<std::string(std::string_view hint)> fresh;
};
Result<std::vector<std::string>> compute_integers(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, bool scalar,
                                                  const std::vector<SizeSource>& sources, int opset, const ShapeNames& names,
                                                  const std::string& output);

}  // namespace xflow::onnx_io
