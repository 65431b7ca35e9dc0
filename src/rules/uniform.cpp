#include "src/rules/uniform.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "src/ops/operator.h"
#include "src/rules/build.h"

namespace xflow::rules {
namespace {

constexpr int kParts = 3;

// A name with an index: a2 is the part 2 of a.
struct Part {
  std::string base;
  int index = 0;
};

// Dimensions of a type: a number of single ones, and the names of sequences.
struct Dimensions {
  std::size_t single = 0;
  std::vector<std::string> sequences;
  bool operator==(const Dimensions&) const = default;
};

// The axis along which the parts of a value are concatenated. A position can be known from the front, from
// the back, or as an expression of the rule.
struct ListAxis {
  std::string size;                 // the name of the parts' sizes, without the index
  std::optional<Dimensions> front;  // the dimensions before it
  std::optional<Dimensions> back;   // the dimensions after it
  std::string expression;           // as written in a split; empty for others
  std::size_t split = 0;            // the number of that split: parts of one split have one rank
};

class UniformCheck {
 public:
  UniformCheck(const Rule& rule, const std::vector<std::string>& indexed) : rule_(rule), indexed_(indexed.begin(), indexed.end()) {}

  Result<void> run() {
    XFLOW_CHECK(declarations());
    for (const std::string& variable : rule_.variables) {
      if (const auto part = part_of(variable); part && !axes_.contains(part->base))
        return error(rule_.place, fmt::format("'{}{{i}}' has no declared type", part->base));
    }
    for (const Statement& statement : rule_.source) XFLOW_CHECK(check(statement, true));
    for (const Statement& statement : rule_.target) XFLOW_CHECK(check(statement, false));
    for (const Guard& guard : rule_.guards) {
      const bool says_nothing_of_values = guard.kind == Guard::Kind::is_constant || guard.kind == Guard::Kind::is_varying;
      bool found = part_of(guard.value).has_value();
      for (const Expression& argument : guard.arguments) found = found || mentions(argument);
      if (found && !says_nothing_of_values) return error(guard.place, "only the guards const and varies may have an index");
    }
    return {};
  }

 private:
  Unexpected error(Place place, const std::string& message) const {
    return fail(ErrorCode::ill_typed, "a family without a last number must be uniform: " + message, place_text(rule_.file, place));
  }

  std::optional<Part> part_of(std::string_view name) const {
    if (name.size() < 2) return std::nullopt;
    const int index = name.back() - '0';
    if (index < 1 || index > kParts || !indexed_.contains(name.substr(0, name.size() - 1))) return std::nullopt;
    return Part{std::string(name.substr(0, name.size() - 1)), index};
  }
  bool mentions(const Expression& e) const {
    return part_of(e.name).has_value() || std::ranges::any_of(e.arguments, [&](const Expression& a) { return mentions(a); });
  }
  // True if all names with an index have the index `index`.
  bool is_of(const Expression& e, int index) const {
    const auto part = part_of(e.name);
    return (!part || part->index == index) && std::ranges::all_of(e.arguments, [&](const Expression& a) { return is_of(a, index); });
  }
  bool is_of(const Term& term, int index) const {
    const auto part = part_of(term.name);
    if (term.kind != Term::Kind::application && part && part->index != index) return false;
    return std::ranges::all_of(term.operands, [&](const Term& o) { return is_of(o, index); }) &&
           std::ranges::all_of(term.attributes, [&](const auto& a) { return is_of(a.value, index); });
  }
  bool mentions(const Term& term) const {
    if (term.kind != Term::Kind::application && part_of(term.name)) return true;
    return std::ranges::any_of(term.operands, [&](const Term& o) { return mentions(o); }) ||
           std::ranges::any_of(term.attributes, [&](const auto& a) { return mentions(a.value); });
  }

