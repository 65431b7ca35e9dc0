#include "src/onnx/document/node_view.h"

#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

std::size_t NodeView::output_count() const {
  std::size_t count = node_.outputs.size();
  while (count > 0 && node_.outputs[count - 1].empty()) --count;
  return count;
}

std::optional<std::vector<ir::Poly>> NodeView::integers(std::size_t k) const {
  if (!has_input(k)) return std::nullopt;
  return ops::integer_content(arena_, operands_[k]);
}

std::optional<ir::Constant> NodeView::constant(std::size_t k) const {
  if (!has_input(k)) return std::nullopt;
  const ir::Node& node = arena_.node(operands_[k]);
  if (node.kind != ir::NodeKind::constant || !node.constant.is_small()) return std::nullopt;
  return node.constant;
}

std::optional<std::vector<ir::Real>> NodeView::reals(std::size_t k) const {
  const auto found = constant(k);
  if (!found || !ir::is_floating(found->data_type)) return std::nullopt;
  const auto values = ir::doubles(*found);
  if (!values) return std::nullopt;
  std::vector<ir::Real> result;
  for (const double v : *values) result.push_back(ir::Real::from_double(v));
  return result;
}

std::int64_t NodeView::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* attribute = node_.find(name);
  return attribute == nullptr ? otherwise : attribute->integer().value_or(otherwise);
}

std::optional<std::vector<std::int64_t>> NodeView::integer_list(std::string_view name) const {
  const Attribute* attribute = node_.find(name);
  if (attribute == nullptr) return std::nullopt;
  auto list = attribute->integers();
  if (!list) return std::nullopt;
  return *std::move(list);
}

std::optional<std::vector<float>> NodeView::real_list(std::string_view name) const {
  const Attribute* attribute = node_.find(name);
  if (attribute == nullptr) return std::nullopt;
  auto list = attribute->reals();
  if (!list) return std::nullopt;
  return *std::move(list);
}

ir::Real NodeView::real(std::string_view name, const ir::Real& otherwise) const {
  const Attribute* attribute = node_.find(name);
  if (attribute == nullptr) return otherwise;
  const auto value = attribute->real();
  return value ? ir::Real::from_double(static_cast<double>(*value)) : otherwise;
}

std::string NodeView::word(std::string_view name, std::string_view otherwise) const {
  const Attribute* attribute = node_.find(name);
  if (attribute == nullptr) return std::string(otherwise);
  const auto value = attribute->string();
  return std::string(value ? *value : otherwise);
}

std::optional<ir::Constant> NodeView::tensor(std::string_view name) const {
  const Attribute* attribute = node_.find(name);
  if (attribute == nullptr) return std::nullopt;
  const auto view = document_.tensor(*attribute);
  if (!view) return std::nullopt;
  auto constant = document_.constant(*view);
  if (!constant) return std::nullopt;
  return *std::move(constant);
}

}  // namespace xflow::onnx_io
