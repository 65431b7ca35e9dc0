// Subcommands of the program: one file each, listed in commands.def.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "xflow/error.h"

namespace xflow::cli {

// Exit codes of the program. `xflow --help` documents them.
enum class ExitCode : int {
  done = 0,
  negative = 1,    // a check or proof failed
  unreadable = 2,  // an input is unreadable or malformed
  cannot = 3,      // a valid request cannot be carried out
  usage = 64,      // the command line is wrong
};

// Prints the error as one line on stderr and returns the exit code for it.
ExitCode report(const Error& error);

// The action of the given subcommand.
struct Command {
  std::function<ExitCode()> run;
  std::string line;  // the command line as words of a shell, for reports
};

// One function per line of commands.def. It adds arguments, examples and a callback that sets `command.run`
// to `sub`, which already has its name and description.
#define XFLOW_COMMAND(NAME, TEXT) void add_##NAME(CLI::App& sub, Command& command);
#define XFLOW_RULES_COMMAND(NAME, TEXT) void add_rules_##NAME(CLI::App& sub, Command& command);
#include "src/cli/commands.def"

// The option --allow-external DIR of a subcommand that reads models.
CLI::Option* add_allow_external(CLI::App& sub, std::vector<std::string>& folders);

// The option --save-as-external-data NAME of a subcommand that writes a model.
CLI::Option* add_save_as_external_data(CLI::App& sub, std::string& name);

// The option --seed of a subcommand.
CLI::Option* add_seed(CLI::App& sub, std::uint64_t& seed, const char* what);

// Prints a text of several lines, which can hold names from a model. `to_error`: print to standard error,
// because standard output carries the model.
void print(const std::string& text, bool to_error = false);
// Quotes a text as one word of a shell.
std::string quoted(const std::string& text);
// Prints a warning as one line on stderr.
void warn(const std::string& text);

// Lists these options under a heading of their own in the help.
void group(CLI::App& sub, const char* heading, std::initializer_list<const char*> options);

// The footer of a subcommand's help: lines of the form "  xflow ...".
std::string examples(std::initializer_list<const char*> lines);

// A progress line on stderr that is overwritten in place. Does nothing if stderr is not a terminal, or
// if it is quiet.
class ProgressLine {
 public:
  explicit ProgressLine(bool is_quiet = false);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);

 private:
  bool shows_;
  bool shown_ = false;
};

}  // namespace xflow::cli
