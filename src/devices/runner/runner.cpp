#include "src/devices/runner/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/devices/runner/message.h"
#include "src/support/process.h"

namespace xflow::cost::runner {
namespace {

using Json = nlohmann::json;

constexpr int kProtocol = 1;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The member `key` if it exists and is a string.
std::optional<std::string> text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
}
std::optional<double> number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// Replaces control characters in a runner's text, because it is used in messages, reports and keys of costs
// and terminals obey them.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

// Tensors encoded as JSON and payload.
struct Encoded {
  Json list = Json::array();
  std::vector<ir::Constant> constants;  // keep the bytes of `payload` alive
  std::vector<std::string_view> payload;
};

Result<Encoded> encode(std::span<const NamedTensor> tensors) {
  Encoded encoded;
  encoded.constants.reserve(tensors.size());
  for (const NamedTensor& named : tensors) {
    Json description = {{"name", named.name}, {"type", ir::name(named.tensor.data_type)}, {"dims", named.tensor.dims}};
    if (const auto* strings = std::get_if<std::vector<std::string>>(&named.tensor.elements)) {
      description["strings"] = *strings;
    } else {
      XFLOW_TRY(ir::Constant constant, eval::to_constant(named.tensor));
      XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
      encoded.constants.push_back(std::move(constant));
      encoded.payload.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    encoded.list.push_back(std::move(description));
  }
  return encoded;
}

// The sizes of a tensor and their product.
struct Sizes {
  std::vector<std::int64_t> sizes;
  std::uint64_t count = 1;
};
std::optional<Sizes> dims_in(const Json& json) {
  const auto list = json.find("dims");
  if (list == json.end() || !list->is_array()) return std::nullopt;
  Sizes dims;
  for (const Json& dim : *list) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > kMostPayload) return std::nullopt;
    dims.sizes.push_back(dim.get<std::int64_t>());
    // Sizes next to a 0 count as well, because strides are products of them.
    const std::uint64_t factor = std::max<std::uint64_t>(dim.get<std::uint64_t>(), 1);
    if (__builtin_mul_overflow(dims.count, factor, &dims.count) || dims.count > kMostPayload) return std::nullopt;
  }
  if (std::find(dims.sizes.begin(), dims.sizes.end(), 0) != dims.sizes.end()) dims.count = 0;
  return dims;
}

std::optional<eval::Tensor> strings_in(const Json& json, Sizes dims) {
  const auto list = json.find("strings");
  if (list == json.end() || !list->is_array() || list->size() != dims.count) return std::nullopt;
  std::vector<std::string> values;
  values.reserve(dims.count);
  for (const Json& value : *list) {
    if (!value.is_string()) return std::nullopt;
    values.push_back(value.get<std::string>());
  }
  return eval::Tensor::of_strings(std::move(dims.sizes), std::move(values));
}

// Takes the bytes of a tensor from the front of `payload`. Nothing for an invalid description or too few
// bytes.
std::optional<eval::Tensor> tensor_in(const Json& json, std::string_view& payload) {
  const ir::DataType type = ir::data_type_from_name(text_in(json, "type").value_or("")).value_or(ir::DataType::undefined);
  auto dims = dims_in(json);
  if (!dims) return std::nullopt;
  if (type == ir::DataType::string) return strings_in(json, *std::move(dims));
  const std::uint64_t size = (dims->count * static_cast<std::uint64_t>(ir::bits(type)) + 7) / 8;
  if (ir::bits(type) == 0 || size > payload.size()) return std::nullopt;
  const auto* first = reinterpret_cast<const std::byte*>(payload.data());
  payload.remove_prefix(size);
  return eval::Tensor::of(ir::Constant{type, std::move(dims->sizes), ir::owned_bytes(std::vector<std::byte>(first, first + size))});
}

// Nothing for an invalid list of tensors, or if they do not match the payload.
std::optional<std::vector<NamedTensor>> decode(const Json& json, std::string_view payload) {
  const auto list = json.find("outputs");
  if (list == json.end() || !list->is_array()) return std::nullopt;
  std::vector<NamedTensor> tensors;
  for (const Json& entry : *list) {
    if (!entry.is_object()) return std::nullopt;
    auto name = text_in(entry, "name");
    auto tensor = tensor_in(entry, payload);
    if (!name || !tensor) return std::nullopt;
    tensors.push_back({*std::move(name), *std::move(tensor)});
  }
  return payload.empty() ? std::optional(std::move(tensors)) : std::nullopt;
}

// Advice if Python does not find the runner for ONNX Runtime; empty otherwise.
std::string_view advice(std::string_view message) {
  if (message.find("No module named 'xflow_onnx") == std::string_view::npos) return "";
  return "; install the wheel of scripts/wheel for this Python (docs/runner.md)";
}

Error named(const RunnerOptions& options, const Error& error) {
  return {error.code, fmt::format("runner '{}': {}{}", options.command, error.message, advice(error.message)), {}};
}

}  // namespace

Runner::Runner() = default;
Runner::~Runner() = default;

Result<std::unique_ptr<Runner>> Runner::start(const RunnerOptions& options) {
  auto process = Process::start(options.command);
  if (!process) return fail(named(options, process.error()));
  (*process)->stop_when(options.stop);
  (*process)->hurry_when(options.hurry, options.hurried_patience);
  (*process)->bound_memory(options.bytes_left);
  return over(*std::move(process), options);
}

