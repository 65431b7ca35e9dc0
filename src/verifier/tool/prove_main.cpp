// xflow_prove FOLDER --renew [--jobs N]
//   Decides all rules of a folder and writes the records of their proofs beside them.
//   Fails, and writes nothing, unless all rules are proved.
// xflow_prove FOLDER RECORDS TEXTS [--leave-out] [--jobs N]
//   Replays the records and writes the hashes and float classes of their rules (RECORDS) and their texts
//   (TEXTS) as rows of C++ initializers.
//   Fails unless all records are accepted; with --leave-out it reports and skips rejected ones.
//   The build runs this on the shipped rules.
// xflow_prove FOLDER --verbose | --normal-forms [--jobs N]
//   Decides all rules and prints the results.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "src/verifier/proof/prove_rules.h"

namespace {

using namespace xflow;

int failed(const Error& error) {
  fmt::print(stderr, "{}\n", error.text());
  return 1;
}

// Decides each rule and prints one line per rule. True if all are proved.
bool print_decisions(const std::string& folder, int jobs, bool normal_forms) {
  const auto rules = verifier::read_rules(folder);
  if (!rules) {
    fmt::print(stderr, "{}\n", rules.error().text());
    return false;
  }
  bool all = true;
  verifier::Options options;
  options.normal_forms = normal_forms;
  for (const verifier::RuleDecision& d : verifier::decide(*rules, options, jobs)) {
    all = all && d.verdict == verifier::Verdict::proved;
    fmt::print("{:48} {:9} {:5} instances {:8.1f} ms  {}\n", d.rule, verifier::name(d.verdict), d.instances,
               static_cast<double>(d.microseconds) / 1000.0, d.explanation());
    if (normal_forms)
      fmt::print("source: {}\ntarget: {}\n{}\n", d.decision.normal_source, d.decision.normal_target, d.decision.certificate);
    std::fflush(stdout);
  }
  return all;
}

bool write(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fclose(file) == 0) return true;
  fmt::print(stderr, "cannot write {}\n", path);
  return false;
}

int replay(const std::string& folder, const std::string& hashes, const std::string& texts, int jobs, bool leave_out) {
  std::vector<std::string> left_out;
  const auto records = verifier::replay_records(folder, {}, jobs, leave_out ? &left_out : nullptr);
  for (const std::string& message : left_out) fmt::print(stderr, "left out: {}\n", message);
  if (!records) return failed(records.error());
  const auto rules = verifier::read_rules(folder);
  if (!rules) return failed(rules.error());
  return write(hashes, verifier::to_include_file(*records, *rules)) && write(texts, verifier::texts_include_file(*records)) ? 0 : 3;
}

int usage() {
  fmt::print(stderr,
             "usage: xflow_prove FOLDER --renew [--jobs N]\n"
             "       xflow_prove FOLDER RECORDS TEXTS [--leave-out] [--jobs N]\n"
             "       xflow_prove FOLDER --verbose|--normal-forms [--jobs N]\n");
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  int jobs = 1;
  bool verbose = false;
  bool normal_forms = false;
  bool renew = false;
  bool leave_out = false;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--jobs" && k + 1 < argc) {
      jobs = std::max(1, static_cast<int>(std::strtol(argv[++k], nullptr, 10)));
    } else if (argument == "--verbose") {
      verbose = true;
    } else if (argument == "--normal-forms") {
      verbose = normal_forms = true;
    } else if (argument == "--renew") {
      renew = true;
    } else if (argument == "--leave-out") {
      leave_out = true;
    } else if (argument.starts_with("--")) {
      return usage();
    } else {
      names.push_back(argument);
    }
  }
  if (renew && names.size() == 1 && !verbose) {
    const auto renewed = verifier::renew_records(names[0], {}, jobs);
    return renewed ? 0 : failed(renewed.error());
  }
  if (renew) return usage();
  if (verbose && names.size() == 1) return print_decisions(names[0], jobs, normal_forms) ? 0 : 1;
  if (verbose || names.size() != 3) return usage();
  return replay(names[0], names[1], names[2], jobs, leave_out);
}
