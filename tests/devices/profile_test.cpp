#include "src/devices/profile/profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "src/cost/cost_model.h"
#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/show.h"
#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::profile {
namespace {

constexpr std::string_view kHead = "xflow profile 1\ndevice npu\nmodel NPU 7\nlibrary vendor 2.1\nthreads 1\nclock its own\n";

// What follows the head of a profile.
Result<Profile> read_lines(const std::string& lines) { return parse_profile(std::string(kHead) + lines, "npu.xprof"); }
std::string error_of_lines(const std::string& lines) {
  const auto profile = read_lines(lines);
  return profile ? "no error" : profile.error().text();
}

std::string matmul(int m, int k, int n) {
  return fmt::format("matmul(float32[{0},{1}], const float32[{1},{2}]) -> float32[{0},{2}]", m, k, n);
}
std::string kernel_line(double time, const std::string& kernel, double interference = 0) {
  return fmt::format("kernel plain plain plain {} 1 30 {} 1 {}\n", time, interference, kernel);
}
// Products that take 300 ns, and 1 ns for 4 operations.
double true_time(int m, int k, int n) { return 300 + 0.5 * m * k * n; }
std::string products() {
  std::string lines;
  for (const int m : {1, 3, 8, 40})
    for (const int k : {16, 64, 200})
      for (const int n : {16, 100}) lines += kernel_line(true_time(m, k, n), matmul(m, k, n));
  return lines;
}

constexpr const char* kAttention =
    "attention(bfloat16[3,40,16], bfloat16[3,48,16], bfloat16[3,48,8]) -> bfloat16[3,40,8] perm=[0,2,1] scale=0.25";

ops::KernelSpec spec_of(const std::string& text) { return ops::parse_kernel(text).value(); }

TEST(Profile, IsReadAsItIsWritten) {
  const std::string text =
      std::string(kHead) +
      "roofline launch 5000\nroofline bandwidth 400000000000\nroofline peak float32 10000000000000\nroofline peak float16 1e+20\n"
      "roofline group_channels 32\nroofline multiprocessors 80\nroofline cache 6000000\n"
      "views 64 slice split\n"
      "kernel any channels_last blocked8 812.5 12.25 45 0.02 3 convolution(float32[1,3,8,8], const float32[4,3,3,3]) -> "
      "float32[1,4,6,6] groups=[1] | clip{0,6} | add(float32[1,4,1,1])\n" +
      kernel_line(400, matmul(1, 2, 3)) + "refused plain sort(float32[4]) -> float32[4]\tcannot run it here: no kernel\n";
  const auto profile = parse_profile(text, "npu.xprof");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(to_text(*profile), text);
  EXPECT_EQ(profile->device.model, "NPU 7");
  EXPECT_EQ(profile->kernels.size(), 3U);
}

TEST(Profile, IsSortedAndTakesLinesInAnyOrder) {
  const auto a = read_lines(kernel_line(1, matmul(1, 2, 3)) + "\n# a comment\n" + kernel_line(2, matmul(1, 2, 4)));
  const auto b = read_lines(kernel_line(2, matmul(1, 2, 4)) + kernel_line(1, matmul(1, 2, 3)));
  EXPECT_EQ(to_text(a.value()), to_text(b.value()));
}

TEST(Profile, SaysWhereItIsMalformed) {
  EXPECT_EQ(parse_profile("", "p").error().text(), "p:1: expected 'xflow profile 1', found nothing");
  EXPECT_EQ(parse_profile("SQLite format 3", "p").error().text(), "p:1: expected 'xflow profile 1', found 'SQLite format 3'");
  EXPECT_EQ(parse_profile("xflow profile 1x\n", "p").error().text(), "p:1: expected 'xflow profile 1', found 'xflow profile 1x'");
  EXPECT_EQ(parse_profile("xflow profile 2\n", "p").error().text(),
            "p:1: the profile has version 2, this xflow supports up to 1: use a newer xflow");
  EXPECT_EQ(parse_profile("xflow profile 1\ndevice d\nmodel m\nthreads 1\n", "p").error().text(), "p: the profile has no line 'library'");
  EXPECT_EQ(error_of_lines("device gpu\n"), "npu.xprof:7: a second 'device'");
  EXPECT_EQ(error_of_lines("kernels plain\n"),
            "npu.xprof:7: expected device, model, library, threads, clock, source, licence, roofline, views, kernel, at_floor, "
            "contradicted, refused or # (a comment), found 'kernels'");
  EXPECT_EQ(error_of_lines("views\n"), "npu.xprof:7: expected an alignment in bytes, 1 or more, found ''");
  EXPECT_EQ(error_of_lines("views 0 split\n"), "npu.xprof:7: expected an alignment in bytes, 1 or more, found '0'");
  EXPECT_EQ(error_of_lines("views 1\n"), "npu.xprof:7: expected slice or split, found ''");
  EXPECT_EQ(error_of_lines("views 1 split concat\n"), "npu.xprof:7: expected slice or split, found 'concat'");
  EXPECT_EQ(error_of_lines("views 1 split split\n"), "npu.xprof:7: a second split");
  EXPECT_EQ(error_of_lines("views 1 split\nviews 1 slice\n"), "npu.xprof:8: a second 'views'");
  EXPECT_EQ(error_of_lines("kernel square\n"), "npu.xprof:7: expected a layout (plain, channels_last, ...), found 'square'");
  EXPECT_EQ(error_of_lines("kernel plain plain plain fast 0 0 0 1 x\n"), "npu.xprof:7: expected a median in nanoseconds, found 'fast'");
  EXPECT_EQ(error_of_lines("kernel plain plain plain -1 0 0 0 1 x\n"), "npu.xprof:7: expected a median in nanoseconds, found '-1'");
  EXPECT_EQ(error_of_lines("kernel plain plain plain nan 0 0 0 1 x\n"), "npu.xprof:7: expected a median in nanoseconds, found 'nan'");
  EXPECT_EQ(error_of_lines("kernel plain plain plain 1 0 0 0 0 x\n"), "npu.xprof:7: expected a number of attempts, found '0'");
  EXPECT_EQ(error_of_lines(kernel_line(1, "matmul(float32[1,2]")),
            "npu.xprof:7: kernel 'matmul(float32[1,2]': expected ')' at byte 19, found the end");
  EXPECT_EQ(error_of_lines(kernel_line(1, "softmax(float32[-4]) -> float32[4]")),
            "npu.xprof:7: kernel 'softmax(float32[-4]) -> float32[4]': expected sizes of tensors that a machine may hold");
  EXPECT_EQ(error_of_lines(kernel_line(1, matmul(1, 2, 3)) + kernel_line(2, matmul(1, 2, 3))),
            "npu.xprof:8: a second line for this kernel in layout plain");
  EXPECT_EQ(error_of_lines("refused plain sort(float32[4]) -> float32[4]\n"),
            "npu.xprof:7: expected the kernel, a tab, and the reason why it was refused");
  EXPECT_EQ(error_of_lines("roofline speed 3\n"),
            "npu.xprof:7: expected launch, bandwidth, peak, group_channels, multiprocessors or cache, found 'speed'");
  EXPECT_EQ(error_of_lines("roofline multiprocessors 0\n"), "npu.xprof:7: expected a number of multiprocessors, 1 or more, found '0'");
  EXPECT_EQ(error_of_lines("roofline cache 0.5\n"), "npu.xprof:7: expected bytes of a cache, 1 or more, found '0.5'");
  EXPECT_EQ(error_of_lines("roofline cache 8\nroofline cache 8\n"), "npu.xprof:8: a second 'roofline cache'");
  EXPECT_EQ(error_of_lines("roofline multiprocessors 8\nroofline multiprocessors 8\n"), "npu.xprof:8: a second 'roofline multiprocessors'");
  EXPECT_EQ(error_of_lines("roofline multiprocessors 8\n"),
            "npu.xprof: the profile has lines 'roofline', but none of them says the bandwidth");
  EXPECT_EQ(error_of_lines("roofline bandwidth 0\n"), "npu.xprof:7: expected bytes a second, more than 0, found '0'");
  EXPECT_EQ(error_of_lines("roofline peak float31 1\n"), "npu.xprof:7: expected a data type, found 'float31'");
  EXPECT_EQ(error_of_lines("roofline group_channels 0\n"), "npu.xprof:7: expected a number of channels, 1 or more, found '0'");
  EXPECT_EQ(error_of_lines("roofline group_channels 1.5\n"), "npu.xprof:7: expected a number of channels, 1 or more, found '1.5'");
  EXPECT_EQ(error_of_lines("roofline group_channels 8\nroofline group_channels 8\n"), "npu.xprof:8: a second 'roofline group_channels'");
  EXPECT_EQ(error_of_lines("roofline group_channels 8\n"),
            "npu.xprof: the profile has lines 'roofline', but none of them says the bandwidth");
  EXPECT_EQ(error_of_lines("roofline launch 3 ns\n"), "npu.xprof:7: expected the end of the line, found 'ns'");
  EXPECT_EQ(error_of_lines("roofline launch 3\n"), "npu.xprof: the profile has lines 'roofline', but none of them says the bandwidth");
  EXPECT_EQ(read_profile("/nowhere/p").error().text(), "/nowhere/p: cannot read the profile");
}

TEST(Profile, MangledIsAProfileOrAnErrorOfALine) {
  const std::string text = std::string(kHead) + "roofline launch 5\nroofline bandwidth 4e+11\nroofline peak float32 1e+13\n" + products() +
                           kernel_line(3, "reorder:plain>channels_last(float32[1,3,8,8]) -> float32[1,3,8,8] from=[1] to=[2]") +
                           kernel_line(3, "convolution(float32[1,3,8,8], const float32[4,3,3,3]) -> float32[1,4,6,6] groups=[1] | relu") +
                           "refused plain sort(float32[4]) -> float32[4]\tno kernel\n";
  ASSERT_TRUE(parse_profile(text, "p")) << parse_profile(text, "p").error().text();
  std::mt19937 random(1);
  const std::string_view bytes = "0123456789-.e,[](){}|\n\t #xkz";
  std::size_t accepted = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string mangled = text;
    const std::size_t at = random() % mangled.size();
    if (k % 3 == 0) mangled.erase(at, 1 + random() % 20);
    if (k % 3 == 1) mangled[at] = bytes[random() % bytes.size()];
    if (k % 3 == 2) mangled.insert(at, 1, bytes[random() % bytes.size()]);
    const auto profile = parse_profile(mangled, "p");
    if (!profile) {
      EXPECT_EQ(profile.error().text().find("p:"), 0U) << profile.error().text();
      continue;
    }
    ++accepted;
    EXPECT_EQ(to_text(parse_profile(to_text(*profile), "p").value()), to_text(*profile));
    for (const HeldOut& row : check(*profile)) EXPECT_GE(row.most, row.median);
    EXPECT_NE(describe(*profile), "");
    ProfileDevice device(*profile);
    EXPECT_TRUE(device.measure(spec_of(matmul(17, 90, 55)), Layout::plain));
  }
  EXPECT_GT(accepted, 300U);
}

