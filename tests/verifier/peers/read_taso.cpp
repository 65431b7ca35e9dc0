// The wire format of protocol buffers, as far as TASO's file uses it: fields of kind 0 (varint) and 2 (length and bytes).
#include <fmt/format.h>

#include <map>
#include <optional>

#include "tests/verifier/peers/peer_rule.h"

namespace xflow::peers {

namespace {

struct Field {
  std::uint64_t number = 0;
  std::int64_t value = 0;  // of a varint
  std::string_view bytes;  // of the other kind
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return position_ == bytes_.size(); }

  Result<Field> next() {
    XFLOW_TRY(const std::uint64_t tag, varint());
    Field field;
    field.number = tag >> 3U;
    XFLOW_TRY(const std::uint64_t value, varint());
    if ((tag & 7U) == 0) {
      field.value = static_cast<std::int64_t>(value);
    } else if ((tag & 7U) == 2 && value <= bytes_.size() - position_) {
      field.bytes = bytes_.substr(position_, value);
      position_ += value;
    } else {
      return fail(ErrorCode::syntax, fmt::format("expected a varint or bytes of a known length, found a field of kind {}", tag & 7U));
    }
    return field;
  }

 private:
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (done()) break;
      const auto byte = static_cast<unsigned char>(bytes_[position_++]);
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
    return fail(ErrorCode::syntax, fmt::format("expected a varint, found the end at byte {}", position_));
  }

  std::string_view bytes_;
  std::size_t position_ = 0;
};

Result<std::vector<Field>> fields(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<Field> result;
  while (!reader.done()) {
    XFLOW_TRY(const Field f, reader.next());
    result.push_back(f);
  }
  return result;
}

// The integers of a message, by field number.
Result<std::map<std::uint64_t, std::int64_t>> integers(std::string_view bytes) {
  XFLOW_TRY(const std::vector<Field> list, fields(bytes));
  std::map<std::uint64_t, std::int64_t> result;
  for (const Field& f : list) result[f.number] = f.value;
  return result;
}

// TASO's numbers of operators and parameters.
enum TasoOperator { kConv = 3, kRelu = 8, kConcat = 12, kSplit = 13, kAdd = 16, kMul = 17, kMatmul = 18 };
enum TasoParameter { kKernelH = 4, kKernelW, kStrideH, kStrideW, kPad, kActivation, kRank, kAxis };

Result<Kind> kind_of(std::int64_t type) {
  switch (type) {
    case kConv:
      return Kind::conv;
    case kRelu:
      return Kind::relu;
    case kConcat:
      return Kind::concat;
    case kSplit:
      return Kind::split;
    case kAdd:
      return Kind::add;
    case kMul:
      return Kind::mul;
    case kMatmul:
      return Kind::matmul;
    default:
      return fail(ErrorCode::unsupported, fmt::format("operator {}", type));
  }
}

Result<Operation> read_operation(std::string_view bytes) {
  XFLOW_TRY(const std::vector<Field> list, fields(bytes));
  Operation op;
  std::int64_t type = -1;
  std::map<std::int64_t, std::int64_t> parameters;
  for (const Field& f : list) {
    if (f.number == 1) type = f.value;
    if (f.number == 2) {
      XFLOW_TRY(auto operand, integers(f.bytes));
      op.operands.push_back({static_cast<int>(operand[1]), static_cast<int>(operand[2])});
    }
    if (f.number == 3) {
      XFLOW_TRY(auto parameter, integers(f.bytes));
      parameters[parameter[1]] = parameter[2];
    }
  }
  XFLOW_TRY(op.kind, kind_of(type));
  op.axis = static_cast<int>(parameters[kAxis]);
  op.rank = static_cast<int>(parameters[kRank]);
  const std::int64_t activation = parameters[kActivation];
  op.relu = op.kind == Kind::conv && activation == 2;
  if (activation != 0 && !op.relu) return fail(ErrorCode::unsupported, fmt::format("activation {}", activation));
  if (op.kind != Kind::conv) return op;
  op.kernel = static_cast<int>(parameters[kKernelH]);
  if (parameters[kKernelW] != op.kernel || parameters[kStrideH] != 1 || parameters[kStrideW] != 1 || parameters[kPad] != 0) {
    return fail(ErrorCode::unsupported, "a convolution with another window than a square one of stride 1 and padding SAME");
  }
  return op;
}

Result<Rule> read_rule(std::string_view bytes) {
  XFLOW_TRY(const std::vector<Field> list, fields(bytes));
  Rule rule;
  for (const Field& f : list) {
    if (f.number == 1 || f.number == 2) {
      XFLOW_TRY(Operation op, read_operation(f.bytes));
      (f.number == 1 ? rule.source : rule.target).push_back(std::move(op));
    } else if (f.number == 3) {
      XFLOW_TRY(auto map, integers(f.bytes));
      rule.outputs.emplace_back(Operand{static_cast<int>(map[1]), static_cast<int>(map[3])},
                                Operand{static_cast<int>(map[2]), static_cast<int>(map[4])});
    }
  }
  return rule;
}

}  // namespace

Result<std::vector<Rule>> read_taso(std::string_view bytes) {
  XFLOW_TRY(const std::vector<Field> list, fields(bytes));
  std::vector<Rule> rules;
  for (const Field& f : list) {
    XFLOW_TRY(Rule rule, read_rule(f.bytes));
    rule.name = fmt::format("taso-{}", rules.size());
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace xflow::peers
