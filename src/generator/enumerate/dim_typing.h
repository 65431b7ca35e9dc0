// Types operations whose operands have dimensions of a signature, with the type rules of the operators
// (ops::Operator::type).
//
// A name with one size is that number; any other dimension is a symbol of its own, also a sum. So two
// dimensions are equal only if they are the same dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::generator {

enum class DimId : std::uint16_t {};

struct Dim {
  std::string name;  // empty for a sum
  std::optional<std::pair<DimId, DimId>> parts;
};

class DimTyping {
 public:
  // The number of dimensions added.
  std::size_t size() const { return polys_.size(); }
  // Adds the dimension with id size(). `sizes`: the assigned sizes of a name.
  void add(const Dim& dim, std::span<const std::int64_t> sizes);

  const ir::Poly& poly(DimId id) const { return polys_[static_cast<std::size_t>(id)]; }
  // The dimension that a polynomial is.
  std::optional<DimId> find(const ir::Poly& poly) const;
  // The shapes of the outputs; empty if the operator rejects the operands. `attributes` contain only
  // constants and polynomials of dimensions.
  std::vector<ir::Shape> type(ir::OperatorId op, const ir::Attributes& attributes, std::span<const std::vector<DimId>> operands) const;
  // Whether `total` is the sum of the parts of the dimension `whole`.
  bool is_sum(const ir::Poly& total, const ir::Poly& whole) const;

 private:
  std::shared_ptr<ir::Symbols> symbols_ = std::make_shared<ir::Symbols>();
  std::vector<ir::Poly> polys_;
  std::vector<std::optional<ir::Poly>> sums_;  // of the parts; nothing for a name
  std::map<ir::Poly, DimId, std::less<>> ids_;
};

}  // namespace xflow::generator