TEST(Profile, OfOneDeviceAreMergedAndTheMeasurementWithLessInterferenceStays) {
  Profile a = read_lines(kernel_line(1, matmul(1, 2, 3)) + kernel_line(9, matmul(1, 2, 4), 0.5) + kernel_line(5, matmul(1, 2, 5))).value();
  const Profile b = read_lines(kernel_line(7, matmul(1, 2, 3)) + kernel_line(2, matmul(1, 2, 4)) + kernel_line(3, matmul(1, 2, 6))).value();
  EXPECT_EQ(merge(a, b).value(), 2U);
  EXPECT_EQ(to_text(a), to_text(read_lines(kernel_line(1, matmul(1, 2, 3)) + kernel_line(2, matmul(1, 2, 4)) +
                                           kernel_line(5, matmul(1, 2, 5)) + kernel_line(3, matmul(1, 2, 6)))
                                    .value()));
  EXPECT_EQ(merge(a, b).value(), 0U);
  Profile other = b;
  other.device.library = "vendor 2.2";
  EXPECT_EQ(merge(a, other).error().text(), "the profiles are of different devices: library 'vendor 2.1' and 'vendor 2.2'");
}

TEST(Profile, OfOneDeviceAreMergedWithTheirRooflines) {
  const std::string roofline = "roofline launch 5\nroofline bandwidth 1e9\n";
  Profile a = read_lines(kernel_line(1, matmul(1, 2, 3))).value();
  const Profile grouped = read_lines(roofline + "roofline group_channels 32\n").value();
  EXPECT_EQ(merge(a, grouped).value(), 0U);
  EXPECT_EQ(a.roofline, grouped.roofline);
  EXPECT_EQ(merge(a, read_lines("").value()).value(), 0U);
  EXPECT_EQ(a.roofline.group_channels, 32);
  EXPECT_EQ(merge(a, read_lines(roofline).value()).error().text(), "the profiles have different rooflines");
}

