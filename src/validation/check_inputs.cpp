#include "src/validation/check_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <system_error>

#include "src/eval/npz.h"
#include "src/ir/narrow.h"
#include "src/onnx/document/document_tensor.h"
#include "src/support/file.h"

namespace xflow::api {
namespace {

namespace fs = std::filesystem;

Unexpected unreadable(std::string message, const std::string& where) { return fail(ErrorCode::unreadable, std::move(message), where); }

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the last run of digits as a number: 12 for "input_12".
std::optional<std::uint64_t> number_in(const std::string& stem) {
  const std::size_t last = stem.find_last_of("0123456789");
  if (last == std::string::npos) return std::nullopt;
  const std::size_t before = stem.find_last_not_of("0123456789", last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  return number(std::string_view(stem).substr(first, last + 1 - first));
}

// Bits of the significand after the point.
int digits_after_point(ir::DataType type) {
  switch (type) {
    case ir::DataType::float64:
      return 52;
    case ir::DataType::float16:
      return 10;
    case ir::DataType::bfloat16:
      return 7;
    default:
      return 23;
  }
}

bool has_name(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Splits the name of an array into the set and the input: set 1 for "in__x", set 2 for "in2__x", set 0 for a
// result. Returns nothing if the name does not have this form.
std::optional<std::pair<std::uint64_t, std::string_view>> split_prefix(std::string_view name) {
  const std::size_t bar = name.find("__");
  if (bar == std::string_view::npos) return std::nullopt;
  for (const std::string_view prefix : {std::string_view("in"), std::string_view("out")}) {
    if (name.substr(0, prefix.size()) != prefix || bar < prefix.size()) continue;
    const std::string_view digits = name.substr(prefix.size(), bar - prefix.size());
    const auto set = digits.empty() ? std::optional<std::uint64_t>(1) : number(digits);
    if (set && *set > 0) return std::pair{prefix == "in" ? *set : 0, name.substr(bar + 2)};
  }
  return std::nullopt;
}

Result<void> read_archive(const std::string& path, std::span<const std::string_view> names, std::vector<InputSet>& sets) {
  auto arrays = eval::read_npz(path);
  // Errors of the operating system are reported like faulty files: the input cannot be read.
  if (!arrays)
    return fail(arrays.error().code == ErrorCode::unsupported ? ErrorCode::unsupported : ErrorCode::unreadable, arrays.error().message,
                path);
  std::map<std::uint64_t, InputSet> found;
  for (auto& [name, tensor] : *arrays) {
    std::uint64_t set = 1;
    std::string_view input = name;
    if (!has_name(names, name)) {
      const auto split = split_prefix(name);
      if (split && split->first == 0) continue;
      if (!split || !has_name(names, split->second)) return unreadable(fmt::format("array '{}' matches no input of the model", name), path);
      set = split->first;
      input = split->second;
    }
    if (!found[set].tensors.emplace(input, std::move(tensor)).second)
      return unreadable(fmt::format("there are two arrays for input '{}'", input), path);
  }
  if (found.empty()) return unreadable("no array matches an input of the model", path);
  for (auto& [set, content] : found) {
    content.label = found.size() == 1 ? path : fmt::format("{}, set {}", path, set);
    sets.push_back(std::move(content));
  }
  return {};
}

Result<void> read_tensor(const std::string& path, std::span<const std::string_view> names, InputSet& set) {
  XFLOW_TRY(const auto file, onnx_io::FileBytes::open(path));
  const auto view = onnx_io::parse_tensor(file->bytes());
  if (!view) return unreadable(view.error().message, path);
  if (view->data_type == ir::DataType::undefined) return unreadable("not a tensor", path);
  std::string_view input = view->name;
  if (!has_name(names, input)) {
    const auto position = number_in(fs::path(path).stem().string());
    if (!position || *position >= names.size())
      return unreadable(fmt::format("neither the tensor's name '{}' nor the number in the file name matches an input of the model", input),
                        path);
    input = names[*position];
  }
  eval::Tensor tensor;
  if (view->data_type == ir::DataType::string) {
    const auto strings = onnx_io::strings(*view);
    if (!strings) return unreadable(strings.error().message, path);
    tensor = eval::Tensor::of_strings(view->dims, std::vector<std::string>(strings->begin(), strings->end()));
  } else {
    auto constant = onnx_io::constant(*view, file);
    if (!constant) return unreadable(constant.error().message, path);
    if (const auto bytes = constant->source->bytes(); !bytes) return unreadable(bytes.error().message, path);
    tensor = eval::Tensor::of(*std::move(constant));
  }
  if (!set.tensors.emplace(input, std::move(tensor)).second)
    return unreadable(fmt::format("there are two tensors for input '{}'", input), path);
  return {};
}

Result<void> read_folder(const fs::path& folder, std::span<const std::string_view> names, std::vector<InputSet>& sets) {
  std::vector<fs::path> tensors;
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    // ONNX's own test data has results beside the inputs.
    if (at->path().extension() == ".pb" && name.rfind("output_", 0) != 0) tensors.push_back(at->path());
    if (name.rfind("test_data_set_", 0) == 0) folders.push_back(at->path());
  }
  if (error) return fail(ErrorCode::unreadable, "cannot read the folder: " + error.message(), folder.string());
  const auto by_number = [](const fs::path& a, const fs::path& b) {
    return std::pair(number_in(a.stem().string()), a) < std::pair(number_in(b.stem().string()), b);
  };
  std::sort(tensors.begin(), tensors.end(), by_number);
  std::sort(folders.begin(), folders.end(), by_number);
  if (tensors.empty() && folders.empty()) return unreadable("no .pb files in the folder", folder.string());
  if (tensors.empty()) {
    for (const fs::path& inner : folders) XFLOW_CHECK(read_folder(inner, names, sets));
    return {};
  }
  InputSet set{folder.string(), {}};
  for (const fs::path& path : tensors) XFLOW_CHECK(read_tensor(path.string(), names, set));
  sets.push_back(std::move(set));
  return {};
}

// Draws a tensor. The distributions are written out because those of the standard library differ between
// implementations.
Result<eval::Tensor> draw(const ir::TensorType& type, std::vector<std::int64_t> dims, const SeededValues& values, std::mt19937_64& random) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    count *= static_cast<std::uint64_t>(dim);
    if (count > (std::uint64_t{1} << 34)) return fail(ErrorCode::limit, "more than 2^34 elements");
  }
  if (ir::is_floating(type.data_type)) {
    std::vector<double> drawn(count);
    for (double& v : drawn) v = static_cast<double>(static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0));
    return eval::rounded(eval::Tensor::of_doubles(type.data_type, std::move(dims), std::move(drawn)));
  }
  if (ir::is_integer(type.data_type) || type.data_type == ir::DataType::boolean) {
    const std::uint64_t bound = type.data_type == ir::DataType::boolean ? 2 : static_cast<std::uint64_t>(values.integer_bound);
    std::vector<std::int64_t> drawn(count);
    for (std::int64_t& v : drawn) v = static_cast<std::int64_t>((random() >> 11) % bound);
    return eval::Tensor::of_integers(type.data_type, std::move(dims), std::move(drawn));
  }
  if (ir::is_narrow(type.data_type)) {
    std::vector<std::int64_t> drawn(count);
    for (std::int64_t& v : drawn) {
      const auto bits = static_cast<std::int64_t>(random() >> 11);
      const bool is_integer = ir::is_narrow_integer(type.data_type);
      v = is_integer ? ir::wrap_narrow(type.data_type, bits)
                     : ir::double_to_narrow(type.data_type, static_cast<double>(bits) * 0x1p-52 - 1.0);
    }
    return eval::Tensor::of_integers(type.data_type, std::move(dims), std::move(drawn));
  }
  if (type.data_type == ir::DataType::string) {
    std::vector<std::string> drawn(count);
    for (std::string& v : drawn) v = fmt::format("s{}", (random() >> 11) % 10);
    return eval::Tensor::of_strings(std::move(dims), std::move(drawn));
  }
  return fail(ErrorCode::unsupported, fmt::format("cannot draw values of type {}", ir::name(type.data_type)));
}

}  // namespace