  Result<void> declarations() {
    for (const Declaration& declaration : rule_.declarations) {
      const auto part = part_of(declaration.variable);
      std::optional<std::size_t> at;
      for (std::size_t k = 0; k < declaration.dims.size(); ++k) {
        if (!mentions(declaration.dims[k])) continue;
        const auto size = part_of(declaration.dims[k].name);
        const bool fits = part && !at && declaration.dims[k].kind == Expression::Kind::name && size && size->index == part->index;
        if (!fits)
          return error(declaration.dims[k].place, "an indexed size is a dimension of a variable with the same index, one in each variable");
        at = k;
      }
      if (part && (!at || declaration.list))
        return error(declaration.place, fmt::format("'{}{{i}}' needs one dimension with an index", part->base));
      if (!part) continue;
      ListAxis axis;
      axis.size = part_of(declaration.dims[*at].name)->base;
      const std::span dims(declaration.dims);
      axis.front = dimensions(dims.subspan(0, *at));
      axis.back = dimensions(dims.subspan(*at + 1));
      axes_.insert_or_assign(part->base, std::move(axis));
    }
    return {};
  }
  static Dimensions dimensions(std::span<const Expression> dims) {
    Dimensions result;
    for (const Expression& dim : dims) {
      if (is_one(dim)) {
        ++result.single;
      } else {
        result.sequences.push_back(dim.name);
      }
    }
    std::ranges::sort(result.sequences);
    return result;
  }

  Result<void> check(const Statement& statement, bool in_source) {
    std::optional<Part> part;
    bool all = true;
    for (const std::string& output : statement.outputs) {
      part = part_of(output);
      all = all && part;
    }
    if (statement.outputs.size() == 1 && part) {
      if (!is_of(statement.term, part->index)) return error(statement.place, "the value of a part reads other parts");
      auto axis = axis_of(statement.term, part->index);
      if (in_source) {
        if (!axis) return error(statement.place, fmt::format("it is not known what '{}{{i}}' is for a block of parts", part->base));
        if (axis->size.empty()) return error(statement.place, fmt::format("'{}{{i}}' is the same for all parts", part->base));
      }
      if (axis && !axis->size.empty()) {
        axes_.insert_or_assign(part->base, *std::move(axis));
      } else {
        axes_.erase(part->base);
      }
      return {};
    }
    if (std::ranges::any_of(statement.outputs, [&](const std::string& output) { return part_of(output).has_value(); }))
      return check_split(statement);
    return check_shared(statement.term);
  }

  // y, z{1..n} = split(x, axis: a, sizes: [t, s{1..n}])
  Result<void> check_split(const Statement& statement) {
    const Term& term = statement.term;
    const auto attribute = [&](std::string_view name) {
      const auto found = std::ranges::find(term.attributes, name, &Term::NamedExpression::name);
      return found == term.attributes.end() ? nullptr : &found->value;
    };
    const Expression* sizes = attribute("sizes");
    const Expression* axis = attribute("axis");
    if (term.kind != Term::Kind::application || term.name != "split" || sizes == nullptr || axis == nullptr ||
        sizes->kind != Expression::Kind::list || sizes->arguments.size() != statement.outputs.size() || mentions(*axis))
      return error(statement.place, "several parts are outputs of a split with a size for each");
    for (const Term& operand : term.operands) XFLOW_CHECK(check_shared(operand));
    ++splits_;
    for (std::size_t k = 0; k < statement.outputs.size(); ++k) {
      const auto output = part_of(statement.outputs[k]);
      const Expression& expression = sizes->arguments[k];
      const auto size = expression.kind == Expression::Kind::name ? part_of(expression.name) : std::nullopt;
      if (!output && !mentions(expression)) continue;
      if (!output || !size || size->index != output->index) return error(expression.place, "the size of a part has the index of the part");
      const bool follows =
          output->index == 1 || (k > 0 && statement.outputs[k - 1] == fmt::format("{}{}", output->base, output->index - 1));
      const bool ends = output->index < kParts || k + 1 == statement.outputs.size() || !part_of(statement.outputs[k + 1]) ||
                        part_of(statement.outputs[k + 1])->index == 1;
      const bool goes_on = output->index == kParts || (k + 1 < statement.outputs.size() && part_of(statement.outputs[k + 1]));
      if (!follows || !ends || !goes_on) return error(statement.place, "the parts of a split are all, in their order");
      ListAxis list{size->base, std::nullopt, std::nullopt, print(*axis), splits_};
      set_position(*axis, list);
      axes_.insert_or_assign(output->base, std::move(list));
    }
    return {};
  }

