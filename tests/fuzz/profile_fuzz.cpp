// Any text is a profile or an error with a place. A profile that is written is read again as the same text, merging it with itself changes
// nothing, and the device that it describes answers with a time or an error of one line.
#include <cmath>

#include "src/devices/profile/profile.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/show.h"
#include "src/ops/kernel_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/ops/made_kernel.h"

using xflow::fuzz::expect;
namespace cost = xflow::cost;
namespace profile = xflow::cost::profile;
namespace ops = xflow::ops;

namespace {

constexpr std::size_t kMostKernels = 50;  // of a profile that is calibrated

void expect_time(const xflow::Result<cost::KernelCost>& answer) {
  if (answer) {
    expect(answer->median.count() >= 0 && std::isfinite(answer->median.count()), "a time is a number that is not negative");
  } else {
    xflow::fuzz::expect_message(answer.error().message);
  }
}

void ask(const profile::Profile& read) {
  profile::ProfileDevice device(read);
  for (const auto& [key, entry] : read.kernels) {
    auto spec = ops::parse_kernel(key.first);
    expect(spec.has_value(), "the key of a kernel is the text of a kernel");
    expect_time(device.measure(*spec, key.second));
    if (spec->is(ops::KernelFamily::reorder)) continue;
    expect_time(device.measure(*spec, cost::Layout::any));
    expect_time(device.measure(*spec, cost::Layout::plain));
    // One that the profile does not hold.
    for (ops::TensorSpec& tensor : spec->results) tensor.dims.push_back(3);
    expect_time(device.measure(*spec, cost::Layout::plain));
    if (spec->results.size() == 1 && !spec->post.empty()) device.can_fuse(*spec, spec->post.front());
    device.works_in(*spec, cost::Layout::blocked8);
  }
  const ops::TensorSpec matrix{xflow::ir::DataType::float32, {8, 8}, false};
  expect_time(device.measure(ops::made_kernel("matmul", "", {matrix, matrix}, {matrix}), cost::Layout::plain));
  expect(!describe(read).empty() && !describe_check(read).empty(), "a profile can be shown");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = profile::parse_profile(xflow::fuzz::text_of(data, size), "fuzz");
  if (!read) {
    xflow::fuzz::expect_message(read.error().message);
    expect(!read.error().where.empty(), "an error says where");
    return 0;
  }
  const std::string text = to_text(*read);
  const auto reparsed = profile::parse_profile(text, "written");
  if (!reparsed) std::fprintf(stderr, "%s\n%s\n", text.c_str(), reparsed.error().text().c_str());
  expect(reparsed.has_value() && to_text(*reparsed) == text, "a profile that was written is read again as the same");
  profile::Profile merged = *read;
  const auto taken = merge(merged, *reparsed);
  expect(taken.has_value() && *taken == 0 && to_text(merged) == text, "a profile has nothing new for itself");
  if (read->kernels.size() <= kMostKernels) ask(*read);
  return 0;
}
