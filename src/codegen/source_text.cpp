#include "src/codegen/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/codegen/source_functions.h"
#include "src/eval/operation_program.h"

namespace xflow::eval {
namespace {

using ops::Function;
using ops::Relation;
using Kind = ValueNode::Kind;

// How the text receives an operand.
struct Given {
  enum class Kind : std::uint8_t { array, element, number };
  Kind kind = Kind::array;
  std::string number;  // as a C literal
};

// Writes the functions of one stage.
class StageText {
 public:
  StageText(const Stage& stage, std::size_t number, const std::vector<Source>& sources, std::span<const Given> operands, bool in_double,
            ir::DataType result)
      : stage_(stage), number_(number), sources_(sources), operands_(operands), in_double_(in_double), result_(result) {}

  std::string print() {
    const std::string places = fmt::format("const xflow_places_{}& p", number_);
    const std::string head = fmt::format("XFLOW_FUNCTION {} xflow_element_{}({}, xflow_index at) {{\n", type(), number_, places);
    std::string functions;
    if (stage_.kind == Stage::Kind::map) {
      scopes_.emplace_back();
      decode(stage_.outputs, "at");
      const std::string value = node(stage_.root);
      line("return " + finished(value) + ";");
      functions = head + std::move(body_) + "}\n";
    } else {
      functions = reduction(places) + head + fmt::format("  return xflow_finish_{}(xflow_part_{}(p, at, 0, 1));\n}}\n", number_, number_);
    }
    return this->places() + functions;
  }

  std::string type() const { return std::string(c_type(stored(), in_double_)); }
  std::size_t bytes() const { return bytes_of(stored(), in_double_); }
  const std::set<int>& reads() const { return reads_; }  // numbers of sources

 private:
  Format stored() const {
    if (!stage_.real) return result_ == ir::DataType::undefined ? Format::int64 : *format_of(result_);
    return result_ == ir::DataType::undefined ? Format::number : *format_of(result_);
  }
  std::string number_type() const { return in_double_ ? "double" : "float"; }
  std::string value_type(bool real) const { return real ? number_type() : "xflow_integer"; }

  std::string name_of(int source) const {
    const auto k = static_cast<std::size_t>(source);
    return k < operands_.size() ? fmt::format("x{}", k) : fmt::format("t{}", k - operands_.size());
  }
  Given::Kind kind_of(int source) const {
    const auto k = static_cast<std::size_t>(source);
    return k < operands_.size() ? operands_[k].kind : Given::Kind::array;
  }

  std::string places() const {
    std::string text = fmt::format("struct xflow_places_{} {{\n", number_);
    for (const int source : reads_) {
      const std::string_view type = c_type(sources_[static_cast<std::size_t>(source)].format, in_double_);
      text += kind_of(source) == Given::Kind::element ? fmt::format("  {} {};\n", type, name_of(source))
                                                      : fmt::format("  const {}* {};\n", type, name_of(source));
    }
    if (reads_.empty()) text += "  const void* none;\n";
    return text + "};\n";
  }

  // Converts a value to the stored type of an element.
  std::string finished(const std::string& value) const {
    if (!stage_.real) return fmt::format("({})({})", type(), wrapped("(" + value + ")", stage_.data_type));
    switch (stored()) {
      case Format::float16:
        return fmt::format("xflow_to_half((float)({}))", value);
      case Format::bfloat16:
        return fmt::format("xflow_to_bfloat16((float)({}))", value);
      default:
        return fmt::format("({})({})", type(), value);
    }
  }

  std::string combined(bool is_sum, bool real, const std::string& a, const std::string& b) const {
    if (real) return is_sum ? fmt::format("{} + {}", a, b) : fmt::format("xflow_maximum({}, {})", a, b);
    return is_sum ? fmt::format("(xflow_integer)((xflow_unsigned){} + (xflow_unsigned){})", a, b)
                  : fmt::format("xflow_larger({}, {})", a, b);
  }
  std::string neutral(bool is_sum, bool real) const {
    if (is_sum) return fmt::format("({})0", value_type(real));
    return real ? fmt::format("({})-xflow_infinity()", number_type()) : "(xflow_integer)(1ull << 63)";
  }