TEST(Profile, OfOneDeviceAreMergedWithTheirViews) {
  Profile a = read_lines("").value();
  const Profile with_views = read_lines("views 4 split slice\n").value();
  EXPECT_EQ(merge(a, with_views).value(), 0U);
  EXPECT_EQ(merge(a, read_lines("").value()).value(), 0U);
  EXPECT_EQ(to_text(a), std::string(kHead) + "views 4 slice split\n");
  EXPECT_EQ(merge(a, read_lines("views 4 slice\n").value()).error().text(),
            "the profiles are of different devices: 'views 4 slice split' and 'views 4 slice'");
}

TEST(Profile, DescribesItsViews) {
  const std::string head = "profile     npu: NPU 7, 1 thread, vendor 2.1, its own\n";
  const std::string kernels = "kernels     0 with times, 0 refused\n";
  EXPECT_EQ(describe(read_lines("views 1 split\n").value()), head + "views       split\n" + kernels);
  EXPECT_EQ(describe(read_lines("views 64 split slice\n").value()),
            head + "views       slice split, parts at multiples of 64 bytes\n" + kernels);
}

TEST(Profile, DescribesItsRoofline) {
  const std::string lines = "roofline launch 5000\nroofline bandwidth 4e11\nroofline peak float32 1e13\n";
  const std::string head =
      "profile     npu: NPU 7, 1 thread, vendor 2.1, its own\nroofline    5 us to launch, 400 GB/s, float32 1e+04 Gop/s";
  const std::string kernels = "\nkernels     0 with times, 0 refused\n";
  EXPECT_EQ(describe(read_lines(lines).value()), head + kernels);
  EXPECT_EQ(describe(read_lines(lines + "roofline group_channels 32\n").value()), head + ", peak from 32 channels in a group" + kernels);
  EXPECT_EQ(describe(read_lines(lines + "roofline multiprocessors 80\nroofline cache 6e6\n").value()),
            head + ", 80 multiprocessors, 6 MB of cache" + kernels);
}

