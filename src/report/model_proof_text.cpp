// Text of the proof of two models.
#include <fmt/format.h>
#include <xflow/verify_models.h>

#include <algorithm>

#include "src/verifier/proof/decide.h"

namespace xflow {

const char* to_string(Verdict verdict) { return verifier::name(verdict); }
namespace {

std::string plural(std::size_t count, std::string_view word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

std::string line_of(const ModelProof::Part& part) {
  std::string line = fmt::format("  {:<8} '{}' of B is '{}' of A ({} and {})", to_string(part.verdict), part.value_b, part.value_a,
                                 plural(part.operations_b, "operation"), part.operations_a);
  if (!part.open.empty()) line += fmt::format(": {}", part.open);
  return line + "\n";
}

}  // namespace

std::string VerifyModelsProgress::to_text() const {
  return fmt::format("attempt {}, {} of {} operations compared, {:.0f} s, {:.0f} s left", attempt, operations, all, time.count(),
                     time_left.count());
}

std::string ModelProof::to_text() const {
  std::string text;
  const auto proved = static_cast<std::size_t>(std::ranges::count(parts, Verdict::proved, &Part::verdict));
  for (const Part& part : parts)
    if (part.verdict != Verdict::proved) text += line_of(part);
  for (const Output& output : outputs) {
    text += fmt::format("  {:<8} output '{}'", to_string(output.verdict), output.name);
    if (output.verdict != Verdict::proved && output.allowed > 0)
      text += fmt::format(" (error {:.3g}, allowed {:.3g})", output.error, output.allowed);
    text += '\n';
  }
  for (const std::string& node : assumed) text += fmt::format("  assumed to be the same function: {}\n", node);
  if (!not_run.empty()) text += fmt::format("  not run: {}\n", not_run);
  const auto worst = std::ranges::max_element(constants, {}, &Constant::difference);
  if (worst != constants.end())
    text += fmt::format("  {} rounded otherwise; the largest difference is {:.3g} of {:.3g}, for '{}'\n",
                        plural(constants.size(), "constant"), worst->difference, worst->magnitude, worst->value_b);
  text += is_up_to_rounding() ? std::string("proved up to the rounding of constants") : std::string(to_string(verdict));
  if (!parts.empty()) text += fmt::format(", {} of {} proved", proved, plural(parts.size(), "part"));
  if (!difference.empty()) text += fmt::format(": {}", difference);
  return text + "\n";
}

}  // namespace xflow
