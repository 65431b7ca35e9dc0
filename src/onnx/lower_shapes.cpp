#include "src/onnx/lower_shapes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/onnx/document_builder.h"

namespace xflow::onnx_io {
namespace {

bool is_computed(ir::SymbolKind kind) { return kind == ir::SymbolKind::floor_div || kind == ir::SymbolKind::maximum; }

// Writes the nodes of polynomials; every intermediate is a vector of one int64, computed once.
class Writer {
 public:
  Writer(const ir::Symbols& symbols, const std::vector<std::pair<ir::SymbolId, SizeSource>>& sources, int opset, const ShapeNames& names)
      : symbols_(symbols), sources_(sources), opset_(opset), names_(names) {}

  Result<std::string> poly(const ir::Poly& p) {
    std::optional<std::string> sum;
    for (const ir::Poly::Term& term : p.terms()) {
      std::optional<std::string> product;
      for (const ir::Power& power : term.monomial) {
        XFLOW_TRY(const std::string factor, symbol(power.symbol));
        for (std::uint32_t k = 0; k < power.power; ++k) product = product ? binary("Mul", *product, factor) : factor;
      }
      if (term.coefficient != 1) product = binary("Mul", *product, constant(term.coefficient));
      sum = sum ? binary("Add", *sum, *product) : *product;
    }
    if (!sum) return constant(p.constant_term());
    if (p.constant_term() != 0) sum = binary("Add", *sum, constant(p.constant_term()));
    return *sum;
  }

  void finish(const std::vector<std::string>& elements, bool scalar, const std::string& output) {
    if (scalar) {
      NodeBuilder node("Reshape");
      messages.push_back(node.name(output).input(elements[0]).input(names_.integers({}, false)).output(output).message());
      return;
    }
    NodeBuilder node("Concat");
    node.name(output).output(output).integer("axis", 0);
    for (const std::string& e : elements) node.input(e);
    messages.push_back(node.message());
  }

  std::vector<std::string> messages;

 private:
  std::string constant(std::int64_t value) { return names_.integers({value}, false); }

  std::string binary(std::string_view op, const std::string& a, const std::string& b) {
    std::string output = names_.fresh(op);
    messages.push_back(NodeBuilder(op).name(output).input(a).input(b).output(output).message());
    return output;
  }

  Result<std::string> symbol(ir::SymbolId id) {
    if (const auto known = done_.find(id); known != done_.end()) return known->second;
    const ir::SymbolInfo& info = symbols_.info(id);
    std::string result;
    if (info.kind == ir::SymbolKind::floor_div) {
      // floor(a / b) = (a - a mod b) / b: ONNX Div truncates, Mod has the sign of the divisor.
      if (opset_ < 10) return fail(ErrorCode::unsupported, "cannot compute a floor division before opset 10");
      XFLOW_TRY(const std::string a, poly(info.arguments[0]));
      XFLOW_TRY(const std::string b, poly(info.arguments[1]));
      result = binary("Div", binary("Sub", a, binary("Mod", a, b)), b);
    } else if (info.kind == ir::SymbolKind::maximum) {
      if (opset_ < 12) return fail(ErrorCode::unsupported, "cannot compute a maximum of sizes before opset 12");
      XFLOW_TRY(const std::string a, poly(info.arguments[0]));
      XFLOW_TRY(const std::string b, poly(info.arguments[1]));
      result = binary("Max", a, b);
    } else {
      const auto source = std::find_if(sources_.begin(), sources_.end(), [&](const auto& s) { return s.first == id; });
      if (source == sources_.end()) return fail(ErrorCode::internal, "no source for size " + info.name);
      const std::string shape = names_.fresh("Shape");
      messages.push_back(NodeBuilder("Shape").name(shape).input(names_.name_of(source->second.value)).output(shape).message());
      result = names_.fresh("Gather");
      messages.push_back(
          NodeBuilder("Gather").name(result).input(shape).input(constant(source->second.axis)).output(result).integer("axis", 0).message());
    }
    done_.emplace(id, result);
    return result;
  }

  const ir::Symbols& symbols_;
  const std::vector<std::pair<ir::SymbolId, SizeSource>>& sources_;
  int opset_;
  const ShapeNames& names_;
  std::map<ir::SymbolId, std::string> done_;
};

}  // namespace

Result<std::vector<std::pair<ir::SymbolId, SizeSource>>> size_sources(const ir::Arena& arena, const std::vector<ir::Poly>& polys,
                                                                      const std::vector<ir::ValueId>& values) {
  std::vector<std::pair<ir::SymbolId, SizeSource>> result;
  std::vector<ir::SymbolId> needed;
  for (const ir::Poly& p : polys) {
    if (p.is_poisoned()) return fail(ErrorCode::unsupported, "cannot compute a size that overflows");
    for (const ir::SymbolId s : arena.symbols().all_symbols(p)) needed.push_back(s);
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  for (const ir::SymbolId s : needed) {
    if (is_computed(arena.symbols().info(s).kind)) continue;
    std::optional<SizeSource> source;
    for (const ir::ValueId v : values) {
      const ir::TensorType& type = arena.type(v);
      if (!type.ranked) continue;
      for (std::size_t axis = 0; axis < type.rank() && !source; ++axis)
        if (type.shape[axis] == ir::Poly(s)) source = SizeSource{v, static_cast<std::int64_t>(axis)};
      if (source) break;
    }
    if (!source) return fail(ErrorCode::unsupported, "no value shows the size " + arena.symbols().info(s).name);
    result.emplace_back(s, *source);
  }
  return result;
}

Result<std::vector<std::string>> compute_integers(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, bool scalar,
                                                  const std::vector<std::pair<ir::SymbolId, SizeSource>>& sources, int opset,
                                                  const ShapeNames& names, const std::string& output) {
  Writer writer(symbols, sources, opset, names);
  std::vector<std::string> elements;
  for (const ir::Poly& p : polys) {
    XFLOW_TRY(std::string element, writer.poly(p));
    elements.push_back(std::move(element));
  }
  writer.finish(elements, scalar, output);
  return std::move(writer.messages);
}

}  // namespace xflow::onnx_io
