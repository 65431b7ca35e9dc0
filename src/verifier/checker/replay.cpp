#include "src/verifier/checker/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "src/rules/instantiate.h"
#include "src/verifier/algebra/number.h"
#include "src/verifier/counterexample/concrete.h"
#include "src/verifier/counterexample/explain.h"
#include "src/verifier/counterexample/refute.h"
#include "src/verifier/proof/assumptions.h"

namespace xflow::verifier {

namespace {

constexpr std::uint64_t kReplayWork = 10'000'000;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Splits at `separator` outside of brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    if (k == text.size() || (text[k] == separator && depth == 0)) {
      if (const std::string_view part = trimmed(text.substr(begin, k - begin)); !part.empty()) parts.push_back(part);
      begin = k + 1;
    } else {
      depth += text[k] == '[' ? 1 : text[k] == ']' ? -1 : 0;
    }
  }
  return parts;
}

Unexpected syntax(std::string message) { return fail(ErrorCode::syntax, std::move(message), "counterexample"); }
Unexpected unfit(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message), "counterexample"); }

Result<Entries> parse_value(std::string_view text) {
  text = trimmed(text);
  Entries result;
  if (text.empty() || text.front() != '[') {
    const auto number = ir::Rational::parse(text);
    if (!number) return syntax(fmt::format("expected a number or a list, found '{}'", text));
    result.values.push_back(*number);
    return result;
  }
  if (text.back() != ']') return syntax(fmt::format("expected ']' at the end of '{}'", text));
  const auto parts = split(text.substr(1, text.size() - 2), ',');
  result.dims.push_back(static_cast<std::int64_t>(parts.size()));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    XFLOW_TRY(const Entries part, parse_value(parts[k]));
    if (k == 0) result.dims.insert(result.dims.end(), part.dims.begin(), part.dims.end());
    if (!std::equal(part.dims.begin(), part.dims.end(), result.dims.begin() + 1, result.dims.end()))
      return syntax(fmt::format("the elements of '{}' have different shapes", text));
    result.values.insert(result.values.end(), part.values.begin(), part.values.end());
  }
  return result;
}

struct Example {
  std::string choice;
  bool has_choice = false;
  std::map<std::string, Entries, std::less<>> values;
  std::string output;  // empty if not given
  std::vector<std::int64_t> index;
};

// output NAME at [0, 1]: 7 != 10
Result<void> parse_output(std::string_view part, Example& example) {
  part.remove_prefix(std::string_view("output ").size());
  const auto at = part.find(" at [");
  const auto end = part.find(']');
  if (at == std::string_view::npos || end == std::string_view::npos || end < at)
    return syntax(fmt::format("expected 'output NAME at [INDICES]', found 'output {}'", part));
  example.output = trimmed(part.substr(0, at));
  for (const std::string_view text : split(part.substr(at + 5, end - at - 5), ',')) {
    std::int64_t i = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), i);
    if (error != std::errc() || rest != text.data() + text.size()) return syntax(fmt::format("expected an index, found '{}'", text));
    example.index.push_back(i);
  }
  return {};
}

Result<Example> parse(std::string_view text) {
  Example example;
  for (const std::string_view part : split(text, ';')) {
    if (part.starts_with("for ")) {
      example.choice = trimmed(part.substr(4));
      example.has_choice = true;
    } else if (part.starts_with("output ") && part.find(" at [") != std::string_view::npos) {
      XFLOW_CHECK(parse_output(part, example));
    } else if (!part.starts_with("the source has a type")) {
      for (const std::string_view one : split(part, ',')) {
        const auto sign = one.find('=');
        if (sign == std::string_view::npos) return syntax(fmt::format("expected NAME = VALUE, found '{}'", one));
        XFLOW_TRY(Entries value, parse_value(one.substr(sign + 1)));
        const std::string name(trimmed(one.substr(0, sign)));
        if (!example.values.emplace(name, std::move(value)).second) return syntax(fmt::format("'{}' is given twice", name));
      }
    }
  }
  return example;
}

class Replay {
 public:
  Replay(rules::RuleInstance& instance, const Example& example) : instance_(instance), example_(example), concrete_(instance) {}

  Result<Replayed> run() {
    XFLOW_CHECK(assign());
    XFLOW_CHECK(guards());
    for (const rules::Fact& o : instance_.obligations) {
      if (concrete_.holds(o.atom, assignment_) == std::optional(true)) continue;
      const Names names{instance_.arena->symbols(), instance_.variables, instance_.variable_names};
      return Replayed{true, fmt::format("the source has a type, but the target has it only where {} ({})",
                                        to_string(names, ops::Condition{o.atom}), o.reason)};
    }
    if (const auto value = undefined_in_target())
      return Replayed{true, fmt::format("the source has a type, but {} of the target divides by less than 1", *value)};
    XFLOW_CHECK(reals());
    XFLOW_CHECK(tensors());
    return compare();
  }

