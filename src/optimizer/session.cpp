#include "src/optimizer/session.h"

#include <fmt/format.h>

#include "src/devices/cpu/cpu_device.h"
#include "src/devices/fitted_estimates.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/runner/runner_device.h"
#include "src/optimizer/load_rules.h"

namespace xflow::api {

Result<rules::VerifiedRules> Session::rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop) {
  if (options.search.rule_text || !options.search.rules.empty()) return load_rules(options, seconds, std::move(stop), &proved_);
  if (!shipped_) {
    XFLOW_TRY(shipped_, load_rules({}));
  }
  rules::VerifiedRules rules = *shipped_;
  for (const std::string& name : options.search.skip_rules) XFLOW_CHECK(rules.skip(name));
  return rules;
}

std::shared_ptr<cost::Database> Session::database(const std::string& path, const cost::DeviceInfo& device) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", path, device.name, device.model, device.library, device.threads, device.calibration);
  std::shared_ptr<cost::Database>& known = databases_[key];
  if (known == nullptr) {
    const auto warn = [this](const std::string& text) {
      if (warning_) warning_(text);
    };
    known = std::make_shared<cost::Database>(cost::Database::open(path, device, warn));
  }
  return known;
}

Result<DeviceCosts*> Session::open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left) {
  if (costs_ == nullptr || !costs_->serves(options, bytes_of_run)) {
    costs_ = nullptr;  // two devices might not fit into memory
    auto opened = std::make_unique<DeviceCosts>();
    XFLOW_CHECK(opened->open(options, bytes_of_run, seconds_left));
    costs_ = std::move(opened);
  }
  // A profile has its own times, and its model's predictions are no measurements, so its database has no
  // file.
  auto known = database(costs_->profile ? "" : options.device.cost_database, costs_->device().info());
  if (known != costs_->database) {
    costs_->estimates = std::make_unique<cost::FittedEstimates>(*known);
    costs_->database = std::move(known);
  }
  return costs_.get();
}

void Session::end_call() {
  warning_ = nullptr;
  if (costs_ == nullptr) return;
  if (!costs_->can_be_kept()) {
    costs_ = nullptr;
    return;
  }
  cost::Device& device = costs_->device();
  device.stop_when(nullptr);
  device.set_bytes_left(nullptr);
  device.set_seconds_left(nullptr);
  device.set_most_bytes(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace xflow::api
