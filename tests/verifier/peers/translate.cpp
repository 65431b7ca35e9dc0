#include "tests/verifier/peers/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "src/ir/poly.h"

namespace xflow::peers {

namespace {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : std::string(between)) + p;
  return text;
}

// Equations between sizes, and what they determine. A size is replaced only where that is equivalent to the equation.
class Equations {
 public:
  ir::Symbols& symbols() { return symbols_; }
  Poly dimension(const std::string& name) { return symbols_.named(SymbolKind::dimension, name); }
  Poly parameter(const std::string& name) { return symbols_.named(SymbolKind::parameter, name); }
  Poly value(const Poly& p) {
    Poly result = p;
    // Solutions may speak of sizes that were determined later.
    for (Poly next = symbols_.substitute(result, solved_); !(next == result); next = symbols_.substitute(result, solved_)) result = next;
    return result;
  }
  void equal(const Poly& a, const Poly& b) { open_.emplace_back(a, b); }

  // Error::ill_typed for an equation that no sizes satisfy.
  Result<void> solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = 0; k < open_.size(); ++k) {
        const Poly p = without_common_factor(value(open_[k].first), value(open_[k].second));
        if (p.is_constant() && !p.is_zero()) {
          return fail(ErrorCode::ill_typed, fmt::format("{} and {} are never equal", symbols_.to_string(value(open_[k].first)),
                                                        symbols_.to_string(value(open_[k].second))));
        }
        if (!p.is_zero() && !determine(p)) continue;
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(k--));
        changed = true;
      }
    }
    return {};
  }
  // What stayed an equation, each once.
  std::vector<std::pair<Poly, Poly>> open() {
    std::vector<std::pair<Poly, Poly>> result;
    for (const auto& [a, b] : open_) {
      const std::pair<Poly, Poly> next{value(a), value(b)};
      if (!(next.first == next.second) && std::find(result.begin(), result.end(), next) == result.end()) result.push_back(next);
    }
    return result;
  }
  // floor(a / b) is q where an equation says a = b q.
  void divide_by_equations() {
    for (const auto& [a, b] : open()) {
      for (std::size_t k = 0; k < symbols_.size(); ++k) {
        const auto s = static_cast<SymbolId>(k);
        const ir::SymbolInfo info = symbols_.info(s);
        if (info.kind != SymbolKind::floor_div || solved_.contains(s)) continue;
        for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
          const auto q = from == value(info.arguments[0]) ? ir::exact_divide(to, value(info.arguments[1])) : std::nullopt;
          if (q && !symbols_.occurs(*q, s)) solved_.insert_or_assign(s, *q);
        }
      }
    }
  }

 private:
  // a - b divided by what is a factor of both. All sizes are at least 1, and so is what is written as a sum of products of sizes.
  Poly without_common_factor(const Poly& a, const Poly& b) const {
    if (is_size(b))
      if (const auto q = ir::exact_divide(a, b)) return *q - Poly(1);
    if (is_size(a))
      if (const auto q = ir::exact_divide(b, a)) return Poly(1) - *q;
    Poly p = a - b;
    for (bool changed = true; changed && !p.is_zero();) {
      changed = false;
      for (const SymbolId s : p.symbols()) {
        if (symbols_.info(s).kind != SymbolKind::dimension) continue;
        if (const auto q = ir::exact_divide(p, Poly(s))) {
          p = *q;
          changed = true;
          break;
        }
      }
    }
    return p;
  }

  // At least 1 whatever the sizes in it are.
  bool is_size(const Poly& p) const {
    const bool sizes_alone = std::all_of(p.terms().begin(), p.terms().end(), [&](const ir::PolyTerm& t) {
      return t.coefficient > 0 && std::all_of(t.monomial.begin(), t.monomial.end(), [&](const ir::Power& power) {
               return symbols_.info(power.symbol).kind == SymbolKind::dimension;
             });
    });
    return sizes_alone && p.constant_term() >= 0 && (!p.is_constant() || p.constant_term() >= 1);
  }

  // s = value, where the value is at least 1 whatever its sizes are.
  bool determine(const Poly& p) {
    const auto all = p.symbols();
    for (const SymbolId* s = all.end(); s-- != all.begin();) {
      if (symbols_.info(*s).kind != SymbolKind::dimension) continue;
      const auto linear = p.linear_in(*s);
      if (!linear || !linear->first.is_constant() || symbols_.occurs(linear->second, *s)) continue;
      const std::int64_t c = *linear->first.constant();
      if (c != 1 && c != -1) continue;
      const Poly solution = c == 1 ? -linear->second : linear->second;
      if (!is_size(solution)) continue;
      solved_.emplace(*s, solution);
      return true;
    }
    return false;
  }

  ir::Symbols symbols_;
  ir::Symbols::Substitution solved_;
  std::vector<std::pair<Poly, Poly>> open_;
};

