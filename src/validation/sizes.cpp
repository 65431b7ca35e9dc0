#include "src/validation/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "src/ops/operator.h"

namespace xflow::api {
namespace {

constexpr std::int64_t kOpenSize = 128;
constexpr double kMostAssumed = 1 << 22;  // elements of a value with assumed sizes
constexpr int kMostAdjusted = 256;        // sizes adjusted one after the other
// Tried in this order if a model refuses 128: sound needs longer inputs, windows and patches shorter ones.
constexpr std::array<std::int64_t, 8> kOtherSizes = {512, 2048, 256, 64, 32, 16, 8, 1};

std::string dims_text(std::span<const std::int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// Checks the requirements of operators against known sizes.
class KnownSizes : public ops::Typing {
 public:
  KnownSizes(ir::Symbols& symbols, const SizeMap& sizes) : Typing(symbols), sizes_(sizes) {}

  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) override {
    const auto x = value(a);
    const auto y = value(b);
    if (!x || !y || *x == *y) return {};
    unequal_ = std::pair(a, b);
    return fail(ErrorCode::unsupported, fmt::format("expected {}, found {} and {}", what, *x, *y));
  }
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what) override {
    const auto x = value(a);
    return x && *x < 0 ? Result<void>(fail(ErrorCode::unsupported, fmt::format("expected {}, found {}", what, *x))) : Result<void>();
  }
  Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b) override {
    const auto x = value(a);
    const auto y = value(b);
    if (!x || !y || *x == *y || *x == 1 || *y == 1) return symbols().broadcast(a, b);
    unequal_ = std::pair(a, b);
    return fail(ErrorCode::unsupported, fmt::format("expected dimensions that broadcast, found {} and {}", *x, *y));
  }

  std::optional<std::int64_t> value(const ir::Poly& p) {
    return symbols().evaluate(p, [this](ir::SymbolId symbol) -> std::optional<std::int64_t> {
      const auto known = sizes_.find(symbol);
      return known == sizes_.end() ? std::nullopt : std::optional(known->second);
    });
  }
  // Returns the two sizes that had to be equal and were not, if that caused the failure.
  const std::optional<std::pair<ir::Poly, ir::Poly>>& unequal() const { return unequal_; }

 private:
  const SizeMap& sizes_;
  std::optional<std::pair<ir::Poly, ir::Poly>> unequal_;
};

Result<void> take_sizes(ir::Arena& arena, const ir::Graph& graph, KnownSizes& known) {
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation) continue;
    const ops::Operator& op = ops::get(node.op);
    const std::vector<ir::TensorType> operands = ops::operand_types(arena, node);
    const auto typed = op.type(known, ops::Operation{operands, node.attributes, {}});
    if (!typed) return fail(ErrorCode::unsupported, typed.error().message, std::string(op.signature.name));
  }
  return {};
}

std::vector<std::int64_t> dims_of(const ir::Arena& arena, ir::ValueId value, const SizeMap& sizes) {
  std::vector<std::int64_t> dims;
  for (const ir::Poly& dim : arena.type(value).shape) {
    const auto symbol = dim.as_symbol();
    const auto known = symbol ? sizes.find(*symbol) : sizes.end();
    dims.push_back(known == sizes.end() ? dim.constant().value_or(kOpenSize) : known->second);
  }
  return dims;
}

}  // namespace

Result<void> take_sizes(ir::Arena& arena, const ir::Graph& graph, const SizeMap& sizes) {
  KnownSizes known(arena.symbols(), sizes);
  return take_sizes(arena, graph, known);
}

