// Runs of parts in one process and in several, which threads stand for.
#include "src/execution/run_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <random>

#include "src/execution/measure_cluster.h"
#include "tests/execution/split_folder.h"
#include "tests/execution/thread_messages.h"

namespace xflow::execution {
namespace {

using onnx_io::testing::TemporaryFolder;

TEST(RunParts, SeveralProcessesComputeWhatOneDoesAndTheModel) {
  std::mt19937 random(1);
  for (int run = 0; run < 12; ++run) {
    const TemporaryFolder folder;
    const std::uint32_t devices = 2 + run % 3;
    const std::string bytes = onnx_io::testing::model_of(random_graph(random, devices + random() % 12));
    write(folder.file("model.onnx"), bytes);
    const PartManifest manifest = split_at_random(bytes, devices, random, folder.path());
    RunOptions options;
    options.repeats = 3;
    options.seed = static_cast<std::uint64_t>(run);
    options.check_against = folder.file("model.onnx");
    const auto alone = execution::run_parts(folder.path(), options);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_TRUE(alone->check->equal) << alone->check->difference;
    const auto results = xflow::testing::run_in_threads(devices, folder.path(), options);
    for (const auto& result : results) ASSERT_TRUE(result) << result.error().text();
    EXPECT_TRUE(results[0]->check->equal) << results[0]->check->difference;
    EXPECT_EQ(results[0]->processes, devices);
    ASSERT_EQ(results[0]->outputs.size(), alone->outputs.size());
    for (std::size_t k = 0; k < alone->outputs.size(); ++k) EXPECT_EQ(results[0]->outputs[k].type, alone->outputs[k].type);
    EXPECT_TRUE(results[1]->outputs.empty());
    // Each part and transfer has times in their order.
    for (std::size_t k = 0; k < manifest.parts.size(); ++k) {
      EXPECT_GE(results[0]->parts[k].start.count(), 0);
      EXPECT_GE(results[0]->parts[k].end, results[0]->parts[k].start);
      EXPECT_LE(results[0]->parts[k].end, results[0]->step);
    }
    for (const RunTransfer& transfer : results[0]->transfers) EXPECT_EQ(transfer.bytes, 6 * sizeof(float));
    EXPECT_EQ(alone->transfers.size(), 0U);
  }
}

TEST(RunParts, ErrorsOfOneProcessAreThoseOfAll) {
  std::mt19937 random(2);
  const TemporaryFolder folder;
  const std::string bytes = onnx_io::testing::model_of(random_graph(random, 8));
  const PartManifest manifest = split_at_random(bytes, 2, random, folder.path());
  const auto three = xflow::testing::run_in_threads(3, folder.path(), {});
  for (const auto& result : three) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(result.error().message, "the parts are for 2 devices (d0, d1), but there are 3 processes; start 2, or one without mpirun");
  }
  // Only one process reads the last part.
  write(folder.file(manifest.parts.back().file), "no model");
  const auto results = xflow::testing::run_in_threads(2, folder.path(), {});
  ASSERT_FALSE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[0].error(), results[1].error());
  EXPECT_EQ(results[0].error().code, ErrorCode::unreadable);
}

// Messages that hold back the first tensor that this process receives until it has begun to compute, and 20 ms
// longer.
class LateTensor final : public xflow::testing::ThreadMessages {
 public:
  using ThreadMessages::ThreadMessages;
  std::size_t receive(std::size_t from, int tag, std::byte* bytes, std::size_t size) override {
    const std::size_t transfer = ThreadMessages::receive(from, tag, bytes, size);
    if (!late_) late_ = transfer;
    return transfer;
  }
  bool is_done(std::size_t transfer) override {
    if (transfer != late_) return ThreadMessages::is_done(transfer);
    if (!begin_ && kernels() > 0) begin_ = std::chrono::steady_clock::now();
    const bool is_late = begin_ && std::chrono::steady_clock::now() - *begin_ < std::chrono::milliseconds(20);
    // Without an end, a run that computes nothing before would wait for ever.
    if (is_late || (!begin_ && ++questions_ < 1'000'000)) return false;
    return ThreadMessages::is_done(transfer);
  }
  bool had_begun() const { return begin_.has_value(); }

 private:
  std::optional<std::size_t> late_;
  std::optional<std::chrono::steady_clock::time_point> begin_;
  int questions_ = 0;
};