 private:
  // A dimension or attribute of the target that has no value for these sizes; nullopt if all have one.
  std::optional<std::string> undefined_in_target() const {
    const ir::Arena& arena = *instance_.arena;
    std::optional<std::string> found;
    const auto look = [&](const ir::Poly& p) {
      if (!concrete_.holds({p, ops::Relation::zero}, assignment_)) found = arena.symbols().to_string(p);
    };
    for (const ir::NodeId id : ir::topological_order(arena, instance_.target)) {
      const ir::Node& node = arena.node(id);
      for (const ir::TensorType& t : node.outputs) std::for_each(t.shape.begin(), t.shape.end(), look);
      for (const ir::Attribute& a : node.attributes.list()) {
        if (const auto* p = std::get_if<ir::Poly>(&a.value)) look(*p);
        if (const auto* list = std::get_if<std::vector<ir::Poly>>(&a.value)) std::for_each(list->begin(), list->end(), look);
      }
    }
    return found;
  }
  const std::string& symbol_name(ir::SymbolId s) const { return instance_.arena->symbols().info(s).name; }

  Result<void> assign() {
    std::map<std::string, bool, std::less<>> used;
    for (const auto& [name, value] : example_.values) used[name] = false;
    for (const ir::SymbolId s : concrete_.symbols()) {
      const auto found = example_.values.find(symbol_name(s));
      if (found != example_.values.end()) {
        used[found->first] = true;
        if (!found->second.dims.empty() || found->second.values[0].denominator() != 1)
          return unfit(fmt::format("expected an integer for {}", found->first));
        assignment_.integers[s] = found->second.values[0].numerator();
      } else if (const auto size = size_from_tensors(s)) {
        assignment_.integers[s] = *size;
      } else {
        return unfit(fmt::format("no value for {}", symbol_name(s)));
      }
    }
    for (const auto& [s, poly] : instance_.replaced) {
      const auto found = example_.values.find(symbol_name(s));
      if (found == example_.values.end()) continue;
      used[found->first] = true;
      const auto value = concrete_.value(poly, assignment_);
      if (value && !(found->second.dims.empty() && found->second.values[0] == ir::Rational(*value)))
        return unfit(fmt::format("the rule does not apply to these sizes: {} is {} there{}", found->first, *value, at_choice()));
    }
    for (const std::string& name : concrete_.reals())
      if (const auto at = used.find(name); at != used.end()) at->second = true;
    for (const std::string& name : instance_.variable_names)
      if (const auto at = used.find(name); at != used.end()) at->second = true;
    for (const auto& [name, known] : used)
      if (!known) return unfit(fmt::format("the rule has no '{}'{}", name, at_choice()));
    return {};
  }

  // Real variables matter only if elements are compared: a counterexample about types alone does not name
  // them.
  Result<void> reals() {
    for (const std::string& name : concrete_.reals()) {
      const auto found = example_.values.find(name);
      if (found == example_.values.end() || !found->second.dims.empty()) return unfit(fmt::format("expected a number for {}", name));
      assignment_.reals[name] = found->second.values[0];
    }
    return {};
  }