TEST(Profile, IsPruned) {
  const std::string good = kernel_line(1, matmul(1, 2, 3));
  const std::string refused = "refused plain sort(float32[4]) -> float32[4]\tno kernel\n";
  Profile profile = read_lines(good + kernel_line(9, matmul(1, 2, 4), 0.5) + refused).value();
  EXPECT_EQ(prune(profile, {}), 0U);
  EXPECT_EQ(prune(profile, {.with_interference = true}), 1U);
  EXPECT_EQ(to_text(profile), to_text(read_lines(good + refused).value()));
  EXPECT_EQ(prune(profile, {.only = "matmul("}), 1U);
  EXPECT_EQ(to_text(profile), to_text(read_lines(good).value()));
}

TEST(Profile, GoesThroughADatabase) {
  const Profile profile = read_lines(products() + "refused plain sort(float32[4]) -> float32[4]\tno kernel\n").value();
  Database database = Database::open("", profile.device);
  add_to(database, profile);
  EXPECT_EQ(to_text(profile_of(database, profile.device)), to_text(profile));
}

// A database may be damaged: what is no kernel in a line is no part of a profile.
TEST(Profile, LeavesOutKernelsWithLineBreaks) {
  const Profile profile = read_lines(products()).value();
  Database database = Database::open("", profile.device);
  add_to(database, profile);
  for (const char* text : {"so\nrt(float32[4]) -> float32[4]", "sort(float32[4]) -> float32[4] | sw\rash"}) {
    DatabaseEntry entry;
    entry.cost.median = Nanoseconds(5);
    database.insert({text, Layout::plain}, entry);
  }
  EXPECT_EQ(to_text(profile_of(database, profile.device)), to_text(profile));
}

TEST(Calibration, FindsTheRatesThatMadeTheTimes) {
  const std::vector<Sample> samples = samples_of(read_lines(products()).value());
  ASSERT_EQ(samples.size(), 24U);
  const Calibration calibration(samples);
  const ops::KernelSpec unseen = spec_of(matmul(17, 90, 55));
  const auto time = calibration.of_class(class_of(unseen), features_of(unseen));
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->count() / true_time(17, 90, 55), 1, 0.01);
  EXPECT_FALSE(calibration.of_class("convolution float32", features_of(unseen)));
}

TEST(Calibration, FollowsKernelsNearby) {
  // Products over 64 take twice as long as others.
  Profile profile = read_lines(products()).value();
  for (auto& [key, entry] : profile.kernels)
    if (key.first.find(",64],") != std::string::npos) entry.cost.median *= 2;
  const Calibration calibration(samples_of(profile));
  const auto factor = [&](int m, int k, int n) {
    const ops::KernelSpec spec = spec_of(matmul(m, k, n));
    return calibration.of_class(class_of(spec), features_of(spec))->count() / true_time(m, k, n);
  };
  EXPECT_GT(factor(40, 66, 100), 1.5);
  EXPECT_LT(factor(40, 210, 100), 1.3);
}

// Rows that have the same bytes and operations, of which those with a long axis take twice as long.
double softmax_time(int rows, int length) { return (3000 + 2.0 * rows * length) * (length > 512 ? 2 : 1); }
std::string softmax(int rows, int length) { return fmt::format("softmax(float32[{0},{1}]) -> float32[{0},{1}] axis=[1]", rows, length); }

TEST(Calibration, LearnsFromSizesThatFeaturesDoNotTell) {
  std::mt19937 random(1);
  const auto size = [&](double most) { return static_cast<int>(16 * std::pow(most / 16, static_cast<double>(random()) / 4294967296.0)); };
  const auto lines = [&](std::size_t count) {
    std::string text;
    std::set<std::pair<int, int>> seen;
    while (seen.size() < count) {
      const auto [place, added] = seen.emplace(size(4096), size(4096));
      if (added) text += kernel_line(softmax_time(place->first, place->second), softmax(place->first, place->second));
    }
    return text;
  };
  const auto error = [&](const std::vector<Sample>& samples) {
    const Calibration calibration(samples);
    double sum = 0;
    for (int k = 0; k < 200; ++k) {
      const int rows = size(4096);
      const int length = size(4096);
      const ops::KernelSpec spec = spec_of(softmax(rows, length));
      const auto time = calibration.of_class(class_of(spec), features_of(spec), std::nullopt, sizes_of(spec));
      sum += std::abs(time->count() / softmax_time(rows, length) - 1) / 200;
    }
    return sum;
  };
  std::vector<Sample> samples = samples_of(read_lines(lines(1000)).value());
  EXPECT_LT(error(samples), 0.06);
  for (Sample& sample : samples) sample.sizes.clear();
  EXPECT_GT(error(samples), 0.15);
  const std::vector<Sample> few = samples_of(read_lines(lines(Calibration::kLeastOfTrees)).value());
  EXPECT_GT(error(few), 0.1);
}