// The text of an expression of the rule language.
std::string text_of(const ir::Symbols& symbols, const Poly& p) {
  std::vector<std::string> terms;
  for (const ir::PolyTerm& t : p.terms()) {
    std::vector<std::string> factors;
    if (t.coefficient != 1) factors.push_back(std::to_string(t.coefficient));
    for (const ir::Power& power : t.monomial) {
      const ir::SymbolInfo& info = symbols.info(power.symbol);
      const std::string name = info.kind == SymbolKind::floor_div ? fmt::format("floor_div({}, {})", text_of(symbols, info.arguments[0]),
                                                                                text_of(symbols, info.arguments[1]))
                                                                  : info.name;
      for (std::uint32_t k = 0; k < power.power; ++k) factors.push_back(name);
    }
    terms.push_back(join(factors, " * "));
  }
  if (p.constant_term() != 0 || terms.empty()) terms.push_back(std::to_string(p.constant_term()));
  return join(terms, " + ");
}

// A value while the rule is typed: its dimensions, and for each the parts that a concat made it of.
struct Value {
  std::vector<Poly> dims;
  std::vector<std::vector<Poly>> parts;
  std::string name;
};

class Translator {
 public:
  Translator(const Rule& rule, Generality generality) : rule_(rule), generality_(generality) {}

  Result<std::string> text() {
    XFLOW_CHECK(find_ranks());
    if (ranked_) declare();
    std::vector<Value> source;
    std::vector<Value> target;
    XFLOW_TRY(source, side(rule_.source, true));
    XFLOW_TRY(target, side(rule_.target, false));
    if (ranked_) {
      for (const auto& [s, t] : rule_.outputs) equal(output(source, rule_.source, s).dims, output(target, rule_.target, t).dims);
      XFLOW_CHECK(equations_.solve());
      equations_.divide_by_equations();
      XFLOW_CHECK(equations_.solve());
    }
    std::string result = fmt::format("rule {}\n", rule_.name);
    if (ranked_) result += "  with\n" + declarations();
    result += "  source\n" + statements(source_lines_) + "  target\n" + statements(target_lines_);
    const std::string guards = guard_text();
    return result + (guards.empty() ? "" : "  where " + guards + "\n");
  }

 private:
  // A line of the rule: text with holes, which are filled when all equations are solved.
  struct Line {
    std::vector<std::string> texts;
    std::vector<Poly> holes;
  };

