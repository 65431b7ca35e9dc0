#include "src/cli/default_device.h"

#include <fmt/format.h>
#include <xflow/devices.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "src/support/process.h"

namespace xflow::cli {
namespace {

constexpr std::string_view kGpu = "cuda:0";
constexpr double kCheckSeconds = 120;

// As one word of the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

DefaultDevice choose_device(bool has_gpu, const std::string& check, double seconds) {
  if (!has_gpu) return {"cpu", {}};
  std::array<char, 2> answer{};
  auto process = cost::runner::Process::start(check + " > /dev/null && echo k");
  const Result<void> passed = process ? (*process)->read(answer, seconds) : Result<void>(fail(process.error()));
  if (passed) return {std::string(kGpu), {}};
  return {"cpu",
          fmt::format("{} is there and is not used, because its check failed: {}; '--device {}' uses it all the same, '--device cpu' "
                      "does not ask",
                      kGpu, passed.error().message, kGpu)};
}

std::string default_device(const std::function<void(const std::string&)>& warning) {
  const auto found = devices();
  const bool has_gpu = std::ranges::any_of(found, [](const DeviceDescription& device) { return device.name == kGpu && device.usable; });
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
  DefaultDevice chosen = choose_device(has_gpu, fmt::format("{} devices --check {}", quoted(program), kGpu), kCheckSeconds);
  if (!chosen.warning.empty()) warning(chosen.warning);
  return std::move(chosen.name);
}

}  // namespace xflow::cli