// Errors of kernels that were held out, not those of the kernels that trees were fitted to.
TEST(Calibration, KnowsHowFarOffItsTreesAre) {
  std::mt19937 random(1);
  std::string lines;
  for (int k = 0; k < 800; ++k) {
    const double noise = std::exp(0.2 * std::normal_distribution<double>()(random));
    const int rows = 16 + k;
    const int length = 16 + static_cast<int>(random() % 2000);
    lines += kernel_line(noise * softmax_time(rows, length), softmax(rows, length));
  }
  const Calibration calibration(samples_of(read_lines(lines).value()));
  const ops::KernelSpec spec = spec_of(softmax(300, 300));
  const auto error = calibration.error_of_class(class_of(spec), features_of(spec));
  ASSERT_TRUE(error);
  EXPECT_GT(error->deviation, 0.17);
  EXPECT_LT(error->deviation, 0.3);
}

TEST(ClassOfAKernel, TellsNarrowOperandsOfAProductFromWideOnes) {
  const auto product = [](const std::string& type) {
    return spec_of(fmt::format("matmul({0}[8,16], const {0}[16,32]) -> bfloat16[8,32]", type));
  };
  EXPECT_EQ(class_of(product("float8e4m3fn")), "matmul bfloat16 of float8e4m3fn");
  EXPECT_EQ(computing_type(product("float8e4m3fn")), ir::DataType::float8e4m3fn);
  EXPECT_EQ(class_of(product("bfloat16")), "matmul bfloat16");
  // Quantised integers have classes of their results, as before.
  EXPECT_EQ(class_of(product("int8")), "matmul bfloat16");
}

TEST(Sizes, AreAsManyForAllKernels) {
  const std::vector<double> softmax_sizes = sizes_of(spec_of(softmax(7, 31)));
  for (const char* text : {"convolution(float32[2,3,8,8], const float32[4,3,3,3]) -> float32[2,4,6,6] | relu",
                           "matmul(float32[3,4], const float32[4,5]) -> float32[3,5]", "add(float32[], float32[]) -> float32[]"})
    EXPECT_EQ(sizes_of(spec_of(text)).size(), softmax_sizes.size()) << text;
  EXPECT_EQ(softmax_sizes[0], std::log1p(7));  // at either end of the first operand
  EXPECT_EQ(softmax_sizes[3], std::log1p(31));
  EXPECT_EQ(softmax_sizes[4], std::log1p(7 * 31));
  EXPECT_EQ(softmax_sizes[5], 0);  // no second operand
}

TEST(Calibration, IsJudgedOnKernelsThatItWasNotFittedOn) {
  // Times with an error of a tenth, one way or the other, and one kernel of another class.
  Profile profile = read_lines(products() + kernel_line(1, "softmax(float32[4]) -> float32[4]")).value();
  bool up = false;
  for (auto& [key, entry] : profile.kernels) entry.cost.median *= (up = !up) ? 1.1 : 1 / 1.1;
  const std::vector<HeldOut> rows = check(profile);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].group, "matmul float32");
  EXPECT_EQ(rows[0].held_out, 4U);
  EXPECT_GT(rows[0].most, 1.05);
  EXPECT_LT(rows[0].most, 1.35);
  EXPECT_EQ(rows[1].group, "softmax float32");
  EXPECT_EQ(rows[1].held_out, 0U);
  EXPECT_EQ(rows[2].group, "all");
  EXPECT_EQ(rows[2].kernels, 25U);
  EXPECT_NE(describe_check(profile).find("softmax float32                            1         0  too few for a model\n"),
            std::string::npos)
      << describe_check(profile);
}

TEST(Features, AreWhatAKernelDoes) {
  const Features conv = features_of(spec_of(
      "convolution(float32[1,8,10,10], const float32[16,4,3,3]) -> float32[1,16,8,8] groups=[2] | relu | add(const float32[16,1,1])"));
  EXPECT_EQ(conv.products, 2.0 * 16 * 64 * 4 * 9);
  EXPECT_EQ(conv.bytes, 4.0 * (800 + 16 * 36 + 1024 + 16));
  EXPECT_EQ(conv.elementwise, 2.0 * 1024);
  EXPECT_EQ(features_of(spec_of("pointwise/add(float16[2,3], float16[3]) -> float16[2,3] | relu")).elementwise, 12);
  EXPECT_EQ(features_of(spec_of("pointwise/add(float16[2,3], float16[3]) -> float16[2,3] | relu")).bytes, 30);
  // Rows that nobody gathers are not read.
  EXPECT_EQ(features_of(spec_of("copy:gather(float32[30000,64], int64[3]) -> float32[3,64] axis=[0]")).bytes, 2 * 3 * 64 * 4 + 3 * 8);
  EXPECT_EQ(features_of(spec_of("copy:gather(float32[2,64], int64[3]) -> float32[3,64] axis=[0]")).bytes, (2 + 3) * 64 * 4 + 3 * 8);
  EXPECT_EQ(features_of(spec_of("copy:slice(float32[30,64]) -> float32[3,8] starts=[2,0] sizes=[3,8] steps=[1,1]")).bytes, 2 * 3 * 8 * 4);
  EXPECT_EQ(features_of(spec_of("copy:transpose(float32[30,64]) -> float32[64,30] perm=[1,0]")).bytes, 2 * 30 * 64 * 4);
  const Features attention = features_of(spec_of(kAttention));
  EXPECT_EQ(attention.products, 2.0 * (3 * 40 * 16 * 48 + 3 * 40 * 48 * 8)) << "of queries and keys, and of weights and values";
  EXPECT_EQ(attention.bytes, 2.0 * 3 * (40 * 16 + 48 * 16 + 48 * 8 + 40 * 8));
  EXPECT_EQ(class_of(spec_of("convolution(float32[1,8,8,8], const float32[8,1,3,3]) -> float32[1,8,6,6] groups=[8]")),
            "convolution depthwise float32");
  EXPECT_EQ(class_of(spec_of("convolution(float32[1,8,8,8], const float32[4,8,1,1]) -> float32[1,4,8,8] groups=[1]")),
            "convolution 1x1 float32");
}

