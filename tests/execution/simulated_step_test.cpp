// The simulated step of parts that send before they end and wait after they began.
#include "src/execution/simulated_step.h"

#include <gtest/gtest.h>

#include "tests/execution/split_folder.h"

namespace xflow::execution {
namespace {

using onnx_io::testing::TemporaryFolder;

// Links of one second and a byte a second, between devices of which this is the cost.
std::string pair_of(const char* cost) {
  return fmt::format(R"({{"name": "pair", "devices": [{{"name": "a", "kind": "core", "memory": 1e10, {0}}},
  {{"name": "b", "kind": "core", "memory": 1e10, {0}}}], "inside": {{"latency": 1, "bandwidth": 1}}}})",
                     cost);
}

class SimulatedStep : public ::testing::Test {
 protected:
  void SetUp() override {
    write(folder.file("cpus.json"), pair_of(R"("cpu": {})"));
    write(folder.file("links.json"), pair_of(R"("roofline": {"launch": 0, "bandwidth": 1, "operations": 1})"));
    manifest.devices = {"a", "b"};
  }
  void add(std::size_t device, double seconds, std::vector<PartTensor> inputs, std::vector<std::string> outputs) {
    manifest.parts.push_back({device, "part.onnx", 1, std::move(inputs), std::move(outputs)});
    RunPart part;
    part.device = device;
    part.predicted = Seconds(seconds);
    parts.push_back(part);
  }
  double step(const std::vector<double>& bytes, const std::vector<double>& complete, const std::vector<double>& needed,
              const std::string& cluster = "links.json") const {
    const std::vector<SentTensor> sent = sent_tensors(manifest);
    EXPECT_EQ(sent.size(), bytes.size());
    const auto simulated = simulated_step(folder.file(cluster), manifest, parts, {sent, bytes, complete, needed});
    EXPECT_TRUE(simulated) << simulated.error().text();
    return simulated->count();
  }

  const TemporaryFolder folder;
  PartManifest manifest;
  std::vector<RunPart> parts;
};

TEST_F(SimulatedStep, APartComputesWhileItsInputIsComing) {
  add(0, 8, {}, {"u"});
  add(1, 6, {{"u", 0, false}}, {"y"});
  // Sent at the end and needed at once: 8, 1 + 2 for the transfer, 6.
  EXPECT_DOUBLE_EQ(step({2}, {8}, {0}), 17);
  // Sent after 3: there at 6.
  EXPECT_DOUBLE_EQ(step({2}, {3}, {0}), 12);
  // Needed after 4: 11 + 2.
  EXPECT_DOUBLE_EQ(step({2}, {8}, {4}), 13);
  EXPECT_DOUBLE_EQ(step({2}, {3}, {4}), 8);
  // The step ends with the arrival of what no kernel reads.
  EXPECT_DOUBLE_EQ(step({2}, {8}, {6}), 11);
  // An output that is an input leaves at once.
  EXPECT_DOUBLE_EQ(step({2}, {0}, {0}), 9);
}

TEST_F(SimulatedStep, CpusCopyTensorsThemselves) {
  add(0, 8, {}, {"u"});
  add(1, 6, {{"u", 0, false}}, {"y"});
  // The time until the tensor is there is that of the link, and each device spends half of it.
  EXPECT_DOUBLE_EQ(step({2}, {8}, {0}, "cpus.json"), 17);
  EXPECT_DOUBLE_EQ(step({2}, {3}, {0}, "cpus.json"), 12);
  // a computes 3, copies 1.5 and computes 5; b computes 4, copies 1.5 and computes 2.
  EXPECT_DOUBLE_EQ(step({2}, {3}, {4}, "cpus.json"), 9.5);
  // b computes 4, copies 1.5 and computes 2 while a computes 1, copies 1.5 and computes 2.
  parts[0].predicted = Seconds(3);
  EXPECT_DOUBLE_EQ(step({2}, {1}, {4}, "cpus.json"), 7.5);
}

TEST_F(SimulatedStep, PartsOfADeviceRunInTheirOrder) {
  add(0, 4, {}, {"u"});
  add(1, 1, {{"u", 0, false}}, {"v"});
  add(1, 2, {}, {"w"});
  add(0, 3, {{"v", 1, false}, {"w", 2, false}}, {"y"});
  // The second part of b could begin at once, but follows the first: 4 + 1 + 1 + 2, a transfer of 1, and 3.
  EXPECT_DOUBLE_EQ(step({0, 0, 0}, {4, 1, 2}, {0, 0, 0}), 12);
  // Both transfers to a were under way while b computed, and a needs the second one after 2.
  EXPECT_DOUBLE_EQ(step({0, 0, 0}, {4, 1, 2}, {0, 0, 2}), 10);
}

TEST_F(SimulatedStep, ATensorOfTwoReadersIsReadByBoth) {
  add(0, 4, {}, {"u"});
  add(1, 1, {{"u", 0, false}}, {"v"});
  add(1, 1, {{"u", 0, false}}, {"w"});
  EXPECT_DOUBLE_EQ(step({1}, {4}, {0}), 8);
}

}  // namespace
}  // namespace xflow::execution
