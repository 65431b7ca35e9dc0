// Matrix products with numpy's rules, for the operators that compute them.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "src/ops/common.h"

namespace xflow::ops {

// The shape of the product of operands `a`[..., M, K] and `b`[..., K, N]. Outer dimensions broadcast. An
// operand of one dimension is a row on the left and a column on the right.
Result<ir::Shape> product_shape(Typing& typing, const Operation& operation, std::size_t a, std::size_t b);
// The sum over K of `term` for the output element at `index`. The arguments of `term` are the indices of the
// two elements that are multiplied.
using ProductTerm = std::function<Expr(const std::vector<ir::Poly>& a, const std::vector<ir::Poly>& b)>;
Expr product_sum(Builder& builder, const Operation& operation, std::size_t a, std::size_t b, std::span<const ir::Poly> index,
                 const ProductTerm& term);

}  // namespace xflow::ops
