#include "xflow/profile.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "src/api/context_state.h"
#include "src/devices/profile/compare.h"
#include "src/devices/profile/profile.h"
#include "src/devices/profile/show.h"
#include "src/devices/profile/tables.h"
#include "src/optimizer/record_profile.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"

namespace xflow {

struct Profile::State {
  cost::profile::Profile profile;
};

namespace {

// The given files and the .onnx files of the given folders; the files of each folder are sorted.
Result<std::vector<std::string>> models_of(const std::vector<std::string>& paths) {
  std::vector<std::string> models;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      models.push_back(path);
      continue;
    }
    const std::size_t before = models.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
      if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
    if (models.size() == before) return fail(ErrorCode::unreadable, "no .onnx files in the folder", path);
    std::sort(models.begin() + static_cast<std::ptrdiff_t>(before), models.end());
  }
  return models;
}

}  // namespace

Profile::Profile(std::unique_ptr<State> state) : state_(std::move(state)) {}
Profile::~Profile() = default;
Profile::Profile(const Profile& other) : state_(std::make_unique<State>(*other.state_)) {}
Profile::Profile(Profile&&) noexcept = default;
Profile& Profile::operator=(const Profile& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Profile& Profile::operator=(Profile&&) noexcept = default;

Result<Profile> Profile::read(const std::string& path) {
  return api::guarded<Profile>([&]() -> Result<Profile> {
    XFLOW_TRY(cost::profile::Profile read, cost::profile::read_profile(path));
    return Profile(std::make_unique<State>(State{std::move(read)}));
  });
}

Result<Profile> Profile::record(const std::vector<std::string>& models, const OptimizeOptions& options,
                                const ProfileProgressCallback& progress) {
  Context context;
  return record(context, models, options, progress);
}

Result<Profile> Profile::record(Context& context, const std::vector<std::string>& models, const OptimizeOptions& options,
                                const ProfileProgressCallback& progress) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<Profile>([&]() -> Result<Profile> {
    XFLOW_TRY(const std::vector<std::string> files, models_of(models));
    XFLOW_TRY(cost::profile::Profile recorded, api::record_profile(files, options, progress, context.state().session));
    return Profile(std::make_unique<State>(State{std::move(recorded)}));
  });
}

Result<Profile> Profile::of_costs(const OptimizeOptions& options) {
  return api::guarded<Profile>([&]() -> Result<Profile> {
    XFLOW_TRY(cost::profile::Profile known, api::export_profile(options));
    return Profile(std::make_unique<State>(State{std::move(known)}));
  });
}

Result<Profile> Profile::of_tables(const std::vector<std::string>& files, TableFormat /*format*/, const std::string& device) {
  return api::guarded<Profile>([&]() -> Result<Profile> {
    std::vector<std::shared_ptr<const onnx_io::FileBytes>> contents;
    std::vector<cost::profile::Table> tables;
    for (const std::string& file : files) {
      XFLOW_TRY(std::shared_ptr<const onnx_io::FileBytes> content, onnx_io::FileBytes::open(file));
      tables.push_back({file, content->bytes()});
      contents.push_back(std::move(content));
    }
    XFLOW_TRY(cost::profile::Profile made, cost::profile::profile_of_neusight(tables, device));
    return Profile(std::make_unique<State>(State{std::move(made)}));
  });
}

Result<ProfileComparison> Profile::compare(const Profile& measured) const {
  return api::guarded<ProfileComparison>([&] { return cost::profile::compare(state_->profile, measured.state_->profile); });
}

Result<ProfilePrices> Profile::price(const std::vector<std::string>& kernels) const {
  return api::guarded<ProfilePrices>([&] { return cost::profile::price(state_->profile, kernels); });
}

std::string Profile::device_model() const { return state_->profile.device.model; }
Profile::Marked Profile::marked() const {
  return {state_->profile.count(cost::profile::Mark::at_floor), state_->profile.count(cost::profile::Mark::contradicted)};
}
std::size_t Profile::kernels() const { return state_->profile.kernels.size(); }
std::string Profile::text() const { return cost::profile::to_text(state_->profile); }
std::string Profile::describe() const { return cost::profile::describe(state_->profile); }
std::string Profile::describe_check() const { return cost::profile::describe_check(state_->profile); }

Result<void> Profile::write(const std::string& path) const {
  return api::guarded<void>([&] {
    const std::string text = this->text();
    const std::string_view chunk = text;
    return onnx_io::write_file(path, {&chunk, 1});
  });
}

Result<std::size_t> Profile::merge(const Profile& other) {
  return api::guarded<std::size_t>([&] { return cost::profile::merge(state_->profile, other.state_->profile); });
}

std::size_t Profile::prune(const Prune& what) {
  return cost::profile::prune(state_->profile, {what.with_interference, what.refused, what.only});
}

Result<Profile::Imported> Profile::add_to_costs(const std::string& database) const {
  return api::guarded<Imported>([&]() -> Result<Imported> {
    std::string problem;
    cost::Database costs = cost::Database::open(database, state_->profile.device, [&](const std::string& warning) { problem = warning; });
    if (!costs.persistent()) return fail(ErrorCode::io, problem.empty() ? "the cost database has no file name" : problem);
    const std::size_t before = costs.size();
    cost::profile::add_to(costs, state_->profile);
    return Imported{costs.size(), costs.size() - before};
  });
}

}  // namespace xflow
