// Typing of the two sides of a rule: the source yields facts, the target yields proof obligations.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/operator.h"
#include "src/rules/choices.h"
#include "src/rules/instance.h"

namespace xflow::rules {

// Records the facts that the typing of the source implies. If two dimensions can broadcast in several ways,
// one way is chosen and assumed.
class SourceTyping : public ops::Typing {
 public:
  SourceTyping(ir::Symbols& symbols, Choices& choices, std::vector<Fact>& assumed)
      : Typing(symbols), choices_(choices), assumed_(assumed) {}

  // Sets the operation that is typed next; reasons name it: "6:9 conv".
  void enter(std::string where) { where_ = std::move(where); }
  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override;
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override;
  Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b) override;

  std::vector<Fact> facts;
  bool restart = false;          // an assumption was added or a guard was used: build the source again
  std::function<bool()> refine;  // evaluates the guards again; true if they replaced a symbol, then the source is built again

 private:
  Choices& choices_;
  std::vector<Fact>& assumed_;
  std::string where_;
};

// Records the proof obligations of the typing of the target.
class TargetTyping : public ops::Typing {
 public:
  // `known`: the facts of the source. They tell which sizes are equal or 1.
  TargetTyping(ir::Symbols& symbols, const std::vector<Fact>& known) : Typing(symbols), known_(known) {}
  void enter(std::string where) { where_ = std::move(where); }
  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override;
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override;
  Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b) override;

  std::vector<Fact> obligations;

 private:
  const std::vector<Fact>& known_;
  std::string where_;
};

}  // namespace xflow::rules
