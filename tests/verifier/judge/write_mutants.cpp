// write_mutants [--variants] COUNT SEED FOLDER...: writes COUNT mutants of the rules in the folders as rule text, or variants (mutate.h);
// the comment of each names its kind and its float class.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/mutants/mutate.h"

int main(int argc, char** argv) {
  std::span<char*> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  const bool variants = !arguments.empty() && std::string_view(arguments[0]) == "--variants";
  if (variants) arguments = arguments.subspan(1);
  if (arguments.size() < 3) {
    std::fputs("usage: write_mutants [--variants] COUNT SEED FOLDER...\n", stderr);
    return 2;
  }
  std::vector<xflow::rules::Rule> parents;
  for (const char* folder : arguments.subspan(2)) {
    auto rules = xflow::verifier::read_rules(folder);
    if (!rules) {
      std::fprintf(stderr, "%s\n", rules.error().text().c_str());
      return 2;
    }
    for (xflow::rules::Rule& rule : *rules) parents.push_back(std::move(rule));
  }
  const std::size_t count = std::strtoull(arguments[0], nullptr, 10);
  const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
  for (const xflow::mutants::Mutant& mutant :
       variants ? xflow::mutants::vary(parents, count, seed) : xflow::mutants::mutate(parents, count, seed)) {
    xflow::rules::Rule rule = mutant.rule;
    rule.comment = {fmt::format(" {}: {}", mutant.kind, xflow::rules::name(rule.float_class))};
    std::printf("%s\n", xflow::rules::print(rule).c_str());
  }
}