  std::string reduction(const std::string& places) {
    const bool is_sum = stage_.kind == Stage::Kind::sum;
    const std::string number = value_type(stage_.real);
    std::string text = fmt::format("XFLOW_FUNCTION {} xflow_combine_{}({} a, {} b) {{ return {}; }}\n", number, number_, number, number,
                                   combined(is_sum, stage_.real, "a", "b"));
    text += fmt::format("XFLOW_FUNCTION {} xflow_finish_{}({} a) {{ return {}; }}\n", type(), number_, number, finished("a"));
    text += fmt::format("XFLOW_FUNCTION {} xflow_part_{}({}, xflow_index at, xflow_index first, xflow_index step) {{\n", number, number_,
                        places);
    scopes_.emplace_back();
    decode(stage_.outputs, "at");
    line(fmt::format("{} total = {};", number, neutral(is_sum, stage_.real)));
    line(fmt::format("for (xflow_index term = first; term < {}; term += step) {{", stage_.lane_count()));
    open();
    decode(stage_.lanes, "term");
    const std::string value = node(stage_.root);
    line(fmt::format("total = {};", combined(is_sum, stage_.real, "total", value)));
    close();
    line("}");
    line("return total;");
    text += std::move(body_) + "}\n";
    body_.clear();
    return text;
  }

  // Declares the loop variables that a linear number `from` encodes.
  void decode(const std::vector<int>& variables, const std::string& from) {
    std::int64_t below = 1;
    std::vector<std::string> lines;
    for (std::size_t k = variables.size(); k-- > 0;) {
      const int variable = variables[k];
      const std::int64_t extent = stage_.extents[static_cast<std::size_t>(variable)];
      std::string value = below == 1 ? from : fmt::format("{} / {}", from, below);
      if (extent == 1) {
        value = "0";
      } else if (k > 0) {
        value = fmt::format("{} % {}", value, extent);
      }
      lines.push_back(fmt::format("const xflow_index v{} = {};", variable, value));
      below *= extent;
    }
    for (auto it = lines.rbegin(); it != lines.rend(); ++it) line(*it);
  }

  void line(const std::string& text) { body_ += std::string(2 * scopes_.size(), ' ') + text + "\n"; }
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }

