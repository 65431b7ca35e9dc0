#include <memory>

#include "src/cli/command.h"
#include "xflow/rules.h"

namespace xflow::cli {
namespace {

struct Renewal {
  std::string folder;
  int jobs = 1;
};

ExitCode renew(const Renewal& a) {
  if (const auto renewed = renew_records(a.folder, a.jobs); !renewed) return report(renewed.error());
  print("every rule is proved; the records are written\n");
  return ExitCode::done;
}

}  // namespace

void add_rules_renew(CLI::App& sub, Command& command) {
  auto a = std::make_shared<Renewal>();
  sub.add_option("FOLDER", a->folder, "folder of *.rules files")->required();
  sub.add_option("--jobs", a->jobs, "number of rules decided at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  sub.footer(examples({"xflow rules renew my-rules --jobs 2"}));
  sub.callback([a, &command] { command.run = [a] { return renew(*a); }; });
}

}  // namespace xflow::cli
