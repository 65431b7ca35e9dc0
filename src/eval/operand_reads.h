// The positions of operands that are read for chosen elements of a result. Private to src/eval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/eval/sample.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// The requested positions of a dimension.
class Demand {
 public:
  explicit Demand(std::int64_t size);
  void add_all() { all_ = true; }
  bool all() const { return all_; }
  void add(std::int64_t position);
  // The positions to compute. If more than half of the dimension is requested, all of it is computed, which
  // needs no table.
  Positions positions() const;

 private:
  std::int64_t size_;
  bool all_;
  std::vector<bool> asked_;
};
using Demands = std::vector<Demand>;  // by dimension

// Collects the positions of operands that an expression reads for chosen elements of its result.
class OperandReads {
 public:
  OperandReads(const ir::Symbols& symbols, const ir::Symbols::Valuation& sizes, std::vector<Demands*> operands)
      : symbols_(symbols), sizes_(sizes), operands_(std::move(operands)) {}
  void set(ir::SymbolId symbol, const Positions& positions) { domains_.insert_or_assign(symbol, positions); }
  void visit(const ops::Expr& expr);

 private:
  // Requests all elements of operands whose elements are used as indices.
  void elements(const ir::Poly& poly);
  void ask(const ir::Poly& index, Demand& demand);

  const ir::Symbols& symbols_;
  const ir::Symbols::Valuation& sizes_;
  std::vector<Demands*> operands_;  // null: not collected
  std::map<ir::SymbolId, Positions> domains_;
  std::map<const ops::ExprNode*, bool> seen_;
};

}  // namespace xflow::eval