Result<void> adjust_sizes(ir::Arena& arena, const ir::Graph& graph, const std::unordered_set<ir::SymbolId>& fixed, SizeMap& sizes,
                          std::unordered_set<ir::SymbolId>* adjusted) {
  // Each round fixes one symbol permanently.
  std::unordered_set<ir::SymbolId> done = fixed;
  for (int round = 0;; ++round) {
    KnownSizes known(arena.symbols(), sizes);
    auto taken = take_sizes(arena, graph, known);
    if (taken || !known.unequal() || round >= kMostAdjusted) return taken;
    const auto [a, b] = *known.unequal();
    const auto fix = [&](const ir::Poly& p, const ir::Poly& other) {
      const auto symbol = p.as_symbol();
      const auto size = known.value(other);
      if (!symbol || !sizes.contains(*symbol) || !size || *size < 1 || !done.insert(*symbol).second) return false;
      sizes[*symbol] = *size;
      if (adjusted != nullptr) adjusted->insert(*symbol);
      return true;
    };
    if (!fix(a, b) && !fix(b, a)) return taken;
  }
}

std::string sizes_text(const ir::Arena& arena, std::span<const NamedInput> inputs, const SizeMap& sizes) {
  std::string text;
  for (const NamedInput& input : inputs) {
    const ir::Shape& shape = arena.type(input.value).shape;
    if (std::all_of(shape.begin(), shape.end(), [](const ir::Poly& d) { return d.is_constant(); })) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", input.name, dims_text(dims_of(arena, input.value, sizes)));
  }
  return text.empty() ? "the declared sizes" : text;
}

namespace {

// Chooses sizes of the inputs that the graph accepts.
Result<Sizes> choose_input_sizes(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                 std::span<const InputShape> given) {
  XFLOW_TRY(Sizes sizes, choose_sizes(arena, inputs, given));
  if (sizes.values.empty()) return sizes;
  const auto fits = [&](Sizes& choice) -> Result<void> {
    XFLOW_CHECK(adjust_sizes(arena, graph, choice.given, choice.values));
    choice.assumed.clear();
    for (const NamedInput& input : inputs) {
      const ir::Shape& shape = arena.type(input.value).shape;
      const bool is_assumed = std::any_of(shape.begin(), shape.end(), [&](const ir::Poly& d) {
        const auto symbol = d.as_symbol();
        return symbol && !choice.given.contains(*symbol) && !choice.of_defaults.contains(*symbol);
      });
      if (is_assumed) choice.assumed.push_back(fmt::format("{}: {}", input.name, dims_text(dims_of(arena, input.value, choice.values))));
    }
    return {};
  };
  const auto first = fits(sizes);
  if (first) return sizes;
  const std::string reason = first.error().text();
  if (sizes.assumed.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("the model does not take {}: {}", sizes_text(arena, inputs, sizes.values), reason));
  for (const std::int64_t other : kOtherSizes) {
    XFLOW_TRY(Sizes choice, choose_sizes(arena, inputs, given, OpenSizes::of(1, other)));
    if (!fits(choice)) continue;
    choice.defaults_fit = refused(reason);
    return choice;
  }
  return fail(ErrorCode::unsupported,
              fmt::format("the model does not take {} or the other sizes that were tried: {}; give sizes with option 'shapes'",
                          sizes_text(arena, inputs, sizes.values), reason));
}

// Returns the symbols in the dimensions of a value that have no size yet.
std::vector<ir::SymbolId> unknown_sizes(const ir::Arena& arena, ir::ValueId value, const SizeMap& sizes) {
  std::vector<ir::SymbolId> unknown;
  for (const ir::Poly& dim : arena.type(value).shape) {
    const auto symbol = dim.as_symbol();
    if (symbol && arena.symbols().info(*symbol).kind == ir::SymbolKind::dimension && !sizes.contains(*symbol)) unknown.push_back(*symbol);
  }
  return unknown;
}

// Returns the size to assume for the unknown dimensions of a value: 128, or less if the value would have
// more than kMostAssumed elements.
std::int64_t assumed_size(const ir::Arena& arena, ir::ValueId value, const SizeMap& sizes) {
  const auto elements = [&](std::int64_t open) {
    double count = 1;
    for (const ir::Poly& dim : arena.type(value).shape) {
      const auto size = arena.symbols().evaluate(dim, [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
        const auto known = sizes.find(symbol);
        return known == sizes.end() ? open : known->second;
      });
      count *= static_cast<double>(size.value_or(open));
    }
    return count;
  };
  std::int64_t size = kOpenSize;
  while (size > 1 && elements(size) > kMostAssumed) size /= 2;
  return size;
}

}  // namespace

