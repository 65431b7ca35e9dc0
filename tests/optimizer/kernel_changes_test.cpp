// The kernels in a report.
#include "src/optimizer/kernel_changes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace xflow::api {
namespace {

KernelChange change(std::string kernel, std::uint64_t before, std::uint64_t after) {
  return {
      std::move(kernel), before, after, {Nanoseconds(10.0 * static_cast<double>(before)), Nanoseconds(10.0 * static_cast<double>(after))}};
}

std::vector<std::string> said(const std::vector<KernelChange>& changes) {
  std::vector<std::string> texts;
  for (const KernelChange& c : changes) {
    texts.push_back(c.kernel + " " + std::to_string(c.before) + " " + std::to_string(c.after));
    EXPECT_EQ(c.time.before.count(), 10.0 * static_cast<double>(c.before));
    EXPECT_EQ(c.time.after.count(), 10.0 * static_cast<double>(c.after));
  }
  return texts;
}

TEST(KernelChanges, OfARoundReplaceTheResult) {
  std::vector<KernelChange> report = {change("a", 3, 1), change("b", 2, 2), change("c", 0, 4)};
  add_kernel_changes(report, {change("a", 1, 0), change("b", 2, 1), change("c", 4, 0), change("d", 0, 5)});
  EXPECT_EQ(said(report), (std::vector<std::string>{"a 3 0", "b 2 1", "d 0 5"}));
}

}  // namespace
}  // namespace xflow::api