  // The name of a node or slot that is already defined in the current block or an enclosing one. Keys are
  // node numbers, and -1 - number for slots.
  const std::string* known(int key) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(key); found != scope->end()) return &found->second;
    return nullptr;
  }

  std::string named(int key, char letter, const std::string& type, const std::string& value) {
    const std::string name = fmt::format("{}{}", letter, names_++);
    line(fmt::format("const {} {} = {};", type, name, value));
    scopes_.back()[key] = name;
    return name;
  }

  std::string form(int number) {
    const IndexForm& form = stage_.forms[static_cast<std::size_t>(number)];
    std::string text;
    const auto add = [&](std::int64_t coefficient, const std::string& what) {
      if (text.empty()) {
        text = coefficient == 1 ? what : fmt::format("{} * {}", coefficient, what);
      } else if (coefficient < 0) {
        text += coefficient == -1 ? fmt::format(" - {}", what) : fmt::format(" - {} * {}", -coefficient, what);
      } else {
        text += coefficient == 1 ? fmt::format(" + {}", what) : fmt::format(" + {} * {}", coefficient, what);
      }
    };
    for (const IndexTerm& term : form.variables) add(term.coefficient, fmt::format("v{}", term.id));
    for (const IndexTerm& term : form.slots) add(term.coefficient, slot(term.id));
    if (text.empty()) return fmt::format("(xflow_index){}", form.constant);
    if (form.constant != 0) text += form.constant < 0 ? fmt::format(" - {}", -form.constant) : fmt::format(" + {}", form.constant);
    return "(" + text + ")";
  }

  std::string slot(int number) {
    const int key = -1 - number;
    if (const std::string* name = known(key)) return *name;
    const IndexSlot& slot = stage_.slots[static_cast<std::size_t>(number)];
    const std::string a = form(slot.arguments[0]);
    std::string value;
    switch (slot.kind) {
      case IndexSlot::Kind::product:
        value = fmt::format("{} * {}", a, form(slot.arguments[1]));
        break;
      case IndexSlot::Kind::floor_div:
        value = fmt::format("xflow_floor_div({}, {})", a, form(slot.arguments[1]));
        break;
      case IndexSlot::Kind::maximum:
        value = fmt::format("xflow_larger({}, {})", a, form(slot.arguments[1]));
        break;
      case IndexSlot::Kind::element:
        value = fmt::format("(xflow_index){}", element(slot.source, a));
        break;
    }
    return named(key, 's', "xflow_index", value);
  }

  // Writes the definition of a node, unless it exists, and returns its name.
  std::string node(int number) {
    if (const std::string* name = known(number)) return *name;
    const ValueNode& n = stage_.nodes[static_cast<std::size_t>(number)];
    const std::string type = value_type(n.real);
    switch (n.kind) {
      case Kind::literal:
        return named(number, 'n', type, literal(n));
      case Kind::index:
        return named(number, 'n', type, fmt::format("({}){}", type, form(n.form)));
      case Kind::read:
        return named(number, 'n', type, read(n));
      case Kind::sum:
      case Kind::maximum:
        return loop(number, n);
      case Kind::select:
        return select(number, n);
      case Kind::apply:
        return named(number, 'n', type, apply(n));
      case Kind::cast:
        return named(number, 'n', type, cast(n));
    }
    return {};
  }

  std::string literal(const ValueNode& n) const {
    if (!n.real) {
      const auto rational = n.literal.rational();
      if (rational) return integer(rational->numerator() / rational->denominator());
      return n.literal.to_double() > 0 ? integer(std::numeric_limits<std::int64_t>::max())
                                       : integer(std::numeric_limits<std::int64_t>::min());
    }
    const double value = in_double_ ? n.literal.to_double() : static_cast<double>(static_cast<float>(n.literal.to_double()));
    if (value != value) return fmt::format("({})xflow_float(0x7fc00000u)", number_type());
    if (value - value != 0) return fmt::format("({}){}xflow_infinity()", number_type(), value < 0 ? "-" : "");
    return fmt::format("({}){:a}", number_type(), value);
  }

  // The minimum is a special case, because its absolute value is not representable.
  static std::string integer(std::int64_t value) {
    return value == std::numeric_limits<std::int64_t>::min() ? "(xflow_integer)(1ull << 63)" : fmt::format("{}ll", value);
  }

  // The C expression of a stored element.
  std::string element(int source, const std::string& at) {
    if (kind_of(source) == Given::Kind::number) return operands_[static_cast<std::size_t>(source)].number;
    reads_.insert(source);
    return kind_of(source) == Given::Kind::element ? "p." + name_of(source) : fmt::format("p.{}[{}]", name_of(source), at);
  }

  std::string read(const ValueNode& n) {
    const Format format = sources_[static_cast<std::size_t>(n.source)].format;
    std::string value = element(n.source, form(n.form));
    if (format == Format::float16) value = fmt::format("xflow_from_half({})", value);
    if (format == Format::bfloat16) value = fmt::format("xflow_from_bfloat16({})", value);
    if (n.real) return fmt::format("({}){}", number_type(), value);
    return is_of_integers(format) ? fmt::format("(xflow_integer){}", value) : fmt::format("xflow_truncate({})", value);
  }

  std::string loop(int number, const ValueNode& n) {
    const bool is_sum = n.kind == Kind::sum;
    const std::string name = fmt::format("n{}", names_++);
    const std::string v = fmt::format("v{}", n.variable);
    line(fmt::format("{} {} = {};", value_type(n.real), name, neutral(is_sum, n.real)));
    line(fmt::format("for (xflow_index {} = 0; {} < {}; ++{}) {{", v, v, stage_.extents[static_cast<std::size_t>(n.variable)], v));
    open();
    const std::string value = node(n.arguments[0]);
    line(fmt::format("{} = {};", name, combined(is_sum, n.real, name, value)));
    close();
    line("}");
    scopes_.back()[number] = name;
    return name;
  }

  std::string select(int number, const ValueNode& n) {
    std::string condition;
    for (const auto& [atom, relation] : n.condition) {
      const std::string_view sign = relation == Relation::at_least_zero ? ">=" : relation == Relation::zero ? "==" : "!=";
      condition += fmt::format("{}{} {} 0", condition.empty() ? "" : " && ", form(atom), sign);
    }
    const std::string name = fmt::format("n{}", names_++);
    line(fmt::format("{} {};", value_type(n.real), name));
    for (std::size_t k = 0; k < 2; ++k) {
      line(k == 0 ? fmt::format("if ({}) {{", condition) : "} else {");
      open();
      const std::string value = node(n.arguments[k]);
      line(fmt::format("{} = {};", name, value));
      close();
    }
    line("}");
    scopes_.back()[number] = name;
    return name;
  }

  std::string apply(const ValueNode& n) {
    std::vector<std::string> a;
    a.reserve(n.arguments.size());
    for (const int argument : n.arguments) a.push_back(node(argument));
    if (n.function == Function::choose) return fmt::format("{} != 0 ? {} : {}", a[0], a[1], a[2]);
    if (n.real) return real_function(n.function, a, in_double_);
    if (stage_.nodes[static_cast<std::size_t>(n.arguments[0])].real) {
      if (n.function == Function::is_nan) return fmt::format("{} != {} ? 1 : 0", a[0], a[0]);
      return fmt::format("{} {} {} ? 1 : 0", a[0], n.function == Function::less ? "<" : "==", a[1]);
    }
    return integer_function(n.function, a, n.data_type);
  }

  std::string cast(const ValueNode& n) {
    const ValueNode& argument = stage_.nodes[static_cast<std::size_t>(n.arguments[0])];
    const std::string a = node(n.arguments[0]);
    if (!n.real) {
      if (!argument.real) return wrapped(a, n.data_type);
      if (n.data_type == ir::DataType::boolean) return fmt::format("{} != ({})0 ? 1 : 0", a, number_type());
      if (n.data_type == ir::DataType::uint64) return fmt::format("xflow_truncate_unsigned({})", a);
      return wrapped(fmt::format("xflow_truncate({})", a), n.data_type);
    }
    std::string value = a;
    if (!argument.real) {
      const char* const from = argument.data_type == ir::DataType::uint64 ? "(xflow_unsigned)" : "";
      value = fmt::format("({}){}{}", number_type(), from, a);
    }
    switch (n.data_type) {
      case ir::DataType::float32:
        return fmt::format("({})(float){}", number_type(), value);
      case ir::DataType::float16:
        return fmt::format("({})xflow_from_half(xflow_to_half((float){}))", number_type(), value);
      case ir::DataType::bfloat16:
        return fmt::format("({})xflow_from_bfloat16(xflow_to_bfloat16((float){}))", number_type(), value);
      default:
        return value;
    }
  }

  const Stage& stage_;
  const std::size_t number_;
  const std::vector<Source>& sources_;  // operands, then the tensors of all earlier stages
  const std::span<const Given> operands_;
  const bool in_double_;
  const ir::DataType result_;  // undefined for all stages but the last
  std::string body_;
  std::vector<std::map<int, std::string>> scopes_;
  std::set<int> reads_;
  int names_ = 0;
};

