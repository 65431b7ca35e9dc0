#include "src/onnx/lift/declared_shapes.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <vector>

#include "src/onnx/document/document_builder.h"

namespace xflow::onnx_io {
namespace {

// Other names could be read as an expression in a polynomial.
bool is_word(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

}  // namespace

DeclaredShapes::DeclaredShapes(const Document& document, const LiftedModel& model, ir::Arena& arena) : arena_(arena) {
  std::unordered_set<std::string_view> names;
  for (const ValueInfo& input : document.main().inputs)
    for (const Dimension& dim : input.type.dims)
      if (dim.kind == Dimension::Kind::parameter && is_word(dim.parameter)) names.insert(dim.parameter);
  for (const ir::ValueId input : model.inputs) {
    for (const ir::Poly& size : arena.type(input).shape)
      for (const ir::SymbolId symbol : arena.symbols().all_symbols(size)) {
        const ir::SymbolInfo info = arena.symbols().info(symbol);
        // An unnamed size may be printed with the same text as a named one.
        if (names.contains(info.name) && arena.symbols().named(info.kind, info.name) == symbol) named_.insert(symbol);
      }
  }
}

std::optional<std::string> DeclaredShapes::message(std::string_view name, ir::ValueId value) {
  const ir::TensorType& type = arena_.type(value);
  if (!type.ranked || type.data_type == ir::DataType::undefined || depends_on_opaque(value.node)) return std::nullopt;
  std::deque<std::string> texts;
  std::vector<Dimension> dims;
  for (const ir::Poly& size : type.shape) {
    if (const auto number = size.constant()) {
      dims.push_back({Dimension::Kind::value, *number, {}});
    } else if (auto text = text_of(size)) {
      dims.push_back({Dimension::Kind::parameter, 0, texts.emplace_back(*std::move(text))});
    } else {
      dims.push_back({});
    }
  }
  return value_info_message(name, type.data_type, dims);
}

// Nodes of an arena come after their operands.
bool DeclaredShapes::depends_on_opaque(ir::NodeId node) {
  while (of_opaque_.size() <= static_cast<std::size_t>(node)) {
    const ir::Node& next = arena_.node(static_cast<ir::NodeId>(of_opaque_.size()));
    const auto is_of_opaque = [&](ir::ValueId operand) { return of_opaque_[static_cast<std::size_t>(operand.node)]; };
    of_opaque_.push_back(next.kind == ir::NodeKind::opaque || std::ranges::any_of(next.operands, is_of_opaque));
  }
  return of_opaque_[static_cast<std::size_t>(node)];
}

std::optional<std::string> DeclaredShapes::text_of(const ir::Poly& size) {
  if (size.is_poisoned()) return std::nullopt;
  for (const ir::SymbolId symbol : arena_.symbols().all_symbols(size)) {
    const ir::SymbolKind kind = arena_.symbols().info(symbol).kind;
    const bool defined = kind == ir::SymbolKind::floor_div || kind == ir::SymbolKind::maximum;
    if (!defined && !named_.contains(symbol)) return std::nullopt;
  }
  return arena_.symbols().to_string(size);
}

}  // namespace xflow::onnx_io
