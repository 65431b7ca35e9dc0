#include "src/api/sizes.h"

#include <fmt/format.h>

#include <charconv>

namespace xflow::api {
namespace {

constexpr std::int64_t kOpenSize = 128;

std::string dims_text(std::span<const std::int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

}  // namespace

ir::Symbols::Valuation Sizes::valuation() const {
  return [values = values](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto found = values.find(symbol);
    return found == values.end() ? kOpenSize : found->second;
  };
}

Result<Sizes> choose_sizes(const ir::Arena& arena, std::span<const NamedInput> inputs, std::span<const InputShape> given,
                           std::int64_t first, std::int64_t other) {
  Sizes result;
  for (const InputShape& shape : given) {
    const NamedInput* input = nullptr;
    for (const NamedInput& candidate : inputs)
      if (candidate.name == shape.input) input = &candidate;
    if (input == nullptr) {
      std::string names;
      for (const NamedInput& candidate : inputs) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", candidate.name);
      return fail(ErrorCode::invalid_argument, fmt::format("no input '{}'; the inputs are {}", shape.input, names));
    }
    const ir::TensorType& type = arena.type(input->value);
    if (!type.ranked || type.rank() != shape.dims.size())
      return fail(ErrorCode::invalid_argument, fmt::format("shape {} of input '{}' has {} dimensions, the model's has {}",
                                                           dims_text(shape.dims), shape.input, shape.dims.size(), type.rank()));
    for (std::size_t k = 0; k < type.rank(); ++k) {
      if (shape.dims[k] < 1)
        return fail(ErrorCode::invalid_argument, fmt::format("size {} of input '{}' is not positive", shape.dims[k], shape.input));
      if (const auto symbol = type.shape[k].as_symbol()) {
        const auto [known, fresh] = result.values.try_emplace(*symbol, shape.dims[k]);
        if (!fresh && known->second != shape.dims[k])
          return fail(ErrorCode::invalid_argument, fmt::format("dimension {} of input '{}' is {}, but {} is {} elsewhere", k, shape.input,
                                                               shape.dims[k], arena.symbols().info(*symbol).name, known->second));
      } else if (type.shape[k].constant() != shape.dims[k]) {
        return fail(ErrorCode::invalid_argument, fmt::format("dimension {} of input '{}' is {} in the model, {} was given", k, shape.input,
                                                             arena.symbols().to_string(type.shape[k]), shape.dims[k]));
      }
    }
  }
  for (const NamedInput& input : inputs) {
    const ir::TensorType& type = arena.type(input.value);
    bool open = false;
    std::vector<std::int64_t> dims;
    for (std::size_t k = 0; k < type.rank(); ++k) {
      if (const auto symbol = type.shape[k].as_symbol()) {
        const auto [known, fresh] = result.values.try_emplace(*symbol, k == 0 ? first : other);
        open = open || fresh;
        dims.push_back(known->second);
      } else {
        dims.push_back(type.shape[k].constant().value_or(other));
      }
    }
    if (open) result.assumed.push_back(fmt::format("{}: {}", input.name, dims_text(dims)));
  }
  return result;
}

Result<InputShape> parse_shape(std::string_view text) {
  const auto bad = [&] { return fail(ErrorCode::invalid_argument, fmt::format("shape '{}' is not of the form NAME:1,3,48,192", text)); };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  InputShape shape{std::string(text.substr(0, colon)), {}};
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1) return bad();
    shape.dims.push_back(value);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
    if (rest.empty()) return bad();
  }
  return shape;
}

}  // namespace xflow::api