// Whether all indices and their intermediate values are far from the 32-bit bounds.
bool fits_in_int(const Stage& stage, const std::vector<Source>& sources) {
  constexpr double kMost = 1 << 30;
  if (static_cast<double>(stage.output_count()) > kMost || static_cast<double>(stage.lane_count()) > kMost) return false;
  for (const Source& source : sources)
    if (static_cast<double>(source.count) > kMost) return false;
  const auto size = [](const Range& range) { return std::max(-static_cast<double>(range.low), static_cast<double>(range.high)); };
  for (const IndexSlot& slot : stage.slots)
    if (size(slot.range) > kMost) return false;
  return std::ranges::all_of(stage.forms, [&](const IndexForm& form) {
    double sum = std::max(-static_cast<double>(form.constant), static_cast<double>(form.constant));
    for (const IndexTerm& term : form.variables)
      sum += std::max(-static_cast<double>(term.coefficient), static_cast<double>(term.coefficient)) *
             static_cast<double>(stage.extents[static_cast<std::size_t>(term.id)]);
    for (const IndexTerm& term : form.slots)
      sum += std::max(-static_cast<double>(term.coefficient), static_cast<double>(term.coefficient)) *
             size(stage.slots[static_cast<std::size_t>(term.id)].range);
    return sum <= kMost;
  });
}

