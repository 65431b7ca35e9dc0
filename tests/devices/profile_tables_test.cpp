// Profiles of published tables of kernel times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/show.h"
#include "src/devices/profile/tables.h"
#include "src/ops/kernel_text.h"
#include "tests/devices/gpu_profile.h"

namespace xflow::cost::profile {
namespace {

using testing::gpu_profile;
using testing::kGpuHead;

constexpr std::string_view kHeadOfProducts = "device,latency_ms,kernel,B,M,N,K\n";

Result<Profile> made(const std::vector<Table>& tables, std::string_view device = "") { return profile_of_neusight(tables, device); }

std::string error_of(const std::string& file, const std::string& text, std::string_view device = "") {
  const auto profile = made({{file, text}}, device);
  return profile ? "no error" : profile.error().text();
}

std::string error_of_rows(const std::string& rows) { return error_of("bmm.csv", std::string(kHeadOfProducts) + rows); }

// The kernels of a table of one row, as the lines of a profile have them.
std::string kernels_of(const std::string& file, const std::string& text) {
  const Profile profile = made({{file, text}}).value();
  std::string lines;
  for (const auto& [key, entry] : profile.kernels) lines += fmt::format("{} {}\n", entry.cost.median.count(), key.first);
  return lines;
}

TEST(NeuSightTable, HasTheKernelOfEachOperator) {
  const std::string rows = "device,latency_ms,kernel,B,H\nGPU,0.5,k,6,8\n";
  EXPECT_EQ(kernels_of("add.csv", rows), "500000 pointwise/add(float32[6,8], float32[6,8]) -> float32[6,8]\n");
  EXPECT_EQ(kernels_of("mul.csv", rows), "500000 pointwise/mul(float32[6,8], float32[6,8]) -> float32[6,8]\n");
  EXPECT_EQ(kernels_of("relu.csv", rows), "500000 pointwise/relu(float32[6,8]) -> float32[6,8]\n");
  EXPECT_EQ(kernels_of("gelu.csv", rows), "500000 pointwise/gelu_erf(float32[6,8]) -> float32[6,8]\n");
  EXPECT_EQ(kernels_of("softmax.csv", rows), "500000 softmax(float32[6,8]) -> float32[6,8] axis=[1]\n");
  EXPECT_EQ(kernels_of("ln.csv", rows),
            "500000 normalization:layer(float32[6,8], const float32[8], const float32[8]) -> float32[6,8] axes=[1] "
            "epsilon=9.999999747378752e-06\n");
  const std::string products = std::string(kHeadOfProducts) + "GPU,0.5,k,1,6,8,4\n";
  EXPECT_EQ(kernels_of("some/folder/bmm.csv", products), "500000 matmul(float32[1,6,4], float32[1,4,8]) -> float32[1,6,8]\n");
  EXPECT_EQ(kernels_of("linear.csv", products),
            "500000 matmul(float32[6,4], const float32[4,8]) -> float32[6,8] | add(const float32[8])\n");
  EXPECT_EQ(kernels_of("linear.csv", std::string(kHeadOfProducts) + "GPU,0.5,k,3,6,8,4\n"),
            "500000 matmul(float32[3,6,4], const float32[4,8]) -> float32[3,6,8] | add(const float32[8])\n");
  EXPECT_EQ(kernels_of("conv.csv",
                       "device,latency_ms,kernel,B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n"
                       "GPU,0.5,\"void f<float, 3>\",2,3,4,3,8,1,1\n"),
            "500000 convolution(float32[2,3,8,8], const float32[4,3,3,3]) -> float32[2,4,8,8] strides=[1,1] pads=[1,1,1,1] dilations=[1,1] "
            "groups=[1]\n");
}

TEST(NeuSightTable, GivesAProfileThatIsReadAsItIsWritten) {
  const std::string rows = "device,latency_ms,kernel,B,H\r\nTesla P4,0.5,\"a \"\"quote\"\", and more\",600,8000\r\n";
  const Profile profile = made({{"add.csv", rows}, {"mul.csv", rows}}).value();
  const std::string text = to_text(profile);
  EXPECT_TRUE(
      text.starts_with("xflow profile 1\ndevice gpu\nmodel Tesla P4\nlibrary PyTorch 2.1, CUDA 12.1, cuDNN 8.9.2, float32\nthreads 1\n"
                       "clock time of the operator in PyTorch's profiler\n"
                       "source NeuSight (https://github.com/sitar-lab/NeuSight, tables as of commit 6945927): add.csv, mul.csv\n"
                       "licence MIT, Copyright 2025 Georgia Institute of Technology and Microsoft Corporation\n"
                       "roofline launch 500000\nroofline bandwidth 192000000000\nroofline peak float32 5699000000000\nroofline "
                       "multiprocessors 20\nroofline cache 2000000\nkernel "))
      << text;
  EXPECT_EQ(to_text(parse_profile(text, "p").value()), text);
}

TEST(NeuSightTable, HasNoRooflineForAnUnknownGpu) {
  EXPECT_FALSE(made({{"add.csv", "device,latency_ms,kernel,B,H\nGPU,0.5,k,6,8\n"}}).value().roofline.given());
}

TEST(NeuSightTable, CombinesAndMarksRepeatedRows) {
  const std::string head = "device,latency_ms,kernel,B,H\n";
  const auto line_of = [&](const std::string& rows) {
    const std::string text = to_text(made({{"relu.csv", head + rows}}).value());
    return text.substr(text.find(rows.empty() ? "" : "Corporation\n") + 12);
  };
  const std::string kernel = "pointwise/relu(float32[6,8]) -> float32[6,8]\n";
  EXPECT_EQ(line_of("GPU,0.05,k,6,8\nGPU,0.06,k,6,8\nGPU,0.052,k,6,8\n"), "kernel plain plain plain 52000 5000 3 0 1 " + kernel);
  EXPECT_EQ(line_of("GPU,0.05,k,6,8\nGPU,0.06,k,6,8\n"), "kernel plain plain plain 55000 5000 2 0 1 " + kernel);
  EXPECT_EQ(line_of("GPU,0.05,k,6,8\nGPU,0.063,k,6,8\n"), "contradicted plain plain plain 56500 6500 2 0 1 " + kernel);
  EXPECT_EQ(line_of("GPU,0.0299,k,6,8\n"), "at_floor plain plain plain 29900 0 1 0 1 " + kernel);
  EXPECT_EQ(line_of("GPU,0.03,k,6,8\n"), "kernel plain plain plain 30000 0 1 0 1 " + kernel);
}

TEST(NeuSightTable, GivesTheDeviceThatIsNamed) {
  const std::string head = "device,latency_ms,kernel,B,H\n";
  const std::string rows = head + "A100 40,0.5,k,6,8\nA100 80,0.6,k,6,8\nV100,0.7,k,6,8\n";
  EXPECT_EQ(made({{"add.csv", rows}}, "V1").value().device.model, "V100");
  EXPECT_EQ(made({{"add.csv", rows}}, "A100 80").value().kernels.begin()->second.cost.median.count(), 600000);
  EXPECT_EQ(error_of("add.csv", rows), "no device is chosen: expected one of 'A100 40', 'A100 80', 'V100'");
  EXPECT_EQ(error_of("add.csv", rows, "H100"), "the tables have no device 'H100': expected one of 'A100 40', 'A100 80', 'V100'");
  EXPECT_EQ(error_of("add.csv", rows, "A100"),
            "the tables have 2 devices with 'A100' in their names: expected one of 'A100 40', 'A100 80', 'V100'");
}

TEST(NeuSightTable, SaysWhereItIsMalformed) {
  EXPECT_EQ(error_of("bmm.csv", ""), "bmm.csv: the table has no rows");
  EXPECT_EQ(error_of("bmm.csv", std::string(kHeadOfProducts)), "bmm.csv: the table has no rows");
  EXPECT_EQ(error_of("bmm.csv.xz", "\xfd"), "bmm.csv.xz: the table is compressed: unpack it with xz -dk");
  EXPECT_EQ(
      error_of("gemm.csv", ""),
      "gemm.csv: expected the name of an operator as the name of the table (add, bmm, conv, gelu, linear, ln, mul, relu, softmax), found "
      "'gemm'");
  EXPECT_EQ(error_of("bmm.csv", "device,latency_us,kernel,B,M,N,K\n"), "bmm.csv:1: expected 'latency_ms' as column 2, found 'latency_us'");
  EXPECT_EQ(error_of("bmm.csv", "device,latency_ms,kernel,M,N,K\n"), "bmm.csv:1: expected 'B' as column 4, found 'M'");
  EXPECT_EQ(error_of("bmm.csv", "device,latency_ms,kernel,B,M,N\n"), "bmm.csv:1: expected 7 columns, found 6");
  EXPECT_EQ(error_of_rows("GPU,0.5,k,1,6,8\n"), "bmm.csv:2: expected 7 fields, found 6");
  EXPECT_EQ(error_of_rows("GPU,0.5,k,1,6,8,4\nGPU,0.5,k,1,6,8,4"), "bmm.csv:3: the last line does not end: the table is truncated");
  EXPECT_EQ(error_of_rows("GPU,0.5,\"k,1,6,8,4\n"), "bmm.csv:2: a quote that does not end");
  EXPECT_EQ(error_of_rows(",0.5,k,1,6,8,4\n"), "bmm.csv:2: expected the name of a device, found ''");
  for (const std::string time : {"0", "-0.5", "nan", "inf", "fast", "0.5ms", ""})
    EXPECT_EQ(error_of_rows("GPU," + time + ",k,1,6,8,4\n"),
              "bmm.csv:2: expected a time in milliseconds, more than 0, found '" + time + "'");
  for (const std::string size : {"0", "-6", "6.5", "", "1000000001", "99999999999999999999"})
    EXPECT_EQ(error_of_rows("GPU,0.5,k,1," + size + ",8,4\n"),
              "bmm.csv:2: expected M as a whole number from 1 to 1000000000, found '" + size + "'");
  EXPECT_EQ(
      error_of("conv.csv",
               "device,latency_ms,kernel,B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\nGPU,0.5,k,1,1,1,9,3,1,1\n"),
      "conv.csv:2: expected a window that is not larger than the padded input");
}

TEST(NeuSightTable, IsRefusedWithTimesInAnotherUnit) {
  EXPECT_EQ(error_of_rows("Tesla P4,12,k,1,4096,4096,4096\n"), "no error");
  EXPECT_EQ(error_of_rows("Tesla P4,0.03,k,1,4096,4096,4096\n"),
            "bmm.csv:2: expected a time in milliseconds, found '0.03', but Tesla P4 takes about 24.1163 ms for this kernel");
  EXPECT_EQ(error_of_rows("Tesla P4,30000,k,1,4096,4096,4096\n"),
            "bmm.csv:2: expected a time in milliseconds, found '30000', but Tesla P4 takes about 24.1163 ms for this kernel");
}

std::string matmul_line(std::string_view kind, double time, int m, int n = 16) {
  return fmt::format("{0} plain plain plain {1} 1 30 0 1 matmul(float32[{2},64], const float32[64,{3}]) -> float32[{2},{3}]\n", kind, time,
                     m, n);
}

std::string kernel_lines() {
  std::string lines;
  for (int m = 100; m <= 1000; m += 100) lines += matmul_line("kernel", 1000.0 * m, m);
  return lines;
}

double time_of(const std::string& lines, int m) {
  const std::string text = fmt::format("matmul(float32[{0},64], const float32[64,16]) -> float32[{0},16]", m);
  ProfileDevice device(gpu_profile(lines));
  return device.measure(ops::parse_kernel(text).value(), Layout::plain).value().median.count();
}

TEST(MarkedKernel, IsInNoModel) {
  const std::string marked = matmul_line("at_floor", 50000, 1) + matmul_line("contradicted", 5, 500, 32);
  EXPECT_EQ(samples_of(gpu_profile(kernel_lines() + marked)).size(), samples_of(gpu_profile(kernel_lines())).size());
}

TEST(MarkedKernel, AtTheFloorTakesItsTimeAndBoundsModelledTimes) {
  const std::string marked = matmul_line("at_floor", 50000, 1) + matmul_line("at_floor", 52000, 2) + matmul_line("at_floor", 54000, 3);
  EXPECT_EQ(time_of(kernel_lines() + marked, 3), 54000);
  EXPECT_LT(time_of(kernel_lines(), 5), 40000);
  EXPECT_EQ(time_of(kernel_lines() + marked, 5), 52000);
  EXPECT_EQ(time_of(kernel_lines() + marked, 5000), time_of(kernel_lines(), 5000));
}

TEST(MarkedKernel, ThatIsContradictedIsModelled) {
  const std::string lines = kernel_lines();
  EXPECT_EQ(time_of(lines + matmul_line("contradicted", 5, 5), 5), time_of(lines, 5));
}

TEST(MarkedKernel, IsShownMergedAndPruned) {
  const std::string lines = matmul_line("at_floor", 50000, 1) + matmul_line("contradicted", 5, 5);
  Profile profile = gpu_profile(lines + kernel_lines());
  EXPECT_NE(describe(profile).find("kernels     12 with times, 0 refused\n            1 at the launch floor, which models leave out\n"
                                   "            1 whose measurements contradict each other, which are modelled\n"),
            std::string::npos)
      << describe(profile);
  Profile other = gpu_profile(kernel_lines());
  ASSERT_TRUE(merge(other, profile));
  EXPECT_EQ(to_text(other), to_text(profile));
  // A marked measurement that replaces another brings its mark.
  Profile provisional =
      gpu_profile("kernel plain plain plain 60000 1 30 0.5 1 matmul(float32[1,64], const float32[64,16]) -> float32[1,16]\n");
  ASSERT_TRUE(merge(provisional, gpu_profile(lines)));
  EXPECT_EQ(provisional.count(Mark::at_floor), 1U);
  prune(profile, {.only = "float32[5,64]"});
  EXPECT_EQ(to_text(profile), std::string(kGpuHead) + matmul_line("contradicted", 5, 5));
  EXPECT_EQ(profile.count(Mark::at_floor), 0U);
}

TEST(Profile, NamesTheSourcesOfBothThatAreMerged) {
  Profile a = gpu_profile("source A\nlicence MIT\n");
  ASSERT_TRUE(merge(a, gpu_profile("source B\nlicence MIT\n")));
  EXPECT_EQ(a.source, "A; B");
  EXPECT_EQ(a.licence, "MIT");
  EXPECT_NE(describe(a).find("\nsource      A; B\nlicence     MIT\n"), std::string::npos) << describe(a);
}

}  // namespace
}  // namespace xflow::cost::profile
