#include "src/verifier/guards/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/verifier/guards/formula_translator.h"

namespace xflow::verifier {

using rules::Guard;

namespace {

void add_dimensions(const std::string& name, const std::optional<std::vector<std::int64_t>>& dims, Features& features) {
  if (!dims) return;
  for (std::size_t d = 0; d < dims->size(); ++d) features[fmt::format("dim({}, {})", name, d)] = (*dims)[d];
}

}  // namespace

Features features_of(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment) {
  Features features;
  for (const auto& [s, v] : assignment.integers) features[instance.arena->symbols().info(s).name] = v;
  for (std::size_t k = 0; k < instance.variables.size(); ++k)
    add_dimensions(instance.variable_names[k], concrete.shape(instance.variables[k], assignment), features);
  for (std::size_t k = 0; k < instance.output_names.size(); ++k)
    add_dimensions(instance.output_names[k], concrete.shape(instance.source.outputs[k], assignment), features);
  // "axis = 1" of a choice. Lists and ranks are not integers.
  for (std::size_t begin = 0; begin < instance.choice.size();) {
    const std::size_t end = std::min(instance.choice.find(", ", begin), instance.choice.size());
    const std::string part = instance.choice.substr(begin, end - begin);
    if (const auto sign = part.find(" = "); sign != std::string::npos)
      if (const auto v = integer(std::string_view(part).substr(sign + 3))) features[part.substr(0, sign)] = *v;
    begin = end + 2;
  }
  return features;
}

std::optional<std::int64_t> value(const Formula& e, const Features& features) {
  const auto look = [&](const std::string& name) {
    const auto found = features.find(name);
    return found == features.end() ? std::optional<std::int64_t>() : found->second;
  };
  if (e.kind == Formula::Kind::number) {
    const auto r = e.number.rational();
    return r && r->denominator() == 1 ? std::optional(r->numerator()) : std::nullopt;
  }
  if (e.kind == Formula::Kind::name) return look(e.name);
  if (e.kind == Formula::Kind::index || (e.kind == Formula::Kind::call && e.name == "dim")) return look(rules::print(e));
  std::vector<std::int64_t> v;
  for (const Formula& a : e.arguments) {
    const auto one = value(a, features);
    if (!one || *one > 1'000'000 || *one < -1'000'000) return std::nullopt;
    v.push_back(*one);
  }
  if (e.kind == Formula::Kind::add) return v[0] + v[1];
  if (e.kind == Formula::Kind::subtract) return v[0] - v[1];
  if (e.kind == Formula::Kind::multiply) return v[0] * v[1];
  if (e.kind == Formula::Kind::negate) return -v[0];
  if (e.kind != Formula::Kind::call || v.size() != 2) return std::nullopt;
  if (e.name == "max") return std::max(v[0], v[1]);
  if (e.name == "min") return std::min(v[0], v[1]);
  if (v[1] < 1) return std::nullopt;
  const std::int64_t remainder = ((v[0] % v[1]) + v[1]) % v[1];
  if (e.name == "mod") return remainder;
  if (e.name == "floor_div") return (v[0] - remainder) / v[1];
  if (e.name == "ceil_div") return (v[0] - remainder) / v[1] + (remainder > 0 ? 1 : 0);
  return std::nullopt;
}

std::optional<bool> holds(const Guard& guard, const Features& features) {
  if (!guard.value.empty()) return std::nullopt;
  const auto a = value(guard.arguments[0], features);
  const auto b = value(guard.arguments[1], features);
  if (!a || !b) return std::nullopt;
  switch (guard.kind) {
    case Guard::Kind::equal:
      return *a == *b;
    case Guard::Kind::not_equal:
      return *a != *b;
    case Guard::Kind::at_least:
      return *a >= *b;
    case Guard::Kind::greater:
      return *a > *b;
    default:
      return std::nullopt;
  }
}

}  // namespace xflow::verifier
