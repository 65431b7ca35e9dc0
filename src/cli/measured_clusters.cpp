#include "src/cli/measured_clusters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace xflow::cli {
namespace {

constexpr std::string_view kPrefix = "cpu-";

std::string_view processes_of(std::string_view name) { return name.substr(kPrefix.size()); }

Result<std::string> file_of(const std::string& name) {
  const std::string folder = cache_folder();
  if (folder.empty()) return fail(ErrorCode::io, "there is no folder for what was measured: set HOME or XDG_CACHE_HOME", name);
  std::array<char, 256> host{};  // with its end; a longer name is cut
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("{}/{}.{}.json", folder, name, host.data());
}

}  // namespace

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return std::string(cache) + "/xflow";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return std::string(home) + "/.cache/xflow";
  return {};
}

bool is_measured_cluster(const std::string& name) {
  if (!name.starts_with(kPrefix)) return false;
  const std::string_view digits = processes_of(name);
  const bool is_number = !digits.empty() && digits.size() <= 4 && digits[0] != '0' &&
                         std::ranges::all_of(digits, [](char digit) { return digit >= '0' && digit <= '9'; });
  return is_number && digits != "1";
}

Result<std::string> measured_cluster_file(const std::string& name, std::size_t processes) {
  if (processes_of(name) != std::to_string(processes))
    return fail(ErrorCode::invalid_argument, fmt::format("has {} processes, and mpirun started {}", processes_of(name), processes), name);
  XFLOW_TRY(std::string file, file_of(name));
  std::error_code error;
  std::filesystem::create_directories(cache_folder(), error);
  if (error) return fail(ErrorCode::io, "cannot create the folder: " + error.message(), cache_folder());
  return file;
}

Result<void> find_measured_cluster(std::string& cluster) {
  if (!is_measured_cluster(cluster)) return {};
  XFLOW_TRY(std::string file, file_of(cluster));
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return fail(ErrorCode::unreadable,
                fmt::format("not measured on this machine; measure it with: mpirun -n {} xflow devices --measure {}", processes_of(cluster),
                            cluster),
                cluster);
  }
  cluster = std::move(file);
  return {};
}

}  // namespace xflow::cli
