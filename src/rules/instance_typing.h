// How the two sides of a rule are typed: the source gives facts, the target needs proofs.
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

// Records what the typing of the source implies. Where two dimensions may broadcast in several ways, one of them is chosen and assumed.
class SourceTyping : public ops::Typing {
 public:
  SourceTyping(ir::Symbols& symbols, Choices& choices, std::vector<Fact>& assumed)
      : Typing(symbols), choices_(choices), assumed_(assumed) {}

  // The operation that is typed from now on, for reasons: "6:9 conv".
  void enter(std::string where) { where_ = std::move(where); }
  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override;
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override;
  Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b) override;

  std::vector<Fact> facts;
  bool restart = false;          // an assumption was added or a guard used: build the source again
  std::function<bool()> refine;  // asks whether the guards say more by now; then all is built again

 private:
  Choices& choices_;
  std::vector<Fact>& assumed_;
  std::string where_;
};

// Records what the typing of the target needs.
class TargetTyping : public ops::Typing {
 public:
  // `known`: the facts of the source, which say where a size is 1.
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
