// Substitutions that other projects publish, in one form, and their readers.
//
// TASO ships graph_subst.pb: a protocol buffer RuleCollection{repeated Rule{srcOp, dstOp, mappedOutput}}. TENSAT ships the same in two text
// files of s-expressions, "source=>target": one with rules of one output, one with pairs of lines that share their target.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::peers {

// An output of an operation of the same side (0, 1, ...), or a variable (-1, -2, ...).
struct Operand {
  int operation = 0;
  int port = 0;
  friend auto operator<=>(const Operand&, const Operand&) = default;
};

enum class Kind : std::uint8_t { conv, relu, concat, split, add, mul, matmul };

struct Operation {
  Kind kind = Kind::relu;
  std::vector<Operand> operands;
  int axis = 0;       // concat, split
  int rank = 0;       // concat; 0: not said
  int kernel = 0;     // conv: its height and width; 0: not said
  bool relu = false;  // conv: followed by relu
  friend auto operator<=>(const Operation&, const Operation&) = default;
};

struct Rule {
  std::string name;
  std::vector<Operation> source;  // in topological order
  std::vector<Operation> target;
  std::vector<std::pair<Operand, Operand>> outputs;  // source, target
};

// Error::syntax says where in the bytes; Error::unsupported names the operator or the setting that no published rule uses (strides other
// than 1, padding other than SAME, activations other than relu).
Result<std::vector<Rule>> read_taso(std::string_view bytes);
Result<std::vector<Rule>> read_tensat(std::string_view single, std::string_view pairs);

}  // namespace xflow::peers
