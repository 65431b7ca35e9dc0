// Any bytes that a runner writes are answers or a clean error, and whatever xflow sends to it, with whatever names, is a message of the
// protocol (docs/runner.md).
//
// An input is what the runner writes, or, where it begins with '#', one answer a line, which is then framed: the text, and behind a tab the
// data. The last line has the names of an input and of a model's file.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/devices/runner/message.h"
#include "src/devices/runner/runner.h"
#include "src/support/channel.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;
using xflow::fuzz::expect_message;
using xflow::fuzz::expect_printable;
namespace runner = xflow::cost::runner;
namespace eval = xflow::eval;
namespace ir = xflow::ir;

namespace {

// Answers with the bytes of the input, and keeps what it is asked.
class Script final : public runner::Channel {
 public:
  Script(std::string answers, std::string& asked) : answers_(std::move(answers)), asked_(asked) {}

  xflow::Result<void> write(std::string_view bytes, double) override {
    asked_ += bytes;
    return {};
  }
  xflow::Result<void> read(std::span<char> bytes, double) override {
    if (answers_.size() - at_ < bytes.size()) return xflow::fail(xflow::ErrorCode::io, "it closed its output");
    std::copy_n(answers_.begin() + static_cast<std::ptrdiff_t>(at_), bytes.size(), bytes.begin());
    at_ += bytes.size();
    return {};
  }

 private:
  std::string answers_;
  std::string& asked_;
  std::size_t at_ = 0;
};

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[k]);
  return value;
}

void expect_requests(std::string_view bytes) {
  while (!bytes.empty()) {
    expect(bytes.size() >= runner::kHeaderSize && bytes.starts_with(runner::kMagic), "a request begins with a header");
    const std::uint64_t text = number(bytes.substr(4, 4));
    const std::uint64_t payload = number(bytes.substr(8, 8));
    bytes.remove_prefix(runner::kHeaderSize);
    expect(text <= bytes.size() && payload <= bytes.size() - text, "a request is as long as its header says");
    const auto json = nlohmann::json::parse(bytes.substr(0, text), nullptr, false);
    expect(json.is_object() && json.contains("do"), "a request is a JSON object with 'do'");
    bytes.remove_prefix(text + payload);
  }
}

template <typename T>
bool answered(const xflow::Result<T>& result) {
  if (result) return true;
  expect_message(result.error().message);
  expect_printable(result.error().message);
  return false;
}

void look_at(const eval::Tensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
  const auto values = doubles(tensor);
  if (values) expect(values->size() == count, "a tensor has as many elements as its shape says");
  if (const auto whole = integers(tensor)) expect(whole->size() == count, "a tensor has as many elements as its shape says");
  if (values) expect(eval::equal(tensor, tensor), "a tensor is equal to itself, bit by bit");
}

void converse(runner::Runner& peer, const std::string& name, const std::string& path) {
  for (const std::string* text : {&peer.info().model, &peer.info().library}) expect_printable(*text);
  answered(peer.load(0, {"a model", {}}));
  answered(peer.load(1, {{}, "/" + path}));
  const std::vector<xflow::cost::NamedTensor> inputs = {{name, eval::Tensor::of_doubles(ir::DataType::float32, {2}, {1, 2})},
                                                        {"words", eval::Tensor::of_strings({2}, {name, "b"})}};
  answered(peer.set_inputs(0, inputs));
  if (const auto times = peer.run(0, 0, 3); answered(times)) {
    expect(times->time.count() >= 0 && std::isfinite(times->time.count()), "a time is a number that is not negative");
    if (times->processor)
      expect(times->processor->count() >= 0 && std::isfinite(times->processor->count()), "a time is a number that is not negative");
  }
  if (const auto outputs = peer.outputs(0, 0); answered(outputs))
    for (const xflow::cost::NamedTensor& output : *outputs) look_at(output.tensor);
  answered(peer.unload(0));
}

// The answers of an input, and its last line.
std::string framed(std::string_view lines, std::string_view& last) {
  std::string bytes;
  while (true) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const std::size_t tab = std::min(line.find('\t'), line.size());
    const std::string_view payload = line.substr(std::min(tab + 1, line.size()));
    bytes += runner::header(tab, payload.size());
    bytes += line.substr(0, tab);
    bytes += payload;
  }
  last = lines;
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = xflow::fuzz::text_of(data, size);
  std::string_view last = "x";
  std::string answers(text);
  if (text.starts_with('#')) answers = framed(text.substr(1), last);
  const std::size_t half = last.size() / 2;
  std::string asked;
  for (const int threads : {1, 2}) {
    const auto peer = runner::Runner::over(std::make_unique<Script>(answers, asked), {"fuzz", threads, 60});
    if (answered(peer)) converse(**peer, std::string(last.substr(0, half)), std::string(last.substr(half)));
  }
  expect_requests(asked);
  return 0;
}
