// The command line: subcommands, messages, exit codes.
#include "src/cli/run.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "src/cli/command.h"

namespace xflow::cli {

ExitCode report(const Error& error) {
  std::string text = error.text();
  for (char& c : text)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "xflow: %s\n", text.c_str());
  switch (error.code) {
    case ErrorCode::unreadable:
    case ErrorCode::syntax:
    case ErrorCode::ill_typed:
      return ExitCode::unreadable;
    case ErrorCode::invalid_argument:
      return ExitCode::usage;
    case ErrorCode::not_proved:
      return ExitCode::negative;
    default:
      return ExitCode::cannot;
  }
}

void add_allow_external(CLI::App& sub, std::vector<std::string>& folders) {
  sub.add_option("--allow-external", folders,
                 "folder that may hold external data beside the model's own (again for each folder): a symbolic link, an absolute path or "
                 "'..' may lead to a regular file below it")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->take_all();
}

std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:";
  for (const char* line : lines) text += std::string("\n  ") + line;
  return text;
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

namespace {

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app{"xflow makes tensor graphs cheaper without changing what they compute."};
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 negative answer (not equal, not proved), 2 unreadable input, 3 cannot, 64 wrong command line.\n"
      "'xflow COMMAND --help' shows the options and examples of a command.");
  Command command;
  add_optimize(app, command);
  add_simplify(app, command);
  add_check(app, command);
  add_show(app, command);
  add_verify(app, command);
  add_rules(app, command);
  add_generate(app, command);
  add_profile(app, command);
  add_devices(app, command);
  add_version(app, command);
  if (argc > 1 && *argv[1] != '-' && app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argv[1]; }).empty()) {
    std::fprintf(stderr, "xflow: no command '%s' (see 'xflow --help')\n", argv[1]);
    return ExitCode::usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return ExitCode::done;
  } catch (const CLI::ParseError& e) {
    std::string message = e.what();
    for (char& c : message)
      if (c == '\n') c = ' ';
    std::fprintf(stderr, "xflow: %s (see 'xflow --help')\n", message.c_str());
    return ExitCode::usage;
  }
  return command.run();
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return static_cast<int>(parse_and_run(argc, argv));
  } catch (const std::exception& e) {  // of the standard library: no memory
    return static_cast<int>(report({ErrorCode::limit, e.what(), {}}));
  }
}

}  // namespace xflow::cli
