// C++ that a test writes, compiled and loaded.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace xflow::testing {

// A shared library of the text; nullptr, and the test has failed, where it is no C++.
inline void* compile_and_load(const std::string& text) {
  static int number = 0;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("xflow-compiled-text-{}-{}", getpid(), number++);
  std::filesystem::create_directories(folder);
  const std::string source = (folder / "text.cpp").string();
  const std::string library = (folder / "text.so").string();
  std::ofstream(source) << text;
  const std::string command = fmt::format("c++ -std=c++17 -O1 -fPIC -shared -ffp-contract=off '{}' -o '{}'", source, library);
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  void* const handle = dlopen(library.c_str(), RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  std::filesystem::remove_all(folder);
  return handle;
}

}  // namespace xflow::testing
