#include "xflow/simplify.h"

#include <cstdio>
#include <fstream>
#include <memory>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

struct SimplifyArguments {
  std::string input;
  std::string output;
  std::string report;
  SimplifyOptions options;
};

ExitCode run(const SimplifyArguments& a) {
  const auto result = simplify_file(a.input, a.output, a.options);
  if (!result) return report(result.error());
  std::fputs(result->to_text().c_str(), stdout);
  if (!a.report.empty()) {
    std::ofstream file(a.report);
    file << result->to_json() << '\n';
    file.close();
    if (!file) return report(Error{ErrorCode::io, "cannot write the report", a.report});
  }
  return ExitCode::done;
}

}  // namespace

void add_simplify(CLI::App& app, Command& command) {
  auto a = std::make_shared<SimplifyArguments>();
  CLI::App* sub = app.add_subcommand("simplify", "Write a model with fewer nodes that computes the same; nothing is measured");
  sub->add_option("IN", a->input, "ONNX model to read")->required();
  sub->add_option("OUT", a->output, "ONNX model to write; the bytes of IN where there is nothing to clean up")->required();
  sub->add_option("--numbers", a->options.numbers,
                  "what may change in floating point: exact (no bit), rounding (constants are folded, batch normalisation becomes part of "
                  "weights)")
      ->capture_default_str()
      ->check(CLI::IsMember({"exact", "rounding"}));
  sub->add_option("--max-growth", a->options.max_growth, "how much the model may grow by stored constants, as a factor of its size")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--rules", a->options.rules, "folder or file of rules instead of the built-in ones")->take_all();
  sub->add_option("--skip", a->options.skip_rules, "name of a rule not to use")->take_all();
  add_allow_external(*sub, a->options.allow_external);
  sub->add_option("--report", a->report, "also write the report as JSON to this file");
  sub->footer(examples({"xflow simplify model.onnx smaller.onnx", "xflow simplify model.onnx smaller.onnx --numbers exact"}));
  sub->callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
