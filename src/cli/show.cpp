#include "src/api/show.h"

#include <memory>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

ExitCode run(const std::string& what, const std::vector<std::string>& allow_external) {
  // A file is a model or rules; anything else is the name of a shipped rule.
  const bool is_rules = ends_with(what, ".rules");
  const bool is_path =
      is_rules || what == "-" || ends_with(what, ".onnx") || what.find('/') != std::string::npos || what.find('.') != std::string::npos;
  const Result<std::string> text = is_rules  ? api::show_rules(what)
                                   : is_path ? api::show_model(what, allow_external)
                                             : api::show_rule(what);
  if (!text) return report(text.error());
  print(*text);
  return ExitCode::done;
}

}  // namespace

void add_show(CLI::App& app, Command& command) {
  auto what = std::make_shared<std::string>();
  auto allow_external = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = app.add_subcommand("show", "Show a model, a rule or a file of rules");
  sub->add_option("MODEL|RULE", *what, "ONNX model (- is standard input), file of rules, or name of a shipped rule")->required();
  add_allow_external(*sub, *allow_external);
  sub->footer(examples({"xflow show model.onnx", "xflow show merge-matmuls-sharing-lhs", "xflow show my.rules"}));
  sub->callback([what, allow_external, &command] { command.run = [what, allow_external] { return run(*what, *allow_external); }; });
}

}  // namespace xflow::cli
