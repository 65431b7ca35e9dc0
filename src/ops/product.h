// Matrix products with numpy's rules: what operators share that compute them.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "src/ops/common.h"

namespace xflow::ops {

// The shape of the product of operands `a`[..., M, K] and `b`[..., K, N]: outer dimensions broadcast, an operand of one dimension is a row
// on the left and a column on the right.
Result<ir::Shape> product_shape(Typing& typing, const Operation& operation, std::size_t a, std::size_t b);
// Its sum over K for the output element at `index`, of `term`: the indices of the elements of a and b that belong together.
using ProductTerm = std::function<Expr(const std::vector<ir::Poly>& a, const std::vector<ir::Poly>& b)>;
Expr product_sum(Builder& builder, const Operation& operation, std::size_t a, std::size_t b, std::span<const ir::Poly> index,
                 const ProductTerm& term);

}  // namespace xflow::ops
