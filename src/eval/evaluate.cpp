#include "src/eval/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "src/eval/prime_field.h"
#include "src/eval/program.h"
#include "src/eval/rational.h"
#include "src/eval/run.h"
#include "src/eval/stabilize.h"
#include "src/ir/narrow.h"
#include "src/ops/operator.h"

namespace xflow::eval {

namespace {

bool computes_in_double(const Options& options, ir::DataType type, const std::vector<const Tensor*>& operands) {
  if (options.number == Number::float64) return true;
  if (options.number != Number::float32) return false;
  if (type == ir::DataType::float64) return true;
  return std::any_of(operands.begin(), operands.end(), [](const Tensor* operand) { return operand->data_type == ir::DataType::float64; });
}

// The elements of a tensor in a form that the arithmetic reads: in place if possible, otherwise converted
// into `owned`.
struct Loaded {
  Source source;
  std::shared_ptr<const void> owned;
};

Unexpected cannot_read(const Tensor& tensor) {
  return fail(ErrorCode::unsupported, fmt::format("cannot compute with the elements of {}", type_text(tensor)));
}

Result<Loaded> load(const Tensor& tensor, const Options& options) {
  const std::uint64_t count = tensor.count();
  const auto source = [&](const void* data, Format format) { return Loaded{Source{data, format, count}, nullptr}; };
  if (const auto* values = std::get_if<std::vector<double>>(&tensor.elements)) return source(values->data(), Format::float64);
  if (const auto* values = std::get_if<std::vector<float>>(&tensor.elements)) return source(values->data(), Format::float32);
  if (const auto* values = std::get_if<std::vector<std::int64_t>>(&tensor.elements)) {
    return source(values->data(), tensor.data_type == ir::DataType::uint64 ? Format::uint64 : Format::int64);
  }
  if (const auto* constant = std::get_if<ir::Constant>(&tensor.elements)) {
    if (ir::is_narrow(constant->data_type)) {
      XFLOW_TRY(std::vector<std::int64_t> elements, narrow_elements(*constant));
      auto owned = std::make_shared<std::vector<std::int64_t>>(std::move(elements));
      return Loaded{Source{owned->data(), Format::int64, count}, owned};
    }
    const auto format = format_of(constant->data_type);
    if (!format) return cannot_read(tensor);
    XFLOW_TRY(const auto bytes, constant->source->bytes());
    if (bytes.size() < ir::storage_bytes(constant->data_type, count)) {
      return fail(ErrorCode::unreadable, fmt::format("a constant {} has {} bytes only", type_text(tensor), bytes.size()));
    }
    return source(bytes.data(), *format);
  }
  if (const auto* values = std::get_if<std::shared_ptr<const RationalElements>>(&tensor.elements)) {
    if (options.number == Number::rational) return source((*values)->values.data(), Format::number);
    if (options.number == Number::prime) {
      XFLOW_TRY(Tensor residues, to_residues(tensor, options.prime));
      auto owned = std::make_shared<ResidueElements>(std::move(std::get<ResidueElements>(residues.elements)));
      return Loaded{Source{owned->residues.data(), Format::number, count}, owned};
    }
    XFLOW_TRY(std::vector<double> numbers, doubles(tensor));
    auto owned = std::make_shared<std::vector<double>>(std::move(numbers));
    return Loaded{Source{owned->data(), Format::float64, count}, owned};
  }
  if (const auto* values = std::get_if<ResidueElements>(&tensor.elements)) {
    if (options.number == Number::prime && values->prime == options.prime) return source(values->residues.data(), Format::number);
  }
  return cannot_read(tensor);
}

// Strings are moved as numbers; no operator computes with them. The empty string is 0, which padding writes.
class StringNumbers {
 public:
  std::vector<std::int64_t> of(const std::vector<std::string>& strings) {
    std::vector<std::int64_t> result;
    result.reserve(strings.size());
    for (const std::string& s : strings) {
      const auto [at, is_new] = numbers_.emplace(s, static_cast<std::int64_t>(strings_.size()));
      if (is_new) strings_.push_back(s);
      result.push_back(at->second);
    }
    return result;
  }
  std::vector<std::string> strings(const std::vector<std::int64_t>& numbers) const {
    std::vector<std::string> result;
    result.reserve(numbers.size());
    for (const std::int64_t n : numbers) result.emplace_back(strings_[static_cast<std::size_t>(n)]);
    return result;
  }

