#include "xflow/report.h"

#include <memory>

#include "src/cli/command.h"
#include "src/cli/option_names.h"
#include "src/cli/read_text.h"

namespace xflow::cli {
namespace {

struct ReportArguments {
  std::string input;
  std::string html;
};

Result<OptimizeReport> read(const std::string& path) {
  XFLOW_TRY(const std::string text, read_text(path));
  auto parsed = parse_report(text);
  if (!parsed) return fail(ErrorCode::unreadable, parsed.error().message, path);
  return parsed;
}

ExitCode run(const ReportArguments& a) {
  if (!a.html.empty()) {
    const auto usable = check_report_path(a.html, "-", a.input, "", {});
    if (!usable && usable.error().code != ErrorCode::invalid_argument) return report(usable.error());
    if (!usable) return report({ErrorCode::invalid_argument, "the page would overwrite the report that is read", a.html});
  }
  const auto parsed = read(a.input);
  if (!parsed) return report(parsed.error());
  print(with_option_names(parsed->to_text()), !a.html.empty() && is_standard_output(a.html));
  if (!a.html.empty()) {
    if (const auto written = write_report(a.html, with_option_names(parsed->to_html())); !written) return report(written.error());
  }
  return ExitCode::done;
}

}  // namespace

void add_report(CLI::App& sub, Command& command) {
  auto a = std::make_shared<ReportArguments>();
  sub.add_option("FILE", a->input, "report to read: the JSON of `xflow optimize IN OUT --report FILE`")->required();
  sub.add_option("--html", a->html, "also write the report as a page to this file; - is standard output");
  sub.footer(examples({"xflow report report.json", "xflow report report.json --html report.html"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
