#include "src/devices/runner/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace xflow::cost::runner {
namespace {

void append(std::string& bytes, std::uint64_t value, int count) {
  for (int k = 0; k < count; ++k) bytes += static_cast<char>((value >> (8U * static_cast<unsigned>(k))) & 0xFFU);
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[k]);
  return value;
}

// Converts arbitrary bytes to printable text for a one-line message.
std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

}  // namespace

std::string header(std::uint64_t text, std::uint64_t payload) {
  std::string bytes(kMagic);
  append(bytes, text, 4);
  append(bytes, payload, 8);
  return bytes;
}

Result<void> send(Channel& channel, std::string_view text, std::span<const std::string_view> payload, double seconds) {
  std::uint64_t size = 0;
  for (const std::string_view part : payload) size += part.size();
  if (text.size() > kMostText) return fail(ErrorCode::limit, fmt::format("a message of {} bytes is too long", text.size()));
  XFLOW_CHECK(channel.write(header(text.size(), size) + std::string(text), seconds));
  for (const std::string_view part : payload) XFLOW_CHECK(channel.write(part, seconds));
  return {};
}

Result<Message> receive(Channel& channel, double seconds) {
  std::array<char, kHeaderSize> head{};
  XFLOW_CHECK(channel.read(head, seconds));
  const std::string_view bytes(head.data(), head.size());
  if (!bytes.starts_with(kMagic))
    return fail(ErrorCode::unreadable, fmt::format("it wrote text other than an answer to its standard output: '{}'", printable(bytes)));
  const std::uint64_t text = number(bytes.substr(4, 4));
  const std::uint64_t payload = number(bytes.substr(8, 8));
  if (text > kMostText || payload > kMostPayload)
    return fail(ErrorCode::unreadable, fmt::format("its answer has {} bytes of text and {} of data, which is too much", text, payload));
  Message message;
  message.text.resize(text);
  XFLOW_CHECK(channel.read(message.text, seconds));
  // Memory grows as bytes arrive, because the announced length is not trustworthy.
  constexpr std::uint64_t kChunk = 64ULL << 20U;
  while (message.payload.size() < payload) {
    const std::size_t known = message.payload.size();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, payload - known));
    message.payload.resize(known + more);
    XFLOW_CHECK(channel.read(std::span(message.payload).subspan(known), seconds));
  }
  return message;
}

}  // namespace xflow::cost::runner
