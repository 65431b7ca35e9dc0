#include "src/generator/rules/axis_guards.h"

#include <map>
#include <utility>

#include "src/rules/rule_parts.h"

namespace xflow::generator {

using rules::Expression;

Expression of_input(const LeafNames& names, const char* function, std::uint8_t input, std::optional<Expression> axis) {
  std::vector<Expression> arguments = {rules::named(names.input(input))};
  if (axis) arguments.push_back(*std::move(axis));
  return rules::call(function, std::move(arguments));
}

Expression dim_of(const LeafNames& names, std::uint8_t input, const std::string& axis) {
  return of_input(names, "dim", input, rules::named(axis));
}

Expression sum(std::vector<Expression> terms) {
  Expression result = std::move(terms[0]);
  for (std::size_t k = 1; k < terms.size(); ++k) result = rules::add(std::move(result), std::move(terms[k]));
  return result;
}

namespace {

using KnownDims = std::map<Parts, std::pair<std::uint8_t, std::size_t>>;

// Expresses a dimension along `axis` by dimensions of earlier inputs; nothing if they do not determine it.
std::optional<Expression> known_dim(const LeafNames& names, const NamedAxes& axes, const KnownDims& known, const Parts& parts,
                                    std::size_t axis) {
  const auto dim_at = [&](const std::pair<std::uint8_t, std::size_t>& place) {
    return dim_of(names, place.first, axes.name(place.second));
  };
  if (const auto same = known.find(parts); same != known.end() && same->second.second == axis) return dim_at(same->second);
  if (parts.size() < 2) return std::nullopt;
  std::vector<Expression> terms;
  for (const int p : parts) {
    const auto part = known.find(Parts{p});
    if (part == known.end()) return std::nullopt;
    terms.push_back(dim_at(part->second));
  }
  return sum(std::move(terms));
}

}  // namespace

Acceptance compare_inputs(const GeneralShapes& shapes, const LeafNames& names, const NamedAxes& axes, std::vector<rules::Guard>& result) {
  Acceptance accepts = accepted();
  const std::uint8_t first = shapes.inputs()[0];
  const std::vector<Parts> dims = shapes.dims(first);
  KnownDims known;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) known.try_emplace(dims[axis], first, axis);
  for (std::size_t k = 1; k < shapes.inputs().size(); ++k) {
    const std::uint8_t input = shapes.inputs()[k];
    const std::vector<Parts> other = shapes.dims(input);
    if (other.size() != dims.size()) return refused("inputs have different numbers of dimensions");
    Expression left = of_input(names, "dims", first);
    Expression right = of_input(names, "dims", input);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (other[axis] == dims[axis]) continue;
      if ((axis > 1 || !axes.is_bound[axis]) && accepts) accepts = refused("inputs differ along an axis that no concat or split names");
      left = rules::call("replace", {std::move(left), rules::named(axes.name(axis)), rules::number(1)});
      right = rules::call("replace", {std::move(right), rules::named(axes.name(axis)), rules::number(1)});
    }
    result.push_back(rules::equal(std::move(left), std::move(right)));
    for (std::size_t axis = 0; axis < dims.size() && axis < 2; ++axis) {
      if (other[axis] == dims[axis]) continue;
      if (auto value = known_dim(names, axes, known, other[axis], axis))
        result.push_back(rules::equal(dim_of(names, input, axes.name(axis)), *std::move(value)));
      known.try_emplace(other[axis], input, axis);
    }
  }
  return accepts;
}

}  // namespace xflow::generator
