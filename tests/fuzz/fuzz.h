// What a fuzz target is: a file NAME_fuzz.cpp that defines the function below, in libFuzzer's interface. It is linked with libFuzzer where
// that is compiled in (the preset fuzz), otherwise with driver.cpp. A broken promise ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace xflow::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

// Ends the process unless `holds`; `promise` says what was promised.
inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

// An error as users see it: one line that is not empty.
inline void expect_message(std::string_view message) {
  expect(!message.empty(), "an error has a message");
  expect(message.find('\n') == std::string_view::npos, "a message is one line");
}

// A text that a terminal shows as it is.
inline void expect_printable(std::string_view text) {
  for (const char c : text) expect(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a text has no control characters");
}

}  // namespace xflow::fuzz
