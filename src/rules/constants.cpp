#include "src/rules/constants.h"

#include <algorithm>
#include <cmath>

#include "src/ops/operator.h"

namespace xflow::rules {

bool all_elements(const ir::Arena& arena, ir::ValueId value, const std::function<bool(double)>& holds) {
  const ir::Node& node = arena.node(value);
  if (node.kind == ir::NodeKind::constant) {
    if (!node.constant.is_small()) return false;
    const auto elements = ir::doubles(node.constant);
    return elements && !elements->empty() && std::all_of(elements->begin(), elements->end(), holds);
  }
  static const ir::OperatorId full = ops::id_of("full");
  if (node.kind != ir::NodeKind::operation || node.op != full) return false;
  const ir::Real& element = node.attributes.real("value");
  return !element.is_variable() && holds(element.to_double());
}

bool is_literal(const ir::Arena& arena, ir::ValueId value, const ir::Real& literal) {
  if (!arena.is_constant(value)) return false;
  const ir::DataType type = arena.type(value).data_type;
  const int bits = ir::mantissa_bits(type);
  return all_elements(arena, value, [&](double element) {
    if (bits > 0 && element == 0 && std::signbit(element)) return false;  // x - 0 is x, x - (-0) is not
    return bits > 0 ? literal.nearest_in_type(element, bits) : ir::Real::from_double(element) == literal;
  });
}

bool counts_up(const ir::Arena& arena, ir::ValueId value) {
  const ir::Node& node = arena.node(value);
  if (node.kind != ir::NodeKind::constant || node.constant.dims.size() != 1) return false;
  double next = 0;
  return all_elements(arena, value, [&](double element) { return element == next++ && !std::signbit(element); });
}

bool is_literal(const ir::Real& stored, ir::DataType type, const ir::Real& literal) {
  if (stored == literal) return true;
  if (stored.is_variable() || literal.is_variable()) return false;
  const double element = stored.to_double();
  if (literal.nearest_in_type(element, 24)) return true;
  const int bits = ir::mantissa_bits(type);
  return bits > 0 && literal.nearest_in_type(element, bits);
}

}  // namespace xflow::rules
