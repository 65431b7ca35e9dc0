// prove FOLDER [OUTPUT] [--jobs N]: decides all rules of a folder and writes the records of proved rules as rows of
// a C++ initializer. Fails, and writes nothing, unless all are proved. The build runs it over the shipped rules.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "src/verifier/prove_rules.h"

namespace {

using namespace xflow;

// Decides each rule and prints a line; true if all are proved.
bool print_decisions(const std::string& folder, int jobs, bool normal_forms) {
  const auto rules = verifier::read_rules(folder);
  if (!rules) {
    fmt::print(stderr, "{}\n", rules.error().text());
    return false;
  }
  bool all = true;
  for (const verifier::RuleDecision& d : verifier::decide(*rules, {}, jobs)) {
    all = all && d.verdict == verifier::Verdict::proved;
    fmt::print("{:48} {:9} {:5} instances {:8.1f} ms  {}\n", d.rule, verifier::name(d.verdict), d.instances,
               static_cast<double>(d.microseconds) / 1000.0, d.explanation());
    if (normal_forms)
      fmt::print("source: {}\ntarget: {}\n{}\n", d.decision.normal_source, d.decision.normal_target, d.decision.certificate);
    std::fflush(stdout);
  }
  return all;
}

int write_records(const std::string& folder, const std::string& output, int jobs) {
  const auto records = verifier::prove_folder(folder, {}, jobs);
  if (!records) {
    fmt::print(stderr, "{}\n", records.error().text());
    return 1;
  }
  const std::string text = verifier::to_include_file(*records);
  std::FILE* file = std::fopen(output.c_str(), "wb");
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fclose(file) != 0) {
    fmt::print(stderr, "cannot write {}\n", output);
    return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  int jobs = 1;
  bool verbose = false;
  bool normal_forms = false;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--jobs" && k + 1 < argc) {
      jobs = std::max(1, std::atoi(argv[++k]));
    } else if (argument == "--verbose") {
      verbose = true;
    } else if (argument == "--normal-forms") {
      verbose = normal_forms = true;
    } else {
      names.push_back(argument);
    }
  }
  if (names.empty() || names.size() > 2 || (names.size() == 1 && !verbose)) {
    fmt::print(stderr, "usage: prove FOLDER OUTPUT [--jobs N], or prove FOLDER --verbose [--normal-forms] [--jobs N]\n");
    return 64;
  }
  if (verbose) return print_decisions(names[0], jobs, normal_forms) ? 0 : 1;
  return write_records(names[0], names[1], jobs);
}
