// The state that the calls of one context share: proved rules, the open device, and databases of kernel
// times.
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
#include "src/rules/verified_rules.h"

namespace xflow::api {

// A session serves one call at a time.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The scope of one call. After it, the session keeps no reference to the call's options or limits.
  class Call {
   public:
    Call(Session& session, const OptimizeOptions& options) : session_(session) { session_.warning_ = options.warning; }
    ~Call() { session_.end_call(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Session& session_;
  };

  // Loads the rules of the options as load_rules does. Rules proved in an earlier call are not proved again.
  Result<rules::VerifiedRules> rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop);

  // Opens the device of the options and its database, as DeviceCosts::open. Reuses the device that was
  // opened last if it is the same, except runners, which hold memory, and profiles, whose files may have
  // changed. The pointer is valid until the next call of open().
  Result<DeviceCosts*> open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left);
  // Serves calls with an open device, as long as their options name it.
  void use(std::unique_ptr<DeviceCosts> costs) { costs_ = std::move(costs); }
  DeviceCosts& costs() { return *costs_; }  // requires a successful open()

  // Takes note of a proof, so that rules() does not prove the rule again.
  void add_proved(const rules::RuleHash& rule) { proved_.insert(rule); }

 private:
  void end_call();
  std::shared_ptr<cost::Database> database(const std::string& path, const cost::DeviceInfo& device);

  std::function<void(const std::string&)> warning_;
  std::set<rules::RuleHash> proved_;                                  // the user's own rules
  std::optional<rules::VerifiedRules> shipped_;                       // all shipped rules
  std::map<std::string, std::shared_ptr<cost::Database>> databases_;  // by file and device
  std::unique_ptr<DeviceCosts> costs_;
};

}  // namespace xflow::api
