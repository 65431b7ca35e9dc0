#include "src/devices/default_device.h"

#include <fmt/format.h>

#include <array>

#include "src/support/process.h"

namespace xflow::cost {

DefaultDevice choose_device(bool has_gpu, const std::string& check, double seconds) {
  if (!has_gpu) return {"cpu", {}};
  constexpr std::string_view kGpu = "cuda:0";
  std::array<char, 2> answer{};
  auto process = runner::Process::start(check + " > /dev/null && echo k");
  const Result<void> passed = process ? (*process)->read(answer, seconds) : Result<void>(fail(process.error()));
  if (passed) return {std::string(kGpu), {}};
  return {"cpu",
          fmt::format(
              "{} is not used, because its check failed: {}; option 'device' = {} uses it anyway, option 'device' = cpu skips the check",
              kGpu, passed.error().message, kGpu)};
}

}  // namespace xflow::cost