 private:
  std::unordered_map<std::string_view, std::int64_t> numbers_{{"", 0}};
  std::vector<std::string_view> strings_{""};  // by number
};

Result<std::int64_t> checked_count(const std::vector<std::int64_t>& dims, std::uint64_t most) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return fail(ErrorCode::ill_typed, fmt::format("a tensor cannot have the shape [{}]", fmt::join(dims, ",")));
    if (dim != 0 && static_cast<std::uint64_t>(count) > most / static_cast<std::uint64_t>(dim)) {
      return fail(ErrorCode::limit, fmt::format("a tensor of shape [{}] has more than {} elements", fmt::join(dims, ","), most));
    }
    count *= dim;
  }
  return count;
}

// Error::limit if a result of `count` elements and copies of its operands exceed Options::bytes_left.
Result<void> check_room(std::int64_t count, const std::vector<const Tensor*>& operands, const Options& options) {
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
  constexpr std::uint64_t kElement = sizeof(double);
  if (!options.bytes_left) return {};
  std::uint64_t bytes = static_cast<std::uint64_t>(count) * kElement;
  for (const Tensor* operand : operands) bytes += operand->count() * kElement;
  if (bytes < kSmall || bytes <= options.bytes_left()) return {};
  return fail(ErrorCode::limit, fmt::format("it needs {} MiB, more than may be used", bytes >> 20U));
}

Result<void> run(const Program& program, std::vector<Source> sources, bool in_double, const Options& options, Tensor& result,
                 std::int64_t count) {
  const bool integer = !ir::is_floating(result.data_type);
  std::vector<std::int64_t> integers;
  if (integer) integers.resize(static_cast<std::size_t>(count));
  const auto numbers = static_cast<std::size_t>(integer ? 0 : count);
  if (in_double) {
    std::vector<double> values(numbers);
    if (count > 0) XFLOW_CHECK(run_double(program, std::move(sources), values.data(), integers.data(), options.stop));
    result.elements = std::move(values);
  } else if (options.number == Number::float32) {
    std::vector<float> values(numbers);
    if (count > 0) XFLOW_CHECK(run_float(program, std::move(sources), values.data(), integers.data(), options.stop));
    result.elements = std::move(values);
  } else if (options.number == Number::rational) {
    auto values = std::make_shared<RationalElements>();
    values->values.resize(numbers);
    if (count > 0) XFLOW_CHECK(run_rational(options.uninterpreted, program, std::move(sources), values->values.data(), integers.data()));
    result.elements = std::shared_ptr<const RationalElements>(std::move(values));
  } else {
    ResidueElements values;
    values.prime = options.prime;
    values.residues.resize(numbers);
    if (count > 0) XFLOW_CHECK(run_prime(options.prime, program, std::move(sources), values.residues.data(), integers.data()));
    result.elements = std::move(values);
  }
  if (integer) result.elements = std::move(integers);
  return {};
}

// One evaluation of a graph.
class Evaluation {
 public:
  Evaluation(ir::Arena& arena, const Bindings& inputs, const Options& options)
      : arena_(arena), inputs_(inputs), options_(options), sizes_(options.symbols) {}

  Result<std::vector<Tensor>> run(const ir::Graph& graph) {
    for (const auto& [value, tensor] : inputs_) {
      XFLOW_CHECK(bind_shape(arena_.symbols(), arena_.type(value), tensor.dims, sizes_));
    }
    const std::vector<ir::NodeId> order = needed(graph);
    for (const ir::NodeId node : order) XFLOW_CHECK(compute(node));
    std::vector<Tensor> result;
    for (const ir::ValueId output : graph.outputs) {
      const auto bound = inputs_.find(output);
      if (bound != inputs_.end()) {
        result.push_back(bound->second);
      } else if (--uses_[output] == 0) {
        result.push_back(std::move(values_.at(output)));
        values_.erase(output);
      } else {
        result.push_back(values_.at(output));
      }
    }
    return result;
  }

