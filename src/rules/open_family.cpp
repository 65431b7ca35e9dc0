#include "src/rules/open_family.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "src/ops/operator.h"

namespace xflow::rules {
namespace {

using Counter = OpenFamily::Counter;

bool is_part(std::string_view name, std::span<const std::string> indexed, int index) {
  return name.ends_with(static_cast<char>('0' + index)) && std::ranges::binary_search(indexed, name.substr(0, name.size() - 1));
}

std::optional<Counter> counter_of(const Term& term, std::span<const std::string> indexed, int parts) {
  if (term.kind != Term::Kind::application) return std::nullopt;
  const auto found = std::ranges::count_if(term.operands, [&](const Term& o) { return is_part(o.name, indexed, parts); });
  if (term.name == "concat" && found == 1) return Counter{ops::id_of(term.name), false, static_cast<int>(term.operands.size()) - parts};
  for (const Term& operand : term.operands)
    if (const auto counter = counter_of(operand, indexed, parts)) return counter;
  return std::nullopt;
}

std::optional<Counter> counter_of(const Rule& member, std::span<const std::string> indexed, int parts) {
  for (const Statement& statement : member.source) {
    if (statement.outputs.size() > 1)
      return Counter{ops::id_of(statement.term.name), true, static_cast<int>(statement.outputs.size()) - parts};
    if (const auto counter = counter_of(statement.term, indexed, parts)) return counter;
  }
  return std::nullopt;
}

}  // namespace

OpenFamily::OpenFamily(FamilyText text, const Rule& largest)
    : text_(std::move(text)),
      indexed_(indexed_names(text_)),
      counter_(counter_of(largest, indexed_, text_.to)),
      file_(largest.file),
      float_class_(largest.float_class),
      number_effects_(largest.number_effects) {}

std::optional<int> OpenFamily::number_of(std::string_view name) const {
  // The number begins where the names of two members differ.
  const std::string pattern = name_of(0);
  const auto digit = static_cast<std::size_t>(std::ranges::mismatch(pattern, name_of(1)).in1 - pattern.begin());
  if (name.size() <= digit) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + digit, name.data() + name.size(), number);
  if (error != std::errc() || number <= text_.to || number > kMostOpenParts || name_of(number) != name) return std::nullopt;
  return number;
}

bool OpenFamily::is_indexed(std::string_view name) const {
  return name.ends_with('1') && std::ranges::binary_search(indexed_, name.substr(0, name.size() - 1));
}

std::shared_ptr<const Pattern> OpenFamily::member(int n) const {
  if (n < 1 || n > kMostOpenParts) return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto [found, is_new] = members_.try_emplace(n);
  if (!is_new) return found->second;
  Rule classified;
  classified.float_class = float_class_;
  classified.number_effects = number_effects_;
  Result<Rule> rule = parse_member(text_, n, file_, classified);
  if (!rule) return nullptr;
  if (auto pattern = Pattern::compile(*std::move(rule), Pattern::Roots::given)) found->second = *std::move(pattern);
  return found->second;
}

}  // namespace xflow::rules