void add_inner_sizes(ir::Arena& arena, const ir::Graph& graph, const InnerSizes& inner, Sizes& sizes) {
  if (inner.infer) {
    for (const auto& [symbol, size] : inner.infer(sizes.values))
      if (sizes.values.emplace(symbol, size).second) {
        sizes.inner.insert(symbol);
        sizes.inferred.insert(symbol);
      }
  }
  std::unordered_set<ir::SymbolId> fixed;
  for (const auto& [symbol, size] : sizes.values) fixed.insert(symbol);
  std::vector<ir::ValueId> open;  // values with unknown sizes
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::opaque) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const std::vector<ir::SymbolId> symbols = unknown_sizes(arena, {id, k}, sizes.values);
      const std::int64_t size = assumed_size(arena, {id, k}, sizes.values);
      for (const ir::SymbolId symbol : symbols) {
        sizes.values.emplace(symbol, size);
        sizes.inner.insert(symbol);
      }
      if (!symbols.empty()) open.push_back({id, k});
    }
  }
  if (sizes.inner.empty()) return;
  std::unordered_set<ir::SymbolId> adjusted;
  if (const auto taken = adjust_sizes(arena, graph, fixed, sizes.values, &adjusted); !taken)
    sizes.inner_fit = refused(taken.error().text());
  for (const ir::ValueId value : open) {
    const ir::Shape& shape = arena.type(value).shape;
    const bool is_assumed = std::any_of(shape.begin(), shape.end(), [&](const ir::Poly& dim) {
      const auto symbol = dim.as_symbol();
      return symbol && sizes.inner.contains(*symbol) && !fixed.contains(*symbol) && !adjusted.contains(*symbol);
    });
    if (!is_assumed || !inner.name_of) continue;
    sizes.assumed_inner.push_back(fmt::format("{}: {}", inner.name_of(value), dims_text(dims_of(arena, value, sizes.values))));
  }
}

Result<Sizes> choose_fitting_sizes(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                   std::span<const InputShape> given, const InnerSizes& inner) {
  XFLOW_TRY(Sizes sizes, choose_input_sizes(arena, graph, inputs, given));
  add_inner_sizes(arena, graph, inner, sizes);
  return sizes;
}

ir::Symbols::Valuation Sizes::valuation() const {
  return [values = values](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto found = values.find(symbol);
    return found == values.end() ? kOpenSize : found->second;
  };
}

ir::Symbols::Valuation Sizes::known() const {
  SizeMap known = values;
  std::erase_if(known, [&](const auto& own) { return inner.contains(own.first) && !inferred.contains(own.first); });
  return [known = std::move(known)](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto found = known.find(symbol);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

Result<Sizes> choose_sizes(const ir::Arena& arena, std::span<const NamedInput> inputs, std::span<const InputShape> given,
                           const OpenSizes& open) {
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
        result.given.insert(*symbol);
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
    if (input.default_dims.size() != type.rank()) continue;
    for (std::size_t k = 0; k < type.rank(); ++k)
      if (const auto symbol = type.shape[k].as_symbol(); symbol && input.default_dims[k] > 0)
        if (result.values.try_emplace(*symbol, input.default_dims[k]).second) result.of_defaults.insert(*symbol);
  }
  for (const NamedInput& input : inputs) {
    const ir::TensorType& type = arena.type(input.value);
    bool is_open = false;
    std::vector<std::int64_t> dims;
    for (std::size_t k = 0; k < type.rank(); ++k) {
      if (const auto symbol = type.shape[k].as_symbol()) {
        const std::int64_t size = k == 0 ? open.first : k + 1 == type.rank() ? open.last : open.inner;
        const auto [known, fresh] = result.values.try_emplace(*symbol, size);
        is_open = is_open || fresh;
        dims.push_back(known->second);
      } else {
        dims.push_back(type.shape[k].constant().value_or(open.last));
      }
    }
    if (is_open) result.assumed.push_back(fmt::format("{}: {}", input.name, dims_text(dims)));
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