Result<InputSet> seeded_inputs(const ir::Arena& arena, std::span<const NamedInput> inputs, const Sizes& sizes, const SeededValues& values) {
  InputSet set;
  std::mt19937_64 random(values.seed);
  for (const NamedInput& input : inputs) {
    const std::string where = fmt::format("input '{}'", input.name);
    const ir::TensorType& type = arena.type(input.value);
    if (type.data_type == ir::DataType::undefined)
      return fail(ErrorCode::unsupported, "cannot draw values of a type that is not a tensor", where);
    if (!type.ranked)
      return fail(ErrorCode::unsupported, "cannot choose sizes for an unknown rank; give its values in an input file", where);
    std::vector<std::int64_t> dims;
    for (const ir::Poly& dim : type.shape) {
      const auto size = arena.symbols().evaluate(dim, sizes.valuation());
      if (!size || *size < 0) return fail(ErrorCode::unsupported, "cannot choose its sizes; give its values in an input file", where);
      dims.push_back(*size);
    }
    auto tensor = draw(type, std::move(dims), values, random);
    if (!tensor) return fail(tensor.error().code, tensor.error().message, where);
    set.label += fmt::format("{}: {}, ", input.name, eval::type_text(*tensor));
    set.tensors.emplace(input.name, *std::move(tensor));
  }
  set.label += fmt::format("seed {}", values.seed);
  return set;
}

Result<eval::Tensor> perturbed(const eval::Tensor& tensor, std::uint64_t seed) {
  if (!ir::is_floating(tensor.data_type)) return tensor;
  XFLOW_TRY(std::vector<double> values, eval::doubles(tensor));
  const double change = std::ldexp(8.0, -digits_after_point(tensor.data_type));
  std::mt19937_64 random(seed);
  for (double& value : values) value *= (random() & 1U) != 0 ? 1 + change : 1 - change;
  return eval::rounded(eval::Tensor::of_doubles(tensor.data_type, tensor.dims, std::move(values)));
}

Result<std::vector<InputSet>> read_inputs(std::span<const std::string> paths, std::span<const std::string_view> names) {
  std::vector<InputSet> sets;
  InputSet loose;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      XFLOW_CHECK(read_folder(path, names, sets));
    } else if (fs::path(path).extension() == ".npz") {
      XFLOW_CHECK(read_archive(path, names, sets));
    } else if (fs::path(path).extension() == ".pb") {
      loose.label += (loose.label.empty() ? "" : ", ") + path;
      XFLOW_CHECK(read_tensor(path, names, loose));
    } else {
      return fail(ErrorCode::invalid_argument, "inputs are .npz files, .pb files, or folders of .pb files", path);
    }
  }
  if (!loose.tensors.empty()) sets.push_back(std::move(loose));
  return sets;
}

}  // namespace xflow::api
