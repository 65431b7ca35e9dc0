// The semantics of a value restricted to chosen elements. Private to src/eval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/eval/sample.h"
#include "src/eval/tensor.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// The semantics of one value for chosen elements of it and of its operands. Indices of the result are read
// from lists of positions. Indices of operands are mapped to indices among their chosen positions.
class AdaptedExpression {
 public:
  AdaptedExpression(ir::Symbols& symbols, const ops::Expr& meaning, std::vector<ir::Poly> index, const Sample& sample,
                    std::vector<const Sample*> operands);
  const ops::Expr& expression() const { return expression_; }
  const std::vector<ir::Poly>& index() const { return index_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  const std::vector<Tensor>& tables() const { return tables_; }

 private:
  // Entry `at` of a table, which becomes an additional operand.
  ir::Poly table(const std::vector<std::int64_t>& entries, const ir::Poly& at);
  ir::Poly table_of(std::size_t operand, std::size_t dimension, const Positions& positions, const ir::Poly& at);
  std::vector<ir::Poly> read_at(std::size_t operand, std::span<const ir::Poly> indices);
  // Substitutes the chosen positions of the result into an index, and adapts the indices of integer elements
  // in it.
  ir::Poly poly(const ir::Poly& p);
  ops::Expr rewrite(const ops::Expr& expr);

  ir::Symbols& symbols_;
  std::vector<const Sample*> operands_;  // null: absent
  std::size_t next_;
  std::vector<ir::Poly> index_;
  std::vector<std::int64_t> dims_;
  ir::Symbols::Substitution outer_;
  std::vector<Tensor> tables_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> inverse_;
  std::map<const ops::ExprNode*, ops::Expr> rewritten_;
  ops::Expr expression_;
};

}  // namespace xflow::eval
