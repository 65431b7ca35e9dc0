// The messages between xflow and a runner: docs/runner.md.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/support/channel.h"

namespace xflow::cost::runner {

// A line of JSON that says what it is, and bytes (a model, the elements of tensors).
struct Message {
  std::string text;
  std::string payload;
};

inline constexpr std::string_view kMagic = "xfl1";
inline constexpr std::size_t kHeaderSize = 16;
inline constexpr std::uint64_t kMostText = 64ULL << 20U;     // bytes of text that are read
inline constexpr std::uint64_t kMostPayload = 16ULL << 30U;  // of payload

// The 16 bytes before a message: "xfl1", the length of the text (4 bytes, the least significant first), that of the payload (8 bytes).
std::string header(std::uint64_t text, std::uint64_t payload);

// `payload` may come in parts, which are not copied.
Result<void> send(Channel& channel, std::string_view text, std::span<const std::string_view> payload, double seconds);
// Errors: those of Channel; unreadable for what is no message, or one that is too long.
Result<Message> receive(Channel& channel, double seconds);

}  // namespace xflow::cost::runner
