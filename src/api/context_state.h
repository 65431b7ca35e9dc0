// The state of a public Context.
#pragma once

#include <xflow/context.h>

#include <map>
#include <mutex>

#include "src/optimizer/session.h"
#include "src/rules/rule.h"

namespace xflow {

struct Context::State {
  std::mutex in_use;  // held by each call
  api::Session session;
  std::map<rules::RuleHash, RuleDecision> decisions;  // of verify, those that no time limit cut short
};

}  // namespace xflow
