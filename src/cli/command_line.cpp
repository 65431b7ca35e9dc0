// The command line: subcommands, messages, exit codes.
#include "src/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <system_error>

#include "src/cli/command.h"
#include "src/cli/help_formatter.h"
#include "src/cli/option_names.h"
#include "src/cli/processes/mpi_workers.h"
#include "xflow/error.h"
#include "xflow/text.h"
#include "xflow/version.h"

namespace xflow::cli {

namespace {

// The running subcommand, for messages about its arguments.
std::string& current_command() {
  static std::string name = "xflow";
  return name;
}

// Joins the lines of a message into one. Other control characters come from a model or a path; printable()
// escapes them.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return printable(text);
}

}  // namespace

void print(const std::string& text, bool to_error) { std::fputs(printable_lines(text).c_str(), to_error ? stderr : stdout); }

void warn(const std::string& text) { std::fprintf(stderr, "xflow: warning: %s\n", one_line(with_option_names(text)).c_str()); }

ExitCode report(const Error& error) {
  std::string text = with_option_names(error.text());
  if (error.code == ErrorCode::invalid_argument) text += " (see '" + current_command() + " --help')";
  std::fprintf(stderr, "xflow: %s\n", one_line(std::move(text)).c_str());
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

CLI::Option* add_allow_external(CLI::App& sub, std::vector<std::string>& folders) {
  return sub.add_option("--allow-external", folders, "folder from which external data is read too (docs/files.md)")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->take_all();
}

CLI::Option* add_save_as_external_data(CLI::App& sub, std::string& name) {
  return sub.add_option("--save-as-external-data", name, "write all tensors of 1 KiB and more to this one file beside OUT")
      ->type_name("NAME");
}

void group(CLI::App& sub, const char* heading, std::initializer_list<const char*> options) {
  for (const char* option : options) sub.get_option(option)->group(heading);
}

CLI::Option* add_seed(CLI::App& sub, std::uint64_t& seed, const char* what) {
  // The conversion of CLI11 wraps negative numbers and cuts large ones.
  const auto refused = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("'{}' is not a whole number from 0 to {}", text, UINT64_MAX);
  };
  return sub.add_option("--seed", seed, what)->capture_default_str()->check(refused);
}

std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:";
  for (const char* line : lines) text += std::string("\n  ") + line;
  return text;
}

ProgressLine::ProgressLine(bool is_quiet) : shows_(!is_quiet && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(const std::string& text) {
  if (!shows_) return;
  std::fprintf(stderr, "\r\033[K%s", one_line(text).c_str());
  std::fflush(stderr);
  shown_ = true;
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

namespace {

// The text as one word of a shell, quoted where it has to be.
std::string word_of_shell(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string::npos ? text : quoted(text);
}

// "xflow rules list": the last recognised subcommand.
std::string command_of(const CLI::App& app) {
  std::string name = "xflow";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return name;
}

// The exit code, or that of an I/O error if standard output could not be written.
ExitCode when_written(ExitCode code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return report({ErrorCode::io, "cannot write: " + std::system_category().message(errno), "standard output"});
}

// The command of a line of commands.def: "check-plan" for check_plan.
std::string command_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app{"xflow makes tensor graphs cheaper without changing what they compute."};
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.set_version_flag("--version", "xflow " XFLOW_VERSION);
  app.footer(
      "Exit codes: 0 done, 1 negative answer (not equal, not proved), 2 unreadable input,\n"
      "3 unsupported or failed, 64 wrong command line.\n"
      "'xflow COMMAND --help' shows the options and examples of a command.");
  Command command;
  command.line = "xflow";
  for (int k = 1; k < argc; ++k) command.line += " " + word_of_shell(argv[k]);
#define XFLOW_COMMAND(NAME, TEXT) add_##NAME(*app.add_subcommand(command_name(#NAME), TEXT), command);
#include "src/cli/commands.def"
  if (argc > 1 && *argv[1] != '-' && app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argv[1]; }).empty()) {
    std::fprintf(stderr, "xflow: no command '%s' (see 'xflow --help')\n", one_line(argv[1]).c_str());
    return ExitCode::usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return when_written(ExitCode::done);
  } catch (const CLI::ParseError& e) {
    if (mpi_place().process != 0) return ExitCode::done;  // all processes of mpirun have this command line
    std::fprintf(stderr, "xflow: %s (see '%s --help')\n", one_line(e.what()).c_str(), command_of(app).c_str());
    return ExitCode::usage;
  }
  current_command() = command_of(app);
  return when_written(command.run());
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return static_cast<int>(parse_and_run(argc, argv));
  } catch (...) {
    return static_cast<int>(report(error_of_exception()));
  }
}

}  // namespace xflow::cli
