#include "tests/backend/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"

namespace xflow::backend {

namespace {

using onnx_io::WireField;
using onnx_io::WireReader;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void append_field(std::string& out, std::uint32_t number, std::string_view payload) {
  const auto varint = [&](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  varint(static_cast<std::uint64_t>(number) << 3 | 2);
  varint(payload.size());
  out += payload;
}

// The bytes of `message` without the length-delimited fields that `drop` names.
template <typename Drop>
std::string without(std::string_view message, const Drop& drop) {
  std::string out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (!drop(field)) out += field.whole;
  }
  return out;
}

std::string_view name_of_value_info(std::string_view message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) return field.payload;
  }
  return {};
}

// The model in which the inputs of these names are initializers instead (TensorProtos).
std::string with_constants(std::string_view model, const std::map<std::string, std::string>& tensors) {
  constexpr std::uint32_t kGraph = 7;
  constexpr std::uint32_t kInitializer = 5;
  constexpr std::uint32_t kInput = 11;
  constexpr std::uint32_t kTensorName = 8;
  std::string out;
  WireReader reader(model);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(kGraph)) {
      out += field.whole;
      continue;
    }
    std::string graph = without(field.payload, [&](const WireField& inner) {
      return inner.is_bytes(kInput) && tensors.contains(std::string(name_of_value_info(inner.payload)));
    });
    for (const auto& [name, tensor] : tensors) {
      std::string named = without(tensor, [&](const WireField& inner) { return inner.is_bytes(kTensorName); });
      append_field(named, kTensorName, name);
      append_field(graph, kInitializer, named);
    }
    append_field(out, kGraph, graph);
  }
  return out;
}

// A tensor file of a case.
Result<eval::Tensor> read_tensor(const std::string& bytes) {
  XFLOW_TRY(const onnx_io::TensorView view, onnx_io::parse_tensor(bytes));
  if (view.data_type == ir::DataType::string) return fail(ErrorCode::unsupported, "strings");
  std::string owned;
  XFLOW_TRY(const std::string_view raw, onnx_io::raw_bytes(view, owned));
  const auto* data = reinterpret_cast<const std::byte*>(raw.data());
  return eval::Tensor::of(ir::Constant{view.data_type, view.dims, ir::owned_bytes({data, data + raw.size()})});
}

// The file names of a data set: input_0.pb, input_1.pb, ...
std::vector<std::string> files(const std::string& folder, const std::string& kind) {
  std::vector<std::string> result;
  for (std::size_t k = 0;; ++k) {
    const std::string path = fmt::format("{}/{}_{}.pb", folder, kind, k);
    if (!std::filesystem::exists(path)) return result;
    result.push_back(path);
  }
}

struct Attempt {
  std::set<std::string> opaque;
  std::optional<Outcome> outcome;  // nothing: try with more constants
};

// The tolerance of ONNX for its cases (relative 1e-3), wider for 16-bit types, which runtimes round in between.
bool close(double actual, double expected, ir::DataType type) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (!std::isfinite(expected)) return actual == expected || (std::isinf(expected) && std::isfinite(actual) && std::fabs(actual) > 1e38);
  const bool narrow = type == ir::DataType::float16 || type == ir::DataType::bfloat16;
  return std::fabs(actual - expected) <= (narrow ? 1e-2 : 1e-3) * std::fabs(expected) + (narrow ? 1e-3 : 1e-6);
}

std::optional<std::string> difference(const eval::Tensor& actual, const eval::Tensor& expected) {
  if (actual.data_type != expected.data_type || actual.dims != expected.dims) {
    return fmt::format("{} instead of {}", eval::type_text(actual), eval::type_text(expected));
  }
  if (!ir::is_floating(expected.data_type)) {
    const auto a = eval::integers(actual);
    const auto b = eval::integers(expected);
    if (!a || !b) return "its output cannot be compared";
    for (std::size_t k = 0; k < a->size(); ++k) {
      if ((*a)[k] != (*b)[k]) return fmt::format("element {} is {} instead of {}", k, (*a)[k], (*b)[k]);
    }
    return std::nullopt;
  }
  const auto a = eval::doubles(actual);
  const auto b = eval::doubles(expected);
  if (!a || !b) return "its output cannot be compared";
  for (std::size_t k = 0; k < a->size(); ++k) {
    if (!close((*a)[k], (*b)[k], expected.data_type)) return fmt::format("element {} is {} instead of {}", k, (*a)[k], (*b)[k]);
  }
  return std::nullopt;
}

