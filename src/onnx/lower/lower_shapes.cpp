#include "src/onnx/lower/lower_shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/onnx/document/document_builder.h"

namespace xflow::onnx_io {
namespace {

bool is_computed(ir::SymbolKind kind) { return kind == ir::SymbolKind::floor_div || kind == ir::SymbolKind::maximum; }

// The numbers a > 0 and b with p = a * s + b for one symbol s that is not a defined one.
struct Linear {
  ir::SymbolId symbol;
  std::int64_t factor = 1;
  std::int64_t offset = 0;
};
std::optional<Linear> linear(const ir::Symbols& symbols, const ir::Poly& p) {
  if (p.is_poisoned() || p.terms().size() != 1) return std::nullopt;
  const ir::PolyTerm& term = p.terms()[0];
  if (term.monomial.size() != 1 || term.monomial[0].power != 1 || term.coefficient < 1) return std::nullopt;
  if (is_computed(symbols.info(term.monomial[0].symbol).kind)) return std::nullopt;
  return Linear{term.monomial[0].symbol, term.coefficient, p.constant_term()};
}

// Writes the nodes that compute polynomials. Every intermediate result is a vector of one int64 and is
// computed once.
class Writer {
 public:
  Writer(const ir::Symbols& symbols, const std::vector<SizeSource>& sources, int opset, const ShapeNames& names)
      : symbols_(symbols), sources_(sources), opset_(opset), names_(names) {}

