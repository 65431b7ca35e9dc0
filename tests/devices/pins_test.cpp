// Where threads run while kernels are timed.
#include "src/devices/cpu/pins.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <vector>

#include "src/devices/cpu/dnnl_library.h"

namespace xflow::cost::cpu {
namespace {

// Where each thread may run, by its number.
std::vector<std::set<int>> places(int threads) {
  std::vector<std::set<int>> result(static_cast<std::size_t>(threads));
  on_each_thread(threads, [&](int thread) {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
      if (CPU_ISSET(processor, &mask)) result[static_cast<std::size_t>(thread)].insert(processor);
  });
  return result;
}

TEST(Pins, EachThreadHasAProcessorOfItsOwn) {
  const auto library = DnnlLibrary::open(1);
  ASSERT_TRUE(library);
  const std::size_t processors = places(1)[0].size();
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    if (processors < static_cast<std::size_t>(threads)) continue;  // nothing is done: see below
    const std::vector<std::set<int>> before = places(threads);
    {
      const Pins pins(threads);
      std::set<int> all;
      for (const std::set<int>& own : places(threads)) {
        EXPECT_EQ(own.size(), 1U);
        all.insert(own.begin(), own.end());
      }
      EXPECT_EQ(all.size(), static_cast<std::size_t>(threads));
    }
    EXPECT_EQ(places(threads), before) << "it is as it was";
  }
}

TEST(Pins, WithFewerProcessorsThanThreadsNothingIsDone) {
  const std::size_t processors = places(1)[0].size();
  const Pins pins(static_cast<int>(processors) + 1);
  EXPECT_EQ(places(1)[0].size(), processors);
}

}  // namespace
}  // namespace xflow::cost::cpu
