// write_mutants COUNT SEED FOLDER...: writes COUNT mutants of the rules in the folders as rule text; the comment of each names its kind.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/mutants/mutate.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: write_mutants COUNT SEED FOLDER...\n", stderr);
    return 2;
  }
  std::vector<xflow::rules::Rule> parents;
  for (int k = 3; k < argc; ++k) {
    auto rules = xflow::verifier::read_rules(argv[k]);
    if (!rules) {
      std::fprintf(stderr, "%s\n", rules.error().text().c_str());
      return 2;
    }
    for (xflow::rules::Rule& rule : *rules) parents.push_back(std::move(rule));
  }
  const auto mutants = xflow::mutants::mutate(parents, std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
  for (const xflow::mutants::Mutant& mutant : mutants) {
    xflow::rules::Rule rule = mutant.rule;
    rule.comment = {" " + mutant.kind};
    std::printf("%s\n", xflow::rules::print(rule).c_str());
  }
}
