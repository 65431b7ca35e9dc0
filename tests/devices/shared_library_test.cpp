// Libraries that are found by name while the program runs.
#include "src/support/shared_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "src/devices/device_plugin.h"
#include "tests/places.h"

namespace xflow::cost {
namespace {

TEST(SharedLibrary, IsTheFirstOfThePathsThatCanBeLoaded) {
  const std::array<std::string, 2> paths = {"/nowhere/libm.so.6", "libm.so.6"};
  const auto library = SharedLibrary::open(paths);
  ASSERT_TRUE(library) << library.error().text();
  const auto cosine = library->function<double(double)>("cos");
  ASSERT_TRUE(cosine) << cosine.error().text();
  EXPECT_EQ((*cosine)(0), 1);
  const auto other = library->function<double(double)>("frobnicate");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "libm.so.6 has no function frobnicate");
}

TEST(SharedLibrary, SaysWhetherItIsMissingOrBroken) {
  const std::array<std::string, 2> nowhere = {"libfrobnicate.so.3", "/nowhere/libfrobnicate.so.3"};
  const auto missing = SharedLibrary::open(nowhere);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::unsupported);
  EXPECT_EQ(missing.error().message, "libfrobnicate.so.3 was not found");

  const std::string path = ::testing::TempDir() + "/libbroken" + std::to_string(getpid()) + ".so";
  std::ofstream(path) << "nothing that could be loaded";
  const auto broken = SharedLibrary::open({&path, 1});
  std::filesystem::remove(path);
  ASSERT_FALSE(broken);
  const std::string name = std::filesystem::path(path).filename().string();
  EXPECT_TRUE(broken.error().message.starts_with(name + " cannot be loaded: ")) << broken.error().message;
}

TEST(SharedLibrary, OfADeviceThatWasNotBuiltIsMissing) {
  const auto plugin = load_plugin("frobnicate");
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().message, "this xflow was built without frobnicate: libxflow_frobnicate.so was not found");
}

TEST(SharedLibrary, OfADeviceIsOfThisBuild) {
  const auto plugin = load_plugin_from(places::other_plugin_folder(), "other");
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().code, ErrorCode::unsupported);
  EXPECT_EQ(plugin.error().message, "libxflow_other.so is from another build: xflow 0.0.1, interface 0");
}

TEST(SharedLibrary, LiesInAFolder) { EXPECT_TRUE(std::filesystem::is_directory(own_folder())) << own_folder(); }

}  // namespace
}  // namespace xflow::cost