  std::vector<int> variables() const {
    std::set<int> result;
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const Operation& op : *side)
        for (const Operand& o : op.operands)
          if (o.operation < 0) result.insert(-o.operation);
    return {result.begin(), result.end()};
  }

  // Ranks spread through operators that keep them. A rule in which nothing says a rank has operators on elements alone.
  Result<void> find_ranks() {
    std::map<int, int> variable;
    std::array<std::map<int, int>, 2> operation;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::vector<Operation>& list = side == 0 ? rule_.source : rule_.target;
        for (std::size_t k = 0; k < list.size(); ++k) {
          const Operation& op = list[k];
          std::vector<int*> all = {&operation[side][static_cast<int>(k)]};
          for (const Operand& o : op.operands) {
            if (o.operation >= static_cast<int>(k)) return fail(ErrorCode::syntax, "an operation reads one that comes later");
            all.push_back(o.operation < 0 ? &variable[o.operation] : &operation[side][o.operation]);
          }
          int known = op.kind == Kind::matmul ? 2 : op.kind == Kind::conv ? 4 : op.rank;
          for (const int* r : all) known = std::max(known, *r);
          for (int* r : all) {
            if (*r != 0 && *r != known) return fail(ErrorCode::ill_typed, fmt::format("a value has {} and {} dimensions", *r, known));
            changed = changed || *r != known;
            *r = known;
          }
        }
      }
      for (const auto& [s, t] : rule_.outputs) {
        int& a = operation[0][s.operation];
        int& b = operation[1][t.operation];
        changed = changed || a != b;
        a = b = std::max(a, b);
      }
    }
    for (const auto& [v, r] : variable) ranks_[-v] = r;
    ranked_ = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r.second != 0; });
    if (ranked_ && std::any_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r.second == 0; })) {
      return fail(ErrorCode::unsupported, "the rank of some variables only is known");
    }
    return {};
  }

  void declare() {
    for (const auto& [v, rank] : ranks_) {
      Value value;
      value.name = fmt::format("x{}", v);
      for (int k = 0; k < rank; ++k) value.dims.push_back(equations_.dimension(fmt::format("N{}_{}", v, k)));
      value.parts.resize(static_cast<std::size_t>(rank));
      inputs_[v] = std::move(value);
    }
  }

  void equal(const std::vector<Poly>& a, const std::vector<Poly>& b, std::optional<std::size_t> except = {}) {
    for (std::size_t k = 0; k < a.size(); ++k)
      if (k != except) equations_.equal(a[k], b[k]);
  }

  // How the outputs of operation `k` are called.
  std::string name_of(bool source, std::size_t k, int port) const {
    for (std::size_t n = 0; n < rule_.outputs.size(); ++n) {
      const Operand& o = source ? rule_.outputs[n].first : rule_.outputs[n].second;
      if (o.operation == static_cast<int>(k) && o.port == port) return fmt::format("y{}", n + 1);
    }
    return fmt::format("{}{}{}", source ? "s" : "t", k, port == 0 ? "" : "b");
  }

  Result<std::vector<Value>> side(const std::vector<Operation>& operations, bool source) {
    std::vector<Value> values;  // of port 0; parts[axis] of a split are its outputs' sizes
    for (std::size_t k = 0; k < operations.size(); ++k) {
      const Operation& op = operations[k];
      std::vector<Value> operands;
      for (const Operand& o : op.operands) {
        Value v = o.operation >= 0 ? output(values, operations, o) : inputs_[-o.operation];
        v.name = o.operation >= 0 ? name_of(source, static_cast<std::size_t>(o.operation), o.port) : fmt::format("x{}", -o.operation);
        operands.push_back(std::move(v));
      }
      Line line;
      line.texts.push_back(name_of(source, k, 0));
      if (op.kind == Kind::split) line.texts[0] += ", " + name_of(source, k, 1);
      line.texts[0] += " = ";
      XFLOW_TRY(Value value, apply(op, operands, source, line));
      values.push_back(std::move(value));
      (source ? source_lines_ : target_lines_).push_back(std::move(line));
    }
    return values;
  }

  Value output(const std::vector<Value>& values, const std::vector<Operation>& operations, const Operand& o) const {
    Value v = values[static_cast<std::size_t>(o.operation)];
    const Operation& op = operations[static_cast<std::size_t>(o.operation)];
    if (op.kind == Kind::split && ranked_) {
      const auto axis = static_cast<std::size_t>(op.axis);
      v.dims[axis] = v.parts[axis][static_cast<std::size_t>(o.port)];
      v.parts[axis].clear();
    }
    return v;
  }

  Result<Value> apply(const Operation& op, const std::vector<Value>& operands, bool source, Line& line) {
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::size_t arity = op.kind == Kind::relu || op.kind == Kind::split ? 1 : 2;
    if (operands.size() != arity) return fail(ErrorCode::unsupported, fmt::format("{} operands", operands.size()));
    Value result = operands[0];
    std::string& text = line.texts[0];
    const std::string both = arity == 2 ? operands[0].name + ", " + operands[1].name : operands[0].name;
    if ((op.kind == Kind::concat || op.kind == Kind::split) && axis >= result.dims.size()) return fail(ErrorCode::ill_typed, "the axis");
    switch (op.kind) {
      case Kind::relu:
        text += fmt::format("relu({})", both);
        break;
      case Kind::add:
      case Kind::mul:
        text += fmt::format("{}({})", op.kind == Kind::add ? "add" : "mul", both);
        if (ranked_) equal(operands[0].dims, operands[1].dims);
        for (std::size_t d = 0; d < result.dims.size(); ++d)
          if (result.parts[d].empty()) result.parts[d] = operands[1].parts[d];
        break;
      case Kind::matmul:
        text += fmt::format("matmul({})", both);
        equations_.equal(operands[0].dims[1], operands[1].dims[0]);
        result.dims[1] = operands[1].dims[1];
        result.parts[1] = operands[1].parts[1];
        break;
      case Kind::concat:
        text += fmt::format("concat({}, axis: {})", both, axis);
        equal(operands[0].dims, operands[1].dims, axis);
        result.dims[axis] = operands[0].dims[axis] + operands[1].dims[axis];
        for (std::size_t d = 0; d < result.dims.size(); ++d)
          if (result.parts[d].empty()) result.parts[d] = operands[1].parts[d];
        result.parts[axis] = {operands[0].dims[axis], operands[1].dims[axis]};
        break;
      case Kind::split:
        if (result.parts[axis].size() != 2) return fail(ErrorCode::ill_typed, "a split of what no concat made");
        text += fmt::format("split({}, axis: {}, sizes: [", both, axis);
        line.holes = {result.parts[axis][0], result.parts[axis][1]};
        line.texts.insert(line.texts.end(), {", ", "])"});
        break;
      case Kind::conv:
        return convolution(op, operands, source, line);
    }
    return result;
  }

  Result<Value> convolution(const Operation& op, const std::vector<Value>& operands, bool source, Line& line) {
    const Value& x = operands[0];
    const Value& w = operands[1];
    // Groups: 1 or a number of its own in the source, from the operands in the target.
    Poly groups(1);
    if (source && generality_.groups) {
      groups = equations_.dimension(fmt::format("g{}", ++groups_));
    } else if (!source) {
      groups = equations_.symbols().floor_div(x.dims[1], w.dims[1]);
    }
    equations_.equal(x.dims[1], groups * w.dims[1]);
    if (!groups.is_one()) {
      const bool flat = source && equations_.value(w.dims[0]).as_symbol().has_value();
      const Poly per_group = flat ? equations_.dimension(fmt::format("P{}", groups_)) : equations_.symbols().floor_div(w.dims[0], groups);
      equations_.equal(w.dims[0], groups * per_group);
    }
    Value result;
    result.dims = {x.dims[0], w.dims[0]};
    result.parts = {x.parts[0], w.parts[0], {}, {}};
    const std::array<std::string, 4> pad_names = {"pt", "pl", "pb", "pr"};
    std::array<Poly, 4> pads;
    std::vector<Poly> strides;
    std::vector<Poly> dilations;
    for (std::size_t k = 0; k < 2; ++k) {
      const Poly kernel = w.dims[2 + k];
      strides.push_back(generality_.window ? equations_.parameter(k == 0 ? "sh" : "sw") : Poly(1));
      dilations.push_back(generality_.window ? equations_.parameter(k == 0 ? "dh" : "dw") : Poly(1));
      if (generality_.window) {
        equations_.equal(kernel, equations_.dimension(k == 0 ? "R" : "S"));
        pads[k] = equations_.parameter(pad_names[k]);
        pads[k + 2] = equations_.parameter(pad_names[k + 2]);
      } else {
        if (op.kernel != 0) equations_.equal(kernel, op.kernel);
        pads[k] = equations_.symbols().floor_div(kernel - Poly(1), 2);
        pads[k + 2] = kernel - Poly(1) - pads[k];
      }
      const Poly span = x.dims[2 + k] + pads[k] + pads[k + 2] - dilations[k] * (kernel - Poly(1)) - Poly(1);
      result.dims.push_back(equations_.symbols().floor_div(span, strides[k]) + Poly(1));
    }
    line.texts[0] += fmt::format("{}conv({}, {}, strides: [", op.relu ? "relu(" : "", x.name, w.name);
    line.holes = {strides[0], strides[1], pads[0], pads[1], pads[2], pads[3], dilations[0], dilations[1], groups};
    line.texts.insert(line.texts.end(),
                      {", ", "], pads: [", ", ", ", ", ", ", "], dilations: [", ", ", "], groups: ", op.relu ? "))" : ")"});
    return result;
  }

  std::string text_of_value(const Poly& p) { return text_of(equations_.symbols(), equations_.value(p)); }

  std::string statements(const std::vector<Line>& lines) {
    std::string result;
    for (const Line& line : lines) {
      result += "    " + line.texts[0];
      for (std::size_t k = 0; k < line.holes.size(); ++k) result += text_of_value(line.holes[k]) + line.texts[k + 1];
      result += "\n";
    }
    return result;
  }

  std::string declarations() {
    std::string result;
    for (const int v : variables()) {
      std::vector<std::string> dims;
      for (const Poly& d : inputs_[v].dims) dims.push_back(text_of_value(d));
      result += fmt::format("    x{}: [{}]\n", v, join(dims, ", "));
    }
    return result;
  }

  std::string guard_text() {
    std::vector<std::string> guards;
    for (const auto& [a, b] : equations_.open())
      guards.push_back(fmt::format("{} = {}", text_of(equations_.symbols(), a), text_of(equations_.symbols(), b)));
    return join(guards, " and ");
  }

  const Rule& rule_;
  Generality generality_;
  std::map<int, int> ranks_;  // of variables
  bool ranked_ = false;
  Equations equations_;
  std::map<int, Value> inputs_;
  std::vector<Line> source_lines_;
  std::vector<Line> target_lines_;
  int groups_ = 0;
};

}  // namespace

bool has_convolution(const Rule& rule) {
  const auto is_convolution = [](const Operation& op) { return op.kind == Kind::conv; };
  return std::any_of(rule.source.begin(), rule.source.end(), is_convolution) ||
         std::any_of(rule.target.begin(), rule.target.end(), is_convolution);
}

Result<std::string> rule_text(const Rule& rule, Generality generality) {
  auto text = Translator(rule, generality).text();
  if (!text) return fail(text.error().code, text.error().message, rule.name);
  return text;
}

Result<rules::Rule> translate(const Rule& rule, Generality generality) {
  XFLOW_TRY(const std::string text, rule_text(rule, generality));
  XFLOW_TRY(std::vector<rules::Rule> parsed, rules::parse_rules(text, rule.name));
  return std::move(parsed.front());
}

}  // namespace xflow::peers
