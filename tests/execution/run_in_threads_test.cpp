// Runs of parts with a thread for each device.
#include "src/execution/run_in_threads.h"

#include <gtest/gtest.h>

#include "src/execution/run_parts.h"
#include "tests/execution/split_folder.h"

namespace xflow::execution {
namespace {

using onnx_io::testing::TemporaryFolder;

TEST(RunInThreads, ComputesWhatOneThreadDoes) {
  std::mt19937 random(1);
  for (int run = 0; run < 8; ++run) {
    const TemporaryFolder folder;
    const std::uint32_t devices = 1 + run % 4;
    const std::string bytes = onnx_io::testing::model_of(random_graph(random, devices + 3 + random() % 12));
    write(folder.file("model.onnx"), bytes);
    split_at_random(bytes, devices, random, folder.path());
    RunOptions options;
    options.repeats = 5;
    options.check_against = folder.file("model.onnx");
    const auto alone = execution::run_parts(folder.path(), options);
    const auto threads = run_in_threads(folder.path(), options);
    ASSERT_TRUE(threads) << threads.error().text();
    EXPECT_TRUE(threads->check->equal) << threads->check->difference;
    EXPECT_EQ(devices, threads->processes);
    EXPECT_EQ(5U, threads->steps);
    EXPECT_GT(threads->step.count(), 0);
    ASSERT_EQ(alone->outputs.size(), threads->outputs.size());
    for (std::size_t k = 0; k < alone->outputs.size(); ++k) EXPECT_EQ(alone->outputs[k].type, threads->outputs[k].type);
  }
}

TEST(RunInThreads, HasTheErrorOfAnyThread) {
  std::mt19937 random(2);
  const TemporaryFolder folder;
  EXPECT_EQ(ErrorCode::unreadable, run_in_threads(folder.path(), {}).error().code);
  const std::string bytes = onnx_io::testing::model_of(random_graph(random, 8));
  const PartManifest manifest = split_at_random(bytes, 2, random, folder.path());
  RunOptions none;
  none.repeats = 0;
  EXPECT_EQ("expected at least one step, and no negative number of warm-up steps", run_in_threads(folder.path(), none).error().message);
  write(folder.file(manifest.parts.back().file), "no model");
  EXPECT_EQ(ErrorCode::unreadable, run_in_threads(folder.path(), {}).error().code);
}

}  // namespace
}  // namespace xflow::execution
