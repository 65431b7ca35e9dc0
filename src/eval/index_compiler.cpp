#include "src/eval/index_compiler.h"

#include <fmt/format.h>

#include <algorithm>

namespace xflow::eval {

namespace {

// Values beyond this count as unbounded. Saturation at it keeps sums and products within 64 bits.
constexpr std::int64_t kFar = std::int64_t{1} << 62;

__extension__ using Wide = __int128;  // holds the product of two 64-bit numbers

std::int64_t saturate(Wide value) {
  if (value > kFar) return kFar;
  if (value < -kFar) return -kFar;
  return static_cast<std::int64_t>(value);
}

Range scaled(const Range& range, std::int64_t factor) {
  const std::int64_t a = saturate(static_cast<Wide>(range.low) * factor);
  const std::int64_t b = saturate(static_cast<Wide>(range.high) * factor);
  return {std::min(a, b), std::max(a, b)};
}

Range sum(const Range& a, const Range& b) {
  return {saturate(static_cast<Wide>(a.low) + b.low), saturate(static_cast<Wide>(a.high) + b.high)};
}

Range product(const Range& a, const Range& b) {
  const Range x = scaled(a, b.low);
  const Range y = scaled(a, b.high);
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

void add_terms(std::vector<IndexTerm>& terms, const std::vector<IndexTerm>& other, std::int64_t factor) {
  for (const IndexTerm& term : other) {
    const auto at = std::lower_bound(terms.begin(), terms.end(), term.id, [](const IndexTerm& t, int id) { return t.id < id; });
    if (at != terms.end() && at->id == term.id) {
      at->coefficient += factor * term.coefficient;
      if (at->coefficient == 0) terms.erase(at);
    } else if (factor * term.coefficient != 0) {
      terms.insert(at, {term.id, factor * term.coefficient});
    }
  }
}

// Splits a form into the part whose coefficients are multiples of `divisor`, and the rest.
std::pair<IndexForm, IndexForm> split_by(const IndexForm& form, std::int64_t divisor) {
  IndexForm multiple;
  IndexForm rest;
  multiple.constant = ir::floor_divide(form.constant, divisor) * divisor;
  rest.constant = form.constant - multiple.constant;
  for (const IndexTerm& term : form.variables) (term.coefficient % divisor == 0 ? multiple : rest).variables.push_back(term);
  for (const IndexTerm& term : form.slots) (term.coefficient % divisor == 0 ? multiple : rest).slots.push_back(term);
  return {std::move(multiple), std::move(rest)};
}

}  // namespace

IndexForm add(IndexForm a, const IndexForm& b, std::int64_t factor) {
  a.constant += factor * b.constant;
  add_terms(a.variables, b.variables, factor);
  add_terms(a.slots, b.slots, factor);
  return a;
}

Range IndexCompiler::range(const IndexForm& form) const {
  Range result{form.constant, form.constant};
  for (const IndexTerm& term : form.variables) {
    const std::int64_t extent = stage_.extents[static_cast<std::size_t>(term.id)];
    result = sum(result, scaled({0, std::max<std::int64_t>(extent - 1, 0)}, term.coefficient));
  }
  for (const IndexTerm& term : form.slots) {
    result = sum(result, scaled(stage_.slots[static_cast<std::size_t>(term.id)].range, term.coefficient));
  }
  return result;
}

std::uint64_t IndexCompiler::depends(const IndexForm& form) const {
  std::uint64_t result = 0;
  for (const IndexTerm& term : form.variables) result |= std::uint64_t{1} << term.id;
  for (const IndexTerm& term : form.slots) result |= stage_.slots[static_cast<std::size_t>(term.id)].depends;
  return result;
}

int IndexCompiler::add(IndexForm form) {
  const auto at = std::find(stage_.forms.begin(), stage_.forms.end(), form);
  const auto number = static_cast<int>(at - stage_.forms.begin());
  if (at == stage_.forms.end()) stage_.forms.push_back(std::move(form));
  return number;
}

IndexForm IndexCompiler::slot(IndexSlot slot) {
  for (const int argument : slot.arguments) slot.depends |= depends(stage_.forms[static_cast<std::size_t>(argument)]);
  const auto at = std::find_if(stage_.slots.begin(), stage_.slots.end(), [&](const IndexSlot& other) {
    return other.kind == slot.kind && other.arguments == slot.arguments && other.source == slot.source;
  });
  IndexForm result;
  result.slots.push_back({static_cast<int>(at - stage_.slots.begin()), 1});
  if (at == stage_.slots.end()) stage_.slots.push_back(std::move(slot));
  return result;
}

IndexForm IndexCompiler::multiply(const IndexForm& a, const IndexForm& b) {
  if (a.is_constant()) return eval::add(IndexForm{}, b, a.constant);
  if (b.is_constant()) return eval::add(IndexForm{}, a, b.constant);
  IndexSlot made;
  made.kind = IndexSlot::Kind::product;
  made.range = product(range(a), range(b));
  made.arguments = {add(a), add(b)};
  return slot(std::move(made));
}

Result<IndexForm> IndexCompiler::floor_div(const IndexForm& a, const IndexForm& b) {
  if (b.is_constant()) {
    const std::int64_t divisor = b.constant;
    if (divisor < 1) return fail(ErrorCode::unsupported, fmt::format("cannot evaluate an index divided by {}", divisor));
    // floor((d m + r) / d) = m + floor(r / d), and floor(r / d) is constant if the bounds of r say so.
    auto [multiple, rest] = split_by(a, divisor);
    IndexForm quotient;
    quotient.constant = multiple.constant / divisor;
    for (IndexTerm term : multiple.variables) quotient.variables.push_back({term.id, term.coefficient / divisor});
    for (IndexTerm term : multiple.slots) quotient.slots.push_back({term.id, term.coefficient / divisor});
    const Range bounds = range(rest);
    const Range quotients{ir::floor_divide(bounds.low, divisor), ir::floor_divide(bounds.high, divisor)};
    if (quotients.low == quotients.high) {
      quotient.constant += quotients.low;
      return quotient;
    }
    IndexSlot made;
    made.kind = IndexSlot::Kind::floor_div;
    made.range = quotients;
    made.arguments = {add(std::move(rest)), add(b)};
    return eval::add(std::move(quotient), slot(std::move(made)));
  }
  IndexSlot made;
  made.kind = IndexSlot::Kind::floor_div;
  const Range bounds = range(a);
  made.range = {std::min<std::int64_t>(bounds.low, 0), std::max<std::int64_t>(bounds.high, 0)};
  made.arguments = {add(a), add(b)};
  return slot(std::move(made));
}

IndexForm IndexCompiler::maximum(const IndexForm& a, const IndexForm& b) {
  const Range difference = range(eval::add(a, b, -1));
  if (difference.low >= 0) return a;
  if (difference.high <= 0) return b;
  IndexSlot made;
  made.kind = IndexSlot::Kind::maximum;
  const Range x = range(a);
  const Range y = range(b);
  made.range = {std::max(x.low, y.low), std::max(x.high, y.high)};
  made.arguments = {add(a), add(b)};
  return slot(std::move(made));
}

Result<IndexForm> IndexCompiler::symbol(ir::SymbolId id) {
  if (const auto at = variables_.find(id); at != variables_.end()) {
    IndexForm result;
    result.variables.push_back({at->second, 1});
    return result;
  }
  const ir::SymbolInfo& info = input_.symbols->info(id);
  switch (info.kind) {
    case ir::SymbolKind::floor_div: {
      XFLOW_TRY(const IndexForm a, form(info.arguments[0]));
      XFLOW_TRY(const IndexForm b, form(info.arguments[1]));
      return floor_div(a, b);
    }
    case ir::SymbolKind::maximum: {
      XFLOW_TRY(const IndexForm a, form(info.arguments[0]));
      XFLOW_TRY(const IndexForm b, form(info.arguments[1]));
      return maximum(a, b);
    }
    case ir::SymbolKind::element: {
      if (const auto value = input_.symbol_values(id)) return IndexForm{*value, {}, {}};
      if (info.tensor >= input_.operands.size()) break;
      const OperandShape& operand = input_.operands[info.tensor];
      if (ir::is_floating(operand.data_type) || info.arguments.size() != operand.dims.size()) break;
      XFLOW_TRY(IndexForm at, offset(info.arguments, operand.dims));
      IndexSlot made;
      made.kind = IndexSlot::Kind::element;
      made.source = static_cast<int>(info.tensor);
      made.range = {-kFar, kFar};
      made.arguments = {add(std::move(at))};
      return slot(std::move(made));
    }
    default:
      if (const auto value = input_.symbol_values(id)) return IndexForm{*value, {}, {}};
      break;
  }
  return fail(ErrorCode::unsupported, fmt::format("cannot evaluate: the size {} is not known", input_.symbols->to_string(ir::Poly(id))));
}

Result<IndexForm> IndexCompiler::form(const ir::Poly& poly) {
  if (poly.is_poisoned()) return fail(ErrorCode::unsupported, "cannot evaluate an index beyond 64 bits");
  IndexForm result;
  result.constant = poly.constant_term();
  for (const ir::PolyTerm& term : poly.terms()) {
    IndexForm product;
    product.constant = term.coefficient;
    for (const ir::Power& power : term.monomial) {
      XFLOW_TRY(const IndexForm factor, symbol(power.symbol));
      for (std::uint32_t k = 0; k < power.power; ++k) product = multiply(product, factor);
    }
    result = eval::add(std::move(result), product);
  }
  return result;
}

Result<IndexForm> IndexCompiler::offset(std::span<const ir::Poly> indices, std::span<const std::int64_t> dims) {
  if (indices.size() != dims.size()) {
    return fail(ErrorCode::internal,
                fmt::format("an element is read with {} indices from a tensor of {} dimensions", indices.size(), dims.size()));
  }
  IndexForm result;
  std::int64_t stride = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    XFLOW_TRY(const IndexForm index, form(indices[k]));
    result = eval::add(std::move(result), index, stride);
    stride *= dims[k];
  }
  return result;
}

}  // namespace xflow::eval
