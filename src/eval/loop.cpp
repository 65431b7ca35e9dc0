#include "src/eval/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/eval/program.h"
#include "src/eval/run.h"
#include "src/eval/stabilize.h"
#include "src/ops/operator.h"

namespace xflow::eval {

struct Loop::Compiled {
  Program program;
  std::vector<Source> sources;  // without data
  ir::DataType type{};
  std::size_t count = 0;
  bool in_double = false;
};

namespace {

Unexpected cannot(const std::string& what) { return fail(ErrorCode::unsupported, "cannot compile " + what); }

template <typename To, typename From>
void narrow(const std::vector<From>& from, std::byte* to) {
  for (std::size_t k = 0; k < from.size(); ++k) {
    const To value = static_cast<To>(from[k]);
    std::memcpy(to + k * sizeof(To), &value, sizeof(To));
  }
}

void store(ir::DataType type, const std::vector<std::int64_t>& values, std::byte* to) {
  const int bits = ir::bits(type);
  if (bits == 8) return narrow<std::uint8_t>(values, to);
  if (bits == 16) return narrow<std::uint16_t>(values, to);
  if (bits == 32) return narrow<std::uint32_t>(values, to);
  narrow<std::uint64_t>(values, to);
}

template <typename T>
void store(ir::DataType type, const std::vector<T>& values, std::byte* to) {
  std::vector<std::uint16_t> halves;
  switch (type) {
    case ir::DataType::float16:
    case ir::DataType::bfloat16:
      halves.reserve(values.size());
      for (const T value : values) {
        const float single = static_cast<float>(value);
        halves.push_back(type == ir::DataType::float16 ? ir::float_to_half(single) : ir::float_to_bfloat16(single));
      }
      return narrow<std::uint16_t>(halves, to);
    case ir::DataType::float32:
      return narrow<float>(values, to);
    default:
      return narrow<double>(values, to);
  }
}

}  // namespace

Loop::Loop(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Loop::Loop(Loop&&) noexcept = default;
Loop& Loop::operator=(Loop&&) noexcept = default;
Loop::~Loop() = default;

Result<Loop> Loop::compile(ir::Arena& arena, ir::NodeId operation, int output) {
  const ir::Node& node = arena.node(operation);
  const ir::TensorType type = node.outputs.at(static_cast<std::size_t>(output));
  auto compiled = std::make_unique<Compiled>();
  compiled->type = type.data_type;
  compiled->in_double = type.data_type == ir::DataType::float64;
  ProgramInput input;
  input.symbols = &arena.symbols();
  input.data_type = type.data_type;
  const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
  if (!dims || (!ir::is_floating(type.data_type) && !ir::is_integer(type.data_type) && type.data_type != ir::DataType::boolean))
    return cannot(ir::to_string(arena.symbols(), type));
  input.dims = *dims;
  compiled->count = 1;
  for (const std::int64_t d : *dims) compiled->count *= static_cast<std::size_t>(d);
  for (const ir::ValueId operand : node.operands) {
    if (arena.is_absent(operand)) {
      input.operands.push_back({});
      compiled->sources.push_back({});
      continue;
    }
    const ir::TensorType& own = arena.type(operand);
    const auto size = own.ranked ? ir::constant_shape(own.shape) : std::nullopt;
    const auto format = format_of(own.data_type);
    if (!size || !format) return cannot(ir::to_string(arena.symbols(), own));
    std::uint64_t count = 1;
    for (const std::int64_t d : *size) count *= static_cast<std::uint64_t>(d);
    compiled->sources.push_back({nullptr, *format, count});
    compiled->in_double = compiled->in_double || own.data_type == ir::DataType::float64;
    input.operands.push_back({own.data_type, *size});
  }
  if (compiled->count == 0) return Loop(std::move(compiled));
  input.expression = stabilize(arena.symbols(), ops::semantics_of(arena, operation, output, input.index));
  input.symbol_values = [](ir::SymbolId) { return std::nullopt; };
  XFLOW_TRY(compiled->program, eval::compile(input));
  return Loop(std::move(compiled));
}

Result<void> Loop::run(std::span<const std::byte* const> operands, std::byte* result) const {
  const Compiled& c = *compiled_;
  if (c.count == 0) return {};
  std::vector<Source> sources = c.sources;
  for (std::size_t k = 0; k < sources.size(); ++k) sources[k].data = operands[k];
  const bool floating = ir::is_floating(c.type);
  std::vector<std::int64_t> integers(floating ? 0 : c.count);
  if (c.in_double) {
    std::vector<double> numbers(floating ? c.count : 0);
    XFLOW_CHECK(run_double(c.program, std::move(sources), numbers.data(), integers.data()));
    if (floating) store(c.type, numbers, result);
  } else {
    std::vector<float> numbers(floating ? c.count : 0);
    XFLOW_CHECK(run_float(c.program, std::move(sources), numbers.data(), integers.data()));
    if (floating) store(c.type, numbers, result);
  }
  if (!floating) store(c.type, integers, result);
  return {};
}

}  // namespace xflow::eval