  // The value of a dimension that is a dimension of a given tensor.
  std::optional<std::int64_t> size_from_tensors(ir::SymbolId s) const {
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      const auto found = example_.values.find(instance_.variable_names[k]);
      const ir::Shape& shape = instance_.arena->type(instance_.variables[k]).shape;
      if (found == example_.values.end() || found->second.dims.size() != shape.size()) continue;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d].as_symbol() == s) return found->second.dims[d];
    }
    return std::nullopt;
  }

  Result<void> guards() const {
    for (const auto& [s, v] : assignment_.integers)
      if (instance_.arena->symbols().info(s).kind == ir::SymbolKind::dimension && v < 1)
        return unfit(fmt::format("dimension {} is {}, at least 1 is needed", symbol_name(s), v));
    for (const rules::Fact& f : instance_.facts) {
      if (satisfies(f)) continue;
      return unfit(fmt::format("the rule does not apply to these sizes: {} ({}) does not hold{}", f.reason, text(f.atom), at_choice()));
    }
    return {};
  }
  std::string text(const ops::Atom& atom) const {
    return Readable(Names{instance_.arena->symbols(), instance_.variables, instance_.variable_names}, {}).condition({atom});
  }
  bool satisfies(const rules::Fact& f) const {
    const auto all = instance_.arena->symbols().all_symbols(f.atom.poly);
    const bool elements = std::any_of(all.begin(), all.end(),
                                      [&](ir::SymbolId s) { return instance_.arena->symbols().info(s).kind == ir::SymbolKind::element; });
    return elements || concrete_.holds(f.atom, assignment_).value_or(false);
  }
  std::string at_choice() const { return instance_.choice.empty() ? std::string() : fmt::format(" (for {})", instance_.choice); }

  Result<void> tensors() {
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      const std::string& name = instance_.variable_names[k];
      const auto found = example_.values.find(name);
      if (found == example_.values.end()) return unfit(fmt::format("no value for {}", name));
      const auto dims = concrete_.shape(instance_.variables[k], assignment_);
      if (!dims) return unfit(fmt::format("{} has no shape for these sizes, or too many elements", name));
      std::int64_t count = 1;
      for (const std::int64_t d : *dims) count *= d;
      // The text of a tensor without elements does not show its inner dimensions.
      if (found->second.dims != *dims && !(count == 0 && found->second.values.empty()))
        return unfit(fmt::format("{} has shape [{}], expected [{}]", name, fmt::join(found->second.dims, ", "), fmt::join(*dims, ", ")));
      for (const ir::Rational& entry : found->second.values) {
        const ir::DataType type = instance_.arena->type(instance_.variables[k]).data_type;
        if (!is_number_of(instance_, k, entry)) return unfit(fmt::format("{} in {} is no {}", entry.to_string(), name, ir::name(type)));
        if (satisfies_value_facts(instance_, concrete_, assignment_, k, entry)) continue;
        return unfit(fmt::format("the rule does not apply to {} in {}: a guard on its elements does not hold", entry.to_string(), name));
      }
      inputs_.push_back({*dims, found->second.values});
    }
    return {};
  }
  std::string output_name(std::size_t k) const { return k < instance_.output_names.size() ? instance_.output_names[k] : std::to_string(k); }

  Result<Replayed> compare() {
    Concrete::Difference where;
    const Concrete::Agreement agreement = concrete_.compare(assignment_, inputs_, kReplayWork, &where);
    if (agreement == Concrete::Agreement::unclear || agreement == Concrete::Agreement::undefined)
      return Replayed{false, "the sides cannot be compared: an element is undefined, too expensive or too close to decide"};
    Replayed result{agreement == Concrete::Agreement::different, "both sides are equal"};
    auto output = static_cast<std::size_t>(where.output);
    std::vector<std::int64_t> index = where.index;
    if (!example_.output.empty()) {
      output = instance_.source.outputs.size();
      for (std::size_t k = 0; k < instance_.source.outputs.size(); ++k)
        if (output_name(k) == example_.output || std::to_string(k) == example_.output) output = k;
      if (output == instance_.source.outputs.size()) return unfit(fmt::format("the rule has no output '{}'", example_.output));
      index = example_.index;
    } else if (!result.different) {
      return result;
    }
    const bool first = index == where.index && output == static_cast<std::size_t>(where.output);
    const auto source = concrete_.element_values(instance_.source, assignment_, inputs_, output);
    const auto target = concrete_.element_values(instance_.target, assignment_, inputs_, output);
    if (!source || !target) return unfit("the evaluation takes too much work");
    std::int64_t at = 0;
    if (index.size() != source->dims.size())
      return unfit(fmt::format("output {} has {} dimensions", output_name(output), source->dims.size()));
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= source->dims[d])
        return unfit(fmt::format("index {} of output {} is out of range: its shape is [{}]", index[d], output_name(output),
                                 fmt::join(source->dims, ", ")));
      at = at * source->dims[d] + index[d];
    }
    result.text =
        fmt::format("output {} at [{}]: source {}, target {}", output_name(output), fmt::join(index, ", "),
                    source->values[static_cast<std::size_t>(at)].to_string(), target->values[static_cast<std::size_t>(at)].to_string());
    if (result.different && !first)
      result.text +=
          fmt::format("; first difference: output {} at [{}]: source {}, target {}", output_name(static_cast<std::size_t>(where.output)),
                      fmt::join(where.index, ", "), where.source, where.target);
    return result;
  }

  rules::RuleInstance& instance_;
  const Example& example_;
  Concrete concrete_;
  Assignment assignment_;
  Inputs inputs_;
};

}  // namespace

Result<Replayed> replay_counterexample(const rules::Rule& rule, std::string_view text) {
  XFLOW_TRY(const Example example, parse(text));
  auto all = rules::instantiate(rule);
  const auto small = !all && all.error().code == ErrorCode::limit ? with_small_ranks(rule) : std::nullopt;
  if (small) all = rules::instantiate(*small);
  XFLOW_TRY(std::vector<rules::RuleInstance> instances, std::move(all));
  // Without a choice, the first instance that the values fit is used.
  std::optional<Error> error;
  for (rules::RuleInstance& instance : instances) {
    if (example.has_choice && instance.choice != example.choice) continue;
    Result<Replayed> result = Replay(instance, example).run();
    if (result) return result;
    if (!error) error = result.error();
  }
  if (error) return fail(*std::move(error));
  return unfit(fmt::format("the rule has no choice '{}'", example.choice));
}

}  // namespace xflow::verifier