TEST(ProfileDevice, AnswersWhatWasMeasuredAndModelsTheRest) {
  ProfileDevice device(
      read_lines(products() + kernel_line(77, matmul(5, 5, 5), 0.4) + "refused plain sort(float32[4]) -> float32[4]\tno kernel\n").value());
  EXPECT_EQ(device.info().name, "profile of npu");
  const KernelCost known = device.measure(spec_of(matmul(5, 5, 5)), Layout::plain).value();
  EXPECT_EQ(known.median.count(), 77);
  EXPECT_FALSE(is_provisional(known)) << "nothing can be timed again";
  EXPECT_EQ(device.measure(spec_of("sort(float32[4]) -> float32[4]"), Layout::plain).error().text(), "no kernel");
  EXPECT_EQ(device.recorded(), 2U);
  EXPECT_EQ(device.modelled(), 0U);
  const KernelCost modelled = device.measure(spec_of(matmul(17, 90, 55)), Layout::plain).value();
  EXPECT_GT(modelled.median.count(), 0.5 * true_time(17, 90, 55));
  EXPECT_EQ(modelled.repeats, 0);
  EXPECT_EQ(device.modelled(), 1U);
}

TEST(ProfileDevice, GivesAnotherThreadTheSamePricesAndDoesNotCountThem) {
  ProfileDevice device(*read_lines(products()));
  const std::unique_ptr<Device> other = device.for_thread();
  ASSERT_NE(other, nullptr);
  for (const auto& kernel : {matmul(3, 64, 100), matmul(5, 100, 40)})
    EXPECT_EQ(other->measure(spec_of(kernel), Layout::plain)->median,
              ProfileDevice(device).measure(spec_of(kernel), Layout::plain)->median);
  EXPECT_EQ(device.recorded() + device.modelled(), 0U);
}

TEST(ProfileDevice, FusesWhatTheProfileHoldsFused) {
  const std::string chain = "convolution(float32[1,8,8,8], const float32[4,8,1,1]) -> float32[1,4,8,8] groups=[1]";
  ProfileDevice device(
      read_lines("kernel any channels_last channels_last 5 0 1 0 1 " + chain + "\n" +
                 "kernel channels_last channels_last channels_last 6 0 1 0 1 " + chain + " | relu\n" +
                 "kernel channels_last channels_last channels_last 6 0 1 0 1 pool_max(float32[1,4,8,8]) -> float32[1,4,4,4]\n")
          .value());
  const ops::KernelSpec conv = spec_of(chain);
  EXPECT_TRUE(device.can_fuse(conv, ops::made_step("relu")));
  EXPECT_FALSE(device.can_fuse(conv, ops::made_step("tanh")));
  EXPECT_FALSE(device.can_fuse(spec_of(chain + " | relu"), ops::made_step("relu"))) << "longer than any that it holds";
  EXPECT_FALSE(device.can_fuse(spec_of(matmul(1, 2, 3)), ops::made_step("relu")));
  EXPECT_TRUE(device.chooses_layout(conv));
  EXPECT_FALSE(device.chooses_layout(spec_of(matmul(1, 2, 3))));
  EXPECT_TRUE(device.works_in(spec_of("pool_max(float32[1,6,8,8]) -> float32[1,6,4,4]"), Layout::channels_last));
  EXPECT_FALSE(device.works_in(spec_of("pool_max(float32[1,6,8,8]) -> float32[1,6,4,4]"), Layout::blocked8));
  EXPECT_TRUE(device.works_in(spec_of(matmul(1, 2, 3)), Layout::plain));
}

TEST(ProfileDevice, HasAttentionOfTheTypesThatTheProfileHolds) {
  const Profile profile = read_lines(kernel_line(5000, kAttention)).value();
  const ProfileDevice device(profile);
  const ops::KernelSpec other = spec_of("attention(bfloat16[9,8], bfloat16[9,8], bfloat16[9,8]) -> bfloat16[9,8] perm=[1,0]");
  ops::KernelSpec wide = other;
  for (ops::TensorSpec& tensor : wide.operands) tensor.data_type = ir::DataType::float32;
  wide.results[0].data_type = ir::DataType::float32;
  EXPECT_TRUE(device.has_attention(other));
  EXPECT_FALSE(device.has_attention(wide));
  EXPECT_TRUE(ProfileDevice(profile, ir::DataType::bfloat16).has_attention(wide)) << "priced as bfloat16";
  EXPECT_FALSE(ProfileDevice(read_lines(products()).value()).has_attention(wide));
}