Outcome differs(std::string text) { return {Outcome::Kind::differs, std::move(text)}; }

// Runs one data set with the inputs that `is_constant` chooses made constants.
template <typename Choose>
Attempt attempt(const std::string& model, const std::vector<std::string>& input_files, const std::vector<std::string>& output_files,
                eval::Number number, const Choose& is_constant) {
  auto document = onnx_io::Document::parse(model);
  if (!document) return {{}, differs(document.error().text())};
  std::vector<std::string> names;
  for (const onnx_io::ValueInfo& input : document->main().inputs) names.emplace_back(input.name);
  if (names.size() < input_files.size()) return {{}, differs("it has more inputs than its model")};
  std::map<std::string, std::string> constants;
  std::map<std::string, eval::Tensor> tensors;
  for (std::size_t k = 0; k < input_files.size(); ++k) {
    const std::string bytes = read_file(input_files[k]);
    auto tensor = read_tensor(bytes);
    if (!tensor) return {{}, Outcome{Outcome::Kind::not_covered, "inputs that are no tensors of numbers"}};
    if (is_constant(k, *tensor)) constants[names[k]] = bytes;
    tensors.emplace(names[k], *std::move(tensor));
  }
  auto changed = onnx_io::Document::parse(with_constants(model, constants));
  if (!changed) return {{}, differs(changed.error().text())};
  ir::Arena arena;
  auto lifted = onnx_io::lift(*changed, arena);
  if (!lifted) return {{}, differs(lifted.error().text())};
  Attempt result;
  for (const onnx_io::OpaqueNode& node : lifted->opaque) result.opaque.emplace(changed->node(node.node).op_type);
  if (!result.opaque.empty()) return result;

  eval::Bindings bindings;
  for (std::size_t k = 0; k < lifted->inputs.size(); ++k) {
    const auto at = tensors.find(std::string(lifted->input_names[k]));
    if (at != tensors.end()) bindings.emplace(lifted->inputs[k], at->second);
  }
  eval::Options options;
  options.number = number;
  const ir::Graph graph{{lifted->graph.outputs.begin(), lifted->graph.outputs.begin() + static_cast<std::ptrdiff_t>(lifted->output_count)}};
  const auto outputs = eval::evaluate(arena, graph, bindings, options);
  if (!outputs) {
    // A size that only the values of an input tell: more inputs have to be constants.
    if (outputs.error().message.find("is not known") != std::string::npos) {
      result.opaque.insert("unknown size");
      return result;
    }
    result.outcome = differs(outputs.error().text());
    return result;
  }
  for (std::size_t k = 0; k < output_files.size() && k < outputs->size(); ++k) {
    const auto expected = read_tensor(read_file(output_files[k]));
    if (!expected) {
      result.outcome = Outcome{Outcome::Kind::not_covered, "outputs that are no tensors of numbers"};
      return result;
    }
    if (const auto text = difference((*outputs)[k], *expected)) {
      result.outcome = differs(fmt::format("output {}: {}", k, *text));
      return result;
    }
  }
  result.outcome = Outcome{};
  return result;
}

Outcome run_data_set(const std::string& model, const std::string& folder, eval::Number number) {
  const std::vector<std::string> inputs = files(folder, "input");
  const std::vector<std::string> outputs = files(folder, "output");
  const auto none = [](std::size_t, const eval::Tensor&) { return false; };
  const auto parameters = [](std::size_t k, const eval::Tensor& tensor) {
    return !ir::is_floating(tensor.data_type) || (k > 0 && tensor.count() <= 16);
  };
  const auto all = [](std::size_t, const eval::Tensor&) { return true; };
  Attempt last = attempt(model, inputs, outputs, number, none);
  if (!last.outcome) last = attempt(model, inputs, outputs, number, parameters);
  if (!last.outcome) last = attempt(model, inputs, outputs, number, all);
  if (last.outcome) return *last.outcome;
  return {Outcome::Kind::not_covered, fmt::format("{}", fmt::join(last.opaque, ", "))};
}

}  // namespace

Outcome run_case(const std::string& folder, eval::Number number) {
  const std::string model = read_file(folder + "/model.onnx");
  for (std::size_t k = 0;; ++k) {
    const std::string data = fmt::format("{}/test_data_set_{}", folder, k);
    if (!std::filesystem::exists(data)) return k == 0 ? differs("it has no data") : Outcome{};
    const Outcome outcome = run_data_set(model, data, number);
    if (outcome.kind != Outcome::Kind::agrees) return outcome;
  }
}

std::vector<std::string> case_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace xflow::backend
