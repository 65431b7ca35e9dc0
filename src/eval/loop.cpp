#include "src/eval/loop.h"

#include <algorithm>
#include <cstring>

#include "src/eval/operation_program.h"
#include "src/eval/program.h"
#include "src/eval/run.h"

namespace xflow::eval {

struct Loop::Compiled {
  Program program;
  ir::DataType type{};
  std::unique_ptr<Runner<float>> in_float;  // one of the two is set; neither for an empty result
  std::unique_ptr<Runner<double>> in_double;
  // The result before conversion to its type: one of the three.
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;
};

namespace {

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
  switch (type) {
    case ir::DataType::float16:
    case ir::DataType::bfloat16:
      for (const T value : values) {
        const float single = static_cast<float>(value);
        const std::uint16_t half = type == ir::DataType::float16 ? ir::float_to_half(single) : ir::float_to_bfloat16(single);
        std::memcpy(to, &half, sizeof(half));
        to += sizeof(half);
      }
      return;
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
  XFLOW_TRY(OperationProgram found, program_of(arena, operation, output));
  auto compiled = std::make_unique<Compiled>();
  compiled->type = found.type;
  if (found.elements == 0) return Loop(std::move(compiled));
  compiled->program = std::move(found.program);
  const auto count = static_cast<std::size_t>(found.elements);
  const bool floating = ir::is_floating(found.type);
  if (!floating) compiled->integers.resize(count);
  if (found.in_double) {
    if (floating) compiled->doubles.resize(count);
    XFLOW_TRY(compiled->in_double, make_double_runner(compiled->program, std::move(found.sources)));
  } else {
    if (floating) compiled->floats.resize(count);
    XFLOW_TRY(compiled->in_float, make_float_runner(compiled->program, std::move(found.sources)));
  }
  return Loop(std::move(compiled));
}

bool Loop::run(std::span<const std::byte* const> operands, std::byte* result) {
  Compiled& c = *compiled_;
  if (c.in_double != nullptr) {
    if (!c.in_double->run(operands, c.doubles.data(), c.integers.data())) return false;
    if (c.integers.empty()) store(c.type, c.doubles, result);
  } else if (c.in_float != nullptr) {
    if (!c.in_float->run(operands, c.floats.data(), c.integers.data())) return false;
    if (c.integers.empty()) store(c.type, c.floats, result);
  }
  if (!c.integers.empty()) store(c.type, c.integers, result);
  return true;
}

void Loop::stop_when(const std::function<bool()>& stop) {
  if (compiled_->in_double != nullptr) compiled_->in_double->stop_when(stop);
  if (compiled_->in_float != nullptr) compiled_->in_float->stop_when(stop);
}

bool Loop::was_stopped() const {
  const Compiled& c = *compiled_;
  return (c.in_double != nullptr && c.in_double->is_stopped()) || (c.in_float != nullptr && c.in_float->is_stopped());
}

std::size_t Loop::bytes() const {
  const Compiled& c = *compiled_;
  const std::size_t programs = c.in_double != nullptr ? c.in_double->bytes() : c.in_float != nullptr ? c.in_float->bytes() : 0;
  return programs + c.floats.size() * sizeof(float) + c.doubles.size() * sizeof(double) + c.integers.size() * sizeof(std::int64_t);
}

}  // namespace xflow::eval