Result<std::unique_ptr<Runner>> Runner::over(std::unique_ptr<Channel> channel, const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner());
  runner->patience_ = options.patience;
  runner->channel_ = std::move(channel);
  if (auto greeted = runner->greet(options.threads); !greeted) return fail(named(options, greeted.error()));
  return runner;
}

template <typename T>
Result<T> Runner::nonsense(const std::string& what) {
  channel_.reset();
  return fail(ErrorCode::unreadable, fmt::format("its answer {}", what));
}

// Sends a request and returns the answer, a JSON object without "error".
Result<Message> Runner::ask(const std::string& text, std::span<const std::string_view> payload) {
  if (!is_running()) return fail(ErrorCode::io, "it has ended");
  if (auto sent = send(*channel_, text, payload, patience_); !sent) {
    channel_.reset();
    return fail(sent.error());
  }
  auto answer = receive(*channel_, patience_);
  if (!answer) {
    channel_.reset();
    return fail(answer.error());
  }
  const Json json = Json::parse(answer->text, nullptr, false);
  if (!json.is_object()) return nonsense<Message>("is not a JSON object");
  const auto error = json.find("error");
  if (error == json.end()) return answer;
  if (!error->is_string()) return nonsense<Message>("has an error that is not a text");
  std::string said = one_line(error->get<std::string>());
  return fail(ErrorCode::unsupported, said.empty() ? "it gave no reason" : std::move(said));
}

Result<void> Runner::greet(int threads) {
  const Json request = {{"do", "hello"}, {"protocol", kProtocol}, {"threads", threads}, {"clock", threads == 1 ? "cpu" : "wall"}};
  XFLOW_TRY(const Message answer, ask(text_of(request)));
  const Json json = Json::parse(answer.text, nullptr, false);
  const auto protocol = number_in(json, "protocol");
  const auto name = text_in(json, "name");
  const auto version = text_in(json, "version");
  const auto device = text_in(json, "device");
  const auto clock = text_in(json, "clock");
  if (!protocol || !name || !version || !device || !clock || (*clock != "cpu" && *clock != "wall"))
    return nonsense<void>("to 'hello' lacks one of protocol, name, version, device, clock (cpu or wall)");
  if (*protocol != kProtocol) {
    channel_.reset();
    return fail(ErrorCode::unsupported, fmt::format("it speaks version {} of the protocol, not {}", *protocol, kProtocol));
  }
  clock_ = *clock == "wall" ? xflow::Clock::wall_time : xflow::Clock::cpu_time;
  info_ = DeviceInfo{"runner", one_line(*device), one_line(fmt::format("{} {}", *name, *version)), threads, to_string(clock_)};
  return {};
}

Result<void> Runner::load(std::uint32_t model, const ModelSource& source) {
  Json request = {{"do", "load"}, {"model", model}};
  if (!source.path.empty()) request["path"] = source.path;
  const std::vector<std::string_view> payload = {source.path.empty() ? source.bytes : std::string_view()};
  XFLOW_CHECK(ask(text_of(request), payload));
  return {};
}

Result<void> Runner::unload(std::uint32_t model) {
  XFLOW_CHECK(ask(text_of({{"do", "unload"}, {"model", model}})));
  return {};
}

Result<void> Runner::set_inputs(std::uint32_t inputs, std::span<const NamedTensor> tensors) {
  XFLOW_TRY(const Encoded encoded, encode(tensors));
  XFLOW_CHECK(ask(text_of({{"do", "inputs"}, {"inputs", inputs}, {"tensors", encoded.list}}), encoded.payload));
  return {};
}

Result<RunTimes> Runner::run(std::uint32_t model, std::uint32_t inputs, int repeats) {
  XFLOW_TRY(const Message answer, ask(text_of({{"do", "run"}, {"model", model}, {"inputs", inputs}, {"repeats", repeats}})));
  const Json json = Json::parse(answer.text, nullptr, false);
  const auto time = number_in(json, "nanoseconds");
  if (!time || !(*time >= 0)) return nonsense<RunTimes>("to 'run' has no time in 'nanoseconds'");
  RunTimes times{Nanoseconds(*time), std::nullopt};
  if (clock_ != xflow::Clock::wall_time || !json.contains("processor_nanoseconds")) return times;
  const auto processor = number_in(json, "processor_nanoseconds");
  if (!processor || !(*processor >= 0)) return nonsense<RunTimes>("to 'run' has something else than a time in 'processor_nanoseconds'");
  times.processor = Nanoseconds{*processor};
  return times;
}

Result<std::vector<NamedTensor>> Runner::outputs(std::uint32_t model, std::uint32_t inputs) {
  XFLOW_TRY(const Message answer, ask(text_of({{"do", "outputs"}, {"model", model}, {"inputs", inputs}})));
  auto tensors = decode(Json::parse(answer.text, nullptr, false), answer.payload);
  if (!tensors) return nonsense<std::vector<NamedTensor>>("to 'outputs' has no tensors that fit its data");
  return *std::move(tensors);
}

}  // namespace xflow::cost::runner