  Result<std::string> poly(const ir::Poly& p) {
    if (const SizeSource* source = find(p)) return size(*source);
    std::optional<std::string> sum;
    for (const ir::PolyTerm& term : p.terms()) {
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

  // The nodes get fresh names: `output` may be a name of the document, and a node of the document may have
  // the same name.
  void finish(const std::vector<std::string>& elements, bool scalar, const std::string& output) {
    if (scalar) {
      NodeBuilder node("Reshape");
      messages.push_back(node.name(names_.fresh("Reshape")).input(elements[0]).input(names_.integers({})).output(output).message());
      return;
    }
    NodeBuilder node("Concat");
    node.name(names_.fresh("Concat")).output(output).integer("axis", 0);
    for (const std::string& e : elements) node.input(e);
    messages.push_back(node.message());
  }

  std::vector<std::string> messages;

 private:
  std::string constant(std::int64_t value) { return names_.integers({value}); }

  std::string binary(std::string_view op, const std::string& a, const std::string& b) {
    std::string output = names_.fresh(op);
    messages.push_back(NodeBuilder(op).name(output).input(a).input(b).output(output).message());
    return output;
  }

  const SizeSource* find(const ir::Poly& size) const {
    const auto found = std::find_if(sources_.begin(), sources_.end(), [&](const SizeSource& s) { return s.size == size; });
    return found == sources_.end() ? nullptr : &*found;
  }

  std::string size(const SizeSource& source) {
    std::string& result = sizes_[{source.value, source.axis}];
    if (!result.empty()) return result;
    std::string& shape = shapes_[source.value];
    if (shape.empty()) {
      shape = names_.fresh("Shape");
      messages.push_back(NodeBuilder("Shape").name(shape).input(names_.name_of(source.value)).output(shape).message());
    }
    result = names_.fresh("Gather");
    messages.push_back(
        NodeBuilder("Gather").name(result).input(shape).input(constant(source.axis)).output(result).integer("axis", 0).message());
    return result;
  }

  Result<std::string> symbol(ir::SymbolId id) {
    if (const auto known = done_.find(id); known != done_.end()) return known->second;
    XFLOW_TRY(std::string result, compute(id));
    done_.emplace(id, result);
    return result;
  }

  Result<std::string> compute(ir::SymbolId id) {
    if (const SizeSource* source = find(ir::Poly(id))) return size(*source);
    const ir::SymbolInfo& info = symbols_.info(id);
    if (is_computed(info.kind)) {
      XFLOW_TRY(const std::string a, poly(info.arguments[0]));
      XFLOW_TRY(const std::string b, poly(info.arguments[1]));
      if (info.kind == ir::SymbolKind::maximum) {
        if (opset_ >= 12) return binary("Max", a, b);
        // Before opset 12, Max does not support integers.
        if (opset_ < 9) return fail(ErrorCode::unsupported, "cannot compute a maximum of sizes before opset 9");
        const std::string is_greater = binary("Greater", a, b);
        std::string output = names_.fresh("Where");
        messages.push_back(NodeBuilder("Where").name(output).input(is_greater).input(a).input(b).output(output).message());
        return output;
      }
      // floor(a / b) = (a - a mod b) / b: ONNX Div truncates, Mod has the sign of the divisor.
      if (opset_ < 10) return fail(ErrorCode::unsupported, "cannot compute a floor division before opset 10");
      return binary("Div", binary("Sub", a, binary("Mod", a, b)), b);
    }
    // s = (a * s + b - b) / a.
    for (const SizeSource& source : sources_) {
      const auto line = linear(symbols_, source.size);
      if (!line || line->symbol != id) continue;
      std::string result = size(source);
      if (line->offset != 0) result = binary("Sub", result, constant(line->offset));
      return line->factor == 1 ? result : binary("Div", result, constant(line->factor));
    }
    return fail(ErrorCode::internal, "no source for size " + info.name);
  }

  const ir::Symbols& symbols_;
  const std::vector<SizeSource>& sources_;
  int opset_;
  const ShapeNames& names_;
  std::map<ir::SymbolId, std::string> done_;
  std::map<std::pair<ir::ValueId, std::int64_t>, std::string> sizes_;
  std::map<ir::ValueId, std::string> shapes_;
};

}  // namespace

void SizeIndex::add(const ir::Arena& arena, ir::ValueId value, std::size_t position) {
  const ir::TensorType& type = arena.type(value);
  if (!type.ranked) return;
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    const ir::Poly& size = type.shape[axis];
    if (size.is_constant() || size.is_poisoned()) continue;
    const Entry entry{{size, value, static_cast<std::int64_t>(axis)}, position};
    exact_.try_emplace(size, entry);
    if (const auto line = linear(arena.symbols(), size)) linear_.try_emplace(line->symbol, entry);
  }
}

const SizeIndex::Entry* SizeIndex::find(const ir::Poly& size, std::size_t limit) const {
  const auto found = exact_.find(size);
  return found == exact_.end() || found->second.position >= limit ? nullptr : &found->second;
}

Result<void> SizeIndex::need(const ir::Symbols& symbols, const ir::Poly& p, std::size_t limit, std::vector<SizeSource>& result) const {
  if (p.is_poisoned()) return fail(ErrorCode::unsupported, "cannot compute a size that overflows");
  if (p.is_constant()) return {};
  if (const Entry* entry = find(p, limit)) {
    result.push_back(entry->source);
    return {};
  }
  for (const ir::SymbolId s : p.symbols()) XFLOW_CHECK(need(symbols, s, limit, result));
  return {};
}

Result<void> SizeIndex::need(const ir::Symbols& symbols, ir::SymbolId s, std::size_t limit, std::vector<SizeSource>& result) const {
  if (const Entry* entry = find(ir::Poly(s), limit)) {
    result.push_back(entry->source);
    return {};
  }
  const ir::SymbolInfo& info = symbols.info(s);
  if (is_computed(info.kind)) {
    for (const ir::Poly& argument : info.arguments) XFLOW_CHECK(need(symbols, argument, limit, result));
    return {};
  }
  const auto found = linear_.find(s);
  if (found == linear_.end() || found->second.position >= limit)
    return fail(ErrorCode::unsupported, "no value shows the size " + info.name);
  result.push_back(found->second.source);
  return {};
}

Result<std::vector<SizeSource>> SizeIndex::sources(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys,
                                                   std::size_t limit) const {
  std::vector<SizeSource> result;
  for (const ir::Poly& p : polys) XFLOW_CHECK(need(symbols, p, limit, result));
  return result;
}

Result<std::vector<std::string>> compute_integers(const ir::Symbols& symbols, const std::vector<ir::Poly>& polys, bool scalar,
                                                  const std::vector<SizeSource>& sources, int opset, const ShapeNames& names,
                                                  const std::string& output) {
  if (scalar && opset < 5) return fail(ErrorCode::unsupported, "cannot make a scalar of a size before opset 5");
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