// A stored element as a C literal.
std::string number_of(const Source& source) {
  std::string text;
  with_elements(source, [&](const auto& load) {
    const auto value = load(0);
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, double>) {
      const auto half = [&](std::uint16_t bits) { text = fmt::format("(unsigned short){}", bits); };
      if (source.format == Format::float16) return half(ir::float_to_half(static_cast<float>(value)));
      if (source.format == Format::bfloat16) return half(ir::float_to_bfloat16(static_cast<float>(value)));
      const std::string_view type = c_type(source.format, true);
      if (value != value) {
        text = fmt::format("({})xflow_float(0x7fc00000u)", type);
      } else if (value - value != 0) {
        text = fmt::format("({}){}xflow_infinity()", type, value < 0 ? "-" : "");
      } else {
        text = fmt::format("({}){:a}", type, value);
      }
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      text = fmt::format("{}ull", value);
    } else {
      text = value == std::numeric_limits<std::int64_t>::min() ? "(xflow_integer)(1ull << 63)" : fmt::format("({}ll)", value);
    }
  });
  return text;
}

std::vector<Given> given_operands(const ir::Arena& arena, const ir::Node& node, const OperationProgram& program,
                                  std::span<const int> handed) {
  std::vector<Given> given(program.program.operands);
  for (const int k : handed) given[static_cast<std::size_t>(k)].kind = Given::Kind::element;
  for (std::size_t k = 0; k < given.size() && k < node.operands.size(); ++k) {
    const ir::Node& operand = arena.node(node.operands[k]);
    Source source = program.sources[k];
    if (operand.kind != ir::NodeKind::constant || source.count != 1 || given[k].kind != Given::Kind::array) continue;
    const auto bytes = operand.constant.source->bytes();
    if (!bytes) continue;
    source.data = bytes->data();
    given[k] = {Given::Kind::number, number_of(source)};
  }
  return given;
}

}  // namespace

Result<SourceText> source_text(ir::Arena& arena, ir::NodeId operation, int output, std::span<const int> handed) {
  XFLOW_TRY(const OperationProgram found, program_of(arena, operation, output, true));
  const std::vector<Given> given = given_operands(arena, arena.node(operation), found, handed);
  SourceText result;
  std::vector<Source> sources = found.sources;
  bool small = true;
  std::string functions;
  const std::vector<Stage>& stages = found.program.stages;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const Stage& stage = stages[k];
    const bool last = k + 1 == stages.size();
    small = small && fits_in_int(stage, sources);
    StageText text(stage, k, sources, given, found.in_double, last ? found.type : ir::DataType::undefined);
    functions += text.print();
    result.stages.push_back({text.type(), text.bytes(), stage.output_count(), stage.kind == Stage::Kind::map ? 0 : stage.lane_count()});
    result.operands.emplace_back();
    result.intermediate.emplace_back();
    for (const int source : text.reads()) {
      const int before = source - static_cast<int>(found.program.operands);
      if (before < 0) {
        result.operands.back().push_back(source);
      } else {
        result.intermediate.back().push_back(before);
      }
    }
    sources.push_back({nullptr, stage.real ? Format::number : Format::int64, static_cast<std::uint64_t>(stage.output_count())});
  }
  result.text = (small ? "typedef int xflow_index;\n" : "typedef long long xflow_index;\n") + functions;
  return result;
}

}  // namespace xflow::eval