 private:
  // The nodes that the outputs depend on, without those behind bound values, operands before users. Counts
  // the uses of each value.
  std::vector<ir::NodeId> needed(const ir::Graph& graph) {
    std::vector<ir::NodeId> order;
    struct Visit {
      ir::NodeId node;
      std::size_t next;
    };
    std::unordered_map<ir::NodeId, bool> seen;
    std::vector<Visit> stack;
    const auto visit = [&](ir::ValueId value) {
      if (inputs_.contains(value) || arena_.is_absent(value)) return;
      ++uses_[value];
      if (seen.emplace(value.node, true).second) stack.push_back({value.node, 0});
    };
    for (const ir::ValueId output : graph.outputs) {
      visit(output);
      while (!stack.empty()) {
        Visit& top = stack.back();
        const ir::Node& node = arena_.node(top.node);
        if (node.kind == ir::NodeKind::operation && top.next < node.operands.size()) {
          visit(node.operands[top.next++]);
        } else {
          order.push_back(top.node);
          stack.pop_back();
        }
      }
    }
    return order;
  }

  std::string name_of(const ir::Node& node) const { return options_.name_of ? options_.name_of(node) : "an unknown operator"; }

  Result<void> compute(ir::NodeId id) {
    if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
    const ir::Node& node = arena_.node(id);
    switch (node.kind) {
      case ir::NodeKind::input:
        return fail(ErrorCode::unsupported, "cannot execute: an input has no value", name_of(node));
      case ir::NodeKind::opaque:
        return fail(ErrorCode::unsupported, "cannot execute: " + name_of(node));
      case ir::NodeKind::constant:
        values_.emplace(ir::ValueId{id, 0}, Tensor::of(node.constant));
        return {};
      case ir::NodeKind::operation:
        break;
    }
    static const Tensor none{};
    std::vector<const Tensor*> operands;
    for (const ir::ValueId operand : node.operands) {
      if (arena_.is_absent(operand)) {
        operands.push_back(&none);
      } else {
        const auto bound = inputs_.find(operand);
        operands.push_back(bound != inputs_.end() ? &bound->second : &values_.at(operand));
      }
    }
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const ir::ValueId value{id, output};
      if (!uses_.contains(value)) continue;
      auto computed = compute_output(id, static_cast<int>(output), operands);
      if (!computed) {
        Error error = std::move(computed).error();
        const std::string where{ops::get(node.op).signature.name};
        if (error.where.empty()) error.where = where;
        return fail(std::move(error));
      }
      values_.emplace(value, *std::move(computed));
    }
    for (const ir::ValueId operand : node.operands) {
      const auto uses = uses_.find(operand);
      if (uses != uses_.end() && --uses->second == 0) values_.erase(operand);
    }
    return {};
  }

  Result<Tensor> compute_output(ir::NodeId id, int output, const std::vector<const Tensor*>& operands) {
    const ir::TensorType type = arena_.node(id).outputs[static_cast<std::size_t>(output)];
    std::vector<std::int64_t> dims;
    for (const ir::Poly& dim : type.shape) {
      const auto size = arena_.symbols().evaluate(dim, [this](ir::SymbolId symbol) { return size_of(symbol); });
      if (!size)
        return fail(ErrorCode::unsupported, fmt::format("cannot execute: the size {} is not known", arena_.symbols().to_string(dim)));
      dims.push_back(*size);
    }
    std::vector<ir::Poly> index;
    const ops::Expr expression = ops::semantics_of(arena_, id, output, index);
    Options options = options_;
    options.symbols = sizes_;
    return evaluate(arena_.symbols(), expression, index, type.data_type, dims, operands, options);
  }

  std::optional<std::int64_t> size_of(ir::SymbolId symbol) const {
    const auto at = sizes_.find(symbol);
    return at != sizes_.end() ? std::optional(at->second) : std::nullopt;
  }

  ir::Arena& arena_;
  const Bindings& inputs_;
  const Options& options_;
  std::unordered_map<ir::SymbolId, std::int64_t> sizes_;
  std::unordered_map<ir::ValueId, Tensor> values_;
  std::unordered_map<ir::ValueId, std::size_t> uses_;
};

}  // namespace

std::optional<Format> format_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::float32:
      return Format::float32;
    case ir::DataType::float64:
      return Format::float64;
    case ir::DataType::float16:
      return Format::float16;
    case ir::DataType::bfloat16:
      return Format::bfloat16;
    case ir::DataType::int64:
      return Format::int64;
    case ir::DataType::uint64:
      return Format::uint64;
    case ir::DataType::int32:
      return Format::int32;
    case ir::DataType::uint32:
      return Format::uint32;
    case ir::DataType::int16:
      return Format::int16;
    case ir::DataType::uint16:
      return Format::uint16;
    case ir::DataType::int8:
      return Format::int8;
    case ir::DataType::uint8:
    case ir::DataType::boolean:
      return Format::uint8;
    default:
      return std::nullopt;
  }
}

