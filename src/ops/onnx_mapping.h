// The mapping between operators and ONNX: rows of data, with functions for attributes that are inputs in
// ONNX, have another default, or changed their form.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/ir/attribute.h"
#include "src/ir/constant.h"

namespace xflow::ops {

struct Operation;

// A node of an ONNX model, as mappings read it. Input and output positions are those of the ONNX operator.
class OnnxNode {
 public:
  virtual ~OnnxNode() = default;
  virtual std::string_view type() const = 0;    // "Conv"
  virtual std::string_view domain() const = 0;  // "" for ai.onnx
  virtual int opset() const = 0;                // the version of the domain that the model imports
  virtual ir::Symbols& symbols() const = 0;

  virtual std::size_t input_count() const = 0;
  virtual bool has_input(std::size_t k) const = 0;  // present and not the empty name
  virtual const ir::TensorType& input_type(std::size_t k) const = 0;
  virtual std::size_t output_count() const = 0;  // without trailing empty names
  virtual bool has_output(std::size_t k) const = 0;
  // The elements of integer input k (1-D or scalar) as polynomials, if they are known: a constant or shape
  // arithmetic.
  virtual std::optional<std::vector<ir::Poly>> integers(std::size_t k) const = 0;
  // The value of input k if it is a small constant.
  virtual std::optional<ir::Constant> constant(std::size_t k) const = 0;
  // The elements of input k as exact reals if it is a small floating constant. A scalar has one element.
  virtual std::optional<std::vector<ir::Real>> reals(std::size_t k) const = 0;

  virtual bool has_attribute(std::string_view name) const = 0;
  virtual std::int64_t integer(std::string_view name, std::int64_t otherwise) const = 0;
  virtual std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const = 0;
  virtual ir::Real real(std::string_view name, const ir::Real& otherwise) const = 0;
  virtual std::optional<std::vector<float>> real_list(std::string_view name) const = 0;
  virtual std::string word(std::string_view name, std::string_view otherwise) const = 0;
  virtual std::optional<ir::Constant> tensor(std::string_view name) const = 0;
};

// The result of lifting an ONNX node: the operands and attributes of the operation.
struct Lifted {
  std::vector<int> operands;  // positions of ONNX inputs; -1 for an absent optional operand
  ir::Attributes attributes;
};

// The inputs and attributes of the ONNX node that exports an operation.
struct Exported {
  struct Absent {};
  struct OperandInput {
    int operand;  // the number of an operand of the operation
  };
  struct IntegersInput {
    std::vector<ir::Poly> values;  // written as a 1-D int64 initializer, or computed from shapes if symbolic
    bool scalar = false;           // 0-D instead of 1-D
  };
  struct ConstantInput {
    ir::Constant constant;
  };
  using Input = std::variant<Absent, OperandInput, IntegersInput, ConstantInput>;
  using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, ir::Constant>;

  std::vector<Input> inputs;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
};

inline constexpr int kNewest = std::numeric_limits<int>::max();

// One row: an ONNX operator that is exactly this operator in versions [since, until] of its domain.
struct OnnxMapping {
  std::string_view domain;
  std::string_view type;
  int since = 1;
  int until = kNewest;  // inclusive
  // Lifts a node. Error::unsupported names what this operator does not cover ("auto_pad SAME_UPPER with
  // unknown size"); the node then stays opaque.
  Result<Lifted> (*lift)(const OnnxNode&) = nullptr;
  // Exports an operation at `opset`. Error::unsupported if this row cannot express it (symbolic pads as an
  // attribute). Null for a row that is lifted only.
  Result<Exported> (*to_onnx)(const Operation&, int opset) = nullptr;
};

// `lift` and `to_onnx` of operators without attributes whose inputs are their operands, in order.
Result<Lifted> lift_operands(const OnnxNode& node);
Result<Exported> export_operands(const Operation& operation, int opset);

}  // namespace xflow::ops