  static std::optional<std::int64_t> axis_number(const Expression& e) {
    if (e.kind == Expression::Kind::negate) {
      const auto positive = axis_number(e.arguments[0]);
      return positive ? std::optional(-*positive) : std::nullopt;
    }
    if (e.kind != Expression::Kind::number) return std::nullopt;
    return static_cast<std::int64_t>(e.number.to_double());
  }
  // 1, -1, rank(A), -rank(A) - 1 and -1 - rank(A) are positions.
  static void set_position(const Expression& axis, ListAxis& list) {
    using Kind = Expression::Kind;
    const auto rank = [](const Expression& e) -> const std::string* {
      const bool fits = e.kind == Kind::call && e.name == "rank" && e.arguments.size() == 1 && e.arguments[0].kind == Kind::name;
      return fits ? &e.arguments[0].name : nullptr;
    };
    if (const auto number = axis_number(axis)) {
      (*number >= 0 ? list.front : list.back) = Dimensions{static_cast<std::size_t>(*number >= 0 ? *number : -*number - 1), {}};
    } else if (const std::string* before = rank(axis)) {
      list.front = Dimensions{0, {*before}};
    } else if (axis.kind == Kind::subtract) {
      const Expression& left = axis.arguments[0];
      const Expression& right = axis.arguments[1];
      const std::string* after = left.kind == Kind::negate && axis_number(right) == 1 ? rank(left.arguments[0]) : nullptr;
      if (axis_number(left) == -1) after = rank(right);
      if (after != nullptr) list.back = Dimensions{0, {*after}};
    }
  }

  // No indexed names but all parts of values in concatenations along their axes.
  Result<void> check_shared(const Term& term) {
    if (term.kind != Term::Kind::application) {
      if (part_of(term.name)) return error(term.place, fmt::format("'{}' is one part of several", term.name));
      return {};
    }
    for (const auto& attribute : term.attributes)
      if (mentions(attribute.value)) return error(attribute.place, "an attribute of a value of all parts has an index");
    for (std::size_t k = 0; k < term.operands.size(); ++k) {
      const auto part = term.operands[k].kind == Term::Kind::variable ? part_of(term.operands[k].name) : std::nullopt;
      if (!part) {
        XFLOW_CHECK(check_shared(term.operands[k]));
        continue;
      }
      bool all = term.name == "concat" && k + kParts <= term.operands.size() && part->index == 1;
      for (int j = 1; all && j <= kParts; ++j)
        all = term.operands[k + static_cast<std::size_t>(j) - 1].name == fmt::format("{}{}", part->base, j);
      if (!all) return error(term.operands[k].place, fmt::format("'{}' is not among all parts of a concatenation", term.operands[k].name));
      const auto axis = std::ranges::find(term.attributes, "axis", &Term::NamedExpression::name);
      const auto known = axes_.find(part->base);
      if (known == axes_.end() || axis == term.attributes.end() || !is_along(axis->value, known->second))
        return error(term.operands[k].place, fmt::format("the parts of '{}' are not concatenated along their axis", part->base));
      k += kParts - 1;
    }
    return {};
  }
  static bool is_along(const Expression& axis, const ListAxis& list) {
    if (!list.expression.empty() && print(axis) == list.expression) return true;
    ListAxis wanted;
    set_position(axis, wanted);
    return (wanted.front && wanted.front == list.front) || (wanted.back && wanted.back == list.back);
  }

