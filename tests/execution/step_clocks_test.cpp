// Times of processes with one clock and with clocks of their own.
#include "src/execution/step_clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/execution/run_parts.h"
#include "src/execution/step_runner.h"
#include "tests/execution/split_folder.h"
#include "tests/execution/thread_messages.h"

namespace xflow::execution {
namespace {

using Lists = std::vector<std::vector<double>>;

TEST(StepClocks, CountFromTheFirstProcess) {
  const std::vector<std::string> clocks = {"a", "a", "a"};
  EXPECT_EQ((Lists{{0.5, 0, 2}, {0, 0.25, 8}}), begins_of_steps(clocks, Lists{{10.5, 10, 12}, {20, 20.25, 28}}));
}

TEST(StepClocks, TakeTheMedianDifferenceOfTwoClocks) {
  // The second clock is 1000 later than the first one. In one step of three a process of it leaves late.
  const std::vector<std::string> clocks = {"a", "b", "a"};
  EXPECT_EQ((Lists{{0, 0, 0}, {0, 4, 0}, {0.5, 0, 0}}), begins_of_steps(clocks, Lists{{1, 1001, 1}, {2, 1006, 2}, {3.5, 1003, 3}}));
}

TEST(StepClocks, AClockWithoutANameIsOfOneProcess) {
  const std::vector<std::string> clocks = {"", ""};
  EXPECT_EQ((Lists{{0, 0}}), begins_of_steps(clocks, Lists{{1, 1001}}));
  EXPECT_EQ(Lists{}, begins_of_steps(clocks, Lists{}));
}

TEST(StepClocks, HaveOneNameOnAMachine) {
  EXPECT_FALSE(steady_clock_name().empty());
  EXPECT_EQ(steady_clock_name(), steady_clock_name());
}

// Leaves a barrier late, as a process does that does not run at that moment.
class LateMessages final : public testing::ThreadMessages {
 public:
  using ThreadMessages::ThreadMessages;
  void wait_for_all() override {
    ThreadMessages::wait_for_all();
    if (process() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
};

TEST(StepClocks, NoTensorArrivesBeforeItIsSent) {
  std::mt19937 random(5);
  const onnx_io::testing::TemporaryFolder folder;
  PartManifest manifest;
  do {
    manifest = split_at_random(onnx_io::testing::model_of(random_graph(random, 12)), 2, random, folder.path());
  } while (std::ranges::none_of(sent_tensors(manifest), [](const SentTensor& tensor) { return tensor.to == 1; }));
  testing::ThreadNetwork network(2);
  Result<RunResult> result = fail(ErrorCode::internal, "not run");
  const auto run = [&](std::size_t process) {
    LateMessages messages(network, process);
    RunOptions options;
    options.repeats = 3;
    options.messages = &messages;
    auto own = execution::run_parts(folder.path(), options);
    if (process == 0) result = std::move(own);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_FALSE(result->transfers.empty());
  for (const RunTransfer& transfer : result->transfers) {
    EXPECT_GT(transfer.median.count(), 0) << transfer.tensor;
    EXPECT_GT(transfer.end, transfer.start) << transfer.tensor;
  }
}

}  // namespace
}  // namespace xflow::execution