TEST(RunParts, KernelsRunBeforeAllInputsHaveArrived) {
  const TemporaryFolder folder;
  onnx_io::testing::GraphParts graph;
  graph.inputs = {onnx_io::testing::float_info("x", {3, 3})};
  graph.outputs = {onnx_io::testing::float_info("y", {3, 3})};
  // The second device reads `late` in its first node, so that it is the first tensor that it receives.
  graph.nodes = {onnx_io::testing::node("MatMul", "", {"x", "x"}, {"early"}),
                 onnx_io::testing::node("MatMul", "", {"early", "x"}, {"late"}),
                 onnx_io::testing::node("MatMul", "", {"late", "late"}, {"a"}),
                 onnx_io::testing::node("MatMul", "", {"early", "early"}, {"b"}), onnx_io::testing::node("MatMul", "", {"a", "b"}, {"y"})};
  const std::string bytes = onnx_io::testing::model_of(graph);
  write(folder.file("model.onnx"), bytes);
  split(bytes, {0, 0, 1, 1, 1}, 2, folder.path());
  RunOptions options;
  options.warm_ups = 0;
  options.check_against = folder.file("model.onnx");
  xflow::testing::ThreadNetwork network(2);
  std::vector<Result<RunResult>> results(2, fail(ErrorCode::internal, "not run"));
  LateTensor late(network, 1);
  std::thread reader([&] {
    RunOptions own = options;
    own.messages = &late;
    results[1] = execution::run_parts(folder.path(), own);
  });
  xflow::testing::ThreadMessages messages(network, 0);
  options.messages = &messages;
  results[0] = execution::run_parts(folder.path(), options);
  reader.join();
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(results[0]->check->equal) << results[0]->check->difference;
  EXPECT_TRUE(late.had_begun());
  // The part's own time leaves out that it waited.
  const RunPart& part = results[0]->parts[1];
  EXPECT_EQ(part.kernels, 3U);
  EXPECT_GE((part.end - part.start).count(), 0.02);
  EXPECT_LE(part.median.count(), (part.end - part.start).count() - 0.015);
}

// Messages whose first broadcast finds no memory.
class OutOfMemory final : public xflow::testing::ThreadMessages {
 public:
  using ThreadMessages::ThreadMessages;
  std::string broadcast(std::size_t /*from*/, const std::string& /*text*/) override { throw std::bad_alloc(); }
};

TEST(RunParts, AnExceptionEndsAllProcesses) {
  std::mt19937 random(3);
  const TemporaryFolder folder;
  split_at_random(onnx_io::testing::model_of(random_graph(random, 4)), 2, random, folder.path());
  xflow::testing::ThreadNetwork network(2);
  OutOfMemory messages(network, 1);
  RunOptions options;
  options.messages = &messages;
  const auto result = execution::run_parts(folder.path(), options);
  ASSERT_FALSE(result);
  ASSERT_EQ(network.aborted.size(), 1U);
  EXPECT_EQ(network.aborted[0], ": " + result.error().text());
  EXPECT_EQ(result.error().code, ErrorCode::limit);
}

TEST(RunParts, RefusesNoSteps) {
  RunOptions options;
  options.repeats = 0;
  EXPECT_EQ(execution::run_parts("none", options).error().text(), "expected at least one step, and no negative number of warm-up steps");
}

TEST(FitLink, FindsTheLatencyAndTheBandwidth) {
  std::vector<MeasuredCluster::Sample> samples;
  for (std::size_t bytes = 1000; bytes < 10'000'000; bytes *= 3)
    samples.push_back({bytes, Seconds(5e-6 + static_cast<double>(bytes) / 2e9)});
  const auto [latency, per_byte] = fit_link(samples);
  EXPECT_NEAR(latency, 5e-6, 1e-10);
  EXPECT_NEAR(per_byte, 1 / 2e9, 1e-14);
}

TEST(FitLink, NeitherIsNegative) {
  // Times that grow faster than the bytes, and times that fall.
  const std::vector<MeasuredCluster::Sample> steep = {{1000, Seconds(1e-6)}, {2000, Seconds(4e-6)}};
  EXPECT_EQ(fit_link(steep).first, 0);
  EXPECT_GT(fit_link(steep).second, 0);
  const std::vector<MeasuredCluster::Sample> falling = {{1000, Seconds(4e-6)}, {2000, Seconds(1e-6)}};
  EXPECT_GT(fit_link(falling).first, 0);
  EXPECT_EQ(fit_link(falling).second, 0);
  const std::vector<MeasuredCluster::Sample> single = {{1000, Seconds(1e-6)}};
  EXPECT_NEAR(fit_link(single).second, 1e-9, 1e-15);
}

TEST(MeasureCluster, IsOfAllProcesses) {
  xflow::testing::ThreadNetwork network(3);
  std::vector<Result<MeasuredCluster>> clusters(3, fail(ErrorCode::internal, "not run"));
  std::vector<std::thread> threads;
  for (std::size_t process = 0; process < 3; ++process) {
    threads.emplace_back([&, process] {
      xflow::testing::ThreadMessages messages(network, process);
      clusters[process] = execution::measure_cluster(messages);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& cluster : clusters) ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(clusters[0]->name, "cpu-3");
  EXPECT_EQ(clusters[0]->host, (std::vector<std::uint32_t>{0, 0, 0}));
  ASSERT_TRUE(clusters[0]->inside);
  EXPECT_FALSE(clusters[0]->across);
  EXPECT_EQ(clusters[0]->inside->samples.size(), 14U);
  xflow::testing::ThreadNetwork alone(1);
  xflow::testing::ThreadMessages messages(alone, 0);
  EXPECT_EQ(execution::measure_cluster(messages).error().text(), "links are measured between processes; start two or more by mpirun");
}

}  // namespace
}  // namespace xflow::execution