  // The list axis of a term; one without a size if it is the same for all parts. Nothing if it is not known
  // what a block of parts gives.
  std::optional<ListAxis> axis_of(const Term& term, int index) const {
    if (!mentions(term)) return ListAxis{};
    if (term.kind == Term::Kind::variable) {
      const auto found = axes_.find(part_of(term.name)->base);
      return found == axes_.end() ? std::nullopt : std::optional(found->second);
    }
    if (term.kind != Term::Kind::application || std::ranges::any_of(term.attributes, [&](const auto& a) { return mentions(a.value); }))
      return std::nullopt;
    if (find_signature(term.name)->pointwise) return axis_of_pointwise(term, index);
    if (term.name == "matmul") return axis_of_product(term, index);
    if (term.name == "conv") return axis_of_convolution(term, index);
    return std::nullopt;
  }
  // Operands of one axis, and numbers.
  std::optional<ListAxis> axis_of_pointwise(const Term& term, int index) const {
    std::optional<ListAxis> result;
    for (const Term& operand : term.operands) {
      if (!mentions(operand)) {
        if (!is_number(operand)) return std::nullopt;
        continue;
      }
      auto axis = axis_of(operand, index);
      if (!axis) return std::nullopt;
      if (!result) {
        result = std::move(axis);
        continue;
      }
      const bool same = result->size == axis->size &&
                        ((result->back && result->back == axis->back) || (result->split != 0 && result->split == axis->split));
      if (!same) return std::nullopt;
      // Operands may have ranks of their own: a position from the front is that of the result if it is
      // that of the widest, which is not known.
      if (result->front != axis->front) result->front.reset();
    }
    return result;
  }
  bool is_number(const Term& term) const {
    if (term.kind == Term::Kind::literal) return true;
    return std::ranges::any_of(rule_.guards, [&](const Guard& guard) {
      return guard.kind == Guard::Kind::is_scalar && term.kind == Term::Kind::variable && guard.value == term.name;
    });
  }
  // x a{i} has the columns of a{i}, a{i} x the rows.
  std::optional<ListAxis> axis_of_product(const Term& term, int index) const {
    const bool right = !mentions(term.operands[0]);
    if (!right && mentions(term.operands[1])) return std::nullopt;
    // A matrix is a variable of which two dimensions are known: a product with a vector has another axis.
    if (!std::ranges::all_of(term.operands, [&](const Term& operand) { return is_matrix(operand); })) return std::nullopt;
    auto axis = axis_of(term.operands[right ? 1 : 0], index);
    const std::size_t wanted = right ? 0 : 1;
    if (!axis || axis->back != Dimensions{wanted, {}}) return std::nullopt;
    return ListAxis{axis->size, std::nullopt, axis->back, {}, 0};
  }
  bool is_matrix(const Term& term) const {
    const Declaration* declared = term.kind == Term::Kind::variable ? rule_.declaration(term.name) : nullptr;
    if (declared == nullptr || declared->dims.size() < 2) return false;
    const auto& dims = declared->dims;
    return is_one(dims[dims.size() - 1]) && is_one(dims[dims.size() - 2]);
  }
  static bool is_one(const Expression& dim) { return dim.kind != Expression::Kind::sequence && dim.kind != Expression::Kind::ones; }
  // conv(x, w{i}) has the output channels of w{i}, at axis 1.
  std::optional<ListAxis> axis_of_convolution(const Term& term, int index) const {
    if (term.operands.size() != 2 || mentions(term.operands[0]) || term.operands[0].kind != Term::Kind::variable) return std::nullopt;
    const auto groups = std::ranges::find(term.attributes, "groups", &Term::NamedExpression::name);
    const bool grouped = groups != term.attributes.end() && axis_number(groups->value) != 1;
    const Declaration* x = rule_.declaration(term.operands[0].name);
    const auto axis = axis_of(term.operands[1], index);
    if (grouped || x == nullptr || x->dims.size() < 2 || !axis || axis->front != Dimensions{}) return std::nullopt;
    if (!is_one(x->dims[0]) || !is_one(x->dims[1])) return std::nullopt;
    return ListAxis{axis->size, Dimensions{1, {}}, dimensions(std::span(x->dims).subspan(2)), {}, 0};
  }

  const Rule& rule_;
  std::set<std::string, std::less<>> indexed_;
  std::map<std::string, ListAxis, std::less<>> axes_;
  std::size_t splits_ = 0;
};

}  // namespace

Result<void> check_uniform(const Rule& three, const std::vector<std::string>& indexed) { return UniformCheck(three, indexed).run(); }

}  // namespace xflow::rules
