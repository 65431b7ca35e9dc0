// Compiles index polynomials to linear forms over loop variables and slots, with the bounds of each. Private
// to src/eval.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "src/eval/program.h"

namespace xflow::eval {

// Adds forms and slots to one stage. Known symbols are replaced by numbers. floor_div and max are removed
// where bounds decide them.
class IndexCompiler {
 public:
  IndexCompiler(const ProgramInput& input, Stage& stage) : input_(input), stage_(stage) {}

  void bind(ir::SymbolId symbol, int variable) { variables_[symbol] = variable; }

  Result<IndexForm> form(const ir::Poly& poly);
  // The row-major offset of `indices` in a tensor of these dimensions.
  Result<IndexForm> offset(std::span<const ir::Poly> indices, std::span<const std::int64_t> dims);
  int add(IndexForm form);  // the number of the form in the stage; equal forms share one
  Range range(const IndexForm& form) const;
  std::uint64_t depends(const IndexForm& form) const;

 private:
  Result<IndexForm> symbol(ir::SymbolId id);
  IndexForm multiply(const IndexForm& a, const IndexForm& b);
  Result<IndexForm> floor_div(const IndexForm& a, const IndexForm& b);
  IndexForm maximum(const IndexForm& a, const IndexForm& b);
  IndexForm slot(IndexSlot slot);

  const ProgramInput& input_;
  Stage& stage_;
  std::unordered_map<ir::SymbolId, int> variables_;
};

IndexForm add(IndexForm a, const IndexForm& b, std::int64_t factor = 1);

}  // namespace xflow::eval
