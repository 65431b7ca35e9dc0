// What is said of devices of the caller that answer nonsense.
#include "src/devices/own/own_device.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/devices/own/own_executor.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::own {
namespace {

// Answers as the test sets it.
struct Answers {
  Result<xflow::Nanoseconds> launch = xflow::Nanoseconds(5);
  bool loads = true;
  xflow::Nanoseconds run{7};
  ModelTensor output{"y", xflow::DataType::float32, {2}, std::vector<std::byte>(8)};
};

class AnsweringModel final : public LoadedModel {
 public:
  explicit AnsweringModel(const Answers& answers) : answers_(answers) {}
  Result<xflow::Nanoseconds> time(std::span<const ModelTensor> /*inputs*/, int /*repeats*/) override { return answers_.run; }
  Result<std::vector<ModelTensor>> outputs(std::span<const ModelTensor> /*inputs*/) override { return std::vector{answers_.output}; }

 private:
  const Answers& answers_;
};

class Answering final : public xflow::Device {
 public:
  explicit Answering(const Answers& answers) : answers_(answers) {}
  std::string name() const override { return "answering 1"; }
  Result<xflow::Nanoseconds> measure(const xflow::Kernel& /*kernel*/) override { return answers_.launch; }
  bool runs_models() const override { return true; }
  Result<std::unique_ptr<LoadedModel>> load(std::string_view /*model*/, const std::string& /*path*/) override {
    if (!answers_.loads) return std::unique_ptr<LoadedModel>();
    return std::unique_ptr<LoadedModel>(std::make_unique<AnsweringModel>(answers_));
  }

 private:
  const Answers& answers_;
};

class OwnDeviceTest : public ::testing::Test {
 protected:
  OwnDeviceTest() {
    program_ = executor_.add({"", ""});
    executor_.add_inputs({});
  }
  std::string refusal_of_launch() {
    const ops::TensorSpec tensor{ir::DataType::float32, {4}, false};
    const auto cost = device_.measure(ops::made_kernel("softmax", "", {tensor}, {tensor}), Layout::plain);
    return cost ? "" : cost.error().text();
  }
  std::string refusal_of_run() {
    const auto times = executor_.run(program_, 0, 1);
    return times ? "" : times.error().text();
  }
  std::string refusal_of_outputs() {
    const auto outputs = executor_.outputs(program_, 0);
    return outputs ? "" : outputs.error().text();
  }

  Answers answers_;
  std::shared_ptr<xflow::Device> answering_ = std::make_shared<Answering>(answers_);
  OwnDevice device_{answering_, 2};
  OwnExecutor executor_{answering_, 2};
  ProgramId program_{};
};

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

TEST_F(OwnDeviceTest, IsKnownByItsName) {
  EXPECT_EQ(device_.info().model, "answering 1");
  EXPECT_EQ(device_.info().threads, 2);
  EXPECT_EQ(executor_.info().model, "answering 1");
}

TEST_F(OwnDeviceTest, TakesTimesThatAreNumbersFromZero) {
  EXPECT_EQ(refusal_of_launch(), "");
  answers_.launch = xflow::Nanoseconds(0);
  EXPECT_EQ(refusal_of_launch(), "");
  answers_.launch = xflow::Nanoseconds(-1);
  EXPECT_EQ(refusal_of_launch(), "device 'answering 1' says that softmax takes -1 ns");
  answers_.launch = xflow::Nanoseconds(kNoNumber);
  EXPECT_EQ(refusal_of_launch(), "device 'answering 1' says that softmax takes nan ns");
  answers_.launch = fail(ErrorCode::unsupported, "there is no softmax");
  EXPECT_EQ(refusal_of_launch(), "cannot run softmax here: there is no softmax");
  device_.stop_when([] { return true; });
  EXPECT_EQ(refusal_of_launch(), "cannot run softmax here: time is over");
}

TEST_F(OwnDeviceTest, TakesTimesOfRunsThatAreNumbersFromZero) {
  EXPECT_EQ(refusal_of_run(), "");
  answers_.run = xflow::Nanoseconds(-2);
  EXPECT_EQ(refusal_of_run(), "device 'answering 1' says that a run takes -2 ns");
  answers_.run = xflow::Nanoseconds(kNoNumber);
  EXPECT_EQ(refusal_of_run(), "device 'answering 1' says that a run takes nan ns");
}

TEST_F(OwnDeviceTest, HasToLoadAModel) {
  answers_.loads = false;
  EXPECT_EQ(refusal_of_run(), "device 'answering 1' loaded no model");
  EXPECT_EQ(refusal_of_outputs(), "device 'answering 1' loaded no model");
}

TEST_F(OwnDeviceTest, HasToGiveOutputsOfTheirSizes) {
  EXPECT_EQ(refusal_of_outputs(), "");
  answers_.output.bytes.resize(7);
  EXPECT_EQ(refusal_of_outputs(), "output 'y' has 7 bytes, expected 8");
  answers_.output.dims = {-2};
  EXPECT_EQ(refusal_of_outputs(), "output 'y' has a dimension of -2");
}

}  // namespace
}  // namespace xflow::cost::own
