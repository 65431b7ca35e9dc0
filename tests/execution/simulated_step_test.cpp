// The simulated step of parts that send before they end and wait after they began.
#include "src/execution/simulated_step.h"

#include <gtest/gtest.h>

#include "tests/execution/split_folder.h"

namespace xflow::execution {
namespace {

using onnx_io::testing::TemporaryFolder;

// Links of one second and a byte a second.
constexpr const char* kPair = R"({"name": "pair", "devices": [{"name": "a", "kind": "core", "memory": 1e10, "cpu": {}},
  {"name": "b", "kind": "core", "memory": 1e10, "cpu": {}}], "inside": {"latency": 1, "bandwidth": 1}})";

class SimulatedStep : public ::testing::Test {
 protected:
  void SetUp() override {
    write(folder.file("pair.json"), kPair);
    manifest.devices = {"a", "b"};
  }
  void add(std::size_t device, double seconds, std::vector<PartTensor> inputs, std::vector<std::string> outputs) {
    manifest.parts.push_back({device, "part.onnx", 1, std::move(inputs), std::move(outputs)});
    RunPart part;
    part.device = device;
    part.predicted = Seconds(seconds);
    parts.push_back(part);
  }
  double step(const std::vector<double>& bytes, const std::vector<double>& complete, const std::vector<double>& needed) const {
    const std::vector<SentTensor> sent = sent_tensors(manifest);
    EXPECT_EQ(sent.size(), bytes.size());
    const auto simulated = simulated_step(folder.file("pair.json"), manifest, parts, {sent, bytes, complete, needed});
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
  manifest.devices = {"a", "b"};
  add(0, 4, {}, {"u"});
  add(1, 1, {{"u", 0, false}}, {"v"});
  add(1, 1, {{"u", 0, false}}, {"w"});
  EXPECT_DOUBLE_EQ(step({1}, {4}, {0}), 8);
}

}  // namespace
}  // namespace xflow::execution
