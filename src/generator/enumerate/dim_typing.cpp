#include "src/generator/enumerate/dim_typing.h"

#include <xflow/error.h>

#include <algorithm>
#include <string_view>

#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

// Rejects dimensions that are not known to be equal; ops::Typing accepts them.
class StrictTyping final : public ops::Typing {
 public:
  StrictTyping(ir::Symbols& symbols, const DimTyping& dims) : Typing(symbols), dims_(dims) {}

  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override {
    if (a == b || dims_.is_sum(a, b) || dims_.is_sum(b, a)) return {};
    return fail(ErrorCode::ill_typed, std::string(what));
  }
  // Is called for two different dimensions, neither of which is 1.
  Result<ir::Poly> broadcast(const ir::Poly& /*a*/, const ir::Poly& /*b*/) override {
    return fail(ErrorCode::ill_typed, "dimensions that do not broadcast");
  }

 private:
  const DimTyping& dims_;
};

}  // namespace

void DimTyping::add(const Dim& dim, std::span<const std::int64_t> sizes) {
  const bool one_size = !dim.parts && std::equal(sizes.begin() + 1, sizes.end(), sizes.begin());
  ir::Poly poly = one_size ? ir::Poly(sizes.front()) : ir::Poly(symbols_->fresh(ir::SymbolKind::dimension, dim.name));
  ids_.emplace(poly, static_cast<DimId>(polys_.size()));
  sums_.push_back(dim.parts ? std::optional(this->poly(dim.parts->first) + this->poly(dim.parts->second)) : std::nullopt);
  polys_.push_back(std::move(poly));
}

std::optional<DimId> DimTyping::find(const ir::Poly& poly) const {
  const auto found = ids_.find(poly);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool DimTyping::is_sum(const ir::Poly& total, const ir::Poly& whole) const {
  const std::optional<DimId> id = find(whole);
  return id && sums_[static_cast<std::size_t>(*id)] == total;
}

std::vector<ir::Shape> DimTyping::type(ir::OperatorId op, const ir::Attributes& attributes,
                                       std::span<const std::vector<DimId>> operands) const {
  ir::Arena arena(symbols_);
  StrictTyping typing(*symbols_, *this);
  std::vector<ir::ValueId> inputs;
  for (const std::vector<DimId>& dims : operands) {
    ir::Shape shape;
    for (const DimId d : dims) shape.push_back(poly(d));
    inputs.push_back(arena.input({ir::DataType::float32, true, std::move(shape)}, static_cast<std::uint32_t>(inputs.size())));
  }
  const auto node = ops::apply(arena, typing, op, std::move(inputs), attributes);
  std::vector<ir::Shape> shapes;
  if (!node) return shapes;
  for (const ir::TensorType& output : arena.node(*node).outputs) shapes.push_back(output.shape);
  return shapes;
}

}  // namespace xflow::generator
