// Subcommands of the program: one file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "xflow/error.h"

namespace xflow::cli {

// What main returns. Documented by `xflow --help`.
enum class ExitCode : int {
  done = 0,
  negative = 1,    // a check or proof that failed
  unreadable = 2,  // an input that is not what it should be
  cannot = 3,      // a valid request that cannot be carried out
  usage = 64,      // a wrong command line
};

// Prints the error as one line on stderr and says how the program ends.
ExitCode report(const Error& error);

// Each adds one subcommand; the program calls `run` of the one that was given.
struct Command {
  std::function<ExitCode()> run;
};
void add_optimize(CLI::App& app, Command& command);
void add_simplify(CLI::App& app, Command& command);
void add_check(CLI::App& app, Command& command);
void add_show(CLI::App& app, Command& command);
void add_verify(CLI::App& app, Command& command);
void add_rules(CLI::App& app, Command& command);
void add_generate(CLI::App& app, Command& command);
void add_profile(CLI::App& app, Command& command);
void add_devices(CLI::App& app, Command& command);
void add_version(CLI::App& app, Command& command);

// Subcommands of `xflow rules`.
void add_rules_list(CLI::App& rules, Command& command);
void add_rules_stats(CLI::App& rules, Command& command);
void add_rules_derive(CLI::App& rules, Command& command);
void add_rules_minimize(CLI::App& rules, Command& command);

// The option --allow-external DIR of a subcommand that reads models.
void add_allow_external(CLI::App& sub, std::vector<std::string>& folders);

// The option --save-as-external-data NAME of a subcommand that writes a model.
void add_save_as_external_data(CLI::App& sub, std::string& name);

// Prints a text of several lines, which may hold names of a model; to standard error where standard output carries the model.
void print(const std::string& text, bool to_error = false);
// Prints a warning as one line on stderr.
void warn(const std::string& text);

// The footer of a subcommand's help: lines of the form "  xflow ...".
std::string examples(std::initializer_list<const char*> lines);

// Overwrites one line on stderr while it is a terminal; does nothing otherwise.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace xflow::cli
