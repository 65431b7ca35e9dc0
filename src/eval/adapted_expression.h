// The semantics of a value, for chosen elements. Private to src/eval.
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

// The semantics of one value, for chosen elements of it and of its operands: indices of the result are read from lists of positions, and
// indices of operands become those among their chosen positions.
class AdaptedExpression {
 public:
  AdaptedExpression(ir::Symbols& symbols, const ops::Expr& meaning, std::vector<ir::Poly> index, const Sample& sample,
                    std::vector<const Sample*> operands);
  const ops::Expr& expression() const { return expression_; }
  const std::vector<ir::Poly>& index() const { return index_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  const std::vector<Tensor>& tables() const { return tables_; }

 private:
  // Entry `at` of a table, which becomes one more operand.
  ir::Poly table(const std::vector<std::int64_t>& entries, const ir::Poly& at);
  ir::Poly table_of(std::size_t operand, std::size_t dimension, const Positions& positions, const ir::Poly& at);
  std::vector<ir::Poly> read_at(std::size_t operand, std::span<const ir::Poly> indices);
  // An index with the positions of the result in it, and with elements of integer operands where these hold them.
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
