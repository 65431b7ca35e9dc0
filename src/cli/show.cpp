#include <fmt/format.h>
#include <xflow/model.h>
#include <xflow/rules.h>

#include <memory>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

Result<std::string> show_model(const std::string& path, const std::vector<std::string>& allow_external) {
  XFLOW_TRY(const ModelInfo info, inspect_model(path, allow_external));
  return info.to_text();
}

Result<std::string> show_rules(const std::string& path) {
  XFLOW_TRY(const RuleSet rules, RuleSet::read({path}));
  std::string text;
  for (std::size_t k = 0; k < rules.size(); ++k) text += (k == 0 ? "" : "\n") + rules.describe(k);
  return text;
}

Result<std::string> show_rule(const std::string& name) {
  XFLOW_TRY(const RuleSet rules, RuleSet::shipped());
  std::string similar;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const RuleInfo& rule = rules.rule(k);
    if (rule.name == name) return fmt::format("{}  proved, in {}\n", rules.describe(k), rule.file);
    if (rule.name.find(name) != std::string::npos) similar += fmt::format("{}{}", similar.empty() ? "; similar: " : ", ", rule.name);
  }
  return fail(ErrorCode::invalid_argument, fmt::format("no shipped rule '{}'{}", name, similar));
}

ExitCode run(const std::string& what, const std::vector<std::string>& allow_external) {
  // A path is a model or a rule file; any other argument is the name of a shipped rule.
  const bool is_rules = what.ends_with(".rules");
  const bool is_path =
      is_rules || what == "-" || what.ends_with(".onnx") || what.find('/') != std::string::npos || what.find('.') != std::string::npos;
  const Result<std::string> text = is_rules ? show_rules(what) : is_path ? show_model(what, allow_external) : show_rule(what);
  if (!text) return report(text.error());
  print(*text);
  return ExitCode::done;
}

}  // namespace

void add_show(CLI::App& sub, Command& command) {
  auto what = std::make_shared<std::string>();
  auto allow_external = std::make_shared<std::vector<std::string>>();
  sub.add_option("MODEL|RULE", *what, "ONNX model (-: standard input), file of rules, or name of a rule")->required();
  add_allow_external(sub, *allow_external);
  sub.footer(examples({"xflow show model.onnx", "xflow show merge-matmuls-sharing-lhs", "xflow show my.rules"}));
  sub.callback([what, allow_external, &command] { command.run = [what, allow_external] { return run(*what, *allow_external); }; });
}

}  // namespace xflow::cli
