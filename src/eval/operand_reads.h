// The positions of operands that chosen elements of a result read. Private to src/eval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/eval/sample.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// The positions of a dimension that are asked for.
class Demand {
 public:
  explicit Demand(std::int64_t size);
  void add_all() { all_ = true; }
  bool all() const { return all_; }
  void add(std::int64_t position);
  // Where much of a dimension is asked for it is computed as a whole, which needs no table.
  Positions positions() const;

 private:
  std::int64_t size_;
  bool all_;
  std::vector<bool> asked_;
};
using Demands = std::vector<Demand>;  // by dimension

// What an expression asks of operands for chosen elements of its result.
class OperandReads {
 public:
  OperandReads(const ir::Symbols& symbols, const ir::Symbols::Valuation& sizes, std::vector<Demands*> operands)
      : symbols_(symbols), sizes_(sizes), operands_(std::move(operands)) {}
  void set(ir::SymbolId symbol, const Positions& positions) { domains_.insert_or_assign(symbol, positions); }
  void visit(const ops::Expr& expr);

 private:
  // Operands whose elements are indices are needed as a whole.
  void elements(const ir::Poly& poly);
  void ask(const ir::Poly& index, Demand& demand);

  const ir::Symbols& symbols_;
  const ir::Symbols::Valuation& sizes_;
  std::vector<Demands*> operands_;  // null: not asked
  std::map<ir::SymbolId, Positions> domains_;
  std::map<const ops::ExprNode*, bool> seen_;
};

}  // namespace xflow::eval
