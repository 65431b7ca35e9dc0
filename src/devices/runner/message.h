// Messages between xflow and a runner (docs/runner.md).
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/support/channel.h"

namespace xflow::cost::runner {

// A line of JSON with the message, and binary data (a model, the elements of tensors).
struct Message {
  std::string text;
  std::string payload;
};

inline constexpr std::string_view kMagic = "xfl1";
inline constexpr std::size_t kHeaderSize = 16;
inline constexpr std::uint64_t kMostText = 64ULL << 20U;     // maximum size of the text, in bytes
inline constexpr std::uint64_t kMostPayload = 16ULL << 30U;  // maximum size of the payload, in bytes

// The 16-byte header of a message: "xfl1", the length of the text (4 bytes, little endian) and of the
// payload (8 bytes, little endian).
std::string header(std::uint64_t text, std::uint64_t payload);

// Sends a message. The parts of `payload` are not copied.
Result<void> send(Channel& channel, std::string_view text, std::span<const std::string_view> payload, double seconds);
// Receives a message. Errors: those of Channel; unreadable for invalid or too long messages.
Result<Message> receive(Channel& channel, double seconds);

}  // namespace xflow::cost::runner