TEST(ProfileDevice, OfARooflineAlonePricesKernelsByIt) {
  ProfileDevice device(read_lines("roofline launch 1000\nroofline bandwidth 1e9\nroofline peak float32 1e12\n").value());
  // 2 Mop in 2 us, 40 kB in 40 us; 2 Gop in 2 ms, 12 MB in 12 ms.
  EXPECT_DOUBLE_EQ(device.measure(spec_of(matmul(100, 100, 100)), Layout::plain)->median.count(), 1000 + 120000);
  EXPECT_DOUBLE_EQ(device.measure(spec_of("pointwise/relu(float32[1000]) -> float32[1000]"), Layout::plain)->median.count(), 1000 + 8000);
  EXPECT_DOUBLE_EQ(device.measure(spec_of("copy:transpose(int64[10,10]) -> int64[10,10]"), Layout::plain)->median.count(), 1000 + 1600);
  EXPECT_EQ(device.measure(spec_of("pointwise/relu(float64[10]) -> float64[10]"), Layout::plain).error().text(),
            "cannot run pointwise/relu(float64[10]) -> float64[10] here: the profile has no line 'roofline peak float64'");
  EXPECT_EQ(device.measure(spec_of("none(float32[4]) -> float32[4]"), Layout::plain)->median.count(), 0);
  EXPECT_TRUE(device.can_fuse(spec_of(matmul(1, 2, 3)), ops::made_step("relu")));
  EXPECT_FALSE(device.can_fuse(spec_of("copy:transpose(int64[10,10]) -> int64[10,10]"), ops::made_step("relu")));
}

TEST(ProfileDevice, PricesFloat32AsAnotherType) {
  const std::string lines = "roofline launch 0\nroofline bandwidth 1e9\nroofline peak bfloat16 1e12\nroofline peak float64 1e12\n" +
                            kernel_line(77, "matmul(bfloat16[5,6], bfloat16[6,7]) -> bfloat16[5,7] | add(bfloat16[7])");
  ProfileDevice device(read_lines(lines).value(), ir::DataType::bfloat16);
  EXPECT_TRUE(device.info().library.ends_with(", float32 priced as bfloat16")) << device.info().library;
  const auto fused = spec_of("matmul(float32[5,6], float32[6,7]) -> float32[5,7] | add(float32[7])");
  EXPECT_EQ(device.measure(fused, Layout::plain)->median.count(), 77);
  EXPECT_EQ(device.recorded(), 1U);
  EXPECT_TRUE(device.can_fuse(spec_of("matmul(float32[5,6], float32[6,7]) -> float32[5,7]"), fused.post[0]));
  // Half of the bytes of float32; other types are what they are.
  const auto time = [&](const std::string& kernel) { return device.measure(spec_of(kernel), Layout::plain)->median.count(); };
  EXPECT_DOUBLE_EQ(time("copy:transpose(float32[10,10]) -> float32[10,10]"), 400);
  EXPECT_DOUBLE_EQ(time("copy:transpose(bfloat16[10,10]) -> bfloat16[10,10]"), 400);
  EXPECT_DOUBLE_EQ(time("copy:transpose(float64[10,10]) -> float64[10,10]"), 1600);
  // Without it there is no such time.
  EXPECT_EQ(ProfileDevice(read_lines(lines).value()).measure(fused, Layout::plain).error().text(),
            "cannot run matmul(float32[5,6], float32[6,7]) -> float32[5,7] | add(float32[7]) here: the profile has no line 'roofline peak "
            "float32'");
}

// Convolutions of 64 channels of 16x16 with 3x3 windows, whose operations take longer than their bytes.
std::string grouped_convolution(int groups, int outputs = 64) {
  return fmt::format("convolution(float32[1,64,18,18], const float32[{0},{1},3,3]) -> float32[1,{0},16,16] groups=[{2}]", outputs,
                     64 / groups, groups);
}