Result<void> bind_shape(const ir::Symbols& symbols, const ir::TensorType& type, const std::vector<std::int64_t>& dims,
                        std::unordered_map<ir::SymbolId, std::int64_t>& sizes) {
  if (!type.ranked) return {};
  const auto contradicts = [&] {
    return fail(ErrorCode::ill_typed,
                fmt::format("a tensor of shape [{}] was given, {} was expected", fmt::join(dims, ","), ir::to_string(symbols, type)));
  };
  if (dims.size() != type.rank()) return contradicts();
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (const auto symbol = type.shape[k].as_symbol()) sizes.emplace(*symbol, dims[k]);
  }
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const auto size = symbols.evaluate(type.shape[k], [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
      const auto at = sizes.find(symbol);
      return at != sizes.end() ? std::optional(at->second) : std::nullopt;
    });
    if (size && *size != dims[k]) return contradicts();
  }
  return {};
}

Result<Tensor> evaluate(ir::Symbols& symbols, const ops::Expr& expression, const std::vector<ir::Poly>& index, ir::DataType type,
                        const std::vector<std::int64_t>& dims, const std::vector<const Tensor*>& operands, const Options& options) {
  XFLOW_TRY(const std::int64_t count, checked_count(dims, options.most_elements));
  XFLOW_CHECK(check_room(count, operands, options));
  Tensor result{type, dims, std::vector<double>{}};
  const auto is_string = [](const Tensor* operand) { return operand->data_type == ir::DataType::string; };
  const bool of_strings = std::any_of(operands.begin(), operands.end(), is_string);
  const bool computable = of_strings
                              ? type == ir::DataType::string
                              : ir::is_floating(type) || ir::is_integer(type) || ir::is_narrow(type) || type == ir::DataType::boolean;
  if (!computable) return cannot_read(result);
  StringNumbers numbers_of_strings;
  Program program;
  std::vector<Source> sources;
  std::vector<Loaded> loaded;
  if (count > 0) {
    ProgramInput input;
    input.symbols = &symbols;
    const bool floating = options.number == Number::float64 || options.number == Number::float32;
    input.expression = floating ? stabilize(symbols, expression) : expression;
    input.index = index;
    input.dims = dims;
    input.data_type = type;
    for (const Tensor* operand : operands) input.operands.push_back({operand->data_type, operand->dims});
    input.symbol_values = [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
      const auto at = options.symbols.find(symbol);
      return at != options.symbols.end() ? std::optional(at->second) : std::nullopt;
    };
    input.real_values = [&](const std::string& name) -> std::optional<ir::Rational> {
      const auto at = options.reals.find(name);
      return at != options.reals.end() ? std::optional(at->second) : std::nullopt;
    };
    XFLOW_TRY(program, compile(input));
    for (const Tensor* operand : operands) {
      if (operand->data_type == ir::DataType::undefined) {
        sources.push_back({});
        continue;
      }
      if (const auto* strings = std::get_if<std::vector<std::string>>(&operand->elements)) {
        auto owned = std::make_shared<std::vector<std::int64_t>>(numbers_of_strings.of(*strings));
        sources.push_back({owned->data(), Format::int64, owned->size()});
        loaded.push_back({sources.back(), std::move(owned)});
        continue;
      }
      XFLOW_TRY(Loaded one, load(*operand, options));
      sources.push_back(one.source);
      loaded.push_back(std::move(one));
    }
  }
  XFLOW_CHECK(run(program, std::move(sources), computes_in_double(options, type, operands), options, result, count));
  if (type == ir::DataType::string) {
    result.elements = numbers_of_strings.strings(std::get<std::vector<std::int64_t>>(result.elements));
    return result;
  }
  // A runtime stores each result in its type.
  const bool narrow = type == ir::DataType::float16 || type == ir::DataType::bfloat16;
  if (narrow && options.number == Number::float32) return rounded(result);
  return result;
}

Result<std::vector<Tensor>> evaluate(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs, const Options& options) {
  return Evaluation(arena, inputs, options).run(graph);
}

}  // namespace xflow::eval
