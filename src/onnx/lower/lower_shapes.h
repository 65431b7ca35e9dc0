// Computes integers that depend on sizes known only at run time, by nodes that read shapes.
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

// A place to read a size at run time: axis `axis` of `value` has `size` elements.
struct SizeSource {
  ir::Poly size;
  ir::ValueId value;
  std::int64_t axis = 0;
};

// The sizes that can be read from shapes of values. Each size is read from the first value that has it.
class SizeIndex {
 public:
  // Adds the dimensions of a value. Values are added in ascending order of `position`; a value can be read
  // at any later position.
  void add(const ir::Arena& arena, ir::ValueId value, std::size_t position);

  // Returns the sizes that `polys` can be computed from, among values at positions below `limit`.
  // Error::unsupported names a size that no value has.
  Result<std::vector<SizeSource>> sources(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, std::size_t limit) const;

 private:
  struct Entry {
    SizeSource source;
    std::size_t position = 0;
  };
  // Returns the first value with this size as a dimension, if its position is below the limit.
  const Entry* find(const ir::Poly& size, std::size_t limit) const;
  Result<void> need(const ir::Symbols& symbols, const ir::Poly& p, std::size_t limit, std::vector<SizeSource>& result) const;
  Result<void> need(const ir::Symbols& symbols, ir::SymbolId s, std::size_t limit, std::vector<SizeSource>& result) const;

  std::unordered_map<ir::Poly, Entry, ir::PolyHash> exact_;
  // By symbol s: a size a * s + b with numbers a and b.
  std::unordered_map<ir::SymbolId, Entry> linear_;
};

// Returns NodeProto messages, in order, that compute the polynomials into `output`: a vector of int64, or a
// scalar if `scalar` (one polynomial). They use Shape, Gather, Add, Mul, Sub, Div, Mod (opset 10), Max
// (opset 12, earlier Greater and Where), Concat and Reshape of ONNX's own domain. `name_of` returns the name
// of a source's value, `integers` the name of a constant vector with these elements, `fresh` a new name.
struct ShapeNames {
  std::function<std::string(ir::ValueId)> name_of;
  std::function<std::string(const std::vector<std::int64_t>&)> integers;
  std::function<std::string(std::string_view hint)> fresh;
};
Result<std::vector<std::string>> compute_integers(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, bool scalar,
                                                  const std::vector<SizeSource>& sources, int opset, const ShapeNames& names,
                                                  const std::string& output);

}  // namespace xflow::onnx_io
