// What the calls of one context share: rules that were proved, a device that was opened, kernels that were timed.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "src/cost/database.h"
#include "src/devices/device_costs.h"
#include "src/rules/rule_set.h"

namespace xflow::api {

// One call at a time.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A call, for as long as it lives: afterwards nothing in the session refers to its options or limits.
  class Call {
   public:
    Call(Session& session, const OptimizeOptions& options) : session_(session) { session_.warning_ = options.warning; }
    ~Call() { session_.end_call(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Session& session_;
  };

  // The rules of the options, as load_rules. What was proved for an earlier call is not proved again.
  Result<rules::VerifiedRules> rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop);

  // The device of the options and its database, as DeviceCosts::open: what was opened last where it is the same, but for runners, which
  // hold memory, and profiles, whose files may be others by now. Valid until this is called again.
  Result<DeviceCosts*> open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left);
  DeviceCosts& costs() { return *costs_; }  // requires that open() succeeded

 private:
  void end_call();
  std::shared_ptr<cost::Database> database(const std::string& path, const cost::DeviceInfo& device);

  std::function<void(const std::string&)> warning_;
  std::set<rules::RuleHash> proved_;                                  // of the user's own rules
  std::optional<rules::VerifiedRules> shipped_;                       // all of them
  std::map<std::string, std::shared_ptr<cost::Database>> databases_;  // by file and device
  std::unique_ptr<DeviceCosts> costs_;
};

}  // namespace xflow::api