TEST(ProfileDevice, OfARooflineWithGroupChannelsPricesTheTilesThatGroupsFill) {
  const std::string lines = "roofline launch 0\nroofline bandwidth 1e15\nroofline peak float32 1e12\n";
  ProfileDevice plain(read_lines(lines).value());
  ProfileDevice tiles(read_lines(lines + "roofline group_channels 16\n").value());
  const auto time = [](ProfileDevice& device, const std::string& kernel) {
    return device.measure(spec_of(kernel), Layout::plain)->median.count();
  };
  const auto operations = [](int groups, int outputs = 64) { return 2.0 * outputs * 256 * 9 * 64 / groups; };
  // 16 or more channels in a group fill tiles; with 8 a quarter of each tile, with 2 a 64th.
  for (const auto& [groups, share] : {std::pair(1, 1.0), {2, 1.0}, {4, 1.0}, {8, 0.25}, {32, 1.0 / 64}}) {
    EXPECT_DOUBLE_EQ(time(plain, grouped_convolution(groups)), operations(groups) / 1000);
    EXPECT_DOUBLE_EQ(time(tiles, grouped_convolution(groups)), operations(groups) / 1000 / share) << groups;
  }
  // 16 input and 8 output channels in a group.
  EXPECT_DOUBLE_EQ(time(tiles, grouped_convolution(4, 32)), operations(4, 32) / 1000 / 0.5);
  // Depthwise convolutions stream their operands.
  EXPECT_DOUBLE_EQ(time(tiles, grouped_convolution(64)), time(plain, grouped_convolution(64)));
  EXPECT_DOUBLE_EQ(time(tiles, grouped_convolution(64, 128)), time(plain, grouped_convolution(64, 128)));
  // Operators that run in the launch have the whole peak.
  EXPECT_DOUBLE_EQ(time(tiles, grouped_convolution(8) + " | relu"), time(tiles, grouped_convolution(8)) + 64 * 256 / 1000.0);
  // The groups of a transposed convolution are those of its inputs: weights are [inputs, outputs / groups, kernel...].
  const std::string transposed = "transposed_convolution(float32[1,64,16,16], const float32[64,4,3,3]) -> float32[1,32,18,18] groups=[8]";
  EXPECT_DOUBLE_EQ(time(tiles, transposed), time(plain, transposed) / (0.5 * 0.25));
}

TEST(ProfileDevice, OfARooflineWithGroupChannelsStillHasTheBandwidthAsBound) {
  const std::string lines = "roofline launch 0\nroofline bandwidth 1e9\nroofline peak float32 1e12\n";
  ProfileDevice plain(read_lines(lines).value());
  ProfileDevice tiles(read_lines(lines + "roofline group_channels 16\n").value());
  const ops::KernelSpec kernel = spec_of(grouped_convolution(8));
  EXPECT_DOUBLE_EQ(tiles.measure(kernel, Layout::plain)->median.count(), plain.measure(kernel, Layout::plain)->median.count());
}

// The predicted time in ns of a softmax, a split of its result into halves, and their sum.
double time_of_split(ProfileDevice& device, const std::vector<std::int64_t>& dims, std::int64_t axis) {
  ir::Arena arena;
  const ir::ValueId x = arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims)}, 0);
  const std::int64_t half = dims[static_cast<std::size_t>(axis)] / 2;
  const ir::Attributes cut{{"axis", ir::Poly(axis)}, {"sizes", ir::polys(std::vector<std::int64_t>{half, half})}};
  const ir::ValueId parts = ops::apply(arena, "split", {ops::apply(arena, "softmax", {x}, {{"axis", ir::Poly(1)}}).value()}, cut).value();
  const ir::ValueId sum = ops::apply(arena, "add", {{parts.node, 0}, {parts.node, 1}}).value();
  Database database = Database::open("", device.info());
  CostModel costs(arena, device, database, [](ir::SymbolId) { return std::nullopt; });
  return costs.cost({{sum}})->time.count();
}

TEST(ProfileDevice, WithViewsSplitsForNothingWhereThePartsAreContiguous) {
  const std::string roofline = "roofline launch 1000\nroofline bandwidth 1e9\nroofline peak float32 1e15\n";
  ProfileDevice copies(read_lines(roofline).value());
  ProfileDevice views(read_lines(roofline + "views 1 split\n").value());
  ProfileDevice aligned(read_lines(roofline + "views 64 split\n").value());
  ProfileDevice slices(read_lines(roofline + "views 1 slice\n").value());
  const double split = 1000 + 2 * 4 * 4096;  // a launch, and a read and a write
  const double others = time_of_split(views, {1, 4096}, 1);
  EXPECT_NEAR(time_of_split(copies, {1, 4096}, 1), others + split, 1);
  EXPECT_NEAR(time_of_split(aligned, {1, 4096}, 1), others, 1);
  EXPECT_NEAR(time_of_split(slices, {1, 4096}, 1), others + split, 1);
  // Rows of a matrix are contiguous, columns are not.
  EXPECT_NEAR(time_of_split(views, {64, 64}, 0), others, 1);
  EXPECT_NEAR(time_of_split(views, {64, 64}, 1), others + split, 1);
  // Parts of 6 elements do not begin at a multiple of 64 bytes.
  EXPECT_NEAR(time_of_split(copies, {1, 12}, 1) - time_of_split(views, {1, 12}, 1), 1000 + 2 * 4 * 12, 1);
  EXPECT_NEAR(time_of_split(copies, {1, 12}, 1), time_of_split(aligned, {1, 12}, 1), 1e-6);
}

TEST(ProfileDevice, WithoutAModelSaysWhatIsMissing) {
  ProfileDevice device(read_lines(kernel_line(1, matmul(1, 2, 3))).value());
  EXPECT_EQ(device.measure(spec_of(matmul(1, 2, 4)), Layout::plain).error().text(),
            "cannot run " + matmul(1, 2, 4) + " here: the profile has too few kernels for a model, and no roofline");
}

}  // namespace
}  // namespace xflow::cost::profile
